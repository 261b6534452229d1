// Reductions, products and random numbers.
#include "framework/plugin/check/recipe.h"

namespace millstream::plugin_check {
namespace {

struct Reduction {
  Shape shape;
  std::vector<int64_t> axes;
};
const std::vector<Reduction>& Reductions() {
  static const auto* const reductions = new std::vector<Reduction>{
      {{}, {}},        {{7}, {0}},       {{0}, {0}},       {{3, 5}, {0}},       {{3, 5}, {1}},
      {{3, 5}, {-1}},  {{3, 5}, {0, 1}}, {{2, 3, 4}, {1}}, {{2, 3, 4}, {0, 2}}, {{33, 65}, {1}},
      {{33, 65}, {0}}, {{4, 0, 3}, {1}}, {{3, 5}, {}}};
  return *reductions;
}

// `type` is kInvalid for the type attribute T.
void Reduce(Recipe* recipe, DataType type) {
  for (const Reduction& reduction : Reductions()) {
    for (const bool keep : {false, true}) {
      recipe->Case(reduction.shape.ToString() + (keep ? ", kept" : "")).Attr("keep_dims", keep);
      if (type == DataType::kInvalid) {
        recipe->Values("T", reduction.shape);
      } else {
        recipe->Input(ValuesOf(type, reduction.shape, Domain::kAny, 3));
      }
      recipe->Const(Vector(recipe->Type("Tidx"), reduction.axes));
    }
  }
}
void NumberReductions(Recipe* recipe) { Reduce(recipe, DataType::kInvalid); }
void LogicalReductions(Recipe* recipe) { Reduce(recipe, DataType::kBool); }

// There is no greatest of nothing.
void ArgumentReductions(Recipe* recipe) {
  const DataType index = recipe->Type("Tidx");
  recipe->Case("[7]").Values("T", {7}).Const(Scalar(index, 0));
  recipe->Case("[5,33]").Values("T", {5, 33}).Const(Scalar(index, 1));
  recipe->Case("[5,33] by rows").Values("T", {5, 33}).Const(Scalar(index, 0));
  recipe->Case("[0,3]").Values("T", {0, 3}).Const(Scalar(index, -1));
}

void Products(Recipe* recipe) {
  struct Sizes {
    int64_t m, k, n;
  };
  for (const Sizes& s : {Sizes{1, 1, 1},
                         {3, 5, 7},
                         {0, 4, 3},
                         {4, 0, 3},
                         {4, 3, 0},
                         {17, 33, 9},
                         {1, 64, 5},
                         {64, 65, 66}}) {
    for (int transposed = 0; transposed < 4; ++transposed) {
      const bool a = (transposed & 1) != 0;
      const bool b = (transposed & 2) != 0;
      recipe->Case(Shape({s.m, s.k, s.n}).ToString() + (a ? ", a transposed" : "") +
                   (b ? ", b transposed" : ""));
      recipe->Attr("transpose_a", a).Attr("transpose_b", b);
      recipe->Values("T", a ? Shape({s.k, s.m}) : Shape({s.m, s.k}));
      recipe->Values("T", b ? Shape({s.n, s.k}) : Shape({s.k, s.n}));
    }
  }
}

void BatchProducts(Recipe* recipe) {
  recipe->Case("[2,3,4] [2,4,5]").Values("T", {2, 3, 4}).Values("T", {2, 4, 5});
  recipe->Case("[3,2,7,4] adjoint")
      .Attr("adj_x", true)
      .Values("T", {3, 2, 4, 7})
      .Values("T", {3, 2, 4, 5});
  recipe->Case("[0,3,4] [0,4,5]").Values("T", {0, 3, 4}).Values("T", {0, 4, 5});
}

void Softmaxes(Recipe* recipe) {
  for (const Shape& shape : {Shape({1, 1}), Shape({4, 7}), Shape({0, 5}), Shape({17, 65})}) {
    recipe->Case(shape.ToString()).Values("T", shape);
  }
}

void CrossEntropies(Recipe* recipe) {
  for (const Shape& shape : {Shape({1, 3}), Shape({4, 7}), Shape({17, 65})}) {
    recipe->Case(shape.ToString()).Values("T", shape).Values("T", shape, Domain::kPositive);
  }
}

void SparseCrossEntropies(Recipe* recipe) {
  const DataType label = recipe->Type("Tlabels");
  recipe->Case("[3,4]").Values("T", {3, 4}).Input(Vector(label, {3, 0, 2}));
  recipe->Case("[1,65]").Values("T", {1, 65}).Input(Vector(label, {64}));
}

void RandomShapes(Recipe* recipe) {
  for (const std::vector<int64_t>& dims :
       {std::vector<int64_t>{}, {0}, {1}, {7}, {3, 5}, {33, 65}}) {
    recipe->Case(std::to_string(dims.size()) + " dimensions")
        .Attr("seed", int64_t{12345})
        .Attr("seed2", int64_t{67})
        .Const(Vector(recipe->Type("T"), dims))
        .Random();
  }
}

void RandomIntegers(Recipe* recipe) {
  const DataType type = recipe->Type("Tout");
  for (const std::vector<int64_t>& dims : {std::vector<int64_t>{0}, {7}, {33, 65}}) {
    recipe->Case(std::to_string(dims.size()) + " dimensions")
        .Attr("seed", int64_t{12345})
        .Const(Vector(recipe->Type("T"), dims))
        .Const(Scalar(type, -3))
        .Const(Scalar(type, 40))
        .Random();
  }
}

void Ranges(Recipe* recipe) {
  const DataType type = recipe->Type("Tidx");
  for (const auto& [start, limit, delta] :
       {std::array<double, 3>{0, 5, 1}, {3, 3, 1}, {10, 0, -3}, {0, 100, 7}}) {
    recipe->Case("a range")
        .Const(Number(type, start))
        .Const(Number(type, limit))
        .Const(Number(type, delta));
  }
}

constexpr RecipeEntry kRecipes[] = {
    {"Sum Mean Max Min Prod", &NumberReductions},
    {"All Any", &LogicalReductions},
    {"ArgMax ArgMin", &ArgumentReductions},
    {"MatMul", &Products},
    {"BatchMatMul BatchMatMulV2", &BatchProducts},
    {"Softmax LogSoftmax", &Softmaxes},
    {"SoftmaxCrossEntropyWithLogits", &CrossEntropies},
    {"SparseSoftmaxCrossEntropyWithLogits", &SparseCrossEntropies},
    {"RandomUniform RandomStandardNormal TruncatedNormal", &RandomShapes},
    {"RandomUniformInt", &RandomIntegers},
    {"Range", &Ranges},
};

}  // namespace

absl::Span<const RecipeEntry> MathRecipes() { return kRecipes; }

}  // namespace millstream::plugin_check
