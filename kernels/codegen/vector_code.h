// Generates machine code for VectorPrograms at run time: a loop over elements that keeps
// intermediate values in registers. Each instruction rounds like the same operation in C++, so
// results have the bits of compiled loops, except that an operation on two NaNs may return the
// other one.
#ifndef MILLSTREAM_KERNELS_CODEGEN_VECTOR_CODE_H_
#define MILLSTREAM_KERNELS_CODEGEN_VECTOR_CODE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/codegen/code_memory.h"
#include "kernels/codegen/vector_program.h"

namespace millstream::kernels {

// Sets of instructions that code can be made for.
enum class VectorSet {
  kNone,
  kAvx2,    // vectors of 8 floats, 16 registers
  kAvx512,  // F and DQ: vectors of 16 floats, 32 registers
};

// The one of ChosenInstructionSet (kernels/simd/instruction_set.h).
VectorSet ChosenVectorSet();

// The number of registers that a program may use.
int AvailableRegisters(VectorSet set);

// Functions in memory that can be executed and not written. Immutable, thread-safe.
class VectorCode {
 public:
  // Runs a program for `elements` elements. `table` has the address of each place, as bytes of a
  // float* const*. A value that is stored may lie over what is loaded, element for element, when
  // the program loads before it stores. The pointers that are not used make it a FloatLoop
  // (kernels/elementwise/float_loops.h).
  using Function = void (*)(const float* table, const float* unused_in, float* unused_out,
                            int64_t elements);

  // A function for each program. Null where no code can be made: the system refuses executable
  // memory, `set` is kNone, or a program needs more than AvailableRegisters.
  static std::unique_ptr<VectorCode> Make(const std::vector<VectorProgram>& programs,
                                          VectorSet set);

  Function function(size_t program) const { return functions_[program]; }

 private:
  VectorCode(std::unique_ptr<CodeMemory> memory, std::vector<Function> functions)
      : memory_(std::move(memory)), functions_(std::move(functions)) {}

  const std::unique_ptr<CodeMemory> memory_;
  const std::vector<Function> functions_;
};

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_CODEGEN_VECTOR_CODE_H_
