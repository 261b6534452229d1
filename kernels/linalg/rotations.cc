#include "kernels/linalg/rotations.h"

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/simd/vector.h"

namespace millstream::kernels {
namespace {

// Of a row that are rotated together: two lines of the cache.
constexpr int64_t kNumbers = 16;

struct Batch {
  const Rotation* rotations;
  int64_t count;
};

// Rows of kNumbers. A rotation's second row is mostly the next one's first, and
// stays in registers.
template <int kBytes>
struct RotateColumns {
  static void Run(const Batch& batch, double* rows) {
    using Lane = Vector<double, kBytes>;
    constexpr int64_t kStep = kLanes<double, kBytes>;
    constexpr int kCount = static_cast<int>(kNumbers / kStep);
    Lane held[kCount] = {};
    int64_t place = batch.rotations[0].i;
#pragma GCC unroll 8
    for (int v = 0; v < kCount; ++v) held[v] = Load<kBytes>(rows + place * kNumbers + v * kStep);
    for (int64_t k = 0; k < batch.count; ++k) {
      const Rotation& rotation = batch.rotations[k];
      double* const first = rows + rotation.i * kNumbers;
      const double* const second = rows + rotation.j * kNumbers;
      if (place != rotation.i) {
        double* const before = rows + place * kNumbers;
#pragma GCC unroll 8
        for (int v = 0; v < kCount; ++v) Store(held[v], before + v * kStep);
#pragma GCC unroll 8
        for (int v = 0; v < kCount; ++v) held[v] = Load<kBytes>(first + v * kStep);
      }
#pragma GCC unroll 8
      for (int v = 0; v < kCount; ++v) {
        const Lane other = Load<kBytes>(second + v * kStep);
        Store(rotation.c * held[v] + rotation.s * other, first + v * kStep);
        held[v] = rotation.c * other - rotation.s * held[v];
      }
      place = rotation.j;
    }
    double* const last = rows + place * kNumbers;
#pragma GCC unroll 8
    for (int v = 0; v < kCount; ++v) Store(held[v], last + v * kStep);
  }
};

// At the start of a line of the cache.
template <typename T>
double* Aligned(T* memory) {
  constexpr uintptr_t kLine = 64;
  return reinterpret_cast<double*>((reinterpret_cast<uintptr_t>(memory) + kLine - 1) / kLine *
                                   kLine);
}

}  // namespace

template <typename T>
void Rotations<T>::Pack() {
  const int64_t numbers = size_ * (std::is_same_v<T, double> ? 1 : 2);
  const auto* const from = reinterpret_cast<const double*>(matrix_);
  double* to = Aligned(packed_);
  for (int64_t column = 0; column + kNumbers <= numbers; column += kNumbers) {
    for (int64_t i = 0; i < rows_; ++i, to += kNumbers) {
      std::copy_n(from + i * numbers + column, kNumbers, to);
    }
  }
  is_packed_ = true;
}

template <typename T>
void Rotations<T>::Run(Stop* stop) {
  if (count_ == 0) return;
  if (!is_packed_) Pack();
  const int64_t numbers = size_ * (std::is_same_v<T, double> ? 1 : 2);
  const int64_t units = numbers / kNumbers;
  double* const packed = Aligned(packed_);
  const Batch batch = {added_, count_};
  stop->Share(units, static_cast<double>(count_) * 4, [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      RunVectorLoop<RotateColumns>(batch, packed + unit * rows_ * kNumbers);
    }
  });
  auto* const rest = reinterpret_cast<double*>(matrix_) + units * kNumbers;
  for (int64_t k = 0; k < count_ && numbers % kNumbers > 0; ++k) {
    const Rotation& rotation = added_[k];
    Rotate(numbers % kNumbers, rotation.c, rotation.s, rest + rotation.i * numbers,
           rest + rotation.j * numbers);
  }
  count_ = 0;
}

template <typename T>
void Rotations<T>::Finish(Stop* stop) {
  Run(stop);
  if (!is_packed_) return;
  const int64_t numbers = size_ * (std::is_same_v<T, double> ? 1 : 2);
  auto* const to = reinterpret_cast<double*>(matrix_);
  const double* from = Aligned(packed_);
  for (int64_t column = 0; column + kNumbers <= numbers; column += kNumbers) {
    for (int64_t i = 0; i < rows_; ++i, from += kNumbers) {
      std::copy_n(from, kNumbers, to + i * numbers + column);
    }
  }
  is_packed_ = false;
}

template class Rotations<double>;
template class Rotations<Complex>;

}  // namespace millstream::kernels
