// SpaceToBatchND, BatchToSpaceND, SpaceToBatch, BatchToSpace: elements of any type move between the
// blocks of a large tensor and the parts of a batch.
#include <algorithm>
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"
#include "kernels/array/strided_copy.h"

namespace millstream::kernels {
namespace {

// How the tensor of blocks, the "space", and the batch of their elements lie to each other. Entry i
// of the lists is for dimension i + 1 of both.
struct BlockGeometry {
  ms::Shape space;
  ms::Shape batch;
  ms::Shape blocks;
  ms::Shape before;  // how much of the first block is not in the space

  uint32_t count() const { return blocks.rank(); }
};

// The positions [begin, end) of the batch whose element `offset` of a block is in the space.
void PositionsInside(const BlockGeometry& geometry, uint32_t i, int64_t offset, int64_t* begin,
                     int64_t* end) {
  const int64_t block = geometry.blocks[i];
  const int64_t lead = geometry.before[i] - offset;  // of the space's start before this element's
  *begin = lead <= 0 ? 0 : (lead + block - 1) / block;
  const int64_t reach = geometry.space[i + 1] + lead;
  *end = std::min(geometry.batch[i + 1], reach <= 0 ? 0 : (reach + block - 1) / block);
}

// Copies the elements of all blocks at `offsets`, part `part` of the batch.
ms::Status MovePart(ms::Frame& frame, const BlockGeometry& geometry, const ms::Shape& offsets,
                    int64_t part, bool to_batch, const ms::View& input, const ms::View& output) {
  const ms::Shape space_strides = RowMajorStrides(geometry.space);
  const ms::Shape batch_strides = RowMajorStrides(geometry.batch);
  StridedCopy copy;
  const auto add = [&](int64_t extent, int64_t space_stride, int64_t batch_stride) {
    copy.AddDim(extent, to_batch ? space_stride : batch_stride,
                to_batch ? batch_stride : space_stride);
  };
  add(geometry.space[0], space_strides[0], batch_strides[0]);
  int64_t space_start = 0;
  int64_t batch_start = part * geometry.space[0] * batch_strides[0];
  for (uint32_t i = 0; i < geometry.count(); ++i) {
    int64_t begin = 0;
    int64_t end = 0;
    PositionsInside(geometry, i, offsets[i], &begin, &end);
    if (begin >= end) return ms::Status();
    add(end - begin, space_strides[i + 1] * geometry.blocks[i], batch_strides[i + 1]);
    space_start +=
        (begin * geometry.blocks[i] + offsets[i] - geometry.before[i]) * space_strides[i + 1];
    batch_start += begin * batch_strides[i + 1];
  }
  add(DimProduct(geometry.space, geometry.count() + 1, geometry.space.rank()), 1, 1);
  return copy.Run(frame, input, to_batch ? space_start : batch_start, output,
                  to_batch ? batch_start : space_start);
}

ms::Status MoveParts(ms::Frame& frame, const BlockGeometry& geometry, bool to_batch,
                     const ms::View& input, const ms::View& output) {
  constexpr int64_t kPartsBetweenChecks = 4096;
  ms::Shape offsets;
  for (uint32_t i = 0; i < geometry.count(); ++i) offsets.Append(0);
  for (int64_t part = 0;; ++part) {
    if (part % kPartsBetweenChecks == kPartsBetweenChecks - 1) MS_TRY(frame.CheckCancelled());
    MS_TRY(MovePart(frame, geometry, offsets, part, to_batch, input, output));
    uint32_t i = geometry.count();
    while (i > 0 && ++offsets[i - 1] == geometry.blocks[i - 1]) offsets[--i] = 0;
    if (i == 0) return ms::Status();
  }
}

// Inputs: the tensor; block_shape, unless attribute block_size says it; paddings or crops.
class MoveBlocks {
 public:
  struct Row {
    bool to_batch;
    bool by_attr;
  };

  explicit MoveBlocks(const Row& row) : row_(row) {}
  ms::Status Init(const ms::KernelInfo& info) {
    return row_.by_attr ? info.Attr("block_size", &block_size_) : ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View input = frame.input(0);
    BlockGeometry geometry;
    MS_TRY(ReadBlocks(frame, &geometry));
    MS_TRY(FitBlocks(frame.input(row_.by_attr ? 1 : 2), input.shape(), &geometry));
    ms::View output;
    MS_TRY(frame.Output(0, row_.to_batch ? geometry.batch : geometry.space, &output));
    if (output.size() == 0) return ms::Status();
    if (row_.to_batch && output.size() != input.size()) MS_TRY(SetToZero(frame, output));
    if (input.size() == 0) return ms::Status();
    return MoveParts(frame, geometry, row_.to_batch, input, output);
  }

 private:
  ms::Status ReadBlocks(ms::Frame& frame, BlockGeometry* geometry) const {
    const ms::Shape input = frame.input(0).shape();
    if (row_.by_attr) {
      geometry->blocks = {block_size_, block_size_};
      if (input.rank() == 4) return ms::Status();
      return ms::InvalidArgument("input must have 4 dimensions, but is ", input.ToString());
    }
    MS_TRY(ReadIndexVector(frame.input(1), "block_shape", &geometry->blocks));
    for (uint32_t i = 0; i < geometry->count(); ++i) {
      if (geometry->blocks[i] < 1) {
        return ms::InvalidArgument("block_shape[", i, "] = ", geometry->blocks[i],
                                   " must be positive");
      }
    }
    if (input.rank() > geometry->count()) return ms::Status();
    return ms::InvalidArgument("input must have more dimensions than block_shape has sizes, ",
                               geometry->count(), ", but is ", input.ToString());
  }

  // `margins`: paddings or crops.
  ms::Status FitBlocks(const ms::View& margins, const ms::Shape& input,
                       BlockGeometry* geometry) const {
    const char* const name = row_.to_batch ? "paddings" : "crops";
    if (margins.rank() != 2 || margins.dim(0) != geometry->count() || margins.dim(1) != 2) {
      return ms::InvalidArgument(name, " must have shape [", geometry->count(), ",2], but has ",
                                 margins.shape().ToString());
    }
    geometry->space = geometry->batch = input;
    int64_t elements = 1;
    for (uint32_t i = 0; i < geometry->count(); ++i) {
      const int64_t before = IndexAt(margins, 2 * int64_t{i});
      const int64_t after = IndexAt(margins, 2 * int64_t{i} + 1);
      int64_t margin = 0;
      if (before < 0 || after < 0 || __builtin_add_overflow(before, after, &margin)) {
        return ms::InvalidArgument(name, "[", i, "] = [", before, ",", after,
                                   "] must not be negative, nor too large");
      }
      geometry->before.Append(before);
      MS_TRY(row_.to_batch ? FitSpace(i, margin, geometry) : FitBatch(i, margin, geometry));
      if (__builtin_mul_overflow(elements, geometry->blocks[i], &elements)) {
        return ms::InvalidArgument("block_shape has more elements than 64 bits can count");
      }
    }
    if (!row_.to_batch) {
      if (input[0] % elements == 0) {
        geometry->space[0] = input[0] / elements;
        return ms::Status();
      }
      return ms::InvalidArgument("the batch of input, ", input[0],
                                 ", must be a multiple of the elements of a block, ", elements);
    }
    if (!__builtin_mul_overflow(input[0], elements, &geometry->batch[0])) return ms::Status();
    return ms::InvalidArgument("input ", input.ToString(), " and a block of ", elements,
                               " make a batch that 64 bits cannot hold");
  }

  // Dimension i of the batch for that of the space.
  static ms::Status FitSpace(uint32_t i, int64_t padding, BlockGeometry* geometry) {
    int64_t size = geometry->space[i + 1];
    if (__builtin_add_overflow(size, padding, &size)) {
      return ms::InvalidArgument("paddings[", i, "] makes a dimension that 64 bits cannot hold");
    }
    if (size % geometry->blocks[i] != 0) {
      return ms::InvalidArgument("dimension ", i + 1, " of input with its padding, ", size,
                                 ", must be a multiple of the block's size, ", geometry->blocks[i]);
    }
    geometry->batch[i + 1] = size / geometry->blocks[i];
    return ms::Status();
  }

  // The reverse.
  static ms::Status FitBatch(uint32_t i, int64_t crop, BlockGeometry* geometry) {
    int64_t size = 0;
    if (__builtin_mul_overflow(geometry->batch[i + 1], geometry->blocks[i], &size)) {
      return ms::InvalidArgument("block_shape[", i, "] makes a dimension that 64 bits cannot hold");
    }
    if (crop > size) {
      return ms::InvalidArgument("crops[", i, "] takes ", crop, " elements of ", size);
    }
    geometry->space[i + 1] = size - crop;
    return ms::Status();
  }

  Row row_;
  int64_t block_size_ = 0;
};

const MoveBlocks::Row kSpaceToBatchND = {true, false};
const MoveBlocks::Row kBatchToSpaceND = {false, false};
const MoveBlocks::Row kSpaceToBatch = {true, true};
const MoveBlocks::Row kBatchToSpace = {false, true};

ms::KernelOptions Movable(const char* index_type, const char* margins) {
  return ms::KernelOptions()
      .Types("T", MovableTypes())
      .Types(index_type, IndexTypes())
      .HostArg(margins);
}

const ms::Registered space_to_batch_nd = ms::RegisterRow<MoveBlocks>(
    "SpaceToBatchND", kSpaceToBatchND,
    Movable("Tpaddings", "paddings").Types("Tblock_shape", IndexTypes()).HostArg("block_shape"));
const ms::Registered batch_to_space_nd = ms::RegisterRow<MoveBlocks>(
    "BatchToSpaceND", kBatchToSpaceND,
    Movable("Tcrops", "crops").Types("Tblock_shape", IndexTypes()).HostArg("block_shape"));
const ms::Registered space_to_batch =
    ms::RegisterRow<MoveBlocks>("SpaceToBatch", kSpaceToBatch, Movable("Tpaddings", "paddings"));
const ms::Registered batch_to_space =
    ms::RegisterRow<MoveBlocks>("BatchToSpace", kBatchToSpace, Movable("Tidx", "crops"));

}  // namespace
}  // namespace millstream::kernels
