// What an execution can do besides computing: cancellation, other threads, release of memory that
// a stream still uses, parts in a trace.
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

// Calls a function that the host was given together with what it is called with; exceptions end
// here, since there is nobody to tell.
inline void CallOwned(void* user) noexcept {
  const std::unique_ptr<std::function<void()>> function(static_cast<std::function<void()>*>(user));
  try {
    (*function)();
  } catch (...) {
    host_tables.core->log(MS_LOG_ERROR,
                          ToAbi(std::string_view("an exception left a scheduled function")));
  }
}

// Runs `function` on another thread, where it may take long. The execution must not end before it.
inline void Schedule(const Frame& frame, std::function<void()> function) {
  host_tables.threads->schedule(frame.raw(), &CallOwned,
                                new std::function<void()>(std::move(function)));
}

// Calls `function` when the frame's stream has done all that it was told so far.
inline Status DeferRelease(const Frame& frame, std::function<void()> function) {
  auto owned = std::make_unique<std::function<void()>>(std::move(function));
  MS_TRY(Status::FromAbi(host_tables.ctx->defer_release(frame.raw(), &CallOwned, owned.get())));
  static_cast<void>(owned.release());  // It is the host's now.
  return Status();
}

// While it lives, `function` is called, once, when the step is cancelled or fails; at once when it
// is stopping already. The function is brief, throws nothing and calls no host function.
class CancelCallback {
 public:
  CancelCallback() = default;
  CancelCallback(const CancelCallback&) = delete;
  CancelCallback& operator=(const CancelCallback&) = delete;
  ~CancelCallback() {
    if (frame_ != nullptr) host_tables.ctx->cancel_deregister(frame_, token_);
  }
  // REQUIRES: it was not called before.
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

// A part of the execution, which a traced step shows; from here to the end of the scope.
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

// Positions [begin, end) that the named argument takes.
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
