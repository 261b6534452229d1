// _LayerNorm: each row less its mean, by its standard deviation, times a factor and plus an addend
// for each column. A row is read once from memory.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/parallel.h"
#include "kernels/nn/softmax_rows.h"

namespace millstream::kernels {
namespace {

// The sum of term(vector) over a row. Elements beyond the row are `fill`, of which the term must be
// 0. As in RowExpSum, the cuts of the sum depend on the length alone.
template <int kBytes, typename Term>
double RowSum(const float* x, int64_t n, float fill, Term&& term) {
  constexpr int64_t kEach = kLanes<float, kBytes>;
  constexpr int kVectors = 64 / kBytes;
  double total = 0;
  for (int64_t begin = 0; begin < n; begin += kSumBlock) {
    const int64_t end = std::min(n, begin + kSumBlock);
    Vector<float, kBytes> sums[kVectors] = {};
    int64_t j = begin;
    for (; j + kVectors * kEach <= end; j += kVectors * kEach) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sums[v] += term(Load<kBytes>(x + j + v * kEach));
    }
    for (int v = 0; v < kVectors && j < end; ++v, j += kEach) {
      const int count = static_cast<int>(std::min<int64_t>(end - j, kEach));
      sums[v] += term(count == kEach ? Load<kBytes>(x + j) : LoadSome<kBytes>(x + j, count, fill));
    }
    total += static_cast<double>(SumOfLanes<float, kBytes>(sums));
  }
  return total;
}

struct Rows {
  const float* x;
  float* y;
  int64_t rows;
  int64_t columns;
  const float* gamma;
  const float* beta;
  float epsilon;
};

template <int kBytes>
struct NormLoop {
  static void Run(const Rows& rows) {
    const int64_t n = rows.columns;
    for (int64_t i = 0; i < rows.rows; ++i) {
      const float* const x = rows.x + i * n;
      float* const y = rows.y + i * n;
      const double sum = RowSum<kBytes>(x, n, 0.0f, [](Vector<float, kBytes> v) { return v; });
      const float mean = static_cast<float>(sum / static_cast<double>(n));
      const double squares = RowSum<kBytes>(x, n, mean, [mean](Vector<float, kBytes> v) {
        const Vector<float, kBytes> d = v - mean;
        return d * d;
      });
      const float variance = static_cast<float>(squares / static_cast<double>(n));
      const float factor = 1.0f / std::sqrt(variance + rows.epsilon);
#pragma GCC ivdep
      for (int64_t j = 0; j < n; ++j) y[j] = (x[j] - mean) * factor * rows.gamma[j] + rows.beta[j];
    }
  }
};

class LayerNorm {
 public:
  ms::Status Init(const ms::KernelInfo& info) { return info.Attr("epsilon", &epsilon_); }

  ms::Status Compute(ms::Frame& frame) const {
    constexpr int64_t kPicoseconds = 500;  // see ParallelElements
    const ms::View x = frame.input(0);
    const int64_t columns = x.rank() == 0 ? -1 : x.dim(x.rank() - 1);
    for (const uint32_t i : {1u, 2u}) {
      if (frame.input(i).shape() == ms::Shape{columns}) continue;
      return ms::InvalidArgument("gamma and beta must be vectors as long as the rows of x ",
                                 x.shape().ToString(), ", one has shape ",
                                 frame.input(i).shape().ToString());
    }
    ms::View y;
    MS_TRY(frame.ForwardOrOutput(0, 0, x.shape(), &y));
    if (x.size() == 0) return ms::Status();
    const float* const from = x.data<float>();
    float* const to = y.data<float>();
    const float* const gamma = frame.input(1).data<float>();
    const float* const beta = frame.input(2).data<float>();
    return ParallelRows(
        frame, x.size() / columns, columns, kPicoseconds, [&](int64_t begin, int64_t end) {
          const int64_t first = begin * columns;
          RunVectorLoop<NormLoop>(
              Rows{from + first, to + first, end - begin, columns, gamma, beta, epsilon_});
        });
  }

 private:
  float epsilon_ = 0;
};

const ms::Registered layer_norm =
    ms::Register<LayerNorm>("_LayerNorm", ms::KernelOptions().Type<float>("T").InPlace(0, 0));

}  // namespace
}  // namespace millstream::kernels
