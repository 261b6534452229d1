// SpaceToDepth and DepthToSpace: elements of any type move between the pixels of square blocks and
// the channels of one.
#include <cstdint>
#include <string>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"
#include "kernels/array/strided_copy.h"

namespace millstream::kernels {
namespace {

class MoveDepth {
 public:
  struct Row {
    bool to_depth;
  };

  explicit MoveDepth(const Row& row) : row_(row) {}

  ms::Status Init(const ms::KernelInfo& info) {
    std::string format;
    MS_TRY(info.Attr("data_format", &format));
    if (format != "NHWC" && format != "NCHW") {
      return ms::Unimplemented("data_format must be NHWC or NCHW here, not ", format);
    }
    channels_first_ = format == "NCHW";
    return info.Attr("block_size", &block_);
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View input = frame.input(0);
    ms::Shape shape = input.shape();
    if (shape.rank() != 4) {
      return ms::InvalidArgument("input must have 4 dimensions, but is ", shape.ToString());
    }
    const ms::Shape given = shape;
    MS_TRY(Scale(&shape[height()], row_.to_depth, block_, "height"));
    MS_TRY(Scale(&shape[height() + 1], row_.to_depth, block_, "width"));
    MS_TRY(Scale(&shape[channel()], !row_.to_depth, block_ * block_, "channels"));
    ms::View output;
    MS_TRY(frame.Output(0, shape, &output));
    if (output.size() == 0) return ms::Status();
    return Move(frame, row_.to_depth ? shape : given, input, output);
  }

 private:
  uint32_t height() const { return channels_first_ ? 2 : 1; }
  uint32_t channel() const { return channels_first_ ? 1 : 3; }

  // A size of input, divided by `factor` or multiplied.
  static ms::Status Scale(int64_t* size, bool divide, int64_t factor, const char* name) {
    if (divide && *size % factor != 0) {
      return ms::InvalidArgument("input: ", name, " ", *size, " must be a multiple of ", factor);
    }
    if (divide) {
      *size /= factor;
    } else if (__builtin_mul_overflow(*size, factor, size)) {
      return ms::InvalidArgument("input: ", name, " times ", factor, " is too large");
    }
    return ms::Status();
  }

  // `depth`: the shape with few pixels. Loops go as its elements lie.
  ms::Status Move(ms::Frame& frame, const ms::Shape& depth, const ms::View& input,
                  const ms::View& output) const {
    const int64_t rows = depth[height()];
    const int64_t columns = depth[height() + 1];
    const int64_t channels = depth[channel()] / (block_ * block_);
    // In the tensor with many pixels.
    const int64_t pixel = channels_first_ ? 1 : channels;
    const int64_t row = columns * block_ * pixel;
    const int64_t plane = rows * block_ * columns * block_;
    // In that with many channels.
    const int64_t deep_channel = channels_first_ ? rows * columns : 1;
    const int64_t deep_pixel = channels_first_ ? 1 : depth[3];

    StridedCopy copy;
    const auto add = [&](int64_t extent, int64_t wide, int64_t deep) {
      copy.AddDim(extent, row_.to_depth ? wide : deep, row_.to_depth ? deep : wide);
    };
    const auto add_pixels = [&] {
      add(rows, block_ * row, columns * deep_pixel);
      add(columns, block_ * pixel, deep_pixel);
    };
    add(depth[0], plane * channels, plane * channels);
    if (!channels_first_) add_pixels();
    add(block_, row, block_ * channels * deep_channel);
    add(block_, pixel, channels * deep_channel);
    add(channels, channels_first_ ? plane : 1, deep_channel);
    if (channels_first_) add_pixels();
    return copy.Run(frame, input, 0, output, 0);
  }

  Row row_;
  bool channels_first_ = false;
  int64_t block_ = 0;
};

const MoveDepth::Row kSpaceToDepth = {true};
const MoveDepth::Row kDepthToSpace = {false};

const ms::Registered space_to_depth = ms::RegisterRow<MoveDepth>(
    "SpaceToDepth", kSpaceToDepth, ms::KernelOptions().Types("T", MovableTypes()));
const ms::Registered depth_to_space = ms::RegisterRow<MoveDepth>(
    "DepthToSpace", kDepthToSpace, ms::KernelOptions().Types("T", MovableTypes()));

}  // namespace
}  // namespace millstream::kernels
