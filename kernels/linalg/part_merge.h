// What the merges of two decomposed parts of a matrix have in common: of its eigenvalues
// (tridiagonal_merge.h) and of its singular values (bidiagonal_merge.h).
#ifndef MILLSTREAM_KERNELS_LINALG_PART_MERGE_H_
#define MILLSTREAM_KERNELS_LINALG_PART_MERGE_H_

#include <cstdint>

#include "kernels/linalg/alone.h"
#include "kernels/linalg/secular_equation.h"
#include "kernels/linalg/stop.h"

namespace millstream::kernels {

// Arrays of n that merges work in.
struct MergeArrays {
  double* z;
  double* kept_d;
  double* kept_z;
  double* roots;
  int64_t* order;
  int64_t* source;
  int64_t* places;
};

// The numbers that arrays of n take.
constexpr int64_t MergeNumbers(int64_t n) { return 7 * n; }
MergeArrays MergeArraysIn(int64_t n, double* memory);

// Sorts indices by d[i], ascending; equal ones by index.
void SortByValue(const double* d, int64_t* begin, int64_t* end);

// In how many parts a matrix of n rows is cut: a power of two, so that parts have 16 to 33 rows.
int64_t PartsOf(int64_t n);

// Merges parts of a matrix by two until there is one, by merge(first, middle, last, stop), whose
// numbers are those of the first part, the first one of the second half, and the one behind the
// last. All merges of a size run at the same time, and take `nanoseconds` for the square of their
// rows; the last one has all threads.
template <typename MergeFunction>
void MergeByTwo(int64_t n, int64_t parts, double nanoseconds, const MergeFunction& merge,
                Stop* stop) {
  for (int64_t step = 1; step < parts; step *= 2) {
    if ((*stop)()) return;
    const int64_t merges = parts / (2 * step);
    if (merges == 1) {
      merge(0, step, 2 * step, stop);
      return;
    }
    const auto size = static_cast<double>(n) / static_cast<double>(merges);
    stop->Share(merges, nanoseconds * size * size, [&](int64_t begin, int64_t end) {
      Alone alone;
      for (int64_t i = begin; i < end; ++i) {
        merge(2 * i * step, (2 * i + 1) * step, (2 * i + 2) * step, &alone);
      }
    });
  }
}

// A merge of rows [begin, begin + size) of n. With the vectors of both parts the matrix is one of
// the values d and one vector z. Values that z does not reach, or that nearly equal another, stay
// as they are with their vectors; the others are kept, and become the roots of an equation. Vectors
// are rows of matrices of n columns.
class PartMerge {
 protected:
  // Which columns of a vector may have elements that are not zero. A rotation joins them.
  enum Reach : int64_t { kLeft, kBoth, kRight };

  PartMerge(int64_t n, int64_t begin, int64_t size, double* d, const MergeArrays& arrays)
      : n_(n),
        size_(size),
        d_(d + begin),
        z_(arrays.z + begin),
        kept_d_(arrays.kept_d + begin),
        kept_z_(arrays.kept_z + begin),
        roots_(arrays.roots + begin),
        order_(arrays.order + begin),
        source_(arrays.source + begin),
        places_(arrays.places + begin) {}

  // Those that stay as they are come last in source_, kept_d_.
  void Drop(int64_t i);
  void Keep(int64_t i);
  void JoinReaches(int64_t i, int64_t j) {
    if (places_[i] != places_[j]) places_[j] = kBoth;
  }

  // Chooses where the packed vectors are: those that are kept by reach, so that each half of the
  // columns is a product with rows that follow each other. Sets places_ to where the kept ones are.
  void ChoosePlaces();
  void Pack(const double* rows, int64_t columns, double* packed) const;
  // Puts the vectors that were not kept back.
  void Unpack(const double* packed, int64_t columns, double* rows) const;

  // Row j of `distances` gets the distances from root j.
  void FindRoots(const SecularEquation& equation, double* distances, Stop* stop);
  // Makes z the one that the roots belong to exactly, so that the vectors are orthogonal.
  void RefineZ(const SecularEquation& equation, const double* distances);

  // rows = -weights * packed is computed in units of columns: of the left part's up to `cut`, then
  // of the right part's up to `columns`.
  static int64_t LeftUnits(int64_t cut);
  static int64_t Units(int64_t cut, int64_t columns);
  double UnitNanoseconds() const;
  void MultiplyUnit(int64_t unit, int64_t cut, int64_t columns, const double* weights,
                    const double* packed, double* rows) const;

  const int64_t n_;
  const int64_t size_;
  double* const d_;
  double* const z_;
  double* const kept_d_;
  double* const kept_z_;
  double* const roots_;
  int64_t* const order_;
  int64_t* const source_;
  int64_t* const places_;  // at first, reaches
  int64_t kept_ = 0;

 private:
  // Of columns from `column` on, up to `end`, with packed vectors [first, last).
  void MultiplyColumns(int64_t first, int64_t last, int64_t column, int64_t end,
                       const double* weights, const double* packed, double* rows) const;

  int64_t dropped_ = 0;
  int64_t before_both_ = 0;
  int64_t before_right_ = 0;
};

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_LINALG_PART_MERGE_H_
