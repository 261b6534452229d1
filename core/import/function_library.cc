#include "core/import/function_library.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace millstream {

StatusOr<FunctionLibrary> FunctionLibrary::Create(const std::string& present,
                                                  const proto::FunctionDefLibrary& added) {
  FunctionLibrary library;
  if (!present.empty()) {
    MS_ASSIGN_OR_RETURN(library.present_, ParseBinary("FunctionDefLibrary", present));
    const auto& functions = static_cast<const proto::FunctionDefLibrary&>(*library.present_);
    for (const proto::FunctionDef& function : functions.function()) {
      library.by_name_.try_emplace(function.signature().name(), &function);
    }
  }
  for (const proto::FunctionDef& function : added.function()) {
    library.by_name_.try_emplace(function.signature().name(), &function);
  }
  return library;
}

const proto::FunctionDef* FunctionLibrary::FindOrNull(absl::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

void FunctionLibrary::CopyTo(proto::FunctionDefLibrary* library) const {
  for (const auto& [name, function] : by_name_) *library->add_function() = *function;
}

StatusOr<BoundFunction> FunctionLibrary::Bind(const FunctionRef& function) const {
  BoundFunction bound;
  bound.definition = FindOrNull(function.name);
  if (bound.definition == nullptr) {
    return errors::NotFound("the graph's library has no function '", function.name, "'");
  }
  const std::string context = absl::StrCat("function '", function.name, "'");
  StatusOr<OpDef> signature = OpDefFromProto(bound.definition->signature());
  if (!signature.ok()) return WithContext(signature.status(), context);
  bound.signature = *std::move(signature);
  if (function.attrs != nullptr) bound.attrs = *function.attrs;
  const Status complete = CompleteAttrs(bound.signature, &bound.attrs, /*allow_unknown=*/true);
  if (!complete.ok()) return WithContext(complete, context);
  MS_RETURN_IF_ERROR(AttrsToProto(bound.attrs, &bound.attr_protos));
  StatusOr<NodeSignature> expanded = ExpandSignature(bound.signature, bound.attrs);
  if (!expanded.ok()) return WithContext(expanded.status(), context);
  bound.expanded = *std::move(expanded);
  return bound;
}

}  // namespace millstream
