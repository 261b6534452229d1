// Ops that move blocks of a tensor's spatial dimensions into its batch or its channels, and back.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/op_registry.h"
#include "framework/ops/index_values.h"
#include "framework/ops/op_errors.h"
#include "framework/ops/type_sets.h"
#include "framework/ops/window_arithmetic.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// `size` / `divisor` where both are known. INVALID_ARGUMENT when there is a rest.
StatusOr<int64_t> Divided(int64_t size, int64_t divisor) {
  if (size == kUnknownDim || divisor == kUnknownDim) return kUnknownDim;
  if (size % divisor != 0) {
    return errors::InvalidArgument("Dimension size must be evenly divisible by ", divisor,
                                   " but is ", size);
  }
  return size / divisor;
}

// The same for products. INVALID_ARGUMENT when 63 bits do not hold it.
StatusOr<int64_t> Multiplied(int64_t size, int64_t factor) {
  if (size == kUnknownDim || factor == kUnknownDim) return kUnknownDim;
  int64_t product = 0;
  if (__builtin_mul_overflow(size, factor, &product)) {
    return errors::InvalidArgument("a dimension of ", size, " times ", factor, " is too large");
  }
  return product;
}

// ---- Space and batch ----

// The blocks that a tensor is cut into, as far as known.
struct Blocks {
  int count = -1;      // how many dimensions are cut; -1 when unknown
  PartialValue sizes;  // of blocks, one a dimension
  // For each dimension what is added to, or cropped from, both ends; nothing when unknown.
  std::optional<std::vector<int64_t>> margins;
  int margins_input = 0;
};

// Reads the margins, input `i`: pairs, as many as blocks.count, which they may tell.
Status ReadMargins(const ShapeContext& context, int i, Blocks* blocks) {
  MS_ASSIGN_OR_RETURN(const PartialShape shape, context.WithRank(i, 2));
  const bool counted = blocks->count >= 0 && shape.dim(0) != kUnknownDim;
  if ((counted && shape.dim(0) != blocks->count) ||
      (shape.dim(1) != kUnknownDim && shape.dim(1) != 2)) {
    return InvalidInput(context, i, "expected shape [", blocks->count,
                        ",2], a pair for each dimension of a block, got ", shape.ToString());
  }
  if (blocks->count < 0 && shape.dim(0) != kUnknownDim) {
    MS_RETURN_IF_ERROR(CheckEntryCount(context, i, shape.dim(0)));
    blocks->count = static_cast<int>(shape.dim(0));
    blocks->sizes.resize(blocks->count);
  }
  blocks->margins_input = i;
  if (context.constant(i) == nullptr) return absl::OkStatus();
  MS_ASSIGN_OR_RETURN(std::vector<int64_t> margins, IntegerValues(*context.constant(i)));
  for (const int64_t margin : margins) {
    if (margin < 0) return InvalidInput(context, i, "must not be negative, got ", margin);
  }
  blocks->margins = std::move(margins);
  return absl::OkStatus();
}

// Inputs: input, block_shape, and paddings or crops.
StatusOr<Blocks> BlocksOfInputs(const ShapeContext& context) {
  MS_ASSIGN_OR_RETURN(const PartialShape shape, context.WithRank(1, 1));
  Blocks blocks;
  if (shape.dim(0) != kUnknownDim) {
    MS_RETURN_IF_ERROR(CheckEntryCount(context, 1, shape.dim(0)));
    blocks.count = static_cast<int>(shape.dim(0));
    blocks.sizes = IndexElements(context, 1).value_or(PartialValue(blocks.count));
  }
  for (const std::optional<int64_t>& size : blocks.sizes) {
    if (size.has_value() && *size < 1) {
      return InvalidInput(context, 1, "block sizes must be above 0, got ", *size);
    }
  }
  MS_RETURN_IF_ERROR(ReadMargins(context, 2, &blocks));
  return blocks;
}

// Inputs: an image, and paddings or crops; square blocks of attribute block_size.
StatusOr<Blocks> BlocksOfAttr(const ShapeContext& context) {
  MS_ASSIGN_OR_RETURN(const int64_t size, context.Attr<int64_t>("block_size"));
  Blocks blocks;
  blocks.count = 2;
  blocks.sizes = PartialValue(2, size);
  MS_RETURN_IF_ERROR(ReadMargins(context, 1, &blocks));
  return blocks;
}

// What the margins of dimension i of a block take together; nullopt when unknown.
StatusOr<std::optional<int64_t>> MarginOf(const Blocks& blocks, int i) {
  if (!blocks.margins.has_value()) return std::optional<int64_t>();
  int64_t sum = 0;
  if (__builtin_add_overflow((*blocks.margins)[2 * i], (*blocks.margins)[2 * i + 1], &sum)) {
    return errors::InvalidArgument("the entries for dimension ", i, " are too large");
  }
  return std::optional<int64_t>(sum);
}

// The size of a padded dimension in blocks.
StatusOr<int64_t> SizeInBlocks(const Blocks& blocks, int i, int64_t size) {
  MS_ASSIGN_OR_RETURN(const std::optional<int64_t> margin, MarginOf(blocks, i));
  if (!margin.has_value() || size == kUnknownDim) return kUnknownDim;
  if (__builtin_add_overflow(size, *margin, &size)) {
    return errors::InvalidArgument("dimension ", i, " with ", *margin, " more is too large");
  }
  return Divided(size, blocks.sizes[i].value_or(kUnknownDim));
}

// The reverse of it: a size in blocks multiplied, then cropped.
StatusOr<int64_t> SizeOfBlocks(const Blocks& blocks, int i, int64_t size) {
  MS_ASSIGN_OR_RETURN(const std::optional<int64_t> margin, MarginOf(blocks, i));
  MS_ASSIGN_OR_RETURN(size, Multiplied(size, blocks.sizes[i].value_or(kUnknownDim)));
  if (!margin.has_value() || size == kUnknownDim) return kUnknownDim;
  if (*margin > size) {
    return errors::InvalidArgument("cannot crop ", *margin, " elements of ", size);
  }
  return size - *margin;
}

// The product of the block's sizes; kUnknownDim when one is unknown.
StatusOr<int64_t> BlockElements(const Blocks& blocks) {
  int64_t elements = 1;
  for (const std::optional<int64_t>& size : blocks.sizes) {
    MS_ASSIGN_OR_RETURN(elements, Multiplied(elements, size.value_or(kUnknownDim)));
  }
  return elements;
}

enum class Move { kToBatch, kFromBatch };

template <Move kMove>
Status SetMovedShape(ShapeContext* context, const Blocks& blocks) {
  context->SetOutput(0, PartialShape());
  if (blocks.count < 0) return absl::OkStatus();
  MS_ASSIGN_OR_RETURN(PartialShape shape, context->WithRankAtLeast(0, blocks.count + 1));
  if (!shape.known_rank()) return absl::OkStatus();
  constexpr bool kToBatch = kMove == Move::kToBatch;
  const auto size_of = kToBatch ? SizeInBlocks : SizeOfBlocks;
  for (int i = 0; i < blocks.count; ++i) {
    const StatusOr<int64_t> size = size_of(blocks, i, shape.dim(i + 1));
    if (!size.ok()) return InputError(*context, blocks.margins_input, size.status());
    shape.set_dim(i + 1, *size);
  }
  const StatusOr<int64_t> elements = BlockElements(blocks);
  if (!elements.ok()) return InputError(*context, 0, elements.status());
  const StatusOr<int64_t> batch =
      kToBatch ? Multiplied(shape.dim(0), *elements) : Divided(shape.dim(0), *elements);
  if (!batch.ok()) return InputError(*context, 0, batch.status());
  shape.set_dim(0, *batch);
  context->SetOutput(0, std::move(shape));
  return absl::OkStatus();
}

template <Move kMove>
Status MovedByInputsShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const Blocks blocks, BlocksOfInputs(*context));
  return SetMovedShape<kMove>(context, blocks);
}

template <Move kMove>
Status MovedByAttrShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape image, context->WithRank(0, kImageRank));
  MS_ASSIGN_OR_RETURN(const Blocks blocks, BlocksOfAttr(*context));
  MS_RETURN_IF_ERROR(SetMovedShape<kMove>(context, blocks));
  // Of an image whose rank is unknown, the result's is known all the same.
  if (!context->input(0).known_rank()) context->SetOutput(0, std::move(image));
  return absl::OkStatus();
}

// ---- Space and depth ----

template <bool kToDepth>
Status DepthShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const std::string format, context->Attr<std::string>("data_format"));
  const StatusOr<ImageLayout> layout = ParseImageLayout(format);
  if (!layout.ok()) return AttrError(*context, "data_format", layout.status());
  MS_ASSIGN_OR_RETURN(const int64_t block, context->Attr<int64_t>("block_size"));
  MS_ASSIGN_OR_RETURN(PartialShape shape, context->WithRank(0, kImageRank));
  const auto larger = [&](int i, int64_t factor) -> Status {
    const StatusOr<int64_t> size = Multiplied(shape.dim(i), factor);
    if (!size.ok()) return InputError(*context, 0, size.status());
    shape.set_dim(i, *size);
    return absl::OkStatus();
  };
  const auto smaller = [&](int i, int64_t divisor) -> Status {
    const StatusOr<int64_t> size = Divided(shape.dim(i), divisor);
    if (!size.ok()) return InputError(*context, 0, size.status());
    shape.set_dim(i, *size);
    return absl::OkStatus();
  };
  int64_t square = 0;
  if (__builtin_mul_overflow(block, block, &square)) {
    return InvalidAttr(*context, "block_size", "its square is too large, got ", block);
  }
  for (const int i : {layout->height, layout->width}) {
    MS_RETURN_IF_ERROR(kToDepth ? smaller(i, block) : larger(i, block));
  }
  MS_RETURN_IF_ERROR(kToDepth ? larger(layout->channels, square)
                              : smaller(layout->channels, square));
  context->SetOutput(0, std::move(shape));
  return absl::OkStatus();
}

void DepthAttrs(OpSpec* spec) {
  (*spec)
      .Attr("T: type")
      .Attr("block_size: int >= 2")
      .Attr("data_format: {\"NHWC\", \"NCHW\", \"NCHW_VECT_C\"} = \"NHWC\"");
}

MILLSTREAM_OP("SpaceToBatchND")
    .Input("input: T")
    .Input("block_shape: Tblock_shape")
    .Input("paddings: Tpaddings")
    .Output("output: T")
    .Attr("T: type")
    .Attr(TypeAttr("Tblock_shape", kIndexTypes, " = int32"))
    .Attr(TypeAttr("Tpaddings", kIndexTypes, " = int32"))
    .KeepsFinite()
    .Shape(MovedByInputsShape<Move::kToBatch>)
    .Doc(R"(Cuts dimensions into blocks whose elements become entries of the batch.

The dimensions after the first, as many as block_shape has sizes, are padded with zeros by the pairs
of paddings and cut into blocks of block_shape. Of each block, element k goes to part k of the
output's batch, which has one part, as long as the input's batch, for each element of a block.
INVALID_ARGUMENT when a padded dimension is no multiple of its block.)")
    .Example(R"(
>>> tf.space_to_batch_nd([[1, 2, 3, 4]], [2], [[0, 0]]).eval()
array([[1, 3],
       [2, 4]], dtype=int32))");

MILLSTREAM_OP("BatchToSpaceND")
    .Input("input: T")
    .Input("block_shape: Tblock_shape")
    .Input("crops: Tcrops")
    .Output("output: T")
    .Attr("T: type")
    .Attr(TypeAttr("Tblock_shape", kIndexTypes, " = int32"))
    .Attr(TypeAttr("Tcrops", kIndexTypes, " = int32"))
    .KeepsFinite()
    .Shape(MovedByInputsShape<Move::kFromBatch>)
    .Doc(R"(Puts entries of the batch together to blocks of the dimensions after it.

The reverse of SpaceToBatchND: crops has the pairs of what is cut off both ends of each dimension.
INVALID_ARGUMENT when the batch is no multiple of the block, or more is cropped than there is.)")
    .Example(R"(
>>> tf.batch_to_space_nd([[1, 3], [2, 4]], [2], [[0, 1]]).eval()
array([[1, 2, 3]], dtype=int32))");

MILLSTREAM_OP("SpaceToBatch")
    .Input("input: T")
    .Input("paddings: Tpaddings")
    .Output("output: T")
    .Attr("T: type")
    .Attr(TypeAttr("Tpaddings", kIndexTypes, " = int32"))
    .Attr("block_size: int >= 2")
    .KeepsFinite()
    .Shape(MovedByAttrShape<Move::kToBatch>)
    .Doc("As SpaceToBatchND with square blocks of images, [batch, height, width, channels].");

MILLSTREAM_OP("BatchToSpace")
    .Input("input: T")
    .Input("crops: Tidx")
    .Output("output: T")
    .Attr("T: type")
    .Attr("block_size: int >= 2")
    .Attr(TypeAttr("Tidx", kIndexTypes, " = int32"))
    .KeepsFinite()
    .Shape(MovedByAttrShape<Move::kFromBatch>)
    .Doc("As BatchToSpaceND with square blocks of images, [batch, height, width, channels].");

MILLSTREAM_OP("SpaceToDepth")
    .Input("input: T")
    .Output("output: T")
    .With(DepthAttrs)
    .KeepsFinite()
    .Shape(DepthShape<true>)
    .Doc(R"(Makes each square block of pixels of images one pixel with all their channels.

The channels of the pixels of a block lie side by side, row by row. INVALID_ARGUMENT when height or
width is no multiple of block_size; UNIMPLEMENTED for the order NCHW_VECT_C.)");

MILLSTREAM_OP("DepthToSpace")
    .Input("input: T")
    .Output("output: T")
    .With(DepthAttrs)
    .KeepsFinite()
    .Shape(DepthShape<false>)
    .Doc(R"(Makes each pixel of images a square block of pixels, which share its channels.

The reverse of SpaceToDepth. INVALID_ARGUMENT when the channels are no multiple of the square of
block_size; UNIMPLEMENTED for the order NCHW_VECT_C.)");

}  // namespace
}  // namespace millstream
