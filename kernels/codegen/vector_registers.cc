#include "kernels/codegen/vector_registers.h"

#include <algorithm>

namespace millstream::kernels {
namespace {

using Instruction = VectorProgram::Instruction;

// Of each value: the last instruction that reads it; itself when none does.
std::vector<size_t> LastReaders(const std::vector<Instruction>& instructions) {
  std::vector<size_t> last(instructions.size());
  for (size_t i = 0; i < instructions.size(); ++i) {
    const Instruction& instruction = instructions[i];
    last[i] = i;
    const int operands = VectorProgram::Operands(instruction.code);
    if (operands >= 1) last[instruction.a] = i;
    if (operands >= 2) last[instruction.b] = i;
  }
  return last;
}

// Invariants take registers from the last one down, others the first that is free, so that neither
// gets what the other one had in an iteration before.
class Registers {
 public:
  explicit Registers(int available)
      : taken_(static_cast<size_t>(available), false), first_invariant_(available) {}

  // False when there is none left.
  bool TakeForInvariant(uint8_t* taken) {
    if (first_invariant_ == used_) return false;
    *taken = static_cast<uint8_t>(--first_invariant_);
    return true;
  }

  bool Take(uint8_t* taken) {
    const auto free = std::find(taken_.begin(), taken_.begin() + first_invariant_, false);
    const auto index = static_cast<int>(free - taken_.begin());
    if (index == first_invariant_) return false;
    taken_[static_cast<size_t>(index)] = true;
    used_ = std::max(used_, index + 1);
    *taken = static_cast<uint8_t>(index);
    return true;
  }

  void Free(uint8_t index) {
    if (index < first_invariant_) taken_[index] = false;
  }

 private:
  std::vector<bool> taken_;
  int used_ = 0;  // registers that values other than invariants have had, from the first
  int first_invariant_;
};

}  // namespace

RegisterAssignment AssignRegisters(const VectorProgram& program, int available) {
  const std::vector<Instruction>& instructions = program.instructions();
  const std::vector<size_t> last_readers = LastReaders(instructions);
  RegisterAssignment assignment;
  assignment.registers.resize(instructions.size(), 0);
  Registers registers(available);
  for (size_t i = 0; i < instructions.size(); ++i) {
    const Instruction& instruction = instructions[i];
    uint8_t* const assigned = &assignment.registers[i];
    if (VectorProgram::IsInvariant(instruction.code)) {
      if (!registers.TakeForInvariant(assigned)) return assignment;
      ++assignment.instructions;
      continue;
    }
    // A result may overwrite an operand.
    const int operands = VectorProgram::Operands(instruction.code);
    const auto free_after = [&](VectorProgram::Value value) {
      if (last_readers[value] == i && !VectorProgram::IsInvariant(instructions[value].code)) {
        registers.Free(assignment.registers[value]);
      }
    };
    if (operands >= 1) free_after(instruction.a);
    if (operands >= 2) free_after(instruction.b);
    if (instruction.code != VectorProgram::Code::kStore) {
      if (!registers.Take(assigned)) return assignment;
      if (last_readers[i] == i) registers.Free(*assigned);
    }
    ++assignment.instructions;
  }
  return assignment;
}

}  // namespace millstream::kernels
