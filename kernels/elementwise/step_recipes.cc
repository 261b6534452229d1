#include "kernels/elementwise/step_recipes.h"

namespace millstream::kernels {
namespace {

using Program = VectorProgram;
using Value = VectorProgram::Value;
using Comparison = VectorProgram::Comparison;

Value Negative(Program& p, Value x) { return p.Xor(x, p.Number(-0.0f)); }

Value Reciprocal(Program& p, Value x, Value) { return p.Div(p.Number(1), x); }

// -1, 0, 1, or a NaN.
Value Sign(Program& p, Value x, Value) {
  const Value one = p.Number(1);
  const Value above = p.KeepWhere(Comparison::kGreater, x, one);
  const Value below = p.KeepWhere(Comparison::kLess, x, one);
  return p.PassNaN(p.Sub(above, below), x);
}

// The gradients of roots and reciprocals: zero where dy is, whatever y is.
Value UnlessZero(Program& p, Value dy, Value gradient) {
  return p.KeepWhere(Comparison::kNotEqual, dy, gradient);
}

Value ReciprocalGrad(Program& p, Value y, Value dy) {
  return UnlessZero(p, dy, p.Mul(p.Mul(Negative(p, dy), y), y));
}

Value Add(Program& p, Value x, Value y) { return p.Add(x, y); }

struct Recipe {
  const char* op;
  StepRecipe recipe;
};

// The order of operations is that of the loops; see each op's Apply.
constexpr Recipe kRecipes[] = {
    {"Abs", [](Program& p, Value x, Value) { return p.And(x, p.Bits(0x7fffffff)); }},
    {"Floor", [](Program& p, Value x, Value) { return p.Floor(x); }},
    {"Inv", Reciprocal},
    {"Neg", [](Program& p, Value x, Value) { return Negative(p, x); }},
    {"Reciprocal", Reciprocal},
    {"Relu",
     [](Program& p, Value x, Value) { return p.KeepWhere(Comparison::kNotLessOrEqual, x, x); }},
    {"Rsqrt", [](Program& p, Value x, Value) { return p.Div(p.Number(1), p.Sqrt(x)); }},
    {"Sign", Sign},
    {"Sqrt", [](Program& p, Value x, Value) { return p.Sqrt(x); }},
    {"Square", [](Program& p, Value x, Value) { return p.Mul(x, x); }},
    {"Add", Add},
    {"AddV2", Add},
    {"Div", [](Program& p, Value x, Value y) { return p.Div(x, y); }},
    {"InvGrad", ReciprocalGrad},
    // Of zeros of both signs the first operand, of a NaN and a number the NaN: see kMax.
    {"Maximum", [](Program& p, Value x, Value y) { return p.PassNaN(p.Max(y, x), y); }},
    {"Minimum", [](Program& p, Value x, Value y) { return p.PassNaN(p.Min(y, x), y); }},
    {"Mul", [](Program& p, Value x, Value y) { return p.Mul(x, y); }},
    {"RealDiv", [](Program& p, Value x, Value y) { return p.Div(x, y); }},
    {"ReciprocalGrad", ReciprocalGrad},
    {"ReluGrad",
     [](Program& p, Value gradient, Value feature) {
       return p.Mul(gradient, p.KeepWhere(Comparison::kGreater, feature, p.Number(1)));
     }},
    {"RsqrtGrad",
     [](Program& p, Value y, Value dy) {
       const Value product = p.Mul(p.Mul(dy, y), p.Mul(y, y));
       return UnlessZero(p, dy, p.Mul(p.Number(-0.5f), product));
     }},
    {"SigmoidGrad",
     [](Program& p, Value y, Value dy) { return p.Mul(p.Mul(dy, y), p.Sub(p.Number(1), y)); }},
    {"SqrtGrad", [](Program& p, Value y,
                    Value dy) { return UnlessZero(p, dy, p.Div(p.Mul(dy, p.Number(0.5f)), y)); }},
    {"SquaredDifference",
     [](Program& p, Value x, Value y) {
       const Value difference = p.Sub(x, y);
       return p.Mul(difference, difference);
     }},
    {"Sub", [](Program& p, Value x, Value y) { return p.Sub(x, y); }},
    {"TanhGrad",
     [](Program& p, Value y, Value dy) { return p.Mul(dy, p.Sub(p.Number(1), p.Mul(y, y))); }},
};

}  // namespace

StepRecipe FindStepRecipe(std::string_view op) {
  for (const Recipe& recipe : kRecipes) {
    if (op == recipe.op) return recipe.recipe;
  }
  return nullptr;
}

}  // namespace millstream::kernels
