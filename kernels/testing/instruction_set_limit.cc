// Limits a test to the instruction set that its environment names (narrow_sets of ms_kernel_test).
#include <cstdlib>

#include "kernels/simd/instruction_set.h"

namespace millstream::kernels {
namespace {

const bool was_limited = [] {
  const char* const name = std::getenv("MILLSTREAM_TEST_ISA");
  const auto set = InstructionSetNamed(name == nullptr ? "" : name);
  if (!set) std::abort();
  LimitInstructionSet(*set);
  return true;
}();

}  // namespace
}  // namespace millstream::kernels
