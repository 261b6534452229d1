// _LstmStep: a step of an LSTM that is unrolled, from the product of its state with weights that
// never change to the next state. A plan keeps the weights in strips. Threads share out the units:
// each multiplies the columns of the four gates of its units, and computes these while the products
// are in a cache. The bits do not depend on the cuts (window_product.h).
#include <cstdint>
#include <memory>
#include <utility>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/input_shapes.h"
#include "kernels/common/vector_math.h"
#include "kernels/matmul/kept_strips.h"
#include "kernels/matmul/strip_blocks.h"
#include "kernels/matmul/window_product.h"
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

struct StepShape {
  int64_t rows = 0;
  int64_t units = 0;

  int64_t columns() const { return kGates * units; }
  int64_t product_size() const { return rows * columns(); }
  int64_t strips_size() const { return StripsSize(units, columns()); }
};

struct StepPlan : ms::ShapeState {
  StepShape shape;
  KeptStrips kept;  // the weights, if the plan knows them
};

struct StepOperands {
  const float* x_gates;
  const float* h;
  const float* c;
  const float* bias;  // null: there is none
  const float* strips;
  float* product;
  float* next_h;
  float* next_c;
};

// Inputs: x_gates, h, c, b, bias.
class LstmStep {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    MS_TRY(info.Attr("first_row", &first_row_));
    MS_TRY(info.Attr("forget_bias", &forget_bias_));
    MS_TRY(info.Attr("num_biases", &biases_));
    if (biases_ <= 1) return ms::Status();
    return ms::InvalidArgument("attribute 'num_biases' of _LstmStep must be 0 or 1");
  }

  ms::Status Specialize(ms::Specialization& specialization) const {
    auto plan = std::make_unique<StepPlan>();
    MS_TRY(Resolve(specialization, &plan->shape));
    const StepShape& shape = plan->shape;
    const ms::View b = specialization.constant(kWeights);
    int64_t floats = shape.product_size();
    if (!b.is_null() && shape.units > 0) {
      plan->kept = KeepStrips({RowsOf(b), shape.units, shape.columns(), false});
    } else {
      floats += shape.strips_size();
    }
    specialization.SetScratchBytes(static_cast<uint64_t>(floats) * sizeof(float));
    specialization.SetState(std::move(plan));
    return ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    const auto* const plan = frame.shape_state<StepPlan>();
    StepShape shape;
    if (plan != nullptr) {
      shape = plan->shape;
    } else {
      MS_TRY(Resolve(InputShapes{frame}, &shape));
    }
    ms::View next_h;
    ms::View next_c;
    MS_TRY(frame.Output(0, ms::Shape{shape.rows, shape.units}, &next_h));
    MS_TRY(frame.Output(1, ms::Shape{shape.rows, shape.units}, &next_c));
    if (next_h.size() == 0) return ms::Status();
    auto* memory = plan == nullptr ? nullptr : static_cast<float*>(frame.scratch());
    if (plan == nullptr) {
      ms::View temp;
      const int64_t floats = shape.product_size() + shape.strips_size();
      MS_TRY(frame.Temp(static_cast<uint64_t>(floats) * sizeof(float), &temp));
      memory = static_cast<float*>(temp.raw());
    }
    const bool is_kept = plan != nullptr && plan->kept != nullptr;
    float* const arranged = memory + shape.product_size();
    if (!is_kept) {
      ArrangeStrips({RowsOf(frame.input(kWeights)), shape.columns(), 1}, shape.units,
                    shape.columns(), 0, StripsOf(shape.columns()), arranged);
    }
    const StepOperands operands{frame.input(0).data<float>(),
                                frame.input(1).data<float>(),
                                frame.input(2).data<float>(),
                                biases_ == 0 ? nullptr : frame.input(kBias).data<float>(),
                                is_kept ? plan->kept->data()->values : arranged,
                                memory,
                                next_h.data<float>(),
                                next_c.data<float>()};
    // Blocks of units, each of which has four columns to multiply with.
    return ForEachStripBlock(frame, shape.rows, kGates * shape.units, shape.units,
                             [&](const StripBlock& block) { Run(shape, operands, block); });
  }

 private:
  static constexpr uint32_t kWeights = 3;
  static constexpr uint32_t kBias = 4;

  template <typename Inputs>
  ms::Status Resolve(const Inputs& inputs, StepShape* shape) const {
    const ms::Shape h = inputs.input(1);
    if (h.rank() != 2 || h[1] % kStripColumns != 0) {
      return ms::InvalidArgument("h must be a matrix with a multiple of ", kStripColumns,
                                 " columns, its shape is ", h.ToString());
    }
    *shape = StepShape{h[0], h[1]};
    const ms::Shape gates = {shape->rows, shape->columns()};
    MS_TRY(Check("x_gates", inputs.input(0), gates));
    MS_TRY(Check("c", inputs.input(2), h));
    const ms::Shape b = inputs.input(kWeights);
    if (b.rank() != 2 || b[1] != gates[1] || first_row_ > b[0] || h[1] > b[0] - first_row_) {
      return ms::InvalidArgument("b must be a matrix of ", gates[1], " columns with rows ",
                                 first_row_, " to ", first_row_ + h[1], ", its shape is ",
                                 b.ToString());
    }
    return biases_ == 0 ? ms::Status() : Check("bias", inputs.input(kBias), {gates[1]});
  }

  static ms::Status Check(const char* argument, const ms::Shape& shape, const ms::Shape& wanted) {
    if (shape == wanted) return ms::Status();
    return ms::InvalidArgument(argument, " must have shape ", wanted.ToString(), ", its shape is ",
                               shape.ToString());
  }

  const float* RowsOf(const ms::View& b) const { return b.data<float>() + first_row_ * b.dim(1); }

  void Run(const StepShape& shape, const StepOperands& operands, const StripBlock& block) const {
    const int64_t units = shape.units;
    for (int64_t gate = 0; gate < kGates; ++gate) {
      const int64_t column = gate * units + block.column;
      MultiplyStrips({operands.h + block.row * units, units, block.rows,
                      operands.strips + column * units, units, block.columns,
                      operands.product + block.row * shape.columns() + column, shape.columns()});
    }
    for (int64_t row = block.row; row < block.row + block.rows; ++row) {
      const int64_t gates = row * shape.columns() + block.column;
      const int64_t state = row * units + block.column;
      const GateRow part{operands.product + gates,
                         operands.x_gates + gates,
                         operands.bias == nullptr ? nullptr : operands.bias + block.column,
                         operands.c + state,
                         operands.next_h + state,
                         operands.next_c + state,
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
    ms::Register<LstmStep>("_LstmStep", ms::KernelOptions().Type<float>("T"));

}  // namespace
}  // namespace millstream::kernels
