/* Status objects of the C API as Python exceptions. */
#include <string.h>

#include "python/extension/runtime.h"

/* Raised as StatusError(code, message, node name) where the package gave no function of its own. */
static PyObject* g_status_error;

int status_init(PyObject* module) {
  g_status_error = PyErr_NewExceptionWithDoc(
      "millstream._runtime.StatusError",
      "An error of the runtime; args are its code, its message and the name of its node.",
      PyExc_RuntimeError, NULL);
  if (g_status_error == NULL) return -1;
  return PyModule_AddObjectRef(module, "StatusError", g_status_error);
}

static PyObject* decode(const char* text) {
  return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

void raise_status(millstream_status* status, PyObject* on_error) {
  if (PyErr_Occurred() != NULL) {
    millstream_status_free(status);
    return;
  }
  PyObject* message = decode(millstream_status_message(status));
  PyObject* node = decode(millstream_status_node(status));
  int code = (int)millstream_status_code(status);
  millstream_status_free(status);
  if (message != NULL && node != NULL) {
    PyObject* factory = on_error != NULL && on_error != Py_None ? on_error : g_status_error;
    PyObject* error = PyObject_CallFunction(factory, "iOO", code, message, node);
    if (error != NULL) {
      PyErr_SetObject((PyObject*)Py_TYPE(error), error);
      Py_DECREF(error);
    }
  }
  Py_XDECREF(message);
  Py_XDECREF(node);
}

PyObject* take_text(millstream_bytes* bytes) {
  PyObject* text = PyUnicode_DecodeUTF8(bytes->data, (Py_ssize_t)bytes->size, "replace");
  millstream_bytes_free(bytes);
  return text;
}

PyObject* take_bytes(millstream_bytes* bytes) {
  PyObject* object = PyBytes_FromStringAndSize(bytes->data, (Py_ssize_t)bytes->size);
  millstream_bytes_free(bytes);
  return object;
}
