#include "kernels/simd/instruction_set.h"

#include <algorithm>

namespace millstream::kernels {

namespace internal {
InstructionSet chosen_instruction_set = InstructionSet::kBaseline;
}  // namespace internal

namespace {

bool is_limited = false;

// While the plugin is loaded. Kernels that run earlier, of which there are none, would keep to the
// baseline.
const bool was_chosen = [] {
  if (!is_limited) internal::chosen_instruction_set = WidestInstructionSet();
  return true;
}();

}  // namespace

std::optional<InstructionSet> InstructionSetNamed(std::string_view name) {
  if (name == "baseline") return InstructionSet::kBaseline;
  if (name == "avx2") return InstructionSet::kAvx2;
  if (name == "avx512") return InstructionSet::kAvx512;
  return std::nullopt;
}

InstructionSet WidestInstructionSet() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
    return InstructionSet::kBaseline;
  }
  const bool has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  return has_avx512 ? InstructionSet::kAvx512 : InstructionSet::kAvx2;
#else
  return InstructionSet::kBaseline;
#endif
}

void LimitInstructionSet(InstructionSet most) {
  is_limited = true;
  internal::chosen_instruction_set = std::min(most, WidestInstructionSet());
}

}  // namespace millstream::kernels
