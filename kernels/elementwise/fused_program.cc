#include "kernels/elementwise/fused_program.h"

#include <limits>
#include <string>

namespace millstream::kernels {
namespace {

template <typename... Parts>
ms::Status InvalidAttr(const char* name, const Parts&... parts) {
  return ms::InvalidArgument("attribute '", name, "' of _FusedElementwise: ", parts...);
}

// The value that `number` stands for, which must be one of the first `values`.
ms::Status ReadValue(const char* attr, size_t index, int64_t number, uint32_t values,
                     uint32_t* value) {
  if (number < 0 || number >= int64_t{values}) {
    return InvalidAttr(attr, "element ", index, " is ", number,
                       ", expected the number of a value that exists by then, 0 to ",
                       int64_t{values} - 1);
  }
  *value = static_cast<uint32_t>(number);
  return ms::Status();
}

ms::Status ReadStep(const std::string& op, const std::vector<int64_t>& operands,
                    FusedProgram* program) {
  const size_t first = 2 * program->steps.size();
  const int64_t second = operands[first + 1];
  FusedStep step{FindFloatLoops(op), FindStepRecipe(op), 0, 0};
  if (step.loops == nullptr) {
    return InvalidAttr("steps", "element ", program->steps.size(), " is ", op,
                       ", expected an elementwise op on float32");
  }
  const uint32_t values = program->num_values();
  MS_TRY(ReadValue("operands", first, operands[first], values, &step.x));
  if (step.loops->operands == 2) {
    MS_TRY(ReadValue("operands", first + 1, second, values, &step.y));
  } else if (second == -1) {
    step.y = step.x;
  } else {
    return InvalidAttr("operands", "element ", first + 1, " is ", second, ", expected -1: ", op,
                       " has one operand");
  }
  program->steps.push_back(step);
  return ms::Status();
}

}  // namespace

ms::Status ReadFusedProgram(const ms::KernelInfo& info, FusedProgram* program) {
  std::vector<std::string> steps;
  std::vector<int64_t> operands;
  std::vector<int64_t> results;
  MS_TRY(info.Attr("steps", &steps));
  MS_TRY(info.Attr("operands", &operands));
  MS_TRY(info.Attr("results", &results));
  *program = FusedProgram();
  MS_TRY(info.Attr("compile", &program->compile));
  constexpr size_t kMostSteps = std::numeric_limits<int32_t>::max() / 4;
  if (steps.empty() || steps.size() > kMostSteps) {
    return InvalidAttr("steps", "expected 1 to ", kMostSteps, " steps, got ", steps.size());
  }
  if (operands.size() != 2 * steps.size()) {
    return InvalidAttr("operands", "expected two numbers for each of the ", steps.size(),
                       " steps, got ", operands.size(), " numbers");
  }
  if (results.size() != info.num_outputs()) {
    return InvalidAttr("results", "expected one number for each of the ", info.num_outputs(),
                       " outputs, got ", results.size(), " numbers");
  }
  program->num_inputs = info.num_inputs();
  for (const std::string& op : steps) MS_TRY(ReadStep(op, operands, program));
  program->results.resize(results.size());
  for (size_t i = 0; i < results.size(); ++i) {
    MS_TRY(ReadValue("results", i, results[i], program->num_values(), &program->results[i]));
  }
  return ms::Status();
}

}  // namespace millstream::kernels
