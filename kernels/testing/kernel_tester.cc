#include "kernels/testing/kernel_tester.h"

#include <algorithm>

namespace millstream::kernels::testing {
namespace {

// The kernel that a host would choose for the node: all constraints hold, highest priority.
ms::Status FindKernel(const MS_KernelInfo& info, const RegisteredKernel** out) {
  const auto label = info.attrs.find("_kernel");
  const std::string wanted = label == info.attrs.end() ? "" : label->second.text;
  const RegisteredKernel* best = nullptr;
  for (const RegisteredKernel& kernel : RegisteredKernels()) {
    if (kernel.op != info.op || kernel.label != wanted) continue;
    bool fits = true;
    for (const auto& [name, dtypes] : kernel.constraints) {
      const auto attr = info.attrs.find(name);
      fits = fits && attr != info.attrs.end() &&
             std::find(dtypes.begin(), dtypes.end(), attr->second.dtype) != dtypes.end();
    }
    if (!fits) continue;
    if (best != nullptr && best->def.priority == kernel.def.priority) {
      return ms::Internal("two kernels of ", info.op, " fit the node");
    }
    if (best == nullptr || kernel.def.priority > best->def.priority) best = &kernel;
  }
  if (best == nullptr) {
    return ms::Status(MS_NOT_FOUND, ms::StrCat("no kernel of ", info.op, " fits the node"));
  }
  *out = best;
  return ms::Status();
}

ms::Status Copy(const ms::Status& status) {
  return ms::Status(status.code(), std::string(status.message()));
}

bool WithinTolerance(double a, double b, double relative, double absolute) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return true;
  return std::abs(a - b) <= absolute + relative * std::abs(b);
}

// The element as a number when it is one that tolerances apply to.
bool FloatAt(const TensorValue& tensor, int64_t i, double* out) {
  if (tensor.dtype == MS_FLOAT32) {
    *out = reinterpret_cast<const float*>(tensor.buffer->data())[i];
    return true;
  }
  if (tensor.dtype == MS_FLOAT64) {
    *out = reinterpret_cast<const double*>(tensor.buffer->data())[i];
    return true;
  }
  return false;
}

}  // namespace

KernelTester::KernelTester(std::string op) {
  BindFakeHost();
  info_.op = std::move(op);
  info_.node_name = "n";
}

KernelTester::~KernelTester() {
  if (state_ != nullptr) kernel_->def.destroy(state_);
  if (device_state_ != nullptr) kernel_->on_device->destroy(device_state_);
}

AttrValue& KernelTester::NewAttr(const std::string& name, MS_AttrKind kind) {
  AttrValue& attr = info_.attrs[name];
  attr = AttrValue();
  attr.kind = kind;
  return attr;
}

KernelTester& KernelTester::Attr(const std::string& name, std::vector<int64_t> values) {
  NewAttr(name, MS_ATTR_LIST | MS_ATTR_I64).i64_list = std::move(values);
  return *this;
}
KernelTester& KernelTester::Attr(const std::string& name, std::vector<float> values) {
  NewAttr(name, MS_ATTR_LIST | MS_ATTR_F32).f32_list = std::move(values);
  return *this;
}
KernelTester& KernelTester::Attr(const std::string& name, std::vector<MS_DType> values) {
  NewAttr(name, MS_ATTR_LIST | MS_ATTR_DTYPE).dtype_list = std::move(values);
  return *this;
}
KernelTester& KernelTester::Attr(const std::string& name, std::vector<std::string> values) {
  AttrValue& attr = NewAttr(name, MS_ATTR_LIST | MS_ATTR_STR);
  attr.text_list = std::move(values);
  for (const std::string& text : attr.text_list) attr.text_views.push_back(ms::ToAbi(text));
  return *this;
}
KernelTester& KernelTester::ShapeAttr(const std::string& name, std::vector<int64_t> dims) {
  NewAttr(name, MS_ATTR_SHAPE).i64_list = std::move(dims);
  return *this;
}

KernelTester& KernelTester::AddInput(TensorValue value, bool is_variable, bool is_const) {
  info_.input_dtypes.push_back(is_variable ? MS_RESOURCE : value.dtype);
  inputs_.push_back({std::move(value), is_variable, is_const});
  return *this;
}
KernelTester& KernelTester::UnassignedVariable(MS_DType dtype) {
  TensorValue nothing;
  nothing.dtype = dtype;
  return AddInput(std::move(nothing), true, false);
}
KernelTester& KernelTester::InputRange(const std::string& name, uint32_t begin, uint32_t end) {
  info_.input_ranges[name] = {begin, end};
  return *this;
}
KernelTester& KernelTester::OutputRange(const std::string& name, uint32_t begin, uint32_t end) {
  info_.output_ranges[name] = {begin, end};
  return *this;
}
KernelTester& KernelTester::Outputs(std::vector<MS_DType> dtypes) {
  info_.output_dtypes = std::move(dtypes);
  outputs_declared_ = true;
  return *this;
}
KernelTester& KernelTester::Unused(uint32_t output) {
  if (unused_.size() <= output) unused_.resize(output + 1, false);
  unused_[output] = true;
  return *this;
}
KernelTester& KernelTester::Threads(uint32_t threads) {
  threads_ = threads;
  return *this;
}
KernelTester& KernelTester::Tolerance(double relative, double absolute) {
  relative_ = relative;
  absolute_ = absolute;
  return *this;
}
KernelTester& KernelTester::NaNsAreAlike() {
  nans_are_alike_ = true;
  return *this;
}
KernelTester& KernelTester::Philox(uint64_t key, uint64_t counter_low, uint64_t counter_high) {
  philox_set_ = true;
  philox_key_ = key;
  philox_counter_ = {counter_low, counter_high};
  return *this;
}
KernelTester& KernelTester::DynamicOnly() {
  dynamic_only_ = true;
  return *this;
}

const std::vector<int64_t>& KernelTester::OutputShape(uint32_t index) const {
  return last_.outputs.at(index).dims;
}

bool KernelTester::Used(uint32_t output) const {
  return output >= unused_.size() || !unused_[output];
}

ms::Status KernelTester::CreateKernel() {
  if (!outputs_declared_) {
    const auto attr = info_.attrs.find("T");
    if (attr == info_.attrs.end() && info_.input_dtypes.empty()) {
      return ms::Internal("the tester cannot tell the outputs: call Outputs");
    }
    info_.output_dtypes = {attr != info_.attrs.end() ? attr->second.dtype : info_.input_dtypes[0]};
    outputs_declared_ = true;
  }
  if (!philox_set_) {
    philox_set_ = true;
    const auto seed = info_.attrs.find("seed");
    const auto seed2 = info_.attrs.find("seed2");
    if (seed != info_.attrs.end()) philox_key_ = static_cast<uint64_t>(seed->second.i64);
    if (seed2 != info_.attrs.end()) philox_counter_[1] = static_cast<uint64_t>(seed2->second.i64);
  }
  MS_TRY(FindKernel(info_, &kernel_));
  MS_TRY(ms::Status::FromAbi(kernel_->def.create(kernel_->def.user, &info_, &state_)));
  if (!HasDeviceKernel()) return ms::Status();
  in_host_ = GetTestDevice()->InputsInHost(info_, *kernel_->on_device);
  return ms::Status::FromAbi(
      kernel_->on_device->create(kernel_->on_device->user, &info_, &device_state_));
}

// Strings are the host's alone.
bool KernelTester::HasDeviceKernel() const {
  const auto is_string = [](MS_DType dtype) { return dtype == MS_STRING; };
  const auto has_string = [is_string](const std::vector<MS_DType>& dtypes) {
    return std::any_of(dtypes.begin(), dtypes.end(), is_string);
  };
  return kernel_->on_device != nullptr && !has_string(info_.input_dtypes) &&
         !has_string(info_.output_dtypes);
}

ms::Status KernelTester::Run() {
  if (state_ == nullptr) MS_TRY(CreateKernel());
  const Mode dynamic_plain = {"dynamic, one thread", false, false, 1, 0xA5, 0, false};
  const Mode others[] = {
      {"dynamic, forwarding, several threads", false, true, threads_, 0x5A, 16, false},
      {"planned", true, false, threads_, 0x3C, 0, false},
      {"planned in place", true, true, threads_, 0x7E, 0, false},
      {"on the device, dynamic", false, true, threads_, 0x5B, 16, true},
      {"on the device, planned", true, false, threads_, 0x3D, 0, true},
      {"on the device, planned in place", true, true, threads_, 0x7F, 0, true},
  };
  Execution first;
  const ms::Status failing = Execute(dynamic_plain, nullptr, &first);
  if (!failing.ok()) return FailOnDevice(failing);
  for (const Mode& mode : others) {
    if (mode.planned && dynamic_only_) continue;
    if (mode.on_device && device_state_ == nullptr) continue;
    Execution again;
    const ms::Status status = Execute(mode, &first, &again);
    if (!status.ok()) {
      return ms::Status(status.code(), ms::StrCat(mode.name, ": ", status.message()));
    }
    if (mode.planned && mode.share && !again.shared) continue;
    MS_TRY(Compare(mode, first, again));
  }
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].is_variable) inputs_[i].value = first.variables[i];
  }
  reserved_blocks_ = first.philox_counter[0] - philox_counter_[0];
  philox_counter_ = first.philox_counter;
  last_ = std::move(first);
  return ms::Status();
}

// `expected`, when the device fails like that, too.
ms::Status KernelTester::FailOnDevice(const ms::Status& expected) {
  const Mode mode = {"on the device, failing", false, false, 1, 0xB5, 0, true};
  Execution result;
  if (device_state_ == nullptr) return Copy(expected);
  const ms::Status status = Execute(mode, nullptr, &result);
  const std::string_view message = status.message();
  const bool is_same =
      status.code() == expected.code() && message.size() >= expected.message().size() &&
      message.substr(message.size() - expected.message().size()) == expected.message();
  if (is_same) return Copy(expected);
  return ms::Internal("on the device it fails with code ", status.code(), ": ", message,
                      "; on the CPU: ", expected.message());
}

// Copies of the inputs (and variables), so that every execution starts from the same values.
std::vector<MS_TensorView> KernelTester::MakeInputs(const Mode& mode, MS_Ctx* ctx,
                                                    Execution* result) const {
  result->variables.resize(inputs_.size());
  ctx->inputs.resize(inputs_.size());
  std::vector<MS_TensorView> views;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    MS_Ctx::Input& input = ctx->inputs[i];
    uint64_t flags = MS_VIEW_HOST;
    if (inputs_[i].is_variable) {
      result->variables[i] = inputs_[i].value.Copy();
      input.variable = &result->variables[i];
      const BuffersIn heap(nullptr);
      input.value = TensorValue::Make(MS_RESOURCE, {});
      flags = MS_VIEW_RESOURCE;
    } else {
      const bool in_host = !mode.on_device || (i < in_host_.size() && in_host_[i]);
      const BuffersIn buffers(in_host ? nullptr : GetTestDevice()->memory());
      input.value = inputs_[i].value.Copy(mode.input_offset);
      if (inputs_[i].is_const) flags |= MS_VIEW_CONST;
    }
    views.push_back(input.value.View(flags));
  }
  return views;
}

// Presets the outputs with memory of the shapes that an earlier execution found.
std::vector<MS_TensorView> KernelTester::MakeOutputs(const Mode& mode, const Execution* planned_as,
                                                     MS_Ctx* ctx,
                                                     std::vector<bool>* input_shared) const {
  ctx->output_dtypes = info_.output_dtypes;
  ctx->outputs.resize(info_.output_dtypes.size());
  std::vector<MS_TensorView> views(ctx->outputs.size());
  for (MS_TensorView& view : views) view.rank = MS_UNKNOWN_RANK;
  if (!mode.planned) return views;
  for (size_t i = 0; i < views.size(); ++i) {
    if (planned_as->outputs[i].buffer == nullptr) continue;
    ctx->outputs[i] =
        TensorValue::Make(info_.output_dtypes[i], planned_as->outputs[i].dims, mode.fill);
  }
  if (mode.share) ShareBuffers(ctx, input_shared);
  for (size_t i = 0; i < views.size(); ++i) {
    if (ctx->outputs[i].buffer != nullptr) views[i] = ctx->outputs[i].View(MS_VIEW_HOST);
  }
  return views;
}

ms::Status KernelTester::Execute(const Mode& mode, const Execution* planned_as, Execution* result) {
  const BuffersIn buffers(mode.on_device ? GetTestDevice()->memory() : nullptr);
  MS_Ctx ctx;
  ctx.threads = mode.threads;
  ctx.may_forward = mode.share && !mode.planned;
  ctx.fill = mode.fill;
  ctx.philox_key = philox_key_;
  ctx.philox_counter = philox_counter_;
  // What an output may overwrite is not expected to stay the same.
  std::vector<bool> input_shared(inputs_.size(), ctx.may_forward);
  std::vector<MS_TensorView> inputs = MakeInputs(mode, &ctx, result);
  std::vector<MS_TensorView> outputs = MakeOutputs(mode, planned_as, &ctx, &input_shared);
  result->shared = std::find(input_shared.begin(), input_shared.end(), true) != input_shared.end();
  if (mode.planned && mode.share && !result->shared) return ms::Status();

  MS_Specialization specialization{};
  if (mode.planned) MS_TRY(Specialize(mode, *planned_as, &specialization));
  ms::Status status = Call(mode, &ctx, specialization, &inputs, &outputs);
  if (specialization.shape_state != nullptr) {
    const MS_KernelDef& kernel = mode.on_device ? *kernel_->on_device : kernel_->def;
    kernel.unspecialize(mode.on_device ? device_state_ : state_, specialization.shape_state);
  }
  MS_TRY(CheckAfter(ctx, input_shared));
  if (!status.ok()) return status;
  for (uint32_t i = 0; i < ctx.outputs.size(); ++i) {
    if (Used(i) && ctx.outputs[i].buffer == nullptr) {
      return ms::Internal("the kernel succeeded without making output ", i);
    }
  }
  result->outputs = std::move(ctx.outputs);
  result->philox_counter = ctx.philox_counter;
  return ms::Status();
}

ms::Status KernelTester::Specialize(const Mode& mode, const Execution& planned_as,
                                    MS_Specialization* specialization) {
  specialization->head.size = sizeof(*specialization);
  if (kernel_->def.specialize == nullptr) return ms::Status();
  const BuffersIn heap(nullptr);
  std::vector<MS_Dims> input_dims;
  std::vector<MS_TensorView> constants;
  for (const InputSpec& input : inputs_) {
    static const std::vector<int64_t> kScalar;
    const std::vector<int64_t>& dims = input.is_variable ? kScalar : input.value.dims;
    input_dims.push_back({dims.data(), static_cast<uint32_t>(dims.size()), 0});
    constants.push_back(input.is_const ? input.value.View(MS_VIEW_HOST | MS_VIEW_CONST)
                                       : MS_TensorView{});
  }
  std::vector<MS_Dims> output_dims;
  for (const TensorValue& output : planned_as.outputs) {
    output_dims.push_back({output.dims.data(), static_cast<uint32_t>(output.dims.size()), 0});
  }
  specialization->inputs = input_dims.data();
  specialization->constants = constants.data();
  specialization->outputs = output_dims.data();
  specialization->n_in = static_cast<uint32_t>(input_dims.size());
  specialization->n_out = static_cast<uint32_t>(output_dims.size());
  specialization->num_threads = threads_;
  if (mode.on_device) {
    return ms::Status::FromAbi(kernel_->on_device->specialize(device_state_, specialization));
  }
  return ms::Status::FromAbi(kernel_->def.specialize(state_, specialization));
}

ms::Status KernelTester::Call(const Mode& mode, MS_Ctx* ctx,
                              const MS_Specialization& specialization,
                              std::vector<MS_TensorView>* inputs,
                              std::vector<MS_TensorView>* outputs) {
  Buffer scratch(specialization.scratch_bytes, mode.fill);
  std::vector<uint64_t> used(outputs->size() / 64 + 1, 0);
  for (uint32_t i = 0; i < outputs->size(); ++i) {
    if (Used(i)) used[i / 64] |= uint64_t{1} << (i % 64);
  }
  MS_Frame frame{};
  frame.head.size = sizeof(frame);
  frame.ctx = ctx;
  frame.inputs = inputs->data();
  frame.outputs = outputs->data();
  frame.outputs_used = used.data();
  frame.shape_state = specialization.shape_state;
  if (specialization.scratch_bytes != 0) {
    frame.scratch_mem = scratch.Ref();
    frame.scratch = frame.scratch_mem.base;
  }
  frame.n_in = static_cast<uint32_t>(inputs->size());
  frame.n_out = static_cast<uint32_t>(outputs->size());
  ms::Status status = mode.on_device ? CallOnDevice(ctx, &frame, inputs)
                                     : ms::Status::FromAbi(kernel_->def.compute(state_, &frame));
  if (!scratch.GuardsIntact()) return ms::Internal("the kernel wrote outside its scratch");
  if (ctx->held_lock_sets != 0) return ms::Internal("the kernel kept variables locked");
  return status;
}

ms::Status KernelTester::CallOnDevice(MS_Ctx* ctx, MS_Frame* frame,
                                      std::vector<MS_TensorView>* inputs) {
  GetTestDevice()->Prepare(frame);
  ms::Status status = ms::Status::FromAbi(kernel_->on_device->compute(device_state_, frame));
  // All that the host may change as soon as compute returns.
  std::memset(frame, 0xEE, sizeof(*frame));
  std::memset(inputs->data(), 0xEE, inputs->size() * sizeof((*inputs)[0]));
  const auto fill_host_arguments = [&](auto fill) {
    for (size_t i = 0; i < in_host_.size(); ++i) {
      Buffer& buffer = *ctx->inputs[i].value.buffer;
      if (in_host_[i] && ctx->inputs[i].variable == nullptr) fill(i, buffer.data(), buffer.bytes());
    }
  };
  fill_host_arguments([](size_t, char* to, uint64_t bytes) { std::memset(to, 0xEE, bytes); });
  ms::Status finished = GetTestDevice()->Finish();
  fill_host_arguments([this](size_t i, char* to, uint64_t bytes) {
    std::memcpy(to, inputs_[i].value.buffer->data(), bytes);
  });
  return status.ok() ? std::move(finished) : std::move(status);
}

// Lays outputs over inputs as the kernel's in-place pairs allow.
void KernelTester::ShareBuffers(MS_Ctx* ctx, std::vector<bool>* input_shared) const {
  std::vector<bool> output_shared(ctx->outputs.size(), false);
  for (const MS_InPlacePair& pair : kernel_->in_place) {
    if (pair.output >= ctx->outputs.size() || pair.input >= ctx->inputs.size()) continue;
    TensorValue& output = ctx->outputs[pair.output];
    const MS_Ctx::Input& input = ctx->inputs[pair.input];
    if (output.buffer == nullptr || input.variable != nullptr || output_shared[pair.output] ||
        (*input_shared)[pair.input] || input.value.buffer->bytes() != output.buffer->bytes()) {
      continue;
    }
    output.buffer = input.value.buffer;
    output_shared[pair.output] = true;
    (*input_shared)[pair.input] = true;
  }
}

ms::Status KernelTester::CheckAfter(const MS_Ctx& ctx,
                                    const std::vector<bool>& input_shared) const {
  for (size_t i = 0; i < ctx.inputs.size(); ++i) {
    const Buffer& buffer = *ctx.inputs[i].value.buffer;
    if (!buffer.GuardsIntact()) return ms::Internal("the kernel wrote outside input ", i);
    if (input_shared[i] || ctx.inputs[i].variable != nullptr) continue;
    const Buffer& original = *inputs_[i].value.buffer;
    if (std::memcmp(buffer.data(), original.data(), buffer.bytes()) != 0) {
      return ms::Internal("the kernel changed input ", i);
    }
  }
  for (size_t i = 0; i < ctx.outputs.size(); ++i) {
    if (ctx.outputs[i].buffer != nullptr && !ctx.outputs[i].buffer->GuardsIntact()) {
      return ms::Internal("the kernel wrote outside output ", i);
    }
  }
  for (size_t i = 0; i < ctx.temps.size(); ++i) {
    if (!ctx.temps[i].buffer->GuardsIntact()) {
      return ms::Internal("the kernel wrote outside temporary ", i);
    }
  }
  for (size_t i = 0; i < ctx.inputs.size(); ++i) {
    const TensorValue* variable = ctx.inputs[i].variable;
    if (variable != nullptr && variable->buffer != nullptr && !variable->buffer->GuardsIntact()) {
      return ms::Internal("the kernel wrote outside the variable of input ", i);
    }
  }
  return ms::Status();
}

ms::Status KernelTester::Compare(const Mode& mode, const Execution& expected,
                                 const Execution& actual) const {
  for (uint32_t i = 0; i < expected.outputs.size(); ++i) {
    if (!Used(i)) continue;
    MS_TRY(CompareTensors(ms::StrCat(mode.name, ": output ", i), expected.outputs[i],
                          actual.outputs[i]));
  }
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (!inputs_[i].is_variable || expected.variables[i].buffer == nullptr) continue;
    MS_TRY(CompareTensors(ms::StrCat(mode.name, ": variable of input ", i), expected.variables[i],
                          actual.variables[i]));
  }
  if (expected.philox_counter != actual.philox_counter) {
    return ms::Internal(mode.name, ": another number of random blocks was reserved");
  }
  return ms::Status();
}

ms::Status KernelTester::CompareTensors(const std::string& what, const TensorValue& expected,
                                        const TensorValue& actual) const {
  if (expected.dims != actual.dims) {
    return ms::Internal(what, ": another shape than the first execution gave");
  }
  const uint64_t width = CellBytes(expected.dtype);
  for (int64_t i = 0; i < expected.size(); ++i) {
    const uint64_t at = static_cast<uint64_t>(i) * width;
    if (std::memcmp(expected.buffer->data() + at, actual.buffer->data() + at, width) == 0) continue;
    double a = 0;
    double b = 0;
    const bool numbers = FloatAt(actual, i, &a) && FloatAt(expected, i, &b);
    const bool tolerant = relative_ > 0 || absolute_ > 0;
    if (numbers && nans_are_alike_ && std::isnan(a) && std::isnan(b)) continue;
    if (numbers && tolerant && WithinTolerance(a, b, relative_, absolute_)) continue;
    return ms::Internal(what, ": element ", i, " differs from the first execution",
                        numbers ? ms::StrCat(": ", a, " against ", b) : std::string());
  }
  return ms::Status();
}

::testing::AssertionResult IsOk(const ms::Status& status) {
  if (status.ok()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "code " << status.code() << ": " << status.message();
}

}  // namespace millstream::kernels::testing
