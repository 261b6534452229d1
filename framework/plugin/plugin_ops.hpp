// The ops of a plugin: their definitions, shape functions and gradients.
//
//   ms::Status CubeShape(ms::ShapeContext& context) {
//     return context.SetOutput(0, context.input(0));
//   }
//   ms::Status CubeGradient(ms::GradientContext& context) {
//     const MS_Ref x = context.input(0);
//     const MS_Ref slope = context.Op("Mul", {context.ScalarLike(x, 3), context.Op("Square",
//     {x})}); return context.SetDx(0, context.Op("Mul", {context.dy(0), slope}));
//   }
//   const ms::Registered cube = ms::RegisterOp(ms::OpDefinition("AcmeCube")
//                                                  .Input("x: T")
//                                                  .Output("y: T")
//                                                  .Attr("T: {float, double}")
//                                                  .Doc("The third power, element by element.")
//                                                  .Shape(&CubeShape)
//                                                  .Gradient(&CubeGradient));
//
// Both functions may be called from any thread.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_PLUGIN_OPS_HPP_
#define MILLSTREAM_FRAMEWORK_PLUGIN_PLUGIN_OPS_HPP_

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/plugin/plugin.hpp"

namespace ms {
inline namespace v1 {

// ---- Shapes ------------------------------------------------------------------------------------

// A size, or -1: unknown.
inline constexpr int64_t kUnknownDim = -1;

// A partially known shape; valid until the shape function returns.
class PartialShape {
 public:
  PartialShape() = default;
  explicit PartialShape(const MS_Shape* shape) : shape_(shape) {}
  bool known_rank() const { return rank() != MS_UNKNOWN_RANK; }
  uint32_t rank() const { return host_tables.shape->rank(shape_); }
  // kUnknownDim when unknown; negative axes count from the end.
  int64_t dim(int32_t axis) const { return host_tables.shape->dim(shape_, axis); }
  const MS_Shape* abi() const { return shape_; }

 private:
  const MS_Shape* shape_ = nullptr;
};

// The inputs and results of a shape function.
class ShapeContext {
 public:
  explicit ShapeContext(MS_ShapeCtx* ctx) : ctx_(ctx) {}

  KernelInfo info() const { return KernelInfo(api().info(ctx_)); }
  uint32_t num_inputs() const { return api().num_inputs(ctx_); }
  uint32_t num_outputs() const { return api().num_outputs(ctx_); }
  // REQUIRES: i < num_inputs().
  PartialShape input(uint32_t i) const { return PartialShape(api().input(ctx_, i)); }
  // The value if it is known; else a null view.
  Status Constant(uint32_t i, View* out) const {
    MS_TensorView view{};
    MS_TRY(Status::FromAbi(api().input_as_const(ctx_, i, &view)));
    *out = View(view);
    return Status();
  }
  Status InputAsShape(uint32_t i, PartialShape* out) const {
    return Shaped(out, [&](const MS_Shape** made) { return api().input_as_shape(ctx_, i, made); });
  }

  // Checks the rank of a shape; returns the shape with what follows from the check.
  Status WithRank(PartialShape shape, uint32_t rank, PartialShape* out) const {
    return Shaped(
        out, [&](const MS_Shape** made) { return api().with_rank(ctx_, shape.abi(), rank, made); });
  }
  Status WithRankAtLeast(PartialShape shape, uint32_t rank, PartialShape* out) const {
    return Shaped(out, [&](const MS_Shape** made) {
      return api().with_rank_at_least(ctx_, shape.abi(), rank, made);
    });
  }
  Status WithRankAtMost(PartialShape shape, uint32_t rank, PartialShape* out) const {
    return Shaped(out, [&](const MS_Shape** made) {
      return api().with_rank_at_most(ctx_, shape.abi(), rank, made);
    });
  }
  Status Merge(PartialShape a, PartialShape b, PartialShape* out) const {
    return Shaped(out,
                  [&](const MS_Shape** made) { return api().merge(ctx_, a.abi(), b.abi(), made); });
  }
  // Dimensions [begin, end), by default to the last.
  Status Subshape(PartialShape shape, int32_t begin, PartialShape* out,
                  int32_t end = std::numeric_limits<int32_t>::max()) const {
    return Shaped(out, [&](const MS_Shape** made) {
      return api().subshape(ctx_, shape.abi(), begin, end, made);
    });
  }
  Status Concatenate(PartialShape a, PartialShape b, PartialShape* out) const {
    return Shaped(
        out, [&](const MS_Shape** made) { return api().concat(ctx_, a.abi(), b.abi(), made); });
  }
  Status MakeShape(const std::vector<int64_t>& dims, PartialShape* out) const {
    return Shaped(out, [&](const MS_Shape** made) {
      return api().make_shape(ctx_, MS_Dims{dims.data(), static_cast<uint32_t>(dims.size()), 0},
                              made);
    });
  }
  PartialShape Unknown() const { return PartialShape(api().unknown(ctx_)); }

  Status MergeDims(int64_t a, int64_t b, int64_t* out) const {
    return Status::FromAbi(api().merge_dim(ctx_, a, b, out));
  }
  Status AddDims(int64_t a, int64_t b, int64_t* out) const {
    return Status::FromAbi(api().add_dim(ctx_, a, b, out));
  }
  Status SubtractDims(int64_t a, int64_t b, int64_t* out) const {
    return Status::FromAbi(api().sub_dim(ctx_, a, b, out));
  }
  Status MultiplyDims(int64_t a, int64_t b, int64_t* out) const {
    return Status::FromAbi(api().mul_dim(ctx_, a, b, out));
  }
  Status DivideDims(int64_t a, int64_t b, int64_t* out) const {
    return Status::FromAbi(api().div_dim(ctx_, a, b, out));
  }

  Status SetOutput(uint32_t i, PartialShape shape) const {
    return Status::FromAbi(api().set_output(ctx_, i, shape.abi()));
  }
  Status SetOutputDims(uint32_t i, const std::vector<int64_t>& dims) const {
    PartialShape shape;
    MS_TRY(MakeShape(dims, &shape));
    return SetOutput(i, shape);
  }
  // The dtype and shape of the variable of a handle; dtype 0 if they are not known.
  Status Handle(uint32_t input, MS_DType* dtype, PartialShape* shape) const {
    return Shaped(
        shape, [&](const MS_Shape** made) { return api().handle_get(ctx_, input, dtype, made); });
  }
  Status SetHandle(uint32_t output, MS_DType dtype, PartialShape shape) const {
    return Status::FromAbi(api().handle_set(ctx_, output, dtype, shape.abi()));
  }

 private:
  static const MS_ShapeApi& api() { return *host_tables.shape; }
  template <typename Make>
  static Status Shaped(PartialShape* out, Make&& make) {
    const MS_Shape* made = nullptr;
    MS_TRY(Status::FromAbi(make(&made)));
    *out = PartialShape(made);
    return Status();
  }

  MS_ShapeCtx* ctx_;
};

// ---- Gradients ---------------------------------------------------------------------------------

// The name of a dtype in the text of an attribute; empty for dtypes without gradients.
inline std::string_view DTypeText(MS_DType dtype) {
  switch (dtype) {
    case MS_FLOAT16: return "DT_HALF";
    case MS_BFLOAT16: return "DT_BFLOAT16";
    case MS_FLOAT32: return "DT_FLOAT";
    case MS_FLOAT64: return "DT_DOUBLE";
    case MS_COMPLEX64: return "DT_COMPLEX64";
    case MS_COMPLEX128: return "DT_COMPLEX128";
    case MS_INT32: return "DT_INT32";
    case MS_INT64: return "DT_INT64";
    case MS_BOOL: return "DT_BOOL";
    default: return "";
  }
}

// The arguments and results of the gradient function for one node. It keeps the first error:
// afterwards, functions that create a tensor do nothing and return 0, and the gradient function
// returns the error.
class GradientContext {
 public:
  using Attrs = std::vector<std::pair<std::string_view, std::string_view>>;

  explicit GradientContext(MS_GradCtx* ctx) : ctx_(ctx) {}

  KernelInfo info() const { return KernelInfo(api().info(ctx_)); }
  MS_Ref input(uint32_t i) const { return api().input(ctx_, i); }
  MS_Ref output(uint32_t i) const { return api().output(ctx_, i); }
  bool has_dy(uint32_t i) const { return api().has_dy(ctx_, i) != 0; }
  // The gradient of output i; zeros if there is none.
  MS_Ref dy(uint32_t i) {
    return Made([&](MS_Ref* out) { return api().dy(ctx_, i, out); });
  }
  MS_DType dtype(MS_Ref ref) const { return api().dtype(ctx_, ref); }
  // The static shape; valid until the gradient function returns.
  Status Dims(MS_Ref ref, MS_Dims* out) const {
    return Status::FromAbi(api().dims(ctx_, ref, out));
  }

  // Output 0 of a new node. `attrs` are in text form. The attributes `copied` are copied from the
  // node.
  MS_Ref Op(std::string_view op, const std::vector<MS_Ref>& inputs, const Attrs& attrs = {},
            const std::vector<std::string_view>& copied = {}) {
    const std::vector<MS_Ref> outputs = Ops(op, inputs, {}, attrs, copied, 1);
    return outputs.empty() ? 0 : outputs[0];
  }
  // The first `n_outputs` outputs of a new node; none after an error. `counts` has the number of
  // inputs of each argument; empty: one each.
  std::vector<MS_Ref> Ops(std::string_view op, const std::vector<MS_Ref>& inputs,
                          const std::vector<uint32_t>& counts, const Attrs& attrs,
                          const std::vector<std::string_view>& copied, uint64_t n_outputs) {
    if (!status_.ok()) return {};
    std::vector<MS_KV> pairs;
    for (const auto& [name, value] : attrs) pairs.push_back({ToAbi(name), ToAbi(value)});
    std::vector<MS_Str> names;
    for (std::string_view name : copied) names.push_back(ToAbi(name));
    MS_NodeDef node{};
    node.head.size = sizeof(node);
    node.op = ToAbi(op);
    node.inputs = inputs.data();
    node.n_inputs = inputs.size();
    node.counts = counts.empty() ? nullptr : counts.data();
    node.n_counts = counts.size();
    node.attrs = pairs.data();
    node.n_attrs = pairs.size();
    node.copied_attrs = names.data();
    node.n_copied_attrs = names.size();
    std::vector<MS_Ref> outputs(n_outputs);
    status_ = Status::FromAbi(api().add_node(ctx_, &node, outputs.data(), &n_outputs));
    if (!status_.ok()) outputs.clear();
    return outputs;
  }
  template <typename T>
  MS_Ref Scalar(T value) {
    MS_TensorView view{};
    view.mem = MS_MemRef{&value, 0, sizeof(value), MS_SPACE_HOST, 0};
    view.dtype = DTypeOf<T>();
    view.flags = MS_VIEW_HOST;
    return Made([&](MS_Ref* out) { return api().constant(ctx_, &view, out); });
  }
  // A scalar of the dtype of `ref`.
  MS_Ref ScalarLike(MS_Ref ref, double value) {
    const MS_DType wanted = dtype(ref);
    if (wanted == MS_FLOAT32) return Scalar(static_cast<float>(value));
    if (wanted == MS_FLOAT64) return Scalar(value);
    return Op("Cast", {Scalar(value)}, {{"DstT", DTypeText(wanted)}});
  }
  MS_Ref ZerosLike(MS_Ref ref) {
    return Made([&](MS_Ref* out) { return api().zeros_like(ctx_, ref, out); });
  }

  // Sets the gradient of input i. Returns the first error, if there was one.
  Status SetDx(uint32_t i, MS_Ref dx) {
    MS_TRY(TakeStatus());
    return Status::FromAbi(api().set_dx(ctx_, i, dx));
  }
  Status SetDxRows(uint32_t i, MS_Ref values, MS_Ref indices, MS_Ref dense_shape) {
    MS_TRY(TakeStatus());
    return Status::FromAbi(api().set_dx_rows(ctx_, i, values, indices, dense_shape));
  }
  // Returns the first error and clears it.
  Status TakeStatus() { return std::exchange(status_, Status()); }

 private:
  static const MS_GradApi& api() { return *host_tables.grad; }
  template <typename Make>
  MS_Ref Made(Make&& make) {
    MS_Ref made = 0;
    if (status_.ok()) status_ = Status::FromAbi(make(&made));
    return made;
  }

  MS_GradCtx* ctx_;
  Status status_;
};

// ---- Registration ------------------------------------------------------------------------------

using ShapeFunction = Status (*)(ShapeContext& context);
using GradientFunction = Status (*)(GradientContext& context);

// The functions that the host calls, with the plugin's function as `user`.
inline MS_Status* CallShapeFunction(void* user, MS_ShapeCtx* ctx) noexcept {
  return Guarded([&]() -> Status {
    ShapeContext context(ctx);
    return reinterpret_cast<ShapeFunction>(user)(context);
  });
}
inline MS_Status* CallGradientFunction(void* user, MS_GradCtx* ctx) noexcept {
  return Guarded([&]() -> Status {
    GradientContext context(ctx);
    MS_TRY(reinterpret_cast<GradientFunction>(user)(context));
    return context.TakeStatus();
  });
}

// The definition of an op. The strings are those of MS_OpDef and must be static, as literals are.
class OpDefinition {
 public:
  explicit OpDefinition(const char* name) : name_(name) {}
  OpDefinition& Input(const char* text) { return Add(text, &inputs_); }
  OpDefinition& Output(const char* text) { return Add(text, &outputs_); }
  OpDefinition& Attr(const char* text) { return Add(text, &attrs_); }
  OpDefinition& Doc(const char* text) {
    doc_ = text;
    return *this;
  }
  OpDefinition& Flags(uint64_t flags) {
    flags_ |= flags;
    return *this;
  }
  OpDefinition& Shape(ShapeFunction function) {
    shape_ = function;
    return *this;
  }
  OpDefinition& Gradient(GradientFunction function) {
    gradient_ = function;
    has_gradient_ = true;
    return *this;
  }
  // The op is not differentiable: its inputs have no gradient.
  OpDefinition& NotDifferentiable() { return Gradient(nullptr); }
  OpDefinition& Since(uint32_t version) {
    since_version_ = version;
    return *this;
  }
  OpDefinition& Deprecated(uint32_t version, const char* what_instead) {
    deprecated_version_ = version;
    deprecation_ = what_instead;
    return *this;
  }

  Status RegisterWith(MS_Registrar* registrar) const {
    MS_OpDef def{};
    def.head.size = sizeof(def);
    def.name = ToAbi(name_);
    def.doc = ToAbi(doc_);
    def.inputs = inputs_.data();
    def.n_inputs = inputs_.size();
    def.outputs = outputs_.data();
    def.n_outputs = outputs_.size();
    def.attrs = attrs_.data();
    def.n_attrs = attrs_.size();
    def.flags = flags_;
    def.shape_fn = shape_ == nullptr ? nullptr : &CallShapeFunction;
    def.user = reinterpret_cast<void*>(shape_);
    def.since_version = since_version_;
    def.deprecated_version = deprecated_version_;
    def.deprecation = ToAbi(deprecation_);
    MS_TRY(Status::FromAbi(host_tables.registry->op_register(registrar, &def)));
    if (!has_gradient_) return Status();
    return Status::FromAbi(host_tables.registry->gradient_register(
        registrar, def.name, gradient_ == nullptr ? nullptr : &CallGradientFunction,
        reinterpret_cast<void*>(gradient_)));
  }

 private:
  OpDefinition& Add(const char* text, std::vector<MS_Str>* texts) {
    texts->push_back(ToAbi(text));
    return *this;
  }

  const char* name_;
  const char* doc_ = "";
  std::vector<MS_Str> inputs_, outputs_, attrs_;
  uint64_t flags_ = 0;
  ShapeFunction shape_ = nullptr;
  bool has_gradient_ = false;
  GradientFunction gradient_ = nullptr;
  uint32_t since_version_ = 0;
  uint32_t deprecated_version_ = 0;
  const char* deprecation_ = "";
};

// Further functions that register_all calls, for example for types of resources
// (plugin_resource.hpp).
inline std::vector<Status (*)(MS_Registrar*)>& Registrations() {
  static std::vector<Status (*)(MS_Registrar*)> registrations;
  return registrations;
}

inline std::vector<OpDefinition>& OpDefinitions() {
  static std::vector<OpDefinition> definitions;
  return definitions;
}

// Registers an op. At namespace scope, once for each op.
inline Registered RegisterOp(OpDefinition op) {
  OpDefinitions().push_back(std::move(op));
  return Registered();
}

}  // namespace v1
}  // namespace ms

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_PLUGIN_OPS_HPP_
