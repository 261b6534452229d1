// SparseFillEmptyRows and SparseFillEmptyRowsGrad.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"
#include "kernels/common/type_table.h"
#include "kernels/sparse/element_math.h"
#include "kernels/sparse/sparse_input.h"

namespace millstream::kernels {
namespace {

// Inputs: a sparse tensor and an element. Outputs: indices and values of the tensor with that
// element in the first place of each row that had none; which rows those are; and where each
// element went.
class SparseFillEmptyRows {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    SparseInput input;
    MS_TRY(ReadSparse(frame, 0, {"indices", "values", "dense_shape"}, &input));
    const ms::View filler = frame.input(3);
    if (input.rank() == 0) return ms::InvalidArgument("dense_shape must have at least one element");
    if (filler.rank() != 0) {
      return ms::InvalidArgument("default_value must be a scalar, but has shape ",
                                 filler.shape().ToString());
    }
    const int64_t rows = input.shape[0];
    constexpr int64_t kMostRows = int64_t{1} << 40;
    if (rows > kMostRows) {
      return ms::InvalidArgument("dense_shape[0] = ", rows, " is more than ", kMostRows, " rows");
    }
    ms::View memory;
    MS_TRY(
        frame.Temp(std::max<uint64_t>(static_cast<uint64_t>(rows), 1) * sizeof(int64_t), &memory));
    auto* const next = memory.data<int64_t>();  // the place of the next element of each row
    MS_TRY(CountRows(input, rows, next));
    ms::View is_empty;
    ms::View map;
    MS_TRY(frame.Output(2, ms::Shape{rows}, &is_empty));
    MS_TRY(frame.Output(3, ms::Shape{input.count()}, &map));
    int64_t total = 0;
    for (int64_t row = 0; row < rows; ++row) {
      int64_t& place = next[row];
      is_empty.data<bool>()[row] = place == 0;
      const int64_t elements = std::max<int64_t>(place, 1);
      place = total;
      total += elements;
    }
    return SetElements(frame, input, filler, next, total, is_empty.data<bool>(),
                       map.data<int64_t>());
  }

 private:
  static ms::Status CountRows(const SparseInput& input, int64_t rows, int64_t* count) {
    std::fill_n(count, rows, 0);
    for (int64_t k = 0; k < input.count(); ++k) {
      const int64_t row = input.index(k)[0];
      if (row < 0 || row >= rows) {
        return ms::InvalidArgument("indices(", k, ", 0) is invalid: ", row, " is not in [0, ", rows,
                                   ")");
      }
      ++count[row];
    }
    return ms::Status();
  }

  static ms::Status SetElements(ms::Frame& frame, const SparseInput& input, const ms::View& filler,
                                int64_t* next, int64_t total, const bool* is_empty, int64_t* map) {
    const int64_t rank = input.rank();
    ms::View indices;
    ms::View values;
    MS_TRY(frame.Output(0, ms::Shape{total, rank}, &indices));
    MS_TRY(frame.Output(1, ms::Shape{total}, &values));
    for (int64_t row = 0; row < input.shape[0]; ++row) {
      if (!is_empty[row]) continue;
      const int64_t place = next[row];
      int64_t* const index = indices.data<int64_t>() + place * rank;
      std::fill_n(index, rank, 0);
      index[0] = row;
      MS_TRY(MoveElement(filler, 0, values, place));
    }
    for (int64_t k = 0; k < input.count(); ++k) {
      const int64_t place = next[input.index(k)[0]]++;
      map[k] = place;
      std::copy_n(input.index(k), rank, indices.data<int64_t>() + place * rank);
      MS_TRY(MoveElement(input.values, k, values, place));
    }
    return ms::Status();
  }
};

// Inputs: where each element went, and the gradient of all values. Outputs: the gradients of the
// elements, and of the one that filled rows.
class SparseFillEmptyRowsGrad {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    math_ = FindElementMath(info.input_dtype(1));
    return math_ == nullptr ? NoLoopFor(info.input_dtype(1)) : ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View map = frame.input(0);
    const ms::View gradient = frame.input(1);
    for (uint32_t i = 0; i < 2; ++i) {
      if (frame.input(i).rank() == 1) continue;
      return ms::InvalidArgument(i == 0 ? "reverse_index_map" : "grad_values",
                                 " must be a vector, but has shape ",
                                 frame.input(i).shape().ToString());
    }
    ms::View values;
    ms::View filler;
    MS_TRY(frame.Output(0, map.shape(), &values));
    MS_TRY(frame.Output(1, ms::Shape(), &filler));
    std::vector<bool> is_element(static_cast<size_t>(gradient.dim(0)), false);
    for (int64_t k = 0; k < map.dim(0); ++k) {
      const int64_t place = map.data<int64_t>()[k];
      if (place < 0 || place >= gradient.dim(0)) {
        return NotInRange("reverse_index_map", map, k, gradient.dim(0));
      }
      is_element[static_cast<size_t>(place)] = true;
      MS_TRY(MoveElement(gradient, place, values, k));
    }
    std::memset(filler.raw(), 0, filler.bytes());
    for (int64_t i = 0; i < gradient.dim(0); ++i) {
      if (is_element[static_cast<size_t>(i)]) continue;
      math_->add(filler.raw(), 0, gradient.raw(), i, filler.raw(), 0);
    }
    return ms::Status();
  }

 private:
  const ElementMath* math_ = nullptr;
};

const ms::Registered fill = ms::Register<SparseFillEmptyRows>(
    "SparseFillEmptyRows",
    ms::KernelOptions().Types("T", MovableTypes()).HostArg("indices").HostArg("dense_shape"));
const ms::Registered fill_grad = ms::Register<SparseFillEmptyRowsGrad>(
    "SparseFillEmptyRowsGrad", ms::KernelOptions().Types("T", TypesIn(kAllNumberTypes)));

}  // namespace
}  // namespace millstream::kernels
