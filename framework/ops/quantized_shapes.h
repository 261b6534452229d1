// Inputs and outputs of ops on quantized tensors, each of which comes with the ends of its range.
#ifndef MILLSTREAM_FRAMEWORK_OPS_QUANTIZED_SHAPES_H_
#define MILLSTREAM_FRAMEWORK_OPS_QUANTIZED_SHAPES_H_

#include <utility>

#include "framework/shape_context.h"

namespace millstream {

inline constexpr absl::string_view kQuantizedTypes = "{qint8, quint8, qint32, qint16, quint16}";

// INVALID_ARGUMENT unless the inputs from `first` on are scalars.
inline Status CheckScalarsFrom(const ShapeContext& context, int first) {
  for (int i = first; i < context.num_inputs(); ++i) {
    MS_RETURN_IF_ERROR(context.WithRank(i, 0).status());
  }
  return absl::OkStatus();
}

// Output 0 is a tensor of this shape; the outputs after it, the ends of its range, are scalars.
inline void SetQuantizedOutput(ShapeContext* context, PartialShape shape) {
  context->SetOutput(0, std::move(shape));
  for (int i = 1; i < context->num_outputs(); ++i) context->SetOutput(i, PartialShape::Scalar());
}

// Output 0 is as input 0, whose range the inputs after it are.
inline Status QuantizedUnchangedShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(CheckScalarsFrom(*context, 1));
  SetQuantizedOutput(context, context->input(0));
  return absl::OkStatus();
}

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_OPS_QUANTIZED_SHAPES_H_
