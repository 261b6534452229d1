// InTopK, InTopKV2: whether fewer than k predictions of a row are larger than that of its target.
#include <cmath>
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"
#include "kernels/common/parallel.h"

namespace millstream::kernels {
namespace {

// False also where the row has a number that is not finite, or no such class.
bool IsInTopK(const float* row, int64_t classes, int64_t target, int64_t k) {
  if (target < 0 || target >= classes) return false;
  const float prediction = row[target];
  int64_t larger = 0;
  bool all_finite = true;
  for (int64_t i = 0; i < classes; ++i) {
    all_finite &= std::isfinite(row[i]);
    larger += row[i] > prediction ? 1 : 0;
  }
  return all_finite && larger < k;
}

// Inputs: predictions, targets and, for InTopKV2, k.
class InTopK {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    k_is_input_ = info.num_inputs() == 3;
    return k_is_input_ ? ms::Status() : info.Attr("k", &k_);
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View predictions = frame.input(0);
    const ms::View targets = frame.input(1);
    MS_TRY(CheckShapes(predictions, targets));
    int64_t k = k_;
    if (k_is_input_) MS_TRY(ReadIndexScalar(frame.input(2), "k", &k));
    ms::View output;
    MS_TRY(frame.Output(0, targets.shape(), &output));
    const int64_t classes = predictions.dim(1);
    const float* rows = predictions.data<float>();
    bool* results = output.data<bool>();
    return ParallelRows(frame, targets.size(), classes, 500, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        results[row] = IsInTopK(rows + row * classes, classes, IndexAt(targets, row), k);
      }
    });
  }

 private:
  static ms::Status CheckShapes(const ms::View& predictions, const ms::View& targets) {
    if (predictions.rank() != 2) {
      return ms::InvalidArgument("predictions must be 2-dimensional, but has shape ",
                                 predictions.shape().ToString());
    }
    if (targets.rank() != 1) {
      return ms::InvalidArgument("targets must be 1-dimensional, but has shape ",
                                 targets.shape().ToString());
    }
    if (predictions.dim(0) == targets.dim(0)) return ms::Status();
    return ms::InvalidArgument("First dimension of predictions ", predictions.dim(0),
                               " must match length of targets ", targets.dim(0));
  }

  bool k_is_input_ = false;
  int64_t k_ = 0;
};

ms::KernelOptions AnyTargets() { return ms::KernelOptions().Types("T", IndexTypes()); }

const ms::Registered in_top_k = ms::Register<InTopK>("InTopK", AnyTargets());
const ms::Registered in_top_k_v2 = ms::Register<InTopK>("InTopKV2", AnyTargets().HostArg("k"));

}  // namespace
}  // namespace millstream::kernels
