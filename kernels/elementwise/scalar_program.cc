#include "kernels/elementwise/scalar_program.h"

#include <limits>
#include <string>

namespace millstream::kernels {
namespace {

// The functions of steps call each other, and a compiler that is not told to optimize lets each
// call take space on the stack.
constexpr size_t kMostSteps = 4096;

template <typename... Parts>
ms::Status InvalidAttr(const char* name, const Parts&... parts) {
  return ms::InvalidArgument("attribute '", name, "' of a scalar program: ", parts...);
}

// Reads the values that step `index` takes, of the three numbers in `operands`.
class StepReader {
 public:
  StepReader(const std::string& op, size_t index, const int64_t* operands, ScalarProgram* program)
      : op_(op), index_(index), operands_(operands), program_(*program) {}

  ms::Status Read() {
    uint32_t first = 0;
    MS_TRY(ReadOperand(0, kAny, &first));
    ScalarStep step;
    step.x = step.y = step.z = first;
    ScalarOp found;
    step.type = program_.dtypes[first];
    if (op_ == "Cast") {
      found = FindScalarCast(program_.dtypes[first], operands_[1]);
    } else if (op_ == "Select" || op_ == "SelectV2") {
      MS_TRY(ReadOperand(0, MS_BOOL, &step.x));
      MS_TRY(ReadOperand(1, kAny, &step.y));
      MS_TRY(ReadOperand(2, program_.dtypes[step.y], &step.z));
      step.type = program_.dtypes[step.y];
      found = FindScalarOp(op_, step.type);
    } else {
      found = FindScalarOp(op_, step.type);
      if (found.operands == 2) MS_TRY(ReadOperand(1, step.type, &step.y));
    }
    if (found.run == nullptr) {
      return InvalidAttr("steps", "element ", index_, " is ", op_,
                         ", expected an elementwise op on scalars of the types of its operands");
    }
    step.code = found.code;
    step.to = found.result;
    step.run = found.run;
    step.loop = found.loop;
    step.result = static_cast<uint32_t>(program_.dtypes.size());
    program_.dtypes.push_back(found.result);
    program_.steps.push_back(step);
    return ms::Status();
  }

 private:
  static constexpr MS_DType kAny = std::numeric_limits<MS_DType>::max();

  ms::Status ReadOperand(size_t number, MS_DType dtype, uint32_t* value) {
    const size_t values = program_.dtypes.size();
    const int64_t operand = operands_[number];
    const bool is_known = operand >= 0 && operand < static_cast<int64_t>(values);
    const MS_DType expected = dtype == kAny && is_known ? program_.dtypes[operand] : dtype;
    return ReadScalarValue("operands", 3 * index_ + number, operand, program_, values, expected,
                           value);
  }

  const std::string& op_;
  const size_t index_;
  const int64_t* const operands_;
  ScalarProgram& program_;
};

}  // namespace

ms::Status ReadScalarValue(const char* attr, size_t index, int64_t number,
                           const ScalarProgram& program, size_t values, MS_DType dtype,
                           uint32_t* value) {
  if (number < 0 || number >= static_cast<int64_t>(values)) {
    return InvalidAttr(attr, "element ", index, " is ", number,
                       ", expected the number of a value that exists by then, 0 to ",
                       static_cast<int64_t>(values) - 1);
  }
  if (program.dtypes[number] != dtype) {
    return InvalidAttr(attr, "element ", index, " is ", number,
                       ", the number of a value of another type than expected");
  }
  *value = static_cast<uint32_t>(number);
  return ms::Status();
}

ms::Status ReadScalarProgram(const ms::KernelInfo& info, ScalarProgram* program) {
  std::vector<std::string> steps;
  std::vector<int64_t> operands;
  MS_TRY(info.Attr("steps", &steps));
  MS_TRY(info.Attr("operands", &operands));
  if (steps.size() > kMostSteps) {
    return InvalidAttr("steps", "expected at most ", kMostSteps, " steps, got ", steps.size());
  }
  if (operands.size() != 3 * steps.size()) {
    return InvalidAttr("operands", "expected three numbers for each of the ", steps.size(),
                       " steps, got ", operands.size(), " numbers");
  }
  *program = ScalarProgram();
  for (uint32_t i = 0; i < info.num_inputs(); ++i) {
    program->dtypes.push_back(info.input_dtype(i));
    if (!IsScalarType(info.input_dtype(i))) {
      return ms::InvalidArgument("input ", i, " of a scalar program must be of type bool, int32, ",
                                 "int64, float32 or float64");
    }
  }
  for (size_t i = 0; i < steps.size(); ++i) {
    MS_TRY(StepReader(steps[i], i, &operands[3 * i], program).Read());
  }
  return ms::Status();
}

}  // namespace millstream::kernels
