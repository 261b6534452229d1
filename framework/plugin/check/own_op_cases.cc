#include "framework/plugin/check/own_op_cases.h"

#include <algorithm>
#include <complex>
#include <cstring>
#include <iterator>
#include <random>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "framework/half.h"
#include "framework/plugin/check/check_host.h"
#include "framework/plugin/check/kernel_run.h"
#include "framework/plugin/check/op_specs.h"
#include "framework/shape_context.h"

namespace millstream::plugin_check {
namespace {

// Cases of a kernel, unless an attribute has more values.
constexpr size_t kCases = 12;
// Draws of shapes for one case until the shape function accepts one.
constexpr int kMostDraws = 300;
constexpr int64_t kSizes[] = {2, 3, 2, 3, 5, 1, 0};
constexpr size_t kMostRank = 4;  // exclusive
// Elements of integers are indices and sizes more often than not: small ones are legal.
constexpr int64_t kMostInteger = 3;  // exclusive
// Types that are tried where op and kernel allow any.
constexpr DataType kAnyTypes[] = {DataType::kFloat, DataType::kInt32, DataType::kDouble};
// Attributes without a default value or a list of allowed values.
constexpr std::pair<const char*, const char*> kPlainValues[] = {
    {"float", "0.5"}, {"string", "\"a\""}, {"shape", "[2, 3]"}, {"tensor", "float[2] [1, 2]"}};

// The same numbers for an op in every run.
class Draw {
 public:
  explicit Draw(const std::string& name) {
    std::seed_seq seed(name.begin(), name.end());
    engine_.seed(seed);
  }
  // In [0, n).
  size_t Below(size_t n) { return engine_() % n; }

 private:
  std::mt19937 engine_;
};

// ---- Attributes ---------------------------------------------------------------------------------

// The types that op and kernel allow for a type attribute.
DataTypeList TypesOf(const AttrDef& attr, const KernelRegistration& kernel) {
  DataTypeList types = attr.allowed_types;
  const auto constraint = absl::c_find_if(
      kernel.constraints, [&attr](const auto& each) { return each.attr == attr.name; });
  if (constraint != kernel.constraints.end()) {
    types = constraint->types;
  } else if (types.empty()) {
    const auto* const given = attr.default_value ? attr.default_value->get<DataType>() : nullptr;
    if (given != nullptr) types.push_back(*given);
    types.insert(types.end(), std::begin(kAnyTypes), std::end(kAnyTypes));
  }
  const auto cannot_be = [&attr](DataType type) {
    const bool has_values = IsPlainData(type) || type == DataType::kString;
    return !has_values ||
           (!attr.allowed_types.empty() && !absl::c_linear_search(attr.allowed_types, type));
  };
  types.erase(std::remove_if(types.begin(), types.end(), cannot_be), types.end());
  return types;
}

std::vector<AttrValue> IntegersOf(const AttrDef& attr) {
  if (attr.default_value.has_value()) return {*attr.default_value};
  const int64_t least = attr.minimum.value_or(1);
  return {AttrValue(least), AttrValue(least + 1)};
}

// A list of as many of the item as the attribute needs, and two at least.
StatusOr<AttrValue> ListOf(const AttrDef& attr, absl::string_view item) {
  const auto count = static_cast<size_t>(std::max<int64_t>(attr.minimum.value_or(0), 2));
  const std::vector<absl::string_view> items(count, item);
  return ParseAttrValue(attr.type, absl::StrCat("[", absl::StrJoin(items, ", "), "]"));
}

// What an attribute is tried with; empty when it can have no value here.
std::vector<AttrValue> ValuesOf(const AttrDef& attr, const KernelRegistration& kernel) {
  std::vector<AttrValue> values;
  if (attr.type == "type" || attr.type == "list(type)") {
    for (const DataType type : TypesOf(attr, kernel)) {
      if (attr.type == "type") {
        values.emplace_back(type);
      } else if (const auto list = ListOf(attr, DataTypeSpecName(type)); list.ok()) {
        values.push_back(*list);
      }
    }
    return values;
  }
  if (attr.type == "int") return IntegersOf(attr);
  if (attr.type == "bool") return {AttrValue(false), AttrValue(true)};
  if (attr.default_value.has_value()) values.push_back(*attr.default_value);
  if (attr.type == "string") {
    for (const std::string& allowed : attr.allowed_strings) values.emplace_back(allowed);
  }
  if (!values.empty()) return values;
  for (const auto& [type, text] : kPlainValues) {
    const auto value = attr.type == type ? ParseAttrValue(type, text)
                       : attr.type == absl::StrCat("list(", type, ")")
                           ? ListOf(attr, text)
                           : errors::NotFound("another type");
    if (value.ok()) values.push_back(*value);
  }
  if (attr.type == "list(int)" || attr.type == "list(bool)") {
    const auto list = ListOf(attr, attr.type == "list(int)" ? "1" : "true");
    if (list.ok()) values.push_back(*list);
  }
  return values;
}

// ---- Inputs -------------------------------------------------------------------------------------

// How the shapes of one node's inputs are related.
enum class Relation { kEqual, kEqualRank, kNone };

Shape DrawShape(size_t rank, Draw* draw) {
  Shape shape;
  for (size_t i = 0; i < rank; ++i) shape.AddDim(kSizes[draw->Below(std::size(kSizes))]);
  return shape;
}

std::vector<Shape> DrawShapes(size_t count, Draw* draw) {
  constexpr Relation kRelations[] = {Relation::kEqual, Relation::kEqual, Relation::kEqualRank,
                                     Relation::kNone};
  const Relation relation = kRelations[draw->Below(std::size(kRelations))];
  size_t rank = draw->Below(kMostRank);
  std::vector<Shape> shapes;
  for (size_t i = 0; i < count; ++i) {
    if (relation == Relation::kEqual && i > 0) {
      shapes.push_back(shapes.front());
      continue;
    }
    if (relation == Relation::kNone) rank = draw->Below(kMostRank);
    shapes.push_back(DrawShape(rank, draw));
  }
  return shapes;
}

// A multiple of 1/8 between -2 and 2, which every type of fractions has.
float DrawFraction(Draw* draw) { return static_cast<float>(draw->Below(33)) / 8 - 2; }

template <typename T, typename Next>
void FillWith(Tensor* tensor, Next next) {
  for (T& element : tensor->flat<T>()) element = next();
}

void FillTensor(Tensor* tensor, Draw* draw) {
  const auto fraction = [draw] { return DrawFraction(draw); };
  const auto complex = [&](auto part) {
    using T = decltype(part);
    return std::complex<T>(fraction(), fraction());
  };
  switch (tensor->dtype()) {
    case DataType::kString:
      return FillWith<std::string>(tensor, [draw] { return std::string(draw->Below(3), 'a'); });
    case DataType::kFloat: return FillWith<float>(tensor, fraction);
    case DataType::kDouble: return FillWith<double>(tensor, fraction);
    case DataType::kComplex64:
      return FillWith<std::complex<float>>(tensor, [&] { return complex(float{}); });
    case DataType::kComplex128:
      return FillWith<std::complex<double>>(tensor, [&] { return complex(double{}); });
    default: break;
  }
  const size_t size = DataTypeSize(tensor->dtype());
  const int64_t most = tensor->dtype() == DataType::kBool ? 2 : kMostInteger;
  char* element = static_cast<char*>(tensor->raw());
  for (int64_t i = 0; i < tensor->num_elements(); ++i, element += size) {
    int64_t bits = static_cast<int64_t>(draw->Below(static_cast<size_t>(most)));
    if (tensor->dtype() == DataType::kHalf) bits = FloatToHalf(fraction());
    if (tensor->dtype() == DataType::kBFloat16) bits = FloatToBFloat16(fraction());
    std::memcpy(element, &bits, size);  // little-endian
  }
}

// The type of the variable behind a handle: that of the usual attribute, or float.
DataType TypeOfVariable(const AttrMap& attrs) {
  for (const char* name : {"dtype", "T"}) {
    const AttrValue* const attr = FindAttr(attrs, name);
    const DataType* const type = attr == nullptr ? nullptr : attr->get<DataType>();
    if (type != nullptr) return *type;
  }
  return DataType::kFloat;
}

// Inputs of these shapes. What the kernel reads on the host is a constant in every second case.
Status DrawInputs(const OpDef& op, const NodeSignature& signature, const KernelRegistration& kernel,
                  Draw* draw, KernelCase* kernel_case) {
  kernel_case->inputs.clear();
  const std::vector<Shape> shapes = DrawShapes(signature.input_types.size(), draw);
  const bool are_const = draw->Below(2) == 0;
  for (size_t i = 0; i < shapes.size(); ++i) {
    CaseInput input;
    input.is_variable = signature.input_types[i] == DataType::kResource;
    input.is_const = are_const && IsHostArg(kernel, op.inputs, signature.input_starts, i);
    const DataType type =
        input.is_variable ? TypeOfVariable(kernel_case->attrs) : signature.input_types[i];
    MS_ASSIGN_OR_RETURN(input.value, Tensor::Create(type, shapes[i]));
    FillTensor(&input.value, draw);
    kernel_case->inputs.push_back(std::move(input));
  }
  return absl::OkStatus();
}

// Handles of a plugin's own and values of variants are known to the plugin alone.
Status CheckTypes(const OpDef& op, const NodeSignature& signature) {
  const auto has_values = [](DataType type) {
    return IsPlainData(type) || type == DataType::kString;
  };
  for (const DataType type : signature.input_types) {
    if (has_values(type) || type == DataType::kResource) continue;
    return errors::Unimplemented(op.name, " has inputs of type ", DataTypeName(type));
  }
  for (const DataType type : signature.output_types) {
    if (has_values(type)) continue;
    return errors::Unimplemented(op.name, " has outputs of type ", DataTypeName(type));
  }
  return absl::OkStatus();
}

std::string TextOf(const KernelCase& kernel_case) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : kernel_case.attrs) {
    if (value.get<DataType>() == nullptr)
      parts.push_back(absl::StrCat(name, "=", value.ToString()));
  }
  for (const CaseInput& input : kernel_case.inputs) parts.push_back(input.value.shape().ToString());
  return absl::StrJoin(parts, " ");
}

// Draws inputs until the shape function accepts them.
Status CompleteCase(const OpDef& op, const KernelRegistration& kernel, Draw* draw,
                    KernelCase* kernel_case) {
  MS_RETURN_IF_ERROR(CompleteAttrs(op, &kernel_case->attrs));
  MS_ASSIGN_OR_RETURN(const NodeSignature signature, ExpandSignature(op, kernel_case->attrs));
  MS_RETURN_IF_ERROR(CheckTypes(op, signature));
  Status refused;
  for (int i = 0; i < kMostDraws; ++i) {
    MS_RETURN_IF_ERROR(DrawInputs(op, signature, kernel, draw, kernel_case));
    refused = InferOutputShapes(op, *kernel_case, /*shapes_known=*/true).status();
    if (!refused.ok()) continue;
    kernel_case->text = TextOf(*kernel_case);
    return absl::OkStatus();
  }
  return errors::InvalidArgument("the shape function of ", op.name,
                                 " refuses all drawn inputs, the last with: ", refused.message());
}

}  // namespace

const OpDef* FindOwnOp(const KernelRegistration& kernel) {
  const OpDef* const op = KnownOps().FindOrNull(kernel.op);
  return op == nullptr || op->plugin.empty() ? nullptr : op;
}

StatusOr<std::vector<KernelCase>> DrawCases(const OpDef& op, const KernelRegistration& kernel) {
  Draw draw(op.name);
  std::vector<std::vector<AttrValue>> values;
  size_t count = kCases;
  for (const AttrDef& attr : op.attrs) {
    values.push_back(ValuesOf(attr, kernel));
    if (values.back().empty()) {
      return errors::Unimplemented("attribute ", attr.name, " of ", op.name, ", a ", attr.type,
                                   ", has no value that could be tried");
    }
    count = std::max(count, values.back().size());
  }
  std::vector<KernelCase> cases;
  Status refused;
  for (size_t k = 0; k < count; ++k) {
    KernelCase drawn;
    for (size_t i = 0; i < op.attrs.size(); ++i) {
      // Each value once, then any of them with any of the others.
      const size_t n = values[i].size();
      SetAttr(&drawn.attrs, op.attrs[i].name, values[i][k < n ? k : draw.Below(n)]);
    }
    const Status completed = CompleteCase(op, kernel, &draw, &drawn);
    if (completed.ok()) {
      cases.push_back(std::move(drawn));
    } else {
      refused = completed;
    }
  }
  if (cases.empty()) return refused;
  return cases;
}

StatusOr<std::vector<PartialShape>> InferOutputShapes(const OpDef& op,
                                                      const KernelCase& kernel_case,
                                                      bool shapes_known) {
  MS_ASSIGN_OR_RETURN(const NodeSignature signature, ExpandSignature(op, kernel_case.attrs));
  const size_t n = kernel_case.inputs.size();
  std::vector<HandleInfo> handles(n);
  std::vector<InputFacts> facts(n);
  for (size_t i = 0; i < n; ++i) {
    const CaseInput& input = kernel_case.inputs[i];
    const PartialShape shape = shapes_known ? input.value.shape() : PartialShape();
    handles[i] = {input.value.dtype(), shape};
    facts[i].dtype = signature.input_types[i];
    facts[i].shape = input.is_variable ? PartialShape::Scalar() : shape;
    if (input.is_variable) facts[i].handle = &handles[i];
    if (input.is_const && shapes_known) facts[i].constant = &input.value;
  }
  ShapeContext context({&op, &kernel_case.attrs, &signature, ""}, std::move(facts));
  const UncountedStatuses uncounted;
  MS_ASSIGN_OR_RETURN(const std::vector<OutputFacts> outputs, InferShapes(&context));
  std::vector<PartialShape> shapes;
  for (const OutputFacts& output : outputs) shapes.push_back(output.shape);
  return shapes;
}

}  // namespace millstream::plugin_check
