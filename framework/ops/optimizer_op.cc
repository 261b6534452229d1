#include "framework/ops/optimizer_op.h"

#include "absl/strings/str_cat.h"

namespace millstream {

OptimizerSpec::OptimizerSpec(absl::string_view name,
                             std::initializer_list<absl::string_view> variables)
    : on_handles_(absl::StrCat("Resource", name)), on_references_(name) {
  for (absl::string_view variable : variables) {
    on_handles_.Input(absl::StrCat(variable, ": resource"));
    on_references_.Input(absl::StrCat(variable, ": Ref(T)"));
  }
  on_handles_.Stateful();
  on_references_.Output("out: Ref(T)");
  on_references_.Doc(
      absl::StrCat("Goes one step of an optimizer, in imported graphs.\n\nAs Resource", name,
                   "; the output is ", *variables.begin(), " afterwards."));
}

OptimizerSpec& OptimizerSpec::Input(absl::string_view spec) {
  on_handles_.Input(spec);
  on_references_.Input(spec);
  return *this;
}

OptimizerSpec& OptimizerSpec::Attr(absl::string_view spec) {
  on_handles_.Attr(spec);
  on_references_.Attr(spec);
  return *this;
}

OptimizerSpec& OptimizerSpec::Shape(ShapeFunction function) {
  on_handles_.Shape(function);
  on_references_.Shape(function);
  return *this;
}

OptimizerSpec& OptimizerSpec::Doc(absl::string_view doc) {
  on_handles_.Doc(doc);
  return *this;
}

}  // namespace millstream
