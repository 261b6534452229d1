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

// The inputs of RMSProp's and Adadelta's steps: `slots` variables, of which `first_positive` and
// those behind it are positive, and scalars.
Recipe& BeginMeans(Recipe* recipe, const Shape& shape, int slots, int first_positive, int scalars) {
  recipe->Case(shape.ToString());
  for (int slot = 0; slot < slots; ++slot) {
    recipe->VariableValues("T", shape, slot < first_positive ? Domain::kAny : Domain::kPositive);
  }
  for (int i = 0; i < scalars; ++i) recipe->Input(Number(recipe->Type("T"), 0.5));
  return *recipe;
}
template <int slots, int first_positive, int scalars>
void Means(Recipe* recipe) {
  for (const Shape& shape : Shapes()) {
    BeginMeans(recipe, shape, slots, first_positive, scalars).Values("T", shape);
  }
}
template <int slots, int first_positive, int scalars>
void SparseMeans(Recipe* recipe) {
  BeginMeans(recipe, {5, 3}, slots, first_positive, scalars)
      .Values("T", {3, 3})
      .Input(Vector(recipe->Type("Tindices"), {4, 0, 2}));
}

// Several variables at once: `slots` of each, of which the last are positive, then `before`
// scalars, the gradients, and `after` scalars.
void WriteMany(Recipe* recipe, int slots, int before, int after) {
  const std::vector<Shape> shapes = {{17}, {3, 5}};
  recipe->Case("two variables").Attr("N", static_cast<int64_t>(shapes.size()));
  for (int slot = 0; slot < slots; ++slot) {
    for (const Shape& shape : shapes) {
      recipe->VariableValues("T", shape, slot == 0 ? Domain::kAny : Domain::kPositive);
    }
  }
  for (int i = 0; i < before; ++i) recipe->Input(Number(recipe->Type("T"), 0.5));
  for (const Shape& shape : shapes) recipe->Values("T", shape);
  for (int i = 0; i < after; ++i) recipe->Input(Number(recipe->Type("T"), 0.5));
}
void ManyGradientDescents(Recipe* recipe) { WriteMany(recipe, 1, 1, 0); }
void ManyMomenta(Recipe* recipe) { WriteMany(recipe, 2, 1, 1); }
void ManyAdagrads(Recipe* recipe) { WriteMany(recipe, 2, 1, 0); }
void ManyAdams(Recipe* recipe) { WriteMany(recipe, 3, 6, 0); }
void ManyRmsProps(Recipe* recipe) { WriteMany(recipe, 3, 4, 0); }
void ManyCenteredRmsProps(Recipe* recipe) { WriteMany(recipe, 4, 4, 0); }
void ManyAdadeltas(Recipe* recipe) { WriteMany(recipe, 3, 3, 0); }

void ProductDescents(Recipe* recipe) {
  recipe->Case("[7,5] from [3,7] and [3,5]")
      .VariableValues("T", {7, 5})
      .Input(Number(recipe->Type("T"), 0.125))
      .Values("T", {3, 7})
      .Values("T", {3, 5});
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
    {"ResourceApplyRMSProp", &Means<3, 1, 4>},
    {"ResourceApplyCenteredRMSProp", &Means<4, 2, 4>},
    {"ResourceApplyAdadelta", &Means<3, 1, 3>},
    {"_MultiResourceApplyGradientDescent", &ManyGradientDescents},
    {"_MultiResourceApplyMomentum", &ManyMomenta},
    {"_MultiResourceApplyAdagrad", &ManyAdagrads},
    {"_MultiResourceApplyAdam", &ManyAdams},
    {"_MultiResourceApplyRMSProp", &ManyRmsProps},
    {"_MultiResourceApplyCenteredRMSProp", &ManyCenteredRmsProps},
    {"_MultiResourceApplyAdadelta", &ManyAdadeltas},
    {"_MatMulApplyGradientDescent", &ProductDescents},
    {"ResourceGather", &Gathers},
    {"ResourceScatterAdd", &Scatters},
    {"ResourceSparseApplyAdagrad", &SparseAdagrads},
    {"ResourceSparseApplyMomentum", &SparseMomenta},
    {"ResourceSparseApplyRMSProp", &SparseMeans<3, 1, 4>},
    {"ResourceSparseApplyCenteredRMSProp", &SparseMeans<4, 2, 4>},
    {"ResourceSparseApplyAdadelta", &SparseMeans<3, 1, 3>},
};

}  // namespace

absl::Span<const RecipeEntry> StateRecipes() { return kRecipes; }

}  // namespace millstream::plugin_check
