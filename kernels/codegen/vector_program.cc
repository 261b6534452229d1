#include "kernels/codegen/vector_program.h"

#include <cstring>

namespace millstream::kernels {

int VectorProgram::Operands(Code code) {
  switch (code) {
    case Code::kNumber:
    case Code::kBroadcast:
    case Code::kLoad: return 0;
    case Code::kStore:
    case Code::kSqrt:
    case Code::kFloor: return 1;
    default: return 2;
  }
}

VectorProgram::Value VectorProgram::Number(float number) {
  uint32_t bits;
  std::memcpy(&bits, &number, sizeof(bits));
  return Bits(bits);
}

VectorProgram::Value VectorProgram::KeepWhere(Comparison comparison, Value a, Value b) {
  // Machine code compares with a register.
  Number(0);
  return Append({Code::kKeepWhere, a, b, 0, comparison});
}

VectorProgram::Value VectorProgram::Append(Instruction instruction) {
  instructions_.push_back(instruction);
  return static_cast<Value>(instructions_.size() - 1);
}

VectorProgram::Value VectorProgram::Invariant(Code code, uint32_t number) {
  const auto [entry, is_new] = invariants_.try_emplace({code, number});
  if (is_new) entry->second = Append({code, 0, 0, number});
  return entry->second;
}

}  // namespace millstream::kernels
