// Integer shape arithmetic.
#include <algorithm>

#include "core/structural/structural.h"

namespace millstream {
namespace {

// Writes integers into an output of type int32 or int64.
Status SetIntegers(StructuralFrame* frame, uint32_t output, const Shape& shape,
                   const std::vector<int64_t>& values) {
  MS_ASSIGN_OR_RETURN(Tensor tensor, frame->AllocateOutput(output, shape));
  for (size_t i = 0; i < values.size(); ++i) {
    if (tensor.dtype() == DataType::kInt64) {
      tensor.data<int64_t>()[i] = values[i];
      continue;
    }
    if (values[i] > INT32_MAX) {
      return errors::InvalidArgument("the size ", values[i],
                                     " of 'input' does not fit int32; set out_type");
    }
    tensor.data<int32_t>()[i] = static_cast<int32_t>(values[i]);
  }
  return absl::OkStatus();
}

Shape VectorOf(size_t size) { return Shape({static_cast<int64_t>(size)}); }

// Shape and ShapeN.
Status Shapes(StructuralFrame* frame) {
  for (uint32_t i = 0; i < frame->num_outputs(); ++i) {
    const Shape shape = frame->input_shape(i);
    const std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
    MS_RETURN_IF_ERROR(SetIntegers(frame, i, VectorOf(dims.size()), dims));
  }
  return absl::OkStatus();
}

Status Rank(StructuralFrame* frame) {
  return SetIntegers(frame, 0, Shape(), {static_cast<int64_t>(frame->input(0).rank)});
}

Status Size(StructuralFrame* frame) {
  return SetIntegers(frame, 0, Shape(), {frame->input_shape(0).num_elements()});
}

// The axes along which each of two shapes was repeated to get their broadcast: those that a
// gradient sums over.
Status BroadcastGradientArgs(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(std::vector<int64_t> a, frame->Integers(0));
  MS_ASSIGN_OR_RETURN(std::vector<int64_t> b, frame->Integers(1));
  const size_t rank = std::max(a.size(), b.size());
  std::vector<int64_t> axes_a;
  std::vector<int64_t> axes_b;
  for (size_t i = 0; i < rank; ++i) {
    const bool has_a = i + a.size() >= rank;
    const bool has_b = i + b.size() >= rank;
    const int64_t dim_a = has_a ? a[i + a.size() - rank] : 1;
    const int64_t dim_b = has_b ? b[i + b.size() - rank] : 1;
    if (dim_a != dim_b && dim_a != 1 && dim_b != 1) {
      return errors::InvalidArgument(
          "'s0' and 's1' do not broadcast: ", Shape(absl::MakeConstSpan(a)).ToString(), " and ",
          Shape(absl::MakeConstSpan(b)).ToString());
    }
    const bool both_one = dim_a == 1 && dim_b == 1;
    if (both_one || (dim_a == 1 && dim_b != 1)) axes_a.push_back(static_cast<int64_t>(i));
    if (both_one || (dim_b == 1 && dim_a != 1)) axes_b.push_back(static_cast<int64_t>(i));
  }
  if (a == b) {
    axes_a.clear();
    axes_b.clear();
  }
  MS_RETURN_IF_ERROR(SetIntegers(frame, 0, VectorOf(axes_a.size()), axes_a));
  return SetIntegers(frame, 1, VectorOf(axes_b.size()), axes_b);
}

// The broadcast of two shapes.
Status BroadcastArgs(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(const std::vector<int64_t> a, frame->Integers(0));
  MS_ASSIGN_OR_RETURN(const std::vector<int64_t> b, frame->Integers(1));
  std::vector<int64_t> sizes(std::max(a.size(), b.size()), 1);
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t dim_a = i + a.size() < sizes.size() ? 1 : a[i + a.size() - sizes.size()];
    const int64_t dim_b = i + b.size() < sizes.size() ? 1 : b[i + b.size() - sizes.size()];
    if (dim_a != dim_b && dim_a != 1 && dim_b != 1) {
      return errors::InvalidArgument(
          "'s0' and 's1' do not broadcast: ", Shape(absl::MakeConstSpan(a)).ToString(), " and ",
          Shape(absl::MakeConstSpan(b)).ToString());
    }
    sizes[i] = dim_a == 1 ? dim_b : dim_a;
  }
  return SetIntegers(frame, 0, VectorOf(sizes.size()), sizes);
}

// Where each part begins in a concatenation along an axis.
Status ConcatOffset(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(std::vector<int64_t> axes, frame->Integers(0));
  if (axes.size() != 1) {
    return errors::InvalidArgument("'concat_dim' must be one number, got ", axes.size());
  }
  MS_ASSIGN_OR_RETURN(std::vector<int64_t> first, frame->Integers(1));
  const int64_t rank = static_cast<int64_t>(first.size());
  const int64_t axis = axes[0] < 0 ? axes[0] + rank : axes[0];
  if (axis < 0 || axis >= rank) {
    return errors::InvalidArgument("'concat_dim' is ", axes[0], ", outside the rank ", rank);
  }
  int64_t begin = 0;
  for (uint32_t i = 0; i < frame->num_outputs(); ++i) {
    MS_ASSIGN_OR_RETURN(std::vector<int64_t> sizes, frame->Integers(i + 1));
    for (int64_t k = 0; k < rank; ++k) {
      if (sizes.size() != first.size() || (k != axis && sizes[k] != first[k])) {
        return errors::InvalidArgument("'shape' ", i, " does not fit the first along dimension ",
                                       k);
      }
    }
    if (begin > INT32_MAX) {
      return errors::InvalidArgument("'shape' ", i, " begins at ", begin, " along dimension ", axis,
                                     ", which does not fit int32");
    }
    std::vector<int64_t> offsets(first.size(), 0);
    offsets[axis] = begin;
    begin += sizes[axis];
    MS_RETURN_IF_ERROR(SetIntegers(frame, i, VectorOf(offsets.size()), offsets));
  }
  return absl::OkStatus();
}

MILLSTREAM_STRUCTURAL("Shape", StructuralRole::kKernel, Shapes);
MILLSTREAM_STRUCTURAL("ShapeN", StructuralRole::kKernel, Shapes);
MILLSTREAM_STRUCTURAL("Rank", StructuralRole::kKernel, Rank);
MILLSTREAM_STRUCTURAL("Size", StructuralRole::kKernel, Size);
MILLSTREAM_STRUCTURAL("BroadcastGradientArgs", StructuralRole::kKernel, BroadcastGradientArgs);
MILLSTREAM_STRUCTURAL("BroadcastArgs", StructuralRole::kKernel, BroadcastArgs);
MILLSTREAM_STRUCTURAL("ConcatOffset", StructuralRole::kKernel, ConcatOffset);

}  // namespace
}  // namespace millstream
