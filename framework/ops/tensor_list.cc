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

// ---- Single elements ----

Status GetItemShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape shape, ElementsAs(*context, 0, 2));
  MS_RETURN_IF_ERROR(context->WithRank(1, 0).status());
  context->SetOutput(0, std::move(shape));
  return absl::OkStatus();
}

Status SetItemShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(context->WithRank(1, 0).status());
  MS_RETURN_IF_ERROR(CheckElement(*context, 2));
  PassList(context, 0, 0);
  return absl::OkStatus();
}

Status LengthShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(context->WithRank(0, 0).status());
  return ScalarShape(context);
}

// A vector, or a scalar for a shape of unknown rank.
Status ListElementShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const PartialShape shape, ElementsOf(*context, 0));
  context->SetOutput(0, shape.known_rank() ? PartialShape::Vector(shape.rank()) : PartialShape());
  return absl::OkStatus();
}

Status ResizeShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(context->WithRank(0, 0).status());
  MS_RETURN_IF_ERROR(context->WithRank(1, 0).status());
  PassList(context, 0, 0);
  return absl::OkStatus();
}

// ---- Rows of tensors ----

PartialShape WithFirst(int64_t first, const PartialShape& rest) {
  if (!rest.known_rank()) return PartialShape();
  PartialShape shape = PartialShape::Vector(first);
  for (const int64_t size : rest.dims()) shape.AddDim(size);
  return shape;
}

PartialShape WithoutFirst(const PartialShape& shape) {
  return shape.known_rank() ? PartialShape(shape.dims().subspan(1)) : PartialShape();
}

// The shape of the rows of input i, as far as input `wanted` agrees.
StatusOr<PartialShape> RowsAs(const ShapeContext& context, int i, int wanted) {
  MS_ASSIGN_OR_RETURN(const PartialShape tensor, context.WithRankAtLeast(i, 1));
  MS_ASSIGN_OR_RETURN(PartialShape shape, ElementShapeInput(context, wanted));
  const StatusOr<PartialShape> merged = WithoutFirst(tensor).MergeWith(shape);
  if (!merged.ok()) return InputError(context, wanted, merged.status());
  return shape;
}

// Input `indices` has an index for each row of input `tensor`.
Status CheckIndices(const ShapeContext& context, int tensor, int indices) {
  MS_ASSIGN_OR_RETURN(const PartialShape rows, context.WithRankAtLeast(tensor, 1));
  MS_ASSIGN_OR_RETURN(const PartialShape vector, context.WithRank(indices, 1));
  if (!rows.known_rank()) return absl::OkStatus();
  const Status same = context.MergeDim(rows.dim(0), vector.dim(0)).status();
  return same.ok() ? same : InputError(context, indices, same);
}

Status FromTensorShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape shape, RowsAs(*context, 0, 1));
  return SetList(context, 0, std::move(shape));
}

Status StackShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const PartialShape shape, ElementsAs(*context, 0, 1));
  MS_ASSIGN_OR_RETURN(const int64_t count, context->Attr<int64_t>("num_elements"));
  if (count < kUnknownDim) {
    return InvalidAttr(*context, "num_elements", "must be -1 or a length, got ", count);
  }
  context->SetOutput(0, WithFirst(count, shape));
  return absl::OkStatus();
}

Status GatherShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const PartialShape indices, context->WithRank(1, 1));
  MS_ASSIGN_OR_RETURN(const PartialShape shape, ElementsAs(*context, 0, 2));
  context->SetOutput(0, WithFirst(indices.dim(0), shape));
  return absl::OkStatus();
}

// TensorListScatter and TensorListScatterV2.
Status ScatterShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(CheckIndices(*context, 0, 1));
  if (context->num_inputs() > 3) MS_RETURN_IF_ERROR(context->WithRank(3, 0).status());
  MS_ASSIGN_OR_RETURN(PartialShape shape, RowsAs(*context, 0, 2));
  return SetList(context, 0, std::move(shape));
}

Status ScatterIntoShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(CheckIndices(*context, 1, 2));
  MS_ASSIGN_OR_RETURN(const PartialShape shape, ElementsOf(*context, 0));
  const PartialShape rows = WithoutFirst(context->input(1));
  if (!shape.IsCompatibleWith(rows)) {
    return InvalidInput(*context, 1, "expected rows of the list's element shape ", shape.ToString(),
                        ", got ", rows.ToString());
  }
  PassList(context, 0, 0);
  return absl::OkStatus();
}

// The concatenation of elements that fit `shape`, and their lengths.
Status SetConcatenation(ShapeContext* context, const PartialShape& shape) {
  if (shape.known_rank() && shape.rank() == 0) {
    return errors::InvalidArgument(
        "argument 'input_handle': Concat requires elements to be at least vectors, found scalars "
        "instead.");
  }
  context->SetOutput(
      0, shape.known_rank() ? WithFirst(kUnknownDim, WithoutFirst(shape)) : PartialShape());
  context->SetOutput(1, PartialShape::Vector(kUnknownDim));
  return absl::OkStatus();
}

Status ConcatShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const PartialShape own, ElementsOf(*context, 0));
  MS_ASSIGN_OR_RETURN(const PartialShape shape, context->Attr<PartialShape>("element_shape"));
  const StatusOr<PartialShape> merged = own.MergeWith(shape);
  if (!merged.ok()) return AttrError(*context, "element_shape", merged.status());
  return SetConcatenation(context, *merged);
}

Status ConcatV2Shape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const PartialShape shape, ElementsAs(*context, 0, 1));
  MS_RETURN_IF_ERROR(context->WithRank(2, 1).status());
  return SetConcatenation(context, shape);
}

Status SplitShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const PartialShape tensor, context->WithRankAtLeast(0, 1));
  MS_ASSIGN_OR_RETURN(PartialShape shape, ElementShapeInput(*context, 1));
  MS_RETURN_IF_ERROR(context->WithRank(2, 1).status());
  if (tensor.known_rank()) {
    const Status fits = WithFirst(kUnknownDim, WithoutFirst(tensor)).MergeWith(shape).status();
    if (!fits.ok()) return InputError(*context, 1, fits);
  }
  return SetList(context, 0, std::move(shape));
}

// ---- Whole lists, in tensors of any shape ----

Status ConcatListsShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape shape, context->Merge(context->input(0), context->input(1)));
  context->SetOutput(0, std::move(shape));
  if (context->handle(0) != nullptr) context->SetOutputHandle(0, *context->handle(0));
  return absl::OkStatus();
}

Status PushBackBatchShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(PartialShape lists, context->WithRank(0, 1));
  MS_ASSIGN_OR_RETURN(const PartialShape tensor, context->WithRankAtLeast(1, 1));
  if (tensor.known_rank()) {
    const StatusOr<int64_t> count = context->MergeDim(lists.dim(0), tensor.dim(0));
    if (!count.ok()) return InputError(*context, 1, count.status());
    lists.set_dim(0, *count);
  }
  context->SetOutput(0, std::move(lists));
  if (context->handle(0) != nullptr) context->SetOutputHandle(0, *context->handle(0));
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
    .Speculatable()
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
    .SharesOutputs()
    .Shape(PopBackShape)
    .Doc(R"(Gives a list without its last element, and that element.

An element that was never set gives zeros of the shape that element_shape and the list know.
INVALID_ARGUMENT if the list is empty, or if the shape of such an element is not known.)");

MILLSTREAM_OP("TensorListReserve")
    .Input("element_shape: shape_type")
    .Input("num_elements: int32")
    .Output("handle: variant")
    .Attr("element_dtype: type")
    .Attr(TypeAttr("shape_type", kIndexTypes))
    .Shape(NewListShape)
    .Doc(R"(Makes a list of num_elements elements, none of which is set.

An element that is not set is read as zeros, and takes no memory. See EmptyTensorList for
element_shape.)");

MILLSTREAM_OP("TensorListLength")
    .Input("input_handle: variant")
    .Output("length: int32")
    .Shape(LengthShape)
    .Doc(R"(Gives the number of elements of a list.)");

MILLSTREAM_OP("TensorListElementShape")
    .Input("input_handle: variant")
    .Output("element_shape: shape_type")
    .Attr(TypeAttr("shape_type", kIndexTypes))
    .Shape(ListElementShape)
    .Doc(R"(Gives the shape that the elements of a list fit: a vector of sizes, -1 for any.

It is the scalar -1 if the list does not know the rank.)");

MILLSTREAM_OP("TensorListGetItem")
    .Input("input_handle: variant")
    .Input("index: int32")
    .Input("element_shape: int32")
    .Output("item: element_dtype")
    .Attr("element_dtype: type")
    .SharesOutputs()
    .Shape(GetItemShape)
    .Doc(R"(Gives the element of a list at index.

An element that was never set gives zeros of the shape that element_shape and the list know.
INVALID_ARGUMENT if there is no such element, or if the shape of zeros is not known.)");

MILLSTREAM_OP("TensorListSetItem")
    .Input("input_handle: variant")
    .Input("index: int32")
    .Input("item: element_dtype")
    .Output("output_handle: variant")
    .Attr("element_dtype: type")
    .Shape(SetItemShape)
    .Doc(R"(Gives a list with item as the element at index.

It takes constant time if nothing else reads the input list. INVALID_ARGUMENT if there is no such
element, or if item does not fit the list's element shape.)");

MILLSTREAM_OP("TensorListResize")
    .Input("input_handle: variant")
    .Input("size: int32")
    .Output("output_handle: variant")
    .Stateful()
    .Shape(ResizeShape)
    .Doc(R"(Gives a list of size elements: the first ones of the input list, then unset ones.)");

MILLSTREAM_OP("TensorListFromTensor")
    .Input("tensor: element_dtype")
    .Input("element_shape: shape_type")
    .Output("output_handle: variant")
    .Attr("element_dtype: type")
    .Attr(TypeAttr("shape_type", kIndexTypes))
    .Shape(FromTensorShape)
    .Doc(R"(Makes a list whose elements are the rows of a tensor, which must fit element_shape.)");

MILLSTREAM_OP("TensorListStack")
    .Input("input_handle: variant")
    .Input("element_shape: int32")
    .Output("tensor: element_dtype")
    .Attr("element_dtype: type")
    .Attr("num_elements: int = -1")
    .Shape(StackShape)
    .Doc(R"(Gives a tensor whose rows are the elements of a list, all of one shape.

Rows of elements that were never set are zeros. INVALID_ARGUMENT if the list does not have
num_elements elements, unless that is -1, or if neither element_shape nor the list nor an element
knows the shape of the rows.)");

MILLSTREAM_OP("TensorListGather")
    .Input("input_handle: variant")
    .Input("indices: int32")
    .Input("element_shape: int32")
    .Output("values: element_dtype")
    .Attr("element_dtype: type")
    .Shape(GatherShape)
    .Doc(R"(Gives a tensor whose rows are the elements of a list at indices, all of one shape.

Rows of elements that were never set are zeros.)");

MILLSTREAM_OP("TensorListScatter")
    .Input("tensor: element_dtype")
    .Input("indices: int32")
    .Input("element_shape: shape_type")
    .Output("output_handle: variant")
    .Attr("element_dtype: type")
    .Attr(TypeAttr("shape_type", kIndexTypes))
    .Shape(ScatterShape)
    .Doc(R"(Makes a list whose element at indices[i] is row i of a tensor; the others are unset.

The list ends with the largest index. Of several rows for one element, the last one counts.)");

MILLSTREAM_OP("TensorListScatterV2")
    .Input("tensor: element_dtype")
    .Input("indices: int32")
    .Input("element_shape: shape_type")
    .Input("num_elements: int32")
    .Output("output_handle: variant")
    .Attr("element_dtype: type")
    .Attr(TypeAttr("shape_type", kIndexTypes))
    .Shape(ScatterShape)
    .Doc(R"(Makes a list of num_elements elements, that at indices[i] being row i of a tensor.

The others are unset. If num_elements is -1, the list ends with the largest index. Of several rows
for one element, the last one counts.)");

MILLSTREAM_OP("TensorListScatterIntoExistingList")
    .Input("input_handle: variant")
    .Input("tensor: element_dtype")
    .Input("indices: int32")
    .Output("output_handle: variant")
    .Attr("element_dtype: type")
    .Shape(ScatterIntoShape)
    .Doc(R"(Gives a list with row i of a tensor as the element at indices[i].

The list grows if an index is beyond its end. Of several rows for one element, the last one
counts.)");

MILLSTREAM_OP("TensorListConcat")
    .Input("input_handle: variant")
    .Output("tensor: element_dtype")
    .Output("lengths: int64")
    .Attr("element_dtype: type")
    .Attr("element_shape: shape = { unknown_rank: true }")
    .Shape(ConcatShape)
    .Doc(R"(Joins the elements of a list along their first dimension.

lengths has the first dimension of each element. INVALID_ARGUMENT if an element was never set; see
TensorListConcatV2.)");

MILLSTREAM_OP("TensorListConcatV2")
    .Input("input_handle: variant")
    .Input("element_shape: shape_type")
    .Input("leading_dims: int64")
    .Output("tensor: element_dtype")
    .Output("lengths: int64")
    .Attr("element_dtype: type")
    .Attr(TypeAttr("shape_type", kIndexTypes))
    .Shape(ConcatV2Shape)
    .Doc(R"(Joins the elements of a list along their first dimension.

lengths has the first dimension of each element. An element i that was never set is zeros; its
first dimension is that of element_shape, or leading_dims[i] if that is unknown.)");

MILLSTREAM_OP("TensorListSplit")
    .Input("tensor: element_dtype")
    .Input("element_shape: shape_type")
    .Input("lengths: int64")
    .Output("output_handle: variant")
    .Attr("element_dtype: type")
    .Attr(TypeAttr("shape_type", kIndexTypes))
    .Shape(SplitShape)
    .Doc(
        R"(Makes a list of the pieces of a tensor: the first lengths[0] rows, the next lengths[1], and so on.

The lengths must add up to the number of rows, and the pieces must fit element_shape.)");

MILLSTREAM_OP("TensorListConcatLists")
    .Input("input_a: variant")
    .Input("input_b: variant")
    .Output("output: variant")
    .Attr("element_dtype: type")
    .Shape(ConcatListsShape)
    .Doc(R"(Gives lists that have the elements of input_a, and then those of input_b.

Both are tensors of lists, of one shape.)");

MILLSTREAM_OP("TensorListPushBackBatch")
    .Input("input_handles: variant")
    .Input("tensor: element_dtype")
    .Output("output_handles: variant")
    .Attr("element_dtype: type")
    .Shape(PushBackBatchShape)
    .Doc(R"(Adds row i of a tensor to list i of a vector of lists, as its last element.)");

}  // namespace
}  // namespace millstream
