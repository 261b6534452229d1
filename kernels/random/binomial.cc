// StatefulRandomBinomial: how many of a number of trials succeed, by rejection.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"
#include "kernels/common/narrow_float.h"
#include "kernels/common/parallel.h"
#include "kernels/elementwise/broadcast.h"
#include "kernels/random/drawn_numbers.h"
#include "kernels/random/random_state.h"

namespace millstream::kernels {
namespace {

// Each number of trials up to the next success is geometric. L. Devroye: Non-uniform random variate
// generation (1986), section X.4.3. For few successes.
double DrawByWaiting(double count, double chance, Numbers* numbers) {
  const double log_failure = std::log1p(-chance);
  double trials = 0;
  for (double successes = 0;; ++successes) {
    trials += std::ceil(std::log(numbers->Uniform()) / log_failure);
    if (!(trials <= count)) return successes;
  }
}

// log(k!) - ((k + 1/2) log(k + 1) - (k + 1) + log(2 pi) / 2): the tail of Stirling's series.
double StirlingTail(double k) {
  constexpr double kHalfLogTwoPi = 0.91893853320467274178;
  if (k <= 9) {
    double factorial = 1;
    for (double i = 2; i <= k; ++i) factorial *= i;
    return std::log(factorial) - ((k + 0.5) * std::log(k + 1) - (k + 1) + kHalfLogTwoPi);
  }
  const double square = (k + 1) * (k + 1);
  return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

// W. Hoermann: The generation of binomial random variates (1993), algorithm BTRS. For chance <= 1/2
// and count * chance >= 10.
double DrawByRejection(double count, double chance, Numbers* numbers) {
  const double odds = chance / (1 - chance);
  const double deviation = std::sqrt(count * chance * (1 - chance));
  const double b = 1.15 + 2.53 * deviation;
  const double a = -0.0873 + 0.0248 * b + 0.01 * chance;
  const double center = count * chance + 0.5;
  const double tight = 0.92 - 4.2 / b;
  const double alpha = (2.83 + 5.1 / b) * deviation;
  const double mode = std::floor((count + 1) * chance);
  const double of_mode = (mode + 0.5) * std::log((mode + 1) / (odds * (count - mode + 1))) +
                         StirlingTail(mode) + StirlingTail(count - mode);
  for (;;) {
    const double u = numbers->Uniform() - 0.5;
    const double v = numbers->Uniform();
    const double distance = 0.5 - std::fabs(u);
    const double k = std::floor((2 * a / distance + b) * u + center);
    if (distance >= 0.07 && v <= tight) return k;
    if (!(k >= 0 && k <= count)) continue;
    const double s = std::log(v * alpha / (a / (distance * distance) + b));
    const double t = of_mode + (count + 1) * std::log((count - mode + 1) / (count - k + 1)) +
                     (k + 0.5) * std::log(odds * (count - k + 1) / (k + 1)) - StirlingTail(k) -
                     StirlingTail(count - k);
    if (s <= t) return k;
  }
}

// How far apart the numbers of each way begin in the stream.
constexpr uint64_t kRejectionBlocks = 256;
constexpr uint64_t kWaitingBlocks = 42;

// A product of parameters, in their type, as other programs compute it to choose the way.
double Rounded(double product, MS_DType dtype) {
  if (dtype == MS_FLOAT16) {
    return static_cast<double>(static_cast<float>(Float16(static_cast<float>(product))));
  }
  return dtype == MS_FLOAT32 ? static_cast<double>(static_cast<float>(product)) : product;
}

// Number i of a stream. Parameters for which nothing can be drawn have a NaN.
double DrawBinomial(double count, double chance, MS_DType dtype, const PhiloxPosition& stream,
                    uint64_t i) {
  if (count <= 0 || chance <= 0) return 0;
  if (std::isnan(count)) return count;
  if (chance >= 1) return count;
  if (std::isnan(chance) || std::isinf(count)) return std::numeric_limits<double>::quiet_NaN();
  const bool is_likely = chance > 0.5;
  const double rarer = is_likely ? 1 - chance : chance;
  const bool rejects = Rounded(count * rarer, dtype) >= 10;
  Numbers numbers(stream.Advanced(i * (rejects ? kRejectionBlocks : kWaitingBlocks)));
  const double found =
      rejects ? DrawByRejection(count, rarer, &numbers) : DrawByWaiting(count, rarer, &numbers);
  return is_likely ? count - found : found;
}

bool EndsWith(const ms::Shape& shape, const ms::Shape& end) {
  return shape.rank() >= end.rank() && std::equal(end.begin(), end.end(), shape.end() - end.rank());
}

// Inputs: the state, the algorithm, the shape, and the parameters. The shape ends with that of the
// broadcast parameters, the batches. Streams are shared with other programs: how far the state
// moves and which part of the stream an element has are part of the contract.
class StatefulRandomBinomial {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    ms::Shape shape;
    MS_TRY(ReadIndexVector(frame.input(2), "shape", &shape));
    int64_t elements = 1;
    for (const int64_t size : shape) {
      if (size < 0 || __builtin_mul_overflow(elements, size, &elements)) {
        return ms::InvalidArgument("shape ", shape.ToString(),
                                   " has a negative size or too many elements");
      }
    }
    const ms::View counts = frame.input(3);
    const ms::View chances = frame.input(4);
    if (!CanBroadcast(counts.shape(), chances.shape())) {
      return ms::InvalidArgument("counts and probs must have compatible batch dimensions, but ",
                                 "have the shapes ", counts.shape().ToString(), " and ",
                                 chances.shape().ToString());
    }
    BroadcastPlan plan;
    MS_TRY(PlanBroadcast(counts.shape(), chances.shape(), &plan));
    if (!EndsWith(shape, plan.output)) {
      return ms::InvalidArgument("Shape passed in must end with broadcasted shape: shape is ",
                                 shape.ToString(), ", that of counts and probs ",
                                 plan.output.ToString());
    }
    ms::View output;
    MS_TRY(frame.Output(0, shape, &output));
    const bool is_whole = output.dtype() == MS_INT32 || output.dtype() == MS_INT64;
    if (is_whole && elements > 0) MS_TRY(CheckRange(counts, output.dtype()));
    const uint32_t own_dims = shape.rank() - plan.output.rank();
    const auto samples = static_cast<uint64_t>(DimProduct(shape, 0, own_dims));
    const auto batches = static_cast<uint64_t>(DimProduct(shape, own_dims, shape.rank()));
    PhiloxPosition stream;
    MS_TRY(MoveState(frame, batches * 200 * (samples + 3) / 4 * kReservedBlocksPerOutput, &stream));
    if (elements == 0) return ms::Status();
    return StoppableFor(
        frame, static_cast<uint64_t>(elements), 100, [&](uint64_t begin, uint64_t end) {
          for (uint64_t i = begin; i < end; ++i) {
            const auto batch = static_cast<int64_t>(i / samples);
            const double drawn =
                DrawBinomial(ReadNumber(counts, OperandOffset(plan, plan.x_strides, batch)),
                             ReadNumber(chances, OperandOffset(plan, plan.y_strides, batch)),
                             counts.dtype(), stream, i);
            const auto place = static_cast<int64_t>(i % samples * batches + i / samples);
            WriteNumber(output, place, is_whole && std::isnan(drawn) ? 0 : drawn);
          }
        });
  }

 private:
  // Counts of trials must be numbers of the result's type.
  static ms::Status CheckRange(const ms::View& counts, MS_DType dtype) {
    const double end = dtype == MS_INT32 ? 0x1p31 : 0x1p63;
    for (int64_t i = 0; i < counts.size(); ++i) {
      const double count = ReadNumber(counts, i);
      if (!(count >= end)) continue;
      return ms::InvalidArgument(ElementName("counts", counts.shape(), i), " = ", count,
                                 " is not below ", end);
    }
    return ms::Status();
  }
};

const ms::Registered binomial =
    ms::Register<StatefulRandomBinomial>("StatefulRandomBinomial", ms::KernelOptions()
                                                                       .Types("S", IndexTypes())
                                                                       .HostArg("algorithm")
                                                                       .HostArg("shape")
                                                                       .HostArg("counts")
                                                                       .HostArg("probs"));

}  // namespace
}  // namespace millstream::kernels
