// DrawBoundingBoxes and DrawBoundingBoxesV2.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/parallel.h"
#include "kernels/common/type_table.h"
#include "kernels/image/pixels.h"

namespace millstream::kernels {
namespace {

// Yellow, blue, red, lime, purple, olive, maroon, navy, aqua, fuchsia.
constexpr float kColors[][4] = {{1, 1, 0, 1},     {0, 0, 1, 1},     {1, 0, 0, 1},   {0, 1, 0, 1},
                                {0.5, 0, 0.5, 1}, {0.5, 0.5, 0, 1}, {0.5, 0, 0, 1}, {0, 0, 0.5, 1},
                                {0, 1, 1, 1},     {1, 0, 1, 1}};

// The rows or columns of a box's two edges.
struct Edges {
  int64_t first;
  int64_t last;
};

// False if there are none, because the box ends before it begins or lies outside.
bool EdgesOf(float begin, float end, int64_t size, Edges* edges) {
  const float last = static_cast<float>(size - 1);
  const float from = std::trunc(begin * last);
  const float to = std::trunc(end * last);
  if (!(from <= to) || from >= static_cast<float>(size) || to < 0) return false;
  // What lies outside need not be exact.
  edges->first = from < 0 ? -1 : static_cast<int64_t>(from);
  edges->last = to >= static_cast<float>(size) ? size : static_cast<int64_t>(to);
  return true;
}

class DrawBoxes {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    format_ = PixelFormatOf(info.input_dtype(0));
    return format_ == nullptr ? NoLoopFor(info.input_dtype(0)) : ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View images = frame.input(0);
    const ms::View boxes = frame.input(1);
    MS_TRY(CheckShapes(images, boxes));
    std::vector<float> colors;
    MS_TRY(ReadColors(frame, images.dim(3), &colors));
    ms::View output;
    MS_TRY(frame.Output(0, images.shape(), &output));
    if (output.size() == 0) return ms::Status();
    return StoppableFor(frame, images.dim(0), images.size() / images.dim(0) / 4 + 1,
                        [&](uint64_t begin, uint64_t end) {
                          const uint64_t bytes = images.bytes() / images.dim(0);
                          std::memcpy(output.data<char>() + begin * bytes,
                                      images.data<char>() + begin * bytes, (end - begin) * bytes);
                          for (uint64_t n = begin; n < end; ++n) Draw(boxes, colors, n, output);
                        });
  }

 private:
  static ms::Status CheckShapes(const ms::View& images, const ms::View& boxes) {
    if (images.rank() != 4) {
      return ms::InvalidArgument("images must have 4 dimensions, but is ",
                                 images.shape().ToString());
    }
    const int64_t channels = images.dim(3);
    if (channels != 1 && channels != 3 && channels != 4) {
      return ms::InvalidArgument("images: Channel depth should be either 1 (GRY), 3 (RGB), or 4 ",
                                 "(RGBA), but is ", channels);
    }
    if (boxes.rank() == 3 && boxes.dim(0) == images.dim(0) && boxes.dim(2) == 4) {
      return ms::Status();
    }
    return ms::InvalidArgument("boxes must be [", images.dim(0), ", boxes, 4], but is ",
                               boxes.shape().ToString());
  }

  // Rows of as many numbers as a pixel has. In images of one channel the first number counts, which
  // is 1 for the default colors.
  static ms::Status ReadColors(ms::Frame& frame, int64_t channels, std::vector<float>* colors) {
    if (frame.num_inputs() > 2) {
      const ms::View own = frame.input(2);
      if (own.rank() != 2 || (own.dim(0) > 0 && own.dim(1) < channels)) {
        return ms::InvalidArgument("colors must have rows of ", channels,
                                   " numbers at least, but is ", own.shape().ToString());
      }
      for (int64_t i = 0; i < own.dim(0); ++i) {
        const float* const row = own.data<float>() + i * own.dim(1);
        colors->insert(colors->end(), row, row + channels);
      }
    }
    if (!colors->empty()) return ms::Status();
    for (const auto& color : kColors) {
      for (int64_t c = 0; c < channels; ++c) colors->push_back(channels == 1 ? 1 : color[c]);
    }
    return ms::Status();
  }

  void Draw(const ms::View& boxes, const std::vector<float>& colors, int64_t n,
            const ms::View& output) const {
    const int64_t height = output.dim(1);
    const int64_t width = output.dim(2);
    const int64_t channels = output.dim(3);
    const int64_t num_colors = static_cast<int64_t>(colors.size()) / channels;
    for (int64_t i = 0; i < boxes.dim(1); ++i) {
      const float* const box = boxes.data<float>() + 4 * (n * boxes.dim(1) + i);
      const float* const color = colors.data() + i % num_colors * channels;
      Edges rows;
      Edges columns;
      if (!EdgesOf(box[0], box[2], height, &rows)) continue;
      if (!EdgesOf(box[1], box[3], width, &columns)) continue;
      const auto paint = [&](int64_t y, int64_t x) {
        format_->narrow(color, channels, output.raw(), ((n * height + y) * width + x) * channels);
      };
      const int64_t bottom = std::min(rows.last, height - 1);
      const int64_t right = std::min(columns.last, width - 1);
      for (int64_t x = std::max<int64_t>(columns.first, 0); x <= right; ++x) {
        if (rows.first >= 0) paint(rows.first, x);
        if (rows.last < height) paint(rows.last, x);
      }
      for (int64_t y = std::max<int64_t>(rows.first, 0); y <= bottom; ++y) {
        if (columns.first >= 0) paint(y, columns.first);
        if (columns.last < width) paint(y, columns.last);
      }
    }
  }

  const PixelFormat* format_ = nullptr;
};

const ms::Registered draw = ms::Register<DrawBoxes>("DrawBoundingBoxes");
const ms::Registered draw_v2 =
    ms::Register<DrawBoxes>("DrawBoundingBoxesV2", ms::KernelOptions().HostArg("colors"));

}  // namespace
}  // namespace millstream::kernels
