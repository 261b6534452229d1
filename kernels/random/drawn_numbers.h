// What the kernels of distributions that draw by rejection have in common: each number has a
// stretch of the stream of its own, and parameters and results are of several types. All is
// computed in float64.
#ifndef MILLSTREAM_KERNELS_RANDOM_DRAWN_NUMBERS_H_
#define MILLSTREAM_KERNELS_RANDOM_DRAWN_NUMBERS_H_

#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/narrow_float.h"
#include "kernels/random/distributions.h"
#include "kernels/random/philox.h"

namespace millstream::kernels {

// The length of a number's stretch.
inline constexpr uint64_t kReservedBlocksPerOutput = 256;

// Uniform and normal numbers from successive blocks, each of which gives two of a kind. The second
// one comes first.
class Numbers {
 public:
  explicit Numbers(const PhiloxPosition& position) : position_(position) {}

  double Uniform() {
    if (uniform_left_ == 0) {
      block_ = NextBlock();
      uniform_left_ = 2;
    }
    --uniform_left_;
    return UniformDouble(block_[2 * uniform_left_], block_[2 * uniform_left_ + 1]);
  }

  double Normal() {
    if (normal_left_ == 0) {
      const PhiloxBlock block = NextBlock();
      NormalPairFrom<double>(block.data(), normal_);
      normal_left_ = 2;
    }
    return normal_[--normal_left_];
  }

 private:
  PhiloxBlock NextBlock() {
    const PhiloxBlock block = PhiloxAt(position_);
    position_ = position_.Advanced(1);
    return block;
  }

  PhiloxPosition position_;
  PhiloxBlock block_{};
  double normal_[2] = {};
  unsigned uniform_left_ = 0;
  unsigned normal_left_ = 0;
};

// Element i of a tensor of numbers.
inline double ReadNumber(const ms::View& view, int64_t i) {
  switch (view.dtype()) {
    case MS_FLOAT16: return static_cast<double>(static_cast<float>(view.data<Float16>()[i]));
    case MS_FLOAT32: return static_cast<double>(view.data<float>()[i]);
    case MS_INT32: return view.data<int32_t>()[i];
    case MS_INT64: return static_cast<double>(view.data<int64_t>()[i]);
    default: return view.data<double>()[i];
  }
}

// Sets element i of a tensor of numbers.
inline void WriteNumber(const ms::View& view, int64_t i, double number) {
  switch (view.dtype()) {
    case MS_FLOAT16: view.data<Float16>()[i] = Float16(static_cast<float>(number)); break;
    case MS_FLOAT32: view.data<float>()[i] = static_cast<float>(number); break;
    case MS_INT32: view.data<int32_t>()[i] = static_cast<int32_t>(number); break;
    case MS_INT64: view.data<int64_t>()[i] = static_cast<int64_t>(number); break;
    default: view.data<double>()[i] = number; break;
  }
}

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_RANDOM_DRAWN_NUMBERS_H_
