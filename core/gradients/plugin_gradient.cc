#include "core/gradients/plugin_gradient.h"

#include <algorithm>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "framework/op_registry.h"
#include "framework/plugin/host_interfaces.h"
#include "framework/plugin/host_status.h"
#include "framework/plugin/host_tensor.h"
#include "framework/plugin/kernel_info.h"
#include "framework/plugin/op_registration.h"
#include "framework/plugin/plugin_limits.h"
#include "framework/plugin/plugin_text.h"
#include "framework/plugin/registrar.h"

// One call's backward step. A reference is the number of a tensor of `tensors`, counted from 1.
struct MS_GradCtx {
  explicit MS_GradCtx(millstream::GradientContext* gradient_context)
      : context(gradient_context), info(context->call(), "") {}
  MS_Ref Keep(const millstream::Output& tensor) {
    if (!tensor) return 0;
    tensors.push_back(tensor);
    return tensors.size();
  }
  // INVALID_ARGUMENT for what is no reference; `what` says where it was given.
  millstream::StatusOr<millstream::Output> Find(MS_Ref ref, absl::string_view what) const {
    if (ref > 0 && ref <= tensors.size()) return tensors[ref - 1];
    return millstream::errors::InvalidArgument("the gradient function gave no tensor for ", what);
  }
  // The error that the builder has, or null.
  MS_Status* Outcome() const { return millstream::ToAbiStatus(context->builder()->status()); }

  millstream::GradientContext* const context;
  const MS_KernelInfo info;
  std::vector<millstream::Output> tensors;
  std::deque<millstream::PartialShape> shapes;  // whose dims were given out
};

namespace millstream {
namespace {

// What the first release of the struct had.
constexpr uint32_t kNodeDefSize =
    offsetof(MS_NodeDef, n_copied_attrs) + sizeof(MS_NodeDef::n_copied_attrs);

uint32_t NumOutputs(const MS_GradCtx& ctx) {
  return static_cast<uint32_t>(ctx.context->num_outputs());
}

const MS_KernelInfo* Info(MS_GradCtx* ctx) { return &ctx->info; }
MS_Ref Input(MS_GradCtx* ctx, uint32_t i) {
  const bool is_there = i < static_cast<uint32_t>(ctx->context->num_inputs());
  return is_there ? ctx->Keep(ctx->context->input(static_cast<int>(i))) : 0;
}
MS_Ref OutputRef(MS_GradCtx* ctx, uint32_t i) {
  return i < NumOutputs(*ctx) ? ctx->Keep(ctx->context->output(static_cast<int>(i))) : 0;
}
uint8_t HasDy(MS_GradCtx* ctx, uint32_t i) {
  return i < NumOutputs(*ctx) && ctx->context->has_dy(static_cast<int>(i)) ? 1 : 0;
}

MS_Status* Dy(MS_GradCtx* ctx, uint32_t i, MS_Ref* out) {
  *out = 0;
  if (i >= NumOutputs(*ctx)) {
    return ToAbiStatus(errors::InvalidArgument("the gradient function asked for the gradient of ",
                                               "output ", i, " of ", NumOutputs(*ctx)));
  }
  *out = ctx->Keep(ctx->context->dy(static_cast<int>(i)));
  return ctx->Outcome();
}

MS_DType DTypeOf(MS_GradCtx* ctx, MS_Ref ref) {
  const StatusOr<Output> tensor = ctx->Find(ref, "a dtype");
  return tensor.ok() ? ToAbiDataType(tensor->dtype()) : 0;
}

MS_Status* DimsOf(MS_GradCtx* ctx, MS_Ref ref, MS_Dims* out) {
  const StatusOr<Output> tensor = ctx->Find(ref, "dims");
  if (!tensor.ok()) return ToAbiStatus(tensor.status());
  ctx->shapes.push_back(ctx->context->builder()->ShapeOf(*tensor));
  *out = DimsToAbi(ctx->shapes.back());
  return nullptr;
}

// More parts of one node than any graph has.
constexpr uint64_t kMostNodeParts = uint64_t{1} << 24;

// What is read of the definition is there.
Status CheckNodeDef(const MS_NodeDef& node) {
  MS_RETURN_IF_ERROR(CheckHead(node.head, kNodeDefSize, "MS_NodeDef"));
  MS_RETURN_IF_ERROR(CheckName(node.op, "MS_NodeDef.op"));
  MS_RETURN_IF_ERROR(CheckText(node.name, "MS_NodeDef.name"));
  MS_RETURN_IF_ERROR(CheckArray(node.inputs, node.n_inputs, kMostNodeParts, "MS_NodeDef.inputs"));
  const uint64_t n_counts = node.counts == nullptr ? 0 : node.n_counts;
  MS_RETURN_IF_ERROR(CheckCount(n_counts, kMostArguments, "MS_NodeDef.counts"));
  MS_RETURN_IF_ERROR(CheckArray(node.attrs, node.n_attrs, kMostArguments, "MS_NodeDef.attrs"));
  MS_RETURN_IF_ERROR(CheckArray(node.copied_attrs, node.n_copied_attrs, kMostArguments,
                                "MS_NodeDef.copied_attrs"));
  for (uint64_t i = 0; i < node.n_attrs; ++i) {
    MS_RETURN_IF_ERROR(CheckName(node.attrs[i].key, "an attribute of MS_NodeDef"));
    MS_RETURN_IF_ERROR(CheckText(node.attrs[i].value, "the value of an attribute of MS_NodeDef"));
  }
  for (uint64_t i = 0; i < node.n_copied_attrs; ++i) {
    MS_RETURN_IF_ERROR(CheckName(node.copied_attrs[i], "an attribute to copy of MS_NodeDef"));
  }
  return absl::OkStatus();
}

// The tensors, cut into arguments.
StatusOr<std::vector<std::vector<Output>>> ReadArguments(const MS_GradCtx& ctx,
                                                         const MS_NodeDef& node) {
  std::vector<std::vector<Output>> arguments;
  uint64_t given = 0;
  const uint64_t n_arguments = node.counts == nullptr ? node.n_inputs : node.n_counts;
  for (uint64_t k = 0; k < n_arguments; ++k) {
    const uint64_t count = node.counts == nullptr ? 1 : node.counts[k];
    std::vector<Output> argument;
    for (uint64_t i = 0; i < count && given < node.n_inputs; ++i, ++given) {
      MS_ASSIGN_OR_RETURN(Output tensor,
                          ctx.Find(node.inputs[given], absl::StrCat("input ", given)));
      argument.push_back(tensor);
    }
    if (argument.size() != count) given = node.n_inputs + 1;
    arguments.push_back(std::move(argument));
  }
  if (given == node.n_inputs) return arguments;
  return errors::InvalidArgument("the counts of the arguments do not make ", node.n_inputs,
                                 " inputs");
}

StatusOr<AttrMap> ReadAttrs(const MS_GradCtx& ctx, const MS_NodeDef& node, const OpDef& op) {
  AttrMap attrs;
  for (uint64_t i = 0; i < node.n_copied_attrs; ++i) {
    const absl::string_view name = FromAbi(node.copied_attrs[i]);
    const AttrValue* const value = FindAttr(ctx.context->attrs(), name);
    if (value == nullptr) return errors::NotFound("there is no attribute \"", name, "\" to copy");
    SetAttr(&attrs, name, *value);
  }
  for (uint64_t i = 0; i < node.n_attrs; ++i) {
    const absl::string_view name = FromAbi(node.attrs[i].key);
    const AttrDef* const definition = op.FindAttr(name);
    if (definition == nullptr) return errors::InvalidArgument("it has no attribute \"", name, "\"");
    StatusOr<AttrValue> value = ParseAttrValue(definition->type, FromAbi(node.attrs[i].value));
    if (!value.ok()) return WithContext(value.status(), absl::StrCat("attribute \"", name, "\""));
    SetAttr(&attrs, name, *std::move(value));
  }
  return attrs;
}

StatusOr<const Node*> AddNode(MS_GradCtx* ctx, const MS_NodeDef& node) {
  MS_RETURN_IF_ERROR(CheckNodeDef(node));
  const absl::string_view op_name = FromAbi(node.op);
  const std::string context = absl::StrCat("node of op ", op_name);
  MS_ASSIGN_OR_RETURN(const OpDef* const op, OpRegistry::Global()->Find(op_name));
  const StatusOr<std::vector<std::vector<Output>>> arguments = ReadArguments(*ctx, node);
  if (!arguments.ok()) return WithContext(arguments.status(), context);
  StatusOr<AttrMap> attrs = ReadAttrs(*ctx, node, *op);
  if (!attrs.ok()) return WithContext(attrs.status(), context);
  const absl::string_view name = node.name.size > 0 ? FromAbi(node.name) : op_name;
  GraphBuilder* const builder = ctx->context->builder();
  const Node* const added = builder->Named(name, op_name, *arguments, *std::move(attrs));
  if (added == nullptr) return builder->status();
  return added;
}

MS_Status* AddNodeFor(MS_GradCtx* ctx, const MS_NodeDef* node, MS_Ref* outputs, uint64_t* n) {
  const StatusOr<const Node*> added = AddNode(ctx, *node);
  if (!added.ok()) return ToAbiStatus(added.status());
  const uint64_t capacity = *n;
  *n = static_cast<uint64_t>((*added)->num_outputs());
  for (uint64_t i = 0; i < std::min(capacity, *n); ++i) {
    outputs[i] = ctx->Keep((*added)->output(static_cast<int>(i)));
  }
  return nullptr;
}

MS_Status* Constant(MS_GradCtx* ctx, const MS_TensorView* value, MS_Ref* out) {
  *out = 0;
  const StatusOr<Tensor> tensor = CopyOfView(*value);
  if (!tensor.ok()) return ToAbiStatus(tensor.status());
  *out = ctx->Keep(ctx->context->builder()->Const(*tensor));
  return ctx->Outcome();
}

MS_Status* ZerosLike(MS_GradCtx* ctx, MS_Ref ref, MS_Ref* out) {
  *out = 0;
  const StatusOr<Output> tensor = ctx->Find(ref, "zeros like it");
  if (!tensor.ok()) return ToAbiStatus(tensor.status());
  *out = ctx->Keep(ctx->context->builder()->Op("ZerosLike", {*tensor}));
  return ctx->Outcome();
}

Status CheckInput(const MS_GradCtx& ctx, uint32_t i) {
  if (i < static_cast<uint32_t>(ctx.context->num_inputs())) return absl::OkStatus();
  return errors::InvalidArgument("the gradient function set the gradient of input ", i, " of ",
                                 ctx.context->num_inputs());
}

MS_Status* SetDx(MS_GradCtx* ctx, uint32_t i, MS_Ref dx) {
  const Status known = CheckInput(*ctx, i);
  if (!known.ok()) return ToAbiStatus(known);
  if (dx == 0) {
    ctx->context->SetDx(static_cast<int>(i), Gradient());
    return nullptr;
  }
  const StatusOr<Output> tensor = ctx->Find(dx, absl::StrCat("the gradient of input ", i));
  if (!tensor.ok()) return ToAbiStatus(tensor.status());
  ctx->context->SetDx(static_cast<int>(i), *tensor);
  return nullptr;
}

Status SetRows(MS_GradCtx* ctx, uint32_t i, MS_Ref values, MS_Ref indices, MS_Ref dense_shape) {
  MS_RETURN_IF_ERROR(CheckInput(*ctx, i));
  Gradient rows;
  MS_ASSIGN_OR_RETURN(rows.values, ctx->Find(values, "the values of rows"));
  MS_ASSIGN_OR_RETURN(rows.indices, ctx->Find(indices, "the indices of rows"));
  MS_ASSIGN_OR_RETURN(rows.dense_shape, ctx->Find(dense_shape, "the shape of what has the rows"));
  ctx->context->SetDx(static_cast<int>(i), rows);
  return absl::OkStatus();
}

MS_Status* SetDxRows(MS_GradCtx* ctx, uint32_t i, MS_Ref values, MS_Ref indices,
                     MS_Ref dense_shape) {
  return ToAbiStatus(SetRows(ctx, i, values, indices, dense_shape));
}

// What the gradient of an input is of; kInvalid: nothing is known of it.
struct Value {
  DataType dtype = DataType::kInvalid;
  PartialShape shape;

  std::string ToString() const { return absl::StrCat(DataTypeName(dtype), shape.ToString()); }
};

Value ValueOf(const GraphBuilder& builder, const Output& tensor) {
  return {tensor.dtype(), builder.ShapeOf(tensor)};
}

// The input, or the value of the variable that it is the handle of.
Value WantedFor(const GradientContext& context, int i) {
  const Output input = context.input(i);
  if (input.dtype() != DataType::kResource) return ValueOf(*context.builder(), input);
  const OutputFacts facts = context.builder()->graph()->Facts(input);
  return facts.handle.has_value() ? Value{facts.handle->dtype, facts.handle->shape} : Value();
}

// Without the first dimension.
PartialShape RowOf(const PartialShape& shape) {
  const bool has_rows = shape.known_rank() && shape.rank() > 0;
  return has_rows ? PartialShape(shape.dims().subspan(1)) : PartialShape();
}

// As far as the shapes are known here: what is known at last is checked where it is used.
Status CheckGradient(const GradientContext& context, int i) {
  const Gradient& gradient = context.dx()[i];
  const Value wanted = WantedFor(context, i);
  if (gradient.is_none() || wanted.dtype == DataType::kInvalid) return absl::OkStatus();
  const Value given = ValueOf(*context.builder(), gradient.values);
  const bool is_rows = gradient.is_slices();
  const bool fits = given.dtype == wanted.dtype &&
                    (is_rows ? RowOf(given.shape).IsCompatibleWith(RowOf(wanted.shape))
                             : given.shape.IsCompatibleWith(wanted.shape));
  if (!fits) {
    return errors::InvalidArgument("the gradient of input ", i, " must be ",
                                   is_rows ? "rows of " : "", wanted.ToString(), ", got ",
                                   is_rows ? "rows " : "", given.ToString());
  }
  if (!is_rows || gradient.indices.dtype() == DataType::kInt32 ||
      gradient.indices.dtype() == DataType::kInt64) {
    return absl::OkStatus();
  }
  return errors::InvalidArgument("the indices of the gradient of input ", i,
                                 " must be int32 or int64, got ",
                                 DataTypeName(gradient.indices.dtype()));
}

Status CheckGradients(const GradientContext& context) {
  for (int i = 0; i < context.num_inputs(); ++i) MS_RETURN_IF_ERROR(CheckGradient(context, i));
  return absl::OkStatus();
}

}  // namespace

const MS_GradApi* GradApi() {
  static const MS_GradApi api = {
      {sizeof(MS_GradApi), 1, MS_ABI_MINOR, MS_GRAD_API},
      &Info,
      &Input,
      &OutputRef,
      &HasDy,
      &Dy,
      &DTypeOf,
      &DimsOf,
      &AddNodeFor,
      &Constant,
      &ZerosLike,
      &SetDx,
      &SetDxRows,
  };
  return &api;
}

// At start-up, since plugins may be loaded before anybody asks for a gradient.
[[maybe_unused]] const bool is_known = RegisterHostInterface(&GradApi()->head).ok();

Status AddPluginGradient(GradientContext* context) {
  const OpDef& op = *context->call().op;
  const PluginOpFunctions& functions = *op.plugin_functions;
  MS_GradCtx ctx(context);
  // A crash of this thread is the plugin's.
  SetHostBreadcrumb(absl::StrCat("plugin ", op.plugin, ", gradient function of op ", op.name,
                                 ", node ", context->call().name));
  MS_Status* const failed = functions.gradient(functions.gradient_user, &ctx);
  SetHostBreadcrumb("");
  MS_RETURN_IF_ERROR(TakeAbiStatus(failed));
  // A builder that failed has made none of what it gave since.
  if (!context->builder()->ok()) return absl::OkStatus();
  return WithContext(CheckGradients(*context), absl::StrCat("plugin ", op.plugin));
}

}  // namespace millstream
