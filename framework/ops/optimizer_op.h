// The ops of optimizers, which stand in the registry several times:
//
//   MILLSTREAM_OPTIMIZER_OP("ApplyAdagrad", "var", "accum")
//       .Input("lr: T")
//       .Gradient("grad", "T")
//       .Attr(TypeAttr("T", kNumberTypes))
//       .Attr("update_slots: bool = true")
//       .Shape(StepShape<2, 3>)
//       .Doc("Goes one step of Adagrad.\n\n...");
//
// defines ResourceApplyAdagrad, whose variables are handles; ApplyAdagrad, which takes references
// and gives the first one back, for imported graphs (core/import/import_refs.h); and, as the
// gradient is dense, _MultiResourceApplyAdagrad, which the runtime makes of several of the first
// kind (core/passes/batch_updates.cc): in the place of each variable and of the gradient it has N.
#ifndef MILLSTREAM_FRAMEWORK_OPS_OPTIMIZER_OP_H_
#define MILLSTREAM_FRAMEWORK_OPS_OPTIMIZER_OP_H_

#include <initializer_list>
#include <optional>

#include "absl/strings/string_view.h"
#include "framework/op_registry.h"

namespace millstream {

// Builds all definitions.
class OptimizerSpec {
 public:
  // The variables, its first inputs, are of the attribute T.
  OptimizerSpec(absl::string_view name, std::initializer_list<absl::string_view> variables);
  OptimizerSpec& Input(absl::string_view spec);
  // An input of the variables' shape. REQUIRES: at most one.
  OptimizerSpec& Gradient(absl::string_view name, absl::string_view type);
  // No old graph has the op on references: it is not defined.
  OptimizerSpec& NotOnReferences();
  OptimizerSpec& Attr(absl::string_view spec);
  OptimizerSpec& Shape(ShapeFunction function);
  // Of the op on handles alone.
  OptimizerSpec& UpdateBounds(BoundsRuleFunction function);
  // Of the op on handles; the others refer to it.
  OptimizerSpec& Doc(absl::string_view doc);

  const OpSpec& on_handles() const { return on_handles_; }
  // Null after NotOnReferences.
  const OpSpec* on_references() const { return has_references_ ? &on_references_ : nullptr; }
  // Null without a gradient.
  const OpSpec* on_many_handles() const { return has_gradient_ ? &on_many_handles_ : nullptr; }

 private:
  OpSpec on_handles_;
  OpSpec on_references_;
  OpSpec on_many_handles_;
  bool has_gradient_ = false;
  bool has_references_ = true;
};

// As OpRegistration.
class OptimizerRegistration {
 public:
  OptimizerRegistration(const OptimizerSpec& spec)  // NOLINT: conversion is the point
      : on_handles_(spec.on_handles()) {
    if (spec.on_references() != nullptr) on_references_.emplace(*spec.on_references());
    if (spec.on_many_handles() != nullptr) on_many_handles_.emplace(*spec.on_many_handles());
  }

 private:
  OpRegistration on_handles_;
  std::optional<OpRegistration> on_references_;
  std::optional<OpRegistration> on_many_handles_;
};

}  // namespace millstream

#define MILLSTREAM_OPTIMIZER_OP(name, ...)                       \
  static const ::millstream::OptimizerRegistration MS_OP_CONCAT( \
      optimizer_registration_, __COUNTER__) = ::millstream::OptimizerSpec(name, {__VA_ARGS__})

#endif  // MILLSTREAM_FRAMEWORK_OPS_OPTIMIZER_OP_H_
