/* Functions about plugins. */
#include "python/extension/runtime.h"

/* None, or the error. */
static PyObject* finish(millstream_status* status) {
  if (status == NULL) Py_RETURN_NONE;
  raise_status(status, NULL);
  return NULL;
}

/* Item `which` of each pair in a list; NULL with an exception set when it is no list of pairs of
 * texts. The texts are borrowed; the array is freed with PyMem_Free. */
static const char** texts_of_pairs(PyObject* pairs, Py_ssize_t which) {
  const Py_ssize_t n = PyList_Size(pairs);
  if (n < 0) return NULL;
  const char** texts = PyMem_Malloc((size_t)(n + 1) * sizeof(*texts));
  if (texts == NULL) {
    PyErr_NoMemory();
    return NULL;
  }
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* pair = PyList_GetItem(pairs, i);
    PyObject* text = pair == NULL ? NULL : PyTuple_GetItem(pair, which);
    texts[i] = text == NULL ? NULL : text_of(text);
    if (texts[i] == NULL) {
      PyMem_Free(texts);
      return NULL;
    }
  }
  return texts;
}

static PyObject* plugin_load(PyObject* module, PyObject* args) {
  (void)module;
  const char* path;
  PyObject* options;
  if (!PyArg_ParseTuple(args, "sO", &path, &options)) return NULL;
  const char** names = texts_of_pairs(options, 0);
  if (names == NULL) return NULL;
  const char** values = texts_of_pairs(options, 1);
  if (values == NULL) {
    PyMem_Free(names);
    return NULL;
  }
  const size_t n_options = (size_t)PyList_Size(options);
  millstream_bytes ops;
  millstream_status* status;
  Py_BEGIN_ALLOW_THREADS;
  status = millstream_plugin_load(path, names, values, n_options, &ops);
  Py_END_ALLOW_THREADS;
  PyMem_Free(names);
  PyMem_Free(values);
  return status == NULL ? take_text(&ops) : finish(status);
}

static PyObject* plugin_add_path(PyObject* module, PyObject* path_object) {
  (void)module;
  const char* path = text_of(path_object);
  if (path == NULL) return NULL;
  millstream_status* status;
  Py_BEGIN_ALLOW_THREADS; /* for another thread may be loading plugins, which is waited for */
  status = millstream_plugin_add_path(path);
  Py_END_ALLOW_THREADS;
  return finish(status);
}

static PyObject* plugin_add_error(PyObject* module, PyObject* args) {
  (void)module;
  const char *package, *text;
  if (!PyArg_ParseTuple(args, "ss", &package, &text)) return NULL;
  Py_BEGIN_ALLOW_THREADS; /* as above */
  millstream_plugin_add_error(package, text);
  Py_END_ALLOW_THREADS;
  Py_RETURN_NONE;
}

static PyObject* plugin_load_installed(PyObject* module, PyObject* unused) {
  (void)module;
  (void)unused;
  millstream_status* status;
  Py_BEGIN_ALLOW_THREADS;
  status = millstream_plugin_load_installed();
  Py_END_ALLOW_THREADS;
  return finish(status);
}

static PyObject* plugin_list(PyObject* module, PyObject* unused) {
  (void)module;
  (void)unused;
  millstream_bytes bytes;
  millstream_status* status;
  Py_BEGIN_ALLOW_THREADS;
  status = millstream_plugin_list(&bytes);
  Py_END_ALLOW_THREADS;
  return status == NULL ? take_text(&bytes) : finish(status);
}

static PyObject* plugin_shutdown(PyObject* module, PyObject* unused) {
  (void)module;
  (void)unused;
  millstream_status* status;
  Py_BEGIN_ALLOW_THREADS;
  status = millstream_plugin_shutdown();
  Py_END_ALLOW_THREADS;
  return finish(status);
}

static PyMethodDef functions[] = {
    {"plugin_load", plugin_load, METH_VARARGS,
     "(path, [(option, value)]): loads one plugin now; gives its ops as JSON."},
    {"plugin_add_path", plugin_add_path, METH_O, "Adds a file or folder to the search path."},
    {"plugin_add_error", plugin_add_error, METH_VARARGS,
     "(package, text): has a package listed that could not name its plugins."},
    {"plugin_load_installed", plugin_load_installed, METH_NOARGS, "Loads the search path."},
    {"plugin_list", plugin_list, METH_NOARGS, "What the loader looked at, as JSON."},
    {"plugin_shutdown", plugin_shutdown, METH_NOARGS, "Ends all plugins."},
    {NULL, NULL, 0, NULL},
};

int plugins_init(PyObject* module) { return PyModule_AddFunctions(module, functions); }
