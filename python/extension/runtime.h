/* What the parts of the extension module `_runtime` share.
 *
 * The module is a thin door: it turns Python values into arguments of the C API and results back
 * into NumPy arrays. What is known about names, scopes and shapes lives in the package above it.
 *
 * Conventions. A tensor of a graph ("output") crosses as one integer, node << 32 | index. A
 * function that returns PyObject* gives a new reference, or NULL with a Python exception set; one
 * that returns int gives 0, or -1 with an exception set. All of it runs with the GIL held unless
 * its comment says otherwise. */
#ifndef MILLSTREAM_PYTHON_EXTENSION_RUNTIME_H_
#define MILLSTREAM_PYTHON_EXTENSION_RUNTIME_H_

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

#include "core/c_api/c_api.h"

/* Numbers of the DataType proto that the extension treats by name. */
enum {
  kDtypeFloat32 = 1,
  kDtypeFloat64 = 2,
  kDtypeInt32 = 3,
  kDtypeUint8 = 4,
  kDtypeInt16 = 5,
  kDtypeInt8 = 6,
  kDtypeString = 7,
  kDtypeComplex64 = 8,
  kDtypeInt64 = 9,
  kDtypeBool = 10,
  kDtypeUint16 = 17,
  kDtypeComplex128 = 18,
  kDtypeFloat16 = 19,
  kDtypeUint32 = 22,
  kDtypeUint64 = 23,
  kNumDtypes = 32
};

/* What the package tells the extension once, by configure(): NumPy's types, so that the extension
 * needs no NumPy C API. Borrowed forever. */
typedef struct runtime_config {
  PyObject* ndarray;             /* numpy.ndarray */
  PyObject* dtypes[kNumDtypes];  /* numpy.dtype of each number, or NULL */
  PyObject* scalars[kNumDtypes]; /* scalar type of each number, or NULL */
  PyObject* string_array;        /* (list of bytes, shape) -> object array */
} runtime_config;
extern runtime_config g_config;

extern PyTypeObject* g_graph_type;
extern PyTypeObject* g_session_type;
extern PyTypeObject* g_callable_type;
extern PyTypeObject* g_memory_type;

typedef struct graph_object {
  PyObject_HEAD millstream_graph* handle;
} graph_object;

/* ---- status.c ---- */
int status_init(PyObject* module);
/* Raises `status`, which it frees: what on_error(code, message, node name) returns, or StatusError
 * when on_error is NULL or None. An exception that is already set stays. */
void raise_status(millstream_status* status, PyObject* on_error);
/* A str of `bytes`, which it frees. */
PyObject* take_text(millstream_bytes* bytes);
/* A bytes object of `bytes`, which it frees. */
PyObject* take_bytes(millstream_bytes* bytes);

/* ---- values.c: numbers, texts and sequences ---- */
const char* text_of(PyObject* object);
PyObject* pack_output(millstream_output output);
int unpack_output(PyObject* object, millstream_output* out);
/* Reads a list or tuple; *out is freed with PyMem_Free, and never NULL on success. */
int read_outputs(PyObject* sequence, millstream_output** out, int32_t* n);
int read_int32s(PyObject* sequence, int32_t** out, int32_t* n);
int read_int64s(PyObject* sequence, int64_t** out, int32_t* n);
PyObject* tuple_of_dims(const int64_t* dims, int32_t rank);

/* ---- memory.c: tensors and NumPy arrays ---- */
int memory_init(PyObject* module);
/* A NumPy array (a NumPy scalar for rank 0, bytes for strings) that owns `tensor`. */
PyObject* array_of_tensor(millstream_tensor* tensor);

/* A value that Python lends for a while: the tensor, and the view that keeps its memory there. */
typedef struct lent_tensor {
  millstream_tensor* tensor;
  Py_buffer view;
} lent_tensor;
/* Borrows `array` if it is contiguous, has the dtype and fits the shape (rank -1: any; a dimension
 * of -1: any). Returns 1, 0 when it does not fit (no exception), -1 on error. */
int lend_array(PyObject* array, int32_t dtype, const int64_t* dims, int32_t rank, lent_tensor* out);
/* Borrows a value that the package prepared: (dims, contiguous array or list of bytes). */
int lend_prepared(PyObject* prepared, int32_t dtype, lent_tensor* out);
void end_loan(lent_tensor* lent);

/* ---- attrs.c ---- */
/* Reads [(name, kind, value), ...]; *out may become NULL when there are none. */
int read_attrs(PyObject* sequence, millstream_attrs** out);

/* ---- graph.c, graph_growth.c, session.c ---- */
/* Methods of Graph that add many nodes. */
/* UTF-8 texts of a tuple of str, valid as long as the tuple; freed with PyMem_Free. */
const char** read_texts(PyObject* tuple, int32_t* n);
PyObject* graph_import(PyObject* self, PyObject* args);
PyObject* graph_gradients(PyObject* self, PyObject* args);
/* Functions of the module for gradient functions in loops (graph_growth.c). */
PyObject* region_inside(PyObject* module, PyObject* args);
PyObject* region_pivot(PyObject* module, PyObject* capsule);
PyObject* region_note(PyObject* module, PyObject* args);
int graph_init(PyObject* module);
int session_init(PyObject* module);

/* ---- functions.c ---- */
int functions_init(PyObject* module);

/* ---- plugins.c ---- */
int plugins_init(PyObject* module);

/* ---- files.c ---- */
int files_init(PyObject* module);

/* ---- clusters.c ---- */
int clusters_init(PyObject* module);

/* Casts a METH_FASTCALL function for a method table. */
#define FASTCALL(function) ((PyCFunction)(void (*)(void))(function))
/* TypeError unless n arguments were given. */
int check_count(const char* function, Py_ssize_t given, Py_ssize_t expected);

#endif /* MILLSTREAM_PYTHON_EXTENSION_RUNTIME_H_ */
