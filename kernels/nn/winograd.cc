#include "kernels/nn/winograd.h"

#include <algorithm>
#include <cstring>

#include "kernels/simd/vector.h"

namespace millstream::kernels {
namespace {

// In one dimension, the inputs d0 to d3 and the filter g0 to g2 make the outputs
//   y0 = d0 g0 + d1 g1 + d2 g2 = m0 + m1 + m2
//   y1 = d1 g0 + d2 g1 + d3 g2 = m1 - m2 - m3
// of the four products
//   m0 = (d0 - d2) g0               m1 = (d1 + d2) (g0 + g1 + g2) / 2
//   m3 = (d1 - d3) g2               m2 = (d2 - d1) (g0 - g1 + g2) / 2
// In two dimensions each is done by columns and then by rows. A product is the sum over the input
// channels of the products of one position.
//
// The loops are unrolled before the compiler looks at the arrays, as they must be for these to
// become registers.

template <int kBytes>
struct FilterTransform {
  using Lane = Vector<float, kBytes>;
  static constexpr int64_t kStep = kLanes<float, kBytes>;

  static void Run(const WinogradFilter& filter, float* to) {
    const int64_t strips = filter.last_strip - filter.first_strip;
    const int64_t position_step = strips * filter.in_channels * kStripColumns;
    for (int64_t channel = filter.first_in; channel < filter.last_in; ++channel) {
      for (int64_t strip = 0; strip < strips; ++strip) {
        const int64_t column = (filter.first_strip + strip) * kStripColumns;
        float* const row = to + (strip * filter.in_channels + channel) * kStripColumns;
        RunStripRow(filter, channel, column, position_step, row);
      }
    }
  }

 private:
  static constexpr int64_t kTaps = 9;

  static void RunStripRow(const WinogradFilter& filter, int64_t channel, int64_t column,
                          int64_t position_step, float* to) {
    const int64_t count = std::min(kStripColumns, filter.out_channels - column);
    int64_t tap_step = filter.in_channels * filter.out_channels;
    const float* taps = filter.filter + channel * filter.out_channels + column;
    float filled[kTaps * kStripColumns];
    if (count < kStripColumns) {
      std::fill_n(filled, kTaps * kStripColumns, 0.0f);
      for (int64_t tap = 0; tap < kTaps; ++tap) {
        std::memcpy(filled + tap * kStripColumns, taps + tap * tap_step,
                    static_cast<size_t>(count) * sizeof(float));
      }
      taps = filled;
      tap_step = kStripColumns;
    }
    for (int64_t i = 0; i < kStripColumns; i += kStep) {
      TransformVector(taps + i, tap_step, position_step, to + i);
    }
  }

  static inline void TransformVector(const float* taps, int64_t tap_step, int64_t position_step,
                                     float* to) {
    Lane rows[4][3];
#pragma GCC unroll 3
    for (int j = 0; j < 3; ++j) {
      const Lane g0 = Load<kBytes>(taps + j * tap_step);
      const Lane g1 = Load<kBytes>(taps + (3 + j) * tap_step);
      const Lane g2 = Load<kBytes>(taps + (6 + j) * tap_step);
      rows[0][j] = g0;
      rows[1][j] = 0.5f * ((g0 + g2) + g1);
      rows[2][j] = 0.5f * ((g0 + g2) - g1);
      rows[3][j] = g2;
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const Lane ends = rows[i][0] + rows[i][2];
      float* const row = to + 4 * i * position_step;
      Store(rows[i][0], row);
      Store(0.5f * (ends + rows[i][1]), row + position_step);
      Store(0.5f * (ends - rows[i][1]), row + 2 * position_step);
      Store(rows[i][2], row + 3 * position_step);
    }
  }
};

template <int kBytes>
struct InputTransform {
  using Lane = Vector<float, kBytes>;
  static constexpr int64_t kStep = kLanes<float, kBytes>;

  static void Run(const WinogradPixels& pixels, int64_t channels, int64_t position_step,
                  float* to) {
    for (int64_t next = 0; next < channels; next += kStep) {
      const int64_t channel = std::min(next, channels - kStep);
      Lane rows[4][4];
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) {
        const Lane d0 = Load<kBytes>(pixels[j] + channel);
        const Lane d1 = Load<kBytes>(pixels[4 + j] + channel);
        const Lane d2 = Load<kBytes>(pixels[8 + j] + channel);
        const Lane d3 = Load<kBytes>(pixels[12 + j] + channel);
        rows[0][j] = d0 - d2;
        rows[1][j] = d1 + d2;
        rows[2][j] = d2 - d1;
        rows[3][j] = d1 - d3;
      }
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        float* const row = to + channel + 4 * i * position_step;
        Store(rows[i][0] - rows[i][2], row);
        Store(rows[i][1] + rows[i][2], row + position_step);
        Store(rows[i][2] - rows[i][1], row + 2 * position_step);
        Store(rows[i][1] - rows[i][3], row + 3 * position_step);
      }
    }
  }
};

template <int kBytes>
struct OutputTransform {
  using Lane = Vector<float, kBytes>;
  static constexpr int64_t kStep = kLanes<float, kBytes>;

  static void Run(const WinogradTile& tile, float* output) {
    for (int64_t next = 0; next < tile.channels; next += kStep) {
      const int64_t channel = std::min(next, tile.channels - kStep);
      Lane rows[2][4];
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) {
        const float* const column = tile.sums + channel + j * tile.position_step;
        const Lane m0 = Load<kBytes>(column);
        const Lane m1 = Load<kBytes>(column + 4 * tile.position_step);
        const Lane m2 = Load<kBytes>(column + 8 * tile.position_step);
        const Lane m3 = Load<kBytes>(column + 12 * tile.position_step);
        rows[0][j] = m0 + m1 + m2;
        rows[1][j] = m1 - m2 - m3;
      }
#pragma GCC unroll 2
      for (int i = 0; i < 2; ++i) {
        Finish(tile, channel, rows[i][0] + rows[i][1] + rows[i][2], tile.places[2 * i], output);
        Finish(tile, channel, rows[i][1] - rows[i][2] - rows[i][3], tile.places[2 * i + 1], output);
      }
    }
  }

 private:
  // As MultiplyWindows finishes a sum.
  static inline void Finish(const WinogradTile& tile, int64_t channel, Lane value, int64_t place,
                            float* output) {
    if (place < 0) return;
    const ProductEpilogue& epilogue = tile.epilogue;
    if (epilogue.bias != nullptr) value += Load<kBytes>(epilogue.bias + channel);
    if (epilogue.added != nullptr) value += Load<kBytes>(epilogue.added + place + channel);
    if (epilogue.has_limits()) {
      const Lane least = epilogue.least + Lane{};
      const Lane most = epilogue.most + Lane{};
      value = value <= least ? least : value;
      value = value > most ? most : value;
    }
    Store(value, output + place + channel);
  }
};

}  // namespace

void TransformWinogradFilter(const WinogradFilter& filter, float* to) {
  RunVectorLoop<FilterTransform>(filter, to);
}

void TransformWinogradInput(const WinogradPixels& pixels, int64_t channels, int64_t position_step,
                            float* to) {
  RunVectorLoop<InputTransform>(pixels, channels, position_step, to);
}

void TransformWinogradOutput(const WinogradTile& tile, float* output) {
  RunVectorLoop<OutputTransform>(tile, output);
}

}  // namespace millstream::kernels
