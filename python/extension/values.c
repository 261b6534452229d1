/* Python numbers, texts and sequences as arguments of the C API, and back. */
#include "python/extension/runtime.h"

int check_count(const char* function, Py_ssize_t given, Py_ssize_t expected) {
  if (given == expected) return 0;
  PyErr_Format(PyExc_TypeError, "%s() takes %zd arguments, got %zd", function, expected, given);
  return -1;
}

const char* text_of(PyObject* object) {
  Py_ssize_t size = 0;
  return PyUnicode_AsUTF8AndSize(object, &size);
}

PyObject* pack_output(millstream_output output) {
  return PyLong_FromLongLong(((long long)output.node << 32) | output.index);
}

int unpack_output(PyObject* object, millstream_output* out) {
  long long packed = PyLong_AsLongLong(object);
  if (packed == -1 && PyErr_Occurred() != NULL) return -1;
  if (packed < 0) {
    PyErr_SetString(PyExc_ValueError, "an output is negative");
    return -1;
  }
  out->node = (int32_t)(packed >> 32);
  out->index = (int32_t)(packed & 0x7fffffff);
  return 0;
}

/* Allocates an array for the items of `sequence`; *n is their number. */
static void* new_items(PyObject* sequence, size_t item_size, int32_t* n) {
  Py_ssize_t size = PySequence_Size(sequence);
  if (size < 0) return NULL;
  if (size > INT32_MAX) {
    PyErr_SetString(PyExc_ValueError, "a sequence has too many items");
    return NULL;
  }
  *n = (int32_t)size;
  void* items = PyMem_Malloc(size == 0 ? item_size : (size_t)size * item_size);
  if (items == NULL) PyErr_NoMemory();
  return items;
}

int read_outputs(PyObject* sequence, millstream_output** out, int32_t* n) {
  millstream_output* items = new_items(sequence, sizeof(*items), n);
  if (items == NULL) return -1;
  for (int32_t i = 0; i < *n; ++i) {
    PyObject* item = PySequence_GetItem(sequence, i);
    int failed = item == NULL || unpack_output(item, &items[i]) != 0;
    Py_XDECREF(item);
    if (failed) {
      PyMem_Free(items);
      return -1;
    }
  }
  *out = items;
  return 0;
}

int read_int64s(PyObject* sequence, int64_t** out, int32_t* n) {
  int64_t* items = new_items(sequence, sizeof(*items), n);
  if (items == NULL) return -1;
  for (int32_t i = 0; i < *n; ++i) {
    PyObject* item = PySequence_GetItem(sequence, i);
    items[i] = item == NULL ? 0 : (int64_t)PyLong_AsLongLong(item);
    Py_XDECREF(item);
    if (PyErr_Occurred() != NULL) {
      PyMem_Free(items);
      return -1;
    }
  }
  *out = items;
  return 0;
}

int read_int32s(PyObject* sequence, int32_t** out, int32_t* n) {
  int64_t* wide = NULL;
  if (read_int64s(sequence, &wide, n) != 0) return -1;
  int32_t* items = PyMem_Malloc(*n == 0 ? sizeof(*items) : (size_t)*n * sizeof(*items));
  if (items == NULL) {
    PyMem_Free(wide);
    PyErr_NoMemory();
    return -1;
  }
  for (int32_t i = 0; i < *n; ++i) {
    if (wide[i] < INT32_MIN || wide[i] > INT32_MAX) {
      PyErr_Format(PyExc_OverflowError, "%lld does not fit 32 bits", (long long)wide[i]);
      PyMem_Free(wide);
      PyMem_Free(items);
      return -1;
    }
    items[i] = (int32_t)wide[i];
  }
  PyMem_Free(wide);
  *out = items;
  return 0;
}

PyObject* tuple_of_dims(const int64_t* dims, int32_t rank) {
  PyObject* tuple = PyTuple_New(rank);
  if (tuple == NULL) return NULL;
  for (int32_t i = 0; i < rank; ++i) {
    PyObject* dimension = PyLong_FromLongLong(dims[i]);
    if (dimension == NULL) {
      Py_DECREF(tuple);
      return NULL;
    }
    PyTuple_SetItem(tuple, i, dimension);
  }
  return tuple;
}
