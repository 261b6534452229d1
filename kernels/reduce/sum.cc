// Sum, BiasAddGrad. Sums of integers wrap.
#include <array>
#include <cstdint>
#include <string>

#include "kernels/reduce/planned_reduction.h"
#include "kernels/reduce/reduce_loops.h"

namespace millstream::kernels {
namespace {

// The sum over all dimensions but the channels.
class BiasAddGrad : public PlannedReduction<BiasAddGrad, 0> {
 public:
  using Row = ReduceTable;

  explicit BiasAddGrad(const Row& row) : row_(row) {}

  ms::Status Init(const ms::KernelInfo& info) {
    MS_TRY(FindReduction(row_, info, &functions_));
    std::string format;
    MS_TRY(info.Attr("data_format", &format));
    if (format != "NHWC" && format != "NCHW") {
      return ms::InvalidArgument("BiasAddGrad: attribute data_format must be NHWC or NCHW, is ",
                                 format);
    }
    channels_first_ = format == "NCHW";
    return ms::Status();
  }

  ms::Status Plan(const ms::Shape& in, ReducePlan* plan) const {
    if (in.rank() < 2) {
      return ms::InvalidArgument(
          "BiasAddGrad: input out_backprop must have at least 2 dimensions, its shape is ",
          in.ToString());
    }
    const uint32_t channel = channels_first_ ? 1 : in.rank() - 1;
    PlanReduction(in, ~(uint32_t{1} << channel), false, plan);
    return ms::Status();
  }

  uint64_t ScratchBytes(const ReducePlan& plan) const {
    return static_cast<uint64_t>(plan.partial_elements() * functions_->loops->bytes);
  }

  ms::Status Run(ms::Frame& frame, const ReducePlan& plan, void* scratch) const {
    return RunReduction(frame, *functions_, plan, frame.input(0), scratch);
  }

 private:
  const Row& row_;
  const ReduceFunctions* functions_ = nullptr;
  bool channels_first_ = false;
};

template <typename T>
struct SumReducer : ReducerOf<T> {
  static T Identity() { return T(0); }
  template <typename V>
  static V Combine(V a, V b) {
    return a + b;
  }
};

}  // namespace

const WrappingLoops kSumLoops = kWrappingLoopsOf<SumReducer>;

namespace {

constexpr std::array kFunctions = WrappingFunctions(kSumLoops);
constexpr ReduceTable kSums = {kFunctions.data(), kFunctions.size()};

const ms::Registered sum = RegisterReduce("Sum", kSums, kAllNumberTypes);
const ms::Registered bias_add_grad = ms::RegisterRow<BiasAddGrad>(
    "BiasAddGrad", kSums, ms::KernelOptions().Types("T", TypesIn(kAllNumberTypes)));

}  // namespace
}  // namespace millstream::kernels
