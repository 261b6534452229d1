// Generates machine code for loops over scalars at run time, with what goes from round to round in
// registers. Each instruction rounds like the same operation in C++, so results have the bits of
// compiled functions, except that an operation on two NaNs may return the other one.
#ifndef MILLSTREAM_KERNELS_CODEGEN_SCALAR_CODE_H_
#define MILLSTREAM_KERNELS_CODEGEN_SCALAR_CODE_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/codegen/code_memory.h"
#include "kernels/codegen/scalar_instruction.h"

namespace millstream::kernels {

// A function in memory that can be executed and not written. Immutable, thread-safe.
class ScalarCode {
 public:
  // Runs the instructions on places once, and again as long as the bool at the condition's place
  // holds then, at most `most` times. REQUIRES: most > 0. Returns how many times are left.
  using Function = int64_t (*)(void* places, int64_t most);

  // `kept`: places whose values are needed afterwards; the condition is one. Null where no code can
  // be made: the processor has no AVX2 or is limited to less (kernels/simd/instruction_set.h), the
  // system refuses executable memory, or an instruction is kOther.
  static std::unique_ptr<ScalarCode> Make(const std::vector<ScalarInstruction>& instructions,
                                          uint32_t num_places, uint32_t condition,
                                          std::vector<uint32_t> kept);

  Function function() const { return function_; }

 private:
  ScalarCode(std::unique_ptr<CodeMemory> memory, Function function)
      : memory_(std::move(memory)), function_(function) {}

  const std::unique_ptr<CodeMemory> memory_;
  const Function function_;
};

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_CODEGEN_SCALAR_CODE_H_
