// SparseAdd, SparseAddGrad, SparseSparseMaximum, SparseSparseMinimum: two sparse tensors of one
// shape, element by element.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/type_table.h"
#include "kernels/sparse/element_math.h"
#include "kernels/sparse/order.h"
#include "kernels/sparse/sparse_input.h"

namespace millstream::kernels {
namespace {

constexpr SparseNames kA = {"a_indices", "a_values", "a_shape"};
constexpr SparseNames kB = {"b_indices", "b_values", "b_shape"};

ms::Status ReadPair(const ms::Frame& frame, SparseInput* a, SparseInput* b) {
  MS_TRY(ReadSparse(frame, 0, kA, a));
  MS_TRY(ReadSparse(frame, 3, kB, b));
  if (a->shape == b->shape) return ms::Status();
  return ms::InvalidArgument("Operands' shapes do not match: a_shape is ", a->shape.ToString(),
                             ", b_shape is ", b->shape.ToString());
}

// Elements i of a and j of b that make one of the output; -1 if one has none there.
using Pairs = std::vector<std::pair<int64_t, int64_t>>;

Pairs PairsOf(const SparseInput& a, const SparseInput& b) {
  Pairs pairs;
  static_cast<void>(MergeIndices(a.indices.data<int64_t>(), a.count(), b.indices.data<int64_t>(),
                                 b.count(), a.rank(), [&](int64_t i, int64_t j) {
                                   pairs.emplace_back(i, j);
                                   return ms::Status();
                                 }));
  return pairs;
}

void SetIndex(const SparseInput& a, const SparseInput& b, const std::pair<int64_t, int64_t>& pair,
              int64_t* index) {
  const int64_t* const from = pair.first >= 0 ? a.index(pair.first) : b.index(pair.second);
  std::copy_n(from, a.rank(), index);
}

// Inputs: both tensors, and the least size of a sum that is kept.
class SparseAdd {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    math_ = FindElementMath(info.input_dtype(1));
    return math_ == nullptr ? NoLoopFor(info.input_dtype(1)) : ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    SparseInput a;
    SparseInput b;
    MS_TRY(ReadPair(frame, &a, &b));
    const ms::View limit = frame.input(6);
    if (limit.rank() != 0) {
      return ms::InvalidArgument("thresh must be a scalar, but has shape ",
                                 limit.shape().ToString());
    }
    const bool is_complex = a.values.dtype() == MS_COMPLEX64 || a.values.dtype() == MS_COMPLEX128;
    const MS_DType real = !is_complex                        ? a.values.dtype()
                          : a.values.dtype() == MS_COMPLEX64 ? MS_FLOAT32
                                                             : MS_FLOAT64;
    if (limit.dtype() != real) {
      return ms::InvalidArgument("thresh must have the type of the parts of the values");
    }
    Pairs pairs = PairsOf(a, b);
    // Elements that only one tensor has are kept.
    const auto is_small = [&](const std::pair<int64_t, int64_t>& pair) {
      if (pair.first < 0 || pair.second < 0) return false;
      alignas(16) char sum[16];
      math_->add(a.values.raw(), pair.first, b.values.raw(), pair.second, sum, 0);
      return math_->is_below(sum, 0, limit.raw());
    };
    pairs.erase(std::remove_if(pairs.begin(), pairs.end(), is_small), pairs.end());
    SparseOutput sum;
    const auto count = static_cast<int64_t>(pairs.size());
    MS_TRY(MakeSparseOutput(frame, 0, count, a.shape, &sum));
    for (int64_t k = 0; k < count; ++k) {
      const auto& pair = pairs[static_cast<size_t>(k)];
      SetIndex(a, b, pair, sum.index(k));
      if (pair.first >= 0 && pair.second >= 0) {
        math_->add(a.values.raw(), pair.first, b.values.raw(), pair.second, sum.values.raw(), k);
      } else {
        const bool of_a = pair.first >= 0;
        MS_TRY(MoveElement(of_a ? a.values : b.values, of_a ? pair.first : pair.second, sum.values,
                           k));
      }
    }
    return ms::Status();
  }

 private:
  const ElementMath* math_ = nullptr;
};

// Inputs: the gradient of the sum's values, and the indices of a, b and the sum. Outputs: the
// gradients of the values of a and b, zero for elements that the sum left out.
class SparseAddGrad {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    const ms::View gradient = frame.input(0);
    const ms::View sum = frame.input(3);
    const char* const names[] = {"backprop_val_grad", "a_indices", "b_indices", "sum_indices"};
    for (uint32_t i = 1; i < 4; ++i) {
      const ms::View indices = frame.input(i);
      if (indices.rank() == 2 && sum.rank() == 2 && indices.dim(1) == sum.dim(1)) continue;
      return ms::InvalidArgument(names[i], " and sum_indices must be matrices of as many columns, ",
                                 "but have the shapes ", indices.shape().ToString(), " and ",
                                 sum.shape().ToString());
    }
    if (gradient.rank() != 1 || gradient.dim(0) != sum.dim(0)) {
      return ms::InvalidArgument("backprop_val_grad must have an element for each row of ",
                                 "sum_indices ", sum.shape().ToString(), ", but has shape ",
                                 gradient.shape().ToString());
    }
    for (uint32_t i = 0; i < 2; ++i) MS_TRY(SetGradient(frame, i, gradient, sum));
    return ms::Status();
  }

 private:
  static ms::Status SetGradient(ms::Frame& frame, uint32_t i, const ms::View& gradient,
                                const ms::View& sum) {
    const ms::View indices = frame.input(i + 1);
    ms::View output;
    MS_TRY(frame.Output(i, ms::Shape{indices.dim(0)}, &output));
    if (output.size() > 0) std::memset(output.raw(), 0, output.bytes());
    return MergeIndices(indices.data<int64_t>(), indices.dim(0), sum.data<int64_t>(), sum.dim(0),
                        static_cast<uint32_t>(sum.dim(1)), [&](int64_t k, int64_t j) {
                          return k < 0 || j < 0 ? ms::Status()
                                                : MoveElement(gradient, j, output, k);
                        });
  }
};

// Elements that a tensor lacks are zero.
class SparseExtreme {
 public:
  struct Row {
    ElementFunction ElementMath::*function;
  };

  explicit SparseExtreme(const Row& row) : row_(row) {}

  ms::Status Init(const ms::KernelInfo& info) {
    const ElementMath* const math = FindElementMath(info.input_dtype(1));
    if (math == nullptr || math->*row_.function == nullptr) return NoLoopFor(info.input_dtype(1));
    function_ = math->*row_.function;
    return ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    SparseInput a;
    SparseInput b;
    MS_TRY(ReadPair(frame, &a, &b));
    MS_TRY(CheckIndices(a, false));
    MS_TRY(CheckIndices(b, false));
    const Pairs pairs = PairsOf(a, b);
    const auto count = static_cast<int64_t>(pairs.size());
    ms::View indices;
    ms::View values;
    MS_TRY(frame.Output(0, ms::Shape{count, a.indices.dim(1)}, &indices));
    MS_TRY(frame.Output(1, ms::Shape{count}, &values));
    alignas(16) const char zero[16] = {};
    for (int64_t k = 0; k < count; ++k) {
      const auto& pair = pairs[static_cast<size_t>(k)];
      SetIndex(a, b, pair, indices.data<int64_t>() + k * a.rank());
      function_(pair.first < 0 ? zero : a.values.raw(), std::max<int64_t>(pair.first, 0),
                pair.second < 0 ? zero : b.values.raw(), std::max<int64_t>(pair.second, 0),
                values.raw(), k);
    }
    return ms::Status();
  }

 private:
  const Row& row_;
  ElementFunction function_ = nullptr;
};

constexpr SparseExtreme::Row kMaximum = {&ElementMath::maximum};
constexpr SparseExtreme::Row kMinimum = {&ElementMath::minimum};

// What says how many elements the result has.
ms::KernelOptions Options(uint32_t types) {
  return ms::KernelOptions()
      .Types("T", TypesIn(types))
      .HostArg("a_indices")
      .HostArg("a_shape")
      .HostArg("b_indices")
      .HostArg("b_shape");
}

const ms::Registered add = ms::Register<SparseAdd>(
    "SparseAdd",
    Options(kAllNumberTypes).HostArg("a_values").HostArg("b_values").HostArg("thresh"));
const ms::Registered add_grad = ms::Register<SparseAddGrad>(
    "SparseAddGrad", ms::KernelOptions().Types("T", TypesIn(kAllNumberTypes)));
const ms::Registered maximum =
    ms::RegisterRow<SparseExtreme>("SparseSparseMaximum", kMaximum, Options(kOrderedTypes));
const ms::Registered minimum =
    ms::RegisterRow<SparseExtreme>("SparseSparseMinimum", kMinimum, Options(kOrderedTypes));

}  // namespace
}  // namespace millstream::kernels
