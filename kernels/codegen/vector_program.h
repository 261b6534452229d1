// A program of arithmetic on floats, the same for each element: what vector_code.h makes machine
// code of. It reads and writes places, which are numbers of rows of a table of addresses.
#ifndef MILLSTREAM_KERNELS_CODEGEN_VECTOR_PROGRAM_H_
#define MILLSTREAM_KERNELS_CODEGEN_VECTOR_PROGRAM_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace millstream::kernels {

// Not thread-safe while it is built.
class VectorProgram {
 public:
  // The index of the instruction that makes it.
  using Value = uint32_t;

  enum class Code : uint8_t {
    // Invariants: the same for all elements.
    kNumber,     // the float whose bits are `number`
    kBroadcast,  // the first element at place `number`
    // Made for each element.
    kLoad,   // the element at place `number`
    kStore,  // makes nothing: writes a to place `number`
    kAdd,
    kSub,
    kMul,
    kDiv,
    kMax,  // a where a > b, else b: also where either is NaN, or both are zero
    kMin,  // a where a < b, else b
    kAnd,  // of the bits
    kXor,
    kSqrt,       // of a
    kFloor,      // of a
    kKeepWhere,  // b where `comparison` holds between a and zero, else zero
    kPassNaN,    // b where that is NaN, else a
  };

  // By their numbers in Intel's manual, volume 2, VCMPPS. No NaN makes them signal.
  enum class Comparison : uint8_t {
    kNotEqual = 4,         // holds for NaN
    kLess = 17,            // does not
    kNotLessOrEqual = 22,  // holds for NaN
    kGreater = 30,         // does not
  };

  struct Instruction {
    Code code;
    Value a = 0;  // what is not used is 0
    Value b = 0;
    uint32_t number = 0;
    Comparison comparison = Comparison::kNotEqual;
  };

  static bool IsInvariant(Code code) { return code <= Code::kBroadcast; }
  // How many of a and b such an instruction reads.
  static int Operands(Code code);

  Value Number(float number);
  // The number of these bits, which may be no number.
  Value Bits(uint32_t bits) { return Invariant(Code::kNumber, bits); }
  Value Broadcast(uint32_t place) { return Invariant(Code::kBroadcast, place); }
  Value Load(uint32_t place) { return Append({Code::kLoad, 0, 0, place}); }
  void Store(uint32_t place, Value a) { Append({Code::kStore, a, 0, place}); }
  Value Add(Value a, Value b) { return Append({Code::kAdd, a, b}); }
  Value Sub(Value a, Value b) { return Append({Code::kSub, a, b}); }
  Value Mul(Value a, Value b) { return Append({Code::kMul, a, b}); }
  Value Div(Value a, Value b) { return Append({Code::kDiv, a, b}); }
  Value Max(Value a, Value b) { return Append({Code::kMax, a, b}); }
  Value Min(Value a, Value b) { return Append({Code::kMin, a, b}); }
  Value And(Value a, Value b) { return Append({Code::kAnd, a, b}); }
  Value Xor(Value a, Value b) { return Append({Code::kXor, a, b}); }
  Value Sqrt(Value a) { return Append({Code::kSqrt, a}); }
  Value Floor(Value a) { return Append({Code::kFloor, a}); }
  Value KeepWhere(Comparison comparison, Value a, Value b);
  Value PassNaN(Value a, Value b) { return Append({Code::kPassNaN, a, b}); }

  const std::vector<Instruction>& instructions() const { return instructions_; }

 private:
  Value Append(Instruction instruction);
  Value Invariant(Code code, uint32_t number);

  std::vector<Instruction> instructions_;
  std::map<std::pair<Code, uint32_t>, Value> invariants_;
};

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_CODEGEN_VECTOR_PROGRAM_H_
