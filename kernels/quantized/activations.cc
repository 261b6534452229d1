// QuantizedRelu, QuantizedRelu6 and QuantizedReluX: the range stays, so limits are levels of it.
#include <algorithm>
#include <cstdint>
#include <limits>

#include "framework/plugin/plugin.hpp"
#include "kernels/quantized/levels.h"

namespace millstream::kernels {
namespace {

class Relu {
 public:
  struct Row {
    bool has_limit;
    bool is_input;  // the limit is input 1
    float limit;
  };
  explicit Relu(const Row& row) : row_(row) {}

  ms::Status Init(const ms::KernelInfo& info) { return FindLevelType(info.input_dtype(0), &type_); }

  ms::Status Compute(ms::Frame& frame) const {
    float ends[2];
    float limit = row_.limit;
    if (row_.is_input) MS_TRY(ReadScalars(frame, 1, {"max_value"}, &limit));
    MS_TRY(ReadScalars(frame, row_.is_input ? 2 : 1, {"min_features", "max_features"}, ends));
    const Levels levels(*type_, ends[0], ends[1]);
    const int32_t zero = levels.Level(0);
    const int32_t most = row_.has_limit ? levels.Level(limit) : std::numeric_limits<int32_t>::max();
    const ms::View features = frame.input(0);
    ms::View activations;
    MS_TRY(frame.Output(0, features.shape(), &activations));
    MS_TRY(SetRange(frame, ends[0], ends[1]));
    constexpr int64_t kPicoseconds = 500;
    return MapLevels(frame, *type_, features, *type_, activations, kPicoseconds,
                     [=](int32_t level, int64_t) { return std::max(std::min(level, most), zero); });
  }

 private:
  const Row& row_;
  const LevelType* type_ = nullptr;
};

constexpr Relu::Row kRelu = {false, false, 0};
constexpr Relu::Row kRelu6 = {true, false, 6};
constexpr Relu::Row kReluX = {true, true, 0};

const ms::Registered relu =
    ms::RegisterRow<Relu>("QuantizedRelu", kRelu, ReadsFirst({"min_features", "max_features"}));
const ms::Registered relu6 =
    ms::RegisterRow<Relu>("QuantizedRelu6", kRelu6, ReadsFirst({"min_features", "max_features"}));
const ms::Registered relu_x = ms::RegisterRow<Relu>(
    "QuantizedReluX", kReluX, ReadsFirst({"max_value", "min_features", "max_features"}));

}  // namespace
}  // namespace millstream::kernels
