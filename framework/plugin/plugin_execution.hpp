// Functions of an execution besides computing: cancellation, other threads, deferred release of
// memory, ranges in a trace.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_PLUGIN_EXECUTION_HPP_
#define MILLSTREAM_FRAMEWORK_PLUGIN_PLUGIN_EXECUTION_HPP_

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "framework/plugin/plugin.hpp"

namespace ms {
inline namespace v1 {

// Calls and deletes a function object that was passed to the host. Exceptions are dropped, because
// they cannot be reported.
inline void CallOwned(void* user) noexcept {
  const std::unique_ptr<std::function<void()>> function(static_cast<std::function<void()>*>(user));
  try {
    (*function)();
  } catch (...) {
    LogDroppedException();
  }
}

// Runs `function` on another thread, for any time. REQUIRES: the execution does not end before it.
inline void Schedule(const Frame& frame, std::function<void()> function) {
  host_tables.threads->schedule(frame.raw(), &CallOwned,
                                new std::function<void()>(std::move(function)));
}

// Calls `function` when the frame's stream has completed the work that was enqueued so far.
inline Status DeferRelease(const Frame& frame, std::function<void()> function) {
  auto owned = std::make_unique<std::function<void()>>(std::move(function));
  MS_TRY(Status::FromAbi(host_tables.ctx->defer_release(frame.raw(), &CallOwned, owned.get())));
  static_cast<void>(owned.release());  // the host owns it now
  return Status();
}

// While an object lives, `function` is called once when the step is cancelled or fails; at once if
// it is stopping already. REQUIRES: the function is short, throws nothing and calls no host
// function.
class CancelCallback {
 public:
  CancelCallback() = default;
  CancelCallback(const CancelCallback&) = delete;
  CancelCallback& operator=(const CancelCallback&) = delete;
  ~CancelCallback() {
    if (frame_ != nullptr) host_tables.ctx->cancel_deregister(frame_, token_);
  }
  // REQUIRES: Register was not called before.
  Status Register(const Frame& frame, std::function<void()> function) {
    function_ = std::move(function);
    MS_TRY(
        Status::FromAbi(host_tables.ctx->cancel_register(frame.raw(), &Call, &function_, &token_)));
    frame_ = frame.raw();
    return Status();
  }

 private:
  static void Call(void* user) noexcept { (*static_cast<std::function<void()>*>(user))(); }
  std::function<void()> function_;
  MS_Frame* frame_ = nullptr;
  uint64_t token_ = 0;
};

// Adds a range of the execution to the trace, from here to the end of the scope.
class TraceScope {
 public:
  TraceScope(const Frame& frame, std::string_view name) : frame_(frame.raw()) {
    host_tables.ctx->trace_begin(frame_, ToAbi(name));
  }
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;
  ~TraceScope() { host_tables.ctx->trace_end(frame_); }

 private:
  MS_Frame* const frame_;
};

// The positions [begin, end) of the named argument.
inline Status InputList(const Frame& frame, std::string_view name, uint32_t* begin, uint32_t* end) {
  return Status::FromAbi(host_tables.ctx->input_list(frame.raw(), ToAbi(name), begin, end));
}
inline Status OutputList(const Frame& frame, std::string_view name, uint32_t* begin,
                         uint32_t* end) {
  return Status::FromAbi(host_tables.ctx->output_list(frame.raw(), ToAbi(name), begin, end));
}

}  // namespace v1
}  // namespace ms

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_PLUGIN_EXECUTION_HPP_
