/* The table of functions of a library that connects processes. The library knows nothing of the
 * runtime: it carries names of methods and bytes.
 *
 * Slices that are passed to a function belong to it from then on: it calls `release` of each once,
 * also after an error. Functions may be called from any thread. */
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_NETWORK_TABLE_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_NETWORK_TABLE_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct millstream_slice {
  const char* data;
  size_t size;
  void (*release)(void* owner);
  void* owner;
} millstream_slice;

/* Takes the result of a call, once. `code` is that of a status; 0: the slices are the response. */
typedef void (*millstream_call_done)(void* user, int32_t code, const char* message,
                                     millstream_slice* slices, size_t n);
/* Takes a request. `call` is for respond. */
typedef void (*millstream_handle_request)(void* user, void* call, const char* method,
                                          millstream_slice* slices, size_t n);

/* Takes a message for the log. From any thread. */
typedef void (*millstream_network_log)(const char* message);

/* Whether what a thread waits for has come: not 0. */
typedef int32_t (*millstream_is_done)(void* user);

/* Changes with the table, and with how a library sends names and bytes to another one; a library of
 * another version is not opened. Messages have a version of their own (rpc.h). */
enum { kMillstreamNetworkVersion = 5 };

/* The message of a call that ends, as UNAVAILABLE, because its peer is lost: there was a connection
 * to it. */
#define MILLSTREAM_NETWORK_PEER_LOST "the peer is lost"

typedef struct millstream_network_table {
  uint32_t version; /* kMillstreamNetworkVersion */
  /* Listens at "HOST:PORT"; sets *port to the port that it has. NULL if the address cannot be used,
   * or must not be without certificates (grpc/credentials.h). */
  void* (*serve)(const char* address, millstream_handle_request handle, void* user, int32_t* port);
  /* Answers a request, once. */
  void (*respond)(void* call, millstream_slice* slices, size_t n);
  /* Refuses requests, waits until all calls of `handle` have returned, and frees the server. */
  void (*stop)(void* server);
  void* (*connect)(const char* address);
  void (*disconnect)(void* channel);
  /* Starts a call, which ends at the latest at `deadline_ns` since 1970; negative: never. Gives a
   * handle for cancel, which free_call frees, before or after the call has ended. An urgent call
   * does not wait behind others. Where the connection breaks that it has, the peer is lost: all
   * other calls of the channel end, too, with MILLSTREAM_NETWORK_PEER_LOST. A call whose own
   * connection breaks ends so by itself. */
  void* (*start)(void* channel, const char* method, int32_t is_urgent, millstream_slice* slices,
                 size_t n, int64_t deadline_ns, millstream_call_done done, void* user);
  void (*cancel)(void* call);
  void (*free_call)(void* call);
  /* Says where errors go that belong to no call: those of peers that are refused. Each kind is
   * passed on once, because anybody can make many. */
  void (*set_log)(millstream_network_log log);
  /* For a thread that is about to wait for an answer: takes messages on it, of any call and any
   * server of the process, so that no other thread is woken to take them. Returns when `is_done`
   * does, or after a moment: the caller then waits as it would have. Returns at once in a `done`,
   * and in a `handle` that has not kept its thread. The caller holds no lock that a `done` or
   * `handle` takes. */
  void (*help)(millstream_is_done is_done, void* user);
  /* On the thread that calls `handle`, unless that is in `help`: another thread takes messages if
   * necessary, so that this one may work and wait as long as it likes. */
  void (*keep_thread)(void);
} millstream_network_table;

/* The library's only symbol. */
typedef const millstream_network_table* (*millstream_get_network)(void);
#define MILLSTREAM_NETWORK_SYMBOL "millstream_network"

#ifdef __cplusplus
}
#endif

#endif /* MILLSTREAM_DISTRIBUTED_RUNTIME_NETWORK_TABLE_H_ */
