/* The C API: the only interface for language front ends.
 *
 * Values: arguments and results are opaque handles, numbers and bytes. Protobuf messages are passed
 * as serialized bytes. String arguments are UTF-8, end with a zero, and are copied.
 *
 * Ownership: the caller owns the results of `_new` and `_create` functions and of out parameters,
 * and frees them with the `_free` function of their type, which accepts NULL. The result of any
 * other getter belongs to the object and is valid as long as the object lives.
 *
 * Errors: a function that can fail returns millstream_status*. NULL is success. Otherwise the
 * caller frees the status, and all out parameters are NULL or -1. A getter for a node, output or
 * string cell that does not exist returns "", 0 or -1. No function throws.
 *
 * Threads: any thread may call any function. Graphs, sessions, callables and cancellations are
 * thread-safe. One attribute set, tensor or file must not be used by two threads at a time.
 *
 * REQUIRES: no pointer is NULL unless the comment of its function allows it. */
#ifndef MILLSTREAM_CORE_C_API_C_API_H_
#define MILLSTREAM_CORE_C_API_C_API_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct millstream_status millstream_status;
typedef struct millstream_tensor millstream_tensor;
typedef struct millstream_attrs millstream_attrs;
typedef struct millstream_graph millstream_graph;
typedef struct millstream_session millstream_session;
typedef struct millstream_callable millstream_callable;
typedef struct millstream_cancellation millstream_cancellation;
typedef struct millstream_file millstream_file;
typedef struct millstream_function_call millstream_function_call;

/* Bytes that the library allocated, for millstream_bytes_free. A zero that `size` does not count
 * follows the last byte. */
typedef struct millstream_bytes {
  char* data;
  size_t size;
} millstream_bytes;

/* A tensor of a graph: output `index` of node number `node`. Node -1 stands for no tensor. */
typedef struct millstream_output {
  int32_t node;
  int32_t index;
} millstream_output;

/* A gradient: none (values.node is -1), dense (indices.node is -1), or rows of a tensor. */
typedef struct millstream_gradient {
  millstream_output values;
  millstream_output indices;
  millstream_output dense_shape;
} millstream_gradient;

/* The body of a loop, as a place for the nodes of a gradient function. Valid during the call. */
typedef struct millstream_gradient_region millstream_gradient_region;

/* Gradient functions of the front end. `differentiate` gets `state`, the name of a function, a
 * node, the scope below which it names new nodes, the region that they belong to (NULL: none), and
 * the gradients of the node's outputs. The name is the node's op or the value of its attribute
 * "_gradient_op_type". It sets the gradients of the node's inputs, which are none at first. It
 * returns 1; 0 if there is no function of this name; -1 if the function failed. */
typedef struct millstream_gradient_functions {
  int32_t (*differentiate)(void* state, const char* name, int32_t node, const char* scope,
                           millstream_gradient_region* region, const millstream_gradient* dy,
                           int32_t n_dy, millstream_gradient* dx, int32_t n_dx);
  void* state;
} millstream_gradient_functions;

/* Frees the data and sets `*bytes` to empty. */
void millstream_bytes_free(millstream_bytes* bytes);
/* The version of the library: "0.1.0". */
const char* millstream_version(void);

/* ---- Status. Codes are absl's (3 INVALID_ARGUMENT, 5 NOT_FOUND, ...). ---- */
/* 0 for NULL. */
int32_t millstream_status_code(const millstream_status* status);
/* What went wrong; "" for NULL. Of more than 8,000 bytes the middle is left out. */
const char* millstream_status_message(const millstream_status* status);
/* The name of the node that the error is about; "" if there is none. */
const char* millstream_status_node(const millstream_status* status);
/* The error number of the system (errno) if a call on a file failed, else 0. */
int32_t millstream_status_errno(const millstream_status* status);
void millstream_status_free(millstream_status* status);

/* ---- Tensors. dtype numbers are the DataType proto's. ---- */
/* Creates a tensor in memory of the library. Elements are not set; strings are empty.
 * INVALID_ARGUMENT for an unknown dtype or a bad shape, RESOURCE_EXHAUSTED if memory is short. */
millstream_status* millstream_tensor_new(int32_t dtype, const int64_t* dims, int32_t rank,
                                         millstream_tensor** out);
/* Creates a tensor on `size` bytes at `data`, which the library never writes to. Data that is not
 * aligned for its dtype is copied. `release(argument)` runs when the last user is done, on any
 * thread. It does not run if this function fails. `release` may be NULL. INVALID_ARGUMENT for
 * strings, a bad shape or a wrong size. */
millstream_status* millstream_tensor_borrow(int32_t dtype, const int64_t* dims, int32_t rank,
                                            const void* data, size_t size,
                                            void (*release)(void* argument), void* argument,
                                            millstream_tensor** out);
void millstream_tensor_free(millstream_tensor* tensor);
/* The number of its dtype, the number of dimensions, their sizes, and the product of these, 1 for a
 * scalar. They never change. */
int32_t millstream_tensor_dtype(const millstream_tensor* tensor);
int32_t millstream_tensor_rank(const millstream_tensor* tensor);
const int64_t* millstream_tensor_dims(const millstream_tensor* tensor);
int64_t millstream_tensor_num_elements(const millstream_tensor* tensor);
/* The elements in row-major order, and their size in bytes. The caller may write to them while
 * nothing else shares the memory, but never to those of a borrowed tensor or of the result of a
 * step. Of a string tensor they are for the library alone: use millstream_tensor_string. */
void* millstream_tensor_data(const millstream_tensor* tensor);
size_t millstream_tensor_size(const millstream_tensor* tensor);
/* Element i of a string tensor, by its flat index in row-major order. It may contain zeros: `*size`
 * gets the number of bytes. */
const char* millstream_tensor_string(const millstream_tensor* tensor, int64_t i, size_t* size);
/* Sets element i to a copy of `size` bytes. Does nothing if there is no such element, or the tensor
 * is not of strings. */
void millstream_tensor_set_string(millstream_tensor* tensor, int64_t i, const char* data,
                                  size_t size);

/* ---- Attribute sets, for millstream_graph_add_node. Setting a name again replaces its value. An
 * invalid value (an unknown dtype, a dimension of -2) is an error of the function that adds the
 * node. ---- */
/* An empty set. It may be used for several nodes. */
millstream_attrs* millstream_attrs_new(void);
void millstream_attrs_free(millstream_attrs* attrs);
void millstream_attrs_set_int(millstream_attrs* attrs, const char* name, int64_t value);
void millstream_attrs_set_float(millstream_attrs* attrs, const char* name, float value);
/* Nonzero is true. */
void millstream_attrs_set_bool(millstream_attrs* attrs, const char* name, int32_t value);
/* `data` has `size` bytes, which may be zeros. */
void millstream_attrs_set_string(millstream_attrs* attrs, const char* name, const char* data,
                                 size_t size);
void millstream_attrs_set_type(millstream_attrs* attrs, const char* name, int32_t dtype);
/* rank -1: unknown; a dimension of -1: unknown. */
void millstream_attrs_set_shape(millstream_attrs* attrs, const char* name, const int64_t* dims,
                                int32_t rank);
/* Shares the tensor's memory; a borrowed tensor is copied. */
void millstream_attrs_set_tensor(millstream_attrs* attrs, const char* name,
                                 const millstream_tensor* tensor);
void millstream_attrs_set_int_list(millstream_attrs* attrs, const char* name, const int64_t* values,
                                   int32_t n);
void millstream_attrs_set_float_list(millstream_attrs* attrs, const char* name, const float* values,
                                     int32_t n);
void millstream_attrs_set_bool_list(millstream_attrs* attrs, const char* name,
                                    const int32_t* values, int32_t n);
void millstream_attrs_set_string_list(millstream_attrs* attrs, const char* name,
                                      const char* const* data, const size_t* sizes, int32_t n);
void millstream_attrs_set_type_list(millstream_attrs* attrs, const char* name,
                                    const int32_t* dtypes, int32_t n);
/* `dims` has the dimensions of all `n` shapes one after the other. */
void millstream_attrs_set_shape_list(millstream_attrs* attrs, const char* name, const int64_t* dims,
                                     const int32_t* ranks, int32_t n);
/* Sets an attribute of any type from a serialized AttrValue. INVALID_ARGUMENT if the bytes are
 * none. */
millstream_status* millstream_attrs_set_proto(millstream_attrs* attrs, const char* name,
                                              const void* bytes, size_t size);

/* ---- Graphs. Nodes are numbered from 0 in order of creation. ---- */
millstream_graph* millstream_graph_new(void);
/* REQUIRES: all sessions on the graph were freed. */
void millstream_graph_free(millstream_graph* graph);
/* Adds a node. `inputs` has the tensors of all arguments one after the other. `input_counts` has
 * the number of tensors of each of the n_arguments arguments. The type and number attributes follow
 * from the inputs. `attrs` may be NULL. `device` and `source` (the user's line) may be "".
 * NOT_FOUND for an unknown op, ALREADY_EXISTS for a name in use, INVALID_ARGUMENT for wrong inputs,
 * attributes or shapes. */
millstream_status* millstream_graph_add_node(millstream_graph* graph, const char* op,
                                             const char* name, const millstream_output* inputs,
                                             const int32_t* input_counts, int32_t n_arguments,
                                             const int32_t* control_inputs,
                                             int32_t n_control_inputs,
                                             const millstream_attrs* attrs, const char* device,
                                             const char* source, int32_t* out_node);
/* Returns `name`, or if it is in use, `name` with a number. If `reserve` is nonzero, later calls
 * return other names; else the next call returns the same name. */
void millstream_graph_unique_name(millstream_graph* graph, const char* name, int32_t reserve,
                                  millstream_bytes* out);
/* How many nodes there are so far: their numbers are below this one. */
int32_t millstream_graph_num_nodes(const millstream_graph* graph);
/* Finds the node of a name. NOT_FOUND if there is none. */
millstream_status* millstream_graph_find_node(const millstream_graph* graph, const char* name,
                                              int32_t* out_node);
const char* millstream_node_name(const millstream_graph* graph, int32_t node);
/* The name of its op; of a node that an import replaced, that of the GraphDef's node. */
const char* millstream_node_op(const millstream_graph* graph, int32_t node);
/* The user's line (`source`) that the function was given that added the node. */
const char* millstream_node_source(const millstream_graph* graph, int32_t node);
/* Gets the device that was requested for the node: a full or partial name, or "". */
void millstream_node_device(const millstream_graph* graph, int32_t node, millstream_bytes* out);
/* Sets it. INVALID_ARGUMENT if there is no such node; FAILED_PRECONDITION if it has run in a step.
 * The name is checked when a step that needs the node is placed. */
millstream_status* millstream_node_set_device(millstream_graph* graph, int32_t node,
                                              const char* device);
/* Inputs are counted in tensors: an argument of several tensors has as many. */
int32_t millstream_node_num_inputs(const millstream_graph* graph, int32_t node);
/* The tensor that is input i. Node -1 if there is no such input, or if it is that of a Merge which
 * millstream_node_set_back_edge has not set yet. */
millstream_output millstream_node_input(const millstream_graph* graph, int32_t node, int32_t i);
int32_t millstream_node_num_outputs(const millstream_graph* graph, int32_t node);
/* The DataType number of output i. */
int32_t millstream_node_output_type(const millstream_graph* graph, int32_t node, int32_t i);
/* Writes the numbers of at most `capacity` nodes to `out`. Returns the number of control inputs. */
int32_t millstream_node_control_inputs(const millstream_graph* graph, int32_t node, int32_t* out,
                                       int32_t capacity);
/* Lets `node` run after `control`. Nothing changes if it does so already. INVALID_ARGUMENT if there
 * is no such node; FAILED_PRECONDITION if `node` has run in a step. A cycle is an error of the
 * steps that need it. */
millstream_status* millstream_node_add_control_input(millstream_graph* graph, int32_t node,
                                                     int32_t control);
/* Closes a loop: connects input `i` of the Merge `node` to output 0 of the NextIteration `next`.
 * FAILED_PRECONDITION if the node has run in a step. */
millstream_status* millstream_node_set_back_edge(millstream_graph* graph, int32_t node, int32_t i,
                                                 int32_t next);
/* Gets an attribute as a serialized AttrValue. NOT_FOUND if the node does not have it. */
millstream_status* millstream_node_attr(const millstream_graph* graph, int32_t node,
                                        const char* name, millstream_bytes* out);
/* Gets the node as a serialized NodeDef. */
millstream_status* millstream_node_def(const millstream_graph* graph, int32_t node,
                                       millstream_bytes* out);
/* Returns the static rank (-1: unknown) and writes at most `capacity` dimensions (-1: unknown). */
int32_t millstream_output_shape(const millstream_graph* graph, millstream_output output,
                                int64_t* dims, int32_t capacity);
/* Merges this shape into the static shape. INVALID_ARGUMENT if the two contradict each other. */
millstream_status* millstream_output_set_shape(millstream_graph* graph, millstream_output output,
                                               const int64_t* dims, int32_t rank);
/* Gets the static dtype and shape of the variable of a handle, like millstream_output_shape.
 * `*dtype` is 0 if `output` is no handle. */
int32_t millstream_output_handle_shape(const millstream_graph* graph, millstream_output output,
                                       int32_t* dtype, int64_t* dims, int32_t capacity);
/* Makes the static shape of the variable of a handle unknown, so that it may hold any shape. Static
 * shapes that were inferred from it become unknown too. `output` is of a VarHandleOp that no step
 * has used. */
millstream_status* millstream_output_forget_handle_shape(millstream_graph* graph,
                                                         millstream_output output);
/* Gets the value if it is known and the same in every step: a Const, or integers that follow from
 * static shapes and constants. Otherwise *out is NULL. */
millstream_status* millstream_output_constant(const millstream_graph* graph,
                                              millstream_output output, millstream_tensor** out);
/* Gets the graph as a serialized GraphDef. `with_shapes` nonzero: each node has the attribute
 * _output_shapes. */
millstream_status* millstream_graph_export(const millstream_graph* graph, int32_t with_shapes,
                                           millstream_bytes* out);
/* Adds all nodes of a serialized GraphDef, or none if there is an error. `config` is a serialized
 * ConfigProto, of which only forbidden_ops and max_import_expansion are used; it may be NULL.
 * `prefix` and `source` (the user's line) may be "". The inputs `map_names` of the GraphDef (n_map
 * of them) are replaced by `map_outputs`. `out_returns` gets the tensors of the graph that
 * `return_names` (n_return of them) name in the GraphDef. Errors: see core/import/graph_def.h. */
millstream_status* millstream_graph_import(millstream_graph* graph, const void* bytes, size_t size,
                                           const void* config, size_t config_size,
                                           const char* prefix, const char* source,
                                           const char* const* map_names,
                                           const millstream_output* map_outputs, int32_t n_map,
                                           const char* const* return_names, int32_t n_return,
                                           millstream_output* out_returns);
/* The version in GraphDef.versions.producer, which decides how some old ops are treated. */
int32_t millstream_graph_producer(const millstream_graph* graph);
/* Sets it for the nodes that are added from now on, and for millstream_graph_export. */
void millstream_graph_set_producer(millstream_graph* graph, int32_t version);
/* Adds the nodes that compute the gradients of sum(dy_i * y_i) with respect to each x. `grad_ys`
 * has the dy_i; it may be NULL, and an entry of node -1 stands for ones. `stop_gradients` are taken
 * as constants. Names of new nodes begin with `scope`. `colocate` nonzero: a gradient node is
 * colocated with the node that it belongs to. `functions` may be NULL. They are called, on this
 * thread, for names that the library has no gradient function for, and may add nodes. `out` gets
 * n_xs gradients. `made`, which may be NULL, gets the numbers of the nodes that
 * GradientOptions::made lists, each an int32_t. core/gradients/gradients.h lists the errors;
 * UNKNOWN if a function of the front end failed. */
millstream_status* millstream_graph_gradients(millstream_graph* graph, const millstream_output* ys,
                                              int32_t n_ys, const millstream_output* xs,
                                              int32_t n_xs, const millstream_output* grad_ys,
                                              const millstream_output* stop_gradients,
                                              int32_t n_stop_gradients, int32_t colocate,
                                              const char* scope, const char* source,
                                              const millstream_gradient_functions* functions,
                                              millstream_gradient* out, millstream_bytes* made);

/* What a node of the region reads instead of `output`. May add nodes. INVALID_ARGUMENT if there is
 * no such output; UNIMPLEMENTED as in core/gradients/backward_loop.h. */
millstream_status* millstream_gradient_region_inside(millstream_gradient_region* region,
                                                     millstream_output output,
                                                     millstream_output* out);
/* The node that nodes of the region without inputs wait for. */
int32_t millstream_gradient_region_pivot(const millstream_gradient_region* region);
/* Says that a node was added to the region. REQUIRES: the graph has the node. */
void millstream_gradient_region_note(millstream_gradient_region* region, int32_t node);

/* ---- Sessions ---- */
/* Creates a session. `config` is a serialized ConfigProto; it may be NULL. REQUIRES: the graph
 * outlives the session. */
millstream_status* millstream_session_new(millstream_graph* graph, const void* config, size_t size,
                                          millstream_session** out);
/* Cancels the running steps, waits until they have ended, and frees variables and plans. If a
 * running step calls it (in should_stop), it does not wait. */
millstream_status* millstream_session_close(millstream_session* session);
/* Releases caches: the memory of ended steps, compiled steps that no callable holds, and unused
 * memory of devices and of the process. Variables stay. Later steps work, but the next step of each
 * kind takes longer. */
millstream_status* millstream_session_trim(millstream_session* session);
/* Clears the named resource containers in every session of the process, or all containers if n is
 * 0. Closes the sessions, and does not wait for running steps. */
millstream_status* millstream_reset(const char* const* containers, int32_t n);
/* Closes the session and frees it. Cancels calls that run on other threads, and waits for them.
 * REQUIRES: no further call uses the session. */
void millstream_session_free(millstream_session* session);
/* Registers an exit handler that cancels the running steps and closes all sessions. exit() runs it
 * before the handlers and destructors that were registered earlier, so the libraries that kernels
 * call still work while steps end. The first session registers one too. A front end calls this
 * function as late as possible, because steps load and initialize more libraries. If a step does
 * not end for a long time, the handler ends the process at once, with the exit code of exit(). */
void millstream_end_sessions_at_exit(void);
/* The options of one step. All fields may be zero. */
typedef struct millstream_run_options {
  const millstream_cancellation* cancellation;
  int64_t timeout_ms;
  /* The step calls it regularly on the thread of the caller. A nonzero result cancels the step. */
  int32_t (*should_stop)(void* argument);
  void* should_stop_argument;
  /* A serialized RunOptions, of which the time limit (unless timeout_ms is set), the trace level
   * and output_partition_graphs are used. */
  const void* options;
  size_t options_size;
  /* If it is not NULL, it gets a serialized RunMetadata with the parts that `options` asks for,
   * also if the step fails. The caller frees it. */
  millstream_bytes* metadata;
} millstream_run_options;
/* Sets the function that tells whether a step waits in vain. A step may wait for what only another
 * step can give, such as an element of a queue. While it does so, and has nothing else to do, it
 * calls `waits_in_vain` regularly on the thread of the caller. `waits` says what it waits for, one
 * wait a line. A positive result means that no thread of the program will begin a step that ends
 * the waits. Then the step fails with FAILED_PRECONDITION, and the error names the nodes. A
 * negative result cancels the step, as one of should_stop does. Only steps with should_stop and
 * without a time limit call the function. NULL: none. */
void millstream_set_wait_judge(int32_t (*waits_in_vain)(const char* waits));
/* Runs one step. `out_tensors` gets n_fetches tensors, which the caller frees. `options` may be
 * NULL. The step borrows the fed tensors until the call returns. If the handle of a variable is
 * fed, the fed tensor is the value of the variable for all reads in this step. Errors: those of the
 * kernels, with the node; INVALID_ARGUMENT for feeds, fetches or targets that do not fit the graph;
 * CANCELLED; DEADLINE_EXCEEDED after the time limit. */
millstream_status* millstream_session_run(millstream_session* session,
                                          const millstream_output* feeds,
                                          millstream_tensor* const* feed_tensors, int32_t n_feeds,
                                          const millstream_output* fetches, int32_t n_fetches,
                                          const int32_t* targets, int32_t n_targets,
                                          const millstream_run_options* options,
                                          millstream_tensor** out_tensors);
/* Gets the device names, one a line. */
millstream_status* millstream_session_list_devices(millstream_session* session,
                                                   millstream_bytes* out);
/* Gets the memory statistics of each device with memory of its own, as JSON: {device name: {in_use,
 * peak_in_use, reserved, peak_reserved, limit, largest_free (bytes), allocations, fragmentation (0
 * to 1)}}. */
millstream_status* millstream_session_memory(millstream_session* session, millstream_bytes* out);
/* Prepares a step that is run many times with the same feeds, fetches and targets. */
millstream_status* millstream_callable_new(millstream_session* session,
                                           const millstream_output* feeds, int32_t n_feeds,
                                           const millstream_output* fetches, int32_t n_fetches,
                                           const int32_t* targets, int32_t n_targets,
                                           millstream_callable** out);
/* Runs the step, like millstream_session_run. Several threads may run one callable at a time. */
millstream_status* millstream_callable_run(millstream_callable* callable,
                                           millstream_tensor* const* feed_tensors,
                                           const millstream_run_options* options,
                                           millstream_tensor** out_tensors);
/* How many instructions a step executes, in the plan that ran last; 0 before the first one. For
 * tests and benchmarks. */
int64_t millstream_callable_num_instructions(const millstream_callable* callable);
/* Gets the device of every node of the step, and the reason, one node a line. */
void millstream_callable_placement(const millstream_callable* callable, millstream_bytes* out);
/* REQUIRES: the session was not freed before. */
void millstream_callable_free(millstream_callable* callable);
/* A handle that cancels the steps whose options name it. Cancelling is permanent: steps that start
 * later with the handle are cancelled too. */
millstream_cancellation* millstream_cancellation_new(void);
/* Returns at once; the steps end soon, with CANCELLED. A second call does nothing. */
void millstream_cancellation_cancel(millstream_cancellation* cancellation);
/* REQUIRES: no step that names it is running. */
void millstream_cancellation_free(millstream_cancellation* cancellation);

/* ---- Functions of the front end, which nodes of PyFunc and PyFuncStateless call by token. ---- */
/* Sets the function that calls all functions of the front end, by their tokens. A second call
 * replaces it. `call_function` runs on threads of the library, several at the same time. A thread
 * holds no lock meanwhile, and may be blocked for any time. The handle is valid until
 * `call_function` returns, for one thread at a time. If the step ends earlier, the results are
 * dropped. */
void millstream_set_function_caller(void (*call_function)(millstream_function_call* call));
/* The token up to its first zero. */
const char* millstream_function_call_token(const millstream_function_call* call);
int32_t millstream_function_call_num_arguments(const millstream_function_call* call);
/* Gives argument i, which the caller owns and may write to. NULL if it does not exist or was given
 * before. */
millstream_tensor* millstream_function_call_take_argument(millstream_function_call* call,
                                                          int32_t i);
/* Appends a result. Shares the tensor's memory, which nobody may write to afterwards; a borrowed
 * tensor is copied. */
void millstream_function_call_add_result(millstream_function_call* call,
                                         const millstream_tensor* result);
/* Makes the call fail; the first error counts. `code` is that of a status, and not 0. */
void millstream_function_call_fail(millstream_function_call* call, int32_t code,
                                   const char* message);

/* ---- Ops, messages, plugins ---- */
/* Gets every registered op as a serialized OpList. */
millstream_status* millstream_op_list(millstream_bytes* out);
/* Gets the names of the ops that have a gradient function, one a line. */
void millstream_differentiable_ops(millstream_bytes* out);
/* Nonzero if the library has a gradient function for the op or knows that it is not differentiable.
 */
int32_t millstream_has_gradient(const char* op);
/* Converts protobuf's text format into a serialized message. `name` is its full or short name
 * ("GraphDef"). INVALID_ARGUMENT with line:column for an error in the text. */
millstream_status* millstream_message_parse_text(const char* name, const char* text, size_t size,
                                                 millstream_bytes* out);
/* Converts a serialized message into protobuf's text format. */
millstream_status* millstream_message_print_text(const char* name, const void* bytes, size_t size,
                                                 millstream_bytes* out);
/* Gets every message and enum type as JSON, for front ends that build message classes:
 * {"messages": {"GraphDef": [{"name": "node", "number": 1, "type": "message", "message": "NodeDef",
 * "repeated": true, "map": false, "packed": false, "presence": false, "oneof": null}, ...]},
 * "enums":
 * {"DataType": {"DT_FLOAT": 1, ...}}}. Nested types are named "Outer.Inner"; a map's "message" is
 * its entry type, of the fields "key" and "value"; "enum" names the type of an enum field;
 * "presence": a field that was set to its default differs from one that was not set. */
millstream_status* millstream_message_descriptions(millstream_bytes* out);

/* ---- Plugins ---- */

/* Loads one plugin. `names` and `values` are its n_options options; both may be NULL if n_options
 * is 0. `ops` may be NULL; else it gets the ops that the plugin registered, a JSON array: {name,
 * doc, stateful, inputs, outputs, attrs}; arguments are {name, type (DataType's number, 0 when an
 * attribute says it), type_attr, number_attr, list_attr}, attributes {name, type, default (as
 * Python source, or null), default_type (number or null), allowed_types, allowed_strings}. */
millstream_status* millstream_plugin_load(const char* path, const char* const* names,
                                          const char* const* values, size_t n_options,
                                          millstream_bytes* ops);
/* Adds a file or folder to the search path of plugins. The first session searches the path. */
millstream_status* millstream_plugin_add_path(const char* path);
/* Adds an error to the list of plugins: `package` failed to return the path of its plugin, with the
 * message `text`. */
void millstream_plugin_add_error(const char* package, const char* text);
/* Loads the plugins of the search path, as the first session does. Later calls return the result of
 * the first. */
millstream_status* millstream_plugin_load_installed(void);
/* Gets all files that the loader found, as a JSON array: {path, origin, name, family, vendor,
 * version, state, stage, code, text, kernels, ops: [...], devices: [{type, name, vendor, arch,
 * ordinal, memory}]}, and if its note is readable also built_abi, needed_abi, rank, cpu: [...].
 * This function enumerates the devices of loaded plugins. */
millstream_status* millstream_plugin_list(millstream_bytes* out);
/* Shuts all plugins down. FAILED_PRECONDITION while a session is open. No session can be created
 * afterwards. A process need not call it before it ends. */
millstream_status* millstream_plugin_shutdown(void);

/* ---- Files of this machine. Paths are bytes, as the system takes them. An error of the system
 * reads "PATH: TEXT", and millstream_status_errno gives its number. Codes, where a function says
 * nothing else: 5 NOT_FOUND, the file or its folder is not there; 6 ALREADY_EXISTS; 7
 * PERMISSION_DENIED; 8 RESOURCE_EXHAUSTED, no space, memory or handles; 9 FAILED_PRECONDITION, the
 * path is a folder, or a part of it is none; 2 UNKNOWN, the device fails. A file is for one thread
 * at a time. ---- */
/* Creates the folder and its missing parents. ALREADY_EXISTS if a file has this name. */
millstream_status* millstream_make_folders(const char* folder);
/* Gets the tensors of the checkpoint PREFIX.index as a JSON array of {name, dtype, shape: [...]},
 * by name; dtype is a number of millstream_tensor's. NOT_FOUND if there is no such file; 15
 * DATA_LOSS, with the path and the offset, if it is damaged. */
millstream_status* millstream_checkpoint_list(const char* prefix, millstream_bytes* out);
/* The CRC-32C (RFC 3720, appendix B.4) of `size` bytes. */
uint32_t millstream_crc32c(const void* data, size_t size);
/* Creates a new file and opens it for appending. ALREADY_EXISTS if the name is in use; the existing
 * file does not change. */
millstream_status* millstream_file_create(const char* path, millstream_file** out);
/* Appends `size` bytes; `data` may be NULL if `size` is 0. After an error the file may contain a
 * part of them. FAILED_PRECONDITION after millstream_file_close. */
millstream_status* millstream_file_append(millstream_file* file, const void* data, size_t size);
/* Waits until all appended bytes are on the disk, so that they survive a crash of the machine. The
 * name of a new file may still be lost. FAILED_PRECONDITION after millstream_file_close. */
millstream_status* millstream_file_sync(millstream_file* file);
/* Closes the file, also after an error. Does not sync. A second call does nothing. */
millstream_status* millstream_file_close(millstream_file* file);
/* Closes the file if it is open, ignores errors, and frees the handle. */
void millstream_file_free(millstream_file* file);

#ifdef __cplusplus
}
#endif

#endif /* MILLSTREAM_CORE_C_API_C_API_H_ */
