/* Functions in Python that the library calls: those of nodes of graphs (PyFunc), on threads of the
 * library, and the one that says whether a step waits in vain. They take the GIL for the call. */
#include <stdatomic.h>
#include <string.h>

#include "python/extension/runtime.h"

/* The package's function, see set_function_caller. Borrowed forever; guarded by the GIL. */
static PyObject* g_caller;
/* Nonzero once the interpreter ends: a thread that asks for the GIL then never gets it. */
static atomic_int g_ended;

/* The arguments as a tuple of arrays, which own their memory. */
static PyObject* arguments_of(millstream_function_call* call) {
  int32_t n = millstream_function_call_num_arguments(call);
  PyObject* arguments = PyTuple_New(n);
  for (int32_t i = 0; i < n && arguments != NULL; ++i) {
    PyObject* array = array_of_tensor(millstream_function_call_take_argument(call, i));
    if (array == NULL) {
      Py_DECREF(arguments);
      return NULL;
    }
    PyTuple_SetItem(arguments, i, array);
  }
  return arguments;
}

/* Adds the results of a list of (dtype, dims, data). */
static int add_results(millstream_function_call* call, PyObject* results) {
  Py_ssize_t n = PyList_Size(results);
  for (Py_ssize_t i = 0; i < n; ++i) {
    int dtype;
    PyObject *dims, *data;
    if (!PyArg_ParseTuple(PyList_GetItem(results, i), "iOO", &dtype, &dims, &data)) return -1;
    PyObject* prepared = PyTuple_Pack(2, dims, data);
    lent_tensor lent;
    int failed = prepared == NULL || lend_prepared(prepared, dtype, &lent) != 0;
    Py_XDECREF(prepared);
    if (failed) return -1;
    millstream_function_call_add_result(call, lent.tensor);
    end_loan(&lent);
  }
  return n < 0 ? -1 : 0;
}

/* Calls the package's function and gives what it returns to the step. */
static int call_package(millstream_function_call* call) {
  PyObject* arguments = arguments_of(call);
  if (arguments == NULL) return -1;
  const char* token = millstream_function_call_token(call);
  PyObject* name = PyUnicode_DecodeUTF8(token, (Py_ssize_t)strlen(token), "replace");
  PyObject* answer =
      name == NULL ? NULL : PyObject_CallFunctionObjArgs(g_caller, name, arguments, NULL);
  Py_XDECREF(name);
  Py_DECREF(arguments);
  if (answer == NULL) return -1;
  int code;
  const char* message;
  PyObject* results;
  int result = -1;
  if (PyArg_ParseTuple(answer, "isO!", &code, &message, &PyList_Type, &results)) {
    if (code != 0) millstream_function_call_fail(call, code, message);
    result = code != 0 ? 0 : add_results(call, results);
  }
  Py_DECREF(answer);
  return result;
}

/* Fails the call with the exception that is set, one of the extension. */
static void fail_with_exception(millstream_function_call* call) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyObject* text = value == NULL ? NULL : PyObject_Str(value);
  const char* message = text == NULL ? NULL : text_of(text);
  const int32_t invalid_argument = 3;
  millstream_function_call_fail(
      call, invalid_argument,
      message != NULL ? message : "a value of a function cannot be passed on");
  PyErr_Clear();
  Py_XDECREF(text);
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
}

/* Without the GIL. */
static void call_function(millstream_function_call* call) {
  if (atomic_load(&g_ended)) {
    const int32_t cancelled = 1;
    millstream_function_call_fail(call, cancelled, "the interpreter ends");
    return;
  }
  PyGILState_STATE state = PyGILState_Ensure();
  if (call_package(call) != 0) fail_with_exception(call);
  PyGILState_Release(state);
}

static PyObject* set_function_caller(PyObject* module, PyObject* caller) {
  (void)module;
  Py_INCREF(caller);
  g_caller = caller;
  millstream_set_function_caller(call_function);
  Py_RETURN_NONE;
}

static PyObject* end_functions(PyObject* module, PyObject* unused) {
  (void)module;
  (void)unused;
  atomic_store(&g_ended, 1);
  Py_RETURN_NONE;
}

/* (waits) -> whether nobody can end them, see set_wait_judge. Borrowed forever; guarded by the GIL.
 */
static PyObject* g_wait_judge;

/* Called without the GIL, on the main thread alone, as signal_raised is (session.c). A signal
 * handler may raise in the package's function. Its exception stays set, and ends the step. */
static int32_t waits_in_vain(const char* waits) {
  PyGILState_STATE state = PyGILState_Ensure();
  PyObject* text = PyUnicode_DecodeUTF8(waits, (Py_ssize_t)strlen(waits), "replace");
  PyObject* answer = text == NULL ? NULL : PyObject_CallFunctionObjArgs(g_wait_judge, text, NULL);
  int in_vain = answer == NULL ? -1 : PyObject_IsTrue(answer);
  Py_XDECREF(answer);
  Py_XDECREF(text);
  PyGILState_Release(state);
  return in_vain;
}

static PyObject* set_wait_judge(PyObject* module, PyObject* judge) {
  (void)module;
  Py_INCREF(judge);
  g_wait_judge = judge;
  millstream_set_wait_judge(waits_in_vain);
  Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"set_function_caller", set_function_caller, METH_O,
     "Sets (token, arguments) -> (code, message, [(dtype, dims, data)]), which calls functions."},
    {"end_functions", end_functions, METH_NOARGS,
     "Lets no node call a function any more: the interpreter ends."},
    {"set_wait_judge", set_wait_judge, METH_O,
     "Sets (waits) -> bool, which tells whether no thread can end the waits of a step."},
    {NULL, NULL, 0, NULL},
};

int functions_init(PyObject* module) { return PyModule_AddFunctions(module, functions); }
