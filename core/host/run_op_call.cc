#include "core/host/run_op_call.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "core/device/find_kernel.h"
#include "core/device/kernel_instance.h"
#include "core/graph/error_details.h"
#include "core/graph/structural_role.h"
#include "core/host/host_ctx.h"
#include "core/host/kernel_host.h"
#include "core/host/thread_team.h"
#include "core/step/float_control.h"
#include "core/step/step_context.h"
#include "framework/plugin/host_status.h"
#include "framework/plugin/host_tensor.h"
#include "framework/plugin/kernel_info.h"
#include "framework/plugin/running_code.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

std::string DescribeTensor(const Tensor& tensor) {
  return absl::StrCat(DataTypeName(tensor.dtype()), tensor.shape().ToString());
}

Status TooLarge(int64_t max_bytes) {
  return errors::OutOfRange("the outputs take more than ", max_bytes, " bytes");
}

// One call, in the order of the methods of Run. Its kernel, and what that has prepared, go with it.
class OpCallRun final : public KernelHost {
 public:
  OpCallRun(const OpCall& call, absl::Span<const Tensor> inputs, const OpCallSetting& setting)
      : call_(call),
        inputs_(inputs),
        setting_(setting),
        step_context_(setting.run, setting.settings) {
    step = &step_context_;
  }
  ~OpCallRun() override {
    if (kernel_ != nullptr) kernel_->Unspecialize(prepared_.state);
  }
  StatusOr<std::vector<Tensor>> Run();

  // ---- KernelHost ----
  bool OutputIsInHost(const MS_Ctx&, uint32_t) const override { return true; }
  bool HasPlannedOutput(const MS_Ctx&, uint32_t k) const override { return outputs_[k].is_planned; }
  Tensor PlannedOutput(const MS_Ctx&, uint32_t k) const override { return outputs_[k].value; }
  const Shape* KnownOutputShape(const MS_Ctx&, uint32_t k) const override {
    return outputs_[k].shape.has_value() ? &*outputs_[k].shape : nullptr;
  }
  void SetOutput(MS_Frame* frame, uint32_t k, Tensor tensor) override {
    outputs_[k].value = std::move(tensor);
    frame->outputs[k] = MakeView(outputs_[k].value, nullptr);
  }
  StatusOr<Tensor> InputTensor(const MS_Ctx&, uint32_t i) const override { return inputs_[i]; }
  const Tensor* TakeableInput(const MS_Ctx&, uint32_t) const override { return nullptr; }
  StatusOr<MS_TensorView> KeepTemp(const MS_Ctx&, Tensor tensor) override;

 private:
  struct OutputSlot {
    std::optional<Shape> shape;  // nothing when inference does not know it in full
    bool is_planned = false;     // `value` has memory before the kernel runs
    Tensor value;
  };

  Status Prepare();
  Status CheckInputs() const;
  Status FindShapes();
  Status AllocateOutputs();
  Status Specialize();
  Status Compute();
  StatusOr<std::vector<Tensor>> TakeOutputs();
  Status Named(const Status& status) const;
  static void DescribeCall(const void* run, CrashLine* line);

  const OpCall& call_;
  const absl::Span<const Tensor> inputs_;
  const OpCallSetting& setting_;
  StepContext step_context_;
  std::unique_ptr<KernelInstance> kernel_;
  KernelInstance::ShapeState prepared_;
  Tensor scratch_;
  std::vector<OutputSlot> outputs_;
  std::vector<Tensor> temps_;  // freed before the kernel: what is deferred is called then
};

Status OpCallRun::Named(const Status& status) const {
  if (!setting_.names_call) return status;
  std::vector<std::string> inputs;
  for (const Tensor& input : inputs_) inputs.push_back(DescribeTensor(input));
  Status described = status;
  if (!inputs.empty()) described = WithErrorDetail(described, "inputs", JoinInputs(inputs));
  described = WithErrorDetail(described, "device", setting_.device_name);
  return WithErrorNode(described, call_.Describe());
}

Status OpCallRun::CheckInputs() const {
  if (absl::c_linear_search(call_.signature->output_types, DataType::kResource)) {
    return errors::Unimplemented("resource handles belong to a session; the call has none");
  }
  DataTypeList types;
  for (const Tensor& input : inputs_) {
    if (!input.has_value() || input.is_on_device()) {
      return errors::InvalidArgument("input '", call_.InputName(static_cast<int>(types.size())),
                                     "' expected a tensor in host memory, got ",
                                     input.has_value() ? "one on a device" : "none");
    }
    types.push_back(input.dtype());
  }
  return CheckInputTypes(call_, types, [this](int i) { return DescribeTensor(inputs_[i]); });
}

// By the values of the inputs.
Status OpCallRun::FindShapes() {
  std::vector<InputFacts> facts(inputs_.size());
  for (size_t i = 0; i < facts.size(); ++i) {
    facts[i] = {inputs_[i].shape(), inputs_[i].dtype(), &inputs_[i], nullptr, nullptr};
  }
  ShapeContext context(call_, std::move(facts));
  MS_ASSIGN_OR_RETURN(const std::vector<OutputFacts> found, InferShapes(&context));
  outputs_.resize(found.size());
  for (size_t k = 0; k < found.size(); ++k) {
    if (!found[k].shape.IsFullyKnown()) continue;
    outputs_[k].shape = found[k].shape.ToShape();
    MS_RETURN_IF_ERROR(ValidateShape(*outputs_[k].shape));
  }
  return absl::OkStatus();
}

// A kernel that only renames gives the memory of its input.
Status OpCallRun::AllocateOutputs() {
  int64_t left = setting_.max_bytes;
  for (size_t k = 0; k < outputs_.size(); ++k) {
    if (!outputs_[k].shape.has_value()) continue;
    const auto size = static_cast<int64_t>(DataTypeSize(call_.signature->output_types[k]));
    const int64_t count = outputs_[k].shape->num_elements();
    if (count > left / std::max<int64_t>(size, 1)) return TooLarge(setting_.max_bytes);
    left -= count * size;
  }
  if (RoleOf(call_.op->name) != StructuralRole::kKernel) return absl::OkStatus();
  for (size_t k = 0; k < outputs_.size(); ++k) {
    OutputSlot& output = outputs_[k];
    const DataType dtype = call_.signature->output_types[k];
    output.is_planned = output.shape.has_value() && IsPlainData(dtype);
    if (!output.is_planned) continue;
    MS_ASSIGN_OR_RETURN(output.value, Tensor::Create(dtype, *output.shape));
  }
  return absl::OkStatus();
}

// Integers say what is to be done; a kernel sees them, and no weights or handles, as in a plan.
Status OpCallRun::Specialize() {
  const bool shapes_known =
      absl::c_all_of(outputs_, [](const OutputSlot& output) { return output.shape.has_value(); });
  if (kernel_->registration().specialize == nullptr || !shapes_known) return absl::OkStatus();
  std::vector<MS_Dims> inputs;
  std::vector<MS_Dims> outputs;
  std::vector<MS_TensorView> constants;
  for (const Tensor& input : inputs_) {
    const bool is_hidden = IsFloating(input.dtype()) || IsComplex(input.dtype()) ||
                           input.dtype() == DataType::kResource;
    inputs.push_back(DimsToAbi(input.shape()));
    constants.push_back(is_hidden ? NullView() : MakeView(input, nullptr));
  }
  for (const OutputSlot& output : outputs_) outputs.push_back(DimsToAbi(*output.shape));
  MS_ASSIGN_OR_RETURN(prepared_, kernel_->Specialize(inputs, constants, outputs,
                                                     setting_.settings.intra_op_threads));
  if (prepared_.scratch_bytes == 0) return absl::OkStatus();
  MS_ASSIGN_OR_RETURN(scratch_, Tensor::Create(DataType::kUInt8, Shape({prepared_.scratch_bytes})));
  return absl::OkStatus();
}

Status OpCallRun::Prepare() {
  MS_RETURN_IF_ERROR(CheckInputs());
  std::vector<MS_Dims> shapes;
  for (const Tensor& input : inputs_) shapes.push_back(DimsToAbi(input.shape()));
  MS_ASSIGN_OR_RETURN(const KernelRegistration* const registration,
                      FindKernel(call_, std::move(shapes), setting_.device_type));
  MS_ASSIGN_OR_RETURN(
      kernel_, KernelInstance::Create(call_, registration, setting_.device_name, &setting_.device));
  if (kernel_->registration().compute == nullptr) {
    return errors::Unimplemented("the kernel ends later than it returns, which needs a step");
  }
  MS_RETURN_IF_ERROR(FindShapes());
  MS_RETURN_IF_ERROR(AllocateOutputs());
  return Specialize();
}

Status OpCallRun::Compute() {
  if (step->IsStopping()) return step->CheckInterruption();
  std::vector<MS_TensorView> inputs;
  std::vector<MS_TensorView> outputs;
  for (const Tensor& input : inputs_) {
    inputs.push_back(MakeView(input, nullptr));
    inputs.back().flags |= MS_VIEW_CONST;
  }
  for (const OutputSlot& output : outputs_) {
    outputs.push_back(output.is_planned ? MakeView(output.value, nullptr) : NullView());
  }
  const std::vector<uint64_t> used(outputs.size() / 64 + 1, ~uint64_t{0});
  MS_Ctx ctx;
  ctx.host = this;
  ctx.kernel = kernel_.get();
  MS_Frame frame{};
  frame.head.size = sizeof(frame);
  frame.ctx = &ctx;
  frame.inputs = inputs.data();
  frame.outputs = outputs.data();
  frame.outputs_used = used.data();
  frame.shape_state = prepared_.state;
  frame.scratch = scratch_.raw();
  if (scratch_.has_value()) frame.scratch_mem = PlaceOf(scratch_);
  frame.n_in = static_cast<uint32_t>(inputs.size());
  frame.n_out = static_cast<uint32_t>(outputs.size());
  FillFrame(kernel_->device(), &frame);
  frame.step_id = step->step_id();
  frame.flags = step->deterministic ? MS_FRAME_DETERMINISTIC : 0;
  step->holds_permit = step->max_threads > 1 && step->needs_permit && ParallelPermit::TryAcquire();
  MS_Status* failed = nullptr;
  const uint32_t control = FloatControl();
  {
    const RunningScope running(&DescribeCall, this);
    failed = kernel_->registration().compute(kernel_->state(), &frame);
  }
  if (FloatControl() != control) {
    CrashLine line;
    DescribeCall(this, &line);
    RestoreFloatControl(control, line.text());
  }
  if (step->holds_permit) ParallelPermit::Release();
  const bool left_locked = ReleaseLeftLocks(&ctx);
  if (failed == nullptr) return left_locked ? Named(LeftLockedError()) : absl::OkStatus();
  step->Fail(Named(TakeAbiStatus(failed)));  // unless the kernel found that it is to stop
  return step->status();
}

// Memory that the kernel borrowed is not the caller's.
StatusOr<std::vector<Tensor>> OpCallRun::TakeOutputs() {
  std::vector<Tensor> values;
  int64_t bytes = 0;
  for (OutputSlot& output : outputs_) {
    Tensor& value = output.value;
    if (!value.has_value()) {
      return errors::Internal("the kernel did not set output ", values.size());
    }
    if (value.buffer() && !value.buffer()->writable()) {
      MS_ASSIGN_OR_RETURN(value, value.DeepCopy());
    }
    bytes += static_cast<int64_t>(value.bytes());
    values.push_back(std::move(value));
  }
  if (bytes > setting_.max_bytes) return TooLarge(setting_.max_bytes);
  return values;
}

StatusOr<MS_TensorView> OpCallRun::KeepTemp(const MS_Ctx&, Tensor tensor) {
  if (temps_.capacity() == 0) temps_.reserve(kMaxTemps);  // views borrow the Tensor objects
  if (temps_.size() == kMaxTemps) {
    return errors::ResourceExhausted("a kernel asked for more than ", kMaxTemps,
                                     " pieces of temporary memory");
  }
  temps_.push_back(std::move(tensor));
  return MakeView(temps_.back(), nullptr);
}

// In a signal handler.
void OpCallRun::DescribeCall(const void* run, CrashLine* line) {
  const auto& running = *static_cast<const OpCallRun*>(run);
  DescribeRunning(running.call_, running.kernel_.get(), line);
}

StatusOr<std::vector<Tensor>> OpCallRun::Run() {
  const Status prepared = Prepare();
  if (!prepared.ok()) return Named(prepared);
  MS_RETURN_IF_ERROR(Compute());
  StatusOr<std::vector<Tensor>> values = TakeOutputs();
  if (!values.ok()) return Named(values.status());
  return values;
}

}  // namespace

StatusOr<std::vector<Tensor>> RunOpCall(const OpCall& call, absl::Span<const Tensor> inputs,
                                        const OpCallSetting& setting) {
  return OpCallRun(call, inputs, setting).Run();
}

}  // namespace millstream
