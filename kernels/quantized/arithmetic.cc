// QuantizedAdd, QuantizedMul and QuantizedBiasAdd. Levels are multiplied as whole numbers and added
// in the levels of the sum.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/elementwise/broadcast.h"
#include "kernels/quantized/levels.h"

namespace millstream::kernels {
namespace {

// The range of a sum: symmetric, so that zeros add to zero, and so much wider than both summands
// that their levels keep their bits.
void RangeOfSum(const float* summands, float factor, float range[2]) {
  float largest = 0;
  for (int i = 0; i < 4; ++i) largest = std::max(largest, std::fabs(summands[i]));
  range[1] = largest * factor;
  range[0] = -range[1];
}

// How a level of a factor or summand is used: level * scale + offset.
struct Line {
  double scale = 1;
  double offset = 0;
};

class Binary {
 public:
  struct Row {
    bool is_product;
  };
  explicit Binary(const Row& row) : row_(row) {}

  ms::Status Init(const ms::KernelInfo& info) {
    MS_TRY(FindLevelType(info.input_dtype(0), &x_));
    MS_TRY(FindLevelType(info.input_dtype(1), &y_));
    return FindLevelType(info.output_dtype(0), &z_);
  }

  ms::Status Compute(ms::Frame& frame) const {
    float ends[4];
    MS_TRY(ReadScalars(frame, 2, {"min_x", "max_x", "min_y", "max_y"}, ends));
    BroadcastPlan plan;
    MS_TRY(PlanBroadcast(frame.input(0).shape(), frame.input(1).shape(), &plan));
    const Levels x(*x_, ends[0], ends[1]);
    const Levels y(*y_, ends[2], ends[3]);
    float range[2];
    Line lines[2];
    if (row_.is_product) {
      RangeOfProduct(x, y, *z_, range);
      lines[0].offset = -x.Place(0);
      lines[1].offset = -y.Place(0);
    } else {
      constexpr float kFactor = 1 << 14;
      RangeOfSum(ends, kFactor, range);
      const Levels z(*z_, range[0], range[1]);
      lines[0] = LineOf(x, frame.input(0), z);
      lines[1] = LineOf(y, frame.input(1), z);
    }
    ms::View output;
    MS_TRY(frame.Output(0, plan.output, &output));
    MS_TRY(SetRange(frame, range[0], range[1]));
    return plan.size == 0 ? ms::Status() : Apply(frame, plan, lines, output);
  }

 private:
  // Tensors go by whole numbers of levels of the sum; the one level of a scalar is rounded itself.
  static Line LineOf(const Levels& from, const ms::View& levels, const Levels& sum) {
    if (levels.size() == 1) {
      int32_t level = 0;
      from.type().widen(levels.raw(), 0, 1, &level);
      return {0, static_cast<double>(sum.Level(from.Number(level)))};
    }
    const double of_zero = sum.Place(from.Number(0));
    return {sum.Place(from.Number(1)) - of_zero, of_zero};
  }

  ms::Status Apply(ms::Frame& frame, const BroadcastPlan& plan, const Line* lines,
                   const ms::View& output) const {
    const int32_t* x = nullptr;
    const int32_t* y = nullptr;
    MS_TRY(ReadLevels(frame, 0, *x_, &x));
    MS_TRY(ReadLevels(frame, 1, *y_, &y));
    const int64_t columns = plan.columns();
    const int64_t x_step = plan.inner == BroadcastPlan::Inner::kOnlyY ? 0 : 1;
    const int64_t y_step = plan.inner == BroadcastPlan::Inner::kOnlyX ? 0 : 1;
    constexpr int64_t kPicoseconds = 3000;
    return ParallelRows(frame, plan.rows(), columns, kPicoseconds, [&](int64_t begin, int64_t end) {
      ForEachRowBlock(plan, begin, end, [&](const RowBlock& block) {
        for (int64_t row = 0; row < block.rows; ++row) {
          const int32_t* const from_x = x + block.x_offset + row * block.x_step;
          const int32_t* const from_y = y + block.y_offset + row * block.y_step;
          const int64_t at = block.output_offset + row * columns;
          ApplyRow(from_x, x_step, from_y, y_step, lines, columns, output, at);
        }
      });
    });
  }

  void ApplyRow(const int32_t* x, int64_t x_step, const int32_t* y, int64_t y_step,
                const Line* lines, int64_t count, const ms::View& output, int64_t at) const {
    int32_t levels[kTile];
    for (int64_t begin = 0; begin < count; begin += kTile) {
      const int64_t n = std::min(kTile, count - begin);
      for (int64_t i = 0; i < n; ++i) {
        const double a = x[(begin + i) * x_step] * lines[0].scale + lines[0].offset;
        const double b = y[(begin + i) * y_step] * lines[1].scale + lines[1].offset;
        levels[i] = ClampLevel(row_.is_product ? a * b : a + b, *z_);
      }
      z_->narrow(levels, n, output.raw(), at + begin);
    }
  }

  const Row& row_;
  const LevelType* x_ = nullptr;
  const LevelType* y_ = nullptr;
  const LevelType* z_ = nullptr;
};

// Each sum is rounded to the levels of the result.
class BiasAdd {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    MS_TRY(FindLevelType(info.input_dtype(0), &input_));
    MS_TRY(FindLevelType(info.input_dtype(1), &bias_));
    return FindLevelType(info.output_dtype(0), &sum_);
  }

  ms::Status Compute(ms::Frame& frame) const {
    float ends[4];
    MS_TRY(ReadScalars(frame, 2, {"min_input", "max_input", "min_bias", "max_bias"}, ends));
    const ms::View input = frame.input(0);
    const ms::View bias = frame.input(1);
    if (input.rank() < 2) {
      return ms::InvalidArgument("input must have 2 dimensions at least, but is ",
                                 input.shape().ToString());
    }
    const int64_t channels = input.dim(input.rank() - 1);
    if (bias.rank() != 1 || bias.dim(0) != channels) {
      return ms::InvalidArgument("bias must be a vector of ", channels,
                                 ", one a channel of input, but has shape ",
                                 bias.shape().ToString());
    }
    const Levels numbers(*input_, ends[0], ends[1]);
    const Levels biases(*bias_, ends[2], ends[3]);
    float range[2];
    constexpr float kFactor = 1 << 17;
    RangeOfSum(ends, kFactor, range);
    const Levels sums(*sum_, range[0], range[1]);
    ms::View output;
    MS_TRY(frame.Output(0, input.shape(), &output));
    MS_TRY(SetRange(frame, range[0], range[1]));
    if (input.size() == 0) return ms::Status();
    const int32_t* bias_levels = nullptr;
    MS_TRY(ReadLevels(frame, 1, *bias_, &bias_levels));
    constexpr int64_t kPicoseconds = 8000;
    return MapLevels(
        frame, *input_, input, *sum_, output, kPicoseconds, [&](int32_t level, int64_t i) {
          return sums.Level(numbers.Number(level) + biases.Number(bias_levels[i % channels]));
        });
  }

 private:
  const LevelType* input_ = nullptr;
  const LevelType* bias_ = nullptr;
  const LevelType* sum_ = nullptr;
};

constexpr Binary::Row kAdd = {false};
constexpr Binary::Row kMul = {true};

const ms::Registered add = ms::RegisterRow<Binary>(
    "QuantizedAdd", kAdd, ReadsFirst({"x", "y", "min_x", "max_x", "min_y", "max_y"}));
const ms::Registered mul =
    ms::RegisterRow<Binary>("QuantizedMul", kMul, ReadsFirst({"min_x", "max_x", "min_y", "max_y"}));
const ms::Registered bias_add = ms::Register<BiasAdd>(
    "QuantizedBiasAdd", ReadsFirst({"min_input", "max_input", "min_bias", "max_bias"}));

}  // namespace
}  // namespace millstream::kernels
