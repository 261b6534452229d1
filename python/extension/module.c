/* The module `_runtime`: its types, and functions about messages and ops. */
#include "python/extension/runtime.h"

static PyObject* configure(PyObject* module, PyObject* args) {
  (void)module;
  PyObject *ndarray, *dtypes, *string_array;
  if (!PyArg_ParseTuple(args, "OO!O", &ndarray, &PyDict_Type, &dtypes, &string_array)) return NULL;
  PyObject *key, *value;
  Py_ssize_t position = 0;
  while (PyDict_Next(dtypes, &position, &key, &value)) {
    Py_ssize_t number = PyLong_AsSsize_t(key);
    PyObject *dtype, *scalar;
    if (!PyArg_ParseTuple(value, "OO", &dtype, &scalar)) return NULL;
    if (number < 0 || number >= kNumDtypes) {
      PyErr_Format(PyExc_ValueError, "no data type has the number %zd", number);
      return NULL;
    }
    Py_INCREF(dtype);
    Py_INCREF(scalar);
    g_config.dtypes[number] = dtype;
    g_config.scalars[number] = scalar;
  }
  Py_INCREF(ndarray);
  Py_INCREF(string_array);
  g_config.ndarray = ndarray;
  g_config.string_array = string_array;
  Py_RETURN_NONE;
}

static PyObject* version(PyObject* module, PyObject* unused) {
  (void)module;
  (void)unused;
  return PyUnicode_FromString(millstream_version());
}

static PyObject* finish_bytes(millstream_status* status, millstream_bytes* bytes) {
  if (status == NULL) return take_bytes(bytes);
  raise_status(status, NULL);
  return NULL;
}

static PyObject* finish_text(millstream_status* status, millstream_bytes* bytes) {
  if (status == NULL) return take_text(bytes);
  raise_status(status, NULL);
  return NULL;
}

static PyObject* op_list(PyObject* module, PyObject* unused) {
  (void)module;
  (void)unused;
  millstream_bytes bytes;
  return finish_bytes(millstream_op_list(&bytes), &bytes);
}

static PyObject* differentiable_ops(PyObject* module, PyObject* unused) {
  (void)module;
  (void)unused;
  millstream_bytes bytes;
  millstream_differentiable_ops(&bytes);
  return take_text(&bytes);
}

static PyObject* has_gradient(PyObject* module, PyObject* op) {
  (void)module;
  const char* name = text_of(op);
  return name == NULL ? NULL : PyBool_FromLong(millstream_has_gradient(name));
}

static PyObject* message_descriptions(PyObject* module, PyObject* unused) {
  (void)module;
  (void)unused;
  millstream_bytes bytes;
  return finish_text(millstream_message_descriptions(&bytes), &bytes);
}

static PyObject* message_parse_text(PyObject* module, PyObject* args) {
  (void)module;
  const char *name, *text;
  Py_ssize_t size = 0;
  if (!PyArg_ParseTuple(args, "ss#", &name, &text, &size)) return NULL;
  millstream_bytes bytes;
  return finish_bytes(millstream_message_parse_text(name, text, (size_t)size, &bytes), &bytes);
}

static PyObject* message_print_text(PyObject* module, PyObject* args) {
  (void)module;
  const char *name, *data;
  Py_ssize_t size = 0;
  if (!PyArg_ParseTuple(args, "sy#", &name, &data, &size)) return NULL;
  millstream_bytes bytes;
  return finish_text(millstream_message_print_text(name, data, (size_t)size, &bytes), &bytes);
}

static PyObject* reset(PyObject* module, PyObject* containers) {
  (void)module;
  int32_t n = 0;
  const char** names = read_texts(containers, &n);
  if (names == NULL) return NULL;
  millstream_status* status;
  Py_BEGIN_ALLOW_THREADS;
  status = millstream_reset(names, n);
  Py_END_ALLOW_THREADS;
  PyMem_Free(names);
  if (status == NULL) Py_RETURN_NONE;
  raise_status(status, NULL);
  return NULL;
}

static PyMethodDef functions[] = {
    {"configure", configure, METH_VARARGS,
     "configure(ndarray, {number: (dtype, scalar type)}, string_array): what NumPy's types are."},
    {"version", version, METH_NOARGS, "Version of the library."},
    {"op_list", op_list, METH_NOARGS, "Every registered op as OpList bytes."},
    {"differentiable_ops", differentiable_ops, METH_NOARGS,
     "Names of the ops that have a gradient function, one a line."},
    {"has_gradient", has_gradient, METH_O,
     "Whether the library knows the gradient of an op, or that it has none."},
    {"region_inside", region_inside, METH_VARARGS,
     "(region, tensor) -> what a node of the region reads instead."},
    {"region_pivot", region_pivot, METH_O,
     "The node that nodes of the region without inputs wait for."},
    {"region_note", region_note, METH_VARARGS, "(region, node): a node was added to the region."},
    {"message_descriptions", message_descriptions, METH_NOARGS, "Message types as JSON."},
    {"message_parse_text", message_parse_text, METH_VARARGS, "(name, text) -> bytes"},
    {"message_print_text", message_print_text, METH_VARARGS, "(name, bytes) -> text"},
    {"reset", reset, METH_O, "Clears the containers of a tuple, or all; closes all sessions."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "millstream._runtime",
    .m_doc = "The C API for the package millstream; private.",
    .m_size = -1,
    .m_methods = functions,
};

PyMODINIT_FUNC PyInit__runtime(void) {
  PyObject* module = PyModule_Create(&definition);
  if (module == NULL) return NULL;
  if (status_init(module) != 0 || memory_init(module) != 0 || graph_init(module) != 0 ||
      session_init(module) != 0 || plugins_init(module) != 0 || files_init(module) != 0 ||
      functions_init(module) != 0 || clusters_init(module) != 0) {
    Py_DECREF(module);
    return NULL;
  }
  return module;
}
