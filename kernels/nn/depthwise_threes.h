// Depthwise sums of windows three taps wide, the size that networks have most: the weights of a
// vector of channels stay in registers while it goes along a row of the result.
#ifndef MILLSTREAM_KERNELS_NN_DEPTHWISE_THREES_H_
#define MILLSTREAM_KERNELS_NN_DEPTHWISE_THREES_H_

#include <array>
#include <cstdint>

#include "kernels/matmul/window_product.h"
#include "kernels/nn/pool_lanes.h"

namespace millstream::kernels {

// Sums of neighbouring columns of a row: column p, in channel c, is the sum of
// from[k * row_step + (p * step + m) * channels + c] * taps[k * tap_step + m * channels + c]
// over rows k and over m from 0 to 2, in this order. The epilogue is that of the first column.
struct ThreeTapColumns {
  int64_t channels;  // from column to column, in all three tensors
  int64_t count;
  const float* from;
  int64_t row_step;
  const float* taps;
  int64_t tap_step;
  ProductEpilogue epilogue;
  float* result;
};

// V is a vector of float.
template <typename V>
class ThreeTapSums {
 public:
  // Whether there are loops for windows of `rows` rows that are `step` columns apart.
  static bool Has(int64_t rows, int64_t step) {
    return (rows == 2 || rows == 3) && (step == 1 || step == 2);
  }

  // REQUIRES: Has(rows, step); the channels fill a V at least.
  static void Run(const ThreeTapColumns& columns, int64_t rows, int64_t step) {
    if (rows == 3) {
      step == 1 ? SumColumns<3, 1>(columns) : SumColumns<3, 2>(columns);
    } else {
      step == 1 ? SumColumns<2, 1>(columns) : SumColumns<2, 2>(columns);
    }
  }

 private:
  static constexpr int kTaps = 3;
  // A processor adds up to four sums in the time of one addition.
  static constexpr int64_t kTogether = 4;

  // What is the same for all columns of a vector of channels.
  template <int kRows>
  struct Lanes {
    std::array<std::array<V, kTaps>, kRows> weights;
    V bias;
    V least;
    V most;
  };

  template <int kRows>
  static Lanes<kRows> LanesAt(const ThreeTapColumns& columns, int64_t channel) {
    Lanes<kRows> lanes;
#pragma GCC unroll 3
    for (int k = 0; k < kRows; ++k) {
#pragma GCC unroll 3
      for (int m = 0; m < kTaps; ++m) {
        lanes.weights[k][m] =
            LoadLanes<V>(columns.taps + k * columns.tap_step + m * columns.channels + channel);
      }
    }
    const ProductEpilogue& epilogue = columns.epilogue;
    // The one number that changes no sum, not even a negative zero.
    const V none = -V{};
    lanes.bias = epilogue.bias == nullptr ? none : LoadLanes<V>(epilogue.bias + channel);
    lanes.least = SameLanes<V>(epilogue.least);
    lanes.most = SameLanes<V>(epilogue.most);
    return lanes;
  }

  template <int kRows, int kStep>
  static void SumColumns(const ThreeTapColumns& columns) {
    ForEachLanes<V, float>(columns.channels, [&](int64_t first, int64_t) {
      const Lanes<kRows> lanes = LanesAt<kRows>(columns, first);
      int64_t column = 0;
      for (; column + kTogether <= columns.count; column += kTogether) {
        SumSome<kRows, kStep, kTogether>(columns, lanes, column, first);
      }
      for (; column < columns.count; ++column) {
        SumSome<kRows, kStep, 1>(columns, lanes, column, first);
      }
    });
  }

  template <int kRows, int kStep, int64_t kCount>
  static inline void SumSome(const ThreeTapColumns& columns, const Lanes<kRows>& lanes,
                             int64_t column, int64_t channel) {
    const int64_t channels = columns.channels;
    const float* x = columns.from + column * kStep * channels + channel;
    std::array<V, kCount> sums{};
#pragma GCC unroll 3
    for (int k = 0; k < kRows; ++k, x += columns.row_step) {
#pragma GCC unroll 3
      for (int m = 0; m < kTaps; ++m) {
#pragma GCC unroll 4
        for (int64_t p = 0; p < kCount; ++p) {
          sums[p] += LoadLanes<V>(x + (p * kStep + m) * channels) * lanes.weights[k][m];
        }
      }
    }
    const int64_t place = column * channels + channel;
#pragma GCC unroll 4
    for (int64_t p = 0; p < kCount; ++p) {
      V sum = sums[p] + lanes.bias;
      const float* const added = columns.epilogue.added;
      if (added != nullptr) sum += LoadLanes<V>(added + place + p * channels);
      sum = sum <= lanes.least ? lanes.least : sum;
      sum = sum > lanes.most ? lanes.most : sum;
      StoreLanes(sum, columns.result + place + p * channels);
    }
  }
};

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_NN_DEPTHWISE_THREES_H_
