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

// Builds an OpDef from specification texts. The texts are copied, and parsed by Build alone: no
// other method fails. Each method returns *this. Not thread-safe.
class OpSpec {
 public:
  // REQUIRES: `name` is of letters, digits and underscores.
  explicit OpSpec(absl::string_view name);
  // Adds an argument behind those that are there, as described above.
  OpSpec& Input(absl::string_view spec);
  OpSpec& Output(absl::string_view spec);
  // Adds an attribute. Arguments may use attributes that are added after them.
  OpSpec& Attr(absl::string_view spec);
  // Declares that an execution depends on more than inputs and attributes, or has an effect. Nodes
  // are not computed when plans are made, nor replaced by equal ones, except for reads of
  // variables.
  OpSpec& Stateful();
  // The next three are for lists of ops and for plugins; the runtime itself does not use them.
  // The order of the inputs does not matter.
  OpSpec& Commutative();
  // The op adds up its inputs.
  OpSpec& Aggregate();
  // An input may be a reference to a variable without a value.
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
  // Declares that an execution computes and moves nothing. Placement by costs does not count it.
  OpSpec& CostsNothing();
  // Declares that an execution whose results nobody needs does no harm: it has no effect, no
  // elements of its inputs make it fail, and zeros give finite results, because the function has no
  // pole there. Loops that become their iterations may run such ops beyond their last iteration.
  OpSpec& Speculatable();
  // Declares that the outputs are tensors that a variable, a list or an array holds. Plans do not
  // reserve memory for them, because that would need a copy.
  OpSpec& SharesOutputs();
  // Sets the rule by which numeric checks know that an update leaves finite numbers in its
  // variables (framework/ops/update_bounds.h has rules). It is asked only of nodes whose kernel
  // declares that it computes what the op's documentation says (MS_EXT_BOUNDED_UPDATE).
  OpSpec& UpdateBounds(BoundsRuleFunction function);
  // Sets the function that computes the output shapes. Without it they are unknown. It may be
  // called by several threads at once.
  OpSpec& Shape(ShapeFunction function);
  // Sets the function that computes values of integer outputs, which is called after the shape
  // function. It may be called by several threads at once.
  OpSpec& Value(ValueFunction function);
  // Sets the documentation: a line that sums it up, then an empty line and the rest.
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
