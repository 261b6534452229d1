// Kernels of Millstream's own ops, for float32. Each reads its attributes in Init. In Compute it
// requests the outputs and enqueues the work.
#include <cstdint>
#include <string>

#include "device.h"
#include "millstream/plugin.hpp"

namespace acme {
namespace {

using ms::Status;

// [docs: kernel]
// The product of two matrices. Attributes say whether an operand is transposed.
class MatMul {
 public:
  Status Init(const ms::KernelInfo& node) {
    MS_TRY(node.Attr("transpose_a", &transpose_a_));
    return node.Attr("transpose_b", &transpose_b_);
  }

  Status Compute(ms::Frame& frame) const {
    const ms::View a = frame.input(0);
    const ms::View b = frame.input(1);
    if (a.rank() != 2 || b.rank() != 2) return ms::InvalidArgument("MatMul is of two matrices");
    const int64_t rows = a.dim(transpose_a_ ? 1 : 0);
    const int64_t inner = a.dim(transpose_a_ ? 0 : 1);
    const int64_t columns = b.dim(transpose_b_ ? 0 : 1);
    if (b.dim(transpose_b_ ? 1 : 0) != inner) {
      return ms::InvalidArgument("MatMul of ", a.shape().ToString(), " and ", b.shape().ToString());
    }
    ms::View product;
    MS_TRY(frame.Output(0, {rows, columns}, &product));

    // The distances in elements of neighbours along the rows, the inner dimension and the columns.
    const int64_t a_row = transpose_a_ ? 1 : inner;
    const int64_t a_inner = transpose_a_ ? rows : 1;
    const int64_t b_inner = transpose_b_ ? 1 : columns;
    const int64_t b_column = transpose_b_ ? inner : 1;
    return Launch(frame, [=, x = a.data<float>(), y = b.data<float>(), to = product.data<float>()] {
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < columns; ++j) {
          float sum = 0;
          for (int64_t k = 0; k < inner; ++k) {
            sum += x[i * a_row + k * a_inner] * y[k * b_inner + j * b_column];
          }
          to[i * columns + j] = sum;
        }
      }
    });
  }

 private:
  bool transpose_a_ = false;
  bool transpose_b_ = false;
};

const ms::Registered mat_mul =
    ms::Register<MatMul>("MatMul", ms::KernelOptions().Device(kDeviceType).Type<float>("T"));
// [docs: end]

// Adds one value to each channel. The channels are the last dimension or the second one.
class BiasAdd {
 public:
  Status Init(const ms::KernelInfo& node) {
    std::string format;
    MS_TRY(node.Attr("data_format", &format));
    channels_first_ = format == "NCHW";
    return Status();
  }

  Status Compute(ms::Frame& frame) const {
    const ms::View x = frame.input(0);
    const ms::View bias = frame.input(1);
    if (x.rank() < 2) return ms::InvalidArgument("no channels in shape ", x.shape().ToString());
    const uint32_t axis = channels_first_ ? 1 : x.rank() - 1;
    const int64_t channels = x.dim(axis);
    if (bias.size() != channels) {
      return ms::InvalidArgument(bias.size(), " biases for ", channels, " channels");
    }
    int64_t inner = 1;
    for (uint32_t i = axis + 1; i < x.rank(); ++i) inner *= x.dim(i);
    ms::View sum;
    MS_TRY(frame.ForwardOrOutput(0, 0, x.shape(), &sum));
    return Launch(frame, [=, size = x.size(), from = x.data<float>(), b = bias.data<float>(),
                          to = sum.data<float>()] {
      for (int64_t i = 0; i < size; ++i) to[i] = from[i] + b[i / inner % channels];
    });
  }

 private:
  bool channels_first_ = false;
};

const ms::Registered bias_add = ms::Register<BiasAdd>(
    "BiasAdd", ms::KernelOptions().Device(kDeviceType).Type<float>("T").InPlace(0, 0));

// [docs: variables]
// variable -= alpha * delta. The kernel holds the locks until the work is enqueued, not until it is
// complete: the stream runs the changes in the order in which they are enqueued.
class GradientDescent {
 public:
  Status Compute(ms::Frame& frame) const {
    const float alpha = *frame.input(1).data<float>();  // a host argument: read it now
    const ms::View delta = frame.input(2);
    ms::VariableLocks locks;
    MS_TRY(frame.LockVariables({{0, MS_LOCK_WRITE}}, &locks));
    ms::View variable;
    MS_TRY(locks.Write(0, &variable));
    if (variable.shape() != delta.shape()) {
      return ms::InvalidArgument("a gradient of shape ", delta.shape().ToString(),
                                 " for a variable of ", variable.shape().ToString());
    }
    return Launch(frame, [alpha, size = delta.size(), to = variable.data<float>(),
                          from = delta.data<float>()] {
      for (int64_t i = 0; i < size; ++i) to[i] -= alpha * from[i];
    });
  }
};

const ms::Registered gradient_descent = ms::Register<GradientDescent>(
    "ResourceApplyGradientDescent",
    ms::KernelOptions().Device(kDeviceType).Type<float>("T").HostArg("alpha"));
// [docs: end]

}  // namespace
}  // namespace acme
