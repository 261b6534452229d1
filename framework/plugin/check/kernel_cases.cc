#include "framework/plugin/check/kernel_cases.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "framework/op_def.h"
#include "framework/plugin/check/op_specs.h"
#include "framework/plugin/check/recipe.h"

namespace millstream::plugin_check {
namespace {

const RecipeEntry* FindRecipe(absl::string_view op) {
  for (const auto& table :
       {ElementwiseRecipes(), ArrayRecipes(), MathRecipes(), NetworkRecipes(), StateRecipes()}) {
    for (const RecipeEntry& entry : table) {
      for (const absl::string_view name : absl::StrSplit(entry.ops, ' ')) {
        if (name == op) return &entry;
      }
    }
  }
  return nullptr;
}

}  // namespace

DataType Recipe::Type(absl::string_view attr) const {
  const AttrValue* value = FindAttr(types_, attr);
  const DataType* type = value == nullptr ? nullptr : value->get<DataType>();
  return type == nullptr ? DataType::kFloat : *type;
}

Recipe& Recipe::Case(std::string text) {
  cases_.push_back({std::move(text), types_, {}, false});
  return *this;
}

Recipe& Recipe::Attr(absl::string_view name, AttrValue value) {
  SetAttr(&cases_.back().attrs, name, std::move(value));
  return *this;
}

Recipe& Recipe::Add(Tensor value, bool is_variable, bool is_const) {
  cases_.back().inputs.push_back({std::move(value), is_variable, is_const});
  return *this;
}
Recipe& Recipe::Input(Tensor value) { return Add(std::move(value), false, false); }
Recipe& Recipe::Const(Tensor value) { return Add(std::move(value), false, true); }
Recipe& Recipe::Variable(Tensor value) { return Add(std::move(value), true, false); }

Recipe& Recipe::Values(absl::string_view attr, const Shape& shape, Domain domain) {
  return Input(ValuesOf(Type(attr), shape, domain, seed_++));
}
Recipe& Recipe::VariableValues(absl::string_view attr, const Shape& shape, Domain domain) {
  return Variable(ValuesOf(Type(attr), shape, domain, seed_++));
}

Recipe& Recipe::Random() {
  cases_.back().is_random = true;
  return *this;
}

bool HasRecipe(absl::string_view op) { return FindRecipe(op) != nullptr; }

std::vector<KernelCase> CasesOf(absl::string_view op, const AttrMap& types) {
  const RecipeEntry* const entry = FindRecipe(op);
  const StatusOr<const OpDef*> def = StandardOps().Find(op);
  if (entry == nullptr || !def.ok()) return {};
  Recipe recipe(op, types);
  entry->write(&recipe);
  std::vector<KernelCase> cases = recipe.Take();
  // A recipe may write what these types do not allow.
  cases.erase(std::remove_if(cases.begin(), cases.end(),
                             [&def](KernelCase& kernel_case) {
                               return !CompleteAttrs(**def, &kernel_case.attrs).ok();
                             }),
              cases.end());
  return cases;
}

}  // namespace millstream::plugin_check
