// Functions in the language of a front end, which nodes of a graph call (PyFunc). The front end
// keeps them, each under a token. Core knows one function, which calls them all.
#ifndef MILLSTREAM_CORE_HOST_FRONT_END_FUNCTION_H_
#define MILLSTREAM_CORE_HOST_FRONT_END_FUNCTION_H_

#include <string>
#include <vector>

#include "framework/status.h"
#include "framework/tensor.h"

namespace millstream {

// One call. Used by one thread at a time.
struct FrontEndCall {
  std::string token;
  // Each is in memory of its own, which the function may write to.
  std::vector<Tensor> arguments;
  // What the function gives, of any number and types. Nobody writes to the memory afterwards.
  std::vector<Tensor> results;
};

// Calls the function of the token. Runs on a thread that it may block for any time, several at the
// same time; the thread holds no lock.
using FrontEndCaller = Status (*)(FrontEndCall* call);

// Sets the function that calls those of the front end; a second front end replaces the first.
// Thread-safe.
void SetFrontEndCaller(FrontEndCaller caller);
// Calls the function. FAILED_PRECONDITION if no front end has set a caller; else the function's own
// errors. Thread-safe.
Status CallFrontEnd(FrontEndCall* call);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_HOST_FRONT_END_FUNCTION_H_
