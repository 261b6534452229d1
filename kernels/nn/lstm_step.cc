// _LstmStep and _LstmSteps: one or more steps of an LSTM that is unrolled, from the product of its
// state with weights that never change to the next state. A plan keeps the weights in strips.
// Threads share out the units: each multiplies the columns of the four gates of its units, and
// computes these while the products are in a cache. From step to step it has the same units, so
// that its own cache holds their weights (shared_rounds.h). The bits do not depend on the cuts
// (window_product.h).
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/input_shapes.h"
#include "kernels/common/vector_math.h"
#include "kernels/matmul/kept_strips.h"
#include "kernels/matmul/strip_blocks.h"
#include "kernels/matmul/window_product.h"
#include "kernels/nn/shared_rounds.h"
#include "kernels/simd/instruction_set.h"

namespace millstream::kernels {
namespace {

constexpr int64_t kGates = 4;  // input, new value, forget, output, side by side

// Some units of a row. The gates of a unit are `units` elements apart.
struct GateRow {
  const float* product;
  const float* x_gates;
  const float* bias;  // null: there is none
  const float* c;
  float* next_h;
  float* next_c;
  int64_t units;
  float forget_bias;
};

// As the operations do one after the other.
template <bool kHasBias>
void ComputeGates(const GateRow& row, int64_t count) {
  const GateRow r = row;  // what is stored is not in it
#pragma GCC ivdep
  for (int64_t k = 0; k < count; ++k) {
    const auto gate = [&](int64_t number) {
      const int64_t at = number * r.units + k;
      const float sum = r.product[at] + r.x_gates[at];
      return kHasBias ? sum + r.bias[at] : sum;
    };
    const float input = Sigmoid(gate(0));
    const float added = Tanh(gate(1));
    const float forget = Sigmoid(gate(2) + r.forget_bias);
    const float output = Sigmoid(gate(3));
    const float memory = r.c[k] * forget + input * added;
    r.next_c[k] = memory;
    r.next_h[k] = Tanh(memory) * output;
  }
}

// What all steps have in common.
struct StepShape {
  uint32_t steps = 1;
  int64_t rows = 0;
  int64_t units = 0;

  int64_t columns() const { return kGates * units; }
  int64_t state_size() const { return rows * units; }
  int64_t product_size() const { return rows * columns(); }
  int64_t strips_size() const { return StripsSize(units, columns()); }
};

struct StepPlan : ms::ShapeState {
  StepShape shape;
  KeptStrips kept;  // the weights, if the plan knows them
};

// Of one step.
struct StepValues {
  const float* x_gates;
  const float* h;
  const float* c;
  float* next_h;
  float* next_c;
};

// The memory of an execution, in floats: the product of a step, the states that nothing else reads,
// where each step has its values, and the strips of the weights if these are arranged in each
// execution.
struct StepMemory {
  StepMemory(const StepShape& shape, bool has_strips)
      : states(RoundUp(shape.product_size())),
        values(states + kStates * RoundUp(shape.state_size())),
        strips(values + RoundUp(shape.steps * kFloatsOfValues)),
        size(strips + (has_strips ? 0 : shape.strips_size())) {}

  static int64_t RoundUp(int64_t floats) { return (floats + kLine - 1) / kLine * kLine; }

  static constexpr int64_t kLine = 16;   // floats of a cache line
  static constexpr int64_t kStates = 4;  // state and memory of the steps before and after
  static constexpr int64_t kFloatsOfValues = sizeof(StepValues) / sizeof(float);
  int64_t states;
  int64_t values;
  int64_t strips;
  int64_t size;
};

// Of all steps.
struct StepOperands {
  const float* bias;  // null: there is none
  const float* strips;
  float* product;
};

// Inputs: x_gates (one for each step), h, c, b, bias. Outputs: next_h (one for each step), next_c
// (likewise).
class LstmSteps {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    MS_TRY(info.Attr("first_row", &first_row_));
    MS_TRY(info.Attr("forget_bias", &forget_bias_));
    MS_TRY(info.Attr("num_biases", &biases_));
    if (biases_ <= 1) return ms::Status();
    return ms::InvalidArgument("attribute 'num_biases' of ", info.op(), " must be 0 or 1");
  }

  ms::Status Specialize(ms::Specialization& specialization) const {
    auto plan = std::make_unique<StepPlan>();
    MS_TRY(Resolve(specialization, specialization.num_outputs(), &plan->shape));
    const StepShape& shape = plan->shape;
    const ms::View b = specialization.constant(shape.steps + kWeights);
    if (!b.is_null() && shape.units > 0) {
      plan->kept = KeepStrips({RowsOf(b), shape.units, shape.columns(), false});
    }
    const StepMemory places(shape, plan->kept != nullptr);
    specialization.SetScratchBytes(static_cast<uint64_t>(places.size) * sizeof(float));
    specialization.SetState(std::move(plan));
    return ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    const auto* const plan = frame.shape_state<StepPlan>();
    StepShape shape;
    if (plan != nullptr) {
      shape = plan->shape;
    } else {
      MS_TRY(Resolve(InputShapes{frame}, frame.num_outputs(), &shape));
    }
    const bool is_kept = plan != nullptr && plan->kept != nullptr;
    const StepMemory places(shape, is_kept);
    auto* memory = plan == nullptr ? nullptr : static_cast<float*>(frame.scratch());
    if (plan == nullptr) {
      ms::View temp;
      MS_TRY(frame.Temp(static_cast<uint64_t>(places.size) * sizeof(float), &temp));
      memory = static_cast<float*>(temp.raw());
    }
    auto* const values = reinterpret_cast<StepValues*>(memory + places.values);
    MS_TRY(FindValues(frame, shape, memory + places.states, values));
    if (shape.state_size() == 0) return ms::Status();
    const uint32_t inputs = shape.steps;
    if (!is_kept) {
      ArrangeStrips({RowsOf(frame.input(inputs + kWeights)), shape.columns(), 1}, shape.units,
                    shape.columns(), 0, StripsOf(shape.columns()), memory + places.strips);
    }
    const StepOperands operands{biases_ == 0 ? nullptr : frame.input(inputs + kBias).data<float>(),
                                is_kept ? plan->kept->data()->values : memory + places.strips,
                                memory};
    // Blocks of units, each of which has four columns to multiply with.
    const StripBlocks blocks(shape.rows, kGates * shape.units, shape.units,
                             static_cast<int64_t>(frame.num_threads()));
    return ForEachRound(frame, shape.steps, blocks.count(), blocks.nanoseconds(),
                        [&](int64_t step, int64_t block) {
                          Run(shape, operands, values[step], blocks.block(block));
                        });
  }

 private:
  // Inputs behind those of the steps.
  static constexpr uint32_t kState = 0;
  static constexpr uint32_t kMemory = 1;
  static constexpr uint32_t kWeights = 2;
  static constexpr uint32_t kBias = 3;

  template <typename Inputs>
  ms::Status Resolve(const Inputs& inputs, uint32_t outputs, StepShape* shape) const {
    const uint32_t steps = outputs / 2;
    const ms::Shape h = inputs.input(steps + kState);
    if (h.rank() != 2 || h[1] % kStripColumns != 0) {
      return ms::InvalidArgument("h must be a matrix with a multiple of ", kStripColumns,
                                 " columns, its shape is ", h.ToString());
    }
    *shape = StepShape{steps, h[0], h[1]};
    const ms::Shape gates = {shape->rows, shape->columns()};
    for (uint32_t i = 0; i < steps; ++i) MS_TRY(Check("x_gates", inputs.input(i), gates));
    MS_TRY(Check("c", inputs.input(steps + kMemory), h));
    const ms::Shape b = inputs.input(steps + kWeights);
    if (b.rank() != 2 || b[1] != gates[1] || first_row_ > b[0] || h[1] > b[0] - first_row_) {
      return ms::InvalidArgument("b must be a matrix of ", gates[1], " columns with rows ",
                                 first_row_, " to ", first_row_ + h[1], ", its shape is ",
                                 b.ToString());
    }
    return biases_ == 0 ? ms::Status() : Check("bias", inputs.input(steps + kBias), {gates[1]});
  }

  static ms::Status Check(const char* argument, const ms::Shape& shape, const ms::Shape& wanted) {
    if (shape == wanted) return ms::Status();
    return ms::InvalidArgument(argument, " must have shape ", wanted.ToString(), ", its shape is ",
                               shape.ToString());
  }

  const float* RowsOf(const ms::View& b) const { return b.data<float>() + first_row_ * b.dim(1); }

  // Where each step finds and puts its values. A state that nothing else reads is in `own` until
  // the step after the next one: there is room for two states and two memories.
  static ms::Status FindValues(ms::Frame& frame, const StepShape& shape, float* own,
                               StepValues* values) {
    const int64_t size = StepMemory::RoundUp(shape.state_size());
    const float* h = frame.input(shape.steps + kState).data<float>();
    const float* c = frame.input(shape.steps + kMemory).data<float>();
    for (uint32_t step = 0; step < shape.steps; ++step) {
      float* const place = own + step % 2 * 2 * size;
      auto* const of_step = new (values + step)
          StepValues{frame.input(step).data<float>(), h, c, place, place + size};
      MS_TRY(FindOutput(frame, shape, step, &of_step->next_h));
      MS_TRY(FindOutput(frame, shape, shape.steps + step, &of_step->next_c));
      h = of_step->next_h;
      c = of_step->next_c;
    }
    return ms::Status();
  }

  static ms::Status FindOutput(ms::Frame& frame, const StepShape& shape, uint32_t i,
                               float** place) {
    if (!frame.output_used(i)) return ms::Status();
    ms::View output;
    MS_TRY(frame.Output(i, ms::Shape{shape.rows, shape.units}, &output));
    *place = output.data<float>();
    return ms::Status();
  }

  // Some units of some rows of a step.
  void Run(const StepShape& shape, const StepOperands& operands, const StepValues& values,
           const StripBlock& block) const {
    const int64_t units = shape.units;
    for (int64_t gate = 0; gate < kGates; ++gate) {
      const int64_t column = gate * units + block.column;
      MultiplyStrips({values.h + block.row * units, units, block.rows,
                      operands.strips + column * units, units, block.columns,
                      operands.product + block.row * shape.columns() + column, shape.columns()});
    }
    for (int64_t row = block.row; row < block.row + block.rows; ++row) {
      const int64_t gates = row * shape.columns() + block.column;
      const int64_t state = row * units + block.column;
      const GateRow part{operands.product + gates,
                         values.x_gates + gates,
                         operands.bias == nullptr ? nullptr : operands.bias + block.column,
                         values.c + state,
                         values.next_h + state,
                         values.next_c + state,
                         units,
                         forget_bias_};
      if (part.bias == nullptr) {
        RunLoop<&ComputeGates<false>>(part, block.columns);
      } else {
        RunLoop<&ComputeGates<true>>(part, block.columns);
      }
    }
  }

  int64_t first_row_ = 0;
  int64_t biases_ = 0;
  float forget_bias_ = 0;
};

const ms::Registered lstm_step =
    ms::Register<LstmSteps>("_LstmStep", ms::KernelOptions().Type<float>("T"));
const ms::Registered lstm_steps =
    ms::Register<LstmSteps>("_LstmSteps", ms::KernelOptions().Type<float>("T"));

}  // namespace
}  // namespace millstream::kernels
