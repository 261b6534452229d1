// Multinomial and StatelessMultinomial: classes drawn by the logarithms of their probabilities.
//
// Sample j of row b is drawn by number b * num_samples + j of the stream, so the bits do not depend
// on how the work is cut.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"
#include "kernels/common/parallel.h"
#include "kernels/random/distributions.h"
#include "kernels/random/philox.h"

namespace millstream::kernels {
namespace {

// How many blocks of the node's stream an execution uses up for each number that it makes room for.
constexpr uint64_t kReservedBlocks = 256;

// ---- Logits of any type as doubles ----

using Widen = void (*)(const ms::View& view, int64_t begin, int64_t count, double* out);

template <typename T>
void WidenFrom(const ms::View& view, int64_t begin, int64_t count, double* out) {
  const T* const from = view.data<T>() + begin;
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<double>(ComputeTypeOf<T>(from[i]));
}

struct LogitType {
  MS_DType dtype;
  Widen widen;
};

constexpr LogitType kLogitTypes[] = {
    {MS_FLOAT32, WidenFrom<float>},   {MS_FLOAT64, WidenFrom<double>},
    {MS_FLOAT16, WidenFrom<Float16>}, {MS_BFLOAT16, WidenFrom<BFloat16>},
    {MS_INT8, WidenFrom<int8_t>},     {MS_INT16, WidenFrom<int16_t>},
    {MS_INT32, WidenFrom<int32_t>},   {MS_INT64, WidenFrom<int64_t>},
    {MS_UINT8, WidenFrom<uint8_t>},   {MS_UINT16, WidenFrom<uint16_t>},
    {MS_UINT32, WidenFrom<uint32_t>}, {MS_UINT64, WidenFrom<uint64_t>},
};

std::vector<MS_DType> LogitTypes() {
  std::vector<MS_DType> types;
  for (const LogitType& type : kLogitTypes) types.push_back(type.dtype);
  return types;
}

Widen WidenOf(MS_DType dtype) {
  for (const LogitType& type : kLogitTypes) {
    if (type.dtype == dtype) return type.widen;
  }
  return nullptr;
}

// ---- Drawing ----

// Replaces the logits by the sums of the probabilities up to each class, times a common factor.
// Returns the sum of all. Classes whose logit is not finite are never drawn.
double Accumulate(double* logits, int64_t classes) {
  double largest = std::numeric_limits<double>::lowest();
  for (int64_t i = 0; i < classes; ++i) {
    if (std::isfinite(logits[i])) largest = std::max(largest, logits[i]);
  }
  double sum = 0;
  for (int64_t i = 0; i < classes; ++i) {
    if (std::isfinite(logits[i])) sum += std::exp(logits[i] - largest);
    logits[i] = sum;
  }
  return sum;
}

// Number `i` of the doubles that the stream gives from `start` on.
double UniformAt(const PhiloxPosition& start, uint64_t i) {
  const PhiloxBlock block = PhiloxAt(start.Advanced(i / 2));
  const size_t word = 2 * (i % 2);
  return UniformDouble(block[word], block[word + 1]);
}

template <typename Class>
void DrawRow(const double* sums, int64_t classes, const PhiloxPosition& start, uint64_t first,
             int64_t samples, Class* out) {
  const double total = sums[classes - 1];
  for (int64_t j = 0; j < samples; ++j) {
    const double at = UniformAt(start, first + static_cast<uint64_t>(j)) * total;
    out[j] = static_cast<Class>(std::upper_bound(sums, sums + classes, at) - sums);
  }
}

ms::Status Draw(ms::Frame& frame, const PhiloxPosition& start, const ms::View& output) {
  const ms::View logits = frame.input(0);
  const int64_t rows = logits.dim(0);
  const int64_t classes = logits.dim(1);
  const int64_t samples = output.dim(1);
  const Widen widen = WidenOf(logits.dtype());
  ms::View scratch;
  MS_TRY(frame.Temp(static_cast<uint64_t>(logits.size()) * sizeof(double), &scratch));
  double* const sums = scratch.data<double>();
  const uint64_t cost_ns = 8 * static_cast<uint64_t>(classes) + 40 * static_cast<uint64_t>(samples);
  return StoppableFor(
      frame, static_cast<uint64_t>(rows), cost_ns, [&](uint64_t begin, uint64_t end) {
        for (uint64_t row = begin; row < end; ++row) {
          const auto b = static_cast<int64_t>(row);
          double* const own = sums + b * classes;
          widen(logits, b * classes, classes, own);
          Accumulate(own, classes);
          const uint64_t first = row * static_cast<uint64_t>(samples);
          if (output.dtype() == MS_INT32) {
            DrawRow(own, classes, start, first, samples, output.data<int32_t>() + b * samples);
          } else {
            DrawRow(own, classes, start, first, samples, output.data<int64_t>() + b * samples);
          }
        }
      });
}

// Checks logits and num_samples, inputs 0 and 1, and requests the output.
ms::Status RequestOutput(ms::Frame& frame, ms::View* output) {
  const ms::View logits = frame.input(0);
  if (logits.rank() != 2) {
    return ms::InvalidArgument("logits should be a matrix, got shape ", logits.shape().ToString());
  }
  int64_t samples = 0;
  MS_TRY(ReadIndexScalar(frame.input(1), "num_samples", &samples));
  if (samples < 0) {
    return ms::InvalidArgument("num_samples should be nonnegative, got ", samples);
  }
  if (logits.dim(1) == 0) {
    return ms::InvalidArgument("logits: num_classes should be positive, got shape ",
                               logits.shape().ToString());
  }
  return frame.Output(0, {logits.dim(0), samples}, output);
}

// Inputs: logits [rows, classes], num_samples.
class Multinomial {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    ms::View output;
    MS_TRY(RequestOutput(frame, &output));
    if (output.size() == 0) return ms::Status();
    // A double takes two numbers, and each row's share is a multiple of four doubles.
    const auto samples = static_cast<uint64_t>(output.dim(1));
    const uint64_t numbers = static_cast<uint64_t>(output.dim(0)) * ((samples + 3) / 4 * 4) * 2;
    PhiloxPosition start;
    MS_TRY(frame.ReserveRandom(numbers * kReservedBlocks, &start.key, start.counter.data()));
    return Draw(frame, start, output);
  }
};

// The place in a stream that two numbers of the user's choice stand for. They are scrambled, so
// that it does not matter which of their bits differ.
PhiloxPosition PositionOf(uint64_t first, uint64_t second) {
  constexpr uint64_t kKey = (uint64_t{0x02461e29} << 32) | 0x3ec8f720;
  const PhiloxBlock mixed = PhiloxAt({kKey, {first, second}});
  const auto join = [](uint32_t low, uint32_t high) { return (uint64_t{high} << 32) | low; };
  return {join(mixed[0], mixed[1]), {0, join(mixed[2], mixed[3])}};
}

// Inputs: logits [rows, classes], num_samples, seed (two numbers).
class StatelessMultinomial {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    const ms::View seed = frame.input(2);
    if (seed.rank() != 1 || seed.dim(0) != 2) {
      return ms::InvalidArgument("seed must have shape [2], not ", seed.shape().ToString());
    }
    const PhiloxPosition start = PositionOf(static_cast<uint64_t>(IndexAt(seed, 0)),
                                            static_cast<uint64_t>(IndexAt(seed, 1)));
    ms::View output;
    MS_TRY(RequestOutput(frame, &output));
    if (output.size() == 0) return ms::Status();
    return Draw(frame, start, output);
  }
};

ms::KernelOptions Options() {
  return ms::KernelOptions()
      .Types("T", LogitTypes())
      .Types("output_dtype", IndexTypes())
      .HostArg("num_samples");
}

const ms::Registered multinomial = ms::Register<Multinomial>("Multinomial", Options());
const ms::Registered stateless_multinomial = ms::Register<StatelessMultinomial>(
    "StatelessMultinomial", Options().Types("Tseed", IndexTypes()).HostArg("seed"));

}  // namespace
}  // namespace millstream::kernels
