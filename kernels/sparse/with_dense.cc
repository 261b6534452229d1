// SparseTensorDenseAdd, SparseDenseCwiseAdd, SparseDenseCwiseMul, SparseDenseCwiseDiv: a sparse and
// a dense tensor, element by element.
#include <cstdint>
#include <cstring>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"
#include "kernels/common/type_table.h"
#include "kernels/sparse/element_math.h"
#include "kernels/sparse/sparse_input.h"

namespace millstream::kernels {
namespace {

// Inputs: a sparse tensor, whose indices and shape may be int32, and a dense one of its shape.
class SparseTensorDenseAdd {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    math_ = FindElementMath(info.input_dtype(1));
    return math_ == nullptr ? NoLoopFor(info.input_dtype(1)) : ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View indices = frame.input(0);
    const ms::View values = frame.input(1);
    const ms::View dense = frame.input(3);
    ms::Shape shape;
    MS_TRY(ReadIndexVector(frame.input(2), "a_shape", &shape));
    if (shape != dense.shape()) {
      return ms::InvalidArgument("a_shape is ", shape.ToString(), ", but b has shape ",
                                 dense.shape().ToString());
    }
    if (indices.rank() != 2 || indices.dim(1) != shape.rank()) {
      return ms::InvalidArgument("a_indices must be a matrix of ", shape.rank(),
                                 " columns, but has shape ", indices.shape().ToString());
    }
    if (values.rank() != 1 || values.dim(0) != indices.dim(0)) {
      return ms::InvalidArgument("a_values must be a vector of ", indices.dim(0),
                                 " elements, but has shape ", values.shape().ToString());
    }
    ms::View sum;
    MS_TRY(frame.ForwardOrOutput(3, 0, shape, &sum));
    if (sum.size() > 0 && sum.raw() != dense.raw()) {
      std::memcpy(sum.raw(), dense.raw(), sum.bytes());
    }
    for (int64_t k = 0; k < values.dim(0); ++k) {
      int64_t place = 0;
      for (uint32_t d = 0; d < shape.rank(); ++d) {
        const int64_t index = IndexAt(indices, k * shape.rank() + d);
        if (index < 0 || index >= shape[d]) {
          return NotInRange("a_indices", indices, k * shape.rank() + d, shape[d]);
        }
        place = place * shape[d] + index;
      }
      math_->add(sum.raw(), place, values.raw(), k, sum.raw(), place);
    }
    return ms::Status();
  }

 private:
  const ElementMath* math_ = nullptr;
};

// Output: the values of the sparse tensor, combined with those of the dense one at their places.
// The dense one is broadcast to the shape of the sparse one.
class SparseDenseCwise {
 public:
  struct Row {
    ElementFunction ElementMath::*function;
    bool divides;
  };

  explicit SparseDenseCwise(const Row& row) : row_(row) {}

  ms::Status Init(const ms::KernelInfo& info) {
    math_ = FindElementMath(info.input_dtype(1));
    if (math_ == nullptr) return NoLoopFor(info.input_dtype(1));
    const uint32_t code = info.input_dtype(1) & 0xff;
    refuses_zero_ = row_.divides && (code == MS_CODE_INT || code == MS_CODE_UINT);
    return ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    SparseInput sparse;
    MS_TRY(ReadSparse(frame, 0, {"sp_indices", "sp_values", "sp_shape"}, &sparse));
    MS_TRY(CheckIndices(sparse, false));
    const ms::View dense = frame.input(3);
    ms::Shape steps;
    MS_TRY(BroadcastSteps(sparse.shape, dense.shape(), &steps));
    ms::View output;
    MS_TRY(frame.Output(0, sparse.values.shape(), &output));
    for (int64_t k = 0; k < sparse.count(); ++k) {
      int64_t place = 0;
      for (uint32_t d = 0; d < sparse.rank(); ++d) place += sparse.index(k)[d] * steps[d];
      if (refuses_zero_ && math_->is_zero(dense.raw(), place)) {
        return ms::InvalidArgument("Integer division by zero: dense has a zero for ",
                                   sparse.IndexName(k));
      }
      (math_->*row_.function)(sparse.values.raw(), k, dense.raw(), place, output.raw(), k);
    }
    return ms::Status();
  }

 private:
  // How far apart the dense tensor's elements are along each dimension of the sparse one.
  static ms::Status BroadcastSteps(const ms::Shape& sparse, const ms::Shape& dense,
                                   ms::Shape* steps) {
    *steps = sparse;
    bool fits = dense.rank() <= sparse.rank();
    const uint32_t missing = fits ? sparse.rank() - dense.rank() : 0;
    const ms::Shape strides = RowMajorStrides(dense);
    for (uint32_t d = 0; fits && d < sparse.rank(); ++d) {
      (*steps)[d] = 0;
      if (d < missing) continue;
      const int64_t size = dense[d - missing];
      fits = size == sparse[d] || size == 1;
      if (size != 1) (*steps)[d] = strides[d - missing];
    }
    if (fits) return ms::Status();
    return ms::InvalidArgument("broadcasts dense to sparse only: dense has the shape ",
                               dense.ToString(), ", which does not broadcast to sp_shape ",
                               sparse.ToString());
  }

  const Row& row_;
  const ElementMath* math_ = nullptr;
  bool refuses_zero_ = false;
};

constexpr SparseDenseCwise::Row kAdd = {&ElementMath::add, false};
constexpr SparseDenseCwise::Row kMultiply = {&ElementMath::multiply, false};
constexpr SparseDenseCwise::Row kDivide = {&ElementMath::divide, true};

ms::KernelOptions Cwise() {
  return ms::KernelOptions()
      .Types("T", TypesIn(kAllNumberTypes))
      .HostArg("sp_indices")
      .HostArg("sp_shape");
}

const ms::Registered dense_add = ms::Register<SparseTensorDenseAdd>(
    "SparseTensorDenseAdd", ms::KernelOptions()
                                .Types("T", TypesIn(kAllNumberTypes))
                                .Types("Tindices", IndexTypes())
                                .HostArg("a_shape")
                                .InPlace(0, 3));
const ms::Registered cwise_add =
    ms::RegisterRow<SparseDenseCwise>("SparseDenseCwiseAdd", kAdd, Cwise());
const ms::Registered cwise_multiply =
    ms::RegisterRow<SparseDenseCwise>("SparseDenseCwiseMul", kMultiply, Cwise());
const ms::Registered cwise_divide =
    ms::RegisterRow<SparseDenseCwise>("SparseDenseCwiseDiv", kDivide, Cwise());

}  // namespace
}  // namespace millstream::kernels
