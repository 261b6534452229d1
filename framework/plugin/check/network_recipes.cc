// Convolutions and pools.
#include "framework/plugin/check/recipe.h"

namespace millstream::plugin_check {
namespace {

struct Window {
  const char* text;
  Shape images;   // NHWC
  Shape filters;  // height, width, channels in, channels out
  int64_t stride;
  const char* padding;
  Shape results;
};
const std::vector<Window>& Windows() {
  static const auto* const windows = new std::vector<Window>{
      {"3x3, same", {2, 7, 5, 3}, {3, 3, 3, 4}, 1, "SAME", {2, 7, 5, 4}},
      {"3x3, valid, stride 2", {1, 9, 7, 2}, {3, 3, 2, 5}, 2, "VALID", {1, 4, 3, 5}},
      {"1x1", {3, 4, 4, 8}, {1, 1, 8, 3}, 1, "VALID", {3, 4, 4, 3}}};
  return *windows;
}

std::vector<int64_t> Dims(const Shape& shape) {
  return std::vector<int64_t>(shape.dims().begin(), shape.dims().end());
}

Recipe& Begin(Recipe* recipe, const Window& window) {
  return recipe->Case(window.text)
      .Attr("strides", std::vector<int64_t>{1, window.stride, window.stride, 1})
      .Attr("padding", window.padding);
}

void Convolutions(Recipe* recipe) {
  for (const Window& window : Windows()) {
    Begin(recipe, window).Values("T", window.images).Values("T", window.filters);
  }
}
void FilterGradients(Recipe* recipe) {
  for (const Window& window : Windows()) {
    Begin(recipe, window)
        .Values("T", window.images)
        .Const(Vector(DataType::kInt32, Dims(window.filters)))
        .Values("T", window.results);
  }
}
void ImageGradients(Recipe* recipe) {
  for (const Window& window : Windows()) {
    Begin(recipe, window)
        .Const(Vector(DataType::kInt32, Dims(window.images)))
        .Values("T", window.filters)
        .Values("T", window.results);
  }
}

struct Pool {
  const char* text;
  Shape images;
  int64_t size;
  int64_t stride;
  const char* padding;
  Shape results;
};
const std::vector<Pool>& AllPools() {
  static const auto* const pools =
      new std::vector<Pool>{{"2x2", {2, 6, 4, 3}, 2, 2, "VALID", {2, 3, 2, 3}},
                            {"3x3, same, stride 2", {1, 7, 5, 2}, 3, 2, "SAME", {1, 4, 3, 2}}};
  return *pools;
}

Recipe& Begin(Recipe* recipe, const Pool& pool) {
  return recipe->Case(pool.text)
      .Attr("ksize", std::vector<int64_t>{1, pool.size, pool.size, 1})
      .Attr("strides", std::vector<int64_t>{1, pool.stride, pool.stride, 1})
      .Attr("padding", pool.padding);
}

void Pools(Recipe* recipe) {
  for (const Pool& pool : AllPools()) Begin(recipe, pool).Values("T", pool.images);
}
void AverageGradients(Recipe* recipe) {
  for (const Pool& pool : AllPools()) {
    Begin(recipe, pool)
        .Const(Vector(DataType::kInt32, Dims(pool.images)))
        .Values("T", pool.results);
  }
}

// Of windows of one element: the pooled values are the images themselves, and no other input has to
// fit them.
void MaximumGradients(Recipe* recipe) {
  for (const Shape& shape : {Shape({1, 1, 1, 1}), Shape({2, 5, 3, 4})}) {
    const Tensor images = ValuesOf(recipe->Type("T"), shape, Domain::kAny, 77);
    recipe->Case(shape.ToString())
        .Attr("ksize", std::vector<int64_t>{1, 1, 1, 1})
        .Attr("strides", std::vector<int64_t>{1, 1, 1, 1})
        .Attr("padding", "VALID")
        .Input(images)
        .Input(images)
        .Values("T", shape);
  }
}

const std::vector<std::vector<std::string>>& Fusions() {
  static const auto* const fusions =
      new std::vector<std::vector<std::string>>{{"BiasAdd"}, {"BiasAdd", "Relu"}};
  return *fusions;
}

void FusedConvolutions(Recipe* recipe) {
  for (const std::vector<std::string>& fusion : Fusions()) {
    for (const Window& window : Windows()) {
      Begin(recipe, window)
          .Attr("num_args", 1)
          .Attr("fused_ops", fusion)
          .Values("T", window.images)
          .Values("T", window.filters)
          .Values("T", {window.filters.dims()[3]});
    }
  }
}

void FusedProducts(Recipe* recipe) {
  for (const std::vector<std::string>& fusion : Fusions()) {
    for (const int64_t rows : {0, 1, 17}) {
      recipe->Case(std::to_string(rows) + " rows")
          .Attr("num_args", 1)
          .Attr("fused_ops", fusion)
          .Values("T", {rows, 33})
          .Values("T", {33, 9})
          .Values("T", {9});
    }
  }
}

void ActivationGradients(Recipe* recipe) {
  for (const Shape& shape : {Shape({1, 1}), Shape({17, 9}), Shape({2, 3, 3, 5})}) {
    recipe->Case(shape.ToString()).Values("T", shape).Values("T", shape);
  }
}

constexpr RecipeEntry kRecipes[] = {
    {"Conv2D", &Convolutions},
    {"Conv2DBackpropFilter", &FilterGradients},
    {"Conv2DBackpropInput", &ImageGradients},
    {"MaxPool AvgPool", &Pools},
    {"AvgPoolGrad", &AverageGradients},
    {"MaxPoolGrad MaxPoolGradGrad", &MaximumGradients},
    {"_FusedConv2D", &FusedConvolutions},
    {"_FusedMatMul", &FusedProducts},
    {"_ReluGradBiasAddGrad", &ActivationGradients},
};

}  // namespace

absl::Span<const RecipeEntry> NetworkRecipes() { return kRecipes; }

}  // namespace millstream::plugin_check
