// CropAndResize, CropAndResizeGradImage and CropAndResizeGradBoxes.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/parallel.h"
#include "kernels/common/type_table.h"
#include "kernels/image/pixels.h"

namespace millstream::kernels {
namespace {

// Where a row or column of a crop lies in the image.
struct Place {
  bool inside = false;
  int64_t lower = 0;
  int64_t upper = 0;
  float share = 0;   // of the upper pixel
  float spread = 0;  // how far the end of the box moves this place, of how far it moves itself
};

// Of `count` places from `begin` to `end`, where 0 and 1 are the first and last of `size` pixels.
std::vector<Place> PlacesOf(float begin, float end, int64_t size, int64_t count) {
  const float last = static_cast<float>(size - 1);
  const float step = count > 1 ? (end - begin) * last / static_cast<float>(count - 1) : 0;
  std::vector<Place> places(count);
  for (int64_t i = 0; i < count; ++i) {
    const float at =
        count > 1 ? begin * last + static_cast<float>(i) * step : 0.5f * (begin + end) * last;
    if (!(at >= 0) || at > last) continue;
    Place& place = places[i];
    place.inside = true;
    place.lower = static_cast<int64_t>(std::floor(at));
    place.upper = static_cast<int64_t>(std::ceil(at));
    place.share = at - static_cast<float>(place.lower);
    place.spread = count > 1 ? static_cast<float>(i) / static_cast<float>(count - 1) : 0.5f;
  }
  return places;
}

// Takes the nearest pixel alone.
void Round(std::vector<Place>* places) {
  for (Place& place : *places) {
    const int64_t nearest = place.share >= 0.5f ? place.upper : place.lower;
    place.lower = place.upper = nearest;
    place.share = 0;
  }
}

// The places of one box.
struct Window {
  std::vector<Place> rows;
  std::vector<Place> columns;
};

class Boxes {
 public:
  // `boxes` and `indices` are arguments of these names.
  ms::Status Init(const ms::View& boxes, const ms::View& indices, int64_t batch) {
    if (boxes.rank() != 2 || boxes.dim(1) != 4) {
      return ms::InvalidArgument("boxes must have rows of 4 coordinates, but is ",
                                 boxes.shape().ToString());
    }
    if (indices.rank() != 1 || indices.dim(0) != boxes.dim(0)) {
      return ms::InvalidArgument("box_ind must have ", boxes.dim(0),
                                 " elements, one a box, but is ", indices.shape().ToString());
    }
    for (int64_t i = 0; i < indices.size(); ++i) {
      const int32_t index = indices.data<int32_t>()[i];
      if (index >= 0 && index < batch) continue;
      return ms::OutOfRange("box_ind[", i, "] = ", index,
                            ": box_index has values outside [0, batch_size), with ", batch,
                            " images");
    }
    boxes_ = boxes.data<float>();
    indices_ = indices.data<int32_t>();
    count_ = boxes.dim(0);
    return ms::Status();
  }

  int64_t count() const { return count_; }
  int64_t image(int64_t box) const { return indices_[box]; }
  Window WindowOf(int64_t box, const ms::Shape& image, int64_t height, int64_t width) const {
    const float* const b = boxes_ + 4 * box;
    return {PlacesOf(b[0], b[2], image[1], height), PlacesOf(b[1], b[3], image[2], width)};
  }

 private:
  const float* boxes_ = nullptr;
  const int32_t* indices_ = nullptr;
  int64_t count_ = 0;
};

ms::Status CheckGrads(const ms::View& grads, const Boxes& boxes, int64_t channels) {
  if (grads.rank() == 4 && grads.dim(0) == boxes.count() && grads.dim(3) == channels) {
    return ms::Status();
  }
  return ms::InvalidArgument("grads must be ", boxes.count(), " crops of ", channels,
                             " channels, but is ", grads.shape().ToString());
}

ms::Status CheckPixels(const ms::Shape& image, const char* name) {
  if (image.rank() == 4 && image[1] > 0 && image[2] > 0) return ms::Status();
  return ms::InvalidArgument(name, " must have 4 dimensions, and image dimensions must be ",
                             "positive, but is ", image.ToString());
}

// Reads whether `method` is "nearest".
ms::Status InitMethod(const ms::KernelInfo& info, bool* nearest) {
  std::string method;
  MS_TRY(info.Attr("method", &method));
  *nearest = method == "nearest";
  return ms::Status();
}

// The four pixels around a place, widened.
class Corners {
 public:
  Corners(const PixelFormat* format, const ms::View& image)
      : format_(format), image_(image), values_(4 * image.dim(3)) {}

  void Read(int64_t n, const Place& row, const Place& column) {
    const int64_t rows[] = {row.lower, row.upper};
    const int64_t columns[] = {column.lower, column.upper};
    const int64_t channels = image_.dim(3);
    for (int i = 0; i < 4; ++i) {
      const int64_t pixel = (n * image_.dim(1) + rows[i / 2]) * image_.dim(2) + columns[i % 2];
      format_->widen(image_.raw(), pixel * channels, channels, values_.data() + i * channels);
    }
  }
  // Channel c of the pixel above (0) or below (1), to the left (0) or right (1).
  float at(int row, int column, int64_t c) const {
    return values_[(2 * row + column) * image_.dim(3) + c];
  }

 private:
  const PixelFormat* const format_;
  const ms::View image_;
  std::vector<float> values_;
};

class CropAndResize {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    format_ = PixelFormatOf(info.input_dtype(0));
    if (format_ == nullptr) return NoLoopFor(info.input_dtype(0));
    MS_TRY(info.Attr("extrapolation_value", &outside_));
    return InitMethod(info, &nearest_);
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View image = frame.input(0);
    MS_TRY(CheckPixels(image.shape(), "image"));
    Boxes boxes;
    MS_TRY(boxes.Init(frame.input(1), frame.input(2), image.dim(0)));
    int64_t size[2];
    MS_TRY(ReadImageSize(frame.input(3), "crop_size", size));
    ms::View crops;
    MS_TRY(frame.Output(0, {boxes.count(), size[0], size[1], image.dim(3)}, &crops));
    if (crops.size() == 0) return ms::Status();
    return StoppableFor(frame, boxes.count(), 4 * (crops.size() / boxes.count()) + 1,
                        [&](uint64_t begin, uint64_t end) {
                          for (uint64_t i = begin; i < end; ++i) Crop(image, boxes, i, crops);
                        });
  }

 private:
  void Crop(const ms::View& image, const Boxes& boxes, int64_t box, const ms::View& crops) const {
    Window window = boxes.WindowOf(box, image.shape(), crops.dim(1), crops.dim(2));
    if (nearest_) {
      Round(&window.rows);
      Round(&window.columns);
    }
    const int64_t channels = image.dim(3);
    Corners corners(format_, image);
    float* to = crops.data<float>() + box * crops.dim(1) * crops.dim(2) * channels;
    for (const Place& row : window.rows) {
      for (const Place& column : window.columns) {
        if (!row.inside || !column.inside) {
          std::fill_n(to, channels, outside_);
          to += channels;
          continue;
        }
        corners.Read(boxes.image(box), row, column);
        for (int64_t c = 0; c < channels; ++c) {
          const float left = corners.at(0, 0, c);
          const float above = left + (corners.at(0, 1, c) - left) * column.share;
          const float below_left = corners.at(1, 0, c);
          const float below = below_left + (corners.at(1, 1, c) - below_left) * column.share;
          *to++ = above + (below - above) * row.share;
        }
      }
    }
  }

  const PixelFormat* format_ = nullptr;
  float outside_ = 0;
  bool nearest_ = false;
};

class CropGradImage {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    format_ = PixelFormatOf(info.output_dtype(0));
    if (format_ == nullptr) return NoLoopFor(info.output_dtype(0));
    return InitMethod(info, &nearest_);
  }

  ms::Status Compute(ms::Frame& frame) const {
    ms::Shape shape;
    MS_TRY(ReadShape(frame.input(3), &shape));
    Boxes boxes;
    MS_TRY(boxes.Init(frame.input(1), frame.input(2), shape[0]));
    const ms::View grads = frame.input(0);
    MS_TRY(CheckGrads(grads, boxes, shape[3]));
    ms::View output;
    MS_TRY(frame.Output(0, shape, &output));
    if (output.size() == 0) return ms::Status();
    // Boxes overlap, so one thread has all of an image.
    return StoppableFor(frame, shape[0], output.size() / shape[0] + 4 * grads.size() + 1,
                        [&](uint64_t begin, uint64_t end) {
                          for (uint64_t n = begin; n < end; ++n) AddImage(grads, boxes, n, output);
                        });
  }

 private:
  static ms::Status ReadShape(const ms::View& sizes, ms::Shape* shape) {
    if (sizes.rank() != 1 || sizes.size() != 4) {
      return ms::InvalidArgument("image_size must be a vector of 4 sizes, but has shape ",
                                 sizes.shape().ToString());
    }
    for (int i = 0; i < 4; ++i) {
      shape->Append(sizes.data<int32_t>()[i]);
      if ((*shape)[i] >= 0) continue;
      return ms::InvalidArgument("image_size[", i, "] = ", (*shape)[i], " is negative");
    }
    return CheckPixels(*shape, "image_size");
  }

  void AddImage(const ms::View& grads, const Boxes& boxes, int64_t n,
                const ms::View& output) const {
    const int64_t elements = output.size() / output.dim(0);
    std::vector<float> sums(elements);
    for (int64_t box = 0; box < boxes.count(); ++box) {
      if (boxes.image(box) == n) AddBox(grads, boxes, box, output.shape(), sums.data());
    }
    format_->narrow(sums.data(), elements, output.raw(), n * elements);
  }

  void AddBox(const ms::View& grads, const Boxes& boxes, int64_t box, const ms::Shape& image,
              float* sums) const {
    Window window = boxes.WindowOf(box, image, grads.dim(1), grads.dim(2));
    if (nearest_) {
      Round(&window.rows);
      Round(&window.columns);
    }
    const int64_t channels = image[3];
    const float* from = grads.data<float>() + box * grads.dim(1) * grads.dim(2) * channels;
    for (const Place& row : window.rows) {
      for (const Place& column : window.columns) {
        if (!row.inside || !column.inside) {
          from += channels;
          continue;
        }
        const auto add = [&](int64_t y, int64_t x, float weight) {
          float* const sum = sums + (y * image[2] + x) * channels;
          for (int64_t c = 0; c < channels; ++c) sum[c] += weight * from[c];
        };
        add(row.lower, column.lower, (1 - row.share) * (1 - column.share));
        if (!nearest_) {
          add(row.lower, column.upper, (1 - row.share) * column.share);
          add(row.upper, column.lower, row.share * (1 - column.share));
          add(row.upper, column.upper, row.share * column.share);
        }
        from += channels;
      }
    }
  }

  const PixelFormat* format_ = nullptr;
  bool nearest_ = false;
};

class CropGradBoxes {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    format_ = PixelFormatOf(info.input_dtype(1));
    return format_ == nullptr ? NoLoopFor(info.input_dtype(1)) : ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View image = frame.input(1);
    MS_TRY(CheckPixels(image.shape(), "image"));
    Boxes boxes;
    MS_TRY(boxes.Init(frame.input(2), frame.input(3), image.dim(0)));
    const ms::View grads = frame.input(0);
    MS_TRY(CheckGrads(grads, boxes, image.dim(3)));
    ms::View output;
    MS_TRY(frame.Output(0, {boxes.count(), 4}, &output));
    if (output.size() == 0) return ms::Status();
    return StoppableFor(frame, boxes.count(), 6 * (grads.size() / boxes.count()) + 1,
                        [&](uint64_t begin, uint64_t end) {
                          for (uint64_t i = begin; i < end; ++i) {
                            SumBox(grads, image, boxes, i, output.data<float>() + 4 * i);
                          }
                        });
  }

 private:
  // How much a place changes a result, times how far each side of the box moves the place.
  void SumBox(const ms::View& grads, const ms::View& image, const Boxes& boxes, int64_t box,
              float* result) const {
    const Window window = boxes.WindowOf(box, image.shape(), grads.dim(1), grads.dim(2));
    const int64_t channels = image.dim(3);
    const float height = static_cast<float>(image.dim(1) - 1);
    const float width = static_cast<float>(image.dim(2) - 1);
    Corners corners(format_, image);
    std::fill_n(result, 4, 0.0f);
    const float* from = grads.data<float>() + box * grads.dim(1) * grads.dim(2) * channels;
    for (const Place& row : window.rows) {
      for (const Place& column : window.columns) {
        if (!row.inside || !column.inside) {
          from += channels;
          continue;
        }
        corners.Read(boxes.image(box), row, column);
        float down = 0;
        float right = 0;
        for (int64_t c = 0; c < channels; ++c) {
          const float left_slope = corners.at(1, 0, c) - corners.at(0, 0, c);
          const float right_slope = corners.at(1, 1, c) - corners.at(0, 1, c);
          const float upper_slope = corners.at(0, 1, c) - corners.at(0, 0, c);
          const float lower_slope = corners.at(1, 1, c) - corners.at(1, 0, c);
          const float gradient = *from++;
          down += gradient * (left_slope + (right_slope - left_slope) * column.share);
          right += gradient * (upper_slope + (lower_slope - upper_slope) * row.share);
        }
        result[0] += down * height * (1 - row.spread);
        result[1] += right * width * (1 - column.spread);
        result[2] += down * height * row.spread;
        result[3] += right * width * column.spread;
      }
    }
  }

  const PixelFormat* format_ = nullptr;
};

const ms::Registered crop = ms::Register<CropAndResize>(
    "CropAndResize", ms::KernelOptions().HostArg("boxes").HostArg("box_ind").HostArg("crop_size"));
const ms::Registered crop_grad_image = ms::Register<CropGradImage>(
    "CropAndResizeGradImage",
    ms::KernelOptions().HostArg("boxes").HostArg("box_ind").HostArg("image_size"));
const ms::Registered crop_grad_boxes = ms::Register<CropGradBoxes>(
    "CropAndResizeGradBoxes", ms::KernelOptions().HostArg("boxes").HostArg("box_ind"));

}  // namespace
}  // namespace millstream::kernels
