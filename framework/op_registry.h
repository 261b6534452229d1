// The registry of op definitions, and the one way to add to it:
//
//   MILLSTREAM_OP("MatMul")
//       .Input("a: T")
//       .Input("b: T")
//       .Output("product: T")
//       .Attr("transpose_a: bool = false")
//       .Attr("T: {float, double, int32}")
//       .Shape(MatMulShape)
//       .Doc("Multiplies two matrices.\n\n...");
//
// Arguments are "name: type", "name: T" (a type attribute), "name: N * T", "name: Tlist" (a list of
// types) and, for legacy ops, "name: Ref(T)". Attributes are "name: type", with "{a, b}" for the
// allowed types or strings, ">= n" for a least value or length, and "= value" for a default.
#ifndef MILLSTREAM_FRAMEWORK_OP_REGISTRY_H_
#define MILLSTREAM_FRAMEWORK_OP_REGISTRY_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "framework/op_def.h"

namespace millstream {

// Builds an OpDef from specification texts.
class OpSpec {
 public:
  explicit OpSpec(absl::string_view name);
  OpSpec& Input(absl::string_view spec);
  OpSpec& Output(absl::string_view spec);
  OpSpec& Attr(absl::string_view spec);
  OpSpec& Stateful();
  OpSpec& Commutative();
  OpSpec& Aggregate();
  OpSpec& AllowsUninitializedInput();
  // Declares an effect outside of the graph (kTouchesFiles). Programs that load graphs can forbid
  // it.
  OpSpec& Touches(absl::string_view outside);
  // Declares that each element of the only output depends on the elements at the same position of
  // the one or two inputs, after broadcasting, and that _FusedElementwise may run the op as a step.
  // Kernels of _FusedElementwise must have a recipe for it (kernels/elementwise/step_recipes.cc).
  OpSpec& Elementwise();
  // Declares that outputs are finite if all inputs are, for nodes whose attributes meet
  // `condition`. Numeric checks do not scan them.
  OpSpec& KeepsFinite(AttrCondition condition = [](const AttrMap&) { return true; });
  // Sets the estimate of floating-point operations. Without it, placement by costs counts only the
  // time to read the inputs and write the outputs.
  OpSpec& Cost(CostFunction function);
  OpSpec& Shape(ShapeFunction function);
  OpSpec& Value(ValueFunction function);
  OpSpec& Doc(absl::string_view doc);
  // An example for the Python docstring: lines of a Python shell, in which `tf` is the package and
  // a session is the default one. A test runs it.
  OpSpec& Example(absl::string_view lines);
  // Calls part(this), for parts that several ops share.
  OpSpec& With(void (*part)(OpSpec* spec));
  // Returns the definition. INVALID_ARGUMENT with the first text that cannot be parsed.
  StatusOr<OpDef> Build() const;

 private:
  struct Texts {
    std::vector<std::string> inputs, outputs, attrs;
  };
  OpDef def_;
  Texts texts_;
};

// Thread-safe. Definitions are never removed, so pointers stay valid.
class OpRegistry {
 public:
  static OpRegistry* Global();

  // ALREADY_EXISTS if another definition has the name.
  Status Register(OpDef def) ABSL_LOCKS_EXCLUDED(mutex_);
  // Adds all definitions or none. Calls `last_condition` after all other checks, and returns its
  // error. ALREADY_EXISTS if another definition has one of the names.
  Status RegisterAll(std::vector<OpDef> defs, absl::FunctionRef<Status()> last_condition)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // NOT_FOUND, with similar names, for an unknown op.
  StatusOr<const OpDef*> Find(absl::string_view name) const ABSL_LOCKS_EXCLUDED(mutex_);
  // The same; null for an unknown op, without the search for similar names.
  const OpDef* FindOrNull(absl::string_view name) const ABSL_LOCKS_EXCLUDED(mutex_);
  // All definitions by name.
  std::vector<const OpDef*> List() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  mutable absl::Mutex mutex_;
  absl::flat_hash_map<std::string, std::unique_ptr<const OpDef>> ops_ ABSL_GUARDED_BY(mutex_);
};

// Registers at start-up. Aborts with the text of a malformed specification.
class OpRegistration {
 public:
  OpRegistration(const OpSpec& spec);  // NOLINT: conversion is the point
};

}  // namespace millstream

#define MILLSTREAM_OP(name)                                                               \
  static const ::millstream::OpRegistration MS_OP_CONCAT(op_registration_, __COUNTER__) = \
      ::millstream::OpSpec(name)
#define MS_OP_CONCAT(a, b) MS_OP_CONCAT_INNER(a, b)
#define MS_OP_CONCAT_INNER(a, b) a##b

#endif  // MILLSTREAM_FRAMEWORK_OP_REGISTRY_H_
