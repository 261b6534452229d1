// Dilation2D, Dilation2DBackpropInput and Dilation2DBackpropFilter: the largest sum of pixel and
// filter in each window, channel by channel.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/narrow_tiles.h"
#include "kernels/common/parallel.h"
#include "kernels/common/type_table.h"
#include "kernels/common/wrapping.h"
#include "kernels/nn/conv_shape.h"

namespace millstream::kernels {
namespace {

// Where the largest sum of a window is: the first in row-major order. Comparisons with NaN are
// false, so NaN is passed over.
template <typename T>
struct Largest {
  T sum = std::numeric_limits<T>::lowest();
  int64_t pixel = 0;  // in the image, by rows
  int64_t tap = 0;
};

// Of channel c and the window at (oh, ow). A window that has no such sum counts for its first
// pixel, and for the first tap.
template <typename T>
Largest<T> FindLargest(const ConvShape& s, const T* image, const T* filter, int64_t oh, int64_t ow,
                       int64_t c) {
  const int64_t top = oh * s.stride[0] - s.before[0];
  const int64_t left = ow * s.stride[1] - s.before[1];
  Largest<T> largest;
  largest.pixel = std::max<int64_t>(top, 0) * s.input[1] + std::max<int64_t>(left, 0);
  for (int64_t kh = 0; kh < s.filter[0]; ++kh) {
    const int64_t ih = top + kh * s.dilation[0];
    if (ih < 0 || ih >= s.input[0]) continue;
    for (int64_t kw = 0; kw < s.filter[1]; ++kw) {
      const int64_t iw = left + kw * s.dilation[1];
      if (iw < 0 || iw >= s.input[1]) continue;
      const int64_t pixel = ih * s.input[1] + iw;
      const int64_t tap = kh * s.filter[1] + kw;
      const T sum =
          WrappingSum<T>(image[pixel * s.in_channels + c], filter[tap * s.in_channels + c]);
      if (sum > largest.sum) largest = {sum, pixel, tap};
    }
  }
  return largest;
}

// The loops take the whole tensors, and make a part of the result.
struct Tensors {
  const void* input;
  const void* filter;
  const void* gradient;  // null for the output
  void* result;
};
using Loop = void (*)(const ConvShape& shape, const Tensors& tensors, int64_t begin, int64_t end);

// Rows of the output.
template <typename T>
void Dilate(const ConvShape& s, const Tensors& tensors, int64_t begin, int64_t end) {
  const auto* input = static_cast<const T*>(tensors.input);
  const int64_t image = s.input[0] * s.input[1] * s.in_channels;
  T* result = static_cast<T*>(tensors.result) + begin * s.output[1] * s.in_channels;
  for (int64_t row = begin; row < end; ++row) {
    for (int64_t ow = 0; ow < s.output[1]; ++ow) {
      for (int64_t c = 0; c < s.in_channels; ++c) {
        *result++ = FindLargest(s, input + row / s.output[0] * image,
                                static_cast<const T*>(tensors.filter), row % s.output[0], ow, c)
                        .sum;
      }
    }
  }
}

// Adds the gradients of channels [first, last) of image n to where their largest sums come from.
template <typename T, bool kToFilter>
void Scatter(const ConvShape& s, const Tensors& tensors, int64_t n, int64_t first, int64_t last,
             T* result) {
  const int64_t channels = s.in_channels;
  const T* image = static_cast<const T*>(tensors.input) + n * s.input[0] * s.input[1] * channels;
  const T* dy = static_cast<const T*>(tensors.gradient) + n * s.output[0] * s.output[1] * channels;
  for (int64_t oh = 0; oh < s.output[0]; ++oh) {
    for (int64_t ow = 0; ow < s.output[1]; ++ow, dy += channels) {
      for (int64_t c = first; c < last; ++c) {
        const Largest<T> largest =
            FindLargest(s, image, static_cast<const T*>(tensors.filter), oh, ow, c);
        T& sum = result[(kToFilter ? largest.tap : largest.pixel) * channels + c];
        sum = WrappingSum<T>(sum, dy[c]);
      }
    }
  }
}

// Images of the input's gradient: windows share pixels, so one thread has all of an image.
template <typename T>
void ScatterToInput(const ConvShape& s, const Tensors& tensors, int64_t begin, int64_t end) {
  const int64_t image = s.input[0] * s.input[1] * s.in_channels;
  for (int64_t n = begin; n < end; ++n) {
    T* const result = static_cast<T*>(tensors.result) + n * image;
    std::fill_n(result, image, T(0));
    Scatter<T, false>(s, tensors, n, 0, s.in_channels, result);
  }
}

// Channels of the filter's gradient: the images of each are summed in their order.
template <typename T>
void ScatterToFilter(const ConvShape& s, const Tensors& tensors, int64_t begin, int64_t end) {
  T* const result = static_cast<T*>(tensors.result);
  for (int64_t tap = 0; tap < s.filter[0] * s.filter[1]; ++tap) {
    std::fill(result + tap * s.in_channels + begin, result + tap * s.in_channels + end, T(0));
  }
  for (int64_t n = 0; n < s.batch; ++n) Scatter<T, true>(s, tensors, n, begin, end, result);
}

struct Loops {
  MS_DType dtype;
  Loop output;
  Loop input_gradient;
  Loop filter_gradient;
};

template <typename T>
constexpr Loops LoopsOf() {
  return {ms::DTypeOf<T>(), &Dilate<T>, &ScatterToInput<T>, &ScatterToFilter<T>};
}
constexpr Loops kLoops[] = {LoopsOf<float>(),   LoopsOf<double>(),   LoopsOf<int8_t>(),
                            LoopsOf<int16_t>(), LoopsOf<int32_t>(),  LoopsOf<int64_t>(),
                            LoopsOf<uint8_t>(), LoopsOf<uint16_t>(), LoopsOf<uint32_t>(),
                            LoopsOf<uint64_t>()};
constexpr TypeTable<Loops> kTable = {kLoops, std::size(kLoops)};

// What the three ops compute.
enum class Result { kOutput, kInputGradient, kFilterGradient };

class Dilation {
 public:
  struct Row {
    Result result;
  };

  explicit Dilation(const Row& row) : result_(row.result) {}

  ms::Status Init(const ms::KernelInfo& info) {
    const MS_DType dtype = info.input_dtype(0);
    loops_ = kTable.Find(dtype);
    if (loops_ == nullptr) return NoLoopFor(dtype);
    format_ = NarrowFormatOf(dtype);
    MS_TRY(attributes_.Init(info));
    return attributes_.InitSteps(info, "rates", &attributes_.dilations);
  }

  ms::Status Compute(ms::Frame& frame) const {
    ConvShape shape;
    MS_TRY(Resolve(frame, &shape));
    ms::View output;
    MS_TRY(frame.Output(0, ResultShape(frame, shape), &output));
    if (output.size() == 0) return ms::Status();
    Tensors tensors{};
    MS_TRY(Widened(frame, frame.input(0), &tensors.input));
    MS_TRY(Widened(frame, frame.input(1), &tensors.filter));
    if (result_ != Result::kOutput) MS_TRY(Widened(frame, frame.input(2), &tensors.gradient));
    tensors.result = output.raw();
    if (format_ != nullptr) {
      ms::View wide;
      MS_TRY(frame.Temp(static_cast<uint64_t>(output.size()) * sizeof(float), &wide));
      tensors.result = wide.raw();
    }
    MS_TRY(Run(frame, shape, tensors));
    if (format_ != nullptr) {
      auto* const wide = static_cast<float*>(tensors.result);
      if (result_ == Result::kOutput) RaiseToLowest(wide, output);
      format_->narrow(wide, output.size(), output.raw(), 0);
    }
    return ms::Status();
  }

 private:
  // The geometry is that of a convolution of each channel alone.
  ms::Status Resolve(const ms::Frame& frame, ConvShape* shape) const {
    const ms::Shape input = frame.input(0).shape();
    const ms::Shape filter = frame.input(1).shape();
    if (filter.rank() != 3) {
      return ms::InvalidArgument("filter must have 3 dimensions, but is ", filter.ToString());
    }
    if (input.rank() == 4 && input[3] != filter[2]) {
      return ms::InvalidArgument("input ", input.ToString(), " and filter ", filter.ToString(),
                                 " must have the same number of channels");
    }
    MS_TRY(ResolveConv(attributes_, input, "input", {filter[0], filter[1], 1, filter[2]}, "filter",
                       shape));
    if (result_ == Result::kOutput) return ms::Status();
    return CheckOutputGradient(*shape, frame.input(2).shape());
  }

  ms::Shape ResultShape(const ms::Frame& frame, const ConvShape& shape) const {
    if (result_ == Result::kOutput) return shape.OutputShape();
    return frame.input(result_ == Result::kInputGradient ? 0 : 1).shape();
  }

  // The elements in the type of the loops.
  ms::Status Widened(ms::Frame& frame, const ms::View& tensor, const void** elements) const {
    *elements = tensor.raw();
    if (format_ == nullptr) return ms::Status();
    ms::View wide;
    MS_TRY(frame.Temp(static_cast<uint64_t>(tensor.size()) * sizeof(float), &wide));
    format_->widen(tensor.raw(), 0, tensor.size(), wide.data<float>());
    *elements = wide.raw();
    return ms::Status();
  }

  ms::Status Run(ms::Frame& frame, const ConvShape& shape, const Tensors& tensors) const {
    const int64_t row = shape.output[1] * shape.filter[0] * shape.filter[1];  // of one channel
    Loop loop = loops_->output;
    int64_t total = shape.batch * shape.output[0];
    int64_t cost = row * shape.in_channels;
    if (result_ == Result::kInputGradient) {
      loop = loops_->input_gradient;
      total = shape.batch;
      cost *= shape.output[0];
    } else if (result_ == Result::kFilterGradient) {
      loop = loops_->filter_gradient;
      total = shape.in_channels;
      cost = shape.batch * shape.output[0] * row;
    }
    return StoppableFor(frame, total, static_cast<uint64_t>(cost) + 1,
                        [&](int64_t begin, int64_t end) { loop(shape, tensors, begin, end); });
  }

  // The search for the largest starts with the lowest number of the type, not of float.
  static void RaiseToLowest(float* wide, const ms::View& output) {
    constexpr float kLowestFloat16 = -65504.0f;
    constexpr float kLowestBFloat16 = -0x1.fep127f;
    const float lowest = output.dtype() == MS_FLOAT16 ? kLowestFloat16 : kLowestBFloat16;
    for (int64_t i = 0; i < output.size(); ++i) wide[i] = std::max(wide[i], lowest);
  }

  Result result_;
  ConvAttributes attributes_;
  const Loops* loops_ = nullptr;
  const NarrowFormat* format_ = nullptr;
};

const Dilation::Row kOutput = {Result::kOutput};
const Dilation::Row kInputGradient = {Result::kInputGradient};
const Dilation::Row kFilterGradient = {Result::kFilterGradient};

ms::Registered RegisterDilation(const char* op, const Dilation::Row& row) {
  return ms::RegisterRow<Dilation>(op, row, ms::KernelOptions().Types("T", TypesIn(kOrderedTypes)));
}

const ms::Registered dilation = RegisterDilation("Dilation2D", kOutput);
const ms::Registered dilation_backprop_input =
    RegisterDilation("Dilation2DBackpropInput", kInputGradient);
const ms::Registered dilation_backprop_filter =
    RegisterDilation("Dilation2DBackpropFilter", kFilterGradient);

}  // namespace
}  // namespace millstream::kernels
