// A plugin whose kernels are slow, asynchronous or fail late, for tests of executors.
// async_kernel_ops.cc defines and describes the ops.
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "framework/plugin/plugin.hpp"
#include "framework/plugin/plugin_entry.hpp"

namespace {

// How the node wants to be waited for, and how it ends.
struct Wait {
  int64_t delay_ms = 0;
  std::string error;

  ms::Status Init(const ms::KernelInfo& info) {
    MS_TRY(info.Attr("delay_ms", &delay_ms));
    return info.Attr("error", &error);
  }

  // Sleeps, then copies input 0 to output 0; CANCELLED as soon as the step is cancelled.
  ms::Status SleepAndCopy(ms::Frame& frame) const {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point end = Clock::now() + std::chrono::milliseconds(delay_ms);
    do {
      MS_TRY(frame.CheckCancelled());
      std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms > 0 ? 1 : 0));
    } while (Clock::now() < end);
    if (!error.empty()) return ms::Status(MS_ABORTED, error);
    const ms::View x = frame.input(0);
    ms::View y;
    MS_TRY(frame.Output(0, x.shape(), &y));
    if (x.bytes() != 0) std::memcpy(y.raw(), x.raw(), x.bytes());
    return ms::Status();
  }
};

struct Blocking : Wait {
  ms::Status Compute(ms::Frame& frame) const { return SleepAndCopy(frame); }
};

struct AllocateAndFail {
  ms::Status Compute(ms::Frame& frame) const {
    ms::View y;
    MS_TRY(frame.Output(0, frame.input(0).shape(), &y));
    std::memset(y.raw(), 0x7f, y.bytes());
    return ms::Status(MS_ABORTED, "fails after it allocated its output");
  }
};

// Completes from a thread of its own. Nothing of the frame is touched after `done`.
void ComputeAsync(void* state, MS_Frame* frame, MS_Done* done) noexcept {
  const Wait* const wait = static_cast<const Blocking*>(state);
  MS_Status* failed = ms::Guarded([&]() -> ms::Status {
    std::thread([wait, frame, done] {
      MS_Status* status = ms::Guarded([&]() -> ms::Status {
        ms::Frame wrapped(frame);
        return wait->SleepAndCopy(wrapped);
      });
      ms::host_tables.ctx->done(done, status);
    }).detach();
    return ms::Status();
  });
  if (failed != nullptr) ms::host_tables.ctx->done(done, failed);
}

ms::Status RegisterAsync(MS_Registrar* registrar) {
  MS_KernelDef def{};
  def.head.size = sizeof(def);
  def.op = ms::ToAbi(std::string_view("TestAsync"));
  def.device_type = ms::ToAbi(std::string_view("CPU"));
  def.flags = MS_KERNEL_ASYNC;
  def.create = &ms::KernelFunctions<Blocking>::Create;
  def.compute_async = &ComputeAsync;
  def.destroy = &ms::KernelFunctions<Blocking>::Destroy;
  return ms::Status::FromAbi(ms::host_tables.registry->kernel_register(registrar, &def));
}

struct Plugin : ms::PluginDefaults {
  static ms::Status RegisterAll(MS_Registrar* registrar) {
    MS_TRY(RegisterAsync(registrar));
    return PluginDefaults::RegisterAll(registrar);
  }
};

const ms::Registered blocking =
    ms::Register<Blocking>("TestBlocking", ms::KernelOptions().Flags(MS_KERNEL_BLOCKING));
const ms::Registered allocate_and_fail = ms::Register<AllocateAndFail>("TestAllocateAndFail");

}  // namespace

MS_PLUGIN_NOTE("async_kernels", "", /*rank=*/0, /*cpu_bits=*/0, MS_PLUGIN_KERNELS_ONLY);
MS_PLUGIN_DEFINE(Plugin);
