// Ops of the broken plugin's own, and a kernel with memory of its own.
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "framework/plugin/check/testing/broken_plugin.h"
#include "framework/plugin/plugin_ops.hpp"

namespace broken {
namespace {

// ---- BrokenSum: of tensors of one shape ---------------------------------------------------------

ms::Status SumShape(ms::ShapeContext& node) {
  const bool is_known = node.input(0).known_rank();
  if (Has("shape_function_crashes") && !is_known) std::abort();
  if (Has("shape_function_guesses") && !is_known) return node.SetOutputDims(0, {7, 7, 7, 7});
  ms::PartialShape shape = node.input(0);
  for (uint32_t i = 1; i < node.num_inputs(); ++i) {
    MS_TRY(node.Merge(shape, node.input(i), &shape));
  }
  return node.SetOutput(0, shape);
}

class Sum {
 public:
  static ms::Status Supports(const ms::SupportsQuery& query) {
    static std::atomic<int> calls{0};
    if (Has("supports_changes_its_mind") && ++calls % 2 == 0) return ms::InvalidArgument("not now");
    if (Has("supports_gives_no_reason")) return ms::Status(MS_INVALID_ARGUMENT, "");
    if (Has("supports_gives_no_text")) return ms::InvalidArgument("\xff");
    if (Has("supports_reads_unknown")) {
      const MS_Dims shape = query.input(0);
      const volatile int64_t last = shape.rank == 0 ? 0 : shape.d[shape.rank - 1];
      static_cast<void>(last);
    }
    std::string mode;
    MS_TRY(query.info().Attr("mode", &mode));
    if (mode == "mean" && query.info().input_dtype(0) != MS_FLOAT32) {
      return ms::InvalidArgument("a mean is of fractions");
    }
    return ms::Status();
  }

  ms::Status Init(const ms::KernelInfo& node) {
    std::string mode;
    MS_TRY(node.Attr("mode", &mode));
    is_mean_ = mode == "mean";
    return ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    if (frame.input(0).dtype() == MS_INT32) return Add<int32_t>(frame);
    return Add<float>(frame);
  }

 private:
  template <typename T>
  ms::Status Add(ms::Frame& frame) const {
    const ms::View x = frame.input(0);
    if (Has("crashes_on_means") && is_mean_) std::abort();
    if (Has("fails_on_means") && is_mean_) return ms::Internal("there are no means");
    if (Has("other_type")) return SetOtherType(frame);
    const bool is_planned = frame.raw()->outputs[0].mem.base != nullptr;
    const bool is_flat = Has("other_shape") && !is_planned && x.rank() > 1;
    ms::View y;
    MS_TRY(frame.Output(0, is_flat ? ms::Shape{x.size()} : x.shape(), &y));
    T* const to = y.data<T>();
    for (int64_t i = 0; i < x.size(); ++i) {
      T sum = 0;
      for (uint32_t k = 0; k < frame.num_inputs(); ++k) sum += frame.input(k).data<T>()[i];
      to[i] = is_mean_ ? sum / static_cast<T>(frame.num_inputs()) : sum;
    }
    static std::atomic<int> calls{0};
    if (Has("differs") && frame.deterministic() && x.size() > 0) to[0] += static_cast<T>(++calls);
    if (Has("beyond_own_output")) to[x.size()] = 0;
    return ms::Status();
  }

  static ms::Status SetOtherType(const ms::Frame& frame) {
    MS_Tensor* tensor = nullptr;
    MS_TRY(ms::Status::FromAbi(
        ms::host_tables.tensor->create(MS_SPACE_HOST, MS_FLOAT64, MS_Dims{}, &tensor)));
    ms::Status status =
        ms::Status::FromAbi(ms::host_tables.ctx->set_output(frame.raw(), 0, tensor));
    ms::host_tables.tensor->release(tensor);
    return status;
  }

  bool is_mean_ = false;
};

// ---- BrokenCount: an asynchronous kernel of an own op, without a shape function -----------------

struct Count {
  void ComputeAsync(ms::Frame frame, ms::Done done) const {
    const ms::View x = frame.input(0);
    ms::View count;
    const ms::Status status = frame.Output(0, {}, &count);
    if (status.ok()) *count.data<int32_t>() = static_cast<int32_t>(x.size());
    done(status);
  }
};

// ---- Ceil: in memory of the plugin's own --------------------------------------------------------

// How many blocks the host still has.
std::atomic<int> given{0};

void ReleaseBlock(void* block) {
  delete static_cast<std::vector<float>*>(block);
  --given;
}

class Ceil {
 public:
  // The host has released each block of the kernels before once.
  ms::Status Init(const ms::KernelInfo&) {
    return given == 0 ? ms::Status() : ms::Internal("the host has ", given.load(), " blocks");
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View x = frame.input(0);
    if (frame.raw()->outputs[0].mem.base == nullptr) return GiveBlock(frame, x);
    ms::View y;
    MS_TRY(frame.Output(0, x.shape(), &y));
    Fill(x, y.data<float>());
    return ms::Status();
  }

 private:
  static void Fill(const ms::View& x, float* to) {
    for (int64_t i = 0; i < x.size(); ++i) to[i] = std::ceil(x.data<float>()[i]);
  }

  static ms::Status GiveBlock(const ms::Frame& frame, const ms::View& x) {
    auto block = std::make_unique<std::vector<float>>(static_cast<size_t>(x.size()));
    Fill(x, block->data());
    MS_MemRef memory = {block->data(), 0, x.bytes(), MS_SPACE_DEVICE, 0};
    if (Has("wraps_too_little")) --memory.bytes;
    const ms::Shape shape = x.shape();
    MS_Tensor* tensor = nullptr;
    MS_TRY(ms::Status::FromAbi(ms::host_tables.ctx->wrap_device(
        frame.raw(), &memory, MS_FLOAT32, shape.abi(),
        Has("wraps_without_release") ? nullptr : &ReleaseBlock, block.get(), &tensor)));
    ++given;
    float* const first = x.size() > 0 ? block->data() : nullptr;
    static_cast<void>(block.release());  // the host owns it now
    ms::Status status =
        ms::Status::FromAbi(ms::host_tables.ctx->set_output(frame.raw(), 0, tensor));
    ms::host_tables.tensor->release(tensor);
    if (Has("releases_wrapped_twice")) ms::host_tables.tensor->release(tensor);
    if (Has("writes_wrapped") && first != nullptr) {
      std::thread([first] {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        *first = std::nextafter(*first, 1e9f);
      }).detach();
    }
    return status;
  }
};

ms::KernelOptions OnBroken() { return ms::KernelOptions().Device("BROKEN"); }

}  // namespace

ms::Status RegisterOps(MS_Registrar* registrar) {
  MS_TRY(ms::OpDefinition("BrokenSum")
             .Input("xs: N * T")
             .Output("y: T")
             .Attr("N: int >= 1")
             .Attr("T: {float, int32}")
             .Attr("mode: {'sum', 'mean'} = 'sum'")
             .Shape(&SumShape)
             .RegisterWith(registrar));
  MS_TRY(
      ms::OpDefinition("BrokenCount").Input("x: float").Output("n: int32").RegisterWith(registrar));
  MS_TRY(ms::KernelEntry::Of<Sum>("BrokenSum", OnBroken().Flags(MS_KERNEL_DETERMINISTIC))
             .RegisterWith(registrar));
  MS_TRY(
      ms::KernelEntry::Of<Count>("BrokenCount", OnBroken().HostArg("n")).RegisterWith(registrar));
  return ms::KernelEntry::Of<Ceil>("Ceil", OnBroken().Type<float>("T")).RegisterWith(registrar);
}

}  // namespace broken
