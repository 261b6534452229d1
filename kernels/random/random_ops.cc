// RandomUniform, RandomUniformInt, RandomStandardNormal and TruncatedNormal.
//
// Output i of an execution is a function of the stream's position and of i alone, so the bits do
// not depend on how the work is cut.
#include <algorithm>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"
#include "kernels/common/parallel.h"
#include "kernels/random/distributions.h"
#include "kernels/random/philox.h"

namespace millstream::kernels {
namespace {

// Every execution uses up this much of the node's stream for each output, however little it needs:
// room for rejection, and the same for all distributions.
constexpr uint64_t kReservedBlocksPerOutput = 256;

// The shape that argument `shape` spells out.
ms::Status ReadShape(const ms::View& view, ms::Shape* shape) {
  MS_TRY(ReadIndexVector(view, "shape", shape));
  int64_t elements = 1;
  for (uint32_t i = 0; i < shape->rank(); ++i) {
    if ((*shape)[i] < 0) {
      return ms::InvalidArgument("shape[", i, "] = ", (*shape)[i], " is negative");
    }
    if (__builtin_mul_overflow(elements, (*shape)[i], &elements)) {
      return ms::InvalidArgument("shape = ", shape->ToString(),
                                 " has more elements than 64 bits can count");
    }
  }
  return ms::Status();
}

ms::Status Reserve(ms::Frame& frame, int64_t outputs, PhiloxPosition* position) {
  return frame.ReserveRandom(static_cast<uint64_t>(outputs) * kReservedBlocksPerOutput,
                             &position->key, position->counter.data());
}

// Fills the output from successive blocks of the stream.
template <typename T, typename Sampler>
ms::Status FillFromBlocks(ms::Frame& frame, const Sampler& sampler, const ms::View& output) {
  const int64_t size = output.size();
  PhiloxPosition start;
  MS_TRY(Reserve(frame, size, &start));
  T* const values = output.data<T>();
  constexpr int64_t kBlocksPerChunk = 256;
  constexpr int64_t kOutputsPerChunk = kBlocksPerChunk * Sampler::kOutputsPerBlock;
  const uint64_t chunks = static_cast<uint64_t>((size + kOutputsPerChunk - 1) / kOutputsPerChunk);
  MS_TRY(StoppableFor(
      frame, chunks, kOutputsPerChunk * Sampler::kCostPerOutput, [&](uint64_t begin, uint64_t end) {
        alignas(64) uint32_t words[4 * kBlocksPerChunk];
        for (uint64_t chunk = begin; chunk < end; ++chunk) {
          const int64_t first = static_cast<int64_t>(chunk) * kOutputsPerChunk;
          const int64_t count = std::min(kOutputsPerChunk, size - first);
          const int64_t blocks =
              (count + Sampler::kOutputsPerBlock - 1) / Sampler::kOutputsPerBlock;
          PhiloxFill(start.Advanced(chunk * kBlocksPerChunk), static_cast<uint64_t>(blocks), words);
          sampler(words, count, values + first);
        }
      }));
  return ms::Status();
}

// Input: shape.
template <typename T, typename Sampler>
class FixedCostRandom {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    ms::Shape shape;
    MS_TRY(ReadShape(frame.input(0), &shape));
    ms::View output;
    MS_TRY(frame.Output(0, shape, &output));
    if (output.size() == 0) return ms::Status();
    return FillFromBlocks<T>(frame, Sampler(), output);
  }
};
template <typename T>
using RandomUniform = FixedCostRandom<T, UniformSampler<T>>;
template <typename T>
using RandomStandardNormal = FixedCostRandom<T, NormalSampler<T>>;

// Inputs: shape, minval, maxval (exclusive).
template <typename T>
class RandomUniformInt {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    ms::Shape shape;
    T low{};
    T high{};
    MS_TRY(ReadShape(frame.input(0), &shape));
    MS_TRY(ReadBound(frame.input(1), "minval", &low));
    MS_TRY(ReadBound(frame.input(2), "maxval", &high));
    ms::View output;
    MS_TRY(frame.Output(0, shape, &output));
    // An empty range is no harm where nothing is drawn from it.
    if (output.size() == 0) return ms::Status();
    if (low >= high) {
      return ms::InvalidArgument("minval must be smaller than maxval, but minval = ", low,
                                 " and maxval = ", high);
    }
    using Unsigned = std::make_unsigned_t<T>;
    const Unsigned first = static_cast<Unsigned>(low);
    const Unsigned range = static_cast<Unsigned>(high) - first;
    return FillFromBlocks<T>(frame, IntegerSampler<T>{first, range}, output);
  }

 private:
  static ms::Status ReadBound(const ms::View& view, std::string_view name, T* value) {
    if (view.rank() != 0) {
      return ms::InvalidArgument(name, " must be a scalar, but has shape ",
                                 view.shape().ToString());
    }
    *value = *view.data<T>();
    return ms::Status();
  }
};

// Input: shape. Outputs come in groups, each from a stretch of the stream of its own.
template <typename T>
class TruncatedNormal {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    ms::Shape shape;
    MS_TRY(ReadShape(frame.input(0), &shape));
    ms::View output;
    MS_TRY(frame.Output(0, shape, &output));
    const int64_t size = output.size();
    if (size == 0) return ms::Status();
    PhiloxPosition start;
    MS_TRY(Reserve(frame, size, &start));
    T* const values = output.data<T>();
    constexpr int64_t kGroup = 4 / kWordsPerUniform<T>;
    constexpr uint64_t kBlocksPerGroup = kGroup * kReservedBlocksPerOutput / 4;
    const uint64_t groups = static_cast<uint64_t>((size + kGroup - 1) / kGroup);
    MS_TRY(StoppableFor(frame, groups, 80, [=](uint64_t begin, uint64_t end) {
      for (uint64_t group = begin; group < end; ++group) {
        const int64_t first = static_cast<int64_t>(group) * kGroup;
        TruncatedNormals(start.Advanced(group * kBlocksPerGroup), std::min(kGroup, size - first),
                         values + first);
      }
    }));
    return ms::Status();
  }
};

ms::KernelOptions ShapeOnHost() {
  return ms::KernelOptions().Types("T", IndexTypes()).HostArg("shape");
}

template <template <typename> class Kernel>
ms::Registered RegisterForFloats(const char* op) {
  return ms::RegisterForTypes<Kernel, float, double, Float16, BFloat16>(op, "dtype", ShapeOnHost());
}

const ms::Registered random_uniform = RegisterForFloats<RandomUniform>("RandomUniform");
const ms::Registered random_standard_normal =
    RegisterForFloats<RandomStandardNormal>("RandomStandardNormal");
const ms::Registered truncated_normal = RegisterForFloats<TruncatedNormal>("TruncatedNormal");
const ms::Registered random_uniform_int = ms::RegisterForTypes<RandomUniformInt, int32_t, int64_t>(
    "RandomUniformInt", "Tout", ShapeOnHost().HostArg("minval").HostArg("maxval"));

}  // namespace
}  // namespace millstream::kernels
