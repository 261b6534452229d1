// RandomUniform, RandomUniformInt, RandomStandardNormal and TruncatedNormal; the same as functions
// of an input: StatelessRandomUniform, StatelessRandomUniformInt, StatelessRandomUniformFullInt,
// StatelessRandomNormal and StatelessTruncatedNormal; and from a variable: StatefulUniform,
// StatefulUniformInt, StatefulUniformFullInt, StatefulStandardNormal, StatefulStandardNormalV2 and
// StatefulTruncatedNormal.
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
#include "kernels/random/random_state.h"

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

// Where an execution finds its numbers: in the node's stream, of which it takes a part, in one that
// input 1, seed, is the name of, or in that of the variable of input 0, of which it takes a part.
enum class Stream { kOfNode, kOfSeed, kOfVariable };

// Input 1 of ops that have a seed: two numbers.
ms::Status CheckSeed(const ms::View& seed) {
  if (seed.rank() == 1 && seed.dim(0) == 2) return ms::Status();
  return ms::InvalidArgument("seed must have shape [2], but has ", seed.shape().ToString());
}

// The stream is that of the block of a fixed key which the seed counts to: any seeds are as good.
PhiloxPosition StreamOfSeed(const ms::View& seed) {
  PhiloxPosition start;
  start.key = uint64_t{0x02461e29} << 32 | 0x3ec8f720;
  start.counter = {static_cast<uint64_t>(IndexAt(seed, 0)),
                   static_cast<uint64_t>(IndexAt(seed, 1))};
  const PhiloxBlock mixed = PhiloxAt(start);
  PhiloxPosition stream;
  stream.key = uint64_t{mixed[1]} << 32 | mixed[0];
  stream.counter = {0, uint64_t{mixed[3]} << 32 | mixed[2]};
  return stream;
}

template <Stream kStream>
ms::Status FindStart(ms::Frame& frame, int64_t outputs, PhiloxPosition* position) {
  if constexpr (kStream == Stream::kOfSeed) {
    *position = StreamOfSeed(frame.input(1));
    return ms::Status();
  }
  if constexpr (kStream == Stream::kOfVariable) {
    return MoveState(frame, static_cast<uint64_t>(outputs) * kReservedBlocksPerOutput, position);
  }
  return frame.ReserveRandom(static_cast<uint64_t>(outputs) * kReservedBlocksPerOutput,
                             &position->key, position->counter.data());
}

// The output, of the shape that an input says.
template <Stream kStream>
ms::Status ShapedOutput(ms::Frame& frame, ms::View* output) {
  ms::Shape shape;
  // Between a variable and the shape there may be the algorithm.
  const uint32_t input = kStream != Stream::kOfVariable ? 0 : frame.num_inputs() == 2 ? 1 : 2;
  MS_TRY(ReadShape(frame.input(input), &shape));
  if constexpr (kStream == Stream::kOfSeed) MS_TRY(CheckSeed(frame.input(1)));
  return frame.Output(0, shape, output);
}

// Fills the output from successive blocks of the stream.
template <typename T, Stream kStream, typename Sampler>
ms::Status FillFromBlocks(ms::Frame& frame, const Sampler& sampler, const ms::View& output) {
  const int64_t size = output.size();
  PhiloxPosition start;
  MS_TRY(FindStart<kStream>(frame, size, &start));
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

// Inputs: shape, and seed in some ops.
template <typename T, Stream kStream, typename Sampler>
class FixedCostRandom {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    ms::View output;
    MS_TRY(ShapedOutput<kStream>(frame, &output));
    if (output.size() == 0) return ms::Status();
    return FillFromBlocks<T, kStream>(frame, Sampler(), output);
  }
};
template <typename T>
using RandomUniform = FixedCostRandom<T, Stream::kOfNode, UniformSampler<T>>;
template <typename T>
using RandomStandardNormal = FixedCostRandom<T, Stream::kOfNode, NormalSampler<T>>;
template <typename T>
using StatelessRandomUniform = FixedCostRandom<T, Stream::kOfSeed, UniformSampler<T>>;
template <typename T>
using StatelessRandomNormal = FixedCostRandom<T, Stream::kOfSeed, NormalSampler<T>>;
template <typename T>
using StatelessRandomUniformFullInt = FixedCostRandom<T, Stream::kOfSeed, FullIntegerSampler<T>>;
template <typename T>
using StatefulUniform = FixedCostRandom<T, Stream::kOfVariable, UniformSampler<T>>;
template <typename T>
using StatefulStandardNormal = FixedCostRandom<T, Stream::kOfVariable, NormalSampler<T>>;
template <typename T>
using StatefulUniformFullInt = FixedCostRandom<T, Stream::kOfVariable, FullIntegerSampler<T>>;

// Inputs: shape, seed in some ops, minval, maxval (exclusive).
template <typename T, Stream kStream>
class UniformInt {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    T low{};
    T high{};
    const uint32_t bounds = frame.num_inputs() - 2;
    MS_TRY(ReadBound(frame.input(bounds), "minval", &low));
    MS_TRY(ReadBound(frame.input(bounds + 1), "maxval", &high));
    ms::View output;
    MS_TRY(ShapedOutput<kStream>(frame, &output));
    // An empty range is no harm where nothing is drawn from it.
    if (output.size() == 0) return ms::Status();
    if (low >= high) {
      return ms::InvalidArgument("minval must be smaller than maxval, but minval = ", low,
                                 " and maxval = ", high);
    }
    using Unsigned = std::make_unsigned_t<T>;
    const Unsigned first = static_cast<Unsigned>(low);
    const Unsigned range = static_cast<Unsigned>(high) - first;
    return FillFromBlocks<T, kStream>(frame, IntegerSampler<T>{first, range}, output);
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

template <typename T>
using RandomUniformInt = UniformInt<T, Stream::kOfNode>;
template <typename T>
using StatelessRandomUniformInt = UniformInt<T, Stream::kOfSeed>;
template <typename T>
using StatefulUniformInt = UniformInt<T, Stream::kOfVariable>;

// Inputs: shape, and seed in some ops. Outputs come in groups, each from a stretch of the stream of
// its own.
template <typename T, Stream kStream>
class TruncatedRandom {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    ms::View output;
    MS_TRY(ShapedOutput<kStream>(frame, &output));
    const int64_t size = output.size();
    if (size == 0) return ms::Status();
    PhiloxPosition start;
    MS_TRY(FindStart<kStream>(frame, size, &start));
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

template <typename T>
using TruncatedNormal = TruncatedRandom<T, Stream::kOfNode>;
template <typename T>
using StatelessTruncatedNormal = TruncatedRandom<T, Stream::kOfSeed>;
template <typename T>
using StatefulTruncatedNormal = TruncatedRandom<T, Stream::kOfVariable>;

ms::KernelOptions ShapeOnHost() {
  return ms::KernelOptions().Types("T", IndexTypes()).HostArg("shape");
}

ms::KernelOptions WithSeed() { return ShapeOnHost().Types("Tseed", IndexTypes()); }

ms::KernelOptions OfVariable() {
  return ms::KernelOptions()
      .Types("shape_dtype", IndexTypes())
      .HostArg("algorithm")
      .HostArg("shape");
}

template <template <typename> class Kernel>
ms::Registered RegisterForFloats(const char* op, const ms::KernelOptions& options = ShapeOnHost()) {
  return ms::RegisterForTypes<Kernel, float, double, Float16, BFloat16>(op, "dtype", options);
}

const ms::Registered random_uniform = RegisterForFloats<RandomUniform>("RandomUniform");
const ms::Registered random_standard_normal =
    RegisterForFloats<RandomStandardNormal>("RandomStandardNormal");
const ms::Registered truncated_normal = RegisterForFloats<TruncatedNormal>("TruncatedNormal");
const ms::Registered random_uniform_int = ms::RegisterForTypes<RandomUniformInt, int32_t, int64_t>(
    "RandomUniformInt", "Tout", ShapeOnHost().HostArg("minval").HostArg("maxval"));
const ms::Registered stateless_uniform =
    RegisterForFloats<StatelessRandomUniform>("StatelessRandomUniform", WithSeed());
const ms::Registered stateless_normal =
    RegisterForFloats<StatelessRandomNormal>("StatelessRandomNormal", WithSeed());
const ms::Registered stateless_truncated =
    RegisterForFloats<StatelessTruncatedNormal>("StatelessTruncatedNormal", WithSeed());
const ms::Registered stateless_uniform_int =
    ms::RegisterForTypes<StatelessRandomUniformInt, int32_t, int64_t>(
        "StatelessRandomUniformInt", "dtype", WithSeed().HostArg("minval").HostArg("maxval"));
const ms::Registered stateless_uniform_full_int =
    ms::RegisterForTypes<StatelessRandomUniformFullInt, int32_t, int64_t, uint32_t, uint64_t>(
        "StatelessRandomUniformFullInt", "dtype", WithSeed());
const ms::Registered stateful_uniform =
    RegisterForFloats<StatefulUniform>("StatefulUniform", OfVariable());
const ms::Registered stateful_normal = RegisterForFloats<StatefulStandardNormal>(
    "StatefulStandardNormal",
    ms::KernelOptions().Types("shape_dtype", IndexTypes()).HostArg("shape"));
const ms::Registered stateful_normal_v2 =
    RegisterForFloats<StatefulStandardNormal>("StatefulStandardNormalV2", OfVariable());
const ms::Registered stateful_truncated =
    RegisterForFloats<StatefulTruncatedNormal>("StatefulTruncatedNormal", OfVariable());
const ms::Registered stateful_uniform_int =
    ms::RegisterForTypes<StatefulUniformInt, int32_t, int64_t, uint32_t, uint64_t>(
        "StatefulUniformInt", "dtype", OfVariable().HostArg("minval").HostArg("maxval"));
const ms::Registered stateful_uniform_full_int =
    ms::RegisterForTypes<StatefulUniformFullInt, int32_t, int64_t, uint32_t, uint64_t>(
        "StatefulUniformFullInt", "dtype", OfVariable());

}  // namespace
}  // namespace millstream::kernels
