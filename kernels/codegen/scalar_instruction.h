// Instructions on scalars of several types: what scalar_code.h makes machine code of. They read and
// write places, which are numbers of 8 bytes in a row; a value is in the first bytes of its place.
#ifndef MILLSTREAM_KERNELS_CODEGEN_SCALAR_INSTRUCTION_H_
#define MILLSTREAM_KERNELS_CODEGEN_SCALAR_INSTRUCTION_H_

#include <cstdint>

#include "framework/plugin/plugin.h"

namespace millstream::kernels {

struct ScalarInstruction {
  // What is not said of types holds for bool, int32, int64, float32 and float64. Integers wrap
  // around.
  enum class Code : uint8_t {
    kOther,  // something that there is no code for
    kMove,   // x
    kAdd,    // of numbers, as the next ones
    kSub,
    kMul,
    kDiv,      // of floating-point numbers
    kMaximum,  // either one that is NaN; x of zeros
    kMinimum,
    kNegative,  // of x
    kAbsolute,
    kSquare,
    kEqual,  // bool, as the next ones
    kNotEqual,
    kLess,  // of numbers, as the next ones
    kLessEqual,
    kGreater,
    kGreaterEqual,
    kBoth,  // of bools, as the next ones
    kEither,
    kNot,
    kChoose,   // y where the bool x holds, else z
    kConvert,  // x to type `to`, as Convert (kernels/elementwise/convert.h)
    kTake,     // the element before the address in place x, which becomes its address
    kPut,      // puts x at the address in place `result`, which becomes the one behind it
  };

  Code code = Code::kOther;
  MS_DType type = MS_BOOL;  // of the operands; of kChoose, y and z; of kTake and kPut, the element
  MS_DType to = MS_BOOL;    // of kConvert
  // Places. Those that are not used are x.
  uint32_t x = 0;
  uint32_t y = 0;
  uint32_t z = 0;
  uint32_t result = 0;
};

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_CODEGEN_SCALAR_INSTRUCTION_H_
