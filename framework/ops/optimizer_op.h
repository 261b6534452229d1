// The ops of optimizers, which stand in the registry twice:
//
//   MILLSTREAM_OPTIMIZER_OP("ApplyAdagrad", "var", "accum")
//       .Input("lr: T")
//       .Input("grad: T")
//       .Attr(TypeAttr("T", kNumberTypes))
//       .Attr("update_slots: bool = true")
//       .Shape(StepShape<2, 3>)
//       .Doc("Goes one step of Adagrad.\n\n...");
//
// defines ResourceApplyAdagrad, whose variables are handles, and ApplyAdagrad, which takes
// references and gives the first one back, for imported graphs (core/import_refs.h).
#ifndef MILLSTREAM_FRAMEWORK_OPS_OPTIMIZER_OP_H_
#define MILLSTREAM_FRAMEWORK_OPS_OPTIMIZER_OP_H_

#include <initializer_list>

#include "absl/strings/string_view.h"
#include "framework/op_registry.h"

namespace millstream {

// Builds both definitions.
class OptimizerSpec {
 public:
  // The variables, its first inputs, are of the attribute T.
  OptimizerSpec(absl::string_view name, std::initializer_list<absl::string_view> variables);
  OptimizerSpec& Input(absl::string_view spec);
  OptimizerSpec& Attr(absl::string_view spec);
  OptimizerSpec& Shape(ShapeFunction function);
  // Of the op on handles; that on references refers to it.
  OptimizerSpec& Doc(absl::string_view doc);

  const OpSpec& on_handles() const { return on_handles_; }
  const OpSpec& on_references() const { return on_references_; }

 private:
  OpSpec on_handles_;
  OpSpec on_references_;
};

// As OpRegistration.
class OptimizerRegistration {
 public:
  OptimizerRegistration(const OptimizerSpec& spec)  // NOLINT: conversion is the point
      : on_handles_(spec.on_handles()), on_references_(spec.on_references()) {}

 private:
  OpRegistration on_handles_;
  OpRegistration on_references_;
};

}  // namespace millstream

#define MILLSTREAM_OPTIMIZER_OP(name, ...)                       \
  static const ::millstream::OptimizerRegistration MS_OP_CONCAT( \
      optimizer_registration_, __COUNTER__) = ::millstream::OptimizerSpec(name, {__VA_ARGS__})

#endif  // MILLSTREAM_FRAMEWORK_OPS_OPTIMIZER_OP_H_
