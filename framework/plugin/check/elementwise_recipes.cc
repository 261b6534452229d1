// Ops that go element by element.
#include "framework/plugin/check/recipe.h"

namespace millstream::plugin_check {
namespace {

// Empty, rank 0, one element, odd sizes, more than a vector and more than a thread's piece.
const std::vector<Shape>& Shapes() {
  static const auto* const shapes =
      new std::vector<Shape>{{}, {0}, {1}, {17}, {2, 0, 3}, {3, 5}, {33, 9}, {2, 3, 4, 5}, {4099}};
  return *shapes;
}

const std::vector<std::pair<Shape, Shape>>& ShapePairs() {
  static const auto* const pairs = new std::vector<std::pair<Shape, Shape>>{{{}, {}},
                                                                            {{0}, {0}},
                                                                            {{17}, {17}},
                                                                            {{33, 9}, {33, 9}},
                                                                            {{3, 5}, {5}},
                                                                            {{3, 1}, {1, 4}},
                                                                            {{}, {7}},
                                                                            {{5}, {}},
                                                                            {{2, 1, 3}, {4, 1}},
                                                                            {{0, 1}, {1, 3}},
                                                                            {{2, 3, 4}, {2, 3, 4}},
                                                                            {{65, 63}, {65, 1}}};
  return *pairs;
}

void Unary(Recipe* recipe, Domain domain) {
  for (const Shape& shape : Shapes()) {
    recipe->Case(shape.ToString()).Values("T", shape, domain);
  }
}
void AnyUnary(Recipe* recipe) { Unary(recipe, Domain::kAny); }
void PositiveUnary(Recipe* recipe) { Unary(recipe, Domain::kPositive); }

void Logical(Recipe* recipe) {
  for (const Shape& shape : Shapes()) {
    recipe->Case(shape.ToString()).Input(ValuesOf(DataType::kBool, shape, Domain::kAny, 1));
  }
}

void Broadcast(Recipe* recipe, Domain first, Domain second) {
  for (const auto& [x, y] : ShapePairs()) {
    recipe->Case(x.ToString() + " and " + y.ToString())
        .Values("T", x, first)
        .Values("T", y, second);
  }
}
void AnyBroadcast(Recipe* recipe) { Broadcast(recipe, Domain::kAny, Domain::kAny); }
void Division(Recipe* recipe) { Broadcast(recipe, Domain::kAny, Domain::kPositive); }
void Power(Recipe* recipe) { Broadcast(recipe, Domain::kPositive, Domain::kPositive); }

void LogicalBroadcast(Recipe* recipe) {
  for (const auto& [x, y] : ShapePairs()) {
    recipe->Case(x.ToString() + " and " + y.ToString())
        .Input(ValuesOf(DataType::kBool, x, Domain::kAny, 1))
        .Input(ValuesOf(DataType::kBool, y, Domain::kAny, 2));
  }
}

// A function's gradient: of the result (or the argument) and the gradient of the result.
void Gradient(Recipe* recipe) {
  for (const Shape& shape : Shapes()) {
    recipe->Case(shape.ToString())
        .Values("T", shape, Domain::kPositive)
        .Values("T", shape, Domain::kAny);
  }
}

void Sums(Recipe* recipe) {
  for (const int64_t n : {1, 2, 5}) {
    for (const Shape& shape : Shapes()) {
      recipe->Case(shape.ToString() + " times " + std::to_string(n)).Attr("N", n);
      for (int64_t i = 0; i < n; ++i) recipe->Values("T", shape);
    }
  }
}

void Casts(Recipe* recipe) {
  for (const Shape& shape : Shapes()) {
    recipe->Case(shape.ToString()).Values("SrcT", shape, Domain::kPositive);
  }
}

void Selections(Recipe* recipe) {
  for (const Shape& shape : Shapes()) {
    recipe->Case(shape.ToString())
        .Input(ValuesOf(DataType::kBool, shape, Domain::kAny, 9))
        .Values("T", shape)
        .Values("T", shape);
  }
  recipe->Case("rows of [17,3]")
      .Input(ValuesOf(DataType::kBool, {17}, Domain::kAny, 9))
      .Values("T", {17, 3})
      .Values("T", {17, 3});
}

void Checks(Recipe* recipe) {
  for (const Shape& shape : Shapes()) {
    recipe->Case(shape.ToString()).Attr("message", "checked").Values("T", shape);
  }
}

void Fills(Recipe* recipe) {
  const DataType index = recipe->Type("index_type");
  recipe->Case("[]").Const(Vector(index, {})).Values("T", {});
  recipe->Case("[0,3]").Const(Vector(index, {0, 3})).Values("T", {});
  recipe->Case("[17,5]").Const(Vector(index, {17, 5})).Values("T", {});
}

void BiasAdds(Recipe* recipe) {
  for (const Shape& shape : {Shape({0, 3}), Shape({4, 7}), Shape({2, 3, 3, 5})}) {
    recipe->Case(shape.ToString())
        .Values("T", shape)
        .Values("T", {shape.dims()[static_cast<size_t>(shape.rank() - 1)]});
  }
}

void BiasGradients(Recipe* recipe) {
  for (const Shape& shape : {Shape({0, 3}), Shape({4, 7}), Shape({2, 3, 3, 5})}) {
    recipe->Case(shape.ToString()).Values("T", shape);
  }
}

constexpr RecipeEntry kRecipes[] = {
    {"Abs Conj Exp Floor Neg Relu Sigmoid Sign Square Tanh ZerosLike OnesLike L2Loss Relu6 "
     "Softplus "
     "Elu Selu Softsign Ceil Rint Sin Cos",
     &AnyUnary},
    {"Inv Reciprocal Log Rsqrt Sqrt", &PositiveUnary},
    {"LogicalNot", &Logical},
    {"Add AddV2 Sub Mul Maximum Minimum SquaredDifference Equal NotEqual Less LessEqual Greater "
     "GreaterEqual",
     &AnyBroadcast},
    {"Div RealDiv FloorDiv FloorMod", &Division},
    {"Pow", &Power},
    {"LogicalAnd LogicalOr", &LogicalBroadcast},
    {"InvGrad ReciprocalGrad RsqrtGrad SqrtGrad SigmoidGrad TanhGrad ReluGrad Relu6Grad "
     "SoftplusGrad EluGrad SeluGrad SoftsignGrad",
     &Gradient},
    {"AddN", &Sums},
    {"Cast", &Casts},
    {"Select", &Selections},
    {"CheckNumerics", &Checks},
    {"Fill", &Fills},
    {"BiasAdd", &BiasAdds},
    {"BiasAddGrad", &BiasGradients},
};

}  // namespace

absl::Span<const RecipeEntry> ElementwiseRecipes() { return kRecipes; }

}  // namespace millstream::plugin_check
