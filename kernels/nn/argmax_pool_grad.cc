// MaxPoolGradWithArgmax and MaxPoolGradGradWithArgmax: the places of the largest elements are
// given.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/parallel.h"
#include "kernels/common/type_table.h"
#include "kernels/nn/largest_elements.h"
#include "kernels/nn/pool_shape.h"

namespace millstream::kernels {
namespace {

// The places of a piece of the output, counted over all images.
class GivenPlaces {
 public:
  GivenPlaces(const ms::View& argmax, int64_t image_size, int64_t outputs_per_image,
              bool over_all_images)
      : argmax_(argmax),
        image_size_(image_size),
        outputs_per_image_(outputs_per_image),
        over_all_images_(over_all_images) {}

  // Every place must be in the image that its window looks at.
  ms::Status Check() const {
    const int64_t size = argmax_.size();
    for (int64_t i = 0; i < size; ++i) {
      const int64_t place = PlaceOf(i);
      if (place >= 0 && place / image_size_ == i / outputs_per_image_) continue;
      return ms::InvalidArgument("argmax has the index ", IndexOf(i), " for element ", i,
                                 " of grad, which is outside of the image of ", image_size_,
                                 " elements that this element belongs to");
    }
    return ms::Status();
  }

  // Calls fn(first, count, places) for pieces of elements [begin, end).
  template <typename Fn>
  void ForEachPiece(int64_t begin, int64_t end, Fn&& fn) const {
    int64_t places[kPlacesAtOnce];
    for (int64_t first = begin; first < end; first += kPlacesAtOnce) {
      const int64_t count = std::min(kPlacesAtOnce, end - first);
      for (int64_t i = 0; i < count; ++i) places[i] = PlaceOf(first + i);
      fn(first, count, places);
    }
  }

 private:
  int64_t IndexOf(int64_t i) const {
    return argmax_.dtype() == MS_INT32 ? argmax_.data<int32_t>()[i] : argmax_.data<int64_t>()[i];
  }
  // Negative, or in another image, where the index is out of range.
  int64_t PlaceOf(int64_t i) const {
    const int64_t index = IndexOf(i);
    if (over_all_images_ || index < 0) return index;
    if (index >= image_size_) return -1;
    return index + i / outputs_per_image_ * image_size_;
  }

  const ms::View argmax_;
  const int64_t image_size_;
  const int64_t outputs_per_image_;
  const bool over_all_images_;
};

// kScatter: MaxPoolGradWithArgmax adds each element of grad at its place. kGather:
// MaxPoolGradGradWithArgmax takes each element of the output from its place in grad.
class MoveByArgmax {
 public:
  enum class Row { kScatter, kGather };
  explicit MoveByArgmax(const Row& row) : scatters_(row == Row::kScatter) {}

  ms::Status Init(const ms::KernelInfo& info) {
    const MS_DType dtype = info.input_dtype(0);
    format_ = NarrowFormatOf(dtype);
    add_ = AddElementsOf(format_ == nullptr ? dtype : MS_FLOAT32);
    gather_ = GatherElementsOf(ms::ElementSize(dtype));
    if (add_ == nullptr) return NoLoopFor(dtype);
    MS_TRY(info.Attr("include_batch_in_index", &over_all_images_));
    return attributes_.Init(info);
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::Shape input = frame.input(0).shape();
    PoolShape shape;
    MS_TRY(attributes_.Resolve(frame, input, "input", &shape));
    const ms::Shape grad = frame.input(1).shape();
    MS_TRY(scatters_ ? CheckPoolOutput(shape, grad, "grad") : CheckPoolInput(input, grad, "grad"));
    MS_TRY(CheckPoolOutput(shape, frame.input(2).shape(), "argmax"));
    ms::View result;
    MS_TRY(frame.Output(0, scatters_ ? input : shape.output_shape, &result));
    if (result.size() == 0) return ms::Status();
    if (shape.OutputSize() == 0) {
      std::memset(result.raw(), 0, result.bytes());
      return ms::Status();
    }
    const GivenPlaces places(frame.input(2), shape.InputSize() / shape.batch,
                             shape.OutputSize() / shape.batch, over_all_images_);
    MS_TRY(places.Check());
    if (scatters_) return Scatter(frame, shape, places, result);
    return ParallelElements(frame, result.size(), 2000, [&](int64_t begin, int64_t end) {
      places.ForEachPiece(begin, end, [&](int64_t first, int64_t count, const int64_t* from) {
        gather_(frame.input(1).raw(), from, count, result.raw(), first);
      });
    });
  }

 private:
  // One thread has all of an image. 16-bit floating-point numbers are added as floats, and rounded
  // once.
  ms::Status Scatter(ms::Frame& frame, const PoolShape& shape, const GivenPlaces& places,
                     const ms::View& result) const {
    const ms::View grad = frame.input(1);
    const int64_t image = shape.InputSize() / shape.batch;
    const int64_t outputs = shape.OutputSize() / shape.batch;
    const uint64_t size = format_ == nullptr ? ms::ElementSize(result.dtype()) : sizeof(float);
    ms::View sums = result;
    if (format_ != nullptr) MS_TRY(frame.Temp(shape.InputSize() * sizeof(float), &sums));
    return StoppableFor(
        frame, shape.batch, 2 * outputs + image / 8, [&](uint64_t begin, uint64_t end) {
          std::memset(sums.data<char>() + begin * image * size, 0, (end - begin) * image * size);
          places.ForEachPiece(begin * outputs, end * outputs,
                              [&](int64_t first, int64_t count, const int64_t* to) {
                                AddPiece(grad, first, count, to, sums.raw());
                              });
          if (format_ == nullptr) return;
          format_->narrow(sums.data<float>() + begin * image, (end - begin) * image, result.raw(),
                          begin * image);
        });
  }

  void AddPiece(const ms::View& grad, int64_t first, int64_t count, const int64_t* to,
                void* sums) const {
    if (format_ == nullptr) return add_(grad.raw(), first, to, count, sums);
    float wide[kPlacesAtOnce];
    format_->widen(grad.raw(), first, count, wide);
    add_(wide, 0, to, count, sums);
  }

  const bool scatters_;
  PoolAttributes attributes_;
  bool over_all_images_ = false;
  const NarrowFormat* format_ = nullptr;
  AddElements add_ = nullptr;
  GatherElements gather_ = nullptr;
};

constexpr MoveByArgmax::Row kScatter = MoveByArgmax::Row::kScatter;
constexpr MoveByArgmax::Row kGather = MoveByArgmax::Row::kGather;

const ms::Registered grad = ms::RegisterRow<MoveByArgmax>(
    "MaxPoolGradWithArgmax", kScatter, ms::KernelOptions().Types("T", TypesIn(kOrderedTypes)));
const ms::Registered grad_grad = ms::RegisterRow<MoveByArgmax>(
    "MaxPoolGradGradWithArgmax", kGather, ms::KernelOptions().Types("T", TypesIn(kOrderedTypes)));

}  // namespace
}  // namespace millstream::kernels
