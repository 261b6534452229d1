#include "kernels/matmul/window_product.h"

#include <algorithm>
#include <cstring>

#include "kernels/simd/vector.h"

namespace millstream::kernels {
namespace {

// Rows whose sums stay in the processor's registers, sixteen or thirty-two, with two vectors of
// each row.
template <int kBytes>
constexpr int kMostRows = kBytes == 64 ? 12 : 6;
constexpr int kMostRowsOfAll = 12;

template <int kBytes>
constexpr int64_t kUnit = 2 * kLanes<float, kBytes>;  // columns
constexpr int64_t kMostUnit = 32;

// What a tile needs besides its rows. `bias` and `added` have room for whole vectors.
struct TileColumns {
  const float* strip;   // the first column's
  int64_t vector_step;  // to the second vector of columns
  const float* bias;
  const float* added;  // none if null
  float* output;
  int64_t stride;  // of `added` and `output`
};

// The sums of a tile. The loops are unrolled before the compiler looks at the arrays, as they must
// be for these to become registers.
template <int kBytes, int kRows, int kVectors>
inline void MultiplyTile(const WindowProduct& product, const float* const* starts,
                         const TileColumns& columns) {
  using Lane = Vector<float, kBytes>;
  constexpr int64_t kStep = kLanes<float, kBytes>;
  Lane sums[kRows][kVectors];
#pragma GCC unroll 12
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int j = 0; j < kVectors; ++j) sums[i][j] = Lane{};
  }
  const float* rows[kRows];
#pragma GCC unroll 12
  for (int i = 0; i < kRows; ++i) rows[i] = starts[i];
  const float* right = columns.strip;
  for (int64_t piece = 0; piece < product.pieces; ++piece) {
    const int64_t begin = product.offsets[piece];
    const int64_t end = begin + product.length;
#pragma GCC unroll 1
    for (int64_t k = begin; k < end; ++k, right += kStripColumns) {
      const Lane first = Load<kBytes>(right);
      const Lane second = kVectors == 1 ? first : Load<kBytes>(right + columns.vector_step);
#pragma GCC unroll 12
      for (int i = 0; i < kRows; ++i) {
        const float factor = rows[i][k];
        sums[i][0] += factor * first;
        if (kVectors == 2) sums[i][kVectors - 1] += factor * second;
      }
    }
  }
  const Lane least = product.epilogue.least + Lane{};
  const Lane most = product.epilogue.most + Lane{};
#pragma GCC unroll 12
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int j = 0; j < kVectors; ++j) {
      const int64_t place = i * columns.stride + j * kStep;
      Lane value = sums[i][j] + Load<kBytes>(columns.bias + j * kStep);
      if (columns.added != nullptr) value += Load<kBytes>(columns.added + place);
      value = value <= least ? least : value;
      value = value > most ? most : value;
      Store(value, columns.output + place);
    }
  }
}

// As many rows as a tile may have, or fewer: these are computed with the last one repeated.
template <int kBytes, int kVectors>
inline void MultiplyRows(const WindowProduct& product, const float* const* starts, int64_t rows,
                         const TileColumns& columns) {
  constexpr int kMost = kMostRows<kBytes>;
  constexpr int kLess = kMost / 6;
  if (rows > kMost - kLess) {
    MultiplyTile<kBytes, kMost, kVectors>(product, starts, columns);
  } else if (rows > kMost - 2 * kLess) {
    MultiplyTile<kBytes, kMost - kLess, kVectors>(product, starts, columns);
  } else {
    MultiplyTile<kBytes, kMost - 2 * kLess, kVectors>(product, starts, columns);
  }
}

// The rows that MultiplyRows writes.
template <int kBytes>
int64_t RowsOfTile(int64_t rows) {
  constexpr int64_t kLess = kMostRows<kBytes> / 6;
  return std::max((rows + kLess - 1) / kLess, int64_t{4}) * kLess;
}

// Copies a block of few columns.
void CopyColumns(const float* from, int64_t from_stride, int64_t rows, int64_t columns, float* to,
                 int64_t to_stride) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) to[i * to_stride + j] = from[i * from_stride + j];
  }
}

template <int kBytes>
struct Strips {
  static constexpr int64_t kStep = kLanes<float, kBytes>;

  static void Run(const WindowProduct& product, const float* const* starts, int64_t rows,
                  int64_t first, int64_t last, float* output) {
    const int64_t end = std::min(last * kStripColumns, product.columns);
    const int64_t strip_size = product.depth() * kStripColumns;
    for (int64_t column = first * kStripColumns; column < end; column += kUnit<kBytes>) {
      const int64_t count = std::min(kUnit<kBytes>, end - column);
      float bias[kUnit<kBytes>];
      for (int64_t i = 0; i < kUnit<kBytes>; ++i) {
        // The one number that changes no sum, not even a negative zero.
        const bool has_bias = product.epilogue.bias != nullptr && i < count;
        bias[i] = has_bias ? product.epilogue.bias[column + i] : -0.0f;
      }
      TileColumns columns;
      columns.strip = product.strips + column / kStripColumns * strip_size + column % kStripColumns;
      // A unit is a half of a strip, a strip or two.
      columns.vector_step = kStep < kStripColumns ? kStep : strip_size;
      columns.bias = bias;
      columns.added = product.epilogue.added == nullptr ? nullptr : product.epilogue.added + column;
      columns.output = output + column;
      columns.stride = product.columns;
      RunUnit(product, starts, rows, count, columns);
    }
  }

 private:
  // The rows are divided into tiles as evenly as can be.
  static void RunUnit(const WindowProduct& product, const float* const* starts, int64_t rows,
                      int64_t count, const TileColumns& columns) {
    const int64_t tiles = (rows + kMostRows<kBytes> - 1) / kMostRows<kBytes>;
    const int64_t each = rows / tiles;
    const int64_t more = rows % tiles;
    TileColumns part = columns;
    for (int64_t tile = 0; tile < tiles; ++tile) {
      const int64_t size = each + (tile < more ? 1 : 0);
      RunTile(product, starts, size, count, part);
      starts += size;
      part.output += size * columns.stride;
      if (part.added != nullptr) part.added += size * columns.stride;
    }
  }

  static void RunTile(const WindowProduct& product, const float* const* starts, int64_t rows,
                      int64_t count, const TileColumns& columns) {
    const int64_t computed = RowsOfTile<kBytes>(rows);
    const bool is_narrow = count <= kStep;
    const int64_t width = is_narrow ? kStep : kUnit<kBytes>;
    const bool is_whole = rows == computed && count == width;
    const float* repeated[kMostRowsOfAll];
    float output[kMostRowsOfAll * kMostUnit];
    float added[kMostRowsOfAll * kMostUnit];
    const float* const* from = starts;
    TileColumns target = columns;
    if (!is_whole) {
      for (int64_t i = 0; i < computed; ++i) repeated[i] = starts[std::min(i, rows - 1)];
      from = repeated;
      target.output = output;
      target.stride = kMostUnit;
      if (columns.added != nullptr) {
        std::fill_n(added, computed * kMostUnit, 0.0f);
        CopyColumns(columns.added, columns.stride, rows, count, added, kMostUnit);
        target.added = added;
      }
    }
    // The only call, because all that it does is inlined.
    if (is_narrow) {
      MultiplyRows<kBytes, 1>(product, from, rows, target);
    } else {
      MultiplyRows<kBytes, 2>(product, from, rows, target);
    }
    if (!is_whole) CopyColumns(output, kMostUnit, rows, count, columns.output, columns.stride);
  }
};

}  // namespace

void ArrangeStrips(const float* matrix, int64_t depth, int64_t columns, int64_t begin, int64_t end,
                   float* strips) {
  for (int64_t strip = begin; strip < end; ++strip) {
    const float* from = matrix + strip * kStripColumns;
    float* to = strips + strip * depth * kStripColumns;
    const int64_t count = std::min(kStripColumns, columns - strip * kStripColumns);
    for (int64_t k = 0; k < depth; ++k, from += columns, to += kStripColumns) {
      if (count == kStripColumns) {
        std::memcpy(to, from, kStripColumns * sizeof(float));
      } else {
        std::copy_n(from, count, to);
        std::fill(to + count, to + kStripColumns, 0.0f);
      }
    }
  }
}

void MultiplyWindows(const WindowProduct& product, const float* const* starts, int64_t rows,
                     int64_t first, int64_t last, float* output) {
  RunVectorLoop<Strips>(product, starts, rows, first, last, output);
}

}  // namespace millstream::kernels
