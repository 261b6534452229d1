// An op of our own, with its shape function, its gradient and its kernels.
#include <cmath>
#include <cstdint>

#include "device.h"
#include "millstream/plugin_ops.hpp"

namespace acme {
namespace {

using ms::Status;

// [docs: op]
Status SameShape(ms::ShapeContext& node) { return node.SetOutput(0, node.input(0)); }

Status SwishGradient(ms::GradientContext& node) {
  return node.SetDx(0, node.Op("AcmeSwishGrad", {node.input(0), node.dy(0)}));
}

const ms::Registered swish_op = ms::RegisterOp(ms::OpDefinition("AcmeSwish")
                                                   .Input("x: float")
                                                   .Output("y: float")
                                                   .Doc("x * sigmoid(x), element by element.")
                                                   .Shape(&SameShape)
                                                   .Gradient(&SwishGradient));

Status SameShapeAsBoth(ms::ShapeContext& node) {
  ms::PartialShape shape;
  MS_TRY(node.Merge(node.input(0), node.input(1), &shape));
  return node.SetOutput(0, shape);
}

const ms::Registered swish_grad_op =
    ms::RegisterOp(ms::OpDefinition("AcmeSwishGrad")
                       .Input("x: float")
                       .Input("dy: float")
                       .Output("dx: float")
                       .Doc("The gradient of AcmeSwish for its input, from that for its output.")
                       .Shape(&SameShapeAsBoth));
// [docs: end]

float Sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

// [docs: op kernels]
class Swish {
 public:
  Status Compute(ms::Frame& frame) const {
    const ms::View x = frame.input(0);
    ms::View y;
    MS_TRY(frame.ForwardOrOutput(0, 0, x.shape(), &y));
    return Launch(frame, [size = x.size(), from = x.data<float>(), to = y.data<float>()] {
      for (int64_t i = 0; i < size; ++i) to[i] = from[i] * Sigmoid(from[i]);
    });
  }
};

class SwishGrad {
 public:
  Status Compute(ms::Frame& frame) const {
    const ms::View x = frame.input(0);
    const ms::View dy = frame.input(1);
    if (x.shape() != dy.shape()) return ms::InvalidArgument("x and dy have different shapes");
    ms::View dx;
    MS_TRY(frame.Output(0, x.shape(), &dx));
    return Launch(frame, [size = x.size(), at = x.data<float>(), from = dy.data<float>(),
                          to = dx.data<float>()] {
      for (int64_t i = 0; i < size; ++i) {
        const float s = Sigmoid(at[i]);
        to[i] = from[i] * s * (1 + at[i] * (1 - s));
      }
    });
  }
};

const ms::Registered swish =
    ms::Register<Swish>("AcmeSwish", ms::KernelOptions().Device(kDeviceType).InPlace(0, 0));
const ms::Registered swish_grad =
    ms::Register<SwishGrad>("AcmeSwishGrad", ms::KernelOptions().Device(kDeviceType));
// [docs: end]

}  // namespace
}  // namespace acme
