#include "kernels/random/random_state.h"

#include <random>

#include "kernels/array/indices.h"

namespace millstream::kernels {
namespace {

// The number that graphs have for Philox, the one algorithm there is.
constexpr int64_t kPhilox = 1;
constexpr int64_t kPhiloxElements = 3;
// What ops that draw into a variable's stream take for each number.
constexpr uint64_t kReservedBlocks = 256;

ms::Status CheckAlgorithm(int64_t algorithm) {
  if (algorithm == kPhilox) return ms::Status();
  return ms::InvalidArgument("Unsupported algorithm id: ", algorithm,
                             ", the algorithm of resource must be ", kPhilox, " (Philox)");
}

}  // namespace

ms::Status MoveState(ms::Frame& frame, uint64_t blocks, PhiloxPosition* position) {
  int64_t algorithm = kPhilox;
  const bool is_in_variable = frame.num_inputs() == 2;
  if (!is_in_variable) {
    MS_TRY(ReadIndexScalar(frame.input(1), "algorithm", &algorithm));
    MS_TRY(CheckAlgorithm(algorithm));
  }
  ms::VariableLocks locks;
  MS_TRY(frame.LockVariables({{0, MS_LOCK_WRITE}}, &locks));
  ms::View variable;
  MS_TRY(locks.Write(0, &variable));
  const int64_t first = is_in_variable ? 1 : 0;
  if (variable.dtype() != MS_INT64 || variable.rank() != 1 ||
      variable.dim(0) < first + kPhiloxElements) {
    return ms::InvalidArgument("resource must be a variable of int64, a vector of ",
                               first + kPhiloxElements, " elements, but has shape ",
                               variable.shape().ToString());
  }
  int64_t* const state = variable.data<int64_t>();
  if (is_in_variable) MS_TRY(CheckAlgorithm(state[0]));
  position->counter = {static_cast<uint64_t>(state[first]),
                       static_cast<uint64_t>(state[first + 1])};
  position->key = static_cast<uint64_t>(state[first + 2]);
  const PhiloxPosition next = position->Advanced(blocks);
  state[first] = static_cast<int64_t>(next.counter[0]);
  state[first + 1] = static_cast<int64_t>(next.counter[1]);
  return ms::Status();
}

namespace {

class RngSkip {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    int64_t numbers = 0;
    MS_TRY(ReadIndexScalar(frame.input(2), "delta", &numbers));
    PhiloxPosition position;
    return MoveState(frame, static_cast<uint64_t>(numbers) * kReservedBlocks, &position);
  }
};

// Numbers that the operating system draws.
template <typename T>
class NonDeterministicInts {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    ms::Shape shape;
    MS_TRY(ReadIndexVector(frame.input(0), "shape", &shape));
    int64_t elements = 1;
    for (const int64_t size : shape) {
      if (size < 0 || __builtin_mul_overflow(elements, size, &elements)) {
        return ms::InvalidArgument("shape ", shape.ToString(),
                                   " has a negative size or too many elements");
      }
    }
    ms::View output;
    MS_TRY(frame.Output(0, shape, &output));
    std::random_device device;
    constexpr int64_t kNumbersAQuestion = 1 << 14;
    for (int64_t i = 0; i < elements; ++i) {
      if (i % kNumbersAQuestion == 0) MS_TRY(frame.CheckCancelled());
      const uint64_t low = device();
      output.data<T>()[i] = static_cast<T>(uint64_t{device()} << 32 | low);
    }
    return ms::Status();
  }
};

const ms::Registered skip =
    ms::Register<RngSkip>("RngSkip", ms::KernelOptions().HostArg("algorithm").HostArg("delta"));
const ms::Registered non_deterministic =
    ms::RegisterForTypes<NonDeterministicInts, int32_t, int64_t, uint32_t, uint64_t>(
        "NonDeterministicInts", "dtype",
        ms::KernelOptions().Types("shape_dtype", IndexTypes()).HostArg("shape"));

}  // namespace
}  // namespace millstream::kernels
