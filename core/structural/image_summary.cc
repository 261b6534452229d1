// Summaries of images.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/structural/png.h"
#include "core/structural/structural.h"
#include "core/structural/summary_text.h"
#include "framework/half.h"
#include "millstream/framework/protos/summary.pb.h"

namespace millstream {
namespace {

// A batch of images, and how to show them.
struct ImageBatch {
  const Tensor* tensor;  // [batch, height, width, channels]
  std::vector<uint8_t> bad_color;

  int64_t height() const { return tensor->shape().dim(1); }
  int64_t width() const { return tensor->shape().dim(2); }
  int64_t channels() const { return tensor->shape().dim(3); }
  int64_t elements() const { return height() * width() * channels(); }
};

// A linear map of pixel values to 0..255.
struct Scaling {
  float scale;
  float offset;
};

template <typename T>
bool IsGoodPixel(const T* values, int64_t channels) {
  return std::all_of(values, values + channels, [](T value) { return std::isfinite(value); });
}

// Without negative values the largest becomes 255; else 0 becomes 128, and the largest magnitude
// ends 127 away from it. An image of nothing but tiny values is not blown up to noise. Pixels with
// a value that is not finite do not count.
template <typename T>
Scaling ScalingOf(const std::vector<T>& values, int64_t channels) {
  constexpr float kTiny = 1e-6f;
  float min = std::numeric_limits<float>::max();
  float max = std::numeric_limits<float>::lowest();
  for (size_t i = 0; i < values.size(); i += channels) {
    if (!IsGoodPixel(&values[i], channels)) continue;
    const auto [low, high] = std::minmax_element(&values[i], &values[i] + channels);
    min = std::min(min, static_cast<float>(*low));
    max = std::max(max, static_cast<float>(*high));
  }
  const bool has_negative = min < 0;
  const float magnitude = has_negative ? std::max(std::abs(min), std::abs(max)) : max;
  const float range = has_negative ? 127 : 255;
  return {magnitude < kTiny ? 0 : range / magnitude, has_negative ? 128.0f : 0.0f};
}

template <typename T>
std::vector<uint8_t> ScaledPixels(const ImageBatch& batch, const std::vector<T>& values) {
  const int64_t channels = batch.channels();
  const Scaling scaling = ScalingOf(values, channels);
  std::vector<uint8_t> bytes(values.size());
  for (size_t i = 0; i < values.size(); i += channels) {
    const bool good = IsGoodPixel(&values[i], channels);
    for (int64_t k = 0; k < channels; ++k) {
      bytes[i + k] = good ? static_cast<uint8_t>(values[i + k] * static_cast<T>(scaling.scale) +
                                                 static_cast<T>(scaling.offset))
                          : batch.bad_color[k];
    }
  }
  return bytes;
}

// The values of image `number` of a floating-point batch.
template <typename T>
std::vector<T> ImageValues(const ImageBatch& batch, int64_t number) {
  const T* const begin = batch.tensor->data<T>() + number * batch.elements();
  return std::vector<T>(begin, begin + batch.elements());
}

std::vector<float> HalfImageValues(const ImageBatch& batch, int64_t number) {
  const uint16_t* const begin = batch.tensor->data<uint16_t>() + number * batch.elements();
  std::vector<float> values(batch.elements());
  std::transform(begin, begin + batch.elements(), values.begin(), HalfToFloat);
  return values;
}

// Image `number` as bytes.
StatusOr<std::vector<uint8_t>> ImageBytes(const ImageBatch& batch, int64_t number) {
  switch (batch.tensor->dtype()) {
    case DataType::kUInt8: return ImageValues<uint8_t>(batch, number);
    case DataType::kHalf: return ScaledPixels(batch, HalfImageValues(batch, number));
    case DataType::kFloat: return ScaledPixels(batch, ImageValues<float>(batch, number));
    case DataType::kDouble: return ScaledPixels(batch, ImageValues<double>(batch, number));
    default:
      return errors::InvalidArgument("'tensor' must be uint8, half, float or double, got ",
                                     DataTypeName(batch.tensor->dtype()));
  }
}

Status CheckImages(const ImageBatch& batch) {
  const Shape& shape = batch.tensor->shape();
  if (shape.rank() != 4) {
    return errors::InvalidArgument("'tensor' must be [batch, height, width, channels], got ",
                                   shape.ToString());
  }
  const int64_t channels = batch.channels();
  if (channels != 1 && channels != 3 && channels != 4) {
    return errors::InvalidArgument("'tensor' must have 1, 3 or 4 channels, got ", shape.ToString());
  }
  if (static_cast<int64_t>(batch.bad_color.size()) < channels) {
    return errors::InvalidArgument("attribute 'bad_color' must have a value for each of the ",
                                   channels, " channels, got ", batch.bad_color.size());
  }
  return absl::OkStatus();
}

StatusOr<std::vector<uint8_t>> BadColor(const OpCall& call) {
  MS_ASSIGN_OR_RETURN(const Tensor color, call.Attr<Tensor>("bad_color"));
  if (color.dtype() != DataType::kUInt8 || color.shape().rank() != 1) {
    return errors::InvalidArgument("attribute 'bad_color' must be a vector of uint8, got ",
                                   DataTypeName(color.dtype()), color.shape().ToString());
  }
  return std::vector<uint8_t>(color.data<uint8_t>(), color.data<uint8_t>() + color.num_elements());
}

Status ImageSummary(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(const std::string tag, ScalarText(frame->BorrowInput(0), "tag"));
  const Tensor tensor = frame->BorrowInput(1);
  MS_ASSIGN_OR_RETURN(const int64_t max_images, frame->call().Attr<int64_t>("max_images"));
  ImageBatch batch = {&tensor, {}};
  MS_ASSIGN_OR_RETURN(batch.bad_color, BadColor(frame->call()));
  MS_RETURN_IF_ERROR(CheckImages(batch));

  proto::Summary summary;
  const std::string base = absl::StrCat(tag, "/image");
  for (int64_t i = 0; i < std::min(max_images, tensor.shape().dim(0)); ++i) {
    MS_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, ImageBytes(batch, i));
    MS_ASSIGN_OR_RETURN(std::string file,
                        EncodePng(batch.height(), batch.width(), batch.channels(), bytes));
    proto::Summary::Value* value = summary.add_value();
    value->set_tag(max_images == 1 ? base : absl::StrCat(base, "/", i));
    proto::Summary::Image* image = value->mutable_image();
    image->set_height(static_cast<int32_t>(batch.height()));
    image->set_width(static_cast<int32_t>(batch.width()));
    image->set_colorspace(static_cast<int32_t>(batch.channels()));
    image->set_encoded_image_string(std::move(file));
  }
  return SetSummary(frame, summary);
}

MILLSTREAM_STRUCTURAL("ImageSummary", StructuralRole::kKernel, ImageSummary);

}  // namespace
}  // namespace millstream
