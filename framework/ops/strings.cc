// Ops on texts.
#include <utility>

#include "framework/op_registry.h"
#include "framework/ops/op_errors.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// All inputs that are no scalars have one shape.
Status StringJoinShape(ShapeContext* context) {
  PartialShape shape = PartialShape::Scalar();
  bool may_be_scalar = true;
  for (int i = 0; i < context->num_inputs(); ++i) {
    const PartialShape& input = context->input(i);
    if (input.rank() == 0) continue;
    if (!input.known_rank()) {
      if (may_be_scalar) shape = PartialShape();
      continue;
    }
    const StatusOr<PartialShape> merged =
        may_be_scalar ? input : StatusOr<PartialShape>(shape.MergeWith(input));
    if (!merged.ok()) return InputError(*context, i, merged.status());
    shape = *merged;
    may_be_scalar = false;
  }
  context->SetOutput(0, std::move(shape));
  return absl::OkStatus();
}

MILLSTREAM_OP("StringJoin")
    .Input("inputs: N * string")
    .Output("output: string")
    .Attr("N: int >= 1")
    .Attr("separator: string = \"\"")
    .Shape(StringJoinShape)
    .Doc(R"(Joins texts, element by element, with separator between them.

The inputs have one shape, but for scalars, which are joined to every element.)")
    .Example(R"(
>>> tf.string_join([["a", "b"], "c"], separator="-").eval().tolist()
[b'a-c', b'b-c'])");

}  // namespace
}  // namespace millstream
