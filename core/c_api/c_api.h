/* The C API: the only door for language front ends.
 *
 * Everything is an opaque handle, a number, or bytes; protobuf messages cross as serialized bytes.
 * Ownership: `_new`, `_create` and out parameters give (free them with the `_free` of their type);
 * plain getters lend, valid as long as the object; text arguments are terminated UTF-8 and copied.
 * A function that can fail returns millstream_status*: NULL is success, else the caller frees it,
 * and other results are NULL or -1. A getter that is asked for a node, output or string cell that
 * does not exist gives "", 0 or -1. The _free functions take NULL.
 * Any thread may call any function; graphs and sessions lock themselves, attribute sets and
 * tensors are for one thread at a time. Nothing here throws. */
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

/* Bytes that the library allocated; free with millstream_bytes_free. Terminated by a zero that
 * `size` does not count. */
typedef struct millstream_bytes {
  char* data;
  size_t size;
} millstream_bytes;

/* A tensor of a graph: output `index` of node `node`; node -1: none. */
typedef struct millstream_output {
  int32_t node;
  int32_t index;
} millstream_output;

/* A gradient: none (values.node -1), dense (indices.node -1), or rows. */
typedef struct millstream_gradient {
  millstream_output values;
  millstream_output indices;
  millstream_output dense_shape;
} millstream_gradient;

void millstream_bytes_free(millstream_bytes* bytes);
/* "0.1.0" */
const char* millstream_version(void);

/* ---- Status. Codes are absl's (3 INVALID_ARGUMENT, 5 NOT_FOUND, ...). ---- */
int32_t millstream_status_code(const millstream_status* status);
const char* millstream_status_message(const millstream_status* status);
/* Name of the node that the error is about; "" when none. */
const char* millstream_status_node(const millstream_status* status);
/* The system's error number (errno), when the system refused a call on a file; else 0. */
int32_t millstream_status_errno(const millstream_status* status);
void millstream_status_free(millstream_status* status);

/* ---- Tensors. dtype numbers are the DataType proto's. ---- */
/* Memory of the library's own, elements unset (strings empty). */
millstream_status* millstream_tensor_new(int32_t dtype, const int64_t* dims, int32_t rank,
                                         millstream_tensor** out);
/* Borrows `data` (any alignment: a copy is taken of elements that are not aligned; not for
 * strings), never writes to it; `release(argument)` runs when the last user is done, on any thread;
 * it does not run when borrowing fails. `release` may be NULL. */
millstream_status* millstream_tensor_borrow(int32_t dtype, const int64_t* dims, int32_t rank,
                                            const void* data, size_t size,
                                            void (*release)(void* argument), void* argument,
                                            millstream_tensor** out);
void millstream_tensor_free(millstream_tensor* tensor);
int32_t millstream_tensor_dtype(const millstream_tensor* tensor);
int32_t millstream_tensor_rank(const millstream_tensor* tensor);
const int64_t* millstream_tensor_dims(const millstream_tensor* tensor);
int64_t millstream_tensor_num_elements(const millstream_tensor* tensor);
void* millstream_tensor_data(const millstream_tensor* tensor);
size_t millstream_tensor_size(const millstream_tensor* tensor); /* bytes */
/* Cell i of a string tensor, by flat index. */
const char* millstream_tensor_string(const millstream_tensor* tensor, int64_t i, size_t* size);
void millstream_tensor_set_string(millstream_tensor* tensor, int64_t i, const char* data,
                                  size_t size);

/* ---- Attribute sets, for adding nodes. A second set of one name replaces the first. A value that
 * is none (an unknown dtype, a dimension of -2) is told when a node is added. ---- */
millstream_attrs* millstream_attrs_new(void);
void millstream_attrs_free(millstream_attrs* attrs);
void millstream_attrs_set_int(millstream_attrs* attrs, const char* name, int64_t value);
void millstream_attrs_set_float(millstream_attrs* attrs, const char* name, float value);
void millstream_attrs_set_bool(millstream_attrs* attrs, const char* name, int32_t value);
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
/* All shapes' dimensions one after the other. */
void millstream_attrs_set_shape_list(millstream_attrs* attrs, const char* name, const int64_t* dims,
                                     const int32_t* ranks, int32_t n);
/* Any attribute as AttrValue bytes. */
millstream_status* millstream_attrs_set_proto(millstream_attrs* attrs, const char* name,
                                              const void* bytes, size_t size);

/* ---- Graphs. Nodes are numbered from 0 in order of creation. ---- */
millstream_graph* millstream_graph_new(void);
/* After the sessions on it were freed. */
void millstream_graph_free(millstream_graph* graph);
/* Adds a node. `inputs` holds all arguments' tensors one after the other, `input_counts` how many
 * each argument got (n_arguments of them): number and type attributes follow from them. `attrs` may
 * be NULL; `device` and `source` may be "". */
millstream_status* millstream_graph_add_node(millstream_graph* graph, const char* op,
                                             const char* name, const millstream_output* inputs,
                                             const int32_t* input_counts, int32_t n_arguments,
                                             const int32_t* control_inputs,
                                             int32_t n_control_inputs,
                                             const millstream_attrs* attrs, const char* device,
                                             const char* source, int32_t* out_node);
/* A free name like `name`; `reserve` 0: the next call gives the same. */
void millstream_graph_unique_name(millstream_graph* graph, const char* name, int32_t reserve,
                                  millstream_bytes* out);
int32_t millstream_graph_num_nodes(const millstream_graph* graph);
millstream_status* millstream_graph_find_node(const millstream_graph* graph, const char* name,
                                              int32_t* out_node);
const char* millstream_node_name(const millstream_graph* graph, int32_t node);
const char* millstream_node_op(const millstream_graph* graph, int32_t node);
const char* millstream_node_source(const millstream_graph* graph, int32_t node);
void millstream_node_device(const millstream_graph* graph, int32_t node, millstream_bytes* out);
millstream_status* millstream_node_set_device(millstream_graph* graph, int32_t node,
                                              const char* device);
int32_t millstream_node_num_inputs(const millstream_graph* graph, int32_t node);
millstream_output millstream_node_input(const millstream_graph* graph, int32_t node, int32_t i);
int32_t millstream_node_num_outputs(const millstream_graph* graph, int32_t node);
/* DataType number of an output. */
int32_t millstream_node_output_type(const millstream_graph* graph, int32_t node, int32_t i);
/* Writes at most `capacity` ids; returns how many there are. */
int32_t millstream_node_control_inputs(const millstream_graph* graph, int32_t node, int32_t* out,
                                       int32_t capacity);
millstream_status* millstream_node_add_control_input(millstream_graph* graph, int32_t node,
                                                     int32_t control);
/* Closes a loop: input `i` of the Merge `node` becomes output 0 of the NextIteration `next`. */
millstream_status* millstream_node_set_back_edge(millstream_graph* graph, int32_t node, int32_t i,
                                                 int32_t next);
/* AttrValue bytes; NOT_FOUND. */
millstream_status* millstream_node_attr(const millstream_graph* graph, int32_t node,
                                        const char* name, millstream_bytes* out);
/* NodeDef bytes. */
millstream_status* millstream_node_def(const millstream_graph* graph, int32_t node,
                                       millstream_bytes* out);
/* Rank (-1: unknown), and the first `capacity` dimensions (-1: unknown). */
int32_t millstream_output_shape(const millstream_graph* graph, millstream_output output,
                                int64_t* dims, int32_t capacity);
/* Narrows the static shape. */
millstream_status* millstream_output_set_shape(millstream_graph* graph, millstream_output output,
                                               const int64_t* dims, int32_t rank);
/* Static dtype and shape of the variable behind a handle; dtype 0 when `output` is no handle. */
int32_t millstream_output_handle_shape(const millstream_graph* graph, millstream_output output,
                                       int32_t* dtype, int64_t* dims, int32_t capacity);
/* The variable behind a handle, a VarHandleOp that no step has used, may hold any shape from now
 * on; static shapes that followed from the one it declares are forgotten. */
millstream_status* millstream_output_forget_handle_shape(millstream_graph* graph,
                                                         millstream_output output);
/* The value when it is the same in every step and known (a Const, or integers that follow from
 * static shapes and constants), else *out is NULL. */
millstream_status* millstream_output_constant(const millstream_graph* graph,
                                              millstream_output output, millstream_tensor** out);
/* GraphDef bytes. */
millstream_status* millstream_graph_export(const millstream_graph* graph, int32_t with_shapes,
                                           millstream_bytes* out);
/* `config`: ConfigProto bytes, whose forbidden_ops and max_import_expansion are heeded; may be
 * NULL. `prefix` may be "", and so may `source`, the user's line that imports.
 * `map_names`/`map_outputs`: n_map inputs by name that are replaced. `return_names`: n_return
 * tensors whose place in the graph is written to `out_returns`. */
millstream_status* millstream_graph_import(millstream_graph* graph, const void* bytes, size_t size,
                                           const void* config, size_t config_size,
                                           const char* prefix, const char* source,
                                           const char* const* map_names,
                                           const millstream_output* map_outputs, int32_t n_map,
                                           const char* const* return_names, int32_t n_return,
                                           millstream_output* out_returns);
int32_t millstream_graph_producer(const millstream_graph* graph);
void millstream_graph_set_producer(millstream_graph* graph, int32_t version);
/* Gradients of sum(dy_i * y_i) by each x. `grad_ys` may be NULL, or hold entries of node -1 (ones).
 * Nodes are named below `scope`. `colocate`: 0, or else each stands beside the node that it is the
 * gradient of. `out`: n_xs gradients. */
millstream_status* millstream_graph_gradients(millstream_graph* graph, const millstream_output* ys,
                                              int32_t n_ys, const millstream_output* xs,
                                              int32_t n_xs, const millstream_output* grad_ys,
                                              const millstream_output* stop_gradients,
                                              int32_t n_stop_gradients, int32_t colocate,
                                              const char* scope, const char* source,
                                              millstream_gradient* out);

/* ---- Sessions ---- */
/* `config`: ConfigProto bytes, may be NULL. The graph must outlive the session. */
millstream_status* millstream_session_new(millstream_graph* graph, const void* config, size_t size,
                                          millstream_session** out);
/* Cancels the running steps and frees variables and plans once these have ended, for which it
 * waits; called from inside one of them (by should_stop) it returns at once. */
millstream_status* millstream_session_close(millstream_session* session);
/* Gives back to the system what is only kept so that further steps are fast: memory of steps,
 * compiled steps that no callable holds, unused memory of devices and of the process. Variables
 * stay. */
millstream_status* millstream_session_trim(millstream_session* session);
/* Clears these resource containers in every session of the process (all containers when n is 0),
 * and closes the sessions without waiting for running steps. */
millstream_status* millstream_reset(const char* const* containers, int32_t n);
/* Closes. No call may follow; those that run on other threads are cancelled and waited for. */
void millstream_session_free(millstream_session* session);
/* Has exit() cancel the steps that still run on other threads and close all sessions, before it
 * takes down what is loaded and set up by now: libraries that kernels call must not go while a step
 * uses them. The first session does this, too; a front end calls it again as late as it can, since
 * steps set up more. A step that does not end for long ends the process at once, with the exit
 * code that was given. */
void millstream_end_sessions_at_exit(void);
/* What one run may be told. All fields may be zero. */
typedef struct millstream_run_options {
  const millstream_cancellation* cancellation;
  int64_t timeout_ms;
  /* Called now and then on the running thread; nonzero stops the step. */
  int32_t (*should_stop)(void* argument);
  void* should_stop_argument;
  /* A serialized RunOptions: its time limit (unless timeout_ms is set), trace level and
   * output_partition_graphs are heeded. */
  const void* options;
  size_t options_size;
  /* Not NULL: gets a serialized RunMetadata with what `options` asks for, given; also when the step
   * fails. */
  millstream_bytes* metadata;
} millstream_run_options;
/* One step. `out_tensors`: n_fetches tensors, given. `options` may be NULL. Fed tensors are
 * borrowed until the call returns. A feed of a variable's handle is a value that all reads of the
 * variable give in this step. */
millstream_status* millstream_session_run(millstream_session* session,
                                          const millstream_output* feeds,
                                          millstream_tensor* const* feed_tensors, int32_t n_feeds,
                                          const millstream_output* fetches, int32_t n_fetches,
                                          const int32_t* targets, int32_t n_targets,
                                          const millstream_run_options* options,
                                          millstream_tensor** out_tensors);
/* Device names, one a line. */
millstream_status* millstream_session_list_devices(millstream_session* session,
                                                   millstream_bytes* out);
/* JSON: {device name: {in_use, peak_in_use, reserved, peak_reserved, limit, largest_free (bytes),
 * allocations, fragmentation (0 to 1)}}, for each device with memory of its own. */
millstream_status* millstream_session_memory(millstream_session* session, millstream_bytes* out);
millstream_status* millstream_callable_new(millstream_session* session,
                                           const millstream_output* feeds, int32_t n_feeds,
                                           const millstream_output* fetches, int32_t n_fetches,
                                           const int32_t* targets, int32_t n_targets,
                                           millstream_callable** out);
millstream_status* millstream_callable_run(millstream_callable* callable,
                                           millstream_tensor* const* feed_tensors,
                                           const millstream_run_options* options,
                                           millstream_tensor** out_tensors);
int64_t millstream_callable_num_instructions(const millstream_callable* callable);
/* Where every node of the step runs and why, a line a node. */
void millstream_callable_placement(const millstream_callable* callable, millstream_bytes* out);
/* Before its session is freed. */
void millstream_callable_free(millstream_callable* callable);
millstream_cancellation* millstream_cancellation_new(void);
void millstream_cancellation_cancel(millstream_cancellation* cancellation);
void millstream_cancellation_free(millstream_cancellation* cancellation);

/* ---- Ops, messages, plugins ---- */
/* Every registered op as OpList bytes. */
millstream_status* millstream_op_list(millstream_bytes* out);
/* Names of the ops that have a gradient function, one a line. */
void millstream_differentiable_ops(millstream_bytes* out);
/* Serialized message of the full or short name ("GraphDef") from text; errors carry line:column. */
millstream_status* millstream_message_parse_text(const char* name, const char* text, size_t size,
                                                 millstream_bytes* out);
millstream_status* millstream_message_print_text(const char* name, const void* bytes, size_t size,
                                                 millstream_bytes* out);
/* Every message and enum type as JSON, for front ends that build message classes:
 * {"messages": {"GraphDef": [{"name": "node", "number": 1, "type": "message", "message": "NodeDef",
 * "repeated": true, "map": false, "packed": false, "presence": false, "oneof": null}, ...]},
 * "enums":
 * {"DataType": {"DT_FLOAT": 1, ...}}}. Nested types are named "Outer.Inner"; a map's "message" is
 * its entry type, of the fields "key" and "value"; "enum" names the type of an enum field;
 * "presence": a field that was set to its default differs from one that was not set. */
millstream_status* millstream_message_descriptions(millstream_bytes* out);

/* ---- Plugins ---- */

/* Loads one plugin now, with options for it: n_options names and values, NULL when there are none.
 * `ops` may be NULL, or gets the ops that it registered, a JSON array: {name, doc, stateful,
 * inputs, outputs, attrs}; arguments are {name, type (DataType's number, 0 when an attribute says
 * it), type_attr, number_attr, list_attr}, attributes {name, type, default (as Python source, or
 * null), default_type (number or null), allowed_types, allowed_strings}. */
millstream_status* millstream_plugin_load(const char* path, const char* const* names,
                                          const char* const* values, size_t n_options,
                                          millstream_bytes* ops);
/* Adds a file or folder to those that are searched when the first session is made. */
millstream_status* millstream_plugin_add_path(const char* path);
/* Has `package`, which could not say where its plugins are, listed with the reason. */
void millstream_plugin_add_error(const char* package, const char* text);
/* Loads what is on the search path, as the first session does; the same result every time. */
millstream_status* millstream_plugin_load_installed(void);
/* What the loader looked at, a JSON array: for each file {path, origin, name, family, vendor,
 * version, state, stage, code, text, kernels, ops: [...], devices: [{type, name, vendor, arch,
 * ordinal, memory}]}, and built_abi, needed_abi, rank, cpu: [...] where its note could be read.
 * Plugins that are loaded are asked for their devices. */
millstream_status* millstream_plugin_list(millstream_bytes* out);
/* Ends all plugins: no session may be made after it. FAILED_PRECONDITION while one is open. A
 * process may just as well end without it. */
millstream_status* millstream_plugin_shutdown(void);

/* ---- Files of this machine. Paths are bytes, as the system takes them. An error of the system
 * reads "PATH: TEXT", and millstream_status_errno gives its number. Codes, where a function says
 * nothing else: 5 NOT_FOUND, the file or its folder is not there; 6 ALREADY_EXISTS; 7
 * PERMISSION_DENIED; 8 RESOURCE_EXHAUSTED, no space, memory or handles; 9 FAILED_PRECONDITION, the
 * path is a folder, or a part of it is none; 2 UNKNOWN, the device fails. A file is for one thread
 * at a time. ---- */
/* Makes the folder and those above it that are not there. ALREADY_EXISTS when a file has the name
 * of the folder. */
millstream_status* millstream_make_folders(const char* folder);
/* Makes a new file and opens it for appending. ALREADY_EXISTS when the name is taken; the file of
 * that name stays as it is. */
millstream_status* millstream_file_create(const char* path, millstream_file** out);
/* Appends `size` bytes; `data` may be NULL when there are none. After an error the file may hold
 * the beginning of them. FAILED_PRECONDITION after millstream_file_close. */
millstream_status* millstream_file_append(millstream_file* file, const void* data, size_t size);
/* Returns when all that was appended survives a crash of the machine. The name of a new file may
 * still be lost. FAILED_PRECONDITION after millstream_file_close. */
millstream_status* millstream_file_sync(millstream_file* file);
/* Closes the file, after an error as well. Does not sync. A second call does nothing. */
millstream_status* millstream_file_close(millstream_file* file);
/* Closes the file if millstream_file_close did not, and ignores the error. No call may follow. */
void millstream_file_free(millstream_file* file);

#ifdef __cplusplus
}
#endif

#endif /* MILLSTREAM_CORE_C_API_C_API_H_ */
