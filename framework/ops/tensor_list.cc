// Tensor lists: variant scalars that hold tensors of one dtype (framework/tensor_list.h).
//
// What is known of a list's elements goes from op to op as the handle facts of the variant.
#include <utility>

#include "framework/op_registry.h"
#include "framework/ops/op_errors.h"
#include "framework/ops/type_sets.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// The shape that input i asks for: a vector of sizes, -1 for an unknown one, or the scalar -1 for a
// shape of unknown rank.
StatusOr<PartialShape> ElementShapeInput(const ShapeContext& context, int i) {
  const PartialShape& shape = context.input(i);
  if (!shape.known_rank()) return PartialShape();
  if (shape.rank() > 0) return context.InputAsShape(i);
  MS_ASSIGN_OR_RETURN(const std::optional<int64_t> size, context.InputAsScalar(i));
  if (!size.has_value() || *size == kUnknownDim) return PartialShape();
  return InvalidInput(context, i,
                      "The only valid scalar shape tensor is the fully unknown shape specified as "
                      "-1, got ",
                      *size);
}

// The known shape of the elements of list i.
StatusOr<PartialShape> ElementsOf(const ShapeContext& context, int i) {
  MS_RETURN_IF_ERROR(context.WithRank(i, 0).status());
  const HandleInfo* const handle = context.handle(i);
  if (handle == nullptr) return PartialShape();
  const StatusOr<DataType> dtype = context.Attr<DataType>("element_dtype");
  if (!dtype.ok() || *dtype == handle->dtype) return handle->shape;
  return InvalidInput(context, i, "Invalid data types; op elements ", DataTypeName(*dtype),
                      " but list elements ", DataTypeName(handle->dtype));
}

// The same, as far as input `wanted` agrees.
StatusOr<PartialShape> ElementsAs(const ShapeContext& context, int i, int wanted) {
  MS_ASSIGN_OR_RETURN(const PartialShape own, ElementsOf(context, i));
  MS_ASSIGN_OR_RETURN(const PartialShape shape, ElementShapeInput(context, wanted));
  StatusOr<PartialShape> merged = own.MergeWith(shape);
  if (!merged.ok()) return InputError(context, wanted, merged.status());
  return merged;
}

// Output k is a list of elements of the attribute's dtype.
Status SetList(ShapeContext* context, int k, PartialShape element_shape) {
  MS_ASSIGN_OR_RETURN(const DataType dtype, context->Attr<DataType>("element_dtype"));
  context->SetOutput(k, PartialShape::Scalar());
  context->SetOutputHandle(k, HandleInfo{dtype, std::move(element_shape)});
  return absl::OkStatus();
}

// Output k is a list like that of input i.
void PassList(ShapeContext* context, int i, int k) {
  context->SetOutput(k, PartialShape::Scalar());
  if (context->handle(i) != nullptr) context->SetOutputHandle(k, *context->handle(i));
}

// EmptyTensorList and TensorListReserve: element_shape, and a size.
Status NewListShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape shape, ElementShapeInput(*context, 0));
  MS_RETURN_IF_ERROR(context->WithRank(1, 0).status());
  return SetList(context, 0, std::move(shape));
}

// Input `element` becomes an element of list 0.
Status CheckElement(const ShapeContext& context, int element) {
  MS_ASSIGN_OR_RETURN(const PartialShape shape, ElementsOf(context, 0));
  if (shape.IsCompatibleWith(context.input(element))) return absl::OkStatus();
  return InvalidInput(context, element,
                      "Tried to append a tensor with incompatible shape to a list. Op element "
                      "shape: ",
                      context.input(element).ToString(), " list shape: ", shape.ToString());
}

Status PushBackShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(CheckElement(*context, 1));
  PassList(context, 0, 0);
  return absl::OkStatus();
}

Status PopBackShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape shape, ElementsAs(*context, 0, 1));
  PassList(context, 0, 0);
  context->SetOutput(1, std::move(shape));
  return absl::OkStatus();
}

MILLSTREAM_OP("EmptyTensorList")
    .Input("element_shape: shape_type")
    .Input("max_num_elements: int32")
    .Output("handle: variant")
    .Attr("element_dtype: type")
    .Attr(TypeAttr("shape_type", kIndexTypes))
    .Shape(NewListShape)
    .Doc(R"(Makes a list without elements.

element_shape is what the shapes of all elements fit: a vector of sizes, -1 for any, or the scalar
-1 for any shape. The list holds at most max_num_elements elements, any number if that is -1.)");

MILLSTREAM_OP("TensorListPushBack")
    .Input("input_handle: variant")
    .Input("tensor: element_dtype")
    .Output("output_handle: variant")
    .Attr("element_dtype: type")
    .Shape(PushBackShape)
    .Doc(R"(Gives a list with tensor added as its last element.

It takes constant time if nothing else reads the input list. INVALID_ARGUMENT if the list is full,
or if the tensor does not fit the list's element shape.)");

MILLSTREAM_OP("TensorListPopBack")
    .Input("input_handle: variant")
    .Input("element_shape: int32")
    .Output("output_handle: variant")
    .Output("tensor: element_dtype")
    .Attr("element_dtype: type")
    .Shape(PopBackShape)
    .Doc(R"(Gives a list without its last element, and that element.

An element that was never set gives zeros of the shape that element_shape and the list know.
INVALID_ARGUMENT if the list is empty, or if the shape of such an element is not known.)");

}  // namespace
}  // namespace millstream
