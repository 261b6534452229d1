/* The type Graph: building a graph and asking about it. */
#include "python/extension/runtime.h"

PyTypeObject* g_graph_type;

static millstream_graph* handle_of(PyObject* self) { return ((graph_object*)self)->handle; }

static PyObject* graph_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  if (!PyArg_ParseTuple(args, "") || kwargs != NULL) return NULL;
  PyObject* self = PyType_GenericAlloc(type, 0);
  if (self != NULL) ((graph_object*)self)->handle = millstream_graph_new();
  return self;
}

static void graph_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  millstream_graph_free(handle_of(self));
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

/* Reads a node number that the graph has. */
static int node_of(PyObject* self, PyObject* object, int32_t* node) {
  long number = PyLong_AsLong(object);
  if (number == -1 && PyErr_Occurred() != NULL) return -1;
  if (number < 0 || number >= millstream_graph_num_nodes(handle_of(self))) {
    PyErr_Format(PyExc_IndexError, "the graph has no node %ld", number);
    return -1;
  }
  *node = (int32_t)number;
  return 0;
}

/* Reads an output that the graph has. */
static int output_of(PyObject* self, PyObject* object, millstream_output* out) {
  if (unpack_output(object, out) != 0) return -1;
  if (out->node >= millstream_graph_num_nodes(handle_of(self)) ||
      out->index >= millstream_node_num_outputs(handle_of(self), out->node)) {
    PyErr_Format(PyExc_IndexError, "node %d has no output %d", (int)out->node, (int)out->index);
    return -1;
  }
  return 0;
}

/* (node number, dtype of each output...) */
static PyObject* describe_node(millstream_graph* graph, int32_t node) {
  int32_t n = millstream_node_num_outputs(graph, node);
  PyObject* result = PyTuple_New(n + 1);
  if (result == NULL) return NULL;
  PyTuple_SetItem(result, 0, PyLong_FromLong(node));
  for (int32_t i = 0; i < n; ++i) {
    PyTuple_SetItem(result, i + 1, PyLong_FromLong(millstream_node_output_type(graph, node, i)));
  }
  return result;
}

/* The arguments of add_node, read. */
typedef struct node_request {
  const char *op, *name, *device, *source;
  millstream_output* inputs;
  int32_t *counts, *controls;
  int32_t n_inputs, n_counts, n_controls;
  millstream_attrs* attrs;
} node_request;

static int read_request(PyObject* const* args, node_request* request) {
  request->op = text_of(args[0]);
  request->name = request->op == NULL ? NULL : text_of(args[1]);
  request->device = request->name == NULL ? NULL : text_of(args[6]);
  request->source = request->device == NULL ? NULL : text_of(args[7]);
  if (request->source == NULL) return -1;
  if (read_outputs(args[2], &request->inputs, &request->n_inputs) != 0) return -1;
  if (read_int32s(args[3], &request->counts, &request->n_counts) != 0) return -1;
  if (read_int32s(args[4], &request->controls, &request->n_controls) != 0) return -1;
  return read_attrs(args[5], &request->attrs);
}

static PyObject* graph_add_node(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  if (check_count("add_node", n, 8) != 0) return NULL;
  node_request request = {0};
  PyObject* result = NULL;
  if (read_request(args, &request) == 0) {
    int32_t node = -1;
    millstream_status* status = millstream_graph_add_node(
        handle_of(self), request.op, request.name, request.inputs, request.counts, request.n_counts,
        request.controls, request.n_controls, request.attrs, request.device, request.source, &node);
    if (status != NULL) {
      raise_status(status, NULL);
    } else {
      result = describe_node(handle_of(self), node);
    }
  }
  PyMem_Free(request.inputs);
  PyMem_Free(request.counts);
  PyMem_Free(request.controls);
  millstream_attrs_free(request.attrs);
  return result;
}

static PyObject* graph_unique_name(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  if (check_count("unique_name", n, 2) != 0) return NULL;
  const char* name = text_of(args[0]);
  int reserve = PyObject_IsTrue(args[1]);
  if (name == NULL || reserve < 0) return NULL;
  millstream_bytes bytes;
  millstream_graph_unique_name(handle_of(self), name, reserve, &bytes);
  return take_text(&bytes);
}

static PyObject* graph_num_nodes(PyObject* self, PyObject* unused) {
  (void)unused;
  return PyLong_FromLong(millstream_graph_num_nodes(handle_of(self)));
}

static PyObject* graph_find_node(PyObject* self, PyObject* name_object) {
  const char* name = text_of(name_object);
  if (name == NULL) return NULL;
  int32_t node = -1;
  millstream_status* status = millstream_graph_find_node(handle_of(self), name, &node);
  if (status == NULL) return PyLong_FromLong(node);
  millstream_status_free(status);
  return PyLong_FromLong(-1);
}

static PyObject* graph_node_info(PyObject* self, PyObject* argument) {
  int32_t node = 0;
  if (node_of(self, argument, &node) != 0) return NULL;
  PyObject* outputs = describe_node(handle_of(self), node);
  if (outputs == NULL) return NULL;
  return Py_BuildValue("(ssN)", millstream_node_name(handle_of(self), node),
                       millstream_node_op(handle_of(self), node), outputs);
}

static PyObject* graph_node_source(PyObject* self, PyObject* argument) {
  int32_t node = 0;
  if (node_of(self, argument, &node) != 0) return NULL;
  return PyUnicode_FromString(millstream_node_source(handle_of(self), node));
}

static PyObject* graph_node_device(PyObject* self, PyObject* argument) {
  int32_t node = 0;
  if (node_of(self, argument, &node) != 0) return NULL;
  millstream_bytes bytes;
  millstream_node_device(handle_of(self), node, &bytes);
  return take_text(&bytes);
}

static PyObject* graph_node_inputs(PyObject* self, PyObject* argument) {
  int32_t node = 0;
  if (node_of(self, argument, &node) != 0) return NULL;
  int32_t n = millstream_node_num_inputs(handle_of(self), node);
  PyObject* inputs = PyTuple_New(n);
  if (inputs == NULL) return NULL;
  for (int32_t i = 0; i < n; ++i) {
    PyTuple_SetItem(inputs, i, pack_output(millstream_node_input(handle_of(self), node, i)));
  }
  return inputs;
}

static PyObject* graph_node_controls(PyObject* self, PyObject* argument) {
  int32_t node = 0;
  if (node_of(self, argument, &node) != 0) return NULL;
  int32_t n = millstream_node_control_inputs(handle_of(self), node, NULL, 0);
  int32_t* ids = PyMem_Malloc((size_t)(n + 1) * sizeof(*ids));
  if (ids == NULL) return PyErr_NoMemory();
  millstream_node_control_inputs(handle_of(self), node, ids, n);
  PyObject* controls = PyTuple_New(n);
  for (int32_t i = 0; i < n && controls != NULL; ++i) {
    PyTuple_SetItem(controls, i, PyLong_FromLong(ids[i]));
  }
  PyMem_Free(ids);
  return controls;
}

/* None, or raises what `status` says. */
static PyObject* done(millstream_status* status) {
  if (status == NULL) Py_RETURN_NONE;
  raise_status(status, NULL);
  return NULL;
}

static PyObject* graph_set_device(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  int32_t node = 0;
  if (check_count("set_device", n, 2) != 0 || node_of(self, args[0], &node) != 0) return NULL;
  const char* device = text_of(args[1]);
  if (device == NULL) return NULL;
  return done(millstream_node_set_device(handle_of(self), node, device));
}

static PyObject* graph_add_control(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  int32_t node = 0;
  int32_t control = 0;
  if (check_count("add_control_input", n, 2) != 0) return NULL;
  if (node_of(self, args[0], &node) != 0 || node_of(self, args[1], &control) != 0) return NULL;
  return done(millstream_node_add_control_input(handle_of(self), node, control));
}

static PyObject* graph_set_back_edge(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  int32_t node = 0;
  int32_t next = 0;
  if (check_count("set_back_edge", n, 3) != 0 || node_of(self, args[0], &node) != 0) return NULL;
  const long input = PyLong_AsLong(args[1]);
  if (input == -1 && PyErr_Occurred() != NULL) return NULL;
  if (node_of(self, args[2], &next) != 0) return NULL;
  return done(millstream_node_set_back_edge(handle_of(self), node, (int32_t)input, next));
}

static PyObject* bytes_or_error(millstream_status* status, millstream_bytes* bytes) {
  if (status == NULL) return take_bytes(bytes);
  raise_status(status, NULL);
  return NULL;
}

static PyObject* graph_node_attr(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  int32_t node = 0;
  if (check_count("node_attr", n, 2) != 0 || node_of(self, args[0], &node) != 0) return NULL;
  const char* name = text_of(args[1]);
  if (name == NULL) return NULL;
  millstream_bytes bytes;
  return bytes_or_error(millstream_node_attr(handle_of(self), node, name, &bytes), &bytes);
}

static PyObject* graph_node_def(PyObject* self, PyObject* argument) {
  int32_t node = 0;
  if (node_of(self, argument, &node) != 0) return NULL;
  millstream_bytes bytes;
  return bytes_or_error(millstream_node_def(handle_of(self), node, &bytes), &bytes);
}

/* Dimensions that a shape may have before it needs a second question. */
enum { kInlineDims = 8 };

static PyObject* graph_output_shape(PyObject* self, PyObject* argument) {
  millstream_output output;
  if (output_of(self, argument, &output) != 0) return NULL;
  int64_t dims[kInlineDims];
  int32_t rank = millstream_output_shape(handle_of(self), output, dims, kInlineDims);
  if (rank < 0) Py_RETURN_NONE;
  if (rank <= kInlineDims) return tuple_of_dims(dims, rank);
  int64_t* many = PyMem_Malloc((size_t)rank * sizeof(*many));
  if (many == NULL) return PyErr_NoMemory();
  rank = millstream_output_shape(handle_of(self), output, many, rank);
  PyObject* shape = tuple_of_dims(many, rank);
  PyMem_Free(many);
  return shape;
}

static PyObject* graph_set_shape(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  millstream_output output;
  if (check_count("set_shape", n, 2) != 0 || output_of(self, args[0], &output) != 0) return NULL;
  int64_t* dims = NULL;
  int32_t rank = 0;
  if (read_int64s(args[1], &dims, &rank) != 0) return NULL;
  millstream_status* status = millstream_output_set_shape(handle_of(self), output, dims, rank);
  PyMem_Free(dims);
  return done(status);
}

static PyObject* graph_handle_shape(PyObject* self, PyObject* argument) {
  millstream_output output;
  if (output_of(self, argument, &output) != 0) return NULL;
  int64_t dims[64];
  int32_t dtype = 0;
  int32_t rank = millstream_output_handle_shape(handle_of(self), output, &dtype, dims, 64);
  if (rank < 0 || rank > 64) return Py_BuildValue("(iO)", (int)dtype, Py_None);
  PyObject* shape = tuple_of_dims(dims, rank);
  return shape == NULL ? NULL : Py_BuildValue("(iN)", (int)dtype, shape);
}

static PyObject* graph_forget_handle_shape(PyObject* self, PyObject* argument) {
  millstream_output output;
  if (output_of(self, argument, &output) != 0) return NULL;
  return done(millstream_output_forget_handle_shape(handle_of(self), output));
}

static PyObject* graph_constant(PyObject* self, PyObject* argument) {
  millstream_output output;
  if (output_of(self, argument, &output) != 0) return NULL;
  millstream_tensor* tensor = NULL;
  millstream_status* status = millstream_output_constant(handle_of(self), output, &tensor);
  if (status != NULL) {
    raise_status(status, NULL);
    return NULL;
  }
  if (tensor == NULL) Py_RETURN_NONE;
  return array_of_tensor(tensor);
}

static PyObject* graph_export(PyObject* self, PyObject* with_shapes) {
  int wanted = PyObject_IsTrue(with_shapes);
  if (wanted < 0) return NULL;
  millstream_bytes bytes;
  return bytes_or_error(millstream_graph_export(handle_of(self), wanted, &bytes), &bytes);
}

static PyObject* graph_producer(PyObject* self, PyObject* unused) {
  (void)unused;
  return PyLong_FromLong(millstream_graph_producer(handle_of(self)));
}

static PyObject* graph_set_producer(PyObject* self, PyObject* argument) {
  long version = PyLong_AsLong(argument);
  if (version == -1 && PyErr_Occurred() != NULL) return NULL;
  millstream_graph_set_producer(handle_of(self), (int32_t)version);
  Py_RETURN_NONE;
}

static PyMethodDef graph_methods[] = {
    {"add_node", FASTCALL(graph_add_node), METH_FASTCALL,
     "add_node(op, name, inputs, input_counts, controls, attrs, device, source) -> "
     "(node, output dtypes...)"},
    {"unique_name", FASTCALL(graph_unique_name), METH_FASTCALL, "unique_name(name, reserve)"},
    {"num_nodes", graph_num_nodes, METH_NOARGS, "How many nodes there are."},
    {"find_node", graph_find_node, METH_O, "Number of the node of that name, or -1."},
    {"node_info", graph_node_info, METH_O, "(name, op, (node, output dtypes...))"},
    {"node_source", graph_node_source, METH_O, "The user's line that made the node."},
    {"node_device", graph_node_device, METH_O, "The device that the node asks for."},
    {"node_inputs", graph_node_inputs, METH_O, "Outputs that the node takes."},
    {"node_controls", graph_node_controls, METH_O, "Nodes that run before the node."},
    {"set_device", FASTCALL(graph_set_device), METH_FASTCALL, "set_device(node, device)"},
    {"add_control_input", FASTCALL(graph_add_control), METH_FASTCALL,
     "add_control_input(node, control)"},
    {"set_back_edge", FASTCALL(graph_set_back_edge), METH_FASTCALL,
     "set_back_edge(merge, input, next_iteration)"},
    {"node_attr", FASTCALL(graph_node_attr), METH_FASTCALL, "node_attr(node, name) -> AttrValue"},
    {"node_def", graph_node_def, METH_O, "NodeDef bytes."},
    {"output_shape", graph_output_shape, METH_O, "Static shape, or None; -1 is unknown."},
    {"set_shape", FASTCALL(graph_set_shape), METH_FASTCALL, "set_shape(output, dims): narrows."},
    {"handle_shape", graph_handle_shape, METH_O, "(dtype, shape) of the variable of a handle."},
    {"forget_handle_shape", graph_forget_handle_shape, METH_O,
     "The variable of a handle may hold any shape."},
    {"constant", graph_constant, METH_O, "The value if it is the same in every step, else None."},
    {"export", graph_export, METH_O, "export(with_shapes) -> GraphDef bytes"},
    {"import_", graph_import, METH_VARARGS,
     "import_(bytes, prefix, source, map_names, map_outputs, return_names) -> outputs"},
    {"gradients", graph_gradients, METH_VARARGS,
     "gradients(ys, xs, grad_ys, stop_gradients, colocate, scope, source, functions) -> "
     "(gradients, "
     "made): one of None, output, or (values, indices, shape) for each x; the numbers of new "
     "nodes, "
     "int32. functions(name, node, scope, region, dys) gives such a list of dxs, or None"},
    {"producer", graph_producer, METH_NOARGS, "GraphDef version of the producer."},
    {"set_producer", graph_set_producer, METH_O, "Declares the GraphDef version."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot graph_slots[] = {
    {Py_tp_doc, "A graph of the runtime."},
    {Py_tp_new, graph_new},
    {Py_tp_dealloc, graph_dealloc},
    {Py_tp_methods, graph_methods},
    {0, NULL},
};
static PyType_Spec graph_spec = {
    .name = "millstream._runtime.Graph",
    .basicsize = sizeof(graph_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = graph_slots,
};

int graph_init(PyObject* module) {
  g_graph_type = (PyTypeObject*)PyType_FromSpec(&graph_spec);
  if (g_graph_type == NULL) return -1;
  return PyModule_AddObjectRef(module, "Graph", (PyObject*)g_graph_type);
}
