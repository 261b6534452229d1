// Ops that only rename tensors or memory.
#include "core/structural/structural.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// Runs only where the plan could not rename: the input's shape was not known, or plans are not to.
Status PassThrough(StructuralFrame* frame) {
  for (uint32_t i = 0; i < frame->num_outputs(); ++i) {
    MS_RETURN_IF_ERROR(frame->PassOn(i, i, frame->input_shape(i)));
  }
  return absl::OkStatus();
}

// For PlaceholderWithDefault, whose shapes the plan looks at itself (PlanFacts), and EnsureShape.
Status PassOnIfAllowed(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(PartialShape allowed, frame->call().Attr<PartialShape>("shape"));
  const Shape shape = frame->input_shape(0);
  if (!allowed.IsCompatibleWith(PartialShape(shape))) {
    return errors::InvalidArgument("'input' must have the shape ", allowed.ToString(),
                                   ", as attribute 'shape' says, got ", shape.ToString());
  }
  return frame->PassOn(0, 0, shape);
}

Status NoOp(StructuralFrame*) { return absl::OkStatus(); }

StatusOr<Shape> ReshapedShape(const Shape& input, const std::vector<int64_t>& sizes) {
  Shape shape;
  int unknown = -1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < -1) {
      return errors::InvalidArgument("'shape' holds a size of ", sizes[i], " at ", i);
    }
    if (sizes[i] == -1) {
      if (unknown >= 0) {
        return errors::InvalidArgument("'shape' holds more than one -1, at ", unknown, " and ", i);
      }
      unknown = static_cast<int>(i);
      shape.AddDim(1);
      continue;
    }
    shape.AddDim(sizes[i]);
  }
  const Status valid = ValidateShape(shape);
  if (!valid.ok()) return WithContext(valid, "'shape'");
  const int64_t known = shape.num_elements();  // an unknown size counts as 1
  const int64_t count = input.num_elements();
  if (unknown >= 0) {
    if (known == 0 || count % known != 0) {
      return errors::InvalidArgument("'shape': cannot reshape ", input.ToString(), " (", count,
                                     " elements): the other sizes give ", known);
    }
    shape.set_dim(unknown, count / known);
  }
  if (shape.num_elements() != count) {
    return errors::InvalidArgument("'shape': cannot reshape ", input.ToString(), " (", count,
                                   " elements) to ", shape.ToString(), " (", shape.num_elements(),
                                   ")");
  }
  return shape;
}

Status Reshape(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(std::vector<int64_t> sizes, frame->Integers(1));
  MS_ASSIGN_OR_RETURN(Shape shape, ReshapedShape(frame->input_shape(0), sizes));
  return frame->PassOn(0, 0, shape);
}

Status ExpandDims(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(std::vector<int64_t> axes, frame->Integers(1));
  if (axes.size() != 1) {
    return errors::InvalidArgument("'dim' must be one number, got ", axes.size());
  }
  const Shape input = frame->input_shape(0);
  const StatusOr<int> axis = NormalizeAxis(axes[0], input.rank() + 1);
  if (!axis.ok()) return WithContext(axis.status(), "'dim'");
  Shape shape;
  for (int i = 0; i <= input.rank(); ++i) {
    if (i == *axis) shape.AddDim(1);
    if (i < input.rank()) shape.AddDim(input.dim(i));
  }
  return frame->PassOn(0, 0, shape);
}

Status Squeeze(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(std::vector<int64_t> axes,
                      frame->call().Attr<std::vector<int64_t>>("squeeze_dims"));
  const Shape input = frame->input_shape(0);
  std::vector<bool> drop(input.rank(), false);
  for (int64_t axis : axes) {
    const StatusOr<int> normalized = NormalizeAxis(axis, input.rank());
    if (!normalized.ok()) return WithContext(normalized.status(), "'squeeze_dims'");
    if (input.dim(*normalized) != 1) {
      return errors::InvalidArgument("'squeeze_dims' names dimension ", axis, " of ",
                                     input.ToString(), ", which is not 1");
    }
    drop[*normalized] = true;
  }
  Shape shape;
  for (int i = 0; i < input.rank(); ++i) {
    const bool dropped = axes.empty() ? input.dim(i) == 1 : drop[i];
    if (!dropped) shape.AddDim(input.dim(i));
  }
  return frame->PassOn(0, 0, shape);
}

MILLSTREAM_STRUCTURAL("NoOp", StructuralRole::kNothing, NoOp);
MILLSTREAM_STRUCTURAL("Const", StructuralRole::kConstant, nullptr);
MILLSTREAM_STRUCTURAL("Placeholder", StructuralRole::kMustFeed, nullptr);
MILLSTREAM_STRUCTURAL("PlaceholderV2", StructuralRole::kMustFeed, nullptr);
MILLSTREAM_STRUCTURAL("PlaceholderWithDefault", StructuralRole::kIdentity, PassOnIfAllowed);
MILLSTREAM_STRUCTURAL("Identity", StructuralRole::kIdentity, PassThrough);
MILLSTREAM_STRUCTURAL("IdentityN", StructuralRole::kIdentity, PassThrough);
MILLSTREAM_STRUCTURAL("StopGradient", StructuralRole::kIdentity, PassThrough);
MILLSTREAM_STRUCTURAL("PreventGradient", StructuralRole::kIdentity, PassThrough);
MILLSTREAM_STRUCTURAL("Snapshot", StructuralRole::kIdentity, PassThrough);
MILLSTREAM_STRUCTURAL("GuaranteeConst", StructuralRole::kIdentity, PassThrough);
MILLSTREAM_STRUCTURAL("DeepCopy", StructuralRole::kIdentity, PassThrough);
MILLSTREAM_STRUCTURAL("Copy", StructuralRole::kIdentity, PassThrough);
MILLSTREAM_STRUCTURAL("CopyHost", StructuralRole::kIdentity, PassThrough);
MILLSTREAM_STRUCTURAL("EnsureShape", StructuralRole::kKernel, PassOnIfAllowed);
MILLSTREAM_STRUCTURAL("Reshape", StructuralRole::kReshape, Reshape);
MILLSTREAM_STRUCTURAL("ExpandDims", StructuralRole::kReshape, ExpandDims);
MILLSTREAM_STRUCTURAL("Squeeze", StructuralRole::kReshape, Squeeze);

}  // namespace
}  // namespace millstream
