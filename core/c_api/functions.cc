// Functions of the front end.
#include <atomic>
#include <cstdint>
#include <utility>

#include "core/c_api/c_api.h"
#include "core/c_api/handles.h"
#include "core/host/front_end_function.h"
#include "framework/status.h"
#include "framework/tensor.h"

using millstream::FrontEndCall;
using millstream::Status;
using millstream::StatusOr;
using millstream::Tensor;

struct millstream_function_call {
  FrontEndCall* call;
  Status status;
};

namespace {

std::atomic<void (*)(millstream_function_call* call)> current_function{nullptr};

Status Call(FrontEndCall* call) {
  millstream_function_call handle{call, absl::OkStatus()};
  current_function.load(std::memory_order_acquire)(&handle);
  return handle.status;
}

bool HasArgument(const millstream_function_call* call, int32_t i) {
  return i >= 0 && static_cast<size_t>(i) < call->call->arguments.size() &&
         call->call->arguments[i].has_value();
}

}  // namespace

void millstream_set_function_caller(void (*call_function)(millstream_function_call* call)) {
  current_function.store(call_function, std::memory_order_release);
  millstream::SetFrontEndCaller(&Call);
}

const char* millstream_function_call_token(const millstream_function_call* call) {
  return call->call->token.c_str();
}

int32_t millstream_function_call_num_arguments(const millstream_function_call* call) {
  return static_cast<int32_t>(call->call->arguments.size());
}

millstream_tensor* millstream_function_call_take_argument(millstream_function_call* call,
                                                          int32_t i) {
  if (!HasArgument(call, i)) return nullptr;
  return new millstream_tensor{std::exchange(call->call->arguments[i], Tensor())};
}

void millstream_function_call_add_result(millstream_function_call* call,
                                         const millstream_tensor* result) {
  StatusOr<Tensor> own = millstream::c_api::WithOwnMemory(result->tensor);
  if (own.ok()) {
    call->call->results.push_back(*std::move(own));
  } else {
    call->status.Update(own.status());
  }
}

void millstream_function_call_fail(millstream_function_call* call, int32_t code,
                                   const char* message) {
  call->status.Update(Status(static_cast<absl::StatusCode>(code), message));
}
