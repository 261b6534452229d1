/* Attribute sets. The package says of each value what it is by a one-letter kind:
 *
 *   i int     f float   b bool   s string   t type   h shape   v tensor (dtype, dims, data)
 *   I F B S T H         lists of those          p AttrValue bytes
 *
 * A shape is None (unknown) or a tuple in which -1 is an unknown dimension. */
#include "python/extension/runtime.h"

static int bytes_of(PyObject* value, const char** data, size_t* size) {
  Py_ssize_t length = 0;
  if (PyUnicode_Check(value)) {
    *data = PyUnicode_AsUTF8AndSize(value, &length);
    if (*data == NULL) return -1;
  } else if (PyBytes_AsStringAndSize(value, (char**)data, &length) != 0) {
    return -1;
  }
  *size = (size_t)length;
  return 0;
}

static int set_shape(millstream_attrs* attrs, const char* name, PyObject* value) {
  if (value == Py_None) {
    millstream_attrs_set_shape(attrs, name, NULL, -1);
    return 0;
  }
  int64_t* dims = NULL;
  int32_t rank = 0;
  if (read_int64s(value, &dims, &rank) != 0) return -1;
  millstream_attrs_set_shape(attrs, name, dims, rank);
  PyMem_Free(dims);
  return 0;
}

static int set_tensor(millstream_attrs* attrs, const char* name, PyObject* value) {
  int dtype = 0;
  PyObject* dims = NULL;
  PyObject* data = NULL;
  if (!PyArg_ParseTuple(value, "iOO", &dtype, &dims, &data)) return -1;
  PyObject* prepared = PyTuple_Pack(2, dims, data);
  if (prepared == NULL) return -1;
  lent_tensor lent;
  int result = lend_prepared(prepared, dtype, &lent);
  if (result == 0) {
    millstream_attrs_set_tensor(attrs, name, lent.tensor); /* copies what is borrowed */
    end_loan(&lent);
  }
  Py_DECREF(prepared);
  return result;
}

static int set_int_list(millstream_attrs* attrs, const char* name, PyObject* value) {
  int64_t* items = NULL;
  int32_t n = 0;
  if (read_int64s(value, &items, &n) != 0) return -1;
  millstream_attrs_set_int_list(attrs, name, items, n);
  PyMem_Free(items);
  return 0;
}

static int set_int32_list(millstream_attrs* attrs, const char* name, char kind, PyObject* value) {
  int32_t* items = NULL;
  int32_t n = 0;
  if (read_int32s(value, &items, &n) != 0) return -1;
  if (kind == 'B') {
    millstream_attrs_set_bool_list(attrs, name, items, n);
  } else {
    millstream_attrs_set_type_list(attrs, name, items, n);
  }
  PyMem_Free(items);
  return 0;
}

static int set_float_list(millstream_attrs* attrs, const char* name, PyObject* value) {
  Py_ssize_t n = PySequence_Size(value);
  if (n < 0) return -1;
  float* items = PyMem_Malloc(n == 0 ? 1 : (size_t)n * sizeof(*items));
  if (items == NULL) {
    PyErr_NoMemory();
    return -1;
  }
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* item = PySequence_GetItem(value, i);
    items[i] = item == NULL ? 0.0f : (float)PyFloat_AsDouble(item);
    Py_XDECREF(item);
    if (PyErr_Occurred() != NULL) {
      PyMem_Free(items);
      return -1;
    }
  }
  millstream_attrs_set_float_list(attrs, name, items, (int32_t)n);
  PyMem_Free(items);
  return 0;
}

static int set_string_list(millstream_attrs* attrs, const char* name, PyObject* value) {
  PyObject* items = PySequence_Tuple(value); /* keeps the strings alive */
  if (items == NULL) return -1;
  Py_ssize_t n = PyTuple_Size(items);
  const char** data = PyMem_Malloc((size_t)(n + 1) * sizeof(*data));
  size_t* sizes = PyMem_Malloc((size_t)(n + 1) * sizeof(*sizes));
  int result = data == NULL || sizes == NULL ? -1 : 0;
  if (result != 0) PyErr_NoMemory();
  for (Py_ssize_t i = 0; i < n && result == 0; ++i) {
    result = bytes_of(PyTuple_GetItem(items, i), &data[i], &sizes[i]);
  }
  if (result == 0) millstream_attrs_set_string_list(attrs, name, data, sizes, (int32_t)n);
  PyMem_Free(data);
  PyMem_Free(sizes);
  Py_DECREF(items);
  return result;
}

/* Sum of the ranks of a sequence of shapes, or -1. */
static Py_ssize_t total_rank(PyObject* shapes, Py_ssize_t n) {
  Py_ssize_t total = 0;
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* shape = PySequence_GetItem(shapes, i);
    Py_ssize_t rank = shape == NULL ? -1 : shape == Py_None ? 0 : PySequence_Size(shape);
    Py_XDECREF(shape);
    if (rank < 0) return -1;
    total += rank;
  }
  return total;
}

static int fill_shape(PyObject* shape, int64_t* dims, int32_t* rank) {
  if (shape == Py_None) {
    *rank = -1;
    return 0;
  }
  int64_t* read = NULL;
  if (read_int64s(shape, &read, rank) != 0) return -1;
  for (int32_t i = 0; i < *rank; ++i) dims[i] = read[i];
  PyMem_Free(read);
  return 0;
}

static int set_shape_list(millstream_attrs* attrs, const char* name, PyObject* value) {
  Py_ssize_t n = PySequence_Size(value);
  Py_ssize_t total = n < 0 ? -1 : total_rank(value, n);
  if (total < 0) return -1;
  int64_t* dims = PyMem_Malloc((size_t)(total + 1) * sizeof(*dims));
  int32_t* ranks = PyMem_Malloc((size_t)(n + 1) * sizeof(*ranks));
  int result = dims == NULL || ranks == NULL ? -1 : 0;
  if (result != 0) PyErr_NoMemory();
  int64_t* next = dims;
  for (Py_ssize_t i = 0; i < n && result == 0; ++i) {
    PyObject* shape = PySequence_GetItem(value, i);
    result = shape == NULL ? -1 : fill_shape(shape, next, &ranks[i]);
    if (result == 0 && ranks[i] > 0) next += ranks[i];
    Py_XDECREF(shape);
  }
  if (result == 0) millstream_attrs_set_shape_list(attrs, name, dims, ranks, (int32_t)n);
  PyMem_Free(dims);
  PyMem_Free(ranks);
  return result;
}

static int set_proto(millstream_attrs* attrs, const char* name, PyObject* value) {
  const char* data = NULL;
  size_t size = 0;
  if (bytes_of(value, &data, &size) != 0) return -1;
  millstream_status* status = millstream_attrs_set_proto(attrs, name, data, size);
  if (status == NULL) return 0;
  raise_status(status, NULL);
  return -1;
}

static int set_string(millstream_attrs* attrs, const char* name, PyObject* value) {
  const char* data = NULL;
  size_t size = 0;
  if (bytes_of(value, &data, &size) != 0) return -1;
  millstream_attrs_set_string(attrs, name, data, size);
  return 0;
}

static int set_number(millstream_attrs* attrs, const char* name, char kind, PyObject* value) {
  if (kind == 'f') {
    double number = PyFloat_AsDouble(value);
    if (number == -1.0 && PyErr_Occurred() != NULL) return -1;
    millstream_attrs_set_float(attrs, name, (float)number);
    return 0;
  }
  if (kind == 'b') {
    int truth = PyObject_IsTrue(value);
    if (truth < 0) return -1;
    millstream_attrs_set_bool(attrs, name, truth);
    return 0;
  }
  long long number = PyLong_AsLongLong(value);
  if (number == -1 && PyErr_Occurred() != NULL) return -1;
  if (kind == 't') {
    millstream_attrs_set_type(attrs, name, (int32_t)number);
  } else {
    millstream_attrs_set_int(attrs, name, number);
  }
  return 0;
}

static int set_attr(millstream_attrs* attrs, const char* name, char kind, PyObject* value) {
  switch (kind) {
    case 'i':
    case 'f':
    case 'b':
    case 't': return set_number(attrs, name, kind, value);
    case 's': return set_string(attrs, name, value);
    case 'h': return set_shape(attrs, name, value);
    case 'v': return set_tensor(attrs, name, value);
    case 'I': return set_int_list(attrs, name, value);
    case 'F': return set_float_list(attrs, name, value);
    case 'B':
    case 'T': return set_int32_list(attrs, name, kind, value);
    case 'S': return set_string_list(attrs, name, value);
    case 'H': return set_shape_list(attrs, name, value);
    case 'p': return set_proto(attrs, name, value);
    default: PyErr_Format(PyExc_ValueError, "attribute '%s' has an unknown kind", name); return -1;
  }
}

static int read_attr(PyObject* item, millstream_attrs* attrs) {
  const char* name = NULL;
  const char* kind = NULL;
  PyObject* value = NULL;
  if (!PyArg_ParseTuple(item, "ssO", &name, &kind, &value)) return -1;
  return set_attr(attrs, name, kind[0], value);
}

int read_attrs(PyObject* sequence, millstream_attrs** out) {
  *out = NULL;
  Py_ssize_t n = PySequence_Size(sequence);
  if (n <= 0) return n == 0 ? 0 : -1;
  millstream_attrs* attrs = millstream_attrs_new();
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* item = PySequence_GetItem(sequence, i);
    int failed = item == NULL || read_attr(item, attrs) != 0;
    Py_XDECREF(item);
    if (failed) {
      millstream_attrs_free(attrs);
      return -1;
    }
  }
  *out = attrs;
  return 0;
}
