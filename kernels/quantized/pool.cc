// QuantizedMaxPool and QuantizedAvgPool: levels are compared and averaged as they are.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/nn/pool_shape.h"
#include "kernels/quantized/levels.h"

namespace millstream::kernels {
namespace {

class Pool {
 public:
  struct Row {
    bool is_mean;
  };
  explicit Pool(const Row& row) : row_(row) {}

  ms::Status Init(const ms::KernelInfo& info) {
    MS_TRY(attributes_.Init(info));
    return FindLevelType(info.input_dtype(0), &type_);
  }

  ms::Status Compute(ms::Frame& frame) const {
    float range[2];
    MS_TRY(ReadScalars(frame, 1, {"min_input", "max_input"}, range));
    PoolShape shape;
    MS_TRY(attributes_.Resolve(frame, frame.input(0).shape(), "input", &shape));
    ms::View output;
    MS_TRY(frame.Output(0, shape.output_shape, &output));
    MS_TRY(SetRange(frame, range[0], range[1]));
    if (output.size() == 0) return ms::Status();
    const int32_t* input = nullptr;
    MS_TRY(ReadLevels(frame, 0, *type_, &input));
    return StoppableFor(frame, static_cast<uint64_t>(shape.NumWindows()), shape.WindowCost() * 4,
                        [&](uint64_t begin, uint64_t end) {
                          PoolWindows(shape, input, static_cast<int64_t>(begin),
                                      static_cast<int64_t>(end), output);
                        });
  }

 private:
  void PoolWindows(const PoolShape& shape, const int32_t* input, int64_t begin, int64_t end,
                   const ms::View& output) const {
    std::vector<int32_t> levels(static_cast<size_t>(shape.channels));
    WindowWalk window(shape, begin);
    for (int64_t i = begin; i < end; ++i, window.Next()) {
      for (int64_t c = 0; c < shape.channels; ++c) {
        levels[static_cast<size_t>(c)] = PoolOne(window, input + window.corner() + c);
      }
      type_->narrow(levels.data(), shape.channels, output.raw(), i * shape.channels);
    }
  }

  // Means are rounded toward zero.
  int32_t PoolOne(const WindowWalk& window, const int32_t* first) const {
    int64_t sum = 0;
    int32_t largest = std::numeric_limits<int32_t>::min();
    for (int64_t k = 0; k < window.num_pixels(); ++k) {
      const int32_t level = first[window.offsets()[k]];
      sum += level;
      largest = std::max(largest, level);
    }
    return row_.is_mean ? static_cast<int32_t>(sum / window.num_pixels()) : largest;
  }

  const Row& row_;
  PoolAttributes attributes_;
  const LevelType* type_ = nullptr;
};

constexpr Pool::Row kMax = {false};
constexpr Pool::Row kMean = {true};

const ms::Registered max_pool =
    ms::RegisterRow<Pool>("QuantizedMaxPool", kMax, ReadsFirst({"min_input", "max_input"}));
const ms::Registered avg_pool =
    ms::RegisterRow<Pool>("QuantizedAvgPool", kMean, ReadsFirst({"min_input", "max_input"}));

}  // namespace
}  // namespace millstream::kernels
