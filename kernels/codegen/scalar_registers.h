// Which places of scalars are in registers while their instructions run again and again.
#ifndef MILLSTREAM_KERNELS_CODEGEN_SCALAR_REGISTERS_H_
#define MILLSTREAM_KERNELS_CODEGEN_SCALAR_REGISTERS_H_

#include <cstdint>
#include <vector>

#include "kernels/codegen/scalar_instruction.h"

namespace millstream::kernels {

// Whether values of the type are in vector registers, not in general ones.
inline bool IsInVectorRegister(MS_DType dtype) {
  return dtype == MS_FLOAT32 || dtype == MS_FLOAT64;
}

struct ScalarPlace {
  static constexpr int8_t kInMemory = -1;

  int8_t reg = kInMemory;  // of those for its type
  MS_DType dtype = MS_BOOL;
  bool is_loaded = false;  // its register, before the first round
  bool is_stored = false;  // its register, after the last round
};

// Gives registers to the places that are used most among those whose values go from round to round,
// and then to others as long as they are needed. An address is an int64.
//
// Parameters: `kept` are the places whose values are needed after the last round; `general` and
// `vectors` say how many registers there are, 64 at most each.
std::vector<ScalarPlace> AssignScalarRegisters(const std::vector<ScalarInstruction>& instructions,
                                               uint32_t num_places,
                                               const std::vector<uint32_t>& kept, int general,
                                               int vectors);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_CODEGEN_SCALAR_REGISTERS_H_
