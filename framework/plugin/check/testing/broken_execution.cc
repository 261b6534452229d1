// Kernels of the broken plugin that use all host functions except memory, or end later.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <future>
#include <memory>
#include <mutex>
#include <thread>

#include "framework/plugin/check/testing/broken_plugin.h"
#include "framework/plugin/plugin_execution.hpp"
#include "framework/plugin/plugin_resource.hpp"
#include "framework/plugin/plugin_tensor.hpp"

namespace broken {
namespace {

// An object that lives in sessions.
struct Count {
  static constexpr char kTypeName[] = "Broken.Count";
  std::atomic<int> executions{0};
};

// What the host says of the execution agrees with the frame.
ms::Status CheckNode(const ms::Frame& frame) {
  uint32_t begin = 7;
  uint32_t end = 7;
  MS_TRY(ms::InputList(frame, "x", &begin, &end));
  if (begin != 0 || end != 1) return ms::Internal("x is input ", begin, " to ", end);
  MS_TRY(ms::OutputList(frame, "y", &begin, &end));
  if (begin != 0 || end != 1) return ms::Internal("y is output ", begin, " to ", end);
  if (ms::InputList(frame, "nothing", &begin, &end).code() != MS_NOT_FOUND) {
    return ms::Internal("there is an input \"nothing\"");
  }
  const MS_CtxApi& ctx = *ms::host_tables.ctx;
  if (ctx.expected_output_dtype(frame.raw(), 0) != MS_FLOAT32 ||
      ctx.expected_output_dtype(frame.raw(), 1) != 0) {
    return ms::Internal("outputs have other types");
  }
  const uint64_t step = ctx.step_id(frame.raw());
  if (step != frame.raw()->step_id) return ms::Internal("step ", step, " is not the frame's");
  return ms::Status();
}

// The session's object is one, whoever asks.
ms::Status CountExecution(const ms::Frame& frame) {
  ms::ResourceRef<Count> count;
  MS_TRY(ms::LookupOrCreate<Count>(
      frame, "", "executions", [] { return new Count; }, &count));
  ms::ResourceRef<Count> found;
  MS_TRY(ms::Lookup<Count>(frame, "", "executions", &found));
  if (found.get() != count.get()) return ms::Internal("there are two objects of one name");
  auto other = std::make_unique<Count>();
  ms::ResourceRef<Count> created;
  if (ms::Create<Count>(frame, "", "executions", &other, &created).code() != MS_ALREADY_EXISTS) {
    return ms::Internal("an object was created twice");
  }
  ++count->executions;
  if (Has("releases_object_twice")) {
    void* object = nullptr;
    MS_Resource* resource = nullptr;
    MS_TRY(ms::Status::FromAbi(
        ms::host_tables.resource->lookup(frame.raw(), ms::ToAbi(""), ms::ToAbi("executions"),
                                         ms::ToAbi(Count::kTypeName), &object, &resource)));
    ms::host_tables.resource->release(resource);
    ms::host_tables.resource->release(resource);
  }
  if (Has("keeps_object")) new ms::ResourceRef<Count>(std::move(found));
  return ms::Status();
}

// Rounds down, on another thread, what is in `x`.
ms::Status FillFloor(const ms::Frame& frame, const ms::Tensor& x, const ms::Tensor& y) {
  const auto done = std::make_shared<std::promise<void>>();
  ms::Schedule(frame, [x = x.view(), y = y.view(), done] {
    for (int64_t i = 0; i < x.size(); ++i) y.data<float>()[i] = std::floor(x.data<float>()[i]);
    done->set_value();
  });
  done->get_future().wait();
  return ms::Status();
}

ms::Status CopyToOutput(const ms::Tensor& y, ms::Frame* frame) {
  ms::View output;
  MS_TRY(frame->Output(0, y.view().shape(), &output));
  std::copy_n(y.view().data<float>(), y.view().size(), output.data<float>());
  return ms::Status();
}

class Floor {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    std::string_view level;
    return HasSchema() ? info.Option("level", &level) : ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::TraceScope whole(frame, "whole");
    if (Has("open_part")) ms::host_tables.ctx->trace_begin(frame.raw(), ms::ToAbi("open"));
    if (Has("ends_no_part")) ms::host_tables.ctx->trace_end(frame.raw());
    MS_TRY(CheckNode(frame));
    MS_TRY(CheckCancellation(frame));
    MS_TRY(CountExecution(frame));
    ms::Tensor x;
    MS_TRY(ms::Tensor::OfInput(frame, 0, &x));
    ms::Tensor y;
    MS_TRY(ms::Tensor::Create(MS_FLOAT32, x.view().shape(), &y));
    {
      const ms::TraceScope part(frame, "part");
      MS_TRY(FillFloor(frame, x, y));
    }
    const bool is_traced = (frame.raw()->flags & MS_FRAME_TRACING) != 0;
    if (Has("trace_changes") && is_traced && x.view().size() > 0) y.view().data<float>()[0] += 1;
    MS_TRY(Keep(y));
    // Released by the host.
    MS_TRY(ms::DeferRelease(frame, [x] {}));
    MS_TRY(SetOutput(frame, y));
    if (Has("releases_output_twice")) ms::host_tables.tensor->release(y.abi());
    return ms::Status();
  }

 private:
  static ms::Status CheckCancellation(const ms::Frame& frame) {
    bool is_stopped = false;
    ms::CancelCallback callback;
    MS_TRY(callback.Register(frame, [&is_stopped] { is_stopped = true; }));
    ms::Status status = frame.CheckCancelled();
    if (status.ok() == is_stopped) return ms::Internal("the step is stopping for some alone");
    if (Has("cancel_fails") && is_stopped) return ms::Internal("it was cancelled");
    if (Has("keeps_callback")) {
      uint64_t token = 0;
      return ms::Status::FromAbi(ms::host_tables.ctx->cancel_register(
          frame.raw(), [](void*) {}, nullptr, &token));
    }
    return status;
  }

  // The last result, under another shape, until the kernel is destroyed.
  ms::Status Keep(const ms::Tensor& y) const {
    ms::Tensor flat;
    MS_TRY(y.Reshape(ms::Shape{y.view().size()}, &flat));
    ms::Tensor all;
    MS_TRY(flat.Slice(0, y.view().size(), &all));
    const std::lock_guard<std::mutex> lock(mutex_);
    last_ = all;
    return ms::Status();
  }

  static ms::Status SetOutput(ms::Frame& frame, const ms::Tensor& y) {
    const bool is_planned = frame.raw()->outputs[0].mem.base != nullptr;
    const bool fits = !HasOwnMemory() || Has("output_in_host");
    return fits && !is_planned ? y.SetAsOutput(frame, 0) : CopyToOutput(y, &frame);
  }

  mutable std::mutex mutex_;
  mutable ms::Tensor last_;
};

// Gives its input as its output.
struct CheckNumerics {
  ms::Status Compute(ms::Frame& frame) const {
    ms::Tensor x;
    MS_TRY(ms::Tensor::OfInput(frame, 0, &x));
    if (frame.raw()->outputs[0].mem.base != nullptr) return CopyToOutput(x, &frame);
    ms::Tensor flat;
    MS_TRY(x.Reshape(ms::Shape{x.view().size()}, &flat));
    ms::Tensor again;
    MS_TRY(flat.Reshape(x.view().shape(), &again));
    return again.SetAsOutput(frame, 0);
  }
};

// ---- An asynchronous kernel, for which the C++ layer has no class -------------------------------

MS_Status* CreateNothing(void*, const MS_KernelInfo*, void** state) {
  *state = nullptr;
  return nullptr;
}
void DestroyNothing(void*) {}

void Relu(void*, MS_Frame* frame, MS_Done* done) {
  std::thread([frame, done] {
    float* first = nullptr;  // element of the output
    MS_Status* const status = ms::Guarded([frame, &first]() -> ms::Status {
      ms::Frame wrapped(frame);
      const ms::View x = wrapped.input(0);
      ms::View y;
      MS_TRY(wrapped.Output(0, x.shape(), &y));
      for (int64_t i = 0; i < x.size(); ++i) {
        y.data<float>()[i] = std::max(x.data<float>()[i], 0.0f);
      }
      if (y.size() > 0) first = y.data<float>();
      return ms::Status();
    });
    if (Has("never_done")) return;
    if (Has("ignores_cancel") && !ms::Frame(frame).CheckCancelled().ok()) return;
    ms::host_tables.ctx->done(done, status);
    if (Has("done_twice")) ms::host_tables.ctx->done(done, nullptr);
    if (Has("writes_after_done") && first != nullptr) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      *first = std::nextafter(*first, 1e9f);
    }
  }).detach();
}

ms::Status RegisterRelu(MS_Registrar* registrar) {
  const MS_DType type = MS_FLOAT32;
  const MS_TypeConstraint constraint = {
      {sizeof(MS_TypeConstraint), 0, nullptr}, ms::ToAbi("T"), &type, 1};
  const MS_TypeConstraint* const constraints[] = {&constraint};
  MS_KernelDef def{};
  def.head.size = sizeof(def);
  def.op = ms::ToAbi("Relu");
  def.device_type = ms::ToAbi("BROKEN");
  def.flags = MS_KERNEL_ASYNC;
  def.constraints = constraints;
  def.n_constraints = 1;
  def.create = &CreateNothing;
  def.compute_async = &Relu;
  def.destroy = &DestroyNothing;
  return ms::Status::FromAbi(ms::host_tables.registry->kernel_register(registrar, &def));
}

}  // namespace

ms::Status RegisterExecutions(MS_Registrar* registrar) {
  MS_TRY(ms::RegisterResourceType<Count>(registrar));
  MS_TRY(ms::KernelEntry::Of<Floor>("Floor", ms::KernelOptions().Type<float>("T").Device("BROKEN"))
             .RegisterWith(registrar));
  MS_TRY(ms::KernelEntry::Of<CheckNumerics>("CheckNumerics",
                                            ms::KernelOptions().Type<float>("T").Device("BROKEN"))
             .RegisterWith(registrar));
  return RegisterRelu(registrar);
}

}  // namespace broken
