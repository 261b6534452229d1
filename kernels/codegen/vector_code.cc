#include "kernels/codegen/vector_code.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "kernels/codegen/assembler.h"
#include "kernels/codegen/vector_registers.h"
#include "kernels/simd/instruction_set.h"

namespace millstream::kernels {

#if defined(__x86_64__)
namespace {

using Code = VectorProgram::Code;
using Instruction = VectorProgram::Instruction;

// At most, of code: an instruction is three of the processor's, of 11 bytes, in each of two loops,
// and loads an address in each; a function's frame.
constexpr size_t kInstructionBytes = 2 * (3 * 11 + 8);
constexpr size_t kFrameBytes = 512;

// x86-64's convention: the table of addresses is the first argument, elements the fourth.
class FunctionWriter : private Xbyak::CodeGenerator {
 public:
  FunctionWriter(uint8_t* memory, size_t bytes, VectorSet set)
      : Xbyak::CodeGenerator(bytes, memory),
        wide_(set == VectorSet::kAvx512),
        vector_bytes_(wide_ ? 64 : 32),
        mask_(Vector(15)),
        temporary_(Vector(14)) {
    Xbyak::ClearError();
  }

  VectorCode::Function Write(const VectorProgram& program, const RegisterAssignment& assignment);

  // Whether nothing failed so far.
  bool ok() const { return Xbyak::GetError() == Xbyak::ERR_NONE; }

 private:
  // Of the width that the set has.
  Xbyak::Xmm Vector(int index) const {
    return Xbyak::Xmm(wide_ ? Xbyak::Operand::ZMM : Xbyak::Operand::YMM, index);
  }
  Xbyak::Xmm RegisterOf(VectorProgram::Value value) const {
    return Vector(assignment_->registers[value]);
  }

  void LoadAddresses(const VectorProgram& program);
  void LoadInvariants(const VectorProgram& program);
  void MaskRest();
  void Body(const VectorProgram& program, bool masked);
  void Compute(const Instruction& instruction, const Xbyak::Xmm& result);
  void KeepWhere(const Instruction& instruction, const Xbyak::Xmm& result);
  void PassNaN(const Instruction& instruction, const Xbyak::Xmm& result);
  Xbyak::Address Element(uint32_t place);
  void Load(const Xbyak::Xmm& result, uint32_t place, bool masked);
  void Store(const Xbyak::Xmm& value, uint32_t place, bool masked);

  const bool wide_;
  const int vector_bytes_;
  // General registers
  const Xbyak::Reg64& table_ = rdi;
  const Xbyak::Reg64& rest_ = rcx;                             // bytes to go
  const Xbyak::Reg64& at_ = rdx;                               // bytes done
  const Xbyak::Reg64 addresses_[5] = {rsi, r8, r9, r10, r11};  // of the first places of a program
  // Masks of AVX-512: of the elements that are there, and of a comparison. AVX2 has vectors
  // instead, which no value gets.
  const Xbyak::Opmask& present_ = k1;
  const Xbyak::Opmask& holds_ = k2;
  const Xbyak::Xmm mask_;
  const Xbyak::Xmm temporary_;
  // Of the program that is being written.
  const RegisterAssignment* assignment_ = nullptr;
  std::vector<uint32_t> places_;  // whose addresses are in registers
  Xbyak::Xmm zero_;
};

VectorCode::Function FunctionWriter::Write(const VectorProgram& program,
                                           const RegisterAssignment& assignment) {
  assignment_ = &assignment;
  align(16);
  const uint8_t* const start = getCurr();
  endbr64();
  LoadAddresses(program);
  LoadInvariants(program);
  shl(rest_, 2);
  xor_(at_, at_);
  Xbyak::Label loop;
  Xbyak::Label tail;
  Xbyak::Label done;
  cmp(rest_, vector_bytes_);
  jb(tail, T_NEAR);
  align(16);
  L(loop);
  Body(program, false);
  add(at_, vector_bytes_);
  sub(rest_, vector_bytes_);
  cmp(rest_, vector_bytes_);
  jae(loop, T_NEAR);
  L(tail);
  test(rest_, rest_);
  jz(done, T_NEAR);
  MaskRest();
  Body(program, true);
  L(done);
  vzeroupper();
  ret();
  VectorCode::Function function;
  static_assert(sizeof(function) == sizeof(start));
  std::memcpy(&function, &start, sizeof(function));
  return function;
}

void FunctionWriter::LoadAddresses(const VectorProgram& program) {
  places_.clear();
  for (const Instruction& instruction : program.instructions()) {
    if (instruction.code != Code::kLoad && instruction.code != Code::kStore) continue;
    if (places_.size() == std::size(addresses_)) return;
    if (std::count(places_.begin(), places_.end(), instruction.number) > 0) continue;
    mov(addresses_[places_.size()], ptr[table_ + instruction.number * sizeof(float*)]);
    places_.push_back(instruction.number);
  }
}

void FunctionWriter::LoadInvariants(const VectorProgram& program) {
  for (size_t i = 0; i < program.instructions().size(); ++i) {
    const Instruction& instruction = program.instructions()[i];
    const Xbyak::Xmm result = RegisterOf(static_cast<uint32_t>(i));
    if (instruction.code == Code::kNumber) {
      // Broadcasts read the lowest element of the first 128 bits.
      const Xbyak::Xmm lowest(result.getIdx());
      mov(eax, instruction.number);
      vmovd(lowest, eax);
      vbroadcastss(result, lowest);
      if (instruction.number == 0) zero_ = result;
    } else if (instruction.code == Code::kBroadcast) {
      mov(rax, ptr[table_ + instruction.number * sizeof(float*)]);
      vbroadcastss(result, dword[rax]);
    }
  }
}

// The mask of the first elements of a vector, of which there are rest_ / 4.
void FunctionWriter::MaskRest() {
  if (wide_) {
    shr(rest_, 2);
    mov(eax, 1);
    shl(eax, cl);
    sub(eax, 1);
    kmovw(present_, eax);
    return;
  }
  // Of eight times all ones and eight times zero, those from the right place on.
  Xbyak::Label ones;
  Xbyak::Label after;
  lea(rax, ptr[rip + ones]);
  sub(rax, rest_);
  vmovups(mask_, ptr[rax + vector_bytes_]);
  jmp(after, T_NEAR);
  L(ones);
  for (int i = 0; i < 16; ++i) dd(i < 8 ? 0xffffffff : 0);
  L(after);
}

void FunctionWriter::Body(const VectorProgram& program, bool masked) {
  for (size_t i = 0; i < program.instructions().size(); ++i) {
    const Instruction& instruction = program.instructions()[i];
    if (VectorProgram::IsInvariant(instruction.code)) continue;
    if (instruction.code == Code::kLoad) {
      Load(RegisterOf(static_cast<uint32_t>(i)), instruction.number, masked);
    } else if (instruction.code == Code::kStore) {
      Store(RegisterOf(instruction.a), instruction.number, masked);
    } else {
      Compute(instruction, RegisterOf(static_cast<uint32_t>(i)));
    }
  }
}

void FunctionWriter::Compute(const Instruction& instruction, const Xbyak::Xmm& result) {
  constexpr uint8_t kDownQuietly = 9;
  const Xbyak::Xmm a = RegisterOf(instruction.a);
  const Xbyak::Xmm b = RegisterOf(instruction.b);
  switch (instruction.code) {
    case Code::kAdd: return vaddps(result, a, b);
    case Code::kSub: return vsubps(result, a, b);
    case Code::kMul: return vmulps(result, a, b);
    case Code::kDiv: return vdivps(result, a, b);
    case Code::kMax: return vmaxps(result, a, b);
    case Code::kMin: return vminps(result, a, b);
    case Code::kAnd: return vandps(result, a, b);
    case Code::kXor: return vxorps(result, a, b);
    case Code::kSqrt: return vsqrtps(result, a);
    case Code::kFloor:
      return wide_ ? vrndscaleps(result, a, kDownQuietly) : vroundps(result, a, kDownQuietly);
    case Code::kKeepWhere: return KeepWhere(instruction, result);
    case Code::kPassNaN: return PassNaN(instruction, result);
    default: return;
  }
}

void FunctionWriter::KeepWhere(const Instruction& instruction, const Xbyak::Xmm& result) {
  const Xbyak::Xmm a = RegisterOf(instruction.a);
  const Xbyak::Xmm b = RegisterOf(instruction.b);
  const auto comparison = static_cast<uint8_t>(instruction.comparison);
  if (wide_) {
    vcmpps(holds_, a, zero_, comparison);
    vmovaps(result | holds_ | T_z, b);
  } else {
    vcmpps(temporary_, a, zero_, comparison);
    vandps(result, temporary_, b);
  }
}

void FunctionWriter::PassNaN(const Instruction& instruction, const Xbyak::Xmm& result) {
  constexpr uint8_t kUnordered = 3;
  const Xbyak::Xmm a = RegisterOf(instruction.a);
  const Xbyak::Xmm b = RegisterOf(instruction.b);
  if (wide_) {
    vcmpps(holds_, b, b, kUnordered);
    vblendmps(result | holds_, a, b);
  } else {
    vcmpps(temporary_, b, b, kUnordered);
    vblendvps(result, a, b, temporary_);
  }
}

Xbyak::Address FunctionWriter::Element(uint32_t place) {
  for (size_t i = 0; i < places_.size(); ++i) {
    if (places_[i] == place) return ptr[addresses_[i] + at_];
  }
  mov(rax, ptr[table_ + place * sizeof(float*)]);
  return ptr[rax + at_];
}

void FunctionWriter::Load(const Xbyak::Xmm& result, uint32_t place, bool masked) {
  const Xbyak::Address element = Element(place);
  if (!masked) {
    vmovups(result, element);
  } else if (wide_) {
    vmovups(result | present_ | T_z, element);
  } else {
    vmaskmovps(result, mask_, element);
  }
}

void FunctionWriter::Store(const Xbyak::Xmm& value, uint32_t place, bool masked) {
  const Xbyak::Address element = Element(place);
  if (!masked) {
    vmovups(element, value);
  } else if (wide_) {
    vmovups(element | present_, value);
  } else {
    vmaskmovps(element, mask_, value);
  }
}

}  // namespace
#endif

VectorSet ChosenVectorSet() {
  switch (ChosenInstructionSet()) {
    case InstructionSet::kAvx512: return VectorSet::kAvx512;
    case InstructionSet::kAvx2: return VectorSet::kAvx2;
    case InstructionSet::kBaseline: break;
  }
  return VectorSet::kNone;
}

int AvailableRegisters(VectorSet set) {
  switch (set) {
    case VectorSet::kAvx512: return 32;
    case VectorSet::kAvx2: return 14;  // two are masks
    default: return 0;
  }
}

std::unique_ptr<VectorCode> VectorCode::Make(const std::vector<VectorProgram>& programs,
                                             VectorSet set) {
#if defined(__x86_64__)
  if (set == VectorSet::kNone) return nullptr;
  std::vector<RegisterAssignment> assignments;
  size_t bytes = 0;
  for (const VectorProgram& program : programs) {
    assignments.push_back(AssignRegisters(program, AvailableRegisters(set)));
    if (assignments.back().instructions < program.instructions().size()) return nullptr;
    bytes += kFrameBytes + program.instructions().size() * kInstructionBytes;
  }
  std::unique_ptr<CodeMemory> memory = CodeMemory::Make(bytes);
  if (memory == nullptr) return nullptr;
  FunctionWriter writer(memory->data(), memory->bytes(), set);
  std::vector<Function> functions;
  for (size_t i = 0; i < programs.size(); ++i) {
    functions.push_back(writer.Write(programs[i], assignments[i]));
  }
  if (!writer.ok() || !memory->MakeExecutable()) return nullptr;
  return std::unique_ptr<VectorCode>(new VectorCode(std::move(memory), std::move(functions)));
#else
  return nullptr;
#endif
}

}  // namespace millstream::kernels
