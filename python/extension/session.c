/* The types Session and Callable. A callable is one kind of step with everything looked up: its
 * call borrows the arrays that it is given, runs without the GIL, and wraps what comes back. */
#include <pthread.h>

#include "distributed_runtime/c_api.h"
#include "python/extension/runtime.h"

PyTypeObject* g_session_type;
PyTypeObject* g_callable_type;

typedef struct session_object {
  PyObject_HEAD millstream_session* handle;
  PyObject* graph;
  PyObject* on_error; /* (code, message, node) -> exception */
} session_object;

typedef struct feed_spec {
  int32_t dtype;
  int32_t rank; /* -1: any */
  int64_t* dims;
} feed_spec;

typedef struct callable_object {
  PyObject_HEAD millstream_callable* handle;
  PyObject* session;
  PyObject* prepare;   /* (feed number, value) -> (dims, contiguous data); raises what is wrong */
  PyObject* structure; /* see build_result */
  Py_ssize_t n_feeds, n_fetches;
  feed_spec* feeds;
} callable_object;

/* ---- Running ---- */

/* Python's main thread, in which alone handlers of signals run. The others do not look for signals:
 * a thread that asks for the GIL while the interpreter ends is ended there, in the midst of its
 * step. */
static unsigned long g_main_thread;

/* In a forked child, the thread that forked is the main one. */
static void note_fork(void) { g_main_thread = PyThread_get_thread_ident(); }

/* It need not be this thread, which imports the module. */
static int find_main_thread(void) {
  PyObject* threading = PyImport_ImportModule("threading");
  PyObject* thread = threading == NULL ? NULL : PyObject_CallMethod(threading, "main_thread", NULL);
  PyObject* ident = thread == NULL ? NULL : PyObject_GetAttrString(thread, "ident");
  if (ident != NULL) g_main_thread = PyLong_AsUnsignedLong(ident);
  Py_XDECREF(ident);
  Py_XDECREF(thread);
  Py_XDECREF(threading);
  if (PyErr_Occurred() == NULL && pthread_atfork(NULL, NULL, note_fork) != 0) PyErr_NoMemory();
  return PyErr_Occurred() == NULL ? 0 : -1;
}

/* Nonzero once a signal handler has raised. Called now and then on the running thread, without the
 * GIL. */
static int32_t signal_raised(void* unused) {
  (void)unused;
  PyGILState_STATE state = PyGILState_Ensure();
  int raised = PyErr_CheckSignals() != 0;
  PyGILState_Release(state);
  return raised;
}

/* The value that one step gives, from its fetches: a number picks one, None is None, a list maps
 * to a list, and a tuple (make, item...) to make(item...), or to a tuple when make is None. */
static PyObject* build_result(PyObject* structure, PyObject** results) {
  if (structure == Py_None) Py_RETURN_NONE;
  if (PyLong_Check(structure)) {
    PyObject* result = results[PyLong_AsSsize_t(structure)];
    Py_INCREF(result);
    return result;
  }
  if (PyList_Check(structure)) {
    Py_ssize_t n = PyList_Size(structure);
    PyObject* list = PyList_New(n);
    for (Py_ssize_t i = 0; i < n && list != NULL; ++i) {
      PyObject* item = build_result(PyList_GetItem(structure, i), results);
      if (item == NULL) {
        Py_DECREF(list);
        return NULL;
      }
      PyList_SetItem(list, i, item);
    }
    return list;
  }
  Py_ssize_t n = PyTuple_Size(structure) - 1;
  PyObject* items = n < 0 ? NULL : PyTuple_New(n);
  for (Py_ssize_t i = 0; i < n && items != NULL; ++i) {
    PyObject* item = build_result(PyTuple_GetItem(structure, i + 1), results);
    if (item == NULL) {
      Py_DECREF(items);
      return NULL;
    }
    PyTuple_SetItem(items, i, item);
  }
  if (items == NULL) return NULL;
  PyObject* make = PyTuple_GetItem(structure, 0);
  if (make == Py_None) return items;
  PyObject* made = PyObject_Call(make, items, NULL);
  Py_DECREF(items);
  return made;
}

static int lend_feed(callable_object* self, Py_ssize_t i, PyObject* value, lent_tensor* out) {
  const feed_spec* feed = &self->feeds[i];
  int lent = lend_array(value, feed->dtype, feed->dims, feed->rank, out);
  if (lent != 0) return lent > 0 ? 0 : -1;
  PyObject* prepared = PyObject_CallFunction(self->prepare, "nO", i, value);
  if (prepared == NULL) return -1;
  int result = lend_prepared(prepared, feed->dtype, out);
  Py_DECREF(prepared);
  return result;
}

/* Makes arrays of the tensors, all of which it takes. */
static PyObject* collect(callable_object* self, millstream_tensor** tensors) {
  PyObject* few[16];
  PyObject** results = few;
  Py_ssize_t n = self->n_fetches;
  if (n > 16) results = PyMem_Malloc((size_t)n * sizeof(*results));
  Py_ssize_t made = 0;
  int failed = results == NULL;
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (failed) {
      millstream_tensor_free(tensors[i]);
      continue;
    }
    results[i] = array_of_tensor(tensors[i]);
    failed = results[i] == NULL;
    made += !failed;
  }
  PyObject* value = failed ? NULL : build_result(self->structure, results);
  for (Py_ssize_t i = 0; i < made; ++i) Py_DECREF(results[i]);
  if (results != few) PyMem_Free(results);
  if (value == NULL && PyErr_Occurred() == NULL) PyErr_NoMemory();
  return value;
}

/* Runs a step on the loans; `tensors` has room for its fetches. */
static PyObject* run_step(callable_object* self, millstream_tensor** fed,
                          millstream_run_options options, millstream_tensor** tensors) {
  if (PyThread_get_thread_ident() == g_main_thread) options.should_stop = signal_raised;
  millstream_status* status;
  Py_BEGIN_ALLOW_THREADS;
  status = millstream_callable_run(self->handle, fed, &options, tensors);
  Py_END_ALLOW_THREADS;
  if (status == NULL) return collect(self, tensors);
  raise_status(status, ((session_object*)self->session)->on_error);
  return NULL;
}

/* Feeds and fetches that a call keeps on its stack; more go to the heap. */
enum { kInlineTensors = 16 };

/* Lets the package say which values the step takes. */
static PyObject* refuse_count(callable_object* self, PyObject* args, Py_ssize_t first) {
  PyObject* given = PyTuple_GetSlice(args, first, PyTuple_Size(args));
  if (given == NULL) return NULL;
  Py_XDECREF(PyObject_CallFunction(self->prepare, "nO", (Py_ssize_t)-1, given));
  Py_DECREF(given);
  return NULL;
}

/* Calls with the feeds args[first...]. */
static PyObject* call_with(callable_object* self, PyObject* args, Py_ssize_t first,
                           millstream_run_options options) {
  if (PyTuple_Size(args) - first != self->n_feeds) return refuse_count(self, args, first);
  lent_tensor few_loans[kInlineTensors];
  millstream_tensor* few_tensors[2 * kInlineTensors];
  lent_tensor* loans = few_loans;
  millstream_tensor** tensors = few_tensors;
  int many = self->n_feeds > kInlineTensors || self->n_fetches > kInlineTensors;
  if (many) {
    size_t n = (size_t)(self->n_feeds + self->n_fetches + 1);
    loans = PyMem_Malloc(n * sizeof(*loans));
    tensors = PyMem_Malloc(n * sizeof(*tensors));
  }
  Py_ssize_t lent = 0;
  PyObject* result = NULL;
  if (loans != NULL && tensors != NULL) {
    while (lent < self->n_feeds &&
           lend_feed(self, lent, PyTuple_GetItem(args, first + lent), &loans[lent]) == 0) {
      tensors[lent] = loans[lent].tensor;
      ++lent;
    }
    if (lent == self->n_feeds) result = run_step(self, tensors, options, tensors + lent);
    for (Py_ssize_t i = 0; i < lent; ++i) end_loan(&loans[i]);
  } else {
    PyErr_NoMemory();
  }
  if (many) {
    PyMem_Free(loans);
    PyMem_Free(tensors);
  }
  return result;
}

static PyObject* callable_call(PyObject* self, PyObject* args, PyObject* kwargs) {
  if (kwargs != NULL && PyDict_Size(kwargs) > 0) {
    PyErr_SetString(PyExc_TypeError, "a step takes its feeds by position only");
    return NULL;
  }
  return call_with((callable_object*)self, args, 0, (millstream_run_options){0});
}

/* (options, *feeds) -> (result, metadata): both messages serialized. */
static PyObject* callable_run(PyObject* self, PyObject* args) {
  PyObject* first = PyTuple_GetItem(args, 0);
  if (first == NULL) return NULL;
  char* bytes;
  Py_ssize_t size;
  if (PyBytes_AsStringAndSize(first, &bytes, &size) != 0) return NULL;
  millstream_bytes metadata = {0};
  millstream_run_options options = {
      .options = bytes, .options_size = (size_t)size, .metadata = &metadata};
  PyObject* result = call_with((callable_object*)self, args, 1, options);
  PyObject* pair = NULL;
  if (result != NULL) {
    pair = Py_BuildValue("Ny#", result, metadata.data, (Py_ssize_t)metadata.size);
  }
  millstream_bytes_free(&metadata);
  return pair;
}

static PyObject* callable_placement(PyObject* self, PyObject* unused) {
  (void)unused;
  millstream_bytes text;
  millstream_callable_placement(((callable_object*)self)->handle, &text);
  PyObject* result = PyUnicode_FromStringAndSize(text.data, (Py_ssize_t)text.size);
  millstream_bytes_free(&text);
  return result;
}

static PyObject* callable_num_instructions(PyObject* self, PyObject* unused) {
  (void)unused;
  return PyLong_FromLongLong(
      millstream_callable_num_instructions(((callable_object*)self)->handle));
}

static void callable_dealloc(PyObject* object) {
  callable_object* self = (callable_object*)object;
  PyTypeObject* type = Py_TYPE(object);
  millstream_callable_free(self->handle);
  for (Py_ssize_t i = 0; i < self->n_feeds && self->feeds != NULL; ++i) {
    PyMem_Free(self->feeds[i].dims);
  }
  PyMem_Free(self->feeds);
  Py_XDECREF(self->session);
  Py_XDECREF(self->prepare);
  Py_XDECREF(self->structure);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
  Py_DECREF(type);
}

static PyMethodDef callable_methods[] = {
    {"run", callable_run, METH_VARARGS,
     "run(options, *feeds): a call with a serialized RunOptions; gives (result, RunMetadata)."},
    {"placement", callable_placement, METH_NOARGS, "Where every node runs and why, a line a node."},
    {"num_instructions", callable_num_instructions, METH_NOARGS,
     "How many instructions the plan of the step has."},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot callable_slots[] = {
    {Py_tp_doc,
     "A step of a session with its feeds and fetches looked up; call it with the feeds."},
    {Py_tp_dealloc, callable_dealloc},
    {Py_tp_call, callable_call},
    {Py_tp_methods, callable_methods},
    {0, NULL},
};
static PyType_Spec callable_spec = {
    .name = "millstream._runtime.Callable",
    .basicsize = sizeof(callable_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = callable_slots,
};

/* ---- Session ---- */

static PyObject* session_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  PyObject* graph = NULL;
  PyObject* on_error = NULL;
  const char* config = NULL;
  Py_ssize_t size = 0;
  const char* target = NULL;
  long long patience_ms = 0;
  if (kwargs != NULL || !PyArg_ParseTuple(args, "O!y#O|sL", g_graph_type, &graph, &config, &size,
                                          &on_error, &target, &patience_ms)) {
    return NULL;
  }
  millstream_graph* of_graph = ((graph_object*)graph)->handle;
  session_object* self = (session_object*)PyType_GenericAlloc(type, 0);
  if (self == NULL) return NULL;
  Py_INCREF(graph);
  Py_INCREF(on_error);
  self->graph = graph;
  self->on_error = on_error;
  millstream_status* status;
  /* The first session of the process loads plugins, which may take long. */
  Py_BEGIN_ALLOW_THREADS;
  if (target == NULL) {
    status = millstream_session_new(of_graph, config, (size_t)size, &self->handle);
  } else {
    status = millstream_cluster_session_new(of_graph, target, config, (size_t)size, patience_ms,
                                            &self->handle);
  }
  Py_END_ALLOW_THREADS;
  if (status == NULL) return (PyObject*)self;
  raise_status(status, on_error);
  Py_DECREF(self);
  return NULL;
}

static void session_dealloc(PyObject* object) {
  session_object* self = (session_object*)object;
  PyTypeObject* type = Py_TYPE(object);
  if (self->handle != NULL) {
    Py_BEGIN_ALLOW_THREADS;
    millstream_session_free(self->handle);
    Py_END_ALLOW_THREADS;
  }
  Py_XDECREF(self->graph);
  Py_XDECREF(self->on_error);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
  Py_DECREF(type);
}

static PyObject* session_close(PyObject* object, PyObject* unused) {
  (void)unused;
  session_object* self = (session_object*)object;
  millstream_status* status;
  Py_BEGIN_ALLOW_THREADS;
  status = millstream_session_close(self->handle);
  Py_END_ALLOW_THREADS;
  if (status == NULL) Py_RETURN_NONE;
  raise_status(status, self->on_error);
  return NULL;
}

static PyObject* session_trim(PyObject* object, PyObject* unused) {
  (void)unused;
  session_object* self = (session_object*)object;
  millstream_status* status;
  Py_BEGIN_ALLOW_THREADS;
  status = millstream_session_trim(self->handle);
  Py_END_ALLOW_THREADS;
  if (status == NULL) Py_RETURN_NONE;
  raise_status(status, self->on_error);
  return NULL;
}

static PyObject* session_memory(PyObject* object, PyObject* unused) {
  (void)unused;
  session_object* self = (session_object*)object;
  millstream_bytes bytes;
  millstream_status* status = millstream_session_memory(self->handle, &bytes);
  if (status == NULL) return take_text(&bytes);
  raise_status(status, self->on_error);
  return NULL;
}

static PyObject* session_list_devices(PyObject* object, PyObject* unused) {
  (void)unused;
  session_object* self = (session_object*)object;
  millstream_bytes bytes;
  millstream_status* status = millstream_session_list_devices(self->handle, &bytes);
  if (status == NULL) return take_text(&bytes);
  raise_status(status, self->on_error);
  return NULL;
}

/* Rank, dtype and the first dimensions of what may be fed for an output; for a handle, what its
 * variable holds. */
static int32_t describe_value(millstream_graph* graph, millstream_output output, int32_t* dtype,
                              int64_t* dims, int32_t capacity) {
  int32_t rank = millstream_output_handle_shape(graph, output, dtype, dims, capacity);
  if (*dtype != 0) return rank;
  *dtype = millstream_node_output_type(graph, output.node, output.index);
  return millstream_output_shape(graph, output, dims, capacity);
}

/* Notes dtype and static shape of each feed, so that a call can check an array by itself. */
static int describe_feeds(callable_object* self, millstream_graph* graph,
                          const millstream_output* feeds, int32_t n) {
  self->feeds = PyMem_Calloc((size_t)n + 1, sizeof(*self->feeds));
  if (self->feeds == NULL) goto no_memory;
  self->n_feeds = n;
  for (int32_t i = 0; i < n; ++i) {
    feed_spec* feed = &self->feeds[i];
    feed->rank = describe_value(graph, feeds[i], &feed->dtype, NULL, 0);
    if (feed->rank <= 0) continue;
    feed->dims = PyMem_Malloc((size_t)feed->rank * sizeof(*feed->dims));
    if (feed->dims == NULL) goto no_memory;
    describe_value(graph, feeds[i], &feed->dtype, feed->dims, feed->rank);
  }
  return 0;
no_memory:
  PyErr_NoMemory();
  return -1;
}

/* Compiles the step, which may take long: without the GIL. */
static millstream_status* compile(session_object* session, callable_object* self,
                                  const millstream_output* feeds, const millstream_output* fetches,
                                  const int32_t* targets, int32_t n_targets) {
  millstream_status* status;
  Py_BEGIN_ALLOW_THREADS;
  status = millstream_callable_new(session->handle, feeds, (int32_t)self->n_feeds, fetches,
                                   (int32_t)self->n_fetches, targets, n_targets, &self->handle);
  Py_END_ALLOW_THREADS;
  return status;
}

static PyObject* session_make_callable(PyObject* object, PyObject* args) {
  session_object* session = (session_object*)object;
  PyObject *feeds_object, *fetches_object, *targets_object, *structure, *prepare;
  if (!PyArg_ParseTuple(args, "OOOOO", &feeds_object, &fetches_object, &targets_object, &structure,
                        &prepare)) {
    return NULL;
  }
  callable_object* self = (callable_object*)PyType_GenericAlloc(g_callable_type, 0);
  if (self == NULL) return NULL;
  Py_INCREF(object);
  Py_INCREF(structure);
  Py_INCREF(prepare);
  self->session = object;
  self->structure = structure;
  self->prepare = prepare;
  millstream_output *feeds = NULL, *fetches = NULL;
  int32_t* targets = NULL;
  int32_t n_feeds = 0, n_fetches = 0, n_targets = 0;
  millstream_graph* graph = ((graph_object*)session->graph)->handle;
  int ok = read_outputs(feeds_object, &feeds, &n_feeds) == 0 &&
           read_outputs(fetches_object, &fetches, &n_fetches) == 0 &&
           read_int32s(targets_object, &targets, &n_targets) == 0 &&
           describe_feeds(self, graph, feeds, n_feeds) == 0;
  self->n_fetches = n_fetches;
  if (ok) {
    millstream_status* status = compile(session, self, feeds, fetches, targets, n_targets);
    ok = status == NULL;
    if (!ok) raise_status(status, session->on_error);
  }
  PyMem_Free(feeds);
  PyMem_Free(fetches);
  PyMem_Free(targets);
  if (ok) return (PyObject*)self;
  Py_DECREF(self);
  return NULL;
}

static PyMethodDef session_methods[] = {
    {"close", session_close, METH_NOARGS, "Ends the session and frees what it holds."},
    {"trim", session_trim, METH_NOARGS, "Gives back what is kept for further steps."},
    {"list_devices", session_list_devices, METH_NOARGS, "Device names, one a line."},
    {"memory", session_memory, METH_NOARGS, "What devices' memory holds, as JSON."},
    {"make_callable", session_make_callable, METH_VARARGS,
     "make_callable(feeds, fetches, targets, structure, prepare) -> Callable"},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot session_slots[] = {
    {Py_tp_doc,
     "Session(graph, ConfigProto bytes, on_error): of this process. With (..., target, "
     "milliseconds) "
     "of a cluster, whose tasks must answer in this time."},
    {Py_tp_new, session_new},
    {Py_tp_dealloc, session_dealloc},
    {Py_tp_methods, session_methods},
    {0, NULL},
};
static PyType_Spec session_spec = {
    .name = "millstream._runtime.Session",
    .basicsize = sizeof(session_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = session_slots,
};

int session_init(PyObject* module) {
  if (find_main_thread() != 0) return -1;
  /* Daemon threads may be within a step while the interpreter is gone already. */
  if (Py_AtExit(millstream_end_sessions_at_exit) != 0) return -1;
  g_session_type = (PyTypeObject*)PyType_FromSpec(&session_spec);
  g_callable_type = (PyTypeObject*)PyType_FromSpec(&callable_spec);
  if (g_session_type == NULL || g_callable_type == NULL) return -1;
  if (PyModule_AddObjectRef(module, "Session", (PyObject*)g_session_type) != 0) return -1;
  return PyModule_AddObjectRef(module, "Callable", (PyObject*)g_callable_type);
}
