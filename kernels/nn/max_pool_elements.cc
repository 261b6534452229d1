// What moves elements to and from the places of the largest ones: MaxPool and MaxPoolGrad of
// integers, MaxPoolGradGrad and MaxPoolWithArgmax of all types.
#include <cstdint>
#include <cstring>
#include <limits>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/parallel.h"
#include "kernels/common/type_table.h"
#include "kernels/nn/largest_elements.h"
#include "kernels/nn/pool_shape.h"

namespace millstream::kernels {
namespace {

// Finding a place costs several times what finding a value does.
uint64_t PlacesCost(const PoolShape& shape) { return 4 * shape.WindowCost(); }

// Each window's output is the element at the place of its largest one: of the input itself, or of
// the gradient that MaxPoolGrad was given and put there.
class GatherLargest {
 public:
  enum class Row { kInput, kGradient };
  explicit GatherLargest(const Row& row) : of_gradient_(row == Row::kGradient) {}

  ms::Status Init(const ms::KernelInfo& info) {
    find_ = FindLargestOf(info.input_dtype(0));
    gather_ = GatherElementsOf(ms::ElementSize(info.input_dtype(0)));
    if (find_ == nullptr) return NoLoopFor(info.input_dtype(0));
    return attributes_.Init(info, /*over_depth=*/!of_gradient_);
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::Shape input = frame.input(0).shape();
    PoolShape shape;
    MS_TRY(attributes_.Resolve(frame, input, of_gradient_ ? "orig_input" : "input", &shape));
    if (of_gradient_) {
      MS_TRY(CheckPoolOutput(shape, frame.input(1).shape(), "orig_output"));
      MS_TRY(CheckPoolInput(input, frame.input(2).shape(), "grad"));
    }
    ms::View output;
    MS_TRY(frame.Output(0, shape.output_shape, &output));
    if (shape.OutputSize() == 0) return ms::Status();
    const void* const x = frame.input(0).raw();
    const void* const from = of_gradient_ ? frame.input(2).raw() : x;
    void* const to = output.raw();
    return StoppableFor(frame, shape.NumWindows(), PlacesCost(shape),
                        [&](uint64_t begin, uint64_t end) {
                          ForEachLargest(shape, find_, x, begin, end,
                                         [&](int64_t first, int64_t count, const int64_t* places,
                                             int64_t) { gather_(from, places, count, to, first); });
                        });
  }

 private:
  const bool of_gradient_;
  PoolAttributes attributes_;
  FindLargest find_ = nullptr;
  GatherElements gather_ = nullptr;
};

// MaxPoolGrad of integers. Windows may share elements, so one thread has all of an image.
class ScatterToLargest {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    find_ = FindLargestOf(info.input_dtype(0));
    add_ = AddElementsOf(info.input_dtype(0));
    if (find_ == nullptr || add_ == nullptr) return NoLoopFor(info.input_dtype(0));
    return attributes_.Init(info);
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::Shape input = frame.input(0).shape();
    PoolShape shape;
    MS_TRY(attributes_.Resolve(frame, input, "orig_input", &shape));
    MS_TRY(CheckPoolOutput(shape, frame.input(1).shape(), "orig_output"));
    MS_TRY(CheckPoolOutput(shape, frame.input(2).shape(), "grad"));
    ms::View result;
    MS_TRY(frame.Output(0, input, &result));
    std::memset(result.raw(), 0, result.bytes());
    if (shape.OutputSize() == 0) return ms::Status();
    const void* const x = frame.input(0).raw();
    const void* const dy = frame.input(2).raw();
    const int64_t windows = shape.NumWindows() / shape.batch;
    return StoppableFor(
        frame, shape.batch, PlacesCost(shape) * windows, [&](uint64_t begin, uint64_t end) {
          ForEachLargest(shape, find_, x, begin * windows, end * windows,
                         [&](int64_t first, int64_t count, const int64_t* places, int64_t) {
                           add_(dy, first, places, count, result.raw());
                         });
        });
  }

 private:
  PoolAttributes attributes_;
  FindLargest find_ = nullptr;
  AddElements add_ = nullptr;
};

// Places count within an image, or over all of them. Where all is NaN, the first element is taken.
template <typename Index>
class MaxPoolWithArgmax {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    find_ = FindLargestOf(info.input_dtype(0));
    gather_ = GatherElementsOf(ms::ElementSize(info.input_dtype(0)));
    if (find_ == nullptr) return NoLoopFor(info.input_dtype(0));
    MS_TRY(info.Attr("include_batch_in_index", &over_all_images_));
    return attributes_.Init(info);
  }

  ms::Status Compute(ms::Frame& frame) const {
    PoolShape shape;
    MS_TRY(attributes_.Resolve(frame, frame.input(0).shape(), "input", &shape));
    ms::View output;
    ms::View argmax;
    MS_TRY(frame.Output(0, shape.output_shape, &output));
    MS_TRY(frame.Output(1, shape.output_shape, &argmax));
    if (shape.OutputSize() == 0) return ms::Status();
    const int64_t image = shape.InputSize() / shape.batch;
    if ((over_all_images_ ? shape.InputSize() : image) - 1 > std::numeric_limits<Index>::max()) {
      return ms::InvalidArgument("input has too many elements for the type of argmax");
    }
    const void* const x = frame.input(0).raw();
    Index* const indices = argmax.data<Index>();
    return StoppableFor(
        frame, shape.NumWindows(), PlacesCost(shape), [&](uint64_t begin, uint64_t end) {
          ForEachLargest(shape, find_, x, begin, end,
                         [&](int64_t first, int64_t count, int64_t* places, int64_t corner) {
                           for (int64_t i = 0; i < count; ++i) {
                             if (places[i] < 0) places[i] = corner + i;
                             const int64_t place = over_all_images_ ? places[i] : places[i] % image;
                             indices[first + i] = static_cast<Index>(place);
                           }
                           gather_(x, places, count, output.raw(), first);
                         });
        });
  }

 private:
  PoolAttributes attributes_;
  bool over_all_images_ = false;
  FindLargest find_ = nullptr;
  GatherElements gather_ = nullptr;
};

constexpr GatherLargest::Row kInput = GatherLargest::Row::kInput;
constexpr GatherLargest::Row kGradient = GatherLargest::Row::kGradient;

ms::KernelOptions Of(std::vector<MS_DType> types) {
  return ms::KernelOptions().Types("T", std::move(types));
}
ms::KernelOptions WithWindowInputs(ms::KernelOptions options) {
  return options.HostArg("ksize").HostArg("strides");
}

// MaxPool takes no wider unsigned integers.
std::vector<MS_DType> PooledIntegers() {
  return {MS_INT8, MS_INT16, MS_INT32, MS_INT64, MS_UINT8, MS_UINT16};
}

const ms::Registered max_pool =
    ms::RegisterRow<GatherLargest>("MaxPool", kInput, Of(PooledIntegers()));
const ms::Registered max_pool_v2 =
    ms::RegisterRow<GatherLargest>("MaxPoolV2", kInput, WithWindowInputs(Of(PooledIntegers())));
const ms::Registered max_pool_grad =
    ms::Register<ScatterToLargest>("MaxPoolGrad", Of(TypesIn(kIntegerTypes)));
const ms::Registered max_pool_grad_v2 =
    ms::Register<ScatterToLargest>("MaxPoolGradV2", WithWindowInputs(Of(TypesIn(kIntegerTypes))));
const ms::Registered max_pool_grad_grad =
    ms::RegisterRow<GatherLargest>("MaxPoolGradGrad", kGradient, Of(TypesIn(kOrderedTypes)));
const ms::Registered max_pool_grad_grad_v2 = ms::RegisterRow<GatherLargest>(
    "MaxPoolGradGradV2", kGradient, WithWindowInputs(Of(TypesIn(kOrderedTypes))));
const ms::Registered max_pool_3d_grad_grad =
    ms::RegisterRow<GatherLargest>("MaxPool3DGradGrad", kGradient, Of(TypesIn(kOrderedTypes)));

template <typename Index>
ms::Registered RegisterWithArgmax() {
  return ms::Register<MaxPoolWithArgmax<Index>>("MaxPoolWithArgmax",
                                                Of(TypesIn(kOrderedTypes)).Type<Index>("Targmax"));
}
const ms::Registered with_argmax = RegisterWithArgmax<int64_t>();
const ms::Registered with_short_argmax = RegisterWithArgmax<int32_t>();

}  // namespace
}  // namespace millstream::kernels
