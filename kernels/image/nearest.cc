// ResizeNearestNeighbor and its gradient. Pixels are moved as bytes.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/narrow_float.h"
#include "kernels/common/parallel.h"
#include "kernels/common/type_table.h"
#include "kernels/common/wrapping.h"
#include "kernels/image/pixels.h"
#include "kernels/image/taps.h"

namespace millstream::kernels {
namespace {

// Which of `from` pixels each of `to` new ones is.
std::vector<int64_t> NearestPixels(int64_t from, int64_t to, const Places& places) {
  const float step = PixelStep(from, to, places.align_corners);
  std::vector<int64_t> nearest(to);
  for (int64_t i = 0; i < to; ++i) {
    const float at = static_cast<float>(i);
    const float place = places.half_pixel_centers ? (at + 0.5f) * step : at * step;
    const float pixel = places.align_corners ? std::round(place) : std::floor(place);
    nearest[i] = std::clamp<int64_t>(static_cast<int64_t>(pixel), 0, from - 1);
  }
  return nearest;
}

struct Nearest {
  std::vector<int64_t> rows;     // of each row of the smaller or larger image
  std::vector<int64_t> columns;  // of each column
};

// What ops with these attributes share.
class NearestBase {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    MS_TRY(info.Attr("align_corners", &places_.align_corners));
    MS_TRY(info.Attr("half_pixel_centers", &places_.half_pixel_centers));
    if (!places_.align_corners || !places_.half_pixel_centers) return ms::Status();
    return ms::InvalidArgument("If half_pixel_centers is True, align_corners must be False.");
  }

 protected:
  // The output, of the sizes that input 1 says.
  static ms::Status SizedOutput(ms::Frame& frame, const char* name, ms::View* output) {
    MS_TRY(CheckImages(frame.input(0), name));
    int64_t size[2];
    MS_TRY(ReadImageSize(frame.input(1), "size", size));
    ms::Shape shape = frame.input(0).shape();
    shape[1] = size[0];
    shape[2] = size[1];
    return frame.Output(0, shape, output);
  }

  Places places_;
};

class ResizeNearest : public NearestBase {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    const ms::View images = frame.input(0);
    ms::View output;
    MS_TRY(SizedOutput(frame, "images", &output));
    if (output.size() == 0) return ms::Status();
    const Nearest nearest = {NearestPixels(images.dim(1), output.dim(1), places_),
                             NearestPixels(images.dim(2), output.dim(2), places_)};
    const int64_t pixel = images.dim(3) * ms::ElementSize(images.dtype());
    const int64_t rows = output.dim(1);
    const int64_t width = output.dim(2);
    return StoppableFor(
        frame, output.dim(0) * rows, width * (pixel / 16 + 2), [&](uint64_t begin, uint64_t end) {
          char* to = output.data<char>() + begin * width * pixel;
          for (int64_t row = begin; row < static_cast<int64_t>(end); ++row) {
            const int64_t line = row / rows * images.dim(1) + nearest.rows[row % rows];
            const char* const from = images.data<char>() + line * images.dim(2) * pixel;
            for (int64_t x = 0; x < width; ++x, to += pixel) {
              std::memcpy(to, from + nearest.columns[x] * pixel, pixel);
            }
          }
        });
  }
};

// Adds the gradients of image n to those of the pixels that they come from. 16-bit floats are
// summed in `wide`, of the size of an image.
template <typename T>
void AddImage(const Nearest& nearest, const ms::View& grads, const ms::View& output, int64_t n) {
  using Number = ComputeTypeOf<T>;
  const int64_t channels = grads.dim(3);
  const int64_t width = output.dim(2);
  const int64_t elements = output.dim(1) * width * channels;
  std::vector<Number> wide;
  Number* sums;
  if constexpr (kIsNarrowFloat<T>) {
    wide.assign(elements, 0);
    sums = wide.data();
  } else {
    sums = output.data<T>() + n * elements;
    std::fill_n(sums, elements, T(0));
  }
  const T* from = grads.data<T>() + n * grads.dim(1) * grads.dim(2) * channels;
  for (int64_t y = 0; y < grads.dim(1); ++y) {
    Number* const row = sums + nearest.rows[y] * width * channels;
    for (int64_t x = 0; x < grads.dim(2); ++x, from += channels) {
      Number* const sum = row + nearest.columns[x] * channels;
      for (int64_t c = 0; c < channels; ++c) sum[c] = WrappingSum<Number>(sum[c], from[c]);
    }
  }
  if constexpr (kIsNarrowFloat<T>) {
    NarrowElements(sums, elements, output.data<T>() + n * elements);
  }
}

struct Loops {
  MS_DType dtype;
  void (*add)(const Nearest& nearest, const ms::View& grads, const ms::View& output, int64_t n);
};
template <typename T>
constexpr Loops LoopsOf() {
  return {ms::DTypeOf<T>(), &AddImage<T>};
}
constexpr Loops kLoops[] = {LoopsOf<float>(),   LoopsOf<double>(),  LoopsOf<Float16>(),
                            LoopsOf<uint8_t>(), LoopsOf<int32_t>(), LoopsOf<int8_t>()};
constexpr TypeTable<Loops> kTable = {kLoops, std::size(kLoops)};

class ResizeNearestGrad : public NearestBase {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    loops_ = kTable.Find(info.input_dtype(0));
    if (loops_ == nullptr) return NoLoopFor(info.input_dtype(0));
    return NearestBase::Init(info);
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View grads = frame.input(0);
    ms::View output;
    MS_TRY(SizedOutput(frame, "grads", &output));
    if (output.size() == 0) return ms::Status();
    const Nearest nearest = {NearestPixels(output.dim(1), grads.dim(1), places_),
                             NearestPixels(output.dim(2), grads.dim(2), places_)};
    const int64_t cost = grads.size() / grads.dim(0) + output.size() / output.dim(0);
    return StoppableFor(frame, grads.dim(0), cost, [&](uint64_t begin, uint64_t end) {
      for (uint64_t n = begin; n < end; ++n) loops_->add(nearest, grads, output, n);
    });
  }

 private:
  const Loops* loops_ = nullptr;
};

const ms::Registered nearest =
    ms::Register<ResizeNearest>("ResizeNearestNeighbor", ms::KernelOptions().HostArg("size"));
const ms::Registered nearest_grad = ms::Register<ResizeNearestGrad>(
    "ResizeNearestNeighborGrad", ms::KernelOptions().HostArg("size"));

}  // namespace
}  // namespace millstream::kernels
