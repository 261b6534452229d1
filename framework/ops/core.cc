// Ops that name, hold or pass on tensors.
#include <optional>
#include <utility>
#include <vector>

#include "framework/op_registry.h"
#include "framework/ops/index_values.h"
#include "framework/ops/op_errors.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

Status ConstShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(Tensor value, context->Attr<Tensor>("value"));
  MS_ASSIGN_OR_RETURN(DataType dtype, context->Attr<DataType>("dtype"));
  if (value.dtype() != dtype) {
    return InvalidAttr(*context, "value", "expected a tensor of ", DataTypeName(dtype),
                       " as dtype says, got one of ", DataTypeName(value.dtype()));
  }
  context->SetOutput(0, value.shape());
  return absl::OkStatus();
}

void ConstValue(ShapeContext* context) {
  const StatusOr<Tensor> value = context->Attr<Tensor>("value");
  if (!value.ok() || value->num_elements() > kMaxFollowedElements) return;
  const StatusOr<std::vector<int64_t>> elements = IntegerValues(*value);
  if (!elements.ok()) return;
  SetIndexValue(context, 0, PartialValue(elements->begin(), elements->end()));
}

Status PlaceholderShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape shape, context->Attr<PartialShape>("shape"));
  context->SetOutput(0, std::move(shape));
  return absl::OkStatus();
}

// The declared shape, not the default's: another value may be fed.
Status PlaceholderWithDefaultShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape shape, context->Attr<PartialShape>("shape"));
  const StatusOr<PartialShape> merged = context->input(0).MergeWith(shape);
  if (!merged.ok()) return InputError(*context, 0, merged.status());
  context->SetOutput(0, std::move(shape));
  return absl::OkStatus();
}

Status IdentityShape(ShapeContext* context) {
  for (int i = 0; i < context->num_outputs(); ++i) {
    context->SetOutput(i, context->input(i));
    if (context->handle(i) != nullptr) context->SetOutputHandle(i, *context->handle(i));
  }
  return absl::OkStatus();
}

// What is known of the input, and what the attribute promises.
Status EnsureShapeShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const PartialShape shape, context->Attr<PartialShape>("shape"));
  StatusOr<PartialShape> merged = context->input(0).MergeWith(shape);
  if (!merged.ok()) return InputError(*context, 0, merged.status());
  context->SetOutput(0, *std::move(merged));
  return absl::OkStatus();
}

void IdentityValue(ShapeContext* context) {
  for (int i = 0; i < context->num_outputs(); ++i) {
    std::optional<PartialValue> value = IndexElements(*context, i);
    if (value.has_value()) SetIndexValue(context, i, *std::move(value));
  }
}

MILLSTREAM_OP("NoOp").Shape(NoOutputs).Doc(R"(Does nothing.

Only its control edges matter: it runs after the nodes that it waits for, and before those
that wait for it.)");

MILLSTREAM_OP("Const")
    .Output("output: dtype")
    .Attr("value: tensor")
    .Attr("dtype: type")
    .Shape(ConstShape)
    .Value(ConstValue)
    .Doc(R"(Gives the same tensor in every step.

The attribute value holds the tensor; its type must be dtype.)");

MILLSTREAM_OP("Placeholder")
    .Output("output: dtype")
    .Attr("dtype: type")
    .Attr("shape: shape = { unknown_rank: true }")
    .Shape(PlaceholderShape)
    .Doc(R"(Stands for a tensor that the caller feeds.

A step that needs it fails with INVALID_ARGUMENT when nothing is fed. What is fed must be of
dtype and must agree with shape, as far as that is known.)");

MILLSTREAM_OP("PlaceholderV2")
    .Output("output: dtype")
    .Attr("dtype: type")
    .Attr("shape: shape")
    .Shape(PlaceholderShape)
    .Doc(R"(Stands for a tensor that the caller feeds, as Placeholder does, in old graphs.)");

MILLSTREAM_OP("PlaceholderWithDefault")
    .Input("input: dtype")
    .Output("output: dtype")
    .Attr("dtype: type")
    .Attr("shape: shape")
    .Shape(PlaceholderWithDefaultShape)
    .Doc(R"(Passes its input on, unless the caller feeds something else.

The output has the static shape of the attribute shape, with which the input must agree.)");

MILLSTREAM_OP("Identity")
    .Input("input: T")
    .Output("output: T")
    .Attr("T: type")
    .KeepsFinite()
    .Shape(IdentityShape)
    .Value(IdentityValue)
    .Doc(R"(Gives its input back, under another name.)")
    .Example(R"(
>>> x = tf.constant([1, 2])
>>> tf.identity(x, name="again").eval()
array([1, 2], dtype=int32))");

MILLSTREAM_OP("IdentityN")
    .Input("input: T")
    .Output("output: T")
    .Attr("T: list(type) >= 1")
    .KeepsFinite()
    .Shape(IdentityShape)
    .Value(IdentityValue)
    .Doc(R"(Gives all its inputs back, after the last of them is there.)")
    .Example(R"(
>>> [t.eval().tolist() for t in tf.identity_n([[1, 2], ["a"]])]
[[1, 2], [b'a']])");

MILLSTREAM_OP("StopGradient")
    .Input("input: T")
    .Output("output: T")
    .Attr("T: type")
    .Shape(IdentityShape)
    .Value(IdentityValue)
    .Doc(R"(Gives its input back and hides where it came from when gradients are taken.

To the gradient the output is a constant.)")
    .Example(R"(
>>> x = tf.constant(2.0)
>>> float(tf.gradients(x * tf.stop_gradient(x), x)[0].eval())
2.0)");

MILLSTREAM_OP("PreventGradient")
    .Input("input: T")
    .Output("output: T")
    .Attr("T: type")
    .Attr("message: string = \"\"")
    .Shape(IdentityShape)
    .Value(IdentityValue)
    .Doc(R"(Gives its input back and refuses to have a gradient.

Taking a gradient through it is an error that shows message.)");

// ---- Identities under other names ----

void PassedOn(OpSpec* spec) {
  spec->Attr("T: type").KeepsFinite().Shape(IdentityShape).Value(IdentityValue);
}

MILLSTREAM_OP("Snapshot")
    .Input("input: T")
    .Output("output: T")
    .With(PassedOn)
    .Doc(R"(Gives its input back. No later change of a variable shows in it.)");

MILLSTREAM_OP("GuaranteeConst")
    .Input("input: T")
    .Output("output: T")
    .With(PassedOn)
    .Stateful()
    .Doc(R"(Gives its input back, of which the program says that it is the same in every step.

The runtime does not rely on that.)")
    .Example(R"(
>>> tf.guarantee_const([1, 2]).eval()
array([1, 2], dtype=int32))");

MILLSTREAM_OP("DeepCopy")
    .Input("x: T")
    .Output("y: T")
    .With(PassedOn)
    .Stateful()
    .Doc(R"(Gives a copy of its input, which updates of the input do not change.)");

// What a debugger puts behind the tensors that it watches.
void WatchedCopy(OpSpec* spec) {
  spec->Input("input: T")
      .Output("output: T")
      .With(PassedOn)
      .Attr("tensor_name: string = \"\"")
      .Attr("debug_ops_spec: list(string) = []")
      .AllowsUninitializedInput();
}

MILLSTREAM_OP("Copy")
    .With(WatchedCopy)
    .Doc(R"(Gives its input back, under another name, for programs that watch it.

tensor_name and debug_ops_spec are not used.)");

MILLSTREAM_OP("CopyHost")
    .With(WatchedCopy)
    .Doc(R"(Gives its input back, under another name, for programs that watch it.

tensor_name and debug_ops_spec are not used.)");

MILLSTREAM_OP("EnsureShape")
    .Input("input: T")
    .Output("output: T")
    .Attr("shape: shape")
    .Attr("T: type")
    .KeepsFinite()
    .Shape(EnsureShapeShape)
    .Doc(R"(Gives its input back if it has the shape that the attribute shape says.

INVALID_ARGUMENT when it has not. What shape knows, the output's static shape knows as well.)")
    .Example(R"(
>>> x = tf.placeholder(tf.float32)
>>> tf.ensure_shape(x, [None, 2]).shape.as_list()
[None, 2])");

}  // namespace
}  // namespace millstream
