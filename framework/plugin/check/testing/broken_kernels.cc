// The kernels of the broken plugin: one op for each kind of memory access.
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <thread>

#include "framework/plugin/check/testing/broken_plugin.h"
#include "framework/plugin/plugin_resource.hpp"

namespace broken {
namespace {

// One byte beside `bytes` of memory that the host gave, where the fault is one of that memory.
void WriteBeside(const char* memory, const void* begin, uint64_t bytes) {
  auto* const first = const_cast<unsigned char*>(static_cast<const unsigned char*>(begin));
  const std::string name(memory);
  if (Has(("byte_before_" + name).c_str())) first[-1] ^= 0xff;
  if (Has(("byte_after_" + name).c_str())) first[bytes] ^= 0xff;
}

// Parts of a frame, by name, and where one begins.
struct FramePart {
  const char* name;
  size_t offset;
};
#define FRAME_PART(name) \
  { #name, offsetof(MS_Frame, name) }
constexpr FramePart kFrameParts[] = {
    FRAME_PART(head),           FRAME_PART(ctx),           FRAME_PART(inputs),
    FRAME_PART(outputs),        FRAME_PART(outputs_used),  FRAME_PART(shape_state),
    FRAME_PART(scratch),        FRAME_PART(n_in),          FRAME_PART(n_out),
    FRAME_PART(device_state),   FRAME_PART(stream_native), FRAME_PART(stream),
    FRAME_PART(correlation_id), FRAME_PART(flags),         FRAME_PART(step_id),
    FRAME_PART(device_ordinal), FRAME_PART(pad),           FRAME_PART(scratch_mem)};
#undef FRAME_PART

// One bit of the part of the frame that the fault names.
void Scribble(MS_Frame* frame) {
  for (const FramePart& part : kFrameParts) {
    if (Has("scribbles_" + std::string(part.name))) {
      *(reinterpret_cast<unsigned char*>(frame) + part.offset) ^= 1;
    }
  }
  if (Has("scribbles_input_view")) const_cast<MS_TensorView*>(frame->inputs)[0].flags ^= 1;
  if (Has("scribbles_output_view")) frame->outputs[0].rank = 0;
  if (Has("scribbles_used_bits")) const_cast<uint64_t*>(frame->outputs_used)[0] = 0;
}

// Elements of its own, in memory that the host gives or gives away.
struct Neg {
  // A kernel may count on its device from its creation on.
  ms::Status Init(const ms::KernelInfo& info) {
    return info.device() == nullptr ? ms::Internal("create sees no device") : ms::Status();
  }
  ms::Status Compute(ms::Frame& frame) const {
    const ms::View x = frame.input(0);
    if (Has("forgets_output")) return ms::Status();
    if (Has("aborts")) std::abort();
    if (Has("keeps_status")) {
      ms::host_tables.base->status_make(MS_INTERNAL, ms::ToAbi("that nobody reads"));
    }
    if (Has("frees_status_twice")) {
      MS_Status* const status = ms::host_tables.base->status_make(MS_INTERNAL, ms::ToAbi("once"));
      ms::host_tables.core->status_free(status);
      ms::host_tables.core->status_free(status);
    }
    if (Has("keeps_tensor") && x.abi().handle != nullptr) {
      ms::host_tables.tensor->retain(x.abi().handle);
    }
    if (Has("releases_input")) ms::host_tables.tensor->release(x.abi().handle);
    if (Has("uses_frame_later")) {
      // It reads for up to a second, for on a busy machine the call may be under way for long.
      std::thread([step_id = static_cast<const volatile uint64_t*>(&frame.raw()->step_id)] {
        for (int i = 0; i < 3'000; ++i) {
          std::this_thread::sleep_for(std::chrono::microseconds(300));
          static_cast<void>(*step_id);
        }
      }).detach();
    }
    ms::View y;
    const bool flat =
        Has("wrong_shape") && x.rank() > 1 && frame.raw()->outputs[0].mem.base == nullptr;
    MS_TRY(frame.ForwardOrOutput(0, 0, flat ? ms::Shape{x.size()} : x.shape(), &y));
    Fill(frame, x, y);
    Scribble(frame.raw());
    return ms::Status();
  }

 private:
  static void Fill(ms::Frame& frame, const ms::View& x, const ms::View& y) {
    const float* from = x.data<float>();
    float* to = y.data<float>();
    const int64_t n = x.size();
    const bool in_place = from == to && frame.shape_state<ms::ShapeState>() == nullptr;
    const bool planned = frame.num_threads() > 1 && !in_place;
    for (int64_t i = 0; i < n; ++i) to[i] = -from[i];
    if (n == 0) return;
    if (Has("wrong_result")) to[n - 1] += 0.5f;
    if (Has("beyond_output")) to[n] = 0;
    if (Has("writes_input")) const_cast<float*>(from)[0] = 1;
    if (Has("writes_handle") && x.abi().handle != nullptr) {
      MS_TensorView view{};
      ms::host_tables.tensor->view(x.abi().handle, &view);
      ms::View(view).data<float>()[0] += 1;
    }
    WriteBeside("input", from, x.bytes());
    WriteBeside("output", to, y.bytes());
    if (Has("bad_in_place") && in_place && n > 1) to[1] = 7;
    if (Has("bad_plan") && planned) to[0] = 9;
  }
};

// Needs temporary memory: scratch in a plan, else two temporaries.
struct Square {
  ms::Status Specialize(ms::Specialization& specialization) const {
    specialization.SetScratchBytes(kScratchBytes);
    return ms::Status();
  }
  ms::Status Compute(ms::Frame& frame) const {
    const ms::View x = frame.input(0);
    if (frame.scratch() != nullptr) {
      const MS_MemRef& place = frame.raw()->scratch_mem;
      if (place.bytes != kScratchBytes ||
          static_cast<char*>(place.base) + place.offset != frame.scratch()) {
        return ms::Internal("scratch_mem is not the place of scratch");
      }
      WriteBeside(HasOwnMemory() ? "device_scratch" : "scratch", frame.scratch(), kScratchBytes);
    } else {
      MS_TRY(UseTemporaries(frame, x.bytes()));
    }
    ms::View y;
    MS_TRY(frame.Output(0, x.shape(), &y));
    for (int64_t i = 0; i < x.size(); ++i) {
      y.data<float>()[i] = x.data<float>()[i] * x.data<float>()[i];
    }
    return ms::Status();
  }

 private:
  static constexpr uint64_t kScratchBytes = 24;

  static ms::Status UseTemporaries(ms::Frame& frame, uint64_t bytes) {
    ms::View temporary;
    ms::Status status = frame.Temp(bytes, &temporary);
    if (!status.ok() && !Has("ignores_no_memory")) return status;
    if (status.ok()) WriteBeside("temporary", temporary.raw(), temporary.bytes());
    ms::View on_device;
    MS_TRY(frame.DeviceTemp(bytes, &on_device));
    WriteBeside("device_temporary", on_device.raw(), on_device.bytes());
    return ms::Status();
  }
};

// Keeps something that others see.
struct Abs {
  ms::Status Compute(ms::Frame& frame) const {
    static std::atomic<int> users{0};
    const bool disturbed = Has("shared_state") && ++users > 1;
    const ms::View x = frame.input(0);
    ms::View y;
    MS_TRY(frame.Output(0, x.shape(), &y));
    for (int64_t i = 0; i < x.size(); ++i) {
      y.data<float>()[i] = disturbed ? 0 : std::fabs(x.data<float>()[i]);
    }
    if (Has("shared_state")) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      --users;
    }
    return ms::Status();
  }
};

// Changes a variable.
struct AssignAdd {
  ms::Status Compute(ms::Frame& frame) const {
    std::string_view container, name, type;
    MS_TRY(ms::ReadHandle(frame.input(0), &container, &name, &type));
    if (name.empty() || type != "Variable") return ms::Internal("the handle is of a ", type);
    const uint32_t input = 0;
    const uint32_t mode = MS_LOCK_WRITE;
    MS_LockSet* locks = nullptr;
    MS_TRY(ms::Status::FromAbi(
        ms::host_tables.resource->vars_lock(frame.raw(), &input, &mode, 1, &locks)));
    MS_TensorView variable{};
    ms::Status status =
        ms::Status::FromAbi(ms::host_tables.resource->var_prepare_write(locks, 0, &variable));
    if (status.ok()) Add(ms::View(variable), frame.input(1));
    if (!Has("keeps_lock")) ms::host_tables.resource->vars_unlock(locks);
    if (Has("unlocks_twice")) ms::host_tables.resource->vars_unlock(locks);
    if (Has("uses_lock_later")) {
      static_cast<void>(
          ms::Status::FromAbi(ms::host_tables.resource->var_view(locks, 0, &variable)));
    }
    return status;
  }

 private:
  static void Add(const ms::View& to, const ms::View& from) {
    for (int64_t i = 0; i < from.size(); ++i) to.data<float>()[i] += from.data<float>()[i];
  }
};

// Numbers of a generator of its own.
struct OwnRandom {
  ms::Status Compute(ms::Frame& frame) const {
    ms::Shape shape;
    const ms::View dims = frame.input(0);
    for (int64_t i = 0; i < dims.size(); ++i) shape.Append(dims.data<int32_t>()[i]);
    ms::View y;
    MS_TRY(frame.Output(0, shape, &y));
    for (int64_t i = 0; i < y.size(); ++i) y.data<float>()[i] = 0.25f;
    return ms::Status();
  }
};

template <typename Kernel>
ms::Status Register(MS_Registrar* registrar, const char* op, ms::KernelOptions options) {
  return ms::KernelEntry::Of<Kernel>(op, options.Device("BROKEN")).RegisterWith(registrar);
}

}  // namespace

ms::Status RegisterKernels(MS_Registrar* registrar) {
  const ms::KernelOptions floats = ms::KernelOptions().Type<float>("T");
  MS_TRY(Register<Neg>(registrar, "Neg", ms::KernelOptions(floats).InPlace(0, 0)));
  MS_TRY(Register<Square>(registrar, "Square", floats));
  MS_TRY(Register<Abs>(registrar, "Abs", floats));
  MS_TRY(Register<AssignAdd>(registrar, "AssignAddVariableOp",
                             ms::KernelOptions().Type<float>("dtype")));
  MS_TRY(RegisterExecutions(registrar));
  MS_TRY(RegisterDLPack(registrar));
  MS_TRY(RegisterOps(registrar));
  if (Has("own_random")) {
    MS_TRY(Register<OwnRandom>(
        registrar, "RandomUniform",
        ms::KernelOptions().Type<float>("dtype").Type<int32_t>("T").HostArg("shape")));
  }
  if (Has("unknown_op")) MS_TRY(Register<Neg>(registrar, "NoSuchOp", floats));
  if (Has("tie")) MS_TRY(Register<Neg>(registrar, "Neg", floats));
  if (Has("other_device")) {
    MS_TRY(ms::KernelEntry::Of<Neg>("Neg", ms::KernelOptions().Device("NOBODYS"))
               .RegisterWith(registrar));
  }
  return ms::Status();
}

}  // namespace broken
