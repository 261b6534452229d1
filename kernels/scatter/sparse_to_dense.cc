// SparseToDense.
#include <cstdint>
#include <cstring>
#include <string>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"
#include "kernels/array/strided_copy.h"
#include "kernels/array/strings.h"

namespace millstream::kernels {
namespace {

// The index vectors: `count` of them, with `depth` numbers each. A scalar or a vector holds vectors
// of one number.
struct SparseIndices {
  explicit SparseIndices(const ms::View& indices)
      : view(indices),
        count(indices.rank() > 0 ? indices.dim(0) : 1),
        depth(indices.rank() > 1 ? indices.dim(1) : 1) {}

  // "sparse_indices: indices[1] = [0,3]".
  std::string Name(int64_t k) const {
    ms::Shape numbers;
    for (int64_t d = 0; d < depth; ++d) numbers.Append(IndexAt(view, k * depth + d));
    return ms::StrCat("sparse_indices: indices[", k, "] = ", numbers.ToString());
  }

  // The place in flat order that vector k names; -1 if it is outside.
  int64_t Place(int64_t k, const ms::Shape& shape) const {
    int64_t place = 0;
    for (int64_t d = 0; d < depth; ++d) {
      const int64_t size = shape[static_cast<uint32_t>(d)];
      const int64_t index = IndexAt(view, k * depth + d);
      if (index < 0 || index >= size) return -1;
      place = place * size + index;
    }
    return place;
  }

  const ms::View& view;
  const int64_t count;
  const int64_t depth;
};

// Inputs: sparse_indices, output_shape, sparse_values, default_value.
class SparseToDense {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    return info.Attr("validate_indices", &validate_indices_);
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View indices = frame.input(0);
    const ms::View values = frame.input(2);
    const ms::View default_value = frame.input(3);
    const SparseIndices sparse(indices);
    ms::Shape shape;
    MS_TRY(ReadShape(frame.input(1), &shape));
    MS_TRY(CheckShapes(sparse, shape, values, default_value));
    ms::View dense;
    MS_TRY(frame.Output(0, shape, &dense));
    StridedCopy fill;
    fill.AddDim(dense.size(), 0, 1);
    MS_TRY(fill.Run(frame, default_value, 0, dense, 0));
    int64_t last = -1;
    for (int64_t k = 0; k < sparse.count; ++k) {
      const int64_t place = sparse.Place(k, shape);
      MS_TRY(CheckPlace(sparse, k, shape, place, last));
      last = place;
      MS_TRY(Move(values, values.rank() == 0 ? 0 : k, dense, place));
    }
    return ms::Status();
  }

 private:
  static ms::Status ReadShape(const ms::View& view, ms::Shape* shape) {
    MS_TRY(ReadIndexVector(view, "output_shape", shape));
    int64_t elements = 1;
    for (uint32_t i = 0; i < shape->rank(); ++i) {
      if ((*shape)[i] < 0) {
        return ms::InvalidArgument("output_shape[", i, "] = ", (*shape)[i], " is negative");
      }
      if (__builtin_mul_overflow(elements, (*shape)[i], &elements)) {
        return ms::InvalidArgument("output_shape = ", shape->ToString(),
                                   " has more elements than 64 bits can count");
      }
    }
    return ms::Status();
  }

  static ms::Status CheckShapes(const SparseIndices& sparse, const ms::Shape& shape,
                                const ms::View& values, const ms::View& default_value) {
    if (sparse.view.rank() > 2) {
      return ms::InvalidArgument("sparse_indices should be a scalar, vector, or matrix, got shape ",
                                 sparse.view.shape().ToString());
    }
    if (sparse.depth != shape.rank()) {
      return ms::InvalidArgument("output_shape has incorrect number of elements: ", shape.rank(),
                                 " should be: ", sparse.depth, ", as sparse_indices has shape ",
                                 sparse.view.shape().ToString());
    }
    if (values.rank() > 1 || (values.rank() == 1 && values.dim(0) != sparse.count)) {
      return ms::InvalidArgument("sparse_values has incorrect shape ", values.shape().ToString(),
                                 ", should be [] or [", sparse.count, "]");
    }
    if (default_value.rank() == 0) return ms::Status();
    return ms::InvalidArgument("default_value should be a scalar, got shape ",
                               default_value.shape().ToString());
  }

  ms::Status CheckPlace(const SparseIndices& sparse, int64_t k, const ms::Shape& shape,
                        int64_t place, int64_t last) const {
    if (place < 0) {
      return ms::InvalidArgument(sparse.Name(k), " is out of bounds: need 0 <= index < ",
                                 shape.ToString());
    }
    if (!validate_indices_ || place > last) return ms::Status();
    if (place == last) return ms::InvalidArgument(sparse.Name(k), " is repeated");
    return ms::InvalidArgument(sparse.Name(k),
                               " is out of order: each index must come after those ",
                               "before it, unless validate_indices is false");
  }

  static ms::Status Move(const ms::View& values, int64_t i, const ms::View& dense, int64_t place) {
    if (dense.dtype() == MS_STRING) return CopyString(values, i, dense, place);
    const uint64_t bytes = ms::ElementSize(dense.dtype());
    std::memcpy(dense.data<char>() + static_cast<uint64_t>(place) * bytes,
                values.data<char>() + static_cast<uint64_t>(i) * bytes, bytes);
    return ms::Status();
  }

  bool validate_indices_ = true;
};

const ms::Registered registered =
    ms::Register<SparseToDense>("SparseToDense", ms::KernelOptions()
                                                     .Types("T", MovableTypes())
                                                     .Types("Tindices", IndexTypes())
                                                     .HostArg("output_shape"));

}  // namespace
}  // namespace millstream::kernels
