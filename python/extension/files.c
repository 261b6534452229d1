/* Files that are appended to: the type File. */
#include <errno.h>

#include "python/extension/runtime.h"

typedef struct file_object {
  PyObject_HEAD millstream_file* handle;
  PyObject* path; /* str, as it was given */
} file_object;

/* None for NULL. Else frees `status` and raises OSError with the system's number and text and with
 * `path`; StatusError when the error did not come from the system. */
static PyObject* finish(millstream_status* status, PyObject* path) {
  if (status == NULL) Py_RETURN_NONE;
  const int number = (int)millstream_status_errno(status);
  if (number == 0) {
    raise_status(status, NULL);
    return NULL;
  }
  millstream_status_free(status);
  errno = number;
  return PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, path);
}

static PyObject* file_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  (void)kwargs;
  PyObject *path, *bytes;
  if (!PyArg_ParseTuple(args, "U", &path)) return NULL;
  if (!PyUnicode_FSConverter(path, &bytes)) return NULL;
  file_object* self = (file_object*)PyType_GenericAlloc(type, 0);
  if (self == NULL) {
    Py_DECREF(bytes);
    return NULL;
  }
  Py_INCREF(path);
  self->path = path;
  const char* text = PyBytes_AsString(bytes);
  millstream_status* status;
  Py_BEGIN_ALLOW_THREADS;
  status = millstream_file_create(text, &self->handle);
  Py_END_ALLOW_THREADS;
  Py_DECREF(bytes);
  PyObject* done = finish(status, path);
  Py_XDECREF(done);
  if (done != NULL) return (PyObject*)self;
  Py_DECREF(self);
  return NULL;
}

static void file_dealloc(PyObject* object) {
  file_object* self = (file_object*)object;
  PyTypeObject* type = Py_TYPE(object);
  millstream_file_free(self->handle);
  Py_XDECREF(self->path);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
  Py_DECREF(type);
}

static PyObject* file_append(PyObject* object, PyObject* bytes) {
  file_object* self = (file_object*)object;
  char* data = NULL;
  Py_ssize_t size = 0;
  if (PyBytes_AsStringAndSize(bytes, &data, &size) != 0) return NULL;
  millstream_status* status;
  Py_BEGIN_ALLOW_THREADS;
  status = millstream_file_append(self->handle, data, (size_t)size);
  Py_END_ALLOW_THREADS;
  return finish(status, self->path);
}

static PyObject* file_sync(PyObject* object, PyObject* unused) {
  (void)unused;
  file_object* self = (file_object*)object;
  millstream_status* status;
  Py_BEGIN_ALLOW_THREADS;
  status = millstream_file_sync(self->handle);
  Py_END_ALLOW_THREADS;
  return finish(status, self->path);
}

static PyObject* file_close(PyObject* object, PyObject* unused) {
  (void)unused;
  file_object* self = (file_object*)object;
  millstream_status* status;
  Py_BEGIN_ALLOW_THREADS;
  status = millstream_file_close(self->handle);
  Py_END_ALLOW_THREADS;
  return finish(status, self->path);
}

static PyObject* make_folders(PyObject* module, PyObject* folder) {
  (void)module;
  PyObject* bytes;
  if (!PyUnicode_FSConverter(folder, &bytes)) return NULL;
  const char* text = PyBytes_AsString(bytes);
  millstream_status* status;
  Py_BEGIN_ALLOW_THREADS;
  status = millstream_make_folders(text);
  Py_END_ALLOW_THREADS;
  Py_DECREF(bytes);
  return finish(status, folder);
}

static PyObject* checkpoint_list(PyObject* module, PyObject* prefix) {
  (void)module;
  PyObject* bytes;
  if (!PyUnicode_FSConverter(prefix, &bytes)) return NULL;
  const char* text = PyBytes_AsString(bytes);
  millstream_bytes list;
  millstream_status* status;
  Py_BEGIN_ALLOW_THREADS;
  status = millstream_checkpoint_list(text, &list);
  Py_END_ALLOW_THREADS;
  Py_DECREF(bytes);
  if (status == NULL) return take_text(&list);
  raise_status(status, NULL);
  return NULL;
}

static PyObject* crc32c(PyObject* module, PyObject* bytes) {
  (void)module;
  char* data = NULL;
  Py_ssize_t size = 0;
  if (PyBytes_AsStringAndSize(bytes, &data, &size) != 0) return NULL;
  return PyLong_FromUnsignedLong(millstream_crc32c(data, (size_t)size));
}

static PyMethodDef file_methods[] = {
    {"append", file_append, METH_O, "append(bytes): after an error the file may have a part."},
    {"sync", file_sync, METH_NOARGS, "Returns when the disk has what was appended."},
    {"close", file_close, METH_NOARGS, "Closes the file, after an error as well."},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot file_slots[] = {
    {Py_tp_doc, "File(path): a new file, for one thread at a time. Its methods raise OSError."},
    {Py_tp_new, file_new},
    {Py_tp_dealloc, file_dealloc},
    {Py_tp_methods, file_methods},
    {0, NULL},
};
static PyType_Spec file_spec = {
    .name = "millstream._runtime.File",
    .basicsize = sizeof(file_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = file_slots,
};

static PyMethodDef functions[] = {
    {"make_folders", make_folders, METH_O, "make_folders(path): with those above; OSError."},
    {"checkpoint_list", checkpoint_list, METH_O, "The tensors of a checkpoint, as JSON."},
    {"crc32c", crc32c, METH_O, "crc32c(bytes) -> int: the CRC-32C."},
    {NULL, NULL, 0, NULL},
};

int files_init(PyObject* module) {
  PyObject* type = PyType_FromSpec(&file_spec);
  if (type == NULL) return -1;
  const int added = PyModule_AddObjectRef(module, "File", type);
  Py_DECREF(type);
  return added != 0 ? -1 : PyModule_AddFunctions(module, functions);
}
