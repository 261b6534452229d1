#include "framework/ops/shape_tester.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "framework/op_registry.h"

namespace millstream {
namespace {

// A number, or nullopt for "?".
std::optional<int64_t> ParseElement(absl::string_view text) {
  int64_t number = 0;
  if (absl::SimpleAtoi(text, &number)) return number;
  return std::nullopt;
}

PartialShape ParseShape(absl::string_view text) {
  if (text == "?") return PartialShape();
  absl::ConsumePrefix(&text, "[");
  absl::ConsumeSuffix(&text, "]");
  PartialShape shape = PartialShape::Scalar();
  for (const absl::string_view size : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    shape.AddDim(ParseElement(size).value_or(kUnknownDim));
  }
  return shape;
}

std::string ElementText(const std::optional<int64_t>& element) {
  return element.has_value() ? absl::StrCat(*element) : "?";
}

std::string ValueText(const OutputFacts& output) {
  if (!output.value.has_value()) return "-";
  if (output.shape.rank() == 0) return ElementText((*output.value)[0]);
  const auto append = [](std::string* text, const std::optional<int64_t>& element) {
    text->append(ElementText(element));
  };
  return absl::StrCat("(", absl::StrJoin(*output.value, " ", append), ")");
}

}  // namespace

ShapeTester& ShapeTester::Attr(absl::string_view name, AttrValue value) {
  SetAttr(&attrs_, name, std::move(value));
  return *this;
}

ShapeTester& ShapeTester::Input(absl::string_view shape) {
  inputs_.push_back({ParseShape(shape)});
  return *this;
}

ShapeTester& ShapeTester::Value(absl::string_view elements) {
  GivenInput input;
  const bool is_vector = absl::ConsumePrefix(&elements, "(");
  absl::ConsumeSuffix(&elements, ")");
  input.value.emplace();
  for (const absl::string_view element : absl::StrSplit(elements, ' ', absl::SkipEmpty())) {
    input.value->push_back(ParseElement(element));
  }
  const int64_t count = static_cast<int64_t>(input.value->size());
  input.shape = is_vector ? PartialShape::Vector(count) : PartialShape::Scalar();
  inputs_.push_back(std::move(input));
  return *this;
}

ShapeTester& ShapeTester::Constant(Tensor value) {
  GivenInput input;
  input.shape = value.shape();
  input.constant = std::move(value);
  inputs_.push_back(std::move(input));
  return *this;
}

ShapeTester& ShapeTester::Handle(DataType dtype, absl::string_view shape) {
  GivenInput input;
  input.shape = PartialShape::Scalar();
  input.handle = HandleInfo{dtype, ParseShape(shape)};
  inputs_.push_back(std::move(input));
  return *this;
}

Status ShapeTester::FillAttrs(const OpDef& op) {
  for (const AttrDef& attr : op.attrs) {
    if (FindAttr(attrs_, attr.name) != nullptr || attr.type != "type") continue;
    if (attr.default_value.has_value()) continue;
    const DataTypeList& allowed = attr.allowed_types;
    const bool takes_float =
        allowed.empty() || std::count(allowed.begin(), allowed.end(), DataType::kFloat) > 0;
    SetAttr(&attrs_, attr.name, takes_float ? DataType::kFloat : allowed[0]);
  }
  const int left = static_cast<int>(inputs_.size()) - static_cast<int>(op.inputs.size()) + 1;
  for (const ArgDef& arg : op.inputs) {
    if (!arg.number_attr.empty() && FindAttr(attrs_, arg.number_attr) == nullptr) {
      SetAttr(&attrs_, arg.number_attr, left);
    }
  }
  return CompleteAttrs(op, &attrs_);
}

StatusOr<std::vector<OutputFacts>> ShapeTester::Infer() {
  MS_ASSIGN_OR_RETURN(const OpDef* op, OpRegistry::Global()->Find(op_name_));
  MS_RETURN_IF_ERROR(FillAttrs(*op));
  MS_ASSIGN_OR_RETURN(NodeSignature signature, ExpandSignature(*op, attrs_));
  if (signature.input_types.size() != inputs_.size()) {
    return errors::Internal("the test gives ", inputs_.size(), " inputs to ", op_name_,
                            ", which takes ", signature.input_types.size());
  }
  std::vector<InputFacts> facts(inputs_.size());
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const GivenInput& input = inputs_[i];
    facts[i].shape = input.shape;
    facts[i].dtype = signature.input_types[i];
    if (input.value.has_value()) facts[i].partial_value = &*input.value;
    if (input.constant.has_value()) facts[i].constant = &*input.constant;
    if (input.handle.has_value()) facts[i].handle = &*input.handle;
  }
  ShapeContext context({op, &attrs_, &signature, ""}, std::move(facts));
  return InferShapes(&context);
}

std::string ShapeTester::Shapes() {
  const StatusOr<std::vector<OutputFacts>> outputs = Infer();
  if (!outputs.ok()) return outputs.status().ToString();
  return absl::StrJoin(*outputs, " ", [](std::string* text, const OutputFacts& output) {
    text->append(output.shape.known_rank() ? output.shape.ToString() : "?");
  });
}

std::string ShapeTester::Values() {
  const StatusOr<std::vector<OutputFacts>> outputs = Infer();
  if (!outputs.ok()) return outputs.status().ToString();
  return absl::StrJoin(*outputs, " ", [](std::string* text, const OutputFacts& output) {
    text->append(ValueText(output));
  });
}

}  // namespace millstream
