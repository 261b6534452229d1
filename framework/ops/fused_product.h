// Functions that the fused forms of convolutions and MatMul share.
#ifndef MILLSTREAM_FRAMEWORK_OPS_FUSED_PRODUCT_H_
#define MILLSTREAM_FRAMEWORK_OPS_FUSED_PRODUCT_H_

#include <string>
#include <vector>

#include "framework/op_registry.h"
#include "framework/ops/op_errors.h"
#include "framework/shape_context.h"

namespace millstream {

inline void FusedProductAttrs(OpSpec* spec) {
  (*spec)
      .Attr("num_args: int >= 1")
      .Attr("fused_ops: list({\"BiasAdd\", \"Add\", \"Relu\", \"Relu6\"}) >= 1");
}

// True if the list is BiasAdd, perhaps Add, perhaps Relu or Relu6.
inline bool AreFusedSteps(const std::vector<std::string>& ops) {
  size_t known = 0;
  const auto next_is = [&](const char* name) {
    if (known == ops.size() || ops[known] != name) return false;
    ++known;
    return true;
  };
  if (!next_is("BiasAdd")) return false;
  next_is("Add");
  if (!next_is("Relu")) next_is("Relu6");
  return known == ops.size();
}

// Input `bias` must be a vector of `channels`, and the input behind it, which Add has, like output
// 0, whose shape is set.
inline Status CheckFusedArgs(const ShapeContext& context, int bias, int64_t channels) {
  MS_ASSIGN_OR_RETURN(const auto ops, context.Attr<std::vector<std::string>>("fused_ops"));
  const bool adds = ops.size() > 1 && ops[1] == "Add";
  if (!AreFusedSteps(ops) || context.num_inputs() != bias + (adds ? 2 : 1)) {
    return InvalidAttr(context, "fused_ops",
                       "expected BiasAdd with one of args, with or without Add with another, with "
                       "or without Relu or Relu6 after it");
  }
  MS_ASSIGN_OR_RETURN(const PartialShape shape, context.WithRank(bias, 1));
  const StatusOr<int64_t> merged = context.MergeDim(channels, shape.dim(0));
  if (!merged.ok()) return InputError(context, bias, merged.status());
  if (!adds) return absl::OkStatus();
  const StatusOr<PartialShape> whole = context.Merge(context.output(0), context.input(bias + 1));
  return whole.ok() ? absl::OkStatus() : InputError(context, bias + 1, whole.status());
}

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_OPS_FUSED_PRODUCT_H_
