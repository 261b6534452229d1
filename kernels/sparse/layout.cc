// SparseReorder, SparseReshape, SparseConcat, SparseSplit, SparseSlice, SparseSliceGrad: where the
// elements of sparse tensors are.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"
#include "kernels/common/type_table.h"
#include "kernels/sparse/order.h"
#include "kernels/sparse/sparse_input.h"

namespace millstream::kernels {
namespace {

// The numbers of `count` rows of indices, in order.
std::vector<int64_t> SortedRows(const int64_t* indices, int64_t count, uint32_t rank) {
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return CompareIndices(indices + a * rank, indices + b * rank, rank) < 0;
  });
  return order;
}

class SparseReorder {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    SparseInput input;
    MS_TRY(ReadSparse(frame, 0, {"input_indices", "input_values", "input_shape"}, &input));
    ms::View indices;
    ms::View values;
    MS_TRY(frame.Output(0, input.indices.shape(), &indices));
    MS_TRY(frame.Output(1, input.values.shape(), &values));
    const std::vector<int64_t> order =
        SortedRows(input.indices.data<int64_t>(), input.count(), input.rank());
    for (int64_t k = 0; k < input.count(); ++k) {
      const int64_t from = order[static_cast<size_t>(k)];
      std::copy_n(input.index(from), input.rank(), indices.data<int64_t>() + k * input.rank());
      MS_TRY(MoveElement(input.values, from, values, k));
    }
    return ms::Status();
  }
};

// Inputs: indices, the shape, and the new one, of which one size may be -1.
class SparseReshape {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    const ms::View indices = frame.input(0);
    ms::Shape shape;
    MS_TRY(ReadSizes(frame.input(1), "input_shape", &shape));
    if (indices.rank() != 2 || indices.dim(1) != shape.rank()) {
      return ms::InvalidArgument("input_indices must be a matrix of ", shape.rank(),
                                 " columns, one for each element of input_shape, but has shape ",
                                 indices.shape().ToString());
    }
    ms::Shape target;
    MS_TRY(ReadTarget(frame.input(2), shape, &target));
    ms::View output;
    ms::View sizes;
    MS_TRY(frame.Output(0, ms::Shape{indices.dim(0), target.rank()}, &output));
    MS_TRY(frame.Output(1, ms::Shape{target.rank()}, &sizes));
    std::copy(target.begin(), target.end(), sizes.data<int64_t>());
    for (int64_t k = 0; k < indices.dim(0); ++k) {
      const int64_t* const index = indices.data<int64_t>() + k * shape.rank();
      for (uint32_t d = 0; d < shape.rank(); ++d) {
        if (index[d] >= 0 && index[d] < shape[d]) continue;
        return NotInRange("input_indices", indices, k * shape.rank() + d, shape[d]);
      }
      IndexOfPlace(PlaceOfIndex(index, shape, shape.rank()), target, target.rank(),
                   output.data<int64_t>() + k * target.rank());
    }
    return ms::Status();
  }

 private:
  static ms::Status ReadTarget(const ms::View& view, const ms::Shape& shape, ms::Shape* target) {
    MS_TRY(ReadIndexVector(view, "new_shape", target));
    int64_t known = 1;
    int64_t unknown = -1;
    for (uint32_t d = 0; d < target->rank(); ++d) {
      const int64_t size = (*target)[d];
      if (size == -1 && unknown >= 0) {
        return ms::InvalidArgument("only one output dimension may be -1, not both ", unknown,
                                   " and ", d, " of new_shape");
      }
      if (size < -1) return ms::InvalidArgument("new_shape[", d, "] = ", size, " is negative");
      if (size == -1) {
        unknown = d;
      } else if (__builtin_mul_overflow(known, size, &known)) {
        return ms::InvalidArgument("new_shape = ", target->ToString(),
                                   " has more elements than 63 bits can count");
      }
    }
    const int64_t places = shape.num_elements();
    if (unknown >= 0) {
      if (known == 0) {
        return ms::InvalidArgument("reshape cannot infer the missing size of new_shape ",
                                   target->ToString(), ", whose other sizes have a zero");
      }
      (*target)[static_cast<uint32_t>(unknown)] = places / known;
    }
    if (target->num_elements() == places) return ms::Status();
    return ms::InvalidArgument("Input to reshape is a tensor with ", places,
                               " dense values, but the requested shape new_shape, ",
                               target->ToString(), ", has ", target->num_elements());
  }
};

class SparseConcat {
 public:
  ms::Status Init(const ms::KernelInfo& info) { return info.Attr("concat_dim", &axis_); }

  ms::Status Compute(ms::Frame& frame) const {
    const uint32_t count = frame.num_inputs() / 3;
    std::vector<SparseInput> inputs(count);
    for (uint32_t i = 0; i < count; ++i) {
      MS_TRY(MakeSparse(frame.input(i), frame.input(count + i), frame.input(2 * count + i),
                        {"indices", "values", "shapes"}, &inputs[i]));
    }
    uint32_t axis = 0;
    MS_TRY(ResolveAxis(axis_, inputs[0].rank(), "attribute 'concat_dim'", &axis));
    ms::Shape shape = inputs[0].shape;
    int64_t rows = inputs[0].count();
    for (uint32_t i = 1; i < count; ++i) {
      MS_TRY(CheckSizes(inputs[0].shape, inputs[i].shape, axis, i));
      if (__builtin_add_overflow(shape[axis], inputs[i].shape[axis], &shape[axis])) {
        return ms::InvalidArgument("shapes: the sizes of dimension ", axis, " overflow");
      }
      rows += inputs[i].count();
    }
    return SetOutputs(frame, inputs, axis, rows, shape);
  }

 private:
  static ms::Status CheckSizes(const ms::Shape& first, const ms::Shape& other, uint32_t axis,
                               uint32_t i) {
    bool fits = other.rank() == first.rank();
    for (uint32_t d = 0; fits && d < first.rank(); ++d) fits = d == axis || other[d] == first[d];
    if (fits) return ms::Status();
    return ms::InvalidArgument("Concat shapes: shapes[0] is ", first.ToString(), " and shapes[", i,
                               "] is ", other.ToString(), ", which must agree in all dimensions ",
                               "but ", axis);
  }

  static ms::Status SetOutputs(ms::Frame& frame, const std::vector<SparseInput>& inputs,
                               uint32_t axis, int64_t rows, const ms::Shape& shape) {
    const uint32_t rank = shape.rank();
    std::vector<int64_t> indices;
    std::vector<std::pair<const SparseInput*, int64_t>> elements;
    int64_t offset = 0;
    for (const SparseInput& input : inputs) {
      for (int64_t k = 0; k < input.count(); ++k) {
        indices.insert(indices.end(), input.index(k), input.index(k) + rank);
        int64_t& moved = *(indices.end() - rank + axis);
        if (__builtin_add_overflow(moved, offset, &moved)) {
          return ms::InvalidArgument(input.IndexName(k), " is out of bounds");
        }
        elements.emplace_back(&input, k);
      }
      offset += input.shape[axis];
    }
    SparseOutput output;
    MS_TRY(MakeSparseOutput(frame, 0, rows, shape, &output));
    const std::vector<int64_t> order = SortedRows(indices.data(), rows, rank);
    for (int64_t k = 0; k < rows; ++k) {
      const auto from = static_cast<size_t>(order[static_cast<size_t>(k)]);
      std::copy_n(indices.data() + from * rank, rank, output.index(k));
      MS_TRY(MoveElement(elements[from].first->values, elements[from].second, output.values, k));
    }
    return ms::Status();
  }

  int64_t axis_ = 0;
};

// ---- Parts ----

// Writes the elements for which part_of(index) is `part` to the three outputs `first`,
// `first + step` and so on. Indices are moved by -start.
template <typename PartOf>
ms::Status SetPart(ms::Frame& frame, const SparseInput& input, const ms::Shape& shape,
                   const ms::Shape& start, uint32_t first, uint32_t step, const PartOf& is_part) {
  int64_t count = 0;
  for (int64_t k = 0; k < input.count(); ++k) count += is_part(input.index(k)) ? 1 : 0;
  const uint32_t rank = shape.rank();
  ms::View indices;
  ms::View values;
  ms::View sizes;
  MS_TRY(frame.Output(first, ms::Shape{count, rank}, &indices));
  MS_TRY(frame.Output(first + step, ms::Shape{count}, &values));
  MS_TRY(frame.Output(first + 2 * step, ms::Shape{rank}, &sizes));
  std::copy(shape.begin(), shape.end(), sizes.data<int64_t>());
  int64_t* to = indices.data<int64_t>();
  int64_t j = 0;
  for (int64_t k = 0; k < input.count(); ++k) {
    const int64_t* const index = input.index(k);
    if (!is_part(index)) continue;
    for (uint32_t d = 0; d < rank; ++d) *to++ = index[d] - start[d];
    MS_TRY(MoveElement(input.values, k, values, j++));
  }
  return ms::Status();
}

// Inputs: the dimension, and a sparse tensor. The first parts are larger by one where the size is
// no multiple of their number.
class SparseSplit {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    SparseInput input;
    MS_TRY(ReadSparse(frame, 1, {"indices", "values", "shape"}, &input));
    const ms::View given = frame.input(0);
    if (given.size() != 1) {
      return ms::InvalidArgument("split_dim must be a scalar, but has shape ",
                                 given.shape().ToString());
    }
    uint32_t axis = 0;
    MS_TRY(ResolveAxis(IndexAt(given, 0), input.rank(), "split_dim", &axis));
    const int64_t parts = frame.num_outputs() / 3;
    const int64_t size = input.shape[axis];
    if (parts > size) {
      return ms::InvalidArgument("num_split must be at most the size ", size, " of dimension ",
                                 axis, " of shape, got ", parts);
    }
    MS_TRY(CheckIndices(input, false));
    ms::Shape start = input.shape;
    std::fill_n(&start[0], start.rank(), 0);
    for (int64_t i = 0; i < parts; ++i) {
      ms::Shape shape = input.shape;
      shape[axis] = size / parts + (i < size % parts ? 1 : 0);
      const int64_t begin = start[axis];
      const int64_t end = begin + shape[axis];
      MS_TRY(SetPart(
          frame, input, shape, start, static_cast<uint32_t>(i), static_cast<uint32_t>(parts),
          [&](const int64_t* index) { return index[axis] >= begin && index[axis] < end; }));
      start[axis] = end;
    }
    return ms::Status();
  }
};

class SparseSlice {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    SparseInput input;
    MS_TRY(ReadSparse(frame, 0, {"indices", "values", "shape"}, &input));
    MS_TRY(CheckIndices(input, false));
    ms::Shape start;
    ms::Shape size;
    MS_TRY(ReadBounds(frame.input(3), "start", input.rank(), &start));
    MS_TRY(ReadBounds(frame.input(4), "size", input.rank(), &size));
    // As much as there is.
    for (uint32_t d = 0; d < input.rank(); ++d) {
      size[d] = std::min(size[d], std::max<int64_t>(input.shape[d] - start[d], 0));
    }
    return SetPart(frame, input, size, start, 0, 1, [&](const int64_t* index) {
      for (uint32_t d = 0; d < size.rank(); ++d) {
        if (index[d] < start[d] || index[d] - start[d] >= size[d]) return false;
      }
      return true;
    });
  }

 private:
  static ms::Status ReadBounds(const ms::View& view, const char* name, uint32_t rank,
                               ms::Shape* bounds) {
    MS_TRY(ReadIndexVector(view, name, bounds));
    if (bounds->rank() != rank) {
      return ms::InvalidArgument("Expected ", name, " to be a vector of length ", rank,
                                 " but got length ", bounds->rank());
    }
    for (uint32_t d = 0; d < rank; ++d) {
      if ((*bounds)[d] < 0) {
        return ms::InvalidArgument(name, "[", d, "] = ", (*bounds)[d], " is negative");
      }
    }
    return ms::Status();
  }
};

// Inputs: the gradient of the slice's values, the indices that were sliced, where the slice begins,
// and its indices. Output: the gradient of the values.
class SparseSliceGrad {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    const ms::View gradient = frame.input(0);
    const ms::View from = frame.input(1);
    const ms::View start = frame.input(2);
    const ms::View to = frame.input(3);
    if (from.rank() != 2 || to.rank() != 2 || from.dim(1) != to.dim(1)) {
      return ms::InvalidArgument("input_indices and output_indices must be matrices of as many ",
                                 "columns, but have the shapes ", from.shape().ToString(), " and ",
                                 to.shape().ToString());
    }
    if (start.rank() != 1 || start.dim(0) != from.dim(1)) {
      return ms::InvalidArgument("input_start must be a vector of ", from.dim(1),
                                 " elements, but has shape ", start.shape().ToString());
    }
    if (gradient.rank() != 1 || gradient.dim(0) != to.dim(0)) {
      return ms::InvalidArgument("backprop_val_grad must be a vector of ", to.dim(0),
                                 " elements, but has shape ", gradient.shape().ToString());
    }
    ms::View output;
    MS_TRY(frame.Output(0, ms::Shape{from.dim(0)}, &output));
    if (output.size() > 0) std::memset(output.raw(), 0, output.bytes());
    const auto rank = static_cast<uint32_t>(from.dim(1));
    int64_t j = 0;
    for (int64_t k = 0; k < from.dim(0) && j < to.dim(0); ++k) {
      bool is_next = true;
      for (uint32_t d = 0; d < rank; ++d) {
        int64_t moved = 0;
        is_next = is_next &&
                  !__builtin_add_overflow(to.data<int64_t>()[j * rank + d],
                                          start.data<int64_t>()[d], &moved) &&
                  moved == from.data<int64_t>()[k * rank + d];
      }
      if (is_next) MS_TRY(MoveElement(gradient, j++, output, k));
    }
    if (j == to.dim(0)) return ms::Status();
    return ms::InvalidArgument("output_indices[", j, "] is none of input_indices after those ",
                               "before it");
  }
};

ms::KernelOptions Movable() { return ms::KernelOptions().Types("T", MovableTypes()); }

const ms::Registered reorder =
    ms::Register<SparseReorder>("SparseReorder", Movable().HostArg("input_shape"));
const ms::Registered reshape = ms::Register<SparseReshape>(
    "SparseReshape",
    ms::KernelOptions().HostArg("input_indices").HostArg("input_shape").HostArg("new_shape"));
const ms::Registered concat =
    ms::Register<SparseConcat>("SparseConcat", Movable().HostArg("indices").HostArg("shapes"));
const ms::Registered split = ms::Register<SparseSplit>(
    "SparseSplit", Movable().HostArg("split_dim").HostArg("indices").HostArg("shape"));
const ms::Registered slice = ms::Register<SparseSlice>(
    "SparseSlice", Movable().HostArg("indices").HostArg("shape").HostArg("start").HostArg("size"));
const ms::Registered slice_grad = ms::Register<SparseSliceGrad>(
    "SparseSliceGrad", ms::KernelOptions().Types("T", TypesIn(kAllNumberTypes)));

}  // namespace
}  // namespace millstream::kernels
