// SparseReduceSum, SparseReduceMax, SparseReduceSumSparse, SparseReduceMaxSparse.
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

// Inputs: a sparse tensor, and dimensions, a scalar or a vector; each is reduced, if named once or
// more. Places without elements are 0, or have none in a sparse output.
class SparseReduce {
 public:
  struct Row {
    ElementFunction ElementMath::*function;
    bool gives_sparse;
  };

  explicit SparseReduce(const Row& row) : row_(row) {}

  ms::Status Init(const ms::KernelInfo& info) {
    const ElementMath* const math = FindElementMath(info.input_dtype(1));
    if (math == nullptr || math->*row_.function == nullptr) return NoLoopFor(info.input_dtype(1));
    function_ = math->*row_.function;
    return info.Attr("keep_dims", &keep_dims_);
  }

  ms::Status Compute(ms::Frame& frame) const {
    SparseInput input;
    MS_TRY(ReadSparse(frame, 0, {"input_indices", "input_values", "input_shape"}, &input));
    MS_TRY(CheckIndices(input, false));
    std::vector<bool> is_reduced(input.rank(), false);
    MS_TRY(ReadAxes(frame.input(3), input.rank(), &is_reduced));
    // The shape with sizes of 1, and the output's.
    ms::Shape whole = input.shape;
    ms::Shape shape;
    for (uint32_t d = 0; d < input.rank(); ++d) {
      if (is_reduced[d]) whole[d] = 1;
      if (!is_reduced[d] || keep_dims_) shape.Append(whole[d]);
    }
    std::vector<int64_t> places;
    for (int64_t k = 0; k < input.count(); ++k) {
      int64_t place = 0;
      for (uint32_t d = 0; d < input.rank(); ++d) {
        place = place * whole[d] + (is_reduced[d] ? 0 : input.index(k)[d]);
      }
      places.push_back(place);
    }
    return row_.gives_sparse ? RunSparse(frame, input, places, shape)
                             : RunDense(frame, input, places, shape);
  }

 private:
  static ms::Status ReadAxes(const ms::View& axes, uint32_t rank, std::vector<bool>* is_reduced) {
    if (axes.rank() > 1) {
      return ms::InvalidArgument("reduction_axes must be a scalar or a vector, but has shape ",
                                 axes.shape().ToString());
    }
    for (int64_t i = 0; i < axes.size(); ++i) {
      uint32_t axis = 0;
      MS_TRY(ResolveAxis(IndexAt(axes, i), rank, ElementName("reduction_axes", axes.shape(), i),
                         &axis));
      (*is_reduced)[axis] = true;
    }
    return ms::Status();
  }

  ms::Status RunDense(ms::Frame& frame, const SparseInput& input,
                      const std::vector<int64_t>& places, const ms::Shape& shape) const {
    ms::View output;
    MS_TRY(frame.Output(0, shape, &output));
    if (output.size() == 0) return ms::Status();
    std::memset(output.raw(), 0, output.bytes());
    std::vector<bool> has_any(static_cast<size_t>(output.size()), false);
    for (size_t k = 0; k < places.size(); ++k) {
      const auto place = static_cast<size_t>(places[k]);
      MS_TRY(Combine(input.values, static_cast<int64_t>(k), output, places[k], has_any[place]));
      has_any[place] = true;
    }
    return ms::Status();
  }

  ms::Status RunSparse(ms::Frame& frame, const SparseInput& input,
                       const std::vector<int64_t>& places, const ms::Shape& shape) const {
    std::vector<int64_t> distinct = places;
    std::sort(distinct.begin(), distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    SparseOutput output;
    MS_TRY(MakeSparseOutput(frame, 0, static_cast<int64_t>(distinct.size()), shape, &output));
    for (size_t j = 0; j < distinct.size(); ++j) {
      IndexOfPlace(distinct[j], shape, shape.rank(), output.index(static_cast<int64_t>(j)));
    }
    std::vector<bool> has_any(distinct.size(), false);
    for (size_t k = 0; k < places.size(); ++k) {
      const auto j = static_cast<size_t>(
          std::lower_bound(distinct.begin(), distinct.end(), places[k]) - distinct.begin());
      MS_TRY(Combine(input.values, static_cast<int64_t>(k), output.values, static_cast<int64_t>(j),
                     has_any[j]));
      has_any[j] = true;
    }
    return ms::Status();
  }

  ms::Status Combine(const ms::View& values, int64_t k, const ms::View& output, int64_t place,
                     bool has_any) const {
    if (!has_any) return MoveElement(values, k, output, place);
    function_(output.raw(), place, values.raw(), k, output.raw(), place);
    return ms::Status();
  }

  const Row& row_;
  ElementFunction function_ = nullptr;
  bool keep_dims_ = false;
};

constexpr SparseReduce::Row kSum = {&ElementMath::add, false};
constexpr SparseReduce::Row kMax = {&ElementMath::maximum, false};
constexpr SparseReduce::Row kSumSparse = {&ElementMath::add, true};
constexpr SparseReduce::Row kMaxSparse = {&ElementMath::maximum, true};

ms::KernelOptions Options(uint32_t types) {
  return ms::KernelOptions()
      .Types("T", TypesIn(types))
      .HostArg("input_indices")
      .HostArg("input_shape")
      .HostArg("reduction_axes");
}

const ms::Registered sum =
    ms::RegisterRow<SparseReduce>("SparseReduceSum", kSum, Options(kAllNumberTypes));
const ms::Registered max =
    ms::RegisterRow<SparseReduce>("SparseReduceMax", kMax, Options(kOrderedTypes));
const ms::Registered sum_sparse =
    ms::RegisterRow<SparseReduce>("SparseReduceSumSparse", kSumSparse, Options(kAllNumberTypes));
const ms::Registered max_sparse =
    ms::RegisterRow<SparseReduce>("SparseReduceMaxSparse", kMaxSparse, Options(kOrderedTypes));

}  // namespace
}  // namespace millstream::kernels
