// A vocabulary for tests of shape and value functions: an op, what is known of its inputs, and what
// follows for its outputs, all in short texts.
//
//   EXPECT_EQ(ShapeTester("MatMul").Input("[2,3]").Input("[3,?]").Shapes(), "[2,?]");
//   EXPECT_EQ(ShapeTester("Pack").Value("4").Value("?").Values(), "(4 ?)");
//
// Type attributes that are not set are float32 where that is allowed, else the first allowed type;
// the number attribute of a variadic argument is the number of inputs that are left for it.
#ifndef MILLSTREAM_FRAMEWORK_OPS_SHAPE_TESTER_H_
#define MILLSTREAM_FRAMEWORK_OPS_SHAPE_TESTER_H_

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "framework/attr_value.h"
#include "framework/shape_context.h"
#include "framework/tensor.h"

namespace millstream {

class ShapeTester {
 public:
  explicit ShapeTester(absl::string_view op) : op_name_(op) {}

  ShapeTester& Attr(absl::string_view name, AttrValue value);
  // An input of this shape: "[2,?]", "[]" for a scalar, "?" when not even the rank is known.
  ShapeTester& Input(absl::string_view shape);
  // An integer input of which elements are known: "5", "?" for scalars, "(2 ? -1)" for vectors.
  ShapeTester& Value(absl::string_view elements);
  // An input that is the same in every step.
  ShapeTester& Constant(Tensor value);
  // A variable's handle.
  ShapeTester& Handle(DataType dtype, absl::string_view shape);

  // The outputs' shapes, as "[2,3] [?]"; or the error, as "INVALID_ARGUMENT: ...".
  std::string Shapes();
  // The outputs' values as far as known, each as for Value(), "-" where nothing is.
  std::string Values();
  // All that was found.
  StatusOr<std::vector<OutputFacts>> Infer();

 private:
  struct GivenInput {
    PartialShape shape;
    std::optional<PartialValue> value;
    std::optional<Tensor> constant;
    std::optional<HandleInfo> handle;
  };

  Status FillAttrs(const OpDef& op);

  std::string op_name_;
  AttrMap attrs_;
  std::deque<GivenInput> inputs_;
};

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_OPS_SHAPE_TESTER_H_
