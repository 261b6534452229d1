// Packed and cut for the caches as by K. Goto and R. van de Geijn: Anatomy of High-Performance
// Matrix Multiplication (TOMS 2008).
#include "kernels/linalg/block_product.h"

#include <algorithm>

#include "kernels/simd/vector.h"

namespace millstream::kernels {
namespace {

constexpr int64_t kDepth = 64;     // that is packed at a time
constexpr int64_t kColumns = 128;  // likewise; of double, 64 KiB
constexpr int kVectors = 2;        // of a tile in registers
template <int kBytes>
constexpr int64_t kTileColumns = kVectors* kLanes<double, kBytes>;
// Thirty-two registers hold the sums of eight rows, sixteen those of six.
template <int kBytes>
constexpr int64_t kTileRows = kBytes == 64 ? 8 : 6;

// Some rows of C: those of A, by depth, and of the tiles of B.
struct Rows {
  const double* a;
  int64_t depth;
  int64_t count;  // of rows that are there; A is zero in the others
};

// Row i at depth d goes to packed[d * kTileRows + i]. What stands in one piece is read so.
template <int kBytes>
void PackA(const BlockProduct<double>& product, int64_t row, int64_t rows, int64_t first,
           int64_t depth, double* packed) {
  constexpr int64_t kCount = kTileRows<kBytes>;
  const double* const from = product.a + row * product.a_row_step + first * product.a_column_step;
  if (product.a_row_step == 1) {
    for (int64_t d = 0; d < depth; ++d) {
      for (int64_t i = 0; i < kCount; ++i) {
        packed[d * kCount + i] = i < rows ? from[d * product.a_column_step + i] : 0;
      }
    }
    return;
  }
  for (int64_t i = 0; i < kCount; ++i) {
    for (int64_t d = 0; d < depth; ++d) {
      packed[d * kCount + i] =
          i < rows ? from[i * product.a_row_step + d * product.a_column_step] : 0;
    }
  }
}

// Columns [begin, end) in strips of the width of a tile, each by depth.
template <int kBytes>
void PackB(const BlockProduct<double>& product, int64_t begin, int64_t end, int64_t first,
           int64_t depth, double* packed) {
  constexpr int64_t kWidth = kTileColumns<kBytes>;
  for (int64_t column = begin; column < end; column += kWidth) {
    const int64_t width = std::min(kWidth, end - column);
    for (int64_t d = 0; d < depth; ++d, packed += kWidth) {
      const double* const from = product.b + (first + d) * product.b_step + column;
      for (int64_t j = 0; j < width; ++j) packed[j] = from[j];
      for (int64_t j = width; j < kWidth; ++j) packed[j] = 0;
    }
  }
}

// The sums stay in registers, which takes loops that are unrolled before the compiler looks at the
// array.
template <int kBytes>
void SubtractTile(const Rows& rows, const double* b, int64_t columns, double* c, int64_t c_step) {
  using Lane = Vector<double, kBytes>;
  constexpr int64_t kStep = kLanes<double, kBytes>;
  constexpr int kCount = static_cast<int>(kTileRows<kBytes>);
  Lane sums[kCount][kVectors];
#pragma GCC unroll 8
  for (int i = 0; i < kCount; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) sums[i][v] = Lane{};
  }
  const double* a = rows.a;
  for (int64_t d = 0; d < rows.depth; ++d, a += kCount, b += kVectors * kStep) {
    const Lane first = Load<kBytes>(b);
    const Lane second = Load<kBytes>(b + kStep);
#pragma GCC unroll 8
    for (int i = 0; i < kCount; ++i) {
      const double factor = a[i];
      sums[i][0] += factor * first;
      sums[i][1] += factor * second;
    }
  }
  if (rows.count == kCount && columns == kVectors * kStep) {
#pragma GCC unroll 8
    for (int i = 0; i < kCount; ++i) {
      double* const to = c + i * c_step;
      Store(Load<kBytes>(to) - sums[i][0], to);
      Store(Load<kBytes>(to + kStep) - sums[i][1], to + kStep);
    }
    return;
  }
  double part[kCount][kVectors * kStep];
#pragma GCC unroll 8
  for (int i = 0; i < kCount; ++i) {
    Store(sums[i][0], part[i]);
    Store(sums[i][1], part[i] + kStep);
  }
  for (int64_t i = 0; i < rows.count; ++i) {
    for (int64_t j = 0; j < columns; ++j) c[i * c_step + j] -= part[i][j];
  }
}

template <int kBytes>
struct Columns {
  static void Run(const BlockProduct<double>& product, int64_t begin, int64_t end) {
    constexpr int64_t kWidth = kTileColumns<kBytes>;
    constexpr int64_t kCount = kTileRows<kBytes>;
    alignas(64) double packed_a[kCount * kDepth];
    alignas(64) double packed_b[kColumns * kDepth];
    for (int64_t first = 0; first < product.k; first += kDepth) {
      const int64_t depth = std::min(kDepth, product.k - first);
      PackB<kBytes>(product, begin, end, first, depth, packed_b);
      for (int64_t row = 0; row < product.m; row += kCount) {
        const Rows rows = {packed_a, depth, std::min(kCount, product.m - row)};
        PackA<kBytes>(product, row, rows.count, first, depth, packed_a);
        const double* strip = packed_b;
        for (int64_t column = begin; column < end; column += kWidth, strip += kWidth * depth) {
          SubtractTile<kBytes>(rows, strip, std::min(kWidth, end - column),
                               product.c + row * product.c_step + column, product.c_step);
        }
      }
    }
  }
};

}  // namespace

void SubtractProduct(const BlockProduct<double>& product, int64_t begin, int64_t end) {
  for (int64_t column = begin; column < end; column += kColumns) {
    RunVectorLoop<Columns>(product, column, std::min(end, column + kColumns));
  }
}

void SubtractProduct(const BlockProduct<Complex>& product, int64_t begin, int64_t end) {
  for (int64_t i = 0; i < product.m; ++i) {
    for (int64_t d = 0; d < product.k; ++d) {
      const Complex factor = product.a[i * product.a_row_step + d * product.a_column_step];
      // Not the inline loop for few numbers: contracted here, it would have other bits.
      internal::SubtractLongMultiple(end - begin, product.conjugate_a ? std::conj(factor) : factor,
                                     product.b + d * product.b_step + begin,
                                     product.c + i * product.c_step + begin);
    }
  }
}

}  // namespace millstream::kernels
