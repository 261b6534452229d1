// Functions that the fused forms of Conv2D and MatMul share.
#ifndef MILLSTREAM_FRAMEWORK_OPS_FUSED_PRODUCT_H_
#define MILLSTREAM_FRAMEWORK_OPS_FUSED_PRODUCT_H_

#include <string>
#include <vector>

#include "framework/op_registry.h"
#include "framework/ops/op_errors.h"
#include "framework/shape_context.h"

namespace millstream {

inline void FusedProductAttrs(OpSpec* spec) {
  (*spec).Attr("num_args: int >= 1").Attr("fused_ops: list({\"BiasAdd\", \"Relu\"}) >= 1");
}

// fused_ops must be BiasAdd, then perhaps Relu, and input `bias` a vector of `channels`.
inline Status CheckFusedBias(const ShapeContext& context, int bias, int64_t channels) {
  MS_ASSIGN_OR_RETURN(const auto ops, context.Attr<std::vector<std::string>>("fused_ops"));
  const bool known = ops == std::vector<std::string>{"BiasAdd"} ||
                     ops == std::vector<std::string>{"BiasAdd", "Relu"};
  if (!known || context.num_inputs() != bias + 1) {
    return InvalidAttr(context, "fused_ops",
                       "expected BiasAdd with one of args, with or without Relu after it");
  }
  MS_ASSIGN_OR_RETURN(const PartialShape shape, context.WithRank(bias, 1));
  const StatusOr<int64_t> merged = context.MergeDim(channels, shape.dim(0));
  return merged.ok() ? absl::OkStatus() : InputError(context, bias, merged.status());
}

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_OPS_FUSED_PRODUCT_H_
