// Releases memory that enqueued work may still use.
#ifndef MILLSTREAM_CORE_HOST_HOST_DEFER_H_
#define MILLSTREAM_CORE_HOST_HOST_DEFER_H_

#include "framework/plugin/plugin.h"
#include "framework/status.h"

namespace millstream {

// Calls fn(user) once, on any thread, when the frame's stream has completed the work that was
// enqueued so far. On a device without streams, calls it when the execution has ended, with or
// without an error. RESOURCE_EXHAUSTED for too many calls from one execution; fn is not called
// then.
Status DeferRelease(MS_Frame* frame, void (*fn)(void* user), void* user);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_HOST_HOST_DEFER_H_
