// RandomCrop, SampleDistortedBoundingBox and SampleDistortedBoundingBoxV2.
//
// Streams are shared with other programs: the order in which words are used up, and each formula,
// its rounding included, is part of the contract.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/random/philox_words.h"

namespace millstream::kernels {
namespace {

class RandomCrop {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    const ms::View image = frame.input(0);
    if (image.rank() != 3) {
      return ms::InvalidArgument("image must have 3 dimensions, but is ", image.shape().ToString());
    }
    const ms::View sizes = frame.input(1);
    if (sizes.rank() != 1 || sizes.size() != 2) {
      return ms::InvalidArgument("size must be a vector of height and width, but has shape ",
                                 sizes.shape().ToString());
    }
    const int64_t* const size = sizes.data<int64_t>();
    for (uint32_t d = 0; d < 2; ++d) {
      if (size[d] >= 0 && size[d] <= image.dim(d)) continue;
      return ms::InvalidArgument("size[", d, "] = ", size[d], " must be from 0 to ", image.dim(d),
                                 ", the size of the image");
    }
    ms::View output;
    MS_TRY(frame.Output(0, {size[0], size[1], image.dim(2)}, &output));
    if (size[0] == image.dim(0) && size[1] == image.dim(1)) {
      if (image.bytes() > 0) std::memcpy(output.raw(), image.raw(), image.bytes());
      return ms::Status();
    }
    PhiloxPosition position;
    MS_TRY(frame.ReserveRandom(1, &position.key, position.counter.data()));
    PhiloxWords words(position);
    // The place in a row is drawn first.
    const int64_t left = Offset(&words, image.dim(1), size[1]);
    const int64_t top = Offset(&words, image.dim(0), size[0]);
    if (output.size() == 0) return ms::Status();
    const int64_t pixel = image.dim(2) * ms::ElementSize(image.dtype());
    for (int64_t y = 0; y < size[0]; ++y) {
      const char* const from = image.data<char>() + ((top + y) * image.dim(1) + left) * pixel;
      std::memcpy(output.data<char>() + y * size[1] * pixel, from, size[1] * pixel);
    }
    return ms::Status();
  }

 private:
  static int64_t Offset(PhiloxWords* words, int64_t whole, int64_t part) {
    if (whole <= part) return 0;
    return words->Next() % (whole - part + 1);
  }
};

// A box of whole pixels.
struct Rectangle {
  int64_t left = 0;
  int64_t top = 0;
  int64_t right = 0;
  int64_t bottom = 0;

  float area() const { return static_cast<float>((right - left) * (bottom - top)); }
  bool is_empty() const { return right < left || bottom < top; }
  Rectangle CommonWith(const Rectangle& other) const {
    const Rectangle common = {std::max(left, other.left), std::max(top, other.top),
                              std::min(right, other.right), std::min(bottom, other.bottom)};
    return common.is_empty() ? Rectangle() : common;
  }
};

struct Size {
  int64_t height;
  int64_t width;
};

// From the smallest to the largest.
struct Range {
  float low;
  float high;
};

int64_t Rounded(float x) { return std::lrint(x); }

// A crop of this ratio of width to height, and an area in the range of the image's; false if the
// drawn one does not fit.
bool DrawCrop(const Size& image, const Range& area_range, float ratio, PhiloxWords* words,
              Rectangle* crop) {
  if (area_range.high <= 0 || ratio <= 0 || image.width <= 0 || image.height <= 0 ||
      area_range.low > area_range.high) {
    return false;
  }
  const float image_width = static_cast<float>(image.width);
  const float image_height = static_cast<float>(image.height);
  const float least = area_range.low * image_width * image_height;
  const float most = area_range.high * image_width * image_height;
  int64_t height = Rounded(std::sqrt(least / ratio));
  int64_t tallest = Rounded(std::sqrt(most / ratio));
  if (Rounded(static_cast<float>(tallest) * ratio) > image.width) {
    const float epsilon = 0.0000001f;
    tallest = static_cast<int64_t>((static_cast<double>(image.width) + 0.5 - epsilon) / ratio);
  }
  tallest = std::min(tallest, image.height);
  height = std::min(height, tallest);
  if (height < tallest) height += words->Below(static_cast<uint32_t>(tallest - height + 1));

  int64_t width = Rounded(static_cast<float>(height) * ratio);
  float area = static_cast<float>(width * height);
  // Rounding may leave it a little too small or too large.
  const auto resize = [&](int64_t change) {
    height += change;
    width = Rounded(static_cast<float>(height) * ratio);
    area = static_cast<float>(width * height);
  };
  if (area < least) resize(1);
  if (area > most) resize(-1);
  if (area < least || area > most || width > image.width || height > image.height || width <= 0 ||
      height <= 0) {
    return false;
  }
  int64_t top = 0;
  int64_t left = 0;
  if (height < image.height) top = words->Below(static_cast<uint32_t>(image.height - height));
  if (width < image.width) left = words->Below(static_cast<uint32_t>(image.width - width));
  *crop = {left, top, left + width, top + height};
  return true;
}

// Whether a crop has enough of one of the boxes. Boxes without a pixel do not count.
bool CoversABox(const Rectangle& crop, float share, const std::vector<Rectangle>& boxes) {
  if (crop.area() < 1) return false;
  for (const Rectangle& box : boxes) {
    if (box.area() < 1) continue;
    if (crop.CommonWith(box).area() / box.area() >= share) return true;
  }
  return false;
}

// Calls function(T()) for the integer type T of the view's elements.
template <typename Function>
void OnIntegers(const ms::View& view, const Function& function) {
  switch (view.dtype()) {
    case MS_UINT8: return function(uint8_t());
    case MS_INT8: return function(int8_t());
    case MS_INT16: return function(int16_t());
    case MS_INT32: return function(int32_t());
    default: return function(int64_t());
  }
}

void ReadIntegers(const ms::View& view, int64_t values[3]) {
  OnIntegers(view, [&](auto zero) { std::copy_n(view.data<decltype(zero)>(), 3, values); });
}

void WriteIntegers(const int64_t values[3], const ms::View& view) {
  OnIntegers(view, [&](auto zero) {
    using T = decltype(zero);
    for (int i = 0; i < 3; ++i) view.data<T>()[i] = static_cast<T>(values[i]);
  });
}

class SampleBox {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    MS_TRY(InitRange(info, "aspect_ratio_range", &ratios_));
    MS_TRY(InitRange(info, "area_range", &areas_));
    if (areas_.high > 1) {
      return ms::InvalidArgument("area_range has the entry ", areas_.high, ", expected 1 at most");
    }
    MS_TRY(info.Attr("max_attempts", &attempts_));
    if (attempts_ <= 0) {
      return ms::InvalidArgument("max_attempts = ", attempts_, ": Max attempts must be positive");
    }
    MS_TRY(info.Attr("use_image_if_no_bounding_boxes", &use_image_));
    if (info.num_inputs() > 2) return ms::Status();
    MS_TRY(info.Attr("min_object_covered", &covered_));
    return CheckCovered(covered_);
  }

  ms::Status Compute(ms::Frame& frame) const {
    Size image;
    MS_TRY(ReadImage(frame.input(0), &image));
    std::vector<Rectangle> boxes;
    MS_TRY(ReadBoxes(frame.input(1), image, &boxes));
    float covered = covered_;
    if (frame.num_inputs() > 2) {
      if (frame.input(2).rank() != 0) {
        return ms::InvalidArgument("min_object_covered must be a scalar, but has shape ",
                                   frame.input(2).shape().ToString());
      }
      covered = *frame.input(2).data<float>();
      MS_TRY(CheckCovered(covered));
    }
    PhiloxPosition position;
    MS_TRY(frame.ReserveRandom(static_cast<uint64_t>(attempts_), &position.key,
                               position.counter.data()));
    return Write(frame, image, Draw(image, boxes, covered, PhiloxWords(position)));
  }

 private:
  static ms::Status InitRange(const ms::KernelInfo& info, const char* name, Range* range) {
    std::vector<float> values;
    MS_TRY(info.Attr(name, &values));
    if (values.size() != 2) {
      return ms::InvalidArgument(name, " must have 2 entries, not ", values.size());
    }
    *range = {values[0], values[1]};
    if (range->low > 0 && range->high > 0 && range->low <= range->high) return ms::Status();
    return ms::InvalidArgument(name, " must have entries above 0 in rising order, not ", range->low,
                               " and ", range->high);
  }

  static ms::Status CheckCovered(float covered) {
    if (covered >= 0) return ms::Status();
    return ms::InvalidArgument("min_object_covered = ", covered,
                               ": Min object covered must be non-negative");
  }

  static ms::Status ReadImage(const ms::View& sizes, Size* image) {
    if (sizes.rank() != 1 || sizes.size() != 3) {
      return ms::InvalidArgument("image_size must be height, width and channels, but has shape ",
                                 sizes.shape().ToString());
    }
    int64_t values[3];
    ReadIntegers(sizes, values);
    constexpr int64_t kMost = 1 << 30;  // areas fit 64 bits, and sizes 32
    for (int i = 0; i < 2; ++i) {
      if (values[i] > 0 && values[i] <= kMost) continue;
      return ms::InvalidArgument("image_size[", i, "] = ", values[i], " must be from 1 to ", kMost);
    }
    *image = {values[0], values[1]};
    return ms::Status();
  }

  ms::Status ReadBoxes(const ms::View& input, const Size& image,
                       std::vector<Rectangle>* boxes) const {
    if (input.rank() != 3 || input.dim(2) != 4) {
      return ms::InvalidArgument("bounding_boxes must be [batch, boxes, 4], but is ",
                                 input.shape().ToString());
    }
    const float height = static_cast<float>(image.height);
    const float width = static_cast<float>(image.width);
    for (int64_t i = 0; i < input.size(); i += 4) {
      const float* const box = input.data<float>() + i;
      for (int d = 0; d < 4; ++d) {
        if (box[d] >= 0 && box[d] <= 1) continue;
        return ms::InvalidArgument(
            "bounding_boxes: All bounding box coordinates must be in [0.0, 1.0]: ", box[d]);
      }
      boxes->push_back({static_cast<int64_t>(box[1] * width), static_cast<int64_t>(box[0] * height),
                        static_cast<int64_t>(box[3] * width),
                        static_cast<int64_t>(box[2] * height)});
    }
    if (!boxes->empty()) return ms::Status();
    if (!use_image_) {
      return ms::InvalidArgument(
          "bounding_boxes: No bounding boxes provided as input. One must enable "
          "use_image_if_no_bounding_boxes if you wish to not provide any bounding boxes.");
    }
    boxes->push_back({0, 0, image.width, image.height});
    return ms::Status();
  }

  // A crop that has enough of a box, or the whole image.
  Rectangle Draw(const Size& image, const std::vector<Rectangle>& boxes, float covered,
                 PhiloxWords words) const {
    for (int64_t i = 0; i < attempts_; ++i) {
      const float ratio = words.NextFloat() * (ratios_.high - ratios_.low) + ratios_.low;
      Rectangle crop;
      if (DrawCrop(image, areas_, ratio, &words, &crop) && CoversABox(crop, covered, boxes)) {
        return crop;
      }
    }
    return {0, 0, image.width, image.height};
  }

  static ms::Status Write(ms::Frame& frame, const Size& image, const Rectangle& crop) {
    ms::View begin;
    ms::View size;
    ms::View box;
    MS_TRY(frame.Output(0, {3}, &begin));
    MS_TRY(frame.Output(1, {3}, &size));
    MS_TRY(frame.Output(2, {1, 1, 4}, &box));
    const int64_t places[] = {crop.top, crop.left, 0};
    const int64_t sizes[] = {crop.bottom - crop.top, crop.right - crop.left, -1};
    WriteIntegers(places, begin);
    WriteIntegers(sizes, size);
    const float height = static_cast<float>(image.height);
    const float width = static_cast<float>(image.width);
    float* const corners = box.data<float>();
    corners[0] = static_cast<float>(crop.top) / height;
    corners[1] = static_cast<float>(crop.left) / width;
    corners[2] = static_cast<float>(crop.bottom) / height;
    corners[3] = static_cast<float>(crop.right) / width;
    return ms::Status();
  }

  Range ratios_{};
  Range areas_{};
  int64_t attempts_ = 0;
  float covered_ = 0;
  bool use_image_ = false;
};

ms::KernelOptions Boxed() {
  return ms::KernelOptions().HostArg("image_size").HostArg("bounding_boxes");
}
const ms::Registered random_crop =
    ms::Register<RandomCrop>("RandomCrop", ms::KernelOptions().HostArg("size"));
const ms::Registered sample = ms::Register<SampleBox>("SampleDistortedBoundingBox", Boxed());
const ms::Registered sample_v2 =
    ms::Register<SampleBox>("SampleDistortedBoundingBoxV2", Boxed().HostArg("min_object_covered"));

}  // namespace
}  // namespace millstream::kernels
