#include "kernels/linalg/part_merge.h"

#include <algorithm>
#include <cmath>

#include "kernels/linalg/block_product.h"

namespace millstream::kernels {

MergeArrays MergeArraysIn(int64_t n, double* memory) {
  auto* const indices = reinterpret_cast<int64_t*>(memory + 4 * n);
  return {memory,  memory + n,  memory + 2 * n, memory + 3 * n,
          indices, indices + n, indices + 2 * n};
}

void SortByValue(const double* d, int64_t* begin, int64_t* end) {
  std::sort(begin, end, [&](int64_t i, int64_t j) { return d[i] != d[j] ? d[i] < d[j] : i < j; });
}

int64_t PartsOf(int64_t n) {
  constexpr int64_t kSmallMatrix = 32;
  int64_t parts = 1;
  while (n / parts > kSmallMatrix) parts *= 2;
  return parts;
}

void PartMerge::Drop(int64_t i) {
  const int64_t place = size_ - 1 - dropped_++;
  source_[place] = i;
  kept_d_[place] = d_[i];
}

void PartMerge::Keep(int64_t i) {
  source_[kept_] = i;
  kept_d_[kept_] = d_[i];
  kept_z_[kept_++] = z_[i];
}

void PartMerge::ChoosePlaces() {
  int64_t counts[3] = {};
  for (int64_t i = 0; i < kept_; ++i) ++counts[places_[source_[i]]];
  before_right_ = counts[kLeft] + counts[kBoth];
  before_both_ = counts[kLeft];
  int64_t next[3] = {0, before_both_, before_right_};
  for (int64_t i = 0; i < size_; ++i) order_[i] = i < kept_ ? next[places_[source_[i]]]++ : i;
  std::copy(order_, order_ + kept_, places_);
}

void PartMerge::Pack(const double* rows, int64_t columns, double* packed) const {
  for (int64_t i = 0; i < size_; ++i) {
    const double* const row = rows + source_[i] * n_;
    std::copy(row, row + columns, packed + order_[i] * n_);
  }
}

void PartMerge::Unpack(const double* packed, int64_t columns, double* rows) const {
  for (int64_t i = kept_; i < size_; ++i) {
    std::copy(packed + i * n_, packed + i * n_ + columns, rows + i * n_);
  }
}

void PartMerge::FindRoots(const SecularEquation& equation, double* distances, Stop* stop) {
  constexpr double kNanoseconds = 16;  // of a term in all steps
  stop->Share(kept_, kNanoseconds * static_cast<double>(kept_), [&](int64_t begin, int64_t end) {
    for (int64_t j = begin; j < end; ++j) roots_[j] = SecularRoot(equation, j, distances + j * n_);
  });
}

void PartMerge::RefineZ(const SecularEquation& equation, const double* distances) {
  std::fill(z_, z_ + kept_, 1.0);
  for (int64_t j = 0; j < kept_; ++j) MultiplyByRatios(equation, j, distances + j * n_, z_);
  for (int64_t i = 0; i < kept_; ++i) {
    z_[i] = std::copysign(std::sqrt(std::fabs(z_[i])), kept_z_[i]);
  }
}

int64_t PartMerge::LeftUnits(int64_t cut) { return (cut + kProductColumns - 1) / kProductColumns; }

int64_t PartMerge::Units(int64_t cut, int64_t columns) {
  return LeftUnits(cut) + (columns - cut + kProductColumns - 1) / kProductColumns;
}

double PartMerge::UnitNanoseconds() const {
  return static_cast<double>(kept_ * kept_ * kProductColumns) / 32;
}

void PartMerge::MultiplyUnit(int64_t unit, int64_t cut, int64_t columns, const double* weights,
                             const double* packed, double* rows) const {
  const int64_t left_units = LeftUnits(cut);
  if (unit < left_units) {
    MultiplyColumns(0, before_right_, unit * kProductColumns, cut, weights, packed, rows);
  } else {
    MultiplyColumns(before_both_, kept_, cut + (unit - left_units) * kProductColumns, columns,
                    weights, packed, rows);
  }
}

void PartMerge::MultiplyColumns(int64_t first, int64_t last, int64_t column, int64_t end,
                                const double* weights, const double* packed, double* rows) const {
  const int64_t width = std::min(kProductColumns, end - column);
  if (width <= 0) return;
  for (int64_t j = 0; j < kept_; ++j) {
    std::fill(rows + j * n_ + column, rows + j * n_ + column + width, 0.0);
  }
  const BlockProduct<double> product = {
      kept_,         width, last - first, weights + first, n_, 1, packed + first * n_ + column, n_,
      rows + column, n_};
  SubtractProduct(product, 0, width);
}

}  // namespace millstream::kernels
