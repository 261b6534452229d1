// When memory that work on a stream still uses may be given back.
#ifndef MILLSTREAM_CORE_HOST_HOST_DEFER_H_
#define MILLSTREAM_CORE_HOST_HOST_DEFER_H_

#include "framework/plugin/plugin.h"
#include "framework/status.h"

namespace millstream {

// Calls fn(user), once, on any thread, when all that the frame's stream was told to do so far is
// done. Where devices have no streams that is when the execution has ended, well or not.
// RESOURCE_EXHAUSTED when one execution asks too often: then fn is not called.
Status DeferRelease(MS_Frame* frame, void (*fn)(void* user), void* user);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_HOST_HOST_DEFER_H_
