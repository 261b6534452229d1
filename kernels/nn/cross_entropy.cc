// SoftmaxCrossEntropyWithLogits: for each row, loss = sum_j labels_j * -log softmax(features)_j,
// and backprop = softmax(features) - labels.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/narrow_float.h"
#include "kernels/common/parallel.h"
#include "kernels/common/wide_tensors.h"
#include "kernels/nn/softmax_rows.h"

namespace millstream::kernels {
namespace {

// Sums over one row of labels.
struct LabelSums {
  double labels = 0;  // labels_j
  double logits = 0;  // labels_j * (x_j - shift)
};
template <int kBytes, typename T>
LabelSums SumLabels(const T* x, T shift, const T* labels, int64_t classes) {
  // 64 bytes of partial sums in every set, as in RowExpSum.
  using Lanes = Vector<T, kBytes>;
  constexpr int kVectors = 64 / kBytes;
  const auto vector_of = [](int64_t j) { return j / kLanes<T, kBytes> % kVectors; };
  LabelSums total;
  for (int64_t begin = 0; begin < classes; begin += kSumBlock) {
    Lanes label_sum[kVectors] = {};
    Lanes logit_sum[kVectors] = {};
    ForEachVector<T, kBytes>(
        begin, std::min(classes, begin + kSumBlock),
        [&](int64_t j) {
          const Lanes label = Load<kBytes>(labels + j);
          label_sum[vector_of(j)] += label;
          logit_sum[vector_of(j)] += label * (Load<kBytes>(x + j) - shift);
        },
        [&](int64_t j, int count) {
          const Lanes label = LoadSome<kBytes>(labels + j, count, T(0));
          label_sum[vector_of(j)] += label;
          logit_sum[vector_of(j)] += label * (LoadSome<kBytes>(x + j, count, shift) - shift);
        });
    total.labels += static_cast<double>(SumOfLanes<T, kBytes>(label_sum));
    total.logits += static_cast<double>(SumOfLanes<T, kBytes>(logit_sum));
  }
  return total;
}

// `loss` and `backprop` may be null; `backprop` may be x.
template <typename T>
struct CrossEntropyRow {
  template <int kBytes>
  struct Loop {
    static void Run(const T* x, const T* labels, int64_t classes, T* loss, T* backprop) {
      const T largest = RowMax<kBytes>(x, classes);
      LabelSums sums;
      if (loss != nullptr) sums = SumLabels<kBytes>(x, largest, labels, classes);
      const double exp_sum = RowExpSum<kBytes>(x, largest, classes, backprop);
      if (loss != nullptr) *loss = static_cast<T>(sums.labels * std::log(exp_sum) - sums.logits);
      if (backprop == nullptr) return;
      const T scale = static_cast<T>(1 / exp_sum);
      for (int64_t j = 0; j < classes; ++j) backprop[j] = backprop[j] * scale - labels[j];
    }
  };
};

// One argument, broadcast to [rows, classes].
template <typename Compute>
struct Matrix {
  const Compute* data = nullptr;
  int64_t row_step = 0;
};

int64_t DimFromEnd(const ms::View& view, uint32_t i) {
  return i < view.rank() ? view.dim(view.rank() - 1 - i) : 1;
}

template <typename T>
ms::Status BroadcastInput(ms::Frame& frame, uint32_t input, int64_t rows, int64_t classes,
                          Matrix<ComputeTypeOf<T>>* matrix) {
  using Compute = ComputeTypeOf<T>;
  const ms::View view = frame.input(input);
  Compute* elements = nullptr;
  MS_TRY(WideInput<T>(frame, input, &elements));
  const int64_t own_rows = DimFromEnd(view, 1);
  const int64_t own_classes = DimFromEnd(view, 0);
  if (own_classes == classes) {
    *matrix = {elements, own_rows == rows ? classes : 0};
    return ms::Status();
  }
  ms::View wide;
  MS_TRY(frame.Temp(own_rows * classes * sizeof(Compute), &wide));
  Compute* to = wide.data<Compute>();
  for (int64_t row = 0; row < own_rows; ++row) {
    std::fill_n(to + row * classes, classes, elements[row]);
  }
  *matrix = {to, own_rows == rows ? classes : 0};
  return ms::Status();
}

// The shape that features and labels broadcast to.
ms::Status BroadcastShape(const ms::View& features, const ms::View& labels, int64_t* rows,
                          int64_t* classes) {
  const auto merge = [](int64_t a, int64_t b, int64_t* out) {
    *out = a == 1 ? b : a;
    return a == b || a == 1 || b == 1;
  };
  const bool fits = std::max(features.rank(), labels.rank()) == 2 &&
                    merge(DimFromEnd(features, 1), DimFromEnd(labels, 1), rows) &&
                    merge(DimFromEnd(features, 0), DimFromEnd(labels, 0), classes);
  if (fits) return ms::Status();
  return ms::InvalidArgument("features and labels must broadcast to one matrix, but are ",
                             features.shape().ToString(), " and ", labels.shape().ToString());
}

template <typename T>
class CrossEntropy {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    int64_t rows = 0;
    int64_t classes = 0;
    MS_TRY(BroadcastShape(frame.input(0), frame.input(1), &rows, &classes));
    ms::View loss_view;
    ms::View backprop_view;
    if (frame.output_used(0)) MS_TRY(frame.Output(0, {rows}, &loss_view));
    if (frame.output_used(1)) {
      MS_TRY(frame.ForwardOrOutput(0, 1, {rows, classes}, &backprop_view));
    }
    if (rows == 0 || (loss_view.is_null() && backprop_view.is_null())) return ms::Status();
    if (classes == 0) {
      if (!loss_view.is_null()) std::fill_n(loss_view.data<T>(), rows, T(0));
      return ms::Status();
    }

    using Compute = ComputeTypeOf<T>;
    Matrix<Compute> x;
    Matrix<Compute> labels;
    MS_TRY(BroadcastInput<T>(frame, 0, rows, classes, &x));
    MS_TRY(BroadcastInput<T>(frame, 1, rows, classes, &labels));
    WideOutput<T> loss_output;
    WideOutput<T> backprop_output;
    if (!loss_view.is_null()) MS_TRY(loss_output.Init(frame, loss_view));
    if (!backprop_view.is_null()) MS_TRY(backprop_output.Init(frame, backprop_view));
    Compute* const loss = loss_output.data();
    Compute* const backprop = backprop_output.data();
    MS_TRY(ParallelRows(frame, rows, classes, kSoftmaxPicoseconds, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        RunVectorLoop<CrossEntropyRow<Compute>::template Loop>(
            x.data + row * x.row_step, labels.data + row * labels.row_step, classes,
            loss == nullptr ? nullptr : loss + row,
            backprop == nullptr ? nullptr : backprop + row * classes);
      }
    }));
    MS_TRY(loss_output.Finish(frame));
    return backprop_output.Finish(frame);
  }
};

const ms::Registered cross_entropy =
    ms::RegisterForTypes<CrossEntropy, float, double, Float16, BFloat16>(
        "SoftmaxCrossEntropyWithLogits", "T", ms::KernelOptions().InPlace(1, 0));

}  // namespace
}  // namespace millstream::kernels
