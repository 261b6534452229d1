// QuantizedMatMul and QuantizedConv2D: sums of products of levels, less the levels of zero.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/nn/conv_shape.h"
#include "kernels/quantized/levels.h"

namespace millstream::kernels {
namespace {

// sums += factor * row
template <typename Sum>
void AddMultiple(int32_t factor, const int32_t* row, int64_t n, Sum* sums) {
  for (int64_t i = 0; i < n; ++i) sums[i] += static_cast<Sum>(factor) * static_cast<Sum>(row[i]);
}

int32_t AsLevel(uint32_t sum, const LevelType& type) {
  return ClampLevel(static_cast<int32_t>(sum), type);
}
int32_t AsLevel(uint64_t sum, const LevelType& type) {
  return ClampLevel(static_cast<double>(static_cast<int64_t>(sum)), type);
}

template <typename Sum>
void NarrowSums(const std::vector<Sum>& sums, const LevelType& type, const ms::View& output,
                int64_t at) {
  int32_t levels[kTile];
  const auto count = static_cast<int64_t>(sums.size());
  for (int64_t begin = 0; begin < count; begin += kTile) {
    const int64_t n = std::min(kTile, count - begin);
    for (int64_t i = 0; i < n; ++i) {
      levels[i] = AsLevel(sums[static_cast<size_t>(begin + i)], type);
    }
    type.narrow(levels, n, output.raw(), at + begin);
  }
}

// What both ops have in common. Sums are 32 bits long for factors of 8 bits.
class Product {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    for (uint32_t i = 0; i < 2; ++i) {
      MS_TRY(FindLevelType(info.input_dtype(i), &factors_[i]));
    }
    return FindLevelType(info.output_dtype(0), &product_);
  }

 protected:
  bool IsShort() const { return factors_[0]->bits + factors_[1]->bits == 16; }
  const LevelType& product() const { return *product_; }

  // The outputs; and both factors as levels less that of zero.
  ms::Status Prepare(ms::Frame& frame, const float* ends, const ms::Shape& shape, ms::View* output,
                     int32_t** factors) const {
    const Levels levels[2] = {Levels(*factors_[0], ends[0], ends[1]),
                              Levels(*factors_[1], ends[2], ends[3])};
    float range[2];
    RangeOfProduct(levels[0], levels[1], *product_, range);
    MS_TRY(frame.Output(0, shape, output));
    MS_TRY(SetRange(frame, range[0], range[1]));
    if (output->size() == 0) return ms::Status();
    for (uint32_t i = 0; i < 2; ++i) {
      const ms::View input = frame.input(i);
      const int64_t size = input.size();
      ms::View copy;
      MS_TRY(frame.Temp(static_cast<uint64_t>(size) * sizeof(int32_t), &copy));
      factors[i] = copy.data<int32_t>();
      const int32_t zero = PlaceOfZero(levels[i]);
      factors_[i]->widen(input.raw(), 0, size, factors[i]);
      for (int64_t k = 0; k < size; ++k) {
        factors[i][k] = static_cast<int32_t>(int64_t{factors[i][k]} - zero);
      }
    }
    return ms::Status();
  }

 private:
  // It may be outside of the type, where zero is outside of the range.
  static int32_t PlaceOfZero(const Levels& levels) {
    constexpr double kMost = 1 << 30;
    const double place = levels.Place(0);
    return static_cast<int32_t>(place > -kMost ? std::min(place, kMost) : -kMost);
  }

  const LevelType* factors_[2] = {};
  const LevelType* product_ = nullptr;
};

class MatMul : public Product {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    MS_TRY(info.Attr("transpose_a", &transpose_a_));
    MS_TRY(info.Attr("transpose_b", &transpose_b_));
    return Product::Init(info);
  }

  ms::Status Compute(ms::Frame& frame) const {
    float ends[4];
    MS_TRY(ReadScalars(frame, 2, {"min_a", "max_a", "min_b", "max_b"}, ends));
    const ms::Shape a = frame.input(0).shape();
    const ms::Shape b = frame.input(1).shape();
    if (a.rank() != 2 || b.rank() != 2) {
      return ms::InvalidArgument("a and b must be matrices, but are ", a.ToString(), " and ",
                                 b.ToString());
    }
    const Sizes sizes = {a[transpose_a_ ? 1 : 0], a[transpose_a_ ? 0 : 1], b[transpose_b_ ? 0 : 1]};
    if (b[transpose_b_ ? 1 : 0] != sizes.inner) {
      return ms::InvalidArgument("the columns of a, ", a.ToString(), ", and the rows of b, ",
                                 b.ToString(), ", must be as many");
    }
    ms::View output;
    int32_t* factors[2] = {};
    MS_TRY(Prepare(frame, ends, ms::Shape{sizes.rows, sizes.columns}, &output, factors));
    if (output.size() == 0) return ms::Status();
    return IsShort() ? Multiply<uint32_t>(frame, sizes, factors, output)
                     : Multiply<uint64_t>(frame, sizes, factors, output);
  }

 private:
  struct Sizes {
    int64_t rows;
    int64_t inner;
    int64_t columns;
  };

  template <typename Sum>
  ms::Status Multiply(ms::Frame& frame, const Sizes& sizes, int32_t* const* factors,
                      const ms::View& output) const {
    const auto cost = static_cast<uint64_t>(sizes.inner * sizes.columns / 2 + 1);
    return StoppableFor(
        frame, static_cast<uint64_t>(sizes.rows), cost, [&](uint64_t begin, uint64_t end) {
          for (auto row = static_cast<int64_t>(begin); row < static_cast<int64_t>(end); ++row) {
            std::vector<Sum> sums(static_cast<size_t>(sizes.columns));
            SumRow(sizes, factors, row, sums.data());
            NarrowSums(sums, product(), output, row * sizes.columns);
          }
        });
  }

  template <typename Sum>
  void SumRow(const Sizes& sizes, int32_t* const* factors, int64_t row, Sum* sums) const {
    for (int64_t k = 0; k < sizes.inner; ++k) {
      const int32_t factor =
          factors[0][transpose_a_ ? k * sizes.rows + row : row * sizes.inner + k];
      if (!transpose_b_) {
        AddMultiple(factor, factors[1] + k * sizes.columns, sizes.columns, sums);
        continue;
      }
      for (int64_t j = 0; j < sizes.columns; ++j) {
        sums[j] += static_cast<Sum>(factor) * static_cast<Sum>(factors[1][j * sizes.inner + k]);
      }
    }
  }

  bool transpose_a_ = false;
  bool transpose_b_ = false;
};

class Convolution : public Product {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    MS_TRY(attributes_.Init(info));
    return Product::Init(info);
  }

  ms::Status Compute(ms::Frame& frame) const {
    float ends[4];
    MS_TRY(ReadScalars(frame, 2, {"min_input", "max_input", "min_filter", "max_filter"}, ends));
    ConvShape shape;
    MS_TRY(ResolveConv(attributes_, frame.input(0).shape(), "input", frame.input(1).shape(),
                       "filter", &shape));
    if (shape.groups != 1) {
      return ms::InvalidArgument("input and filter must have as many channels, but are ",
                                 shape.InputShape().ToString(), " and ",
                                 shape.FilterShape().ToString());
    }
    ms::View output;
    int32_t* factors[2] = {};
    MS_TRY(Prepare(frame, ends, shape.OutputShape(), &output, factors));
    if (output.size() == 0) return ms::Status();
    return IsShort() ? Convolve<uint32_t>(frame, shape, factors, output)
                     : Convolve<uint64_t>(frame, shape, factors, output);
  }

 private:
  template <typename Sum>
  ms::Status Convolve(ms::Frame& frame, const ConvShape& shape, int32_t* const* factors,
                      const ms::View& output) const {
    const int64_t pixels = shape.output[0] * shape.output[1];
    const int64_t products = shape.FilterShape().num_elements();
    return StoppableFor(frame, static_cast<uint64_t>(shape.batch * pixels),
                        static_cast<uint64_t>(products / 2 + 1), [&](uint64_t begin, uint64_t end) {
                          for (auto at = static_cast<int64_t>(begin);
                               at < static_cast<int64_t>(end); ++at) {
                            std::vector<Sum> sums(static_cast<size_t>(shape.out_channels));
                            SumPixel(shape, factors, at / pixels, at % pixels, sums.data());
                            NarrowSums(sums, product(), output, at * shape.out_channels);
                          }
                        });
  }

  // What is outside of the image counts as zero.
  template <typename Sum>
  static void SumPixel(const ConvShape& shape, int32_t* const* factors, int64_t image,
                       int64_t pixel, Sum* sums) {
    const int64_t top = pixel / shape.output[1] * shape.stride[0] - shape.before[0];
    const int64_t left = pixel % shape.output[1] * shape.stride[1] - shape.before[1];
    for (int64_t tap = 0; tap < shape.filter[0] * shape.filter[1]; ++tap) {
      const int64_t y = top + tap / shape.filter[1] * shape.dilation[0];
      const int64_t x = left + tap % shape.filter[1] * shape.dilation[1];
      if (y < 0 || y >= shape.input[0] || x < 0 || x >= shape.input[1]) continue;
      const int64_t channels = shape.in_channels;
      const int64_t at = ((image * shape.input[0] + y) * shape.input[1] + x) * channels;
      for (int64_t c = 0; c < channels; ++c) {
        const int64_t row = (tap * channels + c) * shape.out_channels;
        AddMultiple(factors[0][at + c], factors[1] + row, shape.out_channels, sums);
      }
    }
  }

  ConvAttributes attributes_;
};

const ms::Registered mat_mul =
    ms::Register<MatMul>("QuantizedMatMul", ReadsFirst({"min_a", "max_a", "min_b", "max_b"}));
const ms::Registered convolution = ms::Register<Convolution>(
    "QuantizedConv2D", ReadsFirst({"min_input", "max_input", "min_filter", "max_filter"}));

}  // namespace
}  // namespace millstream::kernels
