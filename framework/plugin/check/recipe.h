// How cases are written down (kernel_cases.h).
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_RECIPE_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_RECIPE_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "framework/plugin/check/case_values.h"
#include "framework/plugin/check/kernel_cases.h"

namespace millstream::plugin_check {

// Writes the cases of one op with one set of types.
class Recipe {
 public:
  Recipe(absl::string_view op, const AttrMap& types) : op_(op), types_(types) {}

  absl::string_view op() const { return op_; }
  // The value of a type attribute; float when the op has none of that name.
  DataType Type(absl::string_view attr) const;

  // Begins a case. What follows belongs to it.
  Recipe& Case(std::string text);
  Recipe& Attr(absl::string_view name, AttrValue value);
  Recipe& Input(Tensor value);
  Recipe& Const(Tensor value);
  Recipe& Variable(Tensor value);
  // A tensor of the type of attribute `attr`, of other values for each input.
  Recipe& Values(absl::string_view attr, const Shape& shape, Domain domain = Domain::kAny);
  Recipe& VariableValues(absl::string_view attr, const Shape& shape, Domain domain = Domain::kAny);
  Recipe& Random();

  std::vector<KernelCase> Take() { return std::move(cases_); }

 private:
  Recipe& Add(Tensor value, bool is_variable, bool is_const);

  const absl::string_view op_;
  const AttrMap& types_;
  uint32_t seed_ = 1;
  std::vector<KernelCase> cases_;
};

// The recipe of some ops; the names are separated by spaces.
struct RecipeEntry {
  const char* ops;
  void (*write)(Recipe* recipe);
};

// One table a file.
absl::Span<const RecipeEntry> ElementwiseRecipes();
absl::Span<const RecipeEntry> ArrayRecipes();
absl::Span<const RecipeEntry> MathRecipes();
absl::Span<const RecipeEntry> NetworkRecipes();
absl::Span<const RecipeEntry> StateRecipes();

}  // namespace millstream::plugin_check

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_RECIPE_H_
