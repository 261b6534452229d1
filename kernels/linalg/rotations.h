// Plane rotations of rows, many of which are done on a few columns at a time: those stay in the
// first cache, where a rotation after the other reads whole rows from farther away (F. Van Zee,
// R. van de Geijn, G. Quintana-Orti: Restructuring the tridiagonal and bidiagonal QR algorithms for
// performance, TOMS 40, 2014).
#ifndef MILLSTREAM_KERNELS_LINALG_ROTATIONS_H_
#define MILLSTREAM_KERNELS_LINALG_ROTATIONS_H_

#include <cstdint>

#include "kernels/linalg/row_arithmetic.h"
#include "kernels/linalg/stop.h"

namespace millstream::kernels {

// (row i, row j) = (c row i + s row j, c row j - s row i), as Rotate.
struct Rotation {
  double c;
  double s;
  int64_t i;
  int64_t j;
};

// That wait to be done. A step of an iteration on n rows makes fewer than n.
constexpr int64_t MostRotations(int64_t n) { return n < 512 ? 8 * n : 4096; }

// Rotations of the rows of one matrix that are still to be done. T is double or Complex.
template <typename T>
class Rotations {
 public:
  // The elements of T that `packed` points to.
  static constexpr int64_t PackedNumbers(int64_t rows, int64_t size) { return rows * size + 8; }

  // `matrix` has rows that are `size` elements long and as far apart; it is null if there is
  // nothing to rotate. `memory` has MostRotations(rows) elements.
  Rotations(int64_t rows, int64_t size, T* matrix, T* packed, Rotation* memory)
      : rows_(rows), size_(size), matrix_(matrix), packed_(packed), added_(memory) {}

  void Add(const Rotation& rotation, Stop* stop) {
    if (matrix_ == nullptr) return;
    if (count_ == MostRotations(rows_)) Run(stop);
    added_[count_++] = rotation;
  }

  // Does all that was added. The matrix is not what it should be before that.
  void Finish(Stop* stop);

 private:
  // Columns by all threads.
  void Run(Stop* stop);
  void Pack();

  const int64_t rows_;
  const int64_t size_;
  T* const matrix_;
  T* const packed_;  // a few columns of all rows after the other
  Rotation* const added_;
  int64_t count_ = 0;
  bool is_packed_ = false;
};

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_LINALG_ROTATIONS_H_
