/* The type Server, a task of a cluster, and functions about clusters. */
#include "distributed_runtime/c_api.h"

#include "python/extension/runtime.h"

typedef struct server_object {
  PyObject_HEAD millstream_server* handle;
} server_object;

static PyObject* server_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  const char* definition = NULL;
  Py_ssize_t size = 0;
  if (kwargs != NULL || !PyArg_ParseTuple(args, "y#", &definition, &size)) return NULL;
  server_object* self = (server_object*)PyType_GenericAlloc(type, 0);
  if (self == NULL) return NULL;
  millstream_status* status;
  Py_BEGIN_ALLOW_THREADS;
  status = millstream_server_new(definition, (size_t)size, &self->handle);
  Py_END_ALLOW_THREADS;
  if (status == NULL) return (PyObject*)self;
  raise_status(status, NULL);
  Py_DECREF(self);
  return NULL;
}

static void server_dealloc(PyObject* object) {
  server_object* self = (server_object*)object;
  PyTypeObject* type = Py_TYPE(object);
  if (self->handle != NULL) {
    Py_BEGIN_ALLOW_THREADS;
    millstream_server_free(self->handle);
    Py_END_ALLOW_THREADS;
  }
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
  Py_DECREF(type);
}

static PyObject* server_target(PyObject* object, PyObject* unused) {
  (void)unused;
  millstream_bytes bytes;
  millstream_server_target(((server_object*)object)->handle, &bytes);
  return take_text(&bytes);
}

static PyObject* server_status(PyObject* object, PyObject* unused) {
  (void)unused;
  millstream_bytes bytes;
  Py_BEGIN_ALLOW_THREADS;
  millstream_server_status(((server_object*)object)->handle, &bytes);
  Py_END_ALLOW_THREADS;
  return take_text(&bytes);
}

static PyObject* server_join(PyObject* object, PyObject* patience) {
  const long long patience_ms = PyLong_AsLongLong(patience);
  if (patience_ms == -1 && PyErr_Occurred() != NULL) return NULL;
  int32_t is_stopped;
  Py_BEGIN_ALLOW_THREADS;
  is_stopped = millstream_server_join(((server_object*)object)->handle, patience_ms);
  Py_END_ALLOW_THREADS;
  return PyBool_FromLong(is_stopped);
}

static PyObject* server_stop(PyObject* object, PyObject* unused) {
  (void)unused;
  Py_BEGIN_ALLOW_THREADS;
  millstream_server_stop(((server_object*)object)->handle);
  Py_END_ALLOW_THREADS;
  Py_RETURN_NONE;
}

static PyObject* cluster_set_library(PyObject* module, PyObject* path) {
  (void)module;
  PyObject* bytes;
  if (!PyUnicode_FSConverter(path, &bytes)) return NULL;
  millstream_cluster_set_library(PyBytes_AsString(bytes));
  Py_DECREF(bytes);
  Py_RETURN_NONE;
}

static PyObject* cluster_reset(PyObject* module, PyObject* args) {
  (void)module;
  const char* target;
  PyObject* containers;
  if (!PyArg_ParseTuple(args, "sO!", &target, &PyTuple_Type, &containers)) return NULL;
  int32_t n = 0;
  const char** names = read_texts(containers, &n);
  if (names == NULL) return NULL;
  millstream_status* status;
  Py_BEGIN_ALLOW_THREADS;
  status = millstream_cluster_reset(target, names, n);
  Py_END_ALLOW_THREADS;
  PyMem_Free(names);
  if (status == NULL) Py_RETURN_NONE;
  raise_status(status, NULL);
  return NULL;
}

static PyObject* cluster_status(PyObject* module, PyObject* argument) {
  (void)module;
  const char* const target = PyUnicode_AsUTF8AndSize(argument, NULL);
  if (target == NULL) return NULL;
  millstream_bytes bytes;
  millstream_status* status;
  Py_BEGIN_ALLOW_THREADS;
  status = millstream_cluster_status(target, &bytes);
  Py_END_ALLOW_THREADS;
  if (status == NULL) return take_text(&bytes);
  raise_status(status, NULL);
  return NULL;
}

static PyMethodDef server_methods[] = {
    {"target", server_target, METH_NOARGS, "What sessions name as their target."},
    {"status", server_status, METH_NOARGS, "How the task is, as JSON."},
    {"join", server_join, METH_O, "join(milliseconds) -> whether the server is stopped."},
    {"stop", server_stop, METH_NOARGS, "Refuses further requests."},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot server_slots[] = {
    {Py_tp_doc, "Server(ServerDef bytes): a task of a cluster in this process."},
    {Py_tp_new, server_new},
    {Py_tp_dealloc, server_dealloc},
    {Py_tp_methods, server_methods},
    {0, NULL},
};
static PyType_Spec server_spec = {
    .name = "millstream._runtime.Server",
    .basicsize = sizeof(server_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = server_slots,
};

static PyMethodDef functions[] = {
    {"cluster_set_library", cluster_set_library, METH_O,
     "cluster_set_library(path): where the library that connects processes is."},
    {"cluster_reset", cluster_reset, METH_VARARGS,
     "cluster_reset(target, containers): clears the containers of a cluster."},
    {"cluster_status", cluster_status, METH_O,
     "cluster_status(target) -> how all tasks of a cluster are, as JSON."},
    {NULL, NULL, 0, NULL},
};

int clusters_init(PyObject* module) {
  PyObject* type = PyType_FromSpec(&server_spec);
  if (type == NULL) return -1;
  const int added = PyModule_AddObjectRef(module, "Server", type);
  Py_DECREF(type);
  return added != 0 ? -1 : PyModule_AddFunctions(module, functions);
}
