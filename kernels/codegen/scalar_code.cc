#include "kernels/codegen/scalar_code.h"

#include <cstddef>
#include <cstring>
#include <utility>

#include "kernels/codegen/assembler.h"
#include "kernels/codegen/scalar_registers.h"
#include "kernels/simd/instruction_set.h"

namespace millstream::kernels {

#if defined(__x86_64__)
namespace {

using Code = ScalarInstruction::Code;

// At most, of code: an instruction is twelve of the processor's, of 10 bytes; a place is read
// before the loop and written after it; a function's frame.
constexpr size_t kInstructionBytes = 12 * 10;
constexpr size_t kPlaceBytes = 2 * 24;
constexpr size_t kFrameBytes = 512;
constexpr size_t kPlaceSize = 8;

// By their numbers in Intel's manual, volume 2, VCMPPS. No quiet NaN makes them signal.
constexpr uint8_t kEqual = 0;
constexpr uint8_t kUnordered = 3;
constexpr uint8_t kNotEqual = 4;

// x86-64's convention: the places are the first argument, how many rounds there are the second.
class LoopWriter : private Xbyak::CodeGenerator {
 public:
  // For values. Others are the arguments, rax, rcx, and the last four vector registers.
  static constexpr int kGeneral = 11;
  static constexpr int kVectors = 12;

  LoopWriter(CodeMemory* memory, const std::vector<ScalarPlace>& places)
      : Xbyak::CodeGenerator(memory->bytes(), memory->data()), places_(places) {
    Xbyak::ClearError();
  }

  ScalarCode::Function Write(const std::vector<ScalarInstruction>& instructions,
                             uint32_t condition);

  // Whether nothing failed so far.
  bool ok() const { return Xbyak::GetError() == Xbyak::ERR_NONE; }

 private:
  static constexpr int kFirstSaved = 5;

  // ---- Values ----

  Xbyak::Address At(uint32_t place) const { return ptr[rdi + place * kPlaceSize]; }
  static Xbyak::Reg Sized(const Xbyak::Reg64& reg, MS_DType dtype) {
    if (dtype == MS_INT64) return reg;
    return reg.cvt32();
  }
  // The register of the place, or `spare` with its value. Bools are 0 or 1.
  Xbyak::Reg64 General(uint32_t place, MS_DType dtype, const Xbyak::Reg64& spare) {
    if (places_[place].reg != ScalarPlace::kInMemory) return general_[places_[place].reg];
    Load(spare, At(place), dtype);
    return spare;
  }
  Xbyak::Xmm Vector(uint32_t place, MS_DType dtype, const Xbyak::Xmm& spare) {
    if (places_[place].reg != ScalarPlace::kInMemory) return Xbyak::Xmm(places_[place].reg);
    Load(spare, At(place), dtype);
    return spare;
  }
  void Load(const Xbyak::Reg64& reg, const Xbyak::Address& from, MS_DType dtype);
  void Load(const Xbyak::Xmm& reg, const Xbyak::Address& from, MS_DType dtype) {
    dtype == MS_FLOAT32 ? vmovss(reg, from) : vmovsd(reg, from);
  }
  void Store(const Xbyak::Address& to, const Xbyak::Reg64& reg, MS_DType dtype);
  void Store(const Xbyak::Address& to, const Xbyak::Xmm& reg, MS_DType dtype) {
    dtype == MS_FLOAT32 ? vmovss(to, reg) : vmovsd(to, reg);
  }
  void Copy(const Xbyak::Reg64& to, const Xbyak::Reg64& from, MS_DType dtype) {
    if (to.getIdx() != from.getIdx()) mov(Sized(to, dtype), Sized(from, dtype));
  }
  // Makes what the register has the value of the place.
  void Keep(uint32_t place, MS_DType dtype, const Xbyak::Reg64& reg) {
    if (places_[place].reg == ScalarPlace::kInMemory) return Store(At(place), reg, dtype);
    Copy(general_[places_[place].reg], reg, dtype);
  }
  // Where to compute the value of a place; Keep follows.
  Xbyak::Xmm Target(uint32_t place) const {
    const int8_t reg = places_[place].reg;
    return reg == ScalarPlace::kInMemory ? result_ : Xbyak::Xmm(reg);
  }
  void Keep(uint32_t place, MS_DType dtype, const Xbyak::Xmm& reg) {
    const int8_t own = places_[place].reg;
    if (own == ScalarPlace::kInMemory) return Store(At(place), reg, dtype);
    if (own != reg.getIdx()) vmovaps(Xbyak::Xmm(own), reg);
  }
  // Sets the zero flag unless the bool holds.
  void Test(uint32_t place) {
    if (places_[place].reg == ScalarPlace::kInMemory) {
      cmp(byte[rdi + place * kPlaceSize], 0);
    } else {
      const Xbyak::Reg32 reg = general_[places_[place].reg].cvt32();
      test(reg, reg);
    }
  }

  // ---- Instructions ----

  void LoadPlaces();
  void StorePlaces();
  void Compute(const ScalarInstruction& instruction);
  void ComputeWhole(const ScalarInstruction& instruction);
  void ComputeReal(const ScalarInstruction& instruction);
  void Extreme(const ScalarInstruction& instruction, const Xbyak::Xmm& x, const Xbyak::Xmm& y);
  void ChangeSign(const ScalarInstruction& instruction, const Xbyak::Xmm& x);
  void CompareWhole(const ScalarInstruction& instruction);
  void CompareReal(const ScalarInstruction& instruction);
  void Choose(const ScalarInstruction& instruction);
  void Move(const ScalarInstruction& instruction);
  void Convert(const ScalarInstruction& instruction);
  void ConvertToBool(const ScalarInstruction& instruction);
  void ConvertToWhole(const ScalarInstruction& instruction);
  void ConvertToReal(const ScalarInstruction& instruction);
  void Take(const ScalarInstruction& instruction);
  void Put(const ScalarInstruction& instruction);
  // The bool of what was compared, by the flags or the lowest bit of a mask.
  void KeepFlag(uint32_t place) {
    movzx(eax, al);
    Keep(place, MS_BOOL, rax);
  }
  void KeepMask(uint32_t place, const Xbyak::Xmm& mask) {
    vmovd(eax, mask);
    and_(eax, 1);
    Keep(place, MS_BOOL, rax);
  }

  const std::vector<ScalarPlace>& places_;
  // From kFirstSaved on, those that a function gives back as they were.
  const Xbyak::Reg64 general_[kGeneral] = {rdx, r8, r9, r10, r11, rbx, rbp, r12, r13, r14, r15};
  const Xbyak::Xmm first_ = xmm12;
  const Xbyak::Xmm second_ = xmm13;
  const Xbyak::Xmm result_ = xmm14;
  const Xbyak::Xmm mask_ = xmm15;
};

ScalarCode::Function LoopWriter::Write(const std::vector<ScalarInstruction>& instructions,
                                       uint32_t condition) {
  const uint8_t* const start = getCurr();
  endbr64();
  for (int i = kFirstSaved; i < kGeneral; ++i) push(general_[i]);
  LoadPlaces();
  Xbyak::Label loop;
  Xbyak::Label done;
  align(16);
  L(loop);
  for (const ScalarInstruction& instruction : instructions) Compute(instruction);
  dec(rsi);
  jz(done, T_NEAR);
  Test(condition);
  jnz(loop, T_NEAR);
  L(done);
  StorePlaces();
  mov(rax, rsi);
  for (int i = kGeneral - 1; i >= kFirstSaved; --i) pop(general_[i]);
  ret();
  ScalarCode::Function function;
  static_assert(sizeof(function) == sizeof(start));
  std::memcpy(&function, &start, sizeof(function));
  return function;
}

void LoopWriter::LoadPlaces() {
  for (uint32_t i = 0; i < places_.size(); ++i) {
    const ScalarPlace& place = places_[i];
    if (!place.is_loaded) continue;
    if (IsInVectorRegister(place.dtype)) {
      Load(Xbyak::Xmm(place.reg), At(i), place.dtype);
    } else {
      Load(general_[place.reg], At(i), place.dtype);
    }
  }
}

void LoopWriter::StorePlaces() {
  for (uint32_t i = 0; i < places_.size(); ++i) {
    const ScalarPlace& place = places_[i];
    if (!place.is_stored) continue;
    if (IsInVectorRegister(place.dtype)) {
      Store(At(i), Xbyak::Xmm(place.reg), place.dtype);
    } else {
      Store(At(i), general_[place.reg], place.dtype);
    }
  }
}

void LoopWriter::Load(const Xbyak::Reg64& reg, const Xbyak::Address& from, MS_DType dtype) {
  if (dtype == MS_BOOL) {
    movzx(reg.cvt32(), byte[from.getRegExp()]);
    return;
  }
  mov(Sized(reg, dtype), from);
}

void LoopWriter::Store(const Xbyak::Address& to, const Xbyak::Reg64& reg, MS_DType dtype) {
  if (dtype == MS_BOOL) return mov(byte[to.getRegExp()], reg.cvt8());
  if (dtype == MS_INT64) return mov(to, reg);
  mov(to, reg.cvt32());
}

void LoopWriter::Compute(const ScalarInstruction& instruction) {
  const bool is_real = IsInVectorRegister(instruction.type);
  switch (instruction.code) {
    case Code::kOther: return;
    case Code::kMove: return Move(instruction);
    case Code::kChoose: return Choose(instruction);
    case Code::kConvert: return Convert(instruction);
    case Code::kTake: return Take(instruction);
    case Code::kPut: return Put(instruction);
    case Code::kEqual:
    case Code::kNotEqual:
    case Code::kLess:
    case Code::kLessEqual:
    case Code::kGreater:
    case Code::kGreaterEqual: return is_real ? CompareReal(instruction) : CompareWhole(instruction);
    default: return is_real ? ComputeReal(instruction) : ComputeWhole(instruction);
  }
}

// On integers and bools: in rax, because the register of the result may be one of an operand's.
void LoopWriter::ComputeWhole(const ScalarInstruction& instruction) {
  const MS_DType type = instruction.type;
  const Xbyak::Reg result = Sized(rax, type);
  Copy(rax, General(instruction.x, type, rax), type);
  const Xbyak::Reg y = Sized(General(instruction.y, type, rcx), type);
  switch (instruction.code) {
    case Code::kAdd: add(result, y); break;
    case Code::kSub: sub(result, y); break;
    case Code::kMul:
    case Code::kSquare: imul(result, y); break;
    case Code::kMaximum:
      cmp(result, y);
      cmovl(result, y);
      break;
    case Code::kMinimum:
      cmp(result, y);
      cmovg(result, y);
      break;
    case Code::kNegative: neg(result); break;
    case Code::kAbsolute:
      neg(result);
      cmovs(result, y);  // which is x
      break;
    case Code::kBoth: and_(result, y); break;
    case Code::kEither: or_(result, y); break;
    case Code::kNot: xor_(result, 1); break;
    default: break;
  }
  Keep(instruction.result, type, rax);
}

void LoopWriter::ComputeReal(const ScalarInstruction& instruction) {
  const MS_DType type = instruction.type;
  const bool is_single = type == MS_FLOAT32;
  const Xbyak::Xmm x = Vector(instruction.x, type, first_);
  const Xbyak::Xmm y = Vector(instruction.y, type, second_);
  const Xbyak::Xmm result = Target(instruction.result);
  switch (instruction.code) {
    case Code::kAdd: is_single ? vaddss(result, x, y) : vaddsd(result, x, y); break;
    case Code::kSub: is_single ? vsubss(result, x, y) : vsubsd(result, x, y); break;
    case Code::kMul:
    case Code::kSquare: is_single ? vmulss(result, x, y) : vmulsd(result, x, y); break;
    case Code::kDiv: is_single ? vdivss(result, x, y) : vdivsd(result, x, y); break;
    case Code::kMaximum:
    case Code::kMinimum: return Extreme(instruction, x, y);
    case Code::kNegative:
    case Code::kAbsolute: return ChangeSign(instruction, x);
    default: break;
  }
  Keep(instruction.result, type, result);
}

// The processor gives its second operand where either is NaN or both are zeros.
void LoopWriter::Extreme(const ScalarInstruction& instruction, const Xbyak::Xmm& x,
                         const Xbyak::Xmm& y) {
  const Xbyak::Xmm result = Target(instruction.result);
  const bool is_largest = instruction.code == Code::kMaximum;
  if (instruction.type == MS_FLOAT32) {
    is_largest ? vmaxss(result_, y, x) : vminss(result_, y, x);
    vcmpss(mask_, y, y, kUnordered);
    vblendvps(result, result_, y, mask_);
  } else {
    is_largest ? vmaxsd(result_, y, x) : vminsd(result_, y, x);
    vcmpsd(mask_, y, y, kUnordered);
    vblendvpd(result, result_, y, mask_);
  }
  Keep(instruction.result, instruction.type, result);
}

void LoopWriter::ChangeSign(const ScalarInstruction& instruction, const Xbyak::Xmm& x) {
  const Xbyak::Xmm result = Target(instruction.result);
  const bool is_single = instruction.type == MS_FLOAT32;
  vpcmpeqd(mask_, mask_, mask_);
  if (instruction.code == Code::kNegative) {
    is_single ? vpslld(mask_, mask_, 31) : vpsllq(mask_, mask_, 63);
    vxorps(result, x, mask_);
  } else {
    is_single ? vpsrld(mask_, mask_, 1) : vpsrlq(mask_, mask_, 1);
    vandps(result, x, mask_);
  }
  Keep(instruction.result, instruction.type, result);
}

void LoopWriter::CompareWhole(const ScalarInstruction& instruction) {
  const MS_DType type = instruction.type;
  const Xbyak::Reg x = Sized(General(instruction.x, type, rax), type);
  cmp(x, Sized(General(instruction.y, type, rcx), type));
  switch (instruction.code) {
    case Code::kEqual: sete(al); break;
    case Code::kNotEqual: setne(al); break;
    case Code::kLess: setl(al); break;
    case Code::kLessEqual: setle(al); break;
    case Code::kGreater: setg(al); break;
    default: setge(al); break;
  }
  KeepFlag(instruction.result);
}

// What is not ordered is not above.
void LoopWriter::CompareReal(const ScalarInstruction& instruction) {
  const MS_DType type = instruction.type;
  const bool is_single = type == MS_FLOAT32;
  Xbyak::Xmm x = Vector(instruction.x, type, first_);
  Xbyak::Xmm y = Vector(instruction.y, type, second_);
  if (instruction.code == Code::kEqual || instruction.code == Code::kNotEqual) {
    const uint8_t comparison = instruction.code == Code::kEqual ? kEqual : kNotEqual;
    is_single ? vcmpss(mask_, x, y, comparison) : vcmpsd(mask_, x, y, comparison);
    return KeepMask(instruction.result, mask_);
  }
  if (instruction.code == Code::kLess || instruction.code == Code::kLessEqual) std::swap(x, y);
  is_single ? vucomiss(x, y) : vucomisd(x, y);
  const bool is_strict = instruction.code == Code::kLess || instruction.code == Code::kGreater;
  is_strict ? seta(al) : setae(al);
  KeepFlag(instruction.result);
}

void LoopWriter::Choose(const ScalarInstruction& instruction) {
  const MS_DType type = instruction.type;
  if (!IsInVectorRegister(type)) {
    Copy(rax, General(instruction.z, type, rax), type);
    const Xbyak::Reg y = Sized(General(instruction.y, type, rcx), type);
    Test(instruction.x);
    cmovnz(Sized(rax, type), y);
    return Keep(instruction.result, type, rax);
  }
  const Xbyak::Xmm y = Vector(instruction.y, type, first_);
  const Xbyak::Xmm z = Vector(instruction.z, type, second_);
  const Xbyak::Xmm result = Target(instruction.result);
  mov(eax, General(instruction.x, MS_BOOL, rax).cvt32());
  neg(rax);
  vmovq(mask_, rax);
  type == MS_FLOAT32 ? vblendvps(result, z, y, mask_) : vblendvpd(result, z, y, mask_);
  Keep(instruction.result, type, result);
}

void LoopWriter::Move(const ScalarInstruction& instruction) {
  const MS_DType type = instruction.type;
  if (IsInVectorRegister(type)) {
    Keep(instruction.result, type, Vector(instruction.x, type, first_));
  } else {
    Keep(instruction.result, type, General(instruction.x, type, rax));
  }
}

void LoopWriter::Convert(const ScalarInstruction& instruction) {
  if (instruction.to == instruction.type) return Move(instruction);
  switch (instruction.to) {
    case MS_BOOL: return ConvertToBool(instruction);
    case MS_INT32:
    case MS_INT64: return ConvertToWhole(instruction);
    default: return ConvertToReal(instruction);
  }
}

void LoopWriter::ConvertToBool(const ScalarInstruction& instruction) {
  const MS_DType type = instruction.type;
  if (!IsInVectorRegister(type)) {
    const Xbyak::Reg x = Sized(General(instruction.x, type, rax), type);
    test(x, x);
    setnz(al);
    return KeepFlag(instruction.result);
  }
  const Xbyak::Xmm x = Vector(instruction.x, type, first_);
  vxorps(mask_, mask_, mask_);
  type == MS_FLOAT32 ? vcmpss(mask_, x, mask_, kNotEqual) : vcmpsd(mask_, x, mask_, kNotEqual);
  KeepMask(instruction.result, mask_);
}

// The processor gives the smallest integer where a number does not fit.
void LoopWriter::ConvertToWhole(const ScalarInstruction& instruction) {
  const MS_DType type = instruction.type;
  if (IsInVectorRegister(type)) {
    const Xbyak::Xmm x = Vector(instruction.x, type, first_);
    if (instruction.to == MS_INT32) {
      type == MS_FLOAT32 ? vcvttss2si(eax, x) : vcvttsd2si(eax, x);
    } else {
      type == MS_FLOAT32 ? vcvttss2si(rax, x) : vcvttsd2si(rax, x);
    }
  } else if (type == MS_INT32) {
    movsxd(rax, General(instruction.x, type, rax).cvt32());
  } else {
    Copy(rax, General(instruction.x, type, rax), type);
  }
  Keep(instruction.result, instruction.to, rax);
}

void LoopWriter::ConvertToReal(const ScalarInstruction& instruction) {
  const MS_DType type = instruction.type;
  const bool to_single = instruction.to == MS_FLOAT32;
  const Xbyak::Xmm result = Target(instruction.result);
  if (IsInVectorRegister(type)) {
    const Xbyak::Xmm x = Vector(instruction.x, type, first_);
    to_single ? vcvtsd2ss(result, x, x) : vcvtss2sd(result, x, x);
  } else {
    const Xbyak::Reg x = Sized(General(instruction.x, type, rax), type);
    vxorps(mask_, mask_, mask_);
    to_single ? vcvtsi2ss(result, mask_, x) : vcvtsi2sd(result, mask_, x);
  }
  Keep(instruction.result, instruction.to, result);
}

size_t ElementBytes(MS_DType dtype) {
  switch (dtype) {
    case MS_BOOL: return 1;
    case MS_INT32:
    case MS_FLOAT32: return 4;
    default: return 8;
  }
}

void LoopWriter::Take(const ScalarInstruction& instruction) {
  const MS_DType type = instruction.type;
  const Xbyak::Reg64 address = General(instruction.x, MS_INT64, rcx);
  sub(address, static_cast<uint32_t>(ElementBytes(type)));
  Keep(instruction.x, MS_INT64, address);
  if (IsInVectorRegister(type)) {
    const Xbyak::Xmm result = Target(instruction.result);
    Load(result, ptr[address], type);
    Keep(instruction.result, type, result);
  } else {
    Load(rax, ptr[address], type);
    Keep(instruction.result, type, rax);
  }
}

void LoopWriter::Put(const ScalarInstruction& instruction) {
  const MS_DType type = instruction.type;
  const Xbyak::Reg64 address = General(instruction.result, MS_INT64, rcx);
  if (IsInVectorRegister(type)) {
    Store(ptr[address], Vector(instruction.x, type, first_), type);
  } else {
    Store(ptr[address], General(instruction.x, type, rax), type);
  }
  add(address, static_cast<uint32_t>(ElementBytes(type)));
  Keep(instruction.result, MS_INT64, address);
}

}  // namespace
#endif

std::unique_ptr<ScalarCode> ScalarCode::Make(const std::vector<ScalarInstruction>& instructions,
                                             uint32_t num_places, uint32_t condition,
                                             std::vector<uint32_t> kept) {
#if defined(__x86_64__)
  if (ChosenInstructionSet() == InstructionSet::kBaseline) return nullptr;
  for (const ScalarInstruction& instruction : instructions) {
    if (instruction.code == Code::kOther) return nullptr;
  }
  kept.push_back(condition);
  const std::vector<ScalarPlace> places = AssignScalarRegisters(
      instructions, num_places, kept, LoopWriter::kGeneral, LoopWriter::kVectors);
  std::unique_ptr<CodeMemory> memory = CodeMemory::Make(
      kFrameBytes + instructions.size() * kInstructionBytes + num_places * kPlaceBytes);
  if (memory == nullptr) return nullptr;
  LoopWriter writer(memory.get(), places);
  const Function function = writer.Write(instructions, condition);
  if (!writer.ok() || !memory->MakeExecutable()) return nullptr;
  return std::unique_ptr<ScalarCode>(new ScalarCode(std::move(memory), function));
#else
  return nullptr;
#endif
}

}  // namespace millstream::kernels
