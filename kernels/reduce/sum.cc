// Sum, BiasAddGrad. Sums of integers wrap.
#include <array>
#include <memory>
#include <string>

#include "kernels/reduce/reduce_loops.h"

namespace millstream::kernels {
namespace {

struct BiasGradState : ms::ShapeState {
  ReducePlan plan;
};

// The sum over all dimensions but the channels.
class BiasAddGrad {
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

  ms::Status Specialize(ms::Specialization& specialization) const {
    auto state = std::make_unique<BiasGradState>();
    MS_TRY(Plan(specialization.input(0), &state->plan));
    specialization.SetScratchBytes(
        static_cast<uint64_t>(state->plan.partial_elements() * functions_->loops->bytes));
    specialization.SetState(std::move(state));
    return ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View in = frame.input(0);
    const auto* state = frame.shape_state<BiasGradState>();
    if (state != nullptr) {
      return RunReduction(frame, *functions_, state->plan, in, frame.scratch());
    }
    ReducePlan plan;
    MS_TRY(Plan(in.shape(), &plan));
    return RunReduction(frame, *functions_, plan, in, nullptr);
  }

 private:
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
