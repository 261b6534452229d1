// Two ops of our own. One needs memory of the device for a while; the other ends later than its
// Compute returns.
#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>

#include "device.h"
#include "millstream/plugin_ops.hpp"

namespace acme {
namespace {

using ms::Status;

Status SameShape(ms::ShapeContext& node) { return node.SetOutput(0, node.input(0)); }
Status OneNumber(ms::ShapeContext& node) { return node.SetOutputDims(0, {}); }

const ms::Registered normalize_op =
    ms::RegisterOp(ms::OpDefinition("AcmeNormalize")
                       .Input("x: float")
                       .Output("y: float")
                       .Doc("x divided by the root of the mean of its squares.")
                       .Shape(&SameShape));
const ms::Registered count_op =
    ms::RegisterOp(ms::OpDefinition("AcmeCountPositive")
                       .Input("x: float")
                       .Output("n: int32")
                       .Doc("How many elements of x are greater than 0.")
                       .Shape(&OneNumber));

// [docs: scratch]
// Two pieces of work, one after the other. The first leaves the sum in scratch memory of the
// device, where the second finds it.
class Normalize {
 public:
  Status Compute(ms::Frame& frame) const {
    const ms::View x = frame.input(0);
    ms::View y;
    MS_TRY(frame.ForwardOrOutput(0, 0, x.shape(), &y));
    ms::View scratch;
    MS_TRY(frame.DeviceTemp(sizeof(double), &scratch));
    const int64_t size = x.size();
    const auto* const from = x.data<float>();
    auto* const sum = scratch.data<double>();
    MS_TRY(Launch(frame, [size, from, sum] {
      *sum = 0;
      for (int64_t i = 0; i < size; ++i) *sum += double{from[i]} * from[i];
    }));
    return Launch(frame, [size, from, sum, to = y.data<float>()] {
      const double root = std::sqrt(*sum / static_cast<double>(size));
      for (int64_t i = 0; i < size; ++i) to[i] = static_cast<float>(from[i] / root);
    });
  }
};

const ms::Registered normalize =
    ms::Register<Normalize>("AcmeNormalize", ms::KernelOptions().Device(kDeviceType).InPlace(0, 0));
// [docs: end]

// [docs: async]
// The result is in host memory, where the rest of the step reads it at once. So the execution ends
// when the work is complete, and not when ComputeAsync returns: the thread is free meanwhile.
class CountPositive {
 public:
  void ComputeAsync(ms::Frame frame, ms::Done done) const {
    const ms::View x = frame.input(0);
    ms::View count;
    const Status allocated = frame.Output(0, {}, &count);
    if (!allocated.ok()) return done(allocated);
    // Work that is dropped, because the device is lost, ends the execution too: when the last
    // holder of a Done goes, it reports an error.
    const auto shared = std::make_shared<ms::Done>(std::move(done));
    const Status launched = Launch(
        frame, [shared, size = x.size(), from = x.data<float>(), to = count.data<int32_t>()] {
          int32_t n = 0;
          for (int64_t i = 0; i < size; ++i) n += from[i] > 0 ? 1 : 0;
          *to = n;
          (*shared)(Status());
        });
    if (!launched.ok()) (*shared)(launched);
  }
};

const ms::Registered count_positive = ms::Register<CountPositive>(
    "AcmeCountPositive", ms::KernelOptions().Device(kDeviceType).HostArg("n"));
// [docs: end]

}  // namespace
}  // namespace acme
