// RandomGamma, RandomPoisson, RandomPoissonV2: numbers of distributions with a parameter, by
// rejection.
//
// Each number has a stretch of 256 blocks of the stream of its own, so the bits do not depend on
// how the work is cut. Streams are shared with other programs: each formula, its order of
// operations included, and the order in which words are used up, is part of the contract. All is
// computed in float64.
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"
#include "kernels/common/parallel.h"
#include "kernels/random/drawn_numbers.h"
#include "kernels/random/philox.h"

namespace millstream::kernels {
namespace {

// G. Marsaglia, W. Tsang: A simple method for generating gamma variables (2000). A shape below 1 is
// raised by 1, and the number multiplied by a power of a uniform one.
double DrawGamma(double alpha, double, Numbers* numbers) {
  if (alpha == 1) return -std::log1p(-numbers->Uniform());
  const bool is_small = alpha < 1;
  const double d = alpha + (is_small ? 2.0 / 3 : -1.0 / 3);
  const double c = 1.0 / 3 / std::sqrt(d);
  for (;;) {
    const double x = numbers->Normal();
    double v = 1 + c * x;
    if (v <= 0) continue;
    v = v * v * v;
    const double u = numbers->Uniform();
    if ((u < 1 - 0.0331 * (x * x) * (x * x)) ||
        (std::log(u) < 0.5 * x * x + d * (1 - v + std::log(v)))) {
      const double result = d * v;
      return is_small ? result * std::pow(numbers->Uniform(), 1 / alpha) : result;
    }
    if (std::isnan(v)) return v;
  }
}

// The number of uniform numbers whose product stays above e^-rate (D. Knuth: The Art of Computer
// Programming, volume 2, section 3.4.1); none for a negative rate.
double DrawSmallPoisson(double rate, Numbers* numbers) {
  const double end = std::exp(-rate);
  double product = 1;
  for (double count = 0;; ++count) {
    product = product * numbers->Uniform();
    if (product <= end) return count;
  }
}

// W. Hoermann: The transformed rejection method for generating Poisson random variables (1993).
double DrawPoisson(double rate, double largest, Numbers* numbers) {
  if (rate < 10) return DrawSmallPoisson(rate, numbers);
  const double log_rate = std::log(rate);
  const double b = 0.931 + 2.53 * std::sqrt(rate);
  const double a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
  for (;;) {
    const double u = numbers->Uniform() - 0.5;
    const double v = numbers->Uniform();
    const double distance = 0.5 - std::fabs(u);
    const double k = std::floor((2 * a / distance + b) * u + rate + 0.43);
    if (k > largest) continue;
    if (distance >= 0.07 && v <= 0.9277 - 3.6224 / (b - 2)) return k;
    if (k < 0 || (distance < 0.013 && v > distance)) continue;
    const double s = std::log(v * inverse_alpha / (a / (distance * distance) + b));
    int sign = 0;
    const double t = -rate + k * log_rate - lgamma_r(k + 1, &sign);
    if (s <= t) return k;
  }
}

// The largest number of a type that every float64 below it can be.
double LargestOf(MS_DType dtype) {
  switch (dtype) {
    case MS_FLOAT16: return 65504;
    case MS_FLOAT32: return std::numeric_limits<float>::max();
    case MS_INT32: return std::numeric_limits<int32_t>::max();
    case MS_INT64: return 9223372036854774784.0;
    default: return std::numeric_limits<double>::max();
  }
}

// Inputs: the shape of the numbers of each parameter, and the parameters. The output has the
// dimensions of both.
class DrawWithParameter {
 public:
  struct Row {
    double (*draw)(double parameter, double largest, Numbers* numbers);
    const char* rate;  // the argument whose elements must be in the range of the result, or null
  };

  explicit DrawWithParameter(const Row& row) : row_(row) {}

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View parameters = frame.input(1);
    ms::Shape shape;
    MS_TRY(ReadIndexVector(frame.input(0), "shape", &shape));
    int64_t samples = 1;
    for (uint32_t d = 0; d < shape.rank(); ++d) {
      if (shape[d] < 0) {
        return ms::InvalidArgument("shape[", d, "] = ", shape[d], " is negative");
      }
      if (__builtin_mul_overflow(samples, shape[d], &samples)) {
        return ms::InvalidArgument("shape = ", shape.ToString(),
                                   " has more elements than 63 bits can count");
      }
    }
    for (uint32_t d = 0; d < parameters.rank(); ++d) shape.Append(parameters.dim(d));
    ms::View output;
    MS_TRY(frame.Output(0, shape, &output));
    if (output.size() == 0) return ms::Status();
    const double largest = LargestOf(output.dtype());
    if (row_.rate != nullptr) MS_TRY(CheckRates(parameters, largest));
    PhiloxPosition start;
    MS_TRY(frame.ReserveRandom(static_cast<uint64_t>(output.size()) * kReservedBlocksPerOutput,
                               &start.key, start.counter.data()));
    return StoppableFor(
        frame, static_cast<uint64_t>(output.size()), 100, [&](uint64_t begin, uint64_t end) {
          for (uint64_t i = begin; i < end; ++i) {
            const auto place = static_cast<int64_t>(i);
            const int64_t parameter = place / samples;
            Numbers numbers(start.Advanced(i * kReservedBlocksPerOutput));
            WriteNumber(output, place % samples * parameters.size() + parameter,
                        row_.draw(ReadNumber(parameters, parameter), largest, &numbers));
          }
        });
  }

 private:
  // Of a rate that is not in the range of the result nearly no number would be accepted.
  ms::Status CheckRates(const ms::View& rates, double largest) const {
    for (int64_t i = 0; i < rates.size(); ++i) {
      const double rate = ReadNumber(rates, i);
      if (rate < largest) continue;
      return ms::InvalidArgument(ElementName(row_.rate, rates.shape(), i), " = ", rate,
                                 " is not below ", largest);
    }
    return ms::Status();
  }

  const Row& row_;
};

constexpr DrawWithParameter::Row kGamma = {&DrawGamma, nullptr};
constexpr DrawWithParameter::Row kPoisson = {&DrawPoisson, "rate"};

ms::KernelOptions Options() {
  return ms::KernelOptions().Types("S", IndexTypes()).HostArg("shape");
}

const ms::Registered gamma =
    ms::RegisterRow<DrawWithParameter>("RandomGamma", kGamma, Options().HostArg("alpha"));
const ms::Registered poisson =
    ms::RegisterRow<DrawWithParameter>("RandomPoisson", kPoisson, Options().HostArg("rate"));
const ms::Registered poisson_v2 =
    ms::RegisterRow<DrawWithParameter>("RandomPoissonV2", kPoisson, Options().HostArg("rate"));

}  // namespace
}  // namespace millstream::kernels
