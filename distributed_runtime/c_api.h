/* The part of the C API about clusters, for language front ends. Conventions: core/c_api/c_api.h.
 */
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_C_API_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_C_API_H_

#include <stddef.h>
#include <stdint.h>

#include "core/c_api/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Sets the library that connects processes, which is opened when the first server or session of a
 * cluster is created. Without it, a cluster can only have tasks of this host. */
void millstream_cluster_set_library(const char* path);

/* Creates a session of the cluster whose master is at `target` ("grpc://localhost:2222"). `config`
 * is a serialized ConfigProto; it may be NULL. INVALID_ARGUMENT or NOT_FOUND for another target;
 * UNAVAILABLE (14), with the tasks, if some do not answer within `patience_ms`: the caller may try
 * again. REQUIRES: the graph outlives the session. */
millstream_status* millstream_cluster_session_new(millstream_graph* graph, const char* target,
                                                  const void* config, size_t size,
                                                  int64_t patience_ms, millstream_session** out);
/* Clears the named resource containers in all tasks of the cluster, or all containers if n is 0.
 * Closes the sessions of this master. */
millstream_status* millstream_cluster_reset(const char* target, const char* const* containers,
                                            int32_t n);

/* Asks all tasks of the cluster how they are: one JSON object, see status_json.h. Errors are those
 * of millstream_cluster_session_new; tasks that do not answer are in the result. */
millstream_status* millstream_cluster_status(const char* target, millstream_bytes* out);

/* A task of a cluster in this process. */
typedef struct millstream_server millstream_server;
/* Starts a task. `server_def` is a serialized ServerDef. INVALID_ARGUMENT if it does not name a
 * task of its cluster, or a task has an address with a port that cannot be; UNAVAILABLE if the
 * task's address is in use. */
millstream_status* millstream_server_new(const void* server_def, size_t size,
                                         millstream_server** out);
/* Gets what sessions of this task name as their target. */
void millstream_server_target(const millstream_server* server, millstream_bytes* out);
/* How the task is: one JSON object, see status_json.h. */
void millstream_server_status(millstream_server* server, millstream_bytes* out);
/* Waits until the server is stopped, or until `patience_ms` have passed. Nonzero if it is stopped,
 * and in a forked child, in which nothing of it runs. */
int32_t millstream_server_join(millstream_server* server, int64_t patience_ms);
/* Refuses further requests and closes the sessions of this task's master. Waits, for some seconds
 * at the longest, until other tasks have what collective operations of this one owe them. Does
 * nothing in a forked child: the server is the parent's. */
void millstream_server_stop(millstream_server* server);
/* Stops the server and frees it. Does nothing in a forked child. */
void millstream_server_free(millstream_server* server);

#ifdef __cplusplus
}
#endif

#endif /* MILLSTREAM_DISTRIBUTED_RUNTIME_C_API_H_ */
