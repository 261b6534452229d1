// _DenseLayer: a product with weights that never change, and what is done to its elements next. A
// plan keeps the weights in strips. The product is cut into blocks, and a block is finished while
// it is in a cache. The bits do not depend on the cuts (window_product.h).
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/gelu.h"
#include "kernels/common/input_shapes.h"
#include "kernels/matmul/kept_strips.h"
#include "kernels/matmul/strip_blocks.h"
#include "kernels/matmul/window_product.h"
#include "kernels/simd/instruction_set.h"

namespace millstream::kernels {
namespace {

// ---- What is done to the product ----

// A block of the product.
struct Block {
  float* c;
  int64_t c_step;
  int64_t rows;
  int64_t columns;
  const float* bias;    // null: there is none
  const float* addend;  // an element for each of the block's; null: there is none
  int64_t addend_step;
};

struct NoActivation {
  static float Apply(float x) { return x; }
};
// A NaN stays one.
struct ReluActivation {
  static float Apply(float x) { return x <= 0 ? 0.0f : x; }
};
struct GeluErfActivation {
  static float Apply(float x) { return GeluErf(x); }
};
struct GeluTanhActivation {
  static float Apply(float x) { return GeluTanh(x); }
};

template <typename Activation>
void FinishBlock(const Block& block) {
  for (int64_t row = 0; row < block.rows; ++row) {
    float* const c = block.c + row * block.c_step;
    if (block.bias != nullptr) {
#pragma GCC ivdep
      for (int64_t j = 0; j < block.columns; ++j) c[j] = Activation::Apply(c[j] + block.bias[j]);
    } else {
#pragma GCC ivdep
      for (int64_t j = 0; j < block.columns; ++j) c[j] = Activation::Apply(c[j]);
    }
    if (block.addend == nullptr) continue;
    const float* const addend = block.addend + row * block.addend_step;
#pragma GCC ivdep
    for (int64_t j = 0; j < block.columns; ++j) c[j] += addend[j];
  }
}

struct Activation {
  const char* name;
  void (*finish)(const Block& block);
};
constexpr Activation kActivations[] = {
    {"Identity", [](const Block& block) { RunLoop<&FinishBlock<NoActivation>>(block); }},
    {"Relu", [](const Block& block) { RunLoop<&FinishBlock<ReluActivation>>(block); }},
    {"GeluErf", [](const Block& block) { RunLoop<&FinishBlock<GeluErfActivation>>(block); }},
    {"GeluTanh", [](const Block& block) { RunLoop<&FinishBlock<GeluTanhActivation>>(block); }}};

// ---- The product ----

struct DenseShape {
  int64_t m = 0;
  int64_t k = 0;
  int64_t n = 0;

  uint64_t strip_bytes() const { return static_cast<uint64_t>(StripsSize(k, n)) * sizeof(float); }
};

struct DenseOperands {
  const float* a;
  const float* strips;
  const float* bias;    // null: there is none
  const float* addend;  // null: there is none
  float* output;
};

struct DensePlan : ms::ShapeState {
  DenseShape shape;
  KeptStrips kept;  // the weights, if the plan knows them
};

class DenseLayer {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    MS_TRY(info.Attr("transpose_b", &transpose_));
    MS_TRY(info.Attr("num_biases", &biases_));
    MS_TRY(info.Attr("num_addends", &addends_));
    std::string name;
    MS_TRY(info.Attr("activation", &name));
    for (const Activation& activation : kActivations) {
      if (name == activation.name) activation_ = &activation;
    }
    if (activation_ == nullptr || biases_ > 1 || addends_ > 1) {
      return ms::InvalidArgument(info.op(), ": unknown activation '", name,
                                 "', or more than one bias or addend");
    }
    return ms::Status();
  }

  ms::Status Specialize(ms::Specialization& specialization) const {
    auto plan = std::make_unique<DensePlan>();
    MS_TRY(Resolve(specialization, &plan->shape));
    const DenseShape& shape = plan->shape;
    const ms::View weights = specialization.constant(1);
    if (weights.is_null() || weights.size() == 0) {
      specialization.SetScratchBytes(shape.strip_bytes());
    } else {
      plan->kept = KeepStrips({weights.data<float>(), shape.k, shape.n, transpose_});
    }
    specialization.SetState(std::move(plan));
    return ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    DenseShape shape;
    const float* strips = nullptr;
    if (const auto* plan = frame.shape_state<DensePlan>()) {
      shape = plan->shape;
      if (plan->kept != nullptr) strips = plan->kept->data()->values;
    } else {
      MS_TRY(Resolve(InputShapes{frame}, &shape));
    }
    ms::View output;
    MS_TRY(frame.Output(0, ms::Shape{shape.m, shape.n}, &output));
    if (output.size() == 0) return ms::Status();
    if (strips == nullptr && shape.k > 0) MS_TRY(ArrangeNow(frame, shape, &strips));
    return Multiply(frame, shape, strips, output.data<float>());
  }

 private:
  template <typename Inputs>
  ms::Status Resolve(const Inputs& inputs, DenseShape* shape) const {
    const ms::Shape a = inputs.input(0);
    const ms::Shape b = inputs.input(1);
    if (a.rank() != 2 || b.rank() != 2 || a[1] != b[transpose_ ? 1 : 0]) {
      return ms::InvalidArgument(
          "a and b must be matrices that can be multiplied, their shapes are ", a.ToString(),
          " and ", b.ToString());
    }
    *shape = DenseShape{a[0], a[1], b[transpose_ ? 0 : 1]};
    if (biases_ == 1 && inputs.input(2) != ms::Shape{shape->n}) {
      return ms::InvalidArgument("the bias must be a vector of ", shape->n, ", its shape is ",
                                 inputs.input(2).ToString());
    }
    const auto addend = static_cast<uint32_t>(2 + biases_);
    if (addends_ == 1 && inputs.input(addend) != ms::Shape{shape->m, shape->n}) {
      return ms::InvalidArgument("the addend must have the shape of the product, [", shape->m, ",",
                                 shape->n, "], its shape is ", inputs.input(addend).ToString());
    }
    return ms::Status();
  }

  void Arrange(const DenseShape& shape, const float* weights, float* strips) const {
    const StridedMatrix matrix{weights, transpose_ ? 1 : shape.n, transpose_ ? shape.k : 1};
    ArrangeStrips(matrix, shape.k, shape.n, 0, StripsOf(shape.n), strips);
  }

  ms::Status ArrangeNow(ms::Frame& frame, const DenseShape& shape, const float** strips) const {
    void* memory = frame.shape_state<DensePlan>() != nullptr ? frame.scratch() : nullptr;
    if (memory == nullptr) {
      ms::View temp;
      MS_TRY(frame.Temp(shape.strip_bytes(), &temp));
      memory = temp.raw();
    }
    Arrange(shape, frame.input(1).data<float>(), static_cast<float*>(memory));
    *strips = static_cast<const float*>(memory);
    return ms::Status();
  }

  ms::Status Multiply(ms::Frame& frame, const DenseShape& shape, const float* strips,
                      float* output) const {
    const DenseOperands operands{
        frame.input(0).data<float>(), strips, biases_ == 0 ? nullptr : frame.input(2).data<float>(),
        addends_ == 0 ? nullptr : frame.input(static_cast<uint32_t>(2 + biases_)).data<float>(),
        output};
    return ForEachStripBlock(frame, shape.m, shape.k, shape.n, [&](const StripBlock& block) {
      ComputeBlock(shape, operands, block);
    });
  }

  void ComputeBlock(const DenseShape& shape, const DenseOperands& operands,
                    const StripBlock& place) const {
    const int64_t first = place.row * shape.n + place.column;
    Block block{};
    block.c = operands.output + first;
    block.c_step = shape.n;
    block.rows = place.rows;
    block.columns = place.columns;
    block.bias = operands.bias == nullptr ? nullptr : operands.bias + place.column;
    block.addend = operands.addend == nullptr ? nullptr : operands.addend + first;
    block.addend_step = shape.n;
    MultiplyStrips({operands.a + place.row * shape.k, shape.k, block.rows,
                    operands.strips + place.column * shape.k, shape.k, block.columns, block.c,
                    block.c_step});
    activation_->finish(block);
  }

  bool transpose_ = false;
  int64_t biases_ = 0;
  int64_t addends_ = 0;
  const Activation* activation_ = nullptr;
};

const ms::Registered dense_layer =
    ms::Register<DenseLayer>("_DenseLayer", ms::KernelOptions().Type<float>("T"));

}  // namespace
}  // namespace millstream::kernels
