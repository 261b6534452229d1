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
// Tiles have this many rows, or less by one step or two.
template <int kBytes>
constexpr int kTileStep = kMostRows<kBytes> / 6;

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
  const bool has_limits = product.epilogue.has_limits();
  const Lane least = product.epilogue.least + Lane{};
  const Lane most = product.epilogue.most + Lane{};
#pragma GCC unroll 12
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int j = 0; j < kVectors; ++j) {
      const int64_t place = i * columns.stride + j * kStep;
      Lane value = sums[i][j] + Load<kBytes>(columns.bias + j * kStep);
      if (columns.added != nullptr) value += Load<kBytes>(columns.added + place);
      if (has_limits) {
        value = value <= least ? least : value;
        value = value > most ? most : value;
      }
      Store(value, columns.output + place);
    }
  }
}

// As many rows as a tile may have, or fewer: these are computed with the last one repeated.
template <int kBytes, int kVectors>
inline void MultiplyRows(const WindowProduct& product, const float* const* starts, int64_t rows,
                         const TileColumns& columns) {
  constexpr int kMost = kMostRows<kBytes>;
  constexpr int kLess = kTileStep<kBytes>;
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
  constexpr int64_t kLess = kTileStep<kBytes>;
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
      columns.stride = product.output_step;
      RunUnit(product, starts, rows, count, columns);
    }
  }

 private:
  // The rows are divided into tiles as evenly as can be, in steps of the rows by which tiles
  // differ, so that only the last rows of all may be computed twice.
  static void RunUnit(const WindowProduct& product, const float* const* starts, int64_t rows,
                      int64_t count, const TileColumns& columns) {
    constexpr int64_t kStepRows = kTileStep<kBytes>;
    const int64_t steps = (rows + kStepRows - 1) / kStepRows;
    const int64_t tiles = (rows + kMostRows<kBytes> - 1) / kMostRows<kBytes>;
    const int64_t each = steps / tiles;
    const int64_t more = steps % tiles;
    TileColumns part = columns;
    int64_t left = rows;
    for (int64_t tile = 0; tile < tiles; ++tile) {
      const int64_t size = std::min(left, (each + (tile < more ? 1 : 0)) * kStepRows);
      RunTile(product, starts, size, count, part);
      starts += size;
      left -= size;
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

// ---- Few rows ----

// Few rows are multiplied with several strips side by side. A multiplication waits for the one
// before it in its sum, so a processor wants four vectors of sums at once where the second cache
// gives it one vector a cycle, more than a tile of few rows has. Each strip is read from its first
// row to its last, as memory likes it. Strips of a depth that is a multiple of 64 share places of
// the first cache, so that more than four of them would push each other out.
template <int kBytes>
constexpr int kFewRows = kBytes == 64   ? 6
                         : kBytes == 32 ? 2
                                        : 1;
template <int kBytes, int kRows>
constexpr int kStripsAtOnce = kRows == 1 && kBytes < 64 ? kBytes / 8 : kBytes / 16;

// Up to kFewRows rows.
template <int kBytes>
struct RowSet {
  const float* rows[kFewRows<kBytes>];
  float* outputs[kFewRows<kBytes>];  // of each
};

// The first kRows rows of a set times kStrips strips, which become the outputs from `column` on.
// The sums are those of MultiplyTile.
template <int kBytes, int kRows, int kStrips>
inline void MultiplyFewRows(const RowSet<kBytes>& set, const float* strips, int64_t depth,
                            int64_t column) {
  using Lane = Vector<float, kBytes>;
  constexpr int kEach = static_cast<int>(kStripColumns * sizeof(float)) / kBytes;
  constexpr int kVectors = kStrips * kEach;
  constexpr int64_t kStep = kLanes<float, kBytes>;
  const int64_t strip_size = depth * kStripColumns;
  Lane sums[kRows][kVectors];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < kVectors; ++j) sums[i][j] = Lane{};
  }
  const float* rows[kRows];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) rows[i] = set.rows[i];
#pragma GCC unroll 1
  for (int64_t k = 0; k < depth; ++k, strips += kStripColumns) {
    Lane right[kVectors];
#pragma GCC unroll 8
    for (int j = 0; j < kVectors; ++j) {
      right[j] = Load<kBytes>(strips + j / kEach * strip_size + j % kEach * kStep);
    }
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      const float factor = rows[i][k];
#pragma GCC unroll 8
      for (int j = 0; j < kVectors; ++j) sums[i][j] += factor * right[j];
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < kVectors; ++j) Store(sums[i][j], set.outputs[i] + column + j * kStep);
  }
}

// Rows that are a multiple of kBytesOfWay apart share the places of the first cache, of which it
// has kWays for each. A tile of more rows reads each number from the second cache.
constexpr int64_t kBytesOfWay = 4096;
constexpr int kWays = 8;

template <int kBytes>
struct FewRows {
  // Computes the product if it has few rows, or rows that are better multiplied few at a time. Else
  // returns false.
  static bool Run(const StripProduct& product) {
    constexpr int64_t kMost = kFewRows<kBytes>;
    const bool collide =
        kMostRows<kBytes> > kWays && product.row_step * int64_t{sizeof(float)} % kBytesOfWay == 0;
    if (product.num_rows > kMost && !collide) return false;
    for (int64_t row = 0; row < product.num_rows; row += kMost) {
      RunSet(product, row, std::min(row + kMost, product.num_rows));
    }
    return true;
  }

 private:
  // The rows [begin, end), of which there is one at least.
  static void RunSet(const StripProduct& product, int64_t begin, int64_t end) {
    RowSet<kBytes> set;
    for (int64_t i = 0; i < kFewRows<kBytes>; ++i) {
      // Five rows have no loop of their own: the last one is computed twice.
      const int64_t row = std::min(begin + i, end - 1);
      set.rows[i] = product.rows + row * product.row_step;
      set.outputs[i] = product.output + row * product.output_step;
    }
    RunRows(product, set, end - begin);
  }

  static void RunRows(const StripProduct& product, const RowSet<kBytes>& set, int64_t rows) {
    if constexpr (kFewRows<kBytes> == 6) {
      if (rows > 4) return RunStrips<6>(product, set, 0);
      if (rows == 4) return RunStrips<4>(product, set, 0);
      if (rows == 3) return RunStrips<3>(product, set, 0);
    }
    if constexpr (kFewRows<kBytes> >= 2) {
      if (rows == 2) return RunStrips<2>(product, set, 0);
    }
    RunStrips<1>(product, set, 0);
  }

  // The strips from `strip` on, kStrips at a time. Those that are left are computed fewer at a
  // time.
  template <int kRows, int kStrips = kStripsAtOnce<kBytes, kRows>>
  static void RunStrips(const StripProduct& product, const RowSet<kBytes>& set, int64_t strip) {
    if constexpr (kStrips == 1) {
      for (; strip < StripsOf(product.columns); ++strip) RunStrip<kRows>(product, set, strip);
    } else {
      for (; strip + kStrips <= product.columns / kStripColumns; strip += kStrips) {
        MultiplyFewRows<kBytes, kRows, kStrips>(
            set, product.strips + strip * product.depth * kStripColumns, product.depth,
            strip * kStripColumns);
      }
      RunStrips<kRows, kStrips / 2>(product, set, strip);
    }
  }

  // One strip, which may be narrow: it is computed in full beside the result.
  template <int kRows>
  static void RunStrip(const StripProduct& product, const RowSet<kBytes>& set, int64_t strip) {
    const int64_t column = strip * kStripColumns;
    const int64_t count = std::min(product.columns - column, kStripColumns);
    float beside[kRows * kStripColumns];
    RowSet<kBytes> target = set;
    for (int i = 0; i < kRows; ++i) target.outputs[i] = beside + i * kStripColumns;
    MultiplyFewRows<kBytes, kRows, 1>(target, product.strips + column * product.depth,
                                      product.depth, 0);
    for (int i = 0; i < kRows; ++i) {
      std::copy_n(beside + i * kStripColumns, count, set.outputs[i] + column);
    }
  }
};

// ---- Arranging a strip ----

// A strip that is to be arranged.
struct StripSource {
  const float* from;  // the first element of its first column
  int64_t row_step;
  int64_t column_step;
  int64_t depth;
  int64_t columns;  // that the matrix has of the strip's
};

void ArrangeRows(const StripSource& source, float* to) {
  const float* from = source.from;
  for (int64_t k = 0; k < source.depth; ++k, from += source.row_step, to += kStripColumns) {
    std::memcpy(to, from, static_cast<size_t>(source.columns) * sizeof(float));
    std::fill(to + source.columns, to + kStripColumns, 0.0f);
  }
}

constexpr int64_t kBlock = 4;

// Four numbers of each of four columns, which lie in one piece each.
inline void TransposeBlock(const float* from, int64_t column_step, float* to) {
  using Four = Vector<float, 16>;
  const Four a = Load<16>(from);
  const Four b = Load<16>(from + column_step);
  const Four c = Load<16>(from + 2 * column_step);
  const Four d = Load<16>(from + 3 * column_step);
  const Four low_ab = __builtin_shufflevector(a, b, 0, 4, 1, 5);
  const Four low_cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);
  const Four high_ab = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const Four high_cd = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  const Four rows[kBlock] = {__builtin_shufflevector(low_ab, low_cd, 0, 1, 4, 5),
                             __builtin_shufflevector(low_ab, low_cd, 2, 3, 6, 7),
                             __builtin_shufflevector(high_ab, high_cd, 0, 1, 4, 5),
                             __builtin_shufflevector(high_ab, high_cd, 2, 3, 6, 7)};
  for (int64_t i = 0; i < kBlock; ++i) Store(rows[i], to + i * kStripColumns);
}

// The rows [begin, end) of a strip, an element after the other.
void ArrangeElements(const StripSource& source, int64_t begin, int64_t end, float* to) {
  for (int64_t k = begin; k < end; ++k) {
    const float* const from = source.from + k * source.row_step;
    float* const row = to + k * kStripColumns;
    for (int64_t j = 0; j < source.columns; ++j) row[j] = from[j * source.column_step];
    std::fill(row + source.columns, row + kStripColumns, 0.0f);
  }
}

// The matrix is transposed. An element at a time takes about a cycle, in which AVX2 multiplies and
// adds 16 times: an eighth of the time of a product with 128 rows.
void ArrangeColumns(const StripSource& source, float* to) {
  int64_t arranged = 0;
  if (source.columns == kStripColumns) {
    for (; arranged + kBlock <= source.depth; arranged += kBlock) {
      for (int64_t j = 0; j < kStripColumns; j += kBlock) {
        TransposeBlock(source.from + arranged + j * source.column_step, source.column_step,
                       to + arranged * kStripColumns + j);
      }
    }
  }
  ArrangeElements(source, arranged, source.depth, to);
}

}  // namespace

void ArrangeStrips(const StridedMatrix& matrix, int64_t depth, int64_t columns, int64_t begin,
                   int64_t end, float* strips) {
  for (int64_t strip = begin; strip < end; ++strip) {
    const StripSource source{matrix.data + strip * kStripColumns * matrix.column_step,
                             matrix.row_step, matrix.column_step, depth,
                             std::min(kStripColumns, columns - strip * kStripColumns)};
    float* const to = strips + strip * depth * kStripColumns;
    if (matrix.column_step == 1) {
      ArrangeRows(source, to);
    } else if (matrix.row_step == 1) {
      ArrangeColumns(source, to);
    } else {
      ArrangeElements(source, 0, depth, to);
    }
  }
}

void MultiplyWindows(const WindowProduct& product, const float* const* starts, int64_t rows,
                     int64_t first, int64_t last, float* output) {
  RunVectorLoop<Strips>(product, starts, rows, first, last, output);
}

void MultiplyStrips(const StripProduct& product) {
  if (RunVectorLoop<FewRows>(product)) return;
  constexpr int64_t kMostStarts = 48;  // whole tiles in every set
  const int64_t offset = 0;
  const WindowProduct windows{product.strips, product.columns,     &offset, 1,
                              product.depth,  product.output_step, {}};
  const float* starts[kMostStarts];
  for (int64_t row = 0; row < product.num_rows; row += kMostStarts) {
    const int64_t count = std::min(kMostStarts, product.num_rows - row);
    for (int64_t i = 0; i < count; ++i) starts[i] = product.rows + (row + i) * product.row_step;
    MultiplyWindows(windows, starts, count, 0, StripsOf(product.columns),
                    product.output + row * product.output_step);
  }
}

}  // namespace millstream::kernels
