// Patches: the elements of each window of an image or a volume.
#include <utility>
#include <vector>

#include "framework/op_registry.h"
#include "framework/ops/op_errors.h"
#include "framework/ops/type_sets.h"
#include "framework/ops/window_arithmetic.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// A list with one number a dimension, 1 for batch and channels. Small numbers are OUT_OF_RANGE, as
// programs expect.
StatusOr<std::vector<int64_t>> SpatialAttr(const ShapeContext& context, absl::string_view name,
                                           int rank) {
  MS_ASSIGN_OR_RETURN(std::vector<int64_t> values, context.Attr<std::vector<int64_t>>(name));
  if (static_cast<int>(values.size()) != rank) {
    return InvalidAttr(context, name, "expected ", rank, " values, got ", values.size());
  }
  for (const int64_t value : values) {
    if (value >= 1) continue;
    return errors::OutOfRange("attribute '", name, "' of ", context.op().name,
                              ": expected values above 0, got ", value);
  }
  if (values.front() == 1 && values.back() == 1) return values;
  return errors::Unimplemented("attribute '", name, "' of ", context.op().name,
                               ": only 1 is implemented for batch and channels");
}

Status PatchesShape(ShapeContext* context, int rank, bool has_rates) {
  MS_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, SpatialAttr(*context, "ksizes", rank));
  MS_ASSIGN_OR_RETURN(const std::vector<int64_t> strides, SpatialAttr(*context, "strides", rank));
  std::vector<int64_t> rates(rank, 1);
  if (has_rates) {
    MS_ASSIGN_OR_RETURN(rates, SpatialAttr(*context, "rates", rank));
  }
  MS_ASSIGN_OR_RETURN(const Padding padding, PaddingAttr(*context));
  MS_ASSIGN_OR_RETURN(PartialShape output, context->WithRank(0, rank));
  int64_t depth = output.dim(rank - 1);
  for (int i = 1; i + 1 < rank; ++i) {
    const StatusOr<int64_t> size =
        WindowedSize(output.dim(i), {sizes[i], strides[i], rates[i]}, padding);
    if (!size.ok()) return InputError(*context, 0, size.status());
    output.set_dim(i, *size);
    if (depth != kUnknownDim && __builtin_mul_overflow(depth, sizes[i], &depth)) {
      return InvalidAttr(*context, "ksizes", "a patch has more elements than 63 bits count");
    }
  }
  output.set_dim(rank - 1, depth);
  context->SetOutput(0, std::move(output));
  return absl::OkStatus();
}

Status ImagePatchesShape(ShapeContext* context) { return PatchesShape(context, 4, true); }
Status VolumePatchesShape(ShapeContext* context) { return PatchesShape(context, 5, false); }

MILLSTREAM_OP("ExtractImagePatches")
    .Input("images: T")
    .Output("patches: T")
    .Attr("ksizes: list(int) >= 4")
    .Attr("strides: list(int) >= 4")
    .Attr("rates: list(int) >= 4")
    .Attr(TypeAttr("T", kRealTypes))
    .Attr("padding: {\"SAME\", \"VALID\"}")
    .KeepsFinite()
    .Shape(ImagePatchesShape)
    .Doc(R"(Gives the elements of each window of an image, as one vector.

images has the channels last; ksizes is the window's size, strides its step and rates the
distance of its elements, one value a dimension, 1 for batch and channels. A patch has the
pixels of its window in row-major order, each with its channels. Where a window stands out over
the edge (SAME), there are zeros.)");

MILLSTREAM_OP("ExtractVolumePatches")
    .Input("input: T")
    .Output("patches: T")
    .Attr("ksizes: list(int) >= 5")
    .Attr("strides: list(int) >= 5")
    .Attr(TypeAttr("T", kRealTypes))
    .Attr("padding: {\"SAME\", \"VALID\"}")
    .KeepsFinite()
    .Shape(VolumePatchesShape)
    .Doc(R"(Gives the elements of each window of a volume, as one vector.

input has the channels last; ksizes is the window's size and strides its step, one value a
dimension, 1 for batch and channels. A patch is as that of ExtractImagePatches.)");

}  // namespace
}  // namespace millstream
