// Ops that move elements.
#include "framework/plugin/check/recipe.h"

namespace millstream::plugin_check {
namespace {

void Transposes(Recipe* recipe) {
  const DataType index = recipe->Type("Tperm");
  recipe->Case("[]").Values("T", {}).Const(Vector(index, {}));
  recipe->Case("[7]").Values("T", {7}).Const(Vector(index, {0}));
  recipe->Case("[33,17]").Values("T", {33, 17}).Const(Vector(index, {1, 0}));
  recipe->Case("[0,5]").Values("T", {0, 5}).Const(Vector(index, {1, 0}));
  recipe->Case("[2,3,4,5]").Values("T", {2, 3, 4, 5}).Const(Vector(index, {2, 0, 3, 1}));
}

void Tiles(Recipe* recipe) {
  const DataType index = recipe->Type("Tmultiples");
  recipe->Case("[3] by 4").Values("T", {3}).Const(Vector(index, {4}));
  recipe->Case("[2,3] by [3,2]").Values("T", {2, 3}).Const(Vector(index, {3, 2}));
  recipe->Case("[2,3] by [0,2]").Values("T", {2, 3}).Const(Vector(index, {0, 2}));
}

void Pads(Recipe* recipe) {
  const DataType index = recipe->Type("Tpaddings");
  recipe->Case("[3]").Values("T", {3}).Const(IntegersOf(index, {1, 2}, {1, 2}));
  recipe->Case("[2,3]").Values("T", {2, 3}).Const(IntegersOf(index, {2, 2}, {0, 1, 2, 0}));
  recipe->Case("[0,3]").Values("T", {0, 3}).Const(IntegersOf(index, {2, 2}, {1, 0, 0, 0}));
}

void Concatenations(Recipe* recipe) {
  const DataType index = recipe->Type("Tidx");
  const auto write = [&](const char* text, int64_t axis, const std::vector<Shape>& shapes) {
    recipe->Case(text).Attr("N", static_cast<int64_t>(shapes.size()));
    for (const Shape& shape : shapes) recipe->Values("T", shape);
    recipe->Const(Scalar(index, axis));
  };
  write("[3] [4]", 0, {{3}, {4}});
  write("[2,3] [2,5] by columns", 1, {{2, 3}, {2, 5}});
  write("[2,3] [0,3] [4,3] by rows", 0, {{2, 3}, {0, 3}, {4, 3}});
}

void Packs(Recipe* recipe) {
  for (const int64_t axis : {0, 1}) {
    recipe->Case("three of [2,5]").Attr("N", 3).Attr("axis", axis);
    for (int i = 0; i < 3; ++i) recipe->Values("T", {2, 5});
  }
  recipe->Case("one of []").Attr("N", 1).Values("T", {});
}

void Unpacks(Recipe* recipe) {
  recipe->Case("[3,5]").Attr("num", 3).Values("T", {3, 5});
  recipe->Case("[3,5] by columns").Attr("num", 5).Attr("axis", 1).Values("T", {3, 5});
  recipe->Case("[2,0]").Attr("num", 2).Values("T", {2, 0});
}

void Splits(Recipe* recipe) {
  recipe->Case("[6]").Attr("num_split", 3).Const(Scalar(DataType::kInt32, 0)).Values("T", {6});
  recipe->Case("[3,8] by columns")
      .Attr("num_split", 2)
      .Const(Scalar(DataType::kInt32, 1))
      .Values("T", {3, 8});
}

void SizedSplits(Recipe* recipe) {
  recipe->Case("[3,8] by columns")
      .Attr("num_split", 3)
      .Values("T", {3, 8})
      .Const(Vector(recipe->Type("Tlen"), {1, 5, 2}))
      .Const(Scalar(DataType::kInt32, 1));
}

void Slices(Recipe* recipe) {
  const DataType index = recipe->Type("Index");
  recipe->Case("[7]").Values("T", {7}).Const(Vector(index, {2})).Const(Vector(index, {3}));
  recipe->Case("[5,7] to the end")
      .Values("T", {5, 7})
      .Const(Vector(index, {1, 3}))
      .Const(Vector(index, {2, -1}));
  recipe->Case("nothing of [5,7]")
      .Values("T", {5, 7})
      .Const(Vector(index, {1, 3}))
      .Const(Vector(index, {0, 2}));
}

void StridedSlices(Recipe* recipe) {
  const DataType index = recipe->Type("Index");
  const auto write = [&](const char* text, const Shape& shape, const std::vector<int64_t>& begin,
                         const std::vector<int64_t>& end, const std::vector<int64_t>& strides) {
    recipe->Case(text)
        .Values("T", shape)
        .Const(Vector(index, begin))
        .Const(Vector(index, end))
        .Const(Vector(index, strides));
  };
  write("[9] by twos", {9}, {1}, {8}, {2});
  write("[9] backwards", {9}, {7}, {1}, {-2});
  write("[5,7]", {5, 7}, {1, 0}, {4, 7}, {1, 3});
  write("nothing of [5,7]", {5, 7}, {3, 0}, {3, 7}, {1, 1});
}

void StridedSliceGradients(Recipe* recipe) {
  const DataType index = recipe->Type("Index");
  recipe->Case("[9] by twos")
      .Const(Vector(index, {9}))
      .Const(Vector(index, {1}))
      .Const(Vector(index, {8}))
      .Const(Vector(index, {2}))
      .Values("T", {4});
  recipe->Case("[5,7]")
      .Const(Vector(index, {5, 7}))
      .Const(Vector(index, {1, 0}))
      .Const(Vector(index, {4, 7}))
      .Const(Vector(index, {1, 3}))
      .Values("T", {3, 3});
}

void Gathers(Recipe* recipe) {
  const DataType index = recipe->Type("Tindices");
  const DataType axis = recipe->Type("Taxis");
  recipe->Case("rows of [5,3]")
      .Values("Tparams", {5, 3})
      .Input(Vector(index, {4, 0, 0, 2}))
      .Const(Scalar(axis, 0));
  recipe->Case("columns of [5,3]")
      .Values("Tparams", {5, 3})
      .Input(IntegersOf(index, {2, 2}, {2, 0, 1, 1}))
      .Const(Scalar(axis, 1));
  recipe->Case("nothing of [5]")
      .Values("Tparams", {5})
      .Input(Vector(index, {}))
      .Const(Scalar(axis, 0));
}

void OneHots(Recipe* recipe) {
  const DataType index = recipe->Type("TI");
  for (const int64_t axis : {-1, 0}) {
    recipe->Case("four of five")
        .Attr("axis", axis)
        .Input(Vector(index, {4, 0, 2, 3}))
        .Const(Scalar(DataType::kInt32, 5))
        .Values("T", {})
        .Values("T", {});
  }
}

void SegmentSums(Recipe* recipe) {
  const DataType index = recipe->Type("Tindices");
  recipe->Case("[5,3]")
      .Values("T", {5, 3})
      .Input(Vector(index, {1, 0, 1, 3, 0}))
      .Const(Scalar(recipe->Type("Tnumsegments"), 4));
}

void Uniques(Recipe* recipe) {
  recipe->Case("[0]").Values("T", {0});
  recipe->Case("[65]").Values("T", {65});
}

void Permutations(Recipe* recipe) {
  recipe->Case("[5]").Input(Vector(recipe->Type("T"), {3, 4, 0, 2, 1}));
  recipe->Case("[0]").Input(Vector(recipe->Type("T"), {}));
}

void Partitions(Recipe* recipe) {
  recipe->Case("[5,3]")
      .Attr("num_partitions", 3)
      .Values("T", {5, 3})
      .Input(Vector(DataType::kInt32, {2, 0, 0, 1, 2}));
}

void Stitches(Recipe* recipe) {
  recipe->Case("[2] and [3]")
      .Attr("N", 2)
      .Input(Vector(DataType::kInt32, {0, 3}))
      .Input(Vector(DataType::kInt32, {1, 2, 4}))
      .Values("T", {2, 3})
      .Values("T", {3, 3});
}

constexpr RecipeEntry kRecipes[] = {
    {"Transpose", &Transposes},
    {"Tile", &Tiles},
    {"Pad", &Pads},
    {"ConcatV2", &Concatenations},
    {"Pack", &Packs},
    {"Unpack", &Unpacks},
    {"Split", &Splits},
    {"SplitV", &SizedSplits},
    {"Slice", &Slices},
    {"StridedSlice", &StridedSlices},
    {"StridedSliceGrad", &StridedSliceGradients},
    {"GatherV2", &Gathers},
    {"OneHot", &OneHots},
    {"UnsortedSegmentSum", &SegmentSums},
    {"Unique", &Uniques},
    {"InvertPermutation", &Permutations},
    {"DynamicPartition", &Partitions},
    {"DynamicStitch", &Stitches},
};

}  // namespace

absl::Span<const RecipeEntry> ArrayRecipes() { return kRecipes; }

}  // namespace millstream::plugin_check
