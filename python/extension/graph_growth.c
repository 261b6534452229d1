/* Methods of Graph that add many nodes at once: import and gradients. Both may take long, so they
 * run without the GIL, which gradient functions in Python take for their calls. */
#include "python/extension/runtime.h"

const char** read_texts(PyObject* tuple, int32_t* n) {
  Py_ssize_t size = PyTuple_Size(tuple);
  if (size < 0) return NULL;
  const char** texts = PyMem_Malloc((size_t)(size + 1) * sizeof(*texts));
  if (texts == NULL) return (const char**)PyErr_NoMemory();
  for (Py_ssize_t i = 0; i < size; ++i) {
    texts[i] = text_of(PyTuple_GetItem(tuple, i));
    if (texts[i] == NULL) {
      PyMem_Free(texts);
      return NULL;
    }
  }
  *n = (int32_t)size;
  return texts;
}

static PyObject* tuple_of_outputs(const millstream_output* outputs, int32_t n) {
  PyObject* tuple = PyTuple_New(n);
  for (int32_t i = 0; i < n && tuple != NULL; ++i) {
    PyTuple_SetItem(tuple, i, pack_output(outputs[i]));
  }
  return tuple;
}

PyObject* graph_import(PyObject* self, PyObject* args) {
  const char *data = NULL, *config = NULL, *prefix = NULL, *source = NULL;
  Py_ssize_t size = 0, config_size = 0;
  PyObject *map_names = NULL, *map_outputs = NULL, *return_names = NULL;
  if (!PyArg_ParseTuple(args, "y#y#ssOOO", &data, &size, &config, &config_size, &prefix, &source,
                        &map_names, &map_outputs, &return_names)) {
    return NULL;
  }
  int32_t n_map = 0, n_mapped = 0, n_return = 0;
  millstream_output *mapped = NULL, *returned = NULL;
  const char** returns = NULL;
  PyObject* result = NULL;
  const char** maps = read_texts(map_names, &n_map);
  if (maps == NULL || read_outputs(map_outputs, &mapped, &n_mapped) != 0) goto end;
  returns = read_texts(return_names, &n_return);
  returned = PyMem_Malloc((size_t)(n_return + 1) * sizeof(*returned));
  if (returns == NULL || returned == NULL) goto end;
  if (n_map != n_mapped) {
    PyErr_SetString(PyExc_ValueError, "names and outputs to map differ in number");
    goto end;
  }
  millstream_status* status;
  Py_BEGIN_ALLOW_THREADS;
  status = millstream_graph_import(((graph_object*)self)->handle, data, (size_t)size, config,
                                   (size_t)config_size, prefix, source, maps, mapped, n_map,
                                   returns, n_return, returned);
  Py_END_ALLOW_THREADS;
  if (status != NULL) {
    raise_status(status, NULL);
  } else {
    result = tuple_of_outputs(returned, n_return);
  }
end:
  PyMem_Free(maps);
  PyMem_Free(mapped);
  PyMem_Free(returns);
  PyMem_Free(returned);
  return result;
}

/* Reads gradients of the ys: outputs or None; *out stays NULL when `sequence` is None. */
static int read_grad_ys(PyObject* sequence, int32_t n_ys, millstream_output** out) {
  if (sequence == Py_None) return 0;
  Py_ssize_t n = PySequence_Size(sequence);
  if (n != n_ys) {
    if (n >= 0) PyErr_Format(PyExc_ValueError, "%d ys, but %zd grad_ys", (int)n_ys, n);
    return -1;
  }
  millstream_output* items = PyMem_Malloc((size_t)(n + 1) * sizeof(*items));
  if (items == NULL) {
    PyErr_NoMemory();
    return -1;
  }
  *out = items;
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* item = PySequence_GetItem(sequence, i);
    if (item == NULL) return -1;
    items[i].node = -1;
    items[i].index = 0;
    int failed = item != Py_None && unpack_output(item, &items[i]) != 0;
    Py_DECREF(item);
    if (failed) return -1;
  }
  return 0;
}

static PyObject* describe_gradient(const millstream_gradient* gradient) {
  if (gradient->values.node < 0) Py_RETURN_NONE;
  if (gradient->indices.node < 0) return pack_output(gradient->values);
  PyObject* shape = Py_None;
  if (gradient->dense_shape.node >= 0) {
    shape = pack_output(gradient->dense_shape);
  } else {
    Py_INCREF(shape);
  }
  return Py_BuildValue("(NNN)", pack_output(gradient->values), pack_output(gradient->indices),
                       shape);
}

static PyObject* list_of_gradients(const millstream_gradient* gradients, int32_t n) {
  PyObject* list = PyList_New(n);
  for (int32_t i = 0; i < n && list != NULL; ++i) {
    PyObject* gradient = describe_gradient(&gradients[i]);
    if (gradient == NULL) {
      Py_DECREF(list);
      return NULL;
    }
    PyList_SetItem(list, i, gradient);
  }
  return list;
}

/* Reads what describe_gradient gives; *out stays as it is for None. */
static int read_gradient(PyObject* object, millstream_gradient* out) {
  if (object == Py_None) return 0;
  if (!PyTuple_Check(object)) return unpack_output(object, &out->values);
  PyObject *values, *indices, *shape;
  if (!PyArg_ParseTuple(object, "OOO", &values, &indices, &shape)) return -1;
  if (unpack_output(values, &out->values) != 0 || unpack_output(indices, &out->indices) != 0) {
    return -1;
  }
  return unpack_output(shape, &out->dense_shape);
}

static const char region_name[] = "millstream.gradient_region";

static millstream_gradient_region* region_of(PyObject* capsule) {
  return PyCapsule_GetPointer(capsule, region_name);
}

PyObject* region_inside(PyObject* module, PyObject* args) {
  PyObject *capsule, *packed;
  millstream_output output, inside;
  if (!PyArg_ParseTuple(args, "OO", &capsule, &packed)) return NULL;
  millstream_gradient_region* const region = region_of(capsule);
  if (region == NULL || unpack_output(packed, &output) != 0) return NULL;
  millstream_status* status;
  Py_BEGIN_ALLOW_THREADS;
  status = millstream_gradient_region_inside(region, output, &inside);
  Py_END_ALLOW_THREADS;
  if (status == NULL) return pack_output(inside);
  raise_status(status, NULL);
  return NULL;
}

PyObject* region_pivot(PyObject* module, PyObject* capsule) {
  const millstream_gradient_region* const region = region_of(capsule);
  return region == NULL ? NULL : PyLong_FromLong(millstream_gradient_region_pivot(region));
}

PyObject* region_note(PyObject* module, PyObject* args) {
  PyObject* capsule;
  int node = 0;
  if (!PyArg_ParseTuple(args, "Oi", &capsule, &node)) return NULL;
  millstream_gradient_region* const region = region_of(capsule);
  if (region == NULL) return NULL;
  millstream_gradient_region_note(region, node);
  Py_RETURN_NONE;
}

/* Calls `functions`, the package's, as millstream_gradient_functions says. Without the GIL. An
 * exception stays set, so that it is the one that graph_gradients raises. */
static int32_t differentiate(void* functions, const char* name, int32_t node, const char* scope,
                             millstream_gradient_region* region, const millstream_gradient* dy,
                             int32_t n_dy, millstream_gradient* dx, int32_t n_dx) {
  PyGILState_STATE state = PyGILState_Ensure();
  int32_t outcome = -1;
  PyObject* dys = list_of_gradients(dy, n_dy);
  PyObject* place = region == NULL ? Py_None : PyCapsule_New(region, region_name, NULL);
  if (region == NULL) Py_INCREF(place);
  PyObject* dxs = dys == NULL || place == NULL
                      ? NULL
                      : PyObject_CallFunction((PyObject*)functions, "sisOO", name, (int)node, scope,
                                              place, dys);
  Py_XDECREF(place);
  Py_XDECREF(dys);
  if (dxs == Py_None) {
    outcome = 0;
  } else if (dxs != NULL && PyList_Check(dxs) && PyList_Size(dxs) == n_dx) {
    outcome = 1;
    for (int32_t i = 0; i < n_dx && outcome == 1; ++i) {
      if (read_gradient(PyList_GetItem(dxs, i), &dx[i]) != 0) outcome = -1;
    }
  } else if (dxs != NULL) {
    PyErr_Format(PyExc_TypeError, "expected a list of %d gradients, got %R", (int)n_dx, dxs);
  }
  Py_XDECREF(dxs);
  PyGILState_Release(state);
  return outcome;
}

PyObject* graph_gradients(PyObject* self, PyObject* args) {
  PyObject *ys_object, *xs_object, *grad_ys_object, *stops_object, *functions_object;
  const char *scope = NULL, *source = NULL;
  int colocate = 0;
  if (!PyArg_ParseTuple(args, "OOOOpssO", &ys_object, &xs_object, &grad_ys_object, &stops_object,
                        &colocate, &scope, &source, &functions_object)) {
    return NULL;
  }
  const millstream_gradient_functions functions = {differentiate, functions_object};
  millstream_output *ys = NULL, *xs = NULL, *grad_ys = NULL, *stops = NULL;
  millstream_gradient* gradients = NULL;
  int32_t n_ys = 0, n_xs = 0, n_stops = 0;
  millstream_bytes made = {NULL, 0};
  PyObject *list = NULL, *result = NULL;
  if (read_outputs(ys_object, &ys, &n_ys) != 0 || read_outputs(xs_object, &xs, &n_xs) != 0 ||
      read_outputs(stops_object, &stops, &n_stops) != 0 ||
      read_grad_ys(grad_ys_object, n_ys, &grad_ys) != 0) {
    goto end;
  }
  gradients = PyMem_Malloc((size_t)(n_xs + 1) * sizeof(*gradients));
  if (gradients == NULL) {
    PyErr_NoMemory();
    goto end;
  }
  millstream_status* status;
  Py_BEGIN_ALLOW_THREADS;
  status =
      millstream_graph_gradients(((graph_object*)self)->handle, ys, n_ys, xs, n_xs, grad_ys, stops,
                                 n_stops, colocate, scope, source, &functions, gradients, &made);
  Py_END_ALLOW_THREADS;
  if (status != NULL) {
    raise_status(status, NULL);
    goto end;
  }
  list = list_of_gradients(gradients, n_xs);
  if (list != NULL) {
    result = Py_BuildValue("(Ny#)", list, made.data, (Py_ssize_t)made.size);
  }
end:
  millstream_bytes_free(&made);
  PyMem_Free(ys);
  PyMem_Free(xs);
  PyMem_Free(grad_ys);
  PyMem_Free(stops);
  PyMem_Free(gradients);
  return result;
}
