// OpSpec: reads the specification texts of op_registry.h.
#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "framework/op_registry.h"
#include "framework/text_scanner.h"

namespace millstream {
namespace {

using Types = DataType;

// Sets of types that have a word of their own.
const DataTypeList* NamedTypeSet(absl::string_view word) {
  static const auto* const number = new DataTypeList{
      Types::kFloat,  Types::kDouble,    Types::kInt32,  Types::kUInt8,      Types::kInt16,
      Types::kInt8,   Types::kComplex64, Types::kInt64,  Types::kQInt8,      Types::kQUInt8,
      Types::kQInt32, Types::kBFloat16,  Types::kUInt16, Types::kComplex128, Types::kHalf,
      Types::kUInt32, Types::kUInt64};
  static const auto* const real_number =
      new DataTypeList{Types::kFloat,  Types::kDouble, Types::kInt32,  Types::kUInt8,
                       Types::kInt16,  Types::kInt8,   Types::kInt64,  Types::kBFloat16,
                       Types::kUInt16, Types::kHalf,   Types::kUInt32, Types::kUInt64};
  static const auto* const quantized = new DataTypeList{
      Types::kQInt8, Types::kQUInt8, Types::kQInt32, Types::kQInt16, Types::kQUInt16};
  if (word == "numbertype") return number;
  if (word == "realnumbertype") return real_number;
  if (word == "quantizedtype") return quantized;
  return nullptr;
}

bool IsPlainAttrType(absl::string_view word) {
  for (absl::string_view known :
       {"int", "float", "bool", "string", "type", "shape", "tensor", "func"}) {
    if (word == known) return true;
  }
  return false;
}

// After the brace of "{float, int32}" or "{'SAME', 'VALID'}". Sets the kind and what is allowed.
Status ReadAllowedValues(TextScanner* scanner, AttrDef* attr) {
  const bool strings = scanner->Peek() == '"' || scanner->Peek() == '\'';
  attr->type = strings ? "string" : "type";
  do {
    if (scanner->Peek() == '}') break;  // a comma before the brace
    if (strings) {
      MS_ASSIGN_OR_RETURN(std::string value, scanner->QuotedString());
      attr->allowed_strings.push_back(std::move(value));
      continue;
    }
    MS_ASSIGN_OR_RETURN(const std::string name, scanner->Identifier());
    const DataTypeList* set = NamedTypeSet(name);
    if (set != nullptr) {
      attr->allowed_types.insert(attr->allowed_types.end(), set->begin(), set->end());
      continue;
    }
    const DataType type = ParseDataType(name);
    if (type == DataType::kInvalid) return scanner->Error(absl::StrCat("a type, not ", name));
    attr->allowed_types.push_back(type);
  } while (scanner->Consume(","));
  if (attr->allowed_types.empty() && attr->allowed_strings.empty()) {
    return scanner->Error("at least one allowed value");
  }
  return scanner->Expect("}");
}

// "int", "{float, int32}", "numbertype": what stands alone or inside "list(...)".
Status ReadElementType(TextScanner* scanner, AttrDef* attr) {
  if (scanner->Consume("{")) return ReadAllowedValues(scanner, attr);
  MS_ASSIGN_OR_RETURN(attr->type, scanner->Identifier());
  if (const DataTypeList* set = NamedTypeSet(attr->type)) {
    attr->type = "type";
    attr->allowed_types = *set;
    return absl::OkStatus();
  }
  if (IsPlainAttrType(attr->type)) return absl::OkStatus();
  return scanner->Error(absl::StrCat("a type of attributes, not ", attr->type));
}

Status ReadAttrType(TextScanner* scanner, AttrDef* attr) {
  if (!scanner->Consume("list(")) return ReadElementType(scanner, attr);
  MS_RETURN_IF_ERROR(ReadElementType(scanner, attr));
  attr->type = absl::StrCat("list(", attr->type, ")");
  return scanner->Expect(")");
}

// "name: type [>= n] [= value]".
StatusOr<AttrDef> ReadAttr(absl::string_view text) {
  TextScanner scanner(text);
  AttrDef attr;
  MS_ASSIGN_OR_RETURN(attr.name, scanner.Identifier());
  MS_RETURN_IF_ERROR(scanner.Expect(":"));
  MS_RETURN_IF_ERROR(ReadAttrType(&scanner, &attr));
  if (scanner.Consume(">=")) {
    if (attr.type != "int" && !absl::StartsWith(attr.type, "list(")) {
      return scanner.Error("a least value for an int or a list alone");
    }
    MS_ASSIGN_OR_RETURN(attr.minimum, scanner.Integer());
  }
  if (!scanner.Consume("=")) {
    MS_RETURN_IF_ERROR(scanner.ExpectEnd());
    return attr;
  }
  MS_ASSIGN_OR_RETURN(attr.default_value, ParseAttrValue(attr.type, scanner.Rest()));
  return attr;
}

// "T", "int32" or "Tlist": an attribute's name, or a type when no attribute has the name.
Status ReadArgType(TextScanner* scanner, const OpDef& op, ArgDef* arg) {
  MS_ASSIGN_OR_RETURN(const std::string name, scanner->Identifier());
  const AttrDef* attr = op.FindAttr(name);
  if (attr == nullptr) {
    arg->type = ParseDataType(name);
    if (arg->type != DataType::kInvalid) return absl::OkStatus();
    return scanner->Error(absl::StrCat("a type or an attribute, not ", name));
  }
  if (attr->type == "type") {
    arg->type_attr = name;
  } else if (attr->type == "list(type)" && arg->number_attr.empty()) {
    arg->type_list_attr = name;
  } else {
    return scanner->Error(
        absl::StrCat("an attribute of type type or, without a count, list(type), ", "not ", name,
                     ": ", attr->type));
  }
  return absl::OkStatus();
}

// "name: type", "name: N * type", "name: Ref(type)", "name: N * Ref(type)".
StatusOr<ArgDef> ReadArg(absl::string_view text, const OpDef& op) {
  TextScanner scanner(text);
  ArgDef arg;
  MS_ASSIGN_OR_RETURN(arg.name, scanner.Identifier());
  MS_RETURN_IF_ERROR(scanner.Expect(":"));
  TextScanner ahead = scanner;
  const StatusOr<std::string> count = ahead.Identifier();
  if (count.ok() && ahead.Consume("*")) {
    const AttrDef* attr = op.FindAttr(*count);
    if (attr == nullptr || attr->type != "int") {
      return scanner.Error("an attribute of type int before the asterisk");
    }
    arg.number_attr = *count;
    MS_ASSIGN_OR_RETURN(const std::string skipped, scanner.Identifier());
    MS_RETURN_IF_ERROR(scanner.Expect("*"));
  }
  arg.is_ref = scanner.Consume("Ref(");
  MS_RETURN_IF_ERROR(ReadArgType(&scanner, op, &arg));
  if (arg.is_ref) MS_RETURN_IF_ERROR(scanner.Expect(")"));
  MS_RETURN_IF_ERROR(scanner.ExpectEnd());
  return arg;
}

// A default must itself be a value that the attribute may have; one name is one thing.
Status CheckDefinition(const OpDef& op) {
  AttrMap defaults;
  std::vector<std::string> names;
  for (const AttrDef& attr : op.attrs) {
    names.push_back(attr.name);
    if (attr.default_value) SetAttr(&defaults, attr.name, *attr.default_value);
  }
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) {
    return errors::InvalidArgument("attribute '", *twice, "' is defined twice");
  }
  constexpr absl::string_view kOutside[] = {kTouchesCode, kTouchesFiles, kTouchesNetwork,
                                            kTouchesOutput};
  for (const std::string& touched : op.touches) {
    if (std::find(std::begin(kOutside), std::end(kOutside), touched) == std::end(kOutside)) {
      return errors::InvalidArgument("unknown effect '", touched, "' in Touches");
    }
  }
  OpDef only_defaults;
  only_defaults.name = op.name;
  for (const AttrDef& attr : op.attrs) {
    if (attr.default_value) only_defaults.attrs.push_back(attr);
  }
  return CompleteAttrs(only_defaults, &defaults);
}

}  // namespace

OpSpec::OpSpec(absl::string_view name) { def_.name = std::string(name); }

OpSpec& OpSpec::Input(absl::string_view spec) {
  texts_.inputs.emplace_back(spec);
  return *this;
}

OpSpec& OpSpec::Output(absl::string_view spec) {
  texts_.outputs.emplace_back(spec);
  return *this;
}

OpSpec& OpSpec::Attr(absl::string_view spec) {
  texts_.attrs.emplace_back(spec);
  return *this;
}

OpSpec& OpSpec::Stateful() {
  def_.is_stateful = true;
  return *this;
}

OpSpec& OpSpec::Commutative() {
  def_.is_commutative = true;
  return *this;
}

OpSpec& OpSpec::Aggregate() {
  def_.is_aggregate = true;
  return *this;
}

OpSpec& OpSpec::AllowsUninitializedInput() {
  def_.allows_uninitialized_input = true;
  return *this;
}

OpSpec& OpSpec::Touches(absl::string_view outside) {
  def_.touches.emplace_back(outside);
  return *this;
}

OpSpec& OpSpec::Elementwise() {
  def_.is_elementwise = true;
  return *this;
}

OpSpec& OpSpec::KeepsFinite(AttrCondition condition) {
  def_.keeps_finite = condition;
  return *this;
}

OpSpec& OpSpec::Cost(CostFunction function) {
  def_.cost_function = function;
  return *this;
}

OpSpec& OpSpec::CostsNothing() {
  def_.costs_nothing = true;
  return *this;
}

OpSpec& OpSpec::Speculatable() {
  def_.is_speculatable = true;
  return *this;
}

OpSpec& OpSpec::SharesOutputs() {
  def_.shares_outputs = true;
  return *this;
}

OpSpec& OpSpec::UpdateBounds(BoundsRuleFunction function) {
  def_.bounds_rule = function;
  return *this;
}

OpSpec& OpSpec::Shape(ShapeFunction function) {
  def_.shape_function = function;
  return *this;
}

OpSpec& OpSpec::Value(ValueFunction function) {
  def_.value_function = function;
  return *this;
}

OpSpec& OpSpec::Doc(absl::string_view doc) {
  def_.doc = std::string(doc);
  return *this;
}

OpSpec& OpSpec::Example(absl::string_view lines) {
  def_.example = std::string(absl::StripPrefix(lines, "\n"));
  return *this;
}

OpSpec& OpSpec::With(void (*part)(OpSpec* spec)) {
  part(this);
  return *this;
}

StatusOr<OpDef> OpSpec::Build() const {
  const std::string context = absl::StrCat("definition of op '", def_.name, "'");
  OpDef def = def_;
  for (const std::string& text : texts_.attrs) {
    StatusOr<AttrDef> attr = ReadAttr(text);
    if (!attr.ok()) return WithContext(attr.status(), context);
    def.attrs.push_back(*std::move(attr));
  }
  for (const std::string& text : texts_.inputs) {
    StatusOr<ArgDef> arg = ReadArg(text, def);
    if (!arg.ok()) return WithContext(arg.status(), context);
    def.inputs.push_back(*std::move(arg));
  }
  for (const std::string& text : texts_.outputs) {
    StatusOr<ArgDef> arg = ReadArg(text, def);
    if (!arg.ok()) return WithContext(arg.status(), context);
    def.outputs.push_back(*std::move(arg));
  }
  const Status checked = CheckDefinition(def);
  if (!checked.ok()) return WithContext(checked, context);
  return def;
}

}  // namespace millstream
