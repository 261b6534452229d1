// StatefulRandomBinomial: how many of a number of trials succeed, by rejection.
#include <cmath>
#include <cstdint>
#include <limits>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"
#include "kernels/common/parallel.h"
#include "kernels/random/drawn_numbers.h"
#include "kernels/random/random_state.h"

namespace millstream::kernels {
namespace {

// Each number of trials up to the next success is geometric. L. Devroye: Non-uniform random variate
// generation (1986), section X.4.3. For few successes.
double DrawByWaiting(double count, double chance, Numbers* numbers) {
  const double scale = 1 / std::log1p(-chance);
  double trials = 0;
  for (double successes = 0;; ++successes) {
    trials += std::ceil(std::log(numbers->Uniform()) * scale);
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

// Parameters for which nothing can be drawn have a NaN.
double DrawBinomial(double count, double chance, Numbers* numbers) {
  if (std::isnan(count) || std::isnan(chance) || std::isinf(count)) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (chance <= 0 || count <= 0) return 0;
  if (chance >= 1) return count;
  const bool is_likely = chance > 0.5;
  const double rarer = is_likely ? 1 - chance : chance;
  const double found = count * rarer >= 10 ? DrawByRejection(count, rarer, numbers)
                                           : DrawByWaiting(count, rarer, numbers);
  return is_likely ? count - found : found;
}

// Inputs: the state, the algorithm, the shape, whose first dimension are batches, and the
// parameters, of one or all of them.
class StatefulRandomBinomial {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    ms::Shape shape;
    MS_TRY(ReadIndexVector(frame.input(2), "shape", &shape));
    if (shape.rank() == 0) return ms::InvalidArgument("shape must not be empty");
    int64_t elements = 1;
    for (const int64_t size : shape) {
      if (size < 0 || __builtin_mul_overflow(elements, size, &elements)) {
        return ms::InvalidArgument("shape ", shape.ToString(),
                                   " has a negative size or too many elements");
      }
    }
    const ms::View counts = frame.input(3);
    const ms::View chances = frame.input(4);
    MS_TRY(CheckParameter(counts, "counts", shape[0]));
    MS_TRY(CheckParameter(chances, "probs", shape[0]));
    ms::View output;
    MS_TRY(frame.Output(0, shape, &output));
    if (elements == 0) return ms::Status();
    const bool is_whole = output.dtype() == MS_INT32 || output.dtype() == MS_INT64;
    if (is_whole) MS_TRY(CheckRange(counts, output.dtype()));
    PhiloxPosition start;
    MS_TRY(MoveState(frame, static_cast<uint64_t>(elements) * kReservedBlocksPerOutput, &start));
    const int64_t samples = elements / shape[0];
    return StoppableFor(
        frame, static_cast<uint64_t>(elements), 100, [&](uint64_t begin, uint64_t end) {
          for (uint64_t i = begin; i < end; ++i) {
            const auto place = static_cast<int64_t>(i);
            const int64_t batch = place / samples;
            Numbers numbers(start.Advanced(i * kReservedBlocksPerOutput));
            const double drawn =
                DrawBinomial(ReadNumber(counts, counts.size() == 1 ? 0 : batch),
                             ReadNumber(chances, chances.size() == 1 ? 0 : batch), &numbers);
            WriteNumber(output, place, is_whole && std::isnan(drawn) ? 0 : drawn);
          }
        });
  }

 private:
  static ms::Status CheckParameter(const ms::View& view, const char* name, int64_t batches) {
    if (view.rank() == 0 || (view.rank() == 1 && (view.dim(0) == 1 || view.dim(0) == batches))) {
      return ms::Status();
    }
    return ms::InvalidArgument(name, " must be one number or ", batches,
                               ", one a batch, but has shape ", view.shape().ToString());
  }

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
