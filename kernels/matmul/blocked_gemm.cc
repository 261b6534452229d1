#include "kernels/matmul/blocked_gemm.h"

#include <algorithm>

#include "kernels/common/wrapping.h"
#include "kernels/simd/vector.h"

namespace millstream::kernels {
namespace {

// What the arithmetic is done in: for complex types the type of a part.
template <typename T>
struct PartsOf {
  using Number = Wrapping<T>;
  static_assert(sizeof(Number) == sizeof(T), "tiles read elements as numbers");
  static constexpr int64_t kCount = 1;
};
template <typename T>
struct PartsOf<std::complex<T>> {
  using Number = T;
  static constexpr int64_t kCount = 2;
};

template <typename T>
class TileLoops {
 public:
  explicit TileLoops(const TilePlan& plan) : plan_(plan) {}

  template <int kBytes>
  struct Tile {
    static void Run(const TilePlan& plan, int64_t tile, const T* a, const T* b, T* c) {
      TileLoops(plan).ComputeTile<kBytes>(tile, a, b, c);
    }
  };

 private:
  using Number = typename PartsOf<T>::Number;
  static constexpr int64_t kParts = PartsOf<T>::kCount;

  static constexpr int64_t kTileRows = 4;  // of the tile in registers
  static constexpr int64_t kTileVectors = 2;
  template <int kBytes>
  static constexpr int64_t kTileColumns = kTileVectors* kLanes<Number, kBytes>;
  static constexpr int64_t kRows = TilePlan::kRows;
  static constexpr int64_t kColumns = TilePlan::kColumns;
  static constexpr int64_t kDepth = 128;  // that is packed at a time

  template <int kBytes>
  void ComputeTile(int64_t tile, const T* a, const T* b, T* c) const {
    alignas(64) Number packed_a[kRows * kDepth];
    alignas(64) Number packed_b[kColumns * kDepth];
    const int64_t row = tile / plan_.tile_columns * kRows;
    const int64_t column = tile % plan_.tile_columns * kColumns;
    const int64_t rows = std::min(kRows, plan_.shape.m - row);
    const int64_t columns = std::min(kColumns, plan_.columns - column);
    Number* to = reinterpret_cast<Number*>(c) + row * plan_.columns + column;
    if (plan_.depth == 0) {
      for (int64_t i = 0; i < rows; ++i) std::fill_n(to + i * plan_.columns, columns, Number(0));
    }
    for (int64_t k = 0; k < plan_.depth; k += kDepth) {
      const int64_t depth = std::min(kDepth, plan_.depth - k);
      PackA(reinterpret_cast<const Number*>(a), row, rows, k, depth, packed_a);
      PackB<kBytes>(reinterpret_cast<const Number*>(b), column, columns, k, depth, packed_b);
      for (int64_t j = 0; j < columns; j += kTileColumns<kBytes>) {
        for (int64_t i = 0; i < rows; i += kTileRows) {
          Multiply<kBytes>(packed_a + i * depth, packed_b + j * depth, depth, k == 0,
                           std::min(kTileRows, rows - i),
                           std::min(kTileColumns<kBytes>, columns - j), to + i * plan_.columns + j);
        }
      }
    }
  }

  // Strips of kTileRows rows, each stored by depth; missing rows are zero. Row i at depth k stands
  // at source[i * step + k * depth_step], or in parts.
  void PackA(const Number* a, int64_t row, int64_t rows, int64_t k0, int64_t depth,
             Number* packed) const {
    const int64_t row_step = (plan_.shape.transpose_a ? 1 : plan_.shape.k) * kParts;
    const int64_t depth_step = plan_.shape.transpose_a ? plan_.shape.m * kParts : kParts;
    const Number sign = plan_.shape.conjugate_a ? Number(0) - Number(1) : Number(1);
    Pack(rows, kTileRows, depth, packed, [=](int64_t i, int64_t k) {
      const Number* source = a + (row + i) * row_step + (k0 + k) / kParts * depth_step;
      if constexpr (kParts == 1) return *source;
      return k % 2 == 0 ? source[0] : sign * source[1];
    });
  }
  // Strips of kTileColumns columns, likewise.
  template <int kBytes>
  void PackB(const Number* b, int64_t column, int64_t columns, int64_t k0, int64_t depth,
             Number* packed) const {
    const int64_t column_step = (plan_.shape.transpose_b ? plan_.shape.k : 1) * kParts;
    const int64_t depth_step = plan_.shape.transpose_b ? kParts : plan_.shape.n * kParts;
    const Number sign = plan_.shape.conjugate_b ? Number(0) - Number(1) : Number(1);
    Pack(columns, kTileColumns<kBytes>, depth, packed, [=](int64_t j, int64_t k) {
      const Number* source =
          b + (column + j) / kParts * column_step + (k0 + k) / kParts * depth_step;
      if constexpr (kParts == 1) return *source;
      if (j % 2 == k % 2) return source[0];
      return k % 2 == 0 ? sign * source[1] : -sign * source[1];
    });
  }
  template <typename ElementAt>
  static void Pack(int64_t count, int64_t strip, int64_t depth, Number* packed,
                   const ElementAt& element_at) {
    for (int64_t first = 0; first < count; first += strip) {
      const int64_t present = std::min(strip, count - first);
      for (int64_t k = 0; k < depth; ++k) {
        for (int64_t i = 0; i < present; ++i) packed[i] = element_at(first + i, k);
        for (int64_t i = present; i < strip; ++i) packed[i] = Number(0);
        packed += strip;
      }
    }
  }

  template <int kBytes>
  void Multiply(const Number* a, const Number* b, int64_t depth, bool first, int64_t rows,
                int64_t columns, Number* c) const {
    using Lane = Vector<Number, kBytes>;
    constexpr int64_t kStep = kLanes<Number, kBytes>;
    Lane sum[kTileRows][kTileVectors] = {};
    for (int64_t k = 0; k < depth; ++k) {
      Lane right[kTileVectors];
      for (int v = 0; v < kTileVectors; ++v) right[v] = Load<kBytes>(b + v * kStep);
      for (int i = 0; i < kTileRows; ++i) {
        for (int v = 0; v < kTileVectors; ++v) sum[i][v] += a[i] * right[v];
      }
      a += kTileRows;
      b += kTileColumns<kBytes>;
    }
    for (int64_t i = 0; i < rows; ++i) {
      alignas(64) Number line[kTileColumns<kBytes>];
      for (int v = 0; v < kTileVectors; ++v) Store(sum[i][v], line + v * kStep);
      Number* to = c + i * plan_.columns;
      for (int64_t j = 0; j < columns; ++j) to[j] = first ? line[j] : to[j] + line[j];
    }
  }

  const TilePlan& plan_;
};

}  // namespace

template <typename T>
void RunBlockedTile(const TilePlan& plan, int64_t tile, const T* a, const T* b, T* c) {
  RunVectorLoop<TileLoops<T>::template Tile>(plan, tile, a, b, c);
}

template void RunBlockedTile(const TilePlan&, int64_t, const double*, const double*, double*);
template void RunBlockedTile(const TilePlan&, int64_t, const int32_t*, const int32_t*, int32_t*);
template void RunBlockedTile(const TilePlan&, int64_t, const int64_t*, const int64_t*, int64_t*);
template void RunBlockedTile(const TilePlan&, int64_t, const std::complex<float>*,
                             const std::complex<float>*, std::complex<float>*);
template void RunBlockedTile(const TilePlan&, int64_t, const std::complex<double>*,
                             const std::complex<double>*, std::complex<double>*);

}  // namespace millstream::kernels
