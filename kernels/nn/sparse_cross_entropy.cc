// SparseSoftmaxCrossEntropyWithLogits: the loss of one right class a row, given by its number.
#include <cmath>
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/narrow_float.h"
#include "kernels/common/parallel.h"
#include "kernels/common/wide_tensors.h"
#include "kernels/nn/softmax_rows.h"

namespace millstream::kernels {
namespace {

// `loss` and `backprop` may be null; `backprop` may be x.
template <typename T>
struct SparseCrossEntropyRow {
  template <int kBytes>
  struct Loop {
    static void Run(const T* x, int64_t label, int64_t classes, T* loss, T* backprop) {
      const T largest = RowMax<kBytes>(x, classes);
      const T shifted = x[label] - largest;
      const double exp_sum = RowExpSum<kBytes>(x, largest, classes, backprop);
      if (loss != nullptr) *loss = static_cast<T>(std::log(exp_sum) - shifted);
      if (backprop == nullptr) return;
      const T scale = static_cast<T>(1 / exp_sum);
      for (int64_t j = 0; j < classes; ++j) backprop[j] *= scale;
      backprop[label] -= T(1);
    }
  };
};

ms::Status CheckShapes(const ms::View& features, const ms::View& labels) {
  if (features.rank() != 2) {
    return ms::InvalidArgument("features must be a matrix of rows and classes, but is ",
                               features.shape().ToString());
  }
  if (labels.rank() != 1 || labels.dim(0) != features.dim(0)) {
    return ms::InvalidArgument("labels must be [", features.dim(0), "], one for each row of ",
                               "features ", features.shape().ToString(), ", but is ",
                               labels.shape().ToString());
  }
  if (features.dim(1) == 0) {
    return ms::InvalidArgument("features must have at least one class, but is ",
                               features.shape().ToString());
  }
  return ms::Status();
}

template <typename Label>
ms::Status CheckLabels(const Label* labels, int64_t rows, int64_t classes) {
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t label = labels[row];
    if (label < 0 || label >= classes) {
      return ms::InvalidArgument("Received a label value of ", label,
                                 " which is outside the valid range of [0, ", classes, "): labels[",
                                 row, "]");
    }
  }
  return ms::Status();
}

template <typename T, typename Label>
class SparseCrossEntropy {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    const ms::View features = frame.input(0);
    MS_TRY(CheckShapes(features, frame.input(1)));
    const int64_t rows = features.dim(0);
    const int64_t classes = features.dim(1);
    const Label* labels = frame.input(1).data<Label>();
    MS_TRY(CheckLabels(labels, rows, classes));

    ms::View loss_view;
    ms::View backprop_view;
    if (frame.output_used(0)) MS_TRY(frame.Output(0, {rows}, &loss_view));
    if (frame.output_used(1)) {
      MS_TRY(frame.ForwardOrOutput(0, 1, features.shape(), &backprop_view));
    }
    if (loss_view.is_null() && backprop_view.is_null()) return ms::Status();

    using Compute = ComputeTypeOf<T>;
    Compute* x = nullptr;
    MS_TRY(WideInput<T>(frame, 0, &x));
    WideOutput<T> loss_output;
    WideOutput<T> backprop_output;
    if (!loss_view.is_null()) MS_TRY(loss_output.Init(frame, loss_view));
    if (!backprop_view.is_null()) MS_TRY(backprop_output.Init(frame, backprop_view));
    Compute* const loss = loss_output.data();
    Compute* const backprop = backprop_output.data();
    MS_TRY(ParallelRows(frame, rows, classes, kSoftmaxPicoseconds, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        RunVectorLoop<SparseCrossEntropyRow<Compute>::template Loop>(
            x + row * classes, static_cast<int64_t>(labels[row]), classes,
            loss == nullptr ? nullptr : loss + row,
            backprop == nullptr ? nullptr : backprop + row * classes);
      }
    }));
    MS_TRY(loss_output.Finish(frame));
    return backprop_output.Finish(frame);
  }
};

template <typename T, typename Label>
void RegisterSparse() {
  ms::Register<SparseCrossEntropy<T, Label>>(
      "SparseSoftmaxCrossEntropyWithLogits",
      ms::KernelOptions().Type<T>("T").template Type<Label>("Tlabels").InPlace(1, 0));
}

template <typename... Ts>
ms::Registered RegisterSparseForTypes() {
  (RegisterSparse<Ts, int32_t>(), ...);
  (RegisterSparse<Ts, int64_t>(), ...);
  return ms::Registered();
}

const ms::Registered sparse_cross_entropy =
    RegisterSparseForTypes<float, double, Float16, BFloat16>();

}  // namespace
}  // namespace millstream::kernels
