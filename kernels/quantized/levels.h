// The whole numbers that quantized tensors hold ("levels"), and the numbers that they stand for.
#ifndef MILLSTREAM_KERNELS_QUANTIZED_LEVELS_H_
#define MILLSTREAM_KERNELS_QUANTIZED_LEVELS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/parallel.h"

namespace millstream::kernels {

// A quantized type. Kernels compute with its levels as int32.
struct LevelType {
  MS_DType dtype;
  int bits;
  bool is_signed;
  // Elements [begin, begin + n) of `from`.
  void (*widen)(const void* from, int64_t begin, int64_t n, int32_t* to);
  // To elements [begin, begin + n) of `to`. The levels are within the type.
  void (*narrow)(const int32_t* from, int64_t n, void* to, int64_t begin);

  double steps() const { return static_cast<double>(int64_t{1} << bits); }
  double least() const { return is_signed ? -steps() / 2 : 0; }
  double most() const { return least() + steps() - 1; }
};

// INTERNAL for types that are not quantized.
ms::Status FindLevelType(MS_DType dtype, const LevelType** type);

// The level that is nearest in a type; of what is no number, the least.
inline int32_t ClampLevel(double level, const LevelType& type) {
  if (level >= type.most()) return static_cast<int32_t>(type.most());
  return static_cast<int32_t>(level > type.least() ? level : type.least());
}

// The levels of a type, and the range of numbers that they stand for. The level of zero is exact,
// and others are rounded.
class Levels {
 public:
  Levels(const LevelType& type, float low, float high);

  // The number that a level stands for.
  float Number(int32_t level) const {
    if (is_point_) return low_;
    return static_cast<float>(rounded_low_ + (level - least_) * step_);
  }
  // The level of a number, which may be outside of the type.
  double Place(float number) const {
    if (is_point_) return least_;
    return std::round(static_cast<double>(number) * levels_per_one_) - place_of_low_ + least_;
  }
  // The nearest level of the type.
  int32_t Level(float number) const { return ClampLevel(Place(number), *type_); }
  // The distance of two levels, as it is for the ranges of products.
  float Distance() const;
  const LevelType& type() const { return *type_; }
  bool HasRangeOf(const Levels& other) const { return low_ == other.low_ && high_ == other.high_; }

 private:
  const LevelType* type_;
  float low_;
  float high_;
  bool is_point_;  // a range of one number
  double least_;
  double step_ = 0;
  double levels_per_one_ = 0;
  double place_of_low_ = 0;
  double rounded_low_ = 0;
};

// The range of a product of numbers of two ranges: as many steps as the type of the product has,
// each the product of the factors' steps.
void RangeOfProduct(const Levels& a, const Levels& b, const LevelType& product, float range[2]);

// The float scalars from input `first` on.
ms::Status ReadScalars(const ms::Frame& frame, uint32_t first,
                       std::initializer_list<const char*> names, float* values);
// A tensor's range: outputs `first` and `first` + 1.
ms::Status SetRange(ms::Frame& frame, float low, float high, uint32_t first = 1);

// Options of a kernel that reads these inputs before it knows its outputs.
ms::KernelOptions ReadsFirst(std::initializer_list<const char*> names);

// Memory until Compute returns, with all levels of input i.
ms::Status ReadLevels(ms::Frame& frame, uint32_t i, const LevelType& type, const int32_t** levels);

// Work on levels goes by tiles of so many.
inline constexpr int64_t kTile = 1024;

// Output level i is fn(input level i, i). One costs about `picoseconds`.
template <typename Fn>
ms::Status MapLevels(ms::Frame& frame, const LevelType& from, const ms::View& input,
                     const LevelType& to, const ms::View& output, int64_t picoseconds, Fn&& fn) {
  return ParallelElements(frame, input.size(), picoseconds, [&](int64_t begin, int64_t end) {
    int32_t levels[kTile];
    for (int64_t at = begin; at < end; at += kTile) {
      const int64_t n = std::min(kTile, end - at);
      from.widen(input.raw(), at, n, levels);
      for (int64_t i = 0; i < n; ++i) levels[i] = fn(levels[i], at + i);
      to.narrow(levels, n, output.raw(), at);
    }
  });
}

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_QUANTIZED_LEVELS_H_
