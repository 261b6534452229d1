#include "framework/ops/optimizer_op.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace millstream {

OptimizerSpec::OptimizerSpec(absl::string_view name,
                             std::initializer_list<absl::string_view> variables)
    : on_handles_(absl::StrCat("Resource", name)),
      on_references_(name),
      on_many_handles_(absl::StrCat("_MultiResource", name)) {
  for (absl::string_view variable : variables) {
    on_handles_.Input(absl::StrCat(variable, ": resource"));
    on_references_.Input(absl::StrCat(variable, ": Ref(T)"));
    on_many_handles_.Input(absl::StrCat(variable, ": N * resource"));
  }
  on_handles_.Stateful();
  on_many_handles_.Attr("N: int >= 1").Stateful();
  on_references_.Output("out: Ref(T)");
  on_references_.Doc(
      absl::StrCat("Goes one step of an optimizer, in imported graphs.\n\nAs Resource", name,
                   "; the output is ", *variables.begin(), " afterwards."));
  on_many_handles_.Doc(
      absl::StrCat("Goes one step of an optimizer on each of N variables.\n\nAs N times Resource",
                   name, ", with the same scalars; no variable may stand twice."));
}

OptimizerSpec& OptimizerSpec::Gradient(absl::string_view name, absl::string_view type) {
  const std::string spec = absl::StrCat(name, ": ", type);
  on_handles_.Input(spec);
  on_references_.Input(spec);
  on_many_handles_.Input(absl::StrCat(name, ": N * ", type));
  has_gradient_ = true;
  return *this;
}

OptimizerSpec& OptimizerSpec::NotOnReferences() {
  has_references_ = false;
  return *this;
}

OptimizerSpec& OptimizerSpec::Input(absl::string_view spec) {
  on_handles_.Input(spec);
  on_references_.Input(spec);
  on_many_handles_.Input(spec);
  return *this;
}

OptimizerSpec& OptimizerSpec::Attr(absl::string_view spec) {
  on_handles_.Attr(spec);
  on_references_.Attr(spec);
  on_many_handles_.Attr(spec);
  return *this;
}

OptimizerSpec& OptimizerSpec::Shape(ShapeFunction function) {
  on_handles_.Shape(function);
  on_references_.Shape(function);
  on_many_handles_.Shape(function);
  return *this;
}

OptimizerSpec& OptimizerSpec::UpdateBounds(BoundsRuleFunction function) {
  on_handles_.UpdateBounds(function);
  return *this;
}

OptimizerSpec& OptimizerSpec::Doc(absl::string_view doc) {
  on_handles_.Doc(doc);
  return *this;
}

}  // namespace millstream
