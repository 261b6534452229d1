#include "framework/plugin/check/kernel_run.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "framework/plugin/check/check_ctx.h"
#include "framework/plugin/check/check_tables.h"
#include "framework/plugin/check/op_specs.h"
#include "framework/plugin/host_interfaces.h"
#include "framework/plugin/host_status.h"
#include "framework/plugin/kernel_info.h"

namespace millstream::plugin_check {
namespace {

constexpr uint64_t kPhiloxKey = 0x0123456789abcdefu;
constexpr auto kDonePatience = std::chrono::seconds(2);
constexpr auto kLateCalls = std::chrono::milliseconds(8);  // and writes

// The attribute as a number; 0 without it.
uint64_t SeedOf(const AttrMap& attrs, absl::string_view name) {
  const AttrValue* attr = FindAttr(attrs, name);
  const int64_t* value = attr == nullptr ? nullptr : attr->get<int64_t>();
  return value == nullptr ? 0 : static_cast<uint64_t>(*value);
}

// What the outputs hold now; no value for one that is missing.
std::vector<Tensor> OutputValues(const MS_Ctx& ctx) {
  std::vector<Tensor> values;
  for (const auto& output : ctx.outputs) {
    const StatusOr<Tensor> value = output == nullptr ? Tensor() : output->Read();
    values.push_back(value.ok() ? *value : Tensor());
  }
  return values;
}

}  // namespace

// All that belongs to one execution. Views and frame lie in pages that go with it.
struct KernelRun::Execution {
  // Kept for ever: a kernel that calls done too late writes into it.
  MS_Ctx* ctx = new MS_Ctx;
  MS_Done* done = nullptr;
  std::vector<std::unique_ptr<PlacedTensor>> inputs;
  std::vector<CheckVariable> variables;
  std::vector<MS_Tensor*> handles;  // of inputs in host memory, a reference each
  std::vector<bool> given_away;     // inputs that outputs may lie over
  MS_Specialization specialization = {};
  std::unique_ptr<Block> scratch;
  FramePage page;
  MS_Frame* frame = nullptr;
  MS_TensorView* input_views = nullptr;
  MS_TensorView* output_views = nullptr;

  ~Execution() {
    ReleaseHandles();
    if (done == nullptr) {
      delete ctx;
      return;
    }
    // But the frame goes, and what a plugin gave goes back to it.
    const std::lock_guard<std::mutex> lock(ctx->mutex);
    ctx->frame.reset();
    for (auto& output : ctx->outputs) {
      if (output != nullptr && output->is_shared()) output.reset();
    }
  }
  void ReleaseHandles() {
    for (MS_Tensor* handle : std::exchange(handles, {})) CheckSession::Release(handle);
  }
};

StatusOr<std::unique_ptr<KernelRun>> KernelRun::Create(const KernelRegistration& kernel,
                                                       const CheckedDevice* device,
                                                       const KernelCase& kernel_case) {
  std::unique_ptr<KernelRun> run(new KernelRun(kernel, device, kernel_case));
  MS_ASSIGN_OR_RETURN(run->op_, KnownOps().Find(kernel.op));
  MS_ASSIGN_OR_RETURN(run->signature_, ExpandSignature(*run->op_, kernel_case.attrs));
  const std::string node = absl::StrCat("checked/", kernel.op);
  const std::string device_name = absl::StrCat("/device:", kernel.device_type, ":0");
  MS_KernelInfo info({run->op_, &kernel_case.attrs, &run->signature_, node}, device_name,
                     kernel.plugin);
  run->context_.head.size = sizeof(run->context_);
  if (device != nullptr) {
    run->context_.device = device->device();
    run->context_.stream = device->stream();
    run->context_.stream_native = device->functions().stream_native(device->stream());
    run->context_.device_ordinal = device->description().ordinal;
  }
  info.device = &run->context_;
  run->session_.MakeCurrent();
  SetHostBreadcrumb(absl::StrCat("kernel ", kernel.op, " of plugin ", kernel.plugin));
  MS_RETURN_IF_ERROR(Take(kernel.create(kernel.user, &info, &run->state_)));
  run->is_alive_ = true;
  return run;
}

KernelRun::~KernelRun() { Destroy(); }

BrokenRules KernelRun::Destroy() {
  if (!std::exchange(is_alive_, false)) return {};
  session_.MakeCurrent();
  kernel_.destroy(state_);
  session_.Close();
  return TakeMisuses();
}

bool IsHostArg(const KernelRegistration& kernel, const std::vector<ArgDef>& args,
               const std::vector<int>& starts, size_t index) {
  for (size_t i = 0; i < args.size(); ++i) {
    if (static_cast<int>(index) >= starts[i + 1]) continue;
    return absl::c_linear_search(kernel.host_args, args[i].name);
  }
  return false;
}

// Copies of the case's inputs, so that every execution starts from the same values.
Status KernelRun::PlaceInputs(const RunMode& mode, Execution* execution) const {
  MS_Ctx* const ctx = execution->ctx;
  const size_t n = case_.inputs.size();
  execution->inputs.resize(n);
  execution->variables.resize(n);
  execution->given_away.assign(n, ctx->may_forward);
  execution->input_views = execution->page.Make<MS_TensorView>(n);
  ctx->inputs.resize(n);
  ctx->variables.resize(n);
  for (size_t i = 0; i < n; ++i) {
    const CaseInput& input = case_.inputs[i];
    MS_TensorView& view = execution->input_views[i];
    if (input.is_variable) {
      CheckVariable& variable = execution->variables[i];
      variable.name = absl::StrCat("variable", i);
      variable.dtype = input.value.dtype();
      MS_ASSIGN_OR_RETURN(variable.value, PlacedTensor::CopyOf(ctx->place, input.value));
      ctx->variables[i] = &variable;
      view.mem = {&variable, 0, sizeof(void*), MS_SPACE_HOST, 0};
      view.dtype = MS_RESOURCE;
      view.flags = MS_VIEW_RESOURCE | MS_VIEW_HOST;
      continue;
    }
    const bool host = IsHostArg(kernel_, op_->inputs, signature_.input_starts, i);
    MS_ASSIGN_OR_RETURN(execution->inputs[i], PlacedTensor::CopyOf(host ? Place() : ctx->place,
                                                                   input.value, mode.input_offset));
    ctx->inputs[i] = execution->inputs[i].get();
    view = execution->inputs[i]->View(input.is_const ? MS_VIEW_CONST : 0);
    if ((view.flags & MS_VIEW_HOST) == 0) continue;
    // Its own memory: what the kernel writes there must not change what it is compared with.
    MS_ASSIGN_OR_RETURN(Tensor own, execution->inputs[i]->Read());
    execution->handles.push_back(new MS_Tensor(std::move(own)));
    view.handle = execution->handles.back();
    CheckSession::Watch(view.handle);
  }
  return absl::OkStatus();
}

Status KernelRun::PlaceOutputs(const RunMode& mode, const std::vector<Tensor>* planned_as,
                               Execution* execution) const {
  MS_Ctx* const ctx = execution->ctx;
  const size_t n = signature_.output_types.size();
  execution->output_views = execution->page.Make<MS_TensorView>(n);
  ctx->outputs.resize(n);
  ctx->taken_inputs.assign(n, -1);
  for (size_t i = 0; i < n; ++i) {
    ctx->output_dtypes.push_back(ToAbiDataType(signature_.output_types[i]));
    ctx->output_on_host.push_back(IsHostArg(kernel_, op_->outputs, signature_.output_starts, i));
    execution->output_views[i] = NullView();
    if (planned_as == nullptr || !(*planned_as)[i].has_value()) continue;
    MS_ASSIGN_OR_RETURN(
        ctx->outputs[i],
        PlacedTensor::Make(ctx->output_on_host[i] ? Place() : ctx->place,
                           signature_.output_types[i], (*planned_as)[i].shape(), mode.fill));
  }
  if (planned_as != nullptr && mode.share) ShareBuffers(execution);
  for (size_t i = 0; i < n; ++i) {
    if (ctx->outputs[i] != nullptr) execution->output_views[i] = ctx->outputs[i]->View(0);
  }
  return absl::OkStatus();
}

// Lays outputs over inputs as the kernel's in-place pairs allow.
void KernelRun::ShareBuffers(Execution* execution) const {
  MS_Ctx* const ctx = execution->ctx;
  for (const MS_InPlacePair& pair : kernel_.in_place) {
    if (pair.output >= ctx->outputs.size() || pair.input >= execution->inputs.size()) continue;
    std::unique_ptr<PlacedTensor>& output = ctx->outputs[pair.output];
    const PlacedTensor* input = execution->inputs[pair.input].get();
    if (output == nullptr || input == nullptr || ctx->taken_inputs[pair.output] >= 0) continue;
    if (execution->given_away[pair.input] || !IsPlainData(output->dtype())) continue;
    if (case_.inputs[pair.input].is_const) continue;
    if (output->bytes() != input->bytes() || !IsPlainData(input->dtype())) continue;
    output = input->Over(output->dtype(), output->shape());
    ctx->taken_inputs[pair.output] = static_cast<int>(pair.input);
    execution->given_away[pair.input] = true;
  }
}

Status KernelRun::Specialize(const RunMode& mode, const std::vector<Tensor>& planned_as,
                             Execution* execution) const {
  MS_Specialization& specialization = execution->specialization;
  specialization.head.size = sizeof(specialization);
  specialization.device = &context_;
  if (kernel_.specialize == nullptr) return absl::OkStatus();
  std::vector<MS_Dims> input_dims;
  std::vector<MS_TensorView> constants;
  for (size_t i = 0; i < case_.inputs.size(); ++i) {
    const MS_TensorView& view = execution->input_views[i];
    input_dims.push_back({view.dims, view.rank, 0});
    const bool shown = case_.inputs[i].is_const && (view.flags & MS_VIEW_HOST) != 0;
    constants.push_back(shown ? view : MS_TensorView{});
  }
  std::vector<MS_Dims> output_dims;
  for (const Tensor& output : planned_as) {
    output_dims.push_back(
        {output.shape().dims().data(), static_cast<uint32_t>(output.shape().rank()), 0});
  }
  specialization.inputs = input_dims.data();
  specialization.constants = constants.data();
  specialization.outputs = output_dims.data();
  specialization.n_in = static_cast<uint32_t>(input_dims.size());
  specialization.n_out = static_cast<uint32_t>(output_dims.size());
  specialization.num_threads = mode.threads;
  MS_RETURN_IF_ERROR(Take(kernel_.specialize(state_, &specialization)));
  if (specialization.scratch_bytes == 0) return absl::OkStatus();
  MS_ASSIGN_OR_RETURN(execution->scratch,
                      Block::Make(execution->ctx->place, specialization.scratch_bytes, mode.fill));
  return absl::OkStatus();
}

MS_Frame* KernelRun::MakeFrame(const RunMode& mode, Execution* execution) const {
  MS_Ctx* const ctx = execution->ctx;
  MS_Frame* const frame = execution->page.Make<MS_Frame>(1);
  const size_t n_out = signature_.output_types.size();
  uint64_t* const used = execution->page.Make<uint64_t>(n_out / 64 + 1);
  for (size_t i = 0; i < n_out; ++i) used[i / 64] |= uint64_t{1} << (i % 64);
  frame->head.size = sizeof(*frame);
  frame->ctx = ctx;
  frame->inputs = execution->input_views;
  frame->outputs = execution->output_views;
  frame->outputs_used = used;
  frame->shape_state = execution->specialization.shape_state;
  if (execution->scratch != nullptr) {
    frame->scratch_mem = execution->scratch->ref();
    frame->scratch = static_cast<char*>(frame->scratch_mem.base) + frame->scratch_mem.offset;
  }
  frame->n_in = static_cast<uint32_t>(case_.inputs.size());
  frame->n_out = static_cast<uint32_t>(n_out);
  frame->step_id = ctx->step_id;
  if (mode.is_deterministic) frame->flags = MS_FRAME_DETERMINISTIC;
  if (mode.is_traced) {
    frame->flags |= MS_FRAME_TRACING;
    frame->correlation_id = ctx->step_id;
  }
  frame->device_state = context_.device;
  frame->stream = context_.stream;
  frame->stream_native = context_.stream_native;
  frame->device_ordinal = context_.device_ordinal;
  return frame;
}

// Gives what writes late the time for it. `rule` says that outputs stay what they are now.
void KernelRun::ExpectNoLateWrites(const MS_Ctx& ctx, const char* rule, absl::string_view after,
                                   RunResult* result) const {
  const std::vector<Tensor> values = OutputValues(ctx);
  std::this_thread::sleep_for(kLateCalls);
  const std::vector<Tensor> later = OutputValues(ctx);
  for (size_t i = 0; i < values.size(); ++i) {
    if (!values[i].has_value() || TensorsEqual(later[i], values[i])) continue;
    result->broken.emplace_back(rule, absl::StrCat("it wrote output ", i, " after ", after));
  }
}

void KernelRun::CallAsync(Execution* execution, RunResult* result) const {
  const MS_Ctx* const ctx = execution->ctx;
  execution->done = new MS_Done(execution->ctx);  // with the ctx, never freed
  kernel_.compute_async(state_, execution->frame, execution->done);
  const auto end = std::chrono::steady_clock::now() + kDonePatience;
  const auto calls = [&] {
    const std::lock_guard<std::mutex> lock(execution->done->mutex);
    return execution->done->calls;
  };
  while (calls() == 0 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  if (calls() != 0) ExpectNoLateWrites(*ctx, "KERNEL-ASYNC", "done", result);
  result->done_calls = calls();
  const std::lock_guard<std::mutex> lock(execution->done->mutex);
  result->status = execution->done->status;
}

void KernelRun::Call(const RunMode& mode, Execution* execution, RunResult* result) const {
  MS_Ctx* const ctx = execution->ctx;
  execution->frame = MakeFrame(mode, execution);
  ctx->frame = std::make_unique<FrameCopy>(*execution->frame);
  SetCurrentCtx(ctx);
  if ((kernel_.flags & MS_KERNEL_ASYNC) == 0) {
    result->status = Take(kernel_.compute(state_, execution->frame));
    EndExecution(ctx);
  } else {
    CallAsync(execution, result);
  }
  SetCurrentCtx(nullptr);
  if (device_ != nullptr) {
    const Status synced = Take(device_->functions().stream_sync(device_->stream()));
    if (result->status.ok()) result->status = synced;
  }
  if (ctx->has_wrapped && (kernel_.flags & MS_KERNEL_ASYNC) == 0) {
    ExpectNoLateWrites(*ctx, "KERNEL-WRAPPED", "it gave the memory to the host", result);
  }
  // What was not ended may still use what it wanted to release.
  if (result->done_calls == 0) return;
  for (const MS_Ctx::Call& call : ctx->deferred) call.fn(call.user);
}

void KernelRun::LookAtTensors(Execution* execution, RunResult* result) const {
  const auto expect_bounds = [result](bool intact, const std::string& what) {
    if (intact) return;
    result->broken.emplace_back("KERNEL-BOUNDS", absl::StrCat("it wrote outside ", what));
  };
  // Reads once: a copy from a device is the slowest part of an execution.
  const auto read = [&](const PlacedTensor* tensor, const std::string& what) {
    bool intact = true;
    const StatusOr<Tensor> value = tensor == nullptr ? Tensor() : tensor->Read(&intact);
    expect_bounds(intact, what);
    return value.ok() ? *value : Tensor();
  };
  MS_Ctx* const ctx = execution->ctx;
  for (size_t i = 0; i < execution->inputs.size(); ++i) {
    result->variables.push_back(
        read(execution->variables[i].value.get(), absl::StrCat("variable ", i)));
    const PlacedTensor* const input = execution->inputs[i].get();
    if (input == nullptr) continue;
    const Tensor now = read(input, absl::StrCat("input ", i));
    if (execution->given_away[i] || absl::c_linear_search(ctx->taken_inputs, static_cast<int>(i))) {
      continue;
    }
    if (!now.has_value() || !TensorsEqual(now, case_.inputs[i].value)) {
      result->broken.emplace_back("KERNEL-INPUTS", absl::StrCat("it changed input ", i));
    }
    const MS_Tensor* const handle = execution->input_views[i].handle;
    if (handle != nullptr && !TensorsEqual(handle->tensor, case_.inputs[i].value)) {
      result->broken.emplace_back("KERNEL-INPUTS",
                                  absl::StrCat("it changed input ", i, " through its handle"));
    }
  }
  for (size_t i = 0; i < ctx->outputs.size(); ++i) {
    result->outputs.push_back(read(ctx->outputs[i].get(), absl::StrCat("output ", i)));
    if (ctx->outputs[i] == nullptr && result->status.ok() && result->done_calls != 0) {
      result->broken.emplace_back("KERNEL-OUTPUTS", absl::StrCat("output ", i, " is missing"));
    }
  }
  for (size_t i = 0; i < ctx->temporaries.size(); ++i) {
    read(ctx->temporaries[i].get(), absl::StrCat("temporary ", i));
  }
  if (execution->scratch != nullptr) {
    std::string bytes(execution->scratch->bytes(), '\0');
    bool intact = false;
    execution->scratch->Read(bytes.data(), &intact).IgnoreError();
    expect_bounds(intact, "its scratch");
  }
}

void KernelRun::LookAfter(Execution* execution, RunResult* result) const {
  MS_Ctx* const ctx = execution->ctx;
  LookAtTensors(execution, result);
  if (ctx->held_lock_sets != 0) {
    result->broken.emplace_back("KERNEL-LOCKS",
                                absl::StrCat(ctx->held_lock_sets, " lock sets are still held"));
  }
  // A kernel may keep tensors until it is destroyed.
  execution->ReleaseHandles();
  session_.DropReleased();
  for (auto& broken : TakeMisuses()) result->broken.push_back(std::move(broken));
  if (result->done_calls != 1) {
    result->broken.emplace_back(ctx->is_cancelled ? "KERNEL-CANCEL" : "KERNEL-ASYNC",
                                absl::StrCat("done was called ", result->done_calls, " times"));
  }
}

RunResult KernelRun::Run(const RunMode& mode, const std::vector<Tensor>* planned_as) const {
  static std::atomic<uint64_t> steps{0};
  RunResult result;
  Execution execution;
  MS_Ctx* const ctx = execution.ctx;
  ctx->op = op_;
  ctx->signature = &signature_;
  ctx->session = &session_;
  ctx->step_id = ++steps;
  ctx->is_cancelled = mode.is_cancelled;
  ctx->is_traced = mode.is_traced;
  ctx->threads = mode.threads;
  ctx->may_forward = mode.share && planned_as == nullptr;
  ctx->fill = mode.fill;
  ctx->fail_allocation = mode.fail_allocation;
  if (device_ != nullptr) ctx->place = device_->place();
  ctx->philox_key = kPhiloxKey ^ SeedOf(case_.attrs, "seed");
  ctx->philox_counter = {7, SeedOf(case_.attrs, "seed2")};
  session_.MakeCurrent();
  result.status = PlaceInputs(mode, &execution);
  if (result.status.ok()) result.status = PlaceOutputs(mode, planned_as, &execution);
  if (!result.status.ok()) return result;
  if (planned_as != nullptr) {
    result.status = Specialize(mode, *planned_as, &execution);
    result.specialized = result.status.ok();
    if (!result.specialized) return result;
  }
  Call(mode, &execution, &result);
  if (execution.specialization.shape_state != nullptr) {
    kernel_.unspecialize(state_, execution.specialization.shape_state);
  }
  LookAfter(&execution, &result);
  result.has_wrapped = ctx->has_wrapped;
  result.allocations = ctx->allocations;
  result.philox_counter = ctx->philox_counter;
  return result;
}

}  // namespace millstream::plugin_check
