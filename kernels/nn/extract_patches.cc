// ExtractImagePatches and ExtractVolumePatches. Elements are moved whatever their type is.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/parallel.h"
#include "kernels/common/type_table.h"
#include "kernels/nn/window.h"

namespace millstream::kernels {
namespace {

// The patches of one problem. Each is a window's pixels with their channels, in row-major order.
struct PatchShape {
  int64_t batch = 0;
  Spatial input = {1, 1, 1};
  Spatial output = {1, 1, 1};
  Spatial ksize = {1, 1, 1};
  Spatial stride = {1, 1, 1};
  Spatial rate = {1, 1, 1};
  Spatial before = {0, 0, 0};
  int64_t pixel_bytes = 0;

  int64_t NumPatches() const { return batch * output[0] * output[1] * output[2]; }
  int64_t PatchBytes() const { return ksize[0] * ksize[1] * ksize[2] * pixel_bytes; }
};

class ExtractPatches {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    std::vector<int64_t> ksizes;
    MS_TRY(info.Attr("ksizes", &ksizes));
    volumes_ = ksizes.size() == 5;
    MS_TRY(InitSpatial(info, "ksizes", &ksize_));
    MS_TRY(InitSpatial(info, "strides", &stride_));
    if (info.HasAttr("rates")) MS_TRY(InitSpatial(info, "rates", &rate_));
    return InitPadding(info, &padding_);
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View images = frame.input(0);
    PatchShape shape;
    ms::Shape patches;
    MS_TRY(Fit(images, &shape, &patches));
    ms::View output;
    MS_TRY(frame.Output(0, patches, &output));
    if (output.size() == 0) return ms::Status();
    const char* const from = images.data<char>();
    char* const to = output.data<char>();
    return StoppableFor(frame, shape.NumPatches(), shape.PatchBytes() / 8 + 1,
                        [&](uint64_t begin, uint64_t end) {
                          for (uint64_t i = begin; i < end; ++i) {
                            CopyPatch(shape, i, from, to + i * shape.PatchBytes());
                          }
                        });
  }

 private:
  // Reads a list with one number a dimension, which is 1 for batch and channels.
  ms::Status InitSpatial(const ms::KernelInfo& info, const char* name, Spatial* spatial) const {
    std::vector<int64_t> entries;
    MS_TRY(info.Attr(name, &entries));
    const size_t rank = volumes_ ? 5 : 4;
    if (entries.size() != rank) {
      return ms::InvalidArgument(name, " must have ", rank, " entries, not ", entries.size());
    }
    for (int64_t entry : entries) {
      if (entry >= 1 && entry <= std::numeric_limits<int32_t>::max()) continue;
      return ms::OutOfRange(name, " has the entry ", entry, ", expected a positive 32-bit integer");
    }
    if (entries.front() != 1 || entries.back() != 1) {
      return ms::Unimplemented(name, " must be 1 for batch and channels, not ", entries.front(),
                               " and ", entries.back());
    }
    for (uint32_t i = 0; i < 3; ++i) {
      if (TensorDim(i) > 0) (*spatial)[i] = entries[TensorDim(i)];
    }
    return ms::Status();
  }

  // The dimension of the tensor for the outer, middle or inner one; 0 if there is none.
  uint32_t TensorDim(uint32_t i) const { return volumes_ ? 1 + i : i == 1 ? 0 : 1 + i / 2; }

  ms::Status Fit(const ms::View& images, PatchShape* shape, ms::Shape* patches) const {
    const uint32_t rank = volumes_ ? 5 : 4;
    const char* const name = volumes_ ? "input" : "images";
    if (images.rank() != rank) {
      return ms::InvalidArgument(name, " must have ", rank, " dimensions, but is ",
                                 images.shape().ToString());
    }
    *patches = images.shape();
    shape->batch = images.dim(0);
    shape->ksize = ksize_;
    shape->stride = stride_;
    shape->rate = rate_;
    shape->pixel_bytes = images.dim(rank - 1) * ms::ElementSize(images.dtype());
    int64_t depth = images.dim(rank - 1);
    bool overflow = false;
    for (uint32_t i = 0; i < 3; ++i) {
      overflow = __builtin_mul_overflow(depth, ksize_[i], &depth) || overflow;
      if (TensorDim(i) == 0) continue;
      shape->input[i] = images.dim(TensorDim(i));
      WindowFit fit;
      MS_TRY(FitWindow(padding_, stride_[i], shape->input[i], (ksize_[i] - 1) * rate_[i] + 1,
                       "size", &fit));
      shape->output[i] = fit.output;
      shape->before[i] = fit.before;
      (*patches)[TensorDim(i)] = fit.output;
    }
    if (overflow) return ms::InvalidArgument("ksizes: a patch has more elements than fit an int64");
    (*patches)[rank - 1] = depth;
    return ms::Status();
  }

  static void CopyPatch(const PatchShape& shape, int64_t patch, const char* from, char* to) {
    Spatial first;  // input position of the patch's first pixel
    for (uint32_t i = 3; i-- > 0;) {
      first[i] = patch % shape.output[i] * shape.stride[i] - shape.before[i];
      patch /= shape.output[i];
    }
    const int64_t line_bytes = shape.ksize[2] * shape.pixel_bytes;
    for (int64_t outer = 0; outer < shape.ksize[0]; ++outer) {
      const int64_t y = first[0] + outer * shape.rate[0];
      for (int64_t middle = 0; middle < shape.ksize[1]; ++middle, to += line_bytes) {
        const int64_t x = first[1] + middle * shape.rate[1];
        if (y < 0 || y >= shape.input[0] || x < 0 || x >= shape.input[1]) {
          std::memset(to, 0, line_bytes);
          continue;
        }
        const int64_t line = (patch * shape.input[0] + y) * shape.input[1] + x;
        CopyLine(shape, first[2], from + line * shape.input[2] * shape.pixel_bytes, to);
      }
    }
  }

  // One line of a patch, from a line of the input.
  static void CopyLine(const PatchShape& shape, int64_t first, const char* from, char* to) {
    const int64_t size = shape.pixel_bytes;
    if (shape.rate[2] == 1) {
      const int64_t begin = std::clamp<int64_t>(-first, 0, shape.ksize[2]);
      const int64_t end = std::clamp<int64_t>(shape.input[2] - first, begin, shape.ksize[2]);
      std::memset(to, 0, begin * size);
      if (begin < end) {
        std::memcpy(to + begin * size, from + (first + begin) * size, (end - begin) * size);
      }
      std::memset(to + end * size, 0, (shape.ksize[2] - end) * size);
      return;
    }
    for (int64_t inner = 0; inner < shape.ksize[2]; ++inner, to += size) {
      const int64_t x = first + inner * shape.rate[2];
      if (x < 0 || x >= shape.input[2]) {
        std::memset(to, 0, size);
      } else {
        std::memcpy(to, from + x * size, size);
      }
    }
  }

  bool volumes_ = false;
  Padding padding_ = Padding::kValid;
  Spatial ksize_ = {1, 1, 1};
  Spatial stride_ = {1, 1, 1};
  Spatial rate_ = {1, 1, 1};
};

const ms::Registered image_patches = ms::Register<ExtractPatches>(
    "ExtractImagePatches", ms::KernelOptions().Types("T", TypesIn(kOrderedTypes)));
const ms::Registered volume_patches = ms::Register<ExtractPatches>(
    "ExtractVolumePatches", ms::KernelOptions().Types("T", TypesIn(kOrderedTypes)));

}  // namespace
}  // namespace millstream::kernels
