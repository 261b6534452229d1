// A plugin in C++ with ops of its own, for tests from the loader to Python. Each fixture is this
// file with one value changed by the macros below.
#include <cstdint>
#include <stdexcept>
#include <string>

#include "framework/plugin/plugin_entry.hpp"

#ifndef FIXTURE_NAME
#define FIXTURE_NAME "fixture_ops"
#endif
// The priority of its kernels; an attribute of AcmeCube; the registration fails in the end.
#ifndef FIXTURE_PRIORITY
#define FIXTURE_PRIORITY 0
#endif
#ifndef FIXTURE_SCALE
#define FIXTURE_SCALE "scale: float = 1"
#endif
#ifndef FIXTURE_FAILS
#define FIXTURE_FAILS false
#endif

namespace {

using ms::GradientContext;
using ms::OpDefinition;
using ms::Registered;
using ms::ShapeContext;
using ms::Status;

Status UnchangedShape(ShapeContext& context) { return context.SetOutput(0, context.input(0)); }

Status ThrowingShape(ShapeContext&) { throw std::runtime_error("thrown by the shape function"); }

// y = scale x^3
template <typename T>
struct Cube {
  float scale = 1;
  Status Init(const ms::KernelInfo& info) { return info.Attr("scale", &scale); }
  Status Compute(ms::Frame& frame) const {
    const ms::View x = frame.input(0);
    ms::View y;
    MS_TRY(frame.Output(0, x.shape(), &y));
    for (int64_t i = 0; i < x.size(); ++i) {
      const T value = x.data<T>()[i];
      y.data<T>()[i] = static_cast<T>(scale) * value * value * value;
    }
    return Status();
  }
};

// dx = 3 scale x^2 dy
Status CubeGradient(GradientContext& context) {
  float scale = 1;
  MS_TRY(context.info().Attr("scale", &scale));
  const MS_Ref x = context.input(0);
  const MS_Ref slope =
      context.Op("Mul", {context.ScalarLike(x, 3.0 * scale), context.Op("Square", {x})});
  return context.SetDx(0, context.Op("Mul", {context.dy(0), slope}));
}

// Every sum of neighbours, and the total of all.
template <typename T>
struct Chain {
  Status Compute(ms::Frame& frame) const {
    const uint32_t n = frame.num_inputs();
    ms::View total;
    MS_TRY(frame.Output(n, frame.input(0).shape(), &total));
    for (int64_t k = 0; k < total.size(); ++k) total.data<T>()[k] = 0;
    for (uint32_t i = 0; i < n; ++i) {
      const ms::View x = frame.input(i);
      const ms::View next = frame.input((i + 1) % n);
      ms::View y;
      MS_TRY(frame.Output(i, x.shape(), &y));
      for (int64_t k = 0; k < x.size(); ++k) {
        y.data<T>()[k] = x.data<T>()[k] + next.data<T>()[k];
        total.data<T>()[k] += x.data<T>()[k];
      }
    }
    return Status();
  }
};

Status ChainShape(ShapeContext& context) {
  ms::PartialShape all = context.Unknown();
  for (uint32_t i = 0; i < context.num_inputs(); ++i) {
    MS_TRY(context.Merge(all, context.input(i), &all));
  }
  for (uint32_t i = 0; i < context.num_outputs(); ++i) MS_TRY(context.SetOutput(i, all));
  return Status();
}

const Registered cube = ms::RegisterOp(OpDefinition("AcmeCube")
                                           .Input("x: T")
                                           .Output("y: T")
                                           .Attr("T: {float, double}")
                                           .Attr(FIXTURE_SCALE)
                                           .Doc("The third power of x, times scale.\n\nElement by "
                                                "element.")
                                           .Shape(&UnchangedShape)
                                           .Gradient(&CubeGradient));
const Registered chain = ms::RegisterOp(OpDefinition("AcmeChain")
                                            .Input("xs: N * T")
                                            .Output("sums: N * T")
                                            .Output("total: T")
                                            .Attr("N: int >= 1")
                                            .Attr("T: {float, double}")
                                            .Attr("mode: {'ring', 'line'} = 'ring'")
                                            .Doc("Sums of neighbours, and of all.")
                                            .Shape(&ChainShape));
const Registered throwing = ms::RegisterOp(OpDefinition("AcmeThrows")
                                               .Input("x: float")
                                               .Output("y: float")
                                               .Doc("Its shape function throws.")
                                               .Shape(&ThrowingShape)
                                               .NotDifferentiable());

const Registered cube_kernels = ms::RegisterForTypes<Cube, float, double>(
    "AcmeCube", "T", ms::KernelOptions().Priority(FIXTURE_PRIORITY).InPlace(0, 0));
const Registered chain_kernels = ms::RegisterForTypes<Chain, float, double>(
    "AcmeChain", "T", ms::KernelOptions().Priority(FIXTURE_PRIORITY));

struct Plugin : ms::PluginDefaults {
  static constexpr char kVendor[] = "Acme";
  static const ms::OptionSchema& Options() {
    static const ms::OptionSchema schema{
        ms::Option("level", MS_OPTION_I64).Doc("Nothing.").Default("3").Range("0", "9").PerDevice(),
        ms::Option("mode", MS_OPTION_STR).Doc("Nothing.").Choices({"fast", "exact"})};
    return schema;
  }
  static Status Init(const ms::PluginOptions&) { return Status(); }
  static Status RegisterAll(MS_Registrar* registrar) {
    MS_TRY(PluginDefaults::RegisterAll(registrar));
    return FIXTURE_FAILS ? ms::Internal("the fixture's registration fails in the end") : Status();
  }
};

}  // namespace

MS_PLUGIN_NOTE(FIXTURE_NAME, "", /*rank=*/0, /*cpu_bits=*/0, MS_PLUGIN_KERNELS_ONLY);
MS_PLUGIN_DEFINE(Plugin);
