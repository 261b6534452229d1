/* Tensors as NumPy arrays and arrays as tensors, both without copying.
 *
 * Out: a TensorMemory object owns the tensor and exports its bytes through the buffer protocol;
 * numpy.ndarray is called with it, so the array keeps the tensor and may write to it. In: the
 * array's buffer is borrowed for the length of a loan, at any alignment, read-only or not. */
#include "python/extension/runtime.h"

runtime_config g_config;
PyTypeObject* g_memory_type;

typedef struct memory_object {
  PyObject_HEAD millstream_tensor* tensor;
} memory_object;

static void memory_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  millstream_tensor_free(((memory_object*)self)->tensor);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

static int memory_getbuffer(PyObject* self, Py_buffer* view, int flags) {
  millstream_tensor* tensor = ((memory_object*)self)->tensor;
  return PyBuffer_FillInfo(view, self, millstream_tensor_data(tensor),
                           (Py_ssize_t)millstream_tensor_size(tensor), /*readonly=*/0, flags);
}

static PyType_Slot memory_slots[] = {
    {Py_tp_doc, "Memory of a tensor that the runtime made; exports its bytes."},
    {Py_tp_dealloc, memory_dealloc},
    {Py_bf_getbuffer, memory_getbuffer},
    {0, NULL},
};
static PyType_Spec memory_spec = {
    .name = "millstream._runtime.TensorMemory",
    .basicsize = sizeof(memory_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = memory_slots,
};

int memory_init(PyObject* module) {
  g_memory_type = (PyTypeObject*)PyType_FromSpec(&memory_spec);
  if (g_memory_type == NULL) return -1;
  return PyModule_AddObjectRef(module, "TensorMemory", (PyObject*)g_memory_type);
}

/* ---- Out ---- */

static PyObject* array_of_strings(millstream_tensor* tensor) {
  int64_t n = millstream_tensor_num_elements(tensor);
  PyObject* cells = PyList_New((Py_ssize_t)n);
  if (cells == NULL) return NULL;
  for (int64_t i = 0; i < n; ++i) {
    size_t size = 0;
    const char* data = millstream_tensor_string(tensor, i, &size);
    PyObject* cell = PyBytes_FromStringAndSize(data, (Py_ssize_t)size);
    if (cell == NULL) {
      Py_DECREF(cells);
      return NULL;
    }
    PyList_SetItem(cells, (Py_ssize_t)i, cell);
  }
  PyObject* result = NULL;
  if (millstream_tensor_rank(tensor) == 0) {
    result = PySequence_GetItem(cells, 0);
  } else {
    PyObject* shape = tuple_of_dims(millstream_tensor_dims(tensor), millstream_tensor_rank(tensor));
    if (shape != NULL) {
      result = PyObject_CallFunctionObjArgs(g_config.string_array, cells, shape, NULL);
      Py_DECREF(shape);
    }
  }
  Py_DECREF(cells);
  return result;
}

/* The Python number in a scalar of a common dtype; NULL without exception for another dtype. */
static PyObject* number_of_scalar(int32_t dtype, const void* data) {
  switch (dtype) {
    case kDtypeFloat32: return PyFloat_FromDouble(*(const float*)data);
    case kDtypeFloat64: return PyFloat_FromDouble(*(const double*)data);
    case kDtypeInt32: return PyLong_FromLong(*(const int32_t*)data);
    case kDtypeInt64: return PyLong_FromLongLong(*(const int64_t*)data);
    case kDtypeBool: return PyBool_FromLong(*(const uint8_t*)data);
    default: return NULL;
  }
}

static PyObject* wrap_memory(millstream_tensor* tensor) {
  PyObject* memory = PyType_GenericAlloc(g_memory_type, 0);
  if (memory == NULL) {
    millstream_tensor_free(tensor);
    return NULL;
  }
  ((memory_object*)memory)->tensor = tensor;
  return memory;
}

PyObject* array_of_tensor(millstream_tensor* tensor) {
  int32_t dtype = millstream_tensor_dtype(tensor);
  int32_t rank = millstream_tensor_rank(tensor);
  if (dtype == kDtypeString) {
    PyObject* strings = array_of_strings(tensor);
    millstream_tensor_free(tensor);
    return strings;
  }
  if (dtype < 0 || dtype >= kNumDtypes || g_config.dtypes[dtype] == NULL) {
    millstream_tensor_free(tensor);
    PyErr_Format(PyExc_TypeError, "a tensor of data type %d has no value in NumPy", (int)dtype);
    return NULL;
  }
  if (rank == 0) {
    PyObject* number = number_of_scalar(dtype, millstream_tensor_data(tensor));
    if (number != NULL) {
      PyObject* scalar = PyObject_CallFunctionObjArgs(g_config.scalars[dtype], number, NULL);
      Py_DECREF(number);
      millstream_tensor_free(tensor);
      return scalar;
    }
    if (PyErr_Occurred() != NULL) {
      millstream_tensor_free(tensor);
      return NULL;
    }
  }
  PyObject* shape = tuple_of_dims(millstream_tensor_dims(tensor), rank);
  PyObject* memory = wrap_memory(tensor);
  PyObject* array = NULL;
  if (shape != NULL && memory != NULL) {
    array =
        PyObject_CallFunctionObjArgs(g_config.ndarray, shape, g_config.dtypes[dtype], memory, NULL);
  }
  if (array != NULL && rank == 0) {
    PyObject* scalar = PyObject_GetItem(array, shape); /* array[()] */
    Py_DECREF(array);
    array = scalar;
  }
  Py_XDECREF(shape);
  Py_XDECREF(memory);
  return array;
}

/* ---- In ---- */

/* DataType number of a native buffer format; 0 when there is none. */
static int32_t dtype_of_format(const char* format, Py_ssize_t item_size) {
  if (format == NULL) return kDtypeUint8;
  if (*format == '@' || *format == '=' || *format == '<') ++format;
  if (format[0] == 'Z' && format[2] == '\0') {
    return format[1] == 'f' ? kDtypeComplex64 : format[1] == 'd' ? kDtypeComplex128 : 0;
  }
  if (format[0] == '\0' || format[1] != '\0') return 0;
  switch (format[0]) {
    case 'f': return kDtypeFloat32;
    case 'd': return kDtypeFloat64;
    case 'e': return kDtypeFloat16;
    case '?': return kDtypeBool;
    case 'b': return kDtypeInt8;
    case 'B': return kDtypeUint8;
    case 'h': return kDtypeInt16;
    case 'H': return kDtypeUint16;
    case 'i':
    case 'l':
    case 'q': return item_size == 4 ? kDtypeInt32 : kDtypeInt64;
    case 'I':
    case 'L':
    case 'Q': return item_size == 4 ? kDtypeUint32 : kDtypeUint64;
    default: return 0;
  }
}

static int fits(const Py_buffer* view, const int64_t* dims, int32_t rank) {
  if (rank < 0) return 1;
  if (view->ndim != rank) return 0;
  for (int32_t i = 0; i < rank; ++i) {
    if (dims[i] >= 0 && dims[i] != view->shape[i]) return 0;
  }
  return 1;
}

static void keep_nothing(void* argument) { (void)argument; }

/* Makes the tensor over `out->view`; ends the loan on failure. */
static int borrow_view(int32_t dtype, const int64_t* dims, int32_t rank, lent_tensor* out) {
  millstream_status* status = millstream_tensor_borrow(
      dtype, dims, rank, out->view.buf, (size_t)out->view.len, keep_nothing, NULL, &out->tensor);
  if (status == NULL) return 0;
  raise_status(status, NULL);
  PyBuffer_Release(&out->view);
  return -1;
}

int lend_array(PyObject* array, int32_t dtype, const int64_t* dims, int32_t rank,
               lent_tensor* out) {
  out->tensor = NULL;
  if (PyObject_GetBuffer(array, &out->view, PyBUF_ND | PyBUF_FORMAT) != 0) {
    PyErr_Clear();
    out->view.obj = NULL;
    return 0;
  }
  if (dtype_of_format(out->view.format, out->view.itemsize) != dtype ||
      !fits(&out->view, dims, rank)) {
    PyBuffer_Release(&out->view);
    return 0;
  }
  const int64_t* shape = (const int64_t*)out->view.shape; /* Py_ssize_t is 64 bits here */
  return borrow_view(dtype, shape, out->view.ndim, out) == 0 ? 1 : -1;
}

static int lend_strings(PyObject* cells, const int64_t* dims, int32_t rank, lent_tensor* out) {
  millstream_status* status = millstream_tensor_new(kDtypeString, dims, rank, &out->tensor);
  if (status != NULL) {
    raise_status(status, NULL);
    return -1;
  }
  Py_ssize_t n = PySequence_Size(cells);
  if (n != (Py_ssize_t)millstream_tensor_num_elements(out->tensor)) {
    if (n >= 0) PyErr_SetString(PyExc_ValueError, "strings do not fill their shape");
    end_loan(out);
    return -1;
  }
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* cell = PySequence_GetItem(cells, i);
    char* data = NULL;
    Py_ssize_t size = 0;
    if (cell == NULL || PyBytes_AsStringAndSize(cell, &data, &size) != 0) {
      Py_XDECREF(cell);
      end_loan(out);
      return -1;
    }
    millstream_tensor_set_string(out->tensor, i, data, (size_t)size);
    Py_DECREF(cell);
  }
  return 0;
}

int lend_prepared(PyObject* prepared, int32_t dtype, lent_tensor* out) {
  out->tensor = NULL;
  out->view.obj = NULL;
  PyObject* shape = NULL;
  PyObject* data = NULL;
  if (!PyArg_ParseTuple(prepared, "OO", &shape, &data)) return -1;
  int64_t* dims = NULL;
  int32_t rank = 0;
  if (read_int64s(shape, &dims, &rank) != 0) return -1;
  int result = -1;
  if (dtype == kDtypeString) {
    result = lend_strings(data, dims, rank, out);
  } else if (PyObject_GetBuffer(data, &out->view, PyBUF_ND) == 0) {
    result = borrow_view(dtype, dims, rank, out);
  }
  PyMem_Free(dims);
  return result;
}

void end_loan(lent_tensor* lent) {
  millstream_tensor_free(lent->tensor);
  lent->tensor = NULL;
  if (lent->view.obj != NULL) PyBuffer_Release(&lent->view);
}
