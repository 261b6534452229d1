// The ops that scalar programs may consist of.
#include <cmath>
#include <cstring>
#include <type_traits>

#include "kernels/common/wrapping.h"
#include "kernels/elementwise/convert.h"
#include "kernels/elementwise/scalar_program.h"

namespace millstream::kernels {
namespace {

template <typename T>
T Read(const Scalar& place) {
  T value;
  std::memcpy(&value, place.bytes, sizeof(value));
  return value;
}
template <typename T>
void Write(T value, Scalar* place) {
  std::memcpy(place->bytes, &value, sizeof(value));
}

void Continue(const ScalarStep* step, Scalar* values) { step[1].run(step + 1, values); }

template <typename Op, typename T>
void Unary(const ScalarStep* step, Scalar* values) {
  Write(Op::template Apply<T>(Read<T>(values[step->x])), &values[step->result]);
  return Continue(step, values);
}
template <typename Op, typename T>
void Binary(const ScalarStep* step, Scalar* values) {
  Write(Op::template Apply<T>(Read<T>(values[step->x]), Read<T>(values[step->y])),
        &values[step->result]);
  return Continue(step, values);
}
template <typename From, typename To>
void CastTo(const ScalarStep* step, Scalar* values) {
  Write(Convert<From, To>(Read<From>(values[step->x])), &values[step->result]);
  return Continue(step, values);
}
void Choose(const ScalarStep* step, Scalar* values) {
  values[step->result] = values[Read<bool>(values[step->x]) ? step->y : step->z];
  return Continue(step, values);
}
// One element of an op that has loops on floats.
void CallLoop(const ScalarStep* step, Scalar* values) {
  step->loop(reinterpret_cast<const float*>(values[step->x].bytes),
             reinterpret_cast<const float*>(values[step->y].bytes),
             reinterpret_cast<float*>(values[step->result].bytes), 1);
  return Continue(step, values);
}

void Move(const ScalarStep* step, Scalar* values) {
  values[step->result] = values[step->x];
  return Continue(step, values);
}
template <size_t kBytes>
void TakeElement(const ScalarStep* step, Scalar* values) {
  const char* const element = Read<const char*>(values[step->x]) - kBytes;
  std::memcpy(values[step->result].bytes, element, kBytes);
  Write(element, &values[step->x]);
  return Continue(step, values);
}
template <size_t kBytes>
void PutElement(const ScalarStep* step, Scalar* values) {
  char* const element = Read<char*>(values[step->result]);
  std::memcpy(element, values[step->x].bytes, kBytes);
  Write(element + kBytes, &values[step->result]);
  return Continue(step, values);
}

// ---- As the kernels compute them ----

struct Sum {
  template <typename T>
  static T Apply(T x, T y) {
    return WrappingSum(x, y);
  }
};
struct Difference {
  template <typename T>
  static T Apply(T x, T y) {
    return WrappingDifference(x, y);
  }
};
struct Product {
  template <typename T>
  static T Apply(T x, T y) {
    return WrappingProduct(x, y);
  }
};
struct Quotient {
  template <typename T>
  static T Apply(T x, T y) {
    return x / y;
  }
};
// A NaN on either side is the result; of zeros of both signs, x.
struct Larger {
  template <typename T>
  static T Apply(T x, T y) {
    return ((x < y) | (y != y)) ? y : x;
  }
};
struct Smaller {
  template <typename T>
  static T Apply(T x, T y) {
    return ((y < x) | (y != y)) ? y : x;
  }
};
struct Negative {
  template <typename T>
  static T Apply(T x) {
    if constexpr (std::is_floating_point_v<T>) return -x;
    return WrappingDifference(T(0), x);
  }
};
struct Absolute {
  template <typename T>
  static T Apply(T x) {
    if constexpr (std::is_floating_point_v<T>) return std::fabs(x);
    return x < 0 ? WrappingDifference(T(0), x) : x;
  }
};
struct Square {
  template <typename T>
  static T Apply(T x) {
    return WrappingProduct(x, x);
  }
};
struct Equal {
  template <typename T>
  static bool Apply(T x, T y) {
    return x == y;
  }
};
struct NotEqual {
  template <typename T>
  static bool Apply(T x, T y) {
    return x != y;
  }
};
struct Less {
  template <typename T>
  static bool Apply(T x, T y) {
    return x < y;
  }
};
struct LessEqual {
  template <typename T>
  static bool Apply(T x, T y) {
    return x <= y;
  }
};
struct Greater {
  template <typename T>
  static bool Apply(T x, T y) {
    return x > y;
  }
};
struct GreaterEqual {
  template <typename T>
  static bool Apply(T x, T y) {
    return x >= y;
  }
};
struct Both {
  template <typename T>
  static T Apply(T x, T y) {
    return x && y;
  }
};
struct Either {
  template <typename T>
  static T Apply(T x, T y) {
    return x || y;
  }
};
struct Not {
  template <typename T>
  static T Apply(T x) {
    return !x;
  }
};

// ---- Tables ----

// The types, in the order of the columns.
constexpr int kTypes = 5;
constexpr MS_DType kDTypes[kTypes] = {MS_BOOL, MS_INT32, MS_INT64, MS_FLOAT32, MS_FLOAT64};
// Their numbers in GraphDefs.
constexpr int64_t kNumbers[kTypes] = {10, 3, 9, 1, 2};

using Code = ScalarInstruction::Code;

struct Row {
  const char* op;
  Code code;
  int operands;
  bool is_test;  // the result is bool
  ScalarFunction functions[kTypes];
};

template <typename Op>
constexpr Row OnNumbers(const char* op, Code code) {
  return {op,
          code,
          2,
          false,
          {nullptr, &Binary<Op, int32_t>, &Binary<Op, int64_t>, &Binary<Op, float>,
           &Binary<Op, double>}};
}
template <typename Op>
constexpr Row OnReals(const char* op, Code code) {
  return {op, code, 2, false, {nullptr, nullptr, nullptr, &Binary<Op, float>, &Binary<Op, double>}};
}
template <typename Op>
constexpr Row OnNumber(const char* op, Code code) {
  return {
      op,
      code,
      1,
      false,
      {nullptr, &Unary<Op, int32_t>, &Unary<Op, int64_t>, &Unary<Op, float>, &Unary<Op, double>}};
}
template <typename Op>
constexpr Row Test(const char* op, Code code, bool of_truth) {
  return {op,
          code,
          2,
          true,
          {of_truth ? &Binary<Op, bool> : nullptr, &Binary<Op, int32_t>, &Binary<Op, int64_t>,
           &Binary<Op, float>, &Binary<Op, double>}};
}
constexpr Row Choice(const char* op) {
  return {op, Code::kChoose, 3, false, {&Choose, &Choose, &Choose, &Choose, &Choose}};
}
constexpr Row OnTruth(const char* op, Code code, int operands, ScalarFunction function) {
  return {op, code, operands, true, {function, nullptr, nullptr, nullptr, nullptr}};
}

constexpr Row kRows[] = {
    OnNumber<Absolute>("Abs", Code::kAbsolute),
    OnNumbers<Sum>("Add", Code::kAdd),
    OnNumbers<Sum>("AddV2", Code::kAdd),
    OnReals<Quotient>("Div", Code::kDiv),
    Test<Equal>("Equal", Code::kEqual, true),
    Test<Greater>("Greater", Code::kGreater, false),
    Test<GreaterEqual>("GreaterEqual", Code::kGreaterEqual, false),
    Test<Less>("Less", Code::kLess, false),
    Test<LessEqual>("LessEqual", Code::kLessEqual, false),
    OnTruth("LogicalAnd", Code::kBoth, 2, &Binary<Both, bool>),
    OnTruth("LogicalNot", Code::kNot, 1, &Unary<Not, bool>),
    OnTruth("LogicalOr", Code::kEither, 2, &Binary<Either, bool>),
    OnNumbers<Larger>("Maximum", Code::kMaximum),
    OnNumbers<Smaller>("Minimum", Code::kMinimum),
    OnNumbers<Product>("Mul", Code::kMul),
    OnNumber<Negative>("Neg", Code::kNegative),
    Test<NotEqual>("NotEqual", Code::kNotEqual, true),
    OnReals<Quotient>("RealDiv", Code::kDiv),
    Choice("Select"),
    Choice("SelectV2"),
    OnNumber<Square>("Square", Code::kSquare),
    OnNumbers<Difference>("Sub", Code::kSub),
};

template <typename From>
constexpr Row CastsFrom() {
  return {"Cast",
          Code::kConvert,
          1,
          false,
          {&CastTo<From, bool>, &CastTo<From, int32_t>, &CastTo<From, int64_t>,
           &CastTo<From, float>, &CastTo<From, double>}};
}
// By the type that is cast; the columns are those of the results.
constexpr Row kCasts[kTypes] = {CastsFrom<bool>(), CastsFrom<int32_t>(), CastsFrom<int64_t>(),
                                CastsFrom<float>(), CastsFrom<double>()};

// -1 for other types.
int IndexOf(MS_DType dtype) {
  for (int i = 0; i < kTypes; ++i) {
    if (kDTypes[i] == dtype) return i;
  }
  return -1;
}

ScalarFunction OfSize(MS_DType dtype, ScalarFunction one, ScalarFunction four,
                      ScalarFunction eight) {
  switch (ms::ElementSize(dtype)) {
    case 1: return one;
    case 4: return four;
    default: return eight;
  }
}

}  // namespace

void EndOfSteps(const ScalarStep*, Scalar*) {}

ScalarStep MoveOf(MS_DType dtype, uint32_t from, uint32_t to) {
  ScalarStep step;
  step.code = Code::kMove;
  step.type = dtype;
  step.x = step.y = step.z = from;
  step.result = to;
  step.run = &Move;
  return step;
}

ScalarStep TakeOf(MS_DType dtype, uint32_t address, uint32_t to) {
  ScalarStep step = MoveOf(dtype, address, to);
  step.code = Code::kTake;
  step.run = OfSize(dtype, &TakeElement<1>, &TakeElement<4>, &TakeElement<8>);
  return step;
}

ScalarStep PutOf(MS_DType dtype, uint32_t from, uint32_t address) {
  ScalarStep step = MoveOf(dtype, from, address);
  step.code = Code::kPut;
  step.run = OfSize(dtype, &PutElement<1>, &PutElement<4>, &PutElement<8>);
  return step;
}

bool IsScalarType(MS_DType dtype) { return IndexOf(dtype) >= 0; }

ScalarOp FindScalarOp(std::string_view op, MS_DType operands) {
  const int type = IndexOf(operands);
  if (type < 0) return ScalarOp();
  for (const Row& row : kRows) {
    if (op != row.op) continue;
    return {row.functions[type], row.code, row.operands, row.is_test ? MS_DType{MS_BOOL} : operands,
            nullptr};
  }
  const FloatLoops* const loops = operands == MS_FLOAT32 ? FindFloatLoops(op) : nullptr;
  if (loops == nullptr) return ScalarOp();
  return {&CallLoop, Code::kOther, loops->operands, operands, loops->all};
}

ScalarOp FindScalarCast(MS_DType from, int64_t to) {
  const int row = IndexOf(from);
  for (int column = 0; row >= 0 && column < kTypes; ++column) {
    if (kNumbers[column] != to) continue;
    return {kCasts[row].functions[column], kCasts[row].code, 1, kDTypes[column], nullptr};
  }
  return ScalarOp();
}

}  // namespace millstream::kernels
