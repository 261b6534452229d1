// Ops that change variables.
#include "framework/plugin/check/recipe.h"

namespace millstream::plugin_check {
namespace {

const std::vector<Shape>& Shapes() {
  static const auto* const shapes = new std::vector<Shape>{{}, {0}, {17}, {33, 9}};
  return *shapes;
}

void Additions(Recipe* recipe) {
  for (const Shape& shape : Shapes()) {
    recipe->Case(shape.ToString()).VariableValues("dtype", shape).Values("dtype", shape);
  }
}

void GradientDescents(Recipe* recipe) {
  for (const Shape& shape : Shapes()) {
    recipe->Case(shape.ToString())
        .VariableValues("T", shape)
        .Input(Number(recipe->Type("T"), 0.125))
        .Values("T", shape);
  }
}

void Momenta(Recipe* recipe) {
  for (const Shape& shape : Shapes()) {
    recipe->Case(shape.ToString())
        .VariableValues("T", shape)
        .VariableValues("T", shape)
        .Input(Number(recipe->Type("T"), 0.125))
        .Values("T", shape)
        .Input(Number(recipe->Type("T"), 0.5));
  }
}

void Adagrads(Recipe* recipe) {
  for (const Shape& shape : Shapes()) {
    recipe->Case(shape.ToString())
        .VariableValues("T", shape)
        .VariableValues("T", shape, Domain::kPositive)
        .Input(Number(recipe->Type("T"), 0.125))
        .Values("T", shape);
  }
}

void Adams(Recipe* recipe) {
  for (const Shape& shape : Shapes()) {
    recipe->Case(shape.ToString())
        .VariableValues("T", shape)
        .VariableValues("T", shape)
        .VariableValues("T", shape, Domain::kPositive);
    for (const double scalar : {0.5, 0.75, 0.125, 0.5, 0.75, 0.0625}) {
      recipe->Input(Number(recipe->Type("T"), scalar));
    }
    recipe->Values("T", shape);
  }
}

void Gathers(Recipe* recipe) {
  recipe->Case("rows of [5,3]")
      .VariableValues("dtype", {5, 3})
      .Input(Vector(recipe->Type("Tindices"), {4, 0, 0, 2}));
}

void Scatters(Recipe* recipe) {
  recipe->Case("rows of [5,3]")
      .VariableValues("dtype", {5, 3})
      .Input(Vector(recipe->Type("Tindices"), {4, 0, 2}))
      .Values("dtype", {3, 3});
}

// Rows of two variables, chosen by indices that differ.
Recipe& BeginSparse(Recipe* recipe) {
  return recipe->Case("rows of [5,3]")
      .VariableValues("T", {5, 3})
      .VariableValues("T", {5, 3}, Domain::kPositive)
      .Input(Number(recipe->Type("T"), 0.125))
      .Values("T", {3, 3})
      .Input(Vector(recipe->Type("Tindices"), {4, 0, 2}));
}
void SparseAdagrads(Recipe* recipe) { BeginSparse(recipe); }
void SparseMomenta(Recipe* recipe) { BeginSparse(recipe).Input(Number(recipe->Type("T"), 0.5)); }

constexpr RecipeEntry kRecipes[] = {
    {"AssignAddVariableOp AssignSubVariableOp", &Additions},
    {"ResourceApplyGradientDescent", &GradientDescents},
    {"ResourceApplyMomentum", &Momenta},
    {"ResourceApplyAdagrad", &Adagrads},
    {"ResourceApplyAdam", &Adams},
    {"ResourceGather", &Gathers},
    {"ResourceScatterAdd", &Scatters},
    {"ResourceSparseApplyAdagrad", &SparseAdagrads},
    {"ResourceSparseApplyMomentum", &SparseMomenta},
};

}  // namespace

absl::Span<const RecipeEntry> StateRecipes() { return kRecipes; }

}  // namespace millstream::plugin_check
