#include "core/host/host_execution.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "core/host/host_defer.h"
#include "core/host/kernel_host.h"
#include "core/step/step_trace.h"
#include "framework/plugin/host_status.h"
#include "framework/plugin/host_tensor.h"
#include "framework/plugin/plugin_text.h"

namespace millstream::host_execution {
namespace {

MS_Status* FindList(const MS_Frame& frame, const std::vector<ArgDef>& arguments,
                    const std::vector<int>& starts, absl::string_view name, uint32_t* begin,
                    uint32_t* end) {
  const auto is_named = [name](const ArgDef& argument) { return argument.name == name; };
  const auto found = absl::c_find_if(arguments, is_named);
  if (found == arguments.end()) {
    const OpCall& call = frame.ctx->call();
    return ToAbiStatus(errors::NotFound("node ", call.name, ": op ", call.op->name,
                                        " has no argument \"", name, "\""));
  }
  const size_t position = static_cast<size_t>(found - arguments.begin());
  *begin = static_cast<uint32_t>(starts[position]);
  *end = static_cast<uint32_t>(starts[position + 1]);
  return nullptr;
}

// A part of an execution that a thread has begun.
struct OpenRange {
  const MS_Frame* frame;
  std::string name;
  int64_t start;
};
thread_local std::vector<OpenRange> open_ranges;

StepTrace* TraceOf(const MS_Frame& frame) { return frame.ctx->host->step->trace(); }

}  // namespace

MS_Status* InputList(const MS_Frame* frame, MS_Str name, uint32_t* begin, uint32_t* end) {
  const OpCall& call = frame->ctx->call();
  return FindList(*frame, call.op->inputs, call.signature->input_starts, FromAbi(name), begin, end);
}

MS_Status* OutputList(const MS_Frame* frame, MS_Str name, uint32_t* begin, uint32_t* end) {
  const OpCall& call = frame->ctx->call();
  return FindList(*frame, call.op->outputs, call.signature->output_starts, FromAbi(name), begin,
                  end);
}

MS_DType ExpectedOutputDType(const MS_Frame* frame, uint32_t index) {
  const OpCall& call = frame->ctx->call();
  const bool is_there = index < static_cast<uint32_t>(call.num_outputs());
  return is_there ? ToAbiDataType(call.output_type(static_cast<int>(index))) : 0;
}

uint64_t StepId(const MS_Frame* frame) { return frame->ctx->host->step->step_id(); }

MS_Status* InputTensor(MS_Frame* frame, uint32_t index, MS_Tensor** out) {
  *out = nullptr;
  if (index >= frame->n_in) {
    return ToAbiStatus(
        errors::InvalidArgument("kernel asked for input ", index, " of ", frame->n_in));
  }
  if (frame->inputs[index].dtype == MS_RESOURCE) {
    return ToAbiStatus(
        errors::InvalidArgument("input ", index, " is a handle, which has no value"));
  }
  StatusOr<Tensor> tensor = frame->ctx->host->InputTensor(*frame->ctx, index);
  if (!tensor.ok()) return ToAbiStatus(tensor.status());
  *out = new MS_Tensor(*std::move(tensor));
  return nullptr;
}

MS_Status* CancelRegister(MS_Frame* frame, void (*fn)(void* user), void* user,
                          uint64_t* out_token) {
  *out_token = 0;
  if (fn == nullptr) return ToAbiStatus(errors::InvalidArgument("cancel_register: fn is NULL"));
  *out_token = frame->ctx->host->step->AddListener(fn, user, frame->ctx->node);
  return nullptr;
}

void CancelDeregister(MS_Frame* frame, uint64_t token) {
  frame->ctx->host->step->RemoveListener(token);
}

MS_Status* Defer(MS_Frame* frame, void (*fn)(void* user), void* user) {
  if (fn == nullptr) return ToAbiStatus(errors::InvalidArgument("defer_release: fn is NULL"));
  return ToAbiStatus(DeferRelease(frame, fn, user));
}

void TraceBegin(MS_Frame* frame, MS_Str name) {
  if (TraceOf(*frame) == nullptr) return;
  // What an execution before this one left open is not its part.
  if (!open_ranges.empty() && open_ranges.back().frame != frame) open_ranges.clear();
  open_ranges.push_back({frame, Printable(FromAbi(name)), StepTrace::Now()});
}

void TraceEnd(MS_Frame* frame) {
  StepTrace* const trace = TraceOf(*frame);
  if (trace == nullptr || open_ranges.empty() || open_ranges.back().frame != frame) return;
  TracedRange range;
  range.node = std::string(frame->ctx->call().name);
  range.name = std::move(open_ranges.back().name);
  range.start = open_ranges.back().start;
  range.end = StepTrace::Now();
  range.lane = StepTrace::ThisThread();
  open_ranges.pop_back();
  trace->AddRange(std::move(range));
}

}  // namespace millstream::host_execution
