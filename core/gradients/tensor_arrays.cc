// Gradients of ops on arrays of tensors. The gradient of what is read is written to another array,
// and the gradient of what is written is read from there. Each array has one such array for each
// call of AddGradients. The gradient of a flow is a flow: of the operations on the other array.
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "core/gradients/gradient_registry.h"

namespace millstream {
namespace {

// An op of the version of the call's op, "V2" or "V3".
std::string OfVersion(const GradientContext& context, absl::string_view op) {
  const std::string& name = context.call().op->name;
  return absl::StrCat(op, name.substr(name.size() - 2));
}

// What tells this call of AddGradients from others: the scope of all its nodes. That of one node
// ends with the name of the operation that the gradient is of.
std::string SourceOf(const GradientContext& context) {
  absl::string_view scope = context.builder()->scope();
  absl::ConsumeSuffix(&scope, absl::StrCat("/", context.call().name, "_grad"));
  return std::string(scope);
}

// The array for gradients. It is found or made after `flow`.
Output GradientArray(GradientContext* context, const Output& flow) {
  return context->builder()->Op(OfVersion(*context, "TensorArrayGrad"), {context->input(0), flow},
                                {{"source", SourceOf(*context)}});
}

Status ReadGradient(GradientContext* context) {
  const Output flow = context->input(2);
  const Output array = GradientArray(context, flow);
  context->SetDx(2, context->builder()->Op(OfVersion(*context, "TensorArrayWrite"),
                                           {array, context->input(1), context->dy(0), flow}));
  return absl::OkStatus();
}

Status WriteGradient(GradientContext* context) {
  const Output flow = context->dy(0);
  const Output array = GradientArray(context, flow);
  const Output written = context->input(2);
  const Output gradient =
      context->builder()->Op(OfVersion(*context, "TensorArrayRead"),
                             {array, context->input(1), flow}, {{"dtype", written.dtype()}});
  if (gradient) {
    Graph* const graph = context->builder()->graph();
    MS_RETURN_IF_ERROR(graph->RefineShape(gradient, context->builder()->ShapeOf(written)));
  }
  context->SetDx(2, gradient);
  context->SetDx(3, flow);
  return absl::OkStatus();
}

Status GatherGradient(GradientContext* context) {
  const Output flow = context->input(2);
  const Output array = GradientArray(context, flow);
  context->SetDx(2, context->builder()->Op(OfVersion(*context, "TensorArrayScatter"),
                                           {array, context->input(1), context->dy(0), flow}));
  return absl::OkStatus();
}

Status ScatterGradient(GradientContext* context) {
  const Output flow = context->dy(0);
  const Output array = GradientArray(context, flow);
  context->SetDx(2, context->builder()->Op(OfVersion(*context, "TensorArrayGather"),
                                           {array, context->input(1), flow},
                                           {{"dtype", context->input(2).dtype()}}));
  context->SetDx(3, flow);
  return absl::OkStatus();
}

Status ConcatGradient(GradientContext* context) {
  const Output flow = context->input(1);
  const Output array = GradientArray(context, flow);
  context->SetDx(1, context->builder()->Op(OfVersion(*context, "TensorArraySplit"),
                                           {array, context->dy(0), context->output(1), flow}));
  return absl::OkStatus();
}

Status SplitGradient(GradientContext* context) {
  const Output flow = context->dy(0);
  const Output array = GradientArray(context, flow);
  context->SetDx(1, context->builder()->Op(OfVersion(*context, "TensorArrayConcat"), {array, flow},
                                           {{"dtype", context->input(1).dtype()}}));
  context->SetDx(3, flow);
  return absl::OkStatus();
}

MILLSTREAM_GRADIENT("TensorArrayConcatV2", ConcatGradient);
MILLSTREAM_GRADIENT("TensorArrayConcatV3", ConcatGradient);
MILLSTREAM_GRADIENT("TensorArrayGatherV2", GatherGradient);
MILLSTREAM_GRADIENT("TensorArrayGatherV3", GatherGradient);
MILLSTREAM_GRADIENT("TensorArrayReadV2", ReadGradient);
MILLSTREAM_GRADIENT("TensorArrayReadV3", ReadGradient);
MILLSTREAM_GRADIENT("TensorArrayScatterV2", ScatterGradient);
MILLSTREAM_GRADIENT("TensorArrayScatterV3", ScatterGradient);
MILLSTREAM_GRADIENT("TensorArraySplitV2", SplitGradient);
MILLSTREAM_GRADIENT("TensorArraySplitV3", SplitGradient);
MILLSTREAM_GRADIENT("TensorArrayWriteV2", WriteGradient);
MILLSTREAM_GRADIENT("TensorArrayWriteV3", WriteGradient);
MILLSTREAM_NOT_DIFFERENTIABLE("TensorArrayCloseV2");
MILLSTREAM_NOT_DIFFERENTIABLE("TensorArrayCloseV3");
MILLSTREAM_NOT_DIFFERENTIABLE("TensorArrayGradV2");
MILLSTREAM_NOT_DIFFERENTIABLE("TensorArrayGradV3");
MILLSTREAM_NOT_DIFFERENTIABLE("TensorArrayGradWithShape");
MILLSTREAM_NOT_DIFFERENTIABLE("TensorArraySizeV2");
MILLSTREAM_NOT_DIFFERENTIABLE("TensorArraySizeV3");
MILLSTREAM_NOT_DIFFERENTIABLE("TensorArrayV2");
MILLSTREAM_NOT_DIFFERENTIABLE("TensorArrayV3");

}  // namespace
}  // namespace millstream
