// Tensors that a session keeps between steps.
#include "framework/op_registry.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

Status HandleShape(ShapeContext* context) { return context->WithRank(0, 0).status(); }

Status KeptShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(HandleShape(context));
  context->SetOutput(0, PartialShape());
  return absl::OkStatus();
}

MILLSTREAM_OP("GetSessionHandle")
    .Input("value: T")
    .Output("handle: string")
    .Attr("T: type")
    .Stateful()
    .Shape(ScalarShape)
    .Doc(R"(Keeps a tensor in the session, and gives a text by which later steps find it.)");

MILLSTREAM_OP("GetSessionHandleV2")
    .Input("value: T")
    .Output("handle: resource")
    .Attr("T: type")
    .Stateful()
    .Shape(ScalarShape)
    .Doc(R"(Keeps a tensor in the session, and gives a handle of it.

The session keeps the tensor as long as something holds the handle.)");

MILLSTREAM_OP("GetSessionTensor")
    .Input("handle: string")
    .Output("value: dtype")
    .Attr("dtype: type")
    .Stateful()
    .Shape(KeptShape)
    .Doc(R"(Gives a tensor that the session keeps.

INVALID_ARGUMENT if the session does not keep it, or it has another type.)");

MILLSTREAM_OP("DeleteSessionTensor")
    .Input("handle: string")
    .Stateful()
    .Shape(HandleShape)
    .Doc(R"(Lets the session forget a tensor.

INVALID_ARGUMENT if the session does not keep it.)");

}  // namespace
}  // namespace millstream
