// Which register of the processor each value of a VectorProgram has.
#ifndef MILLSTREAM_KERNELS_CODEGEN_VECTOR_REGISTERS_H_
#define MILLSTREAM_KERNELS_CODEGEN_VECTOR_REGISTERS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/codegen/vector_program.h"

namespace millstream::kernels {

struct RegisterAssignment {
  // Of each value; of a kStore, 0.
  std::vector<uint8_t> registers;
  // The instructions, from the first, for which there are enough. An invariant keeps its register
  // throughout; another value gives it back after its last reader.
  size_t instructions = 0;
};

// With registers 0 to `available` - 1. A program cut off after the first `instructions` of the
// result, with other kStores than before only where values are made, can be assigned as a whole.
RegisterAssignment AssignRegisters(const VectorProgram& program, int available);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_CODEGEN_VECTOR_REGISTERS_H_
