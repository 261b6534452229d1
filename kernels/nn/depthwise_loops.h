// The loops of depthwise convolutions, a vector of channels at a time. Every channel gets the same
// operations in the same order whatever the width of the vectors. Tensors have their channels last,
// as many in the input as in the output.
#ifndef MILLSTREAM_KERNELS_NN_DEPTHWISE_LOOPS_H_
#define MILLSTREAM_KERNELS_NN_DEPTHWISE_LOOPS_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/matmul/window_product.h"
#include "kernels/nn/depthwise_threes.h"
#include "kernels/nn/depthwise_windows.h"
#include "kernels/nn/pool_lanes.h"
#include "kernels/simd/vector.h"

namespace millstream::kernels {

// Whether V is the machine's own vector rather than one for few channels, for which the code that
// is fast for many is not worth its room.
template <typename V, int kBytes>
inline constexpr bool kIsWide = sizeof(V) == kBytes;

// Calls fn(std::integral_constant<count>, first channel, repeated): for blocks of kBlock vectors as
// long as there are such, then for single ones. The last one may overlap that before it: its first
// `repeated` channels were covered already.
template <int64_t kBlock, typename V, typename T, typename Fn>
inline void ForEachBlockOfLanes(int64_t channels, Fn&& fn) {
  constexpr int64_t kStep = kLanesOf<V, T>;
  int64_t first = 0;
  if constexpr (kBlock > 1) {
    for (; first + kBlock * kStep <= channels; first += kBlock * kStep) {
      fn(std::integral_constant<int64_t, kBlock>(), first, int64_t{0});
    }
  }
  for (; first < channels; first += kStep) {
    const int64_t repeated = std::max<int64_t>(0, first + kStep - channels);
    fn(std::integral_constant<int64_t, 1>(), first - repeated, repeated);
  }
}

// The rows [begin, end) of all images of a TapPlan's result. What `epilogue` says is done to a sum
// before it is written. REQUIRES: it says nothing unless T is float.
template <typename T, int kBytes>
struct TapSums {
  static void Run(const TapPlan& plan, const T* source, const T* filter,
                  const ProductEpilogue& epilogue, T* result, int64_t begin, int64_t end) {
    WithLanesFor<kBytes, T>(plan.channels, [&](auto lanes) {
      const int64_t rows = static_cast<int64_t>(plan.rows.size());
      const int64_t row_size = static_cast<int64_t>(plan.columns.size()) * plan.channels;
      const int64_t image_size = plan.source_rows * plan.source_columns * plan.channels;
      for (int64_t row = begin; row < end; ++row) {
        SumRow<decltype(lanes)>(plan, plan.rows[row % rows], source + row / rows * image_size,
                                filter, At(epilogue, 0, row * row_size), result + row * row_size);
      }
    });
  }

 private:
  // As many sums as the processor has registers for, sixteen or thirty-two.
  template <typename V>
  static constexpr int64_t kBlock = !kIsWide<V, kBytes> ? 1
                                    : kBytes == 64      ? 4
                                                        : 2;
  // Columns that are summed together, so that they share the loads of the filter.
  static constexpr int64_t kTogether = 4;

  // The epilogue of results from `channel` on that begin `distance` elements further on.
  static ProductEpilogue At(const ProductEpilogue& epilogue, int64_t channel, int64_t distance) {
    ProductEpilogue moved = epilogue;
    if (moved.bias != nullptr) moved.bias += channel;
    if (moved.added != nullptr) moved.added += distance;
    return moved;
  }

  // Whether the next columns have the same taps, and how far apart they are in the source.
  static bool AreAlike(const TapRun* columns, int64_t* step) {
    *step = columns[1].position - columns[0].position;
    for (int64_t i = 1; i < kTogether; ++i) {
      if (columns[i].count != columns[0].count || columns[i].tap != columns[0].tap ||
          columns[i].position != columns[0].position + i * *step) {
        return false;
      }
    }
    return true;
  }

  template <typename V>
  static void SumRow(const TapPlan& plan, const TapRun& rows, const T* image, const T* filter,
                     const ProductEpilogue& epilogue, T* result) {
    ProductEpilogue rest = epilogue;
    const TapRun* columns = plan.columns.data();
    const TapRun* const end = columns + plan.columns.size();
    while (columns < end) {
      int64_t done = SumThrees<V>(plan, rows, columns, end, image, filter, rest, result);
      int64_t step = 0;
      if (done == 0 && kIsWide<V, kBytes> && end - columns >= kTogether &&
          AreAlike(columns, &step)) {
        done = kTogether;
        SumColumns<kIsWide<V, kBytes> ? kTogether : 1, V>(plan, rows, *columns, step, image, filter,
                                                          rest, result);
      }
      if (done == 0) {
        done = 1;
        SumColumns<1, V>(plan, rows, *columns, 0, image, filter, rest, result);
      }
      columns += done;
      result += done * plan.channels;
      rest = At(rest, 0, done * plan.channels);
    }
  }

  // Narrower vectors read parts of cache lines, which images of many channels push out of the first
  // cache before the next part is read; and sixteen registers do not hold the weights and the sums.
  template <typename V>
  static constexpr bool kHasThrees =
      std::conjunction_v<std::is_same<T, float>, std::bool_constant<kBytes == 64>,
                         std::bool_constant<kIsWide<V, kBytes>>>;

  // Sums the columns from `columns` on whose windows are alike and for which there are loops of
  // their own, and returns how many: perhaps none.
  template <typename V>
  static int64_t SumThrees([[maybe_unused]] const TapPlan& plan,
                           [[maybe_unused]] const TapRun& rows,
                           [[maybe_unused]] const TapRun* columns,
                           [[maybe_unused]] const TapRun* end, [[maybe_unused]] const T* image,
                           [[maybe_unused]] const T* filter,
                           [[maybe_unused]] const ProductEpilogue& epilogue,
                           [[maybe_unused]] T* result) {
    if constexpr (kHasThrees<V>) {
      const TapRun& first = *columns;
      if (end - columns < 2 || first.count != 3 || first.position_step != 1 ||
          first.tap_step != 1) {
        return 0;
      }
      const int64_t step = columns[1].position - first.position;
      if (!ThreeTapSums<V>::Has(rows.count, step)) return 0;
      int64_t count = 1;
      while (columns + count < end && columns[count].count == first.count &&
             columns[count].tap == first.tap &&
             columns[count].position == first.position + count * step) {
        ++count;
      }
      ThreeTapColumns part;
      part.channels = plan.channels;
      part.count = count;
      part.from = image + (rows.position * plan.source_columns + first.position) * plan.channels;
      part.row_step = rows.position_step * plan.source_columns * plan.channels;
      part.taps = filter + (rows.tap * plan.filter_columns + first.tap) * plan.channels;
      part.tap_step = rows.tap_step * plan.filter_columns * plan.channels;
      part.epilogue = epilogue;
      part.result = result;
      ThreeTapSums<V>::Run(part, rows.count, step);
      return count;
    }
    return 0;
  }

  // kColumns columns from `columns` on, which are `step` apart in the source.
  template <int64_t kColumns, typename V>
  static void SumColumns(const TapPlan& plan, const TapRun& rows, const TapRun& columns,
                         int64_t step, const T* image, const T* filter,
                         const ProductEpilogue& epilogue, T* result) {
    const int64_t channels = plan.channels;
    const T* const from =
        image + (rows.position * plan.source_columns + columns.position) * channels;
    const T* const taps = filter + (rows.tap * plan.filter_columns + columns.tap) * channels;
    ForEachBlockOfLanes<kBlock<V>, V, T>(channels, [&](auto count, int64_t first, int64_t) {
      SumPixels<decltype(count)::value, kColumns, V>(plan, rows, columns, step * channels,
                                                     from + first, taps + first,
                                                     At(epilogue, first, first), result + first);
    });
  }

  // kCount vectors side by side, in each of the columns.
  template <int64_t kCount, int64_t kColumns, typename V>
  static void SumPixels(const TapPlan& plan, const TapRun& rows, const TapRun& columns,
                        int64_t pixel_step, const T* from, const T* taps,
                        const ProductEpilogue& epilogue, T* result) {
    constexpr int64_t kStep = kLanesOf<V, T>;
    const int64_t channels = plan.channels;
    const int64_t row_step = rows.position_step * plan.source_columns * channels;
    const int64_t tap_row_step = rows.tap_step * plan.filter_columns * channels;
    const int64_t column_step = columns.position_step * channels;
    const int64_t tap_column_step = columns.tap_step * channels;
    std::array<std::array<V, kCount>, kColumns> sums{};
    for (int64_t k = 0; k < rows.count; ++k, from += row_step, taps += tap_row_step) {
      const T* x = from;
      const T* w = taps;
      for (int64_t m = 0; m < columns.count; ++m, x += column_step, w += tap_column_step) {
#pragma GCC unroll 4
        for (int64_t i = 0; i < kCount; ++i) {
          const V weight = LoadLanes<V>(w + i * kStep);
#pragma GCC unroll 4
          for (int64_t p = 0; p < kColumns; ++p) {
            sums[p][i] += LoadLanes<V>(x + p * pixel_step + i * kStep) * weight;
          }
        }
      }
    }
#pragma GCC unroll 4
    for (int64_t p = 0; p < kColumns; ++p) {
#pragma GCC unroll 4
      for (int64_t i = 0; i < kCount; ++i) {
        const int64_t place = p * channels + i * kStep;
        StoreLanes(Finished(epilogue, i * kStep, place, sums[p][i]), result + place);
      }
    }
  }

  // As MultiplyWindows finishes a sum.
  template <typename V>
  static inline V Finished([[maybe_unused]] const ProductEpilogue& epilogue,
                           [[maybe_unused]] int64_t channel, [[maybe_unused]] int64_t place,
                           V sum) {
    if constexpr (std::is_same_v<T, float>) {
      if (epilogue.bias != nullptr) sum += LoadLanes<V>(epilogue.bias + channel);
      if (epilogue.added != nullptr) sum += LoadLanes<V>(epilogue.added + place);
      if (epilogue.has_limits()) {
        const V least = SameLanes<V>(epilogue.least);
        const V most = SameLanes<V>(epilogue.most);
        sum = sum <= least ? least : sum;
        sum = sum > most ? most : sum;
      }
    }
    return sum;
  }
};

// Adds to `sums`, which has the filter's shape, what the output rows [begin, end) of all images
// have to do with each tap: sums of products of input and gradient.
template <typename T, int kBytes>
struct TapGradients {
  static void Run(const ConvShape& shape, const T* input, const T* gradient, T* sums, int64_t begin,
                  int64_t end) {
    WithLanesFor<kBytes, T>(shape.out_channels, [&](auto lanes) {
      for (int64_t row = begin; row < end; ++row) {
        AddRow<decltype(lanes)>(shape, row / shape.output[0], row % shape.output[0], input,
                                gradient + row * shape.output[1] * shape.out_channels, sums);
      }
    });
  }

 private:
  template <typename V>
  static constexpr int64_t kBlock = kIsWide<V, kBytes> ? 4 : 1;

  template <typename V>
  static void AddRow(const ConvShape& shape, int64_t n, int64_t oh, const T* input, const T* dy,
                     T* sums) {
    const int64_t channels = shape.out_channels;
    const TapRun rows = TapsOfOutput(shape, 0, oh);
    for (int64_t k = 0; k < rows.count; ++k) {
      const int64_t ih = rows.position + k * rows.position_step;
      const T* const input_row = input + (n * shape.input[0] + ih) * shape.input[1] * channels;
      for (int64_t kw = 0; kw < shape.filter[1]; ++kw) {
        const PositionRange outputs = OutputsOfTap(shape, 1, kw);
        const int64_t iw =
            outputs.begin * shape.stride[1] + kw * shape.dilation[1] - shape.before[1];
        const T* const x = input_row + iw * channels;
        const T* const g = dy + outputs.begin * channels;
        T* const tap = sums + ((rows.tap + k) * shape.filter[1] + kw) * channels;
        AddTap<V>(outputs.end - outputs.begin, channels, shape.stride[1] * channels, x, g, tap);
      }
    }
  }

  // What channels have that were covered already is not added again.
  template <typename V>
  static void AddTap(int64_t count, int64_t channels, int64_t step, const T* x, const T* g,
                     T* tap) {
    constexpr int64_t kStep = kLanesOf<V, T>;
    ForEachBlockOfLanes<kBlock<V>, V, T>(
        channels, [&](auto block, int64_t first, int64_t repeated) {
          constexpr int64_t kCount = decltype(block)::value;
          std::array<V, kCount> sums{};
          for (int64_t i = 0; i < count; ++i) {
#pragma GCC unroll 4
            for (int64_t k = 0; k < kCount; ++k) {
              const int64_t lane = first + k * kStep;
              sums[k] += LoadLanes<V>(x + i * step + lane) * LoadLanes<V>(g + i * channels + lane);
            }
          }
          if (repeated > 0) std::memset(sums.data(), 0, repeated * sizeof(T));
#pragma GCC unroll 4
          for (int64_t k = 0; k < kCount; ++k) {
            T* const to = tap + first + k * kStep;
            StoreLanes(LoadLanes<V>(to) + sums[k], to);
          }
        });
  }
};

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_NN_DEPTHWISE_LOOPS_H_
