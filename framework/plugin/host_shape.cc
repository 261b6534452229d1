#include "framework/plugin/host_shape.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "framework/plugin/host_interfaces.h"
#include "framework/plugin/host_status.h"
#include "framework/plugin/host_tensor.h"
#include "framework/plugin/kernel_info.h"
#include "framework/plugin/op_registration.h"
#include "framework/plugin/shape_arithmetic.h"

// A shape of one inference.
struct MS_Shape {
  millstream::PartialShape shape;
  int input = -1;  // which it is, for messages
};

// One inference.
struct MS_ShapeCtx {
  // Shape functions know no node's name.
  explicit MS_ShapeCtx(millstream::ShapeContext* shape_context)
      : context(shape_context),
        info({context->call().op, context->call().attrs, context->call().signature, ""}, "") {
    for (int i = 0; i < context->num_inputs(); ++i) inputs.push_back({context->input(i), i});
  }
  const MS_Shape* Keep(millstream::PartialShape shape) {
    made.push_back({std::move(shape), -1});
    return &made.back();
  }

  millstream::ShapeContext* const context;
  const MS_KernelInfo info;
  std::deque<MS_Shape> inputs;
  std::deque<MS_Shape> made;
};

namespace millstream {
namespace {

const MS_KernelInfo* Info(MS_ShapeCtx* ctx) { return &ctx->info; }
uint32_t NumInputs(MS_ShapeCtx* ctx) { return static_cast<uint32_t>(ctx->inputs.size()); }
uint32_t NumOutputs(MS_ShapeCtx* ctx) { return static_cast<uint32_t>(ctx->context->num_outputs()); }
const MS_Shape* Input(MS_ShapeCtx* ctx, uint32_t i) {
  return i < ctx->inputs.size() ? &ctx->inputs[i] : nullptr;
}

Status CheckInput(MS_ShapeCtx* ctx, uint32_t i) {
  if (i < ctx->inputs.size()) return absl::OkStatus();
  return errors::InvalidArgument("the shape function of ", ctx->context->op().name,
                                 " asked for input ", i, " of ", ctx->inputs.size());
}
Status CheckOutput(MS_ShapeCtx* ctx, uint32_t i) {
  if (i < NumOutputs(ctx)) return absl::OkStatus();
  return errors::InvalidArgument("the shape function of ", ctx->context->op().name, " set output ",
                                 i, " of ", NumOutputs(ctx));
}

// A plugin may hand on what a getter gave it, which is NULL for an input that there is not.
Status CheckShape(MS_ShapeCtx* ctx, const MS_Shape* shape, absl::string_view function) {
  if (shape != nullptr) return absl::OkStatus();
  const OpDef& op = ctx->context->op();
  return errors::InvalidArgument(
      "plugin ", op.plugin, ": the shape function of op ", op.name, " called ms.shape/1.", function,
      " with NULL for a shape; there are ", ctx->inputs.size(), " inputs");
}

Status CheckShapes(MS_ShapeCtx* ctx, const MS_Shape* a, const MS_Shape* b,
                   absl::string_view function) {
  return CheckShape(ctx, a == nullptr ? a : b, function);
}

// Gives the shape to the plugin.
MS_Status* Give(MS_ShapeCtx* ctx, StatusOr<PartialShape> shape, const MS_Shape** out) {
  if (!shape.ok()) return ToAbiStatus(shape.status());
  *out = ctx->Keep(*std::move(shape));
  return nullptr;
}
MS_Status* Give(const StatusOr<int64_t>& size, int64_t* out) {
  if (!size.ok()) return ToAbiStatus(size.status());
  *out = *size;
  return nullptr;
}

MS_Status* InputAsConst(MS_ShapeCtx* ctx, uint32_t i, MS_TensorView* out) {
  const Status known = CheckInput(ctx, i);
  if (!known.ok()) return ToAbiStatus(known);
  const Tensor* const constant = ctx->context->constant(static_cast<int>(i));
  *out = constant == nullptr ? NullView() : MakeView(*constant, nullptr);
  if (constant != nullptr) out->flags |= MS_VIEW_CONST;
  return nullptr;
}

MS_Status* InputAsShape(MS_ShapeCtx* ctx, uint32_t i, const MS_Shape** out) {
  const Status known = CheckInput(ctx, i);
  if (!known.ok()) return ToAbiStatus(known);
  return Give(ctx, ctx->context->InputAsShape(static_cast<int>(i)), out);
}

uint32_t Rank(const MS_Shape* shape) {
  return shape != nullptr && shape->shape.known_rank() ? static_cast<uint32_t>(shape->shape.rank())
                                                       : MS_UNKNOWN_RANK;
}
int64_t Dim(const MS_Shape* shape, int32_t axis) {
  if (shape == nullptr) return kUnknownDim;
  const int rank = shape->shape.rank();
  if (!shape->shape.known_rank() || axis < -rank || axis >= rank) return kUnknownDim;
  return shape->shape.dim(axis);
}

enum class RankIs { kExactly, kAtLeast, kAtMost };

// As ShapeContext says it of an input.
StatusOr<PartialShape> CheckRank(MS_ShapeCtx* ctx, const MS_Shape& shape, uint32_t wanted,
                                 RankIs kind) {
  const int rank = static_cast<int>(std::min<uint32_t>(wanted, std::numeric_limits<int>::max()));
  if (kind == RankIs::kExactly && wanted > MS_MAX_RANK) {
    return errors::InvalidArgument("the shape function of ", ctx->context->op().name,
                                   " asked for a shape of rank ", wanted, ", at most ", MS_MAX_RANK,
                                   " are allowed");
  }
  if (shape.input >= 0) {
    switch (kind) {
      case RankIs::kExactly: return ctx->context->WithRank(shape.input, rank);
      case RankIs::kAtLeast: return ctx->context->WithRankAtLeast(shape.input, rank);
      case RankIs::kAtMost: return ctx->context->WithRankAtMost(shape.input, rank);
    }
  }
  if (!shape.shape.known_rank()) {
    return kind == RankIs::kExactly ? PartialShape::UnknownOfRank(rank) : shape.shape;
  }
  const int found = shape.shape.rank();
  const bool fits =
      (found >= rank || kind == RankIs::kAtMost) && (found <= rank || kind == RankIs::kAtLeast);
  if (fits) return shape.shape;
  const absl::string_view how = kind == RankIs::kExactly   ? ""
                                : kind == RankIs::kAtLeast ? "at least "
                                                           : "at most ";
  return errors::InvalidArgument("Shape must be ", how, "rank ", rank, " but is rank ", found,
                                 " for ", ctx->context->op().name, ": ", shape.shape.ToString());
}

template <RankIs kKind>
MS_Status* WithRank(MS_ShapeCtx* ctx, const MS_Shape* shape, uint32_t rank, const MS_Shape** out) {
  const Status given = CheckShape(ctx, shape, "with_rank");
  if (!given.ok()) return ToAbiStatus(given);
  return Give(ctx, CheckRank(ctx, *shape, rank, kKind), out);
}

MS_Status* Merge(MS_ShapeCtx* ctx, const MS_Shape* a, const MS_Shape* b, const MS_Shape** out) {
  const Status given = CheckShapes(ctx, a, b, "merge");
  if (!given.ok()) return ToAbiStatus(given);
  return Give(ctx, ctx->context->Merge(a->shape, b->shape), out);
}
MS_Status* MergeDim(MS_ShapeCtx* ctx, int64_t a, int64_t b, int64_t* out) {
  return Give(ctx->context->MergeDim(a, b), out);
}
MS_Status* SubShape(MS_ShapeCtx* ctx, const MS_Shape* shape, int32_t begin, int32_t end,
                    const MS_Shape** out) {
  const Status given = CheckShape(ctx, shape, "subshape");
  if (!given.ok()) return ToAbiStatus(given);
  return Give(ctx, SubShapeOf(shape->shape, begin, end), out);
}
MS_Status* Concat(MS_ShapeCtx* ctx, const MS_Shape* a, const MS_Shape* b, const MS_Shape** out) {
  const Status given = CheckShapes(ctx, a, b, "concat");
  if (!given.ok()) return ToAbiStatus(given);
  return Give(ctx, ConcatShapes(a->shape, b->shape), out);
}
MS_Status* MakeShape(MS_ShapeCtx* ctx, MS_Dims dims, const MS_Shape** out) {
  return Give(ctx, PartialShapeFromAbi(dims), out);
}
const MS_Shape* Unknown(MS_ShapeCtx* ctx) { return &ctx->made.emplace_back(); }

// The context stands for the op in messages; sizes are the same whatever the op.
template <StatusOr<int64_t> (*kFunction)(int64_t a, int64_t b)>
MS_Status* CombineDims(MS_ShapeCtx* ctx, int64_t a, int64_t b, int64_t* out) {
  const StatusOr<int64_t> size = kFunction(a, b);
  if (size.ok()) return Give(size, out);
  return ToAbiStatus(WithContext(size.status(), ctx->context->op().name));
}

MS_Status* SetOutput(MS_ShapeCtx* ctx, uint32_t i, const MS_Shape* shape) {
  Status known = CheckOutput(ctx, i);
  if (known.ok()) known = CheckShape(ctx, shape, "set_output");
  if (!known.ok()) return ToAbiStatus(known);
  ctx->context->SetOutput(static_cast<int>(i), shape->shape);
  return nullptr;
}

MS_Status* HandleGet(MS_ShapeCtx* ctx, uint32_t input, MS_DType* dtype, const MS_Shape** out) {
  const Status known = CheckInput(ctx, input);
  if (!known.ok()) return ToAbiStatus(known);
  const HandleInfo* const handle = ctx->context->handle(static_cast<int>(input));
  *dtype = handle == nullptr ? 0 : ToAbiDataType(handle->dtype);
  *out = ctx->Keep(handle == nullptr ? PartialShape() : handle->shape);
  return nullptr;
}

MS_Status* HandleSet(MS_ShapeCtx* ctx, uint32_t output, MS_DType dtype, const MS_Shape* shape) {
  Status known = CheckOutput(ctx, output);
  if (known.ok()) known = CheckShape(ctx, shape, "handle_set");
  if (!known.ok()) return ToAbiStatus(known);
  const DataType type = FromAbiDataType(dtype);
  if (type == DataType::kInvalid) {
    return ToAbiStatus(errors::Unimplemented("dtype ", dtype, " is unknown"));
  }
  ctx->context->SetOutputHandle(static_cast<int>(output), HandleInfo{type, shape->shape});
  return nullptr;
}

constexpr MS_ShapeApi kShapeApi = {
    {sizeof(MS_ShapeApi), 1, MS_ABI_MINOR, MS_SHAPE_API},
    &Info,
    &NumInputs,
    &NumOutputs,
    &Input,
    &InputAsConst,
    &InputAsShape,
    &Rank,
    &Dim,
    &WithRank<RankIs::kExactly>,
    &WithRank<RankIs::kAtLeast>,
    &WithRank<RankIs::kAtMost>,
    &Merge,
    &MergeDim,
    &SubShape,
    &Concat,
    &MakeShape,
    &Unknown,
    &CombineDims<&AddDims>,
    &CombineDims<&SubtractDims>,
    &CombineDims<&MultiplyDims>,
    &CombineDims<&DivideDims>,
    &SetOutput,
    &HandleGet,
    &HandleSet,
};

}  // namespace

const MS_Table* ShapeInterface() { return &kShapeApi.head; }

Status InferPluginShape(ShapeContext* context) {
  const OpDef& op = context->op();
  MS_ShapeCtx ctx(context);
  const PluginOpFunctions& functions = *op.plugin_functions;
  // A crash of this thread is the plugin's.
  SetHostBreadcrumb(absl::StrCat("plugin ", op.plugin, ", shape function of op ", op.name));
  MS_Status* const failed = functions.shape(functions.shape_user, &ctx);
  SetHostBreadcrumb("");
  return TakeAbiStatus(failed);
}

}  // namespace millstream
