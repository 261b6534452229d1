// How the copy runs: the innermost dimension is walked by one of three loops, chosen once:
//   rows      both sides contiguous: VectorCopy
//   tiles     the target is contiguous along the innermost dimension and the source along another
//             one (a transposition): square tiles, so that cache lines of both sides are used whole
//   elements  anything else: one element at a time
// One dimension is cut into blocks; all combinations of blocks and the other dimensions' indices
// are the units that threads share. Strings are copied one by one, by the host.
#include "kernels/array/strided_copy.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "kernels/array/strings.h"
#include "kernels/common/parallel.h"
#include "kernels/common/vector_copy.h"
#include "kernels/simd/instruction_set.h"
#include "kernels/simd/shuffle.h"
#include "kernels/simd/vector.h"

namespace millstream::kernels {
namespace {

// Elements by size alone. Packed and aliasing anything, because tensors of any dtype are read.
template <typename Value>
struct [[gnu::packed, gnu::may_alias]] Word {
  Value value;
};
struct [[gnu::packed, gnu::may_alias]] Word16 {
  uint64_t low;
  uint64_t high;
};

constexpr uint64_t kBytesPerNanosecond = 8;
constexpr int64_t kRowBlockBytes = 64 << 10;
constexpr int64_t kElementBlock = 4096;
// Tiles are as wide as a cache line.
template <typename T>
constexpr int64_t kTile = std::max<int64_t>(8, 64 / sizeof(T));
// Below this a unit of work is not worth another thread.
constexpr uint64_t kParallelNanoseconds = 20000;

template <typename Fn>
ms::Status MaybeParallel(ms::Frame& frame, uint64_t units, uint64_t cost_ns, Fn&& fn) {
  if (units * cost_ns >= kParallelNanoseconds) return StoppableFor(frame, units, cost_ns, fn);
  fn(uint64_t{0}, units);
  return ms::Status();
}

// The dimensions outside the innermost loops, with the position of one unit among them.
class Odometer {
 public:
  void AddDim(const StridedCopy::Dim& dim) {
    if (dim.extent != 1) dims_[rank_++] = dim;
  }
  uint64_t units() const {
    uint64_t units = 1;
    for (uint32_t i = 0; i < rank_; ++i) units *= static_cast<uint64_t>(dims_[i].extent);
    return units;
  }
  void Seek(uint64_t unit) {
    source_ = target_ = 0;
    for (uint32_t i = rank_; i-- > 0;) {
      const uint64_t extent = static_cast<uint64_t>(dims_[i].extent);
      index_[i] = static_cast<int64_t>(unit % extent);
      unit /= extent;
      source_ += index_[i] * dims_[i].source_stride;
      target_ += index_[i] * dims_[i].target_stride;
    }
  }
  void Next() {
    for (uint32_t i = rank_; i-- > 0;) {
      source_ += dims_[i].source_stride;
      target_ += dims_[i].target_stride;
      if (++index_[i] < dims_[i].extent) return;
      source_ -= dims_[i].extent * dims_[i].source_stride;
      target_ -= dims_[i].extent * dims_[i].target_stride;
      index_[i] = 0;
    }
  }
  int64_t source() const { return source_; }
  int64_t target() const { return target_; }
  // The index along the dimension that was added last. REQUIRES: its extent is not 1.
  int64_t last_index() const { return index_[rank_ - 1]; }

 private:
  uint32_t rank_ = 0;
  int64_t source_ = 0;
  int64_t target_ = 0;
  std::array<StridedCopy::Dim, StridedCopy::kMaxDims + 1> dims_;
  std::array<int64_t, StridedCopy::kMaxDims + 1> index_;
};

// Calls loop(source, target, count) for every unit: `count` is the length of the block of
// dimension `split`; dimension `inner` (may equal split) is left to the loop.
template <typename T, typename Loop>
ms::Status ForEachBlock(ms::Frame& frame, const StridedCopy::Dim* dims, uint32_t rank,
                        uint32_t split, uint32_t inner, int64_t block, uint64_t cost_ns_per_element,
                        const T* source, T* target, const Loop& loop) {
  Odometer start;
  for (uint32_t i = 0; i < rank; ++i) {
    if (i != split && i != inner) start.AddDim(dims[i]);
  }
  const StridedCopy::Dim& cut = dims[split];
  block = std::min(block, cut.extent);
  const int64_t blocks = (cut.extent + block - 1) / block;
  start.AddDim({blocks, block * cut.source_stride, block * cut.target_stride});
  const int64_t last_count = cut.extent - (blocks - 1) * block;
  const uint64_t elements =
      static_cast<uint64_t>(split == inner ? block : block * dims[inner].extent);
  const uint64_t cost_ns =
      4 + std::max(elements * sizeof(T) / kBytesPerNanosecond, elements * cost_ns_per_element / 2);
  return MaybeParallel(frame, start.units(), cost_ns, [&](uint64_t begin, uint64_t end) {
    Odometer at = start;
    at.Seek(begin);
    for (uint64_t unit = begin; unit < end; ++unit) {
      const bool is_last = blocks == 1 || at.last_index() == blocks - 1;
      loop(source + at.source(), target + at.target(), is_last ? last_count : block);
      at.Next();
    }
  });
}

template <typename T>
ms::Status CopyRows(ms::Frame& frame, const StridedCopy::Dim* dims, uint32_t rank, const T* source,
                    T* target) {
  const int64_t block = kRowBlockBytes / static_cast<int64_t>(sizeof(T));
  return ForEachBlock(frame, dims, rank, rank - 1, rank - 1, block, 0, source, target,
                      [](const T* from, T* to, int64_t count) {
                        VectorCopy(from, count * static_cast<int64_t>(sizeof(T)), to);
                      });
}

template <typename T>
ms::Status CopyElements(ms::Frame& frame, const StridedCopy::Dim* dims, uint32_t rank,
                        const T* source, T* target) {
  const int64_t source_stride = dims[rank - 1].source_stride;
  const int64_t target_stride = dims[rank - 1].target_stride;
  if (source_stride == 0 && target_stride == 1) {
    return ForEachBlock(
        frame, dims, rank, rank - 1, rank - 1, kElementBlock, 0, source, target,
        [](const T* from, T* to, int64_t count) { std::fill_n(to, count, T(*from)); });
  }
  return ForEachBlock(frame, dims, rank, rank - 1, rank - 1, kElementBlock, 1, source, target,
                      [=](const T* from, T* to, int64_t count) {
                        for (int64_t i = 0; i < count; ++i)
                          to[i * target_stride] = from[i * source_stride];
                      });
}

// Transposes full tiles that lie side by side in the target. Each passes through a small array of
// its own, because the rows of a matrix whose width is a power of two compete for the same few
// places of the cache.
template <typename T>
void TransposeTiles(const T* __restrict source, T* __restrict target, int64_t source_stride,
                    int64_t target_stride, int64_t tiles) {
  for (; tiles > 0; --tiles, source += kTile<T> * source_stride, target += kTile<T>) {
    T tile[kTile<T>][kTile<T>];
    for (int64_t j = 0; j < kTile<T>; ++j) {
      std::memcpy(static_cast<void*>(tile[j]), source + j * source_stride, sizeof(tile[j]));
    }
    for (int64_t i = 0; i < kTile<T>; ++i) {
      for (int64_t j = 0; j < kTile<T>; ++j) target[i * target_stride + j] = tile[j][i];
    }
  }
}

// The same of numbers as wide as those of vectors, by squares of as many rows as a vector has
// numbers. All squares of the same target rows come one after the other, so that lines of the
// target are whole before others take their places in the cache.
template <typename Value>
struct TilesOf {
  template <int kBytes>
  struct Loop {
    static void Run(const Word<Value>* source, Word<Value>* target, int64_t source_stride,
                    int64_t target_stride, int64_t tiles) {
      using V = Vector<Value, kBytes>;
      constexpr int64_t kSide = kLanes<Value, kBytes>;
      constexpr int64_t kWidth = kTile<Word<Value>>;
      for (; tiles > 0; --tiles, source += kWidth * source_stride, target += kWidth) {
        for (int64_t i = 0; i < kWidth; i += kSide) {
          for (int64_t j = 0; j < kWidth; j += kSide) {
            V rows[kSide];
#pragma GCC unroll 16
            for (int64_t k = 0; k < kSide; ++k) {
              std::memcpy(&rows[k], source + (j + k) * source_stride + i, sizeof(V));
            }
            Shuffle<V, Value>::template InterleaveAll<kSide>(rows);
#pragma GCC unroll 16
            for (int64_t k = 0; k < kSide; ++k) {
              std::memcpy(static_cast<void*>(target + (i + k) * target_stride + j), &rows[k],
                          sizeof(V));
            }
          }
        }
      }
    }
  };
};

template <>
void TransposeTiles(const Word<uint32_t>* __restrict source, Word<uint32_t>* __restrict target,
                    int64_t source_stride, int64_t target_stride, int64_t tiles) {
  RunVectorLoop<TilesOf<uint32_t>::Loop>(source, target, source_stride, target_stride, tiles);
}
template <>
void TransposeTiles(const Word<uint64_t>* __restrict source, Word<uint64_t>* __restrict target,
                    int64_t source_stride, int64_t target_stride, int64_t tiles) {
  RunVectorLoop<TilesOf<uint64_t>::Loop>(source, target, source_stride, target_stride, tiles);
}

// A block of `rows` target rows of `columns` elements each; the source is contiguous along rows.
template <typename T>
void TransposeBlock(const T* __restrict source, T* __restrict target, int64_t rows, int64_t columns,
                    int64_t source_stride, int64_t target_stride) {
  int64_t column = 0;
  if (rows == kTile<T>) {
    const int64_t tiles = columns / kTile<T>;
    TransposeTiles(source, target, source_stride, target_stride, tiles);
    column = tiles * kTile<T>;
  }
  for (; column < columns; ++column) {
    for (int64_t i = 0; i < rows; ++i) {
      target[i * target_stride + column] = source[column * source_stride + i];
    }
  }
}

template <typename T>
ms::Status CopyPanels(ms::Frame& frame, const StridedCopy::Dim* dims, uint32_t rank,
                      uint32_t row_dim, const T* source, T* target) {
  const StridedCopy::Dim& column = dims[rank - 1];
  const int64_t columns = column.extent;
  const int64_t source_stride = column.source_stride;
  const int64_t target_stride = dims[row_dim].target_stride;
  return ForEachBlock(frame, dims, rank, row_dim, rank - 1, kTile<T>, 1, source, target,
                      [=](const T* from, T* to, int64_t rows) {
                        TransposeBlock(from, to, rows, columns, source_stride, target_stride);
                      });
}

// Long target rows are cut into panels of columns, each of which is done for all rows before the
// next: every column is another source row, and so another page of memory.
template <typename T>
ms::Status CopyTiles(ms::Frame& frame, const StridedCopy::Dim* dims, uint32_t rank,
                     uint32_t row_dim, const T* source, T* target) {
  constexpr int64_t kPanel = 256;
  std::array<StridedCopy::Dim, StridedCopy::kMaxDims + 1> cut;
  std::copy_n(dims, rank, cut.begin());
  const StridedCopy::Dim column = dims[rank - 1];
  const int64_t panels = column.extent / kPanel;
  if (panels > 0) {
    cut[rank - 1] = {panels, kPanel * column.source_stride, kPanel};
    cut[rank] = {kPanel, column.source_stride, 1};
    MS_TRY(CopyPanels(frame, cut.data(), rank + 1, row_dim, source, target));
  }
  const int64_t done = panels * kPanel;
  if (done == column.extent) return ms::Status();
  cut[rank - 1] = {column.extent - done, column.source_stride, 1};
  return CopyPanels(frame, cut.data(), rank, row_dim, source + done * column.source_stride,
                    target + done);
}

template <typename T>
ms::Status RunTyped(ms::Frame& frame, const StridedCopy::Dim* dims, uint32_t rank,
                    const void* source, void* target) {
  const T* from = static_cast<const T*>(source);
  T* to = static_cast<T*>(target);
  const StridedCopy::Dim& last = dims[rank - 1];
  if (last.source_stride == 1 && last.target_stride == 1) {
    return CopyRows(frame, dims, rank, from, to);
  }
  if (last.target_stride == 1 && last.source_stride != 0 && last.extent > 1) {
    for (uint32_t i = 0; i + 1 < rank; ++i) {
      if (dims[i].source_stride == 1) return CopyTiles(frame, dims, rank, i, from, to);
    }
  }
  return CopyElements(frame, dims, rank, from, to);
}

// Rows of 2 to 16 bytes are copied as one wider element: a call of memcpy would cost more than it
// copies. Turns such rows into elements and returns the new element size.
uint64_t WidenElements(StridedCopy::Dim* dims, uint32_t* rank, uint64_t element_size) {
  const StridedCopy::Dim& last = dims[*rank - 1];
  const uint64_t row_bytes = static_cast<uint64_t>(last.extent) * element_size;
  const bool is_power_of_two = (row_bytes & (row_bytes - 1)) == 0;
  if (*rank < 2 || last.source_stride != 1 || last.target_stride != 1) return element_size;
  if (last.extent > 16 || row_bytes > 16 || !is_power_of_two) return element_size;
  for (uint32_t i = 0; i + 1 < *rank; ++i) {
    if (dims[i].source_stride % last.extent != 0 || dims[i].target_stride % last.extent != 0) {
      return element_size;
    }
  }
  for (uint32_t i = 0; i + 1 < *rank; ++i) {
    dims[i].source_stride /= last.extent;
    dims[i].target_stride /= last.extent;
  }
  --*rank;
  return row_bytes;
}

}  // namespace

void StridedCopy::AddDim(int64_t extent, int64_t source_stride, int64_t target_stride) {
  if (extent == 0) empty_ = true;
  if (extent == 1) return;
  if (rank_ > 0) {
    Dim& outer = dims_[rank_ - 1];
    if (outer.source_stride == extent * source_stride &&
        outer.target_stride == extent * target_stride) {
      outer = {outer.extent * extent, source_stride, target_stride};
      return;
    }
  }
  dims_[rank_++] = {extent, source_stride, target_stride};
}

ms::Status StridedCopy::Run(ms::Frame& frame, const ms::View& source, int64_t source_start,
                            const ms::View& target, int64_t target_start) const {
  if (empty_) return ms::Status();
  if (source.dtype() == MS_STRING) return CopyStrings(source, source_start, target, target_start);
  const uint64_t element_size = ms::ElementSize(source.dtype());
  return CopyBytes(frame, element_size,
                   source.data<char>() + static_cast<uint64_t>(source_start) * element_size,
                   target.data<char>() + static_cast<uint64_t>(target_start) * element_size);
}

ms::Status StridedCopy::CopyBytes(ms::Frame& frame, uint64_t element_size, const void* source,
                                  void* target) const {
  if (empty_) return ms::Status();
  std::array<Dim, kMaxDims> dims;
  std::copy_n(dims_.begin(), rank_, dims.begin());
  uint32_t rank = rank_;
  if (rank == 0) dims[rank++] = {1, 1, 1};
  switch (WidenElements(dims.data(), &rank, element_size)) {
    case 1: return RunTyped<Word<uint8_t>>(frame, dims.data(), rank, source, target);
    case 2: return RunTyped<Word<uint16_t>>(frame, dims.data(), rank, source, target);
    case 4: return RunTyped<Word<uint32_t>>(frame, dims.data(), rank, source, target);
    case 8: return RunTyped<Word<uint64_t>>(frame, dims.data(), rank, source, target);
    default: return RunTyped<Word16>(frame, dims.data(), rank, source, target);
  }
}

ms::Status StridedCopy::CopyStrings(const ms::View& source, int64_t source_start,
                                    const ms::View& target, int64_t target_start) const {
  Odometer at;
  for (uint32_t i = 0; i < rank_; ++i) at.AddDim(dims_[i]);
  const uint64_t units = at.units();
  at.Seek(0);
  for (uint64_t unit = 0; unit < units; ++unit, at.Next()) {
    MS_TRY(CopyString(source, source_start + at.source(), target, target_start + at.target()));
  }
  return ms::Status();
}

ms::Status FillWith(ms::Frame& frame, const ms::View& value, const ms::View& target) {
  StridedCopy copy;
  copy.AddDim(target.size(), 0, 1);
  return copy.Run(frame, value, 0, target, 0);
}

ms::Status SetToZero(ms::Frame& frame, const ms::View& target) {
  if (target.size() == 0) return ms::Status();
  if (target.dtype() == MS_STRING) {
    for (int64_t i = 0; i < target.size(); ++i) MS_TRY(target.SetString(i, std::string_view()));
    return ms::Status();
  }
  char* to = target.data<char>();
  const uint64_t bytes = static_cast<uint64_t>(target.size()) * ms::ElementSize(target.dtype());
  const uint64_t blocks = (bytes + kRowBlockBytes - 1) / kRowBlockBytes;
  const uint64_t cost_ns = std::min<uint64_t>(bytes, kRowBlockBytes) / kBytesPerNanosecond;
  return MaybeParallel(frame, blocks, cost_ns, [=](uint64_t begin, uint64_t end) {
    const uint64_t first = begin * kRowBlockBytes;
    std::memset(to + first, 0, std::min<uint64_t>(bytes, end * kRowBlockBytes) - first);
  });
}

}  // namespace millstream::kernels
