#include "framework/op_def.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace millstream {
namespace {

// A limit that no valid node reaches. A malformed graph may request 2^60 tensors.
constexpr int64_t kMaxTensorsOfArgument = int64_t{1} << 20;

// ---- Signatures ----

struct ExpandedArgs {
  DataTypeList* types;
  std::vector<bool>* is_ref;
  std::vector<int>* starts;
};

StatusOr<int64_t> ArgumentCount(const OpDef& op, const ArgDef& arg, const AttrMap& attrs) {
  if (arg.number_attr.empty()) return 1;
  auto count = GetAttr<int64_t>(attrs, arg.number_attr);
  if (!count.ok()) {
    return WithContext(count.status(),
                       absl::StrCat("op '", op.name, "', count of argument '", arg.name, "'"));
  }
  if (*count < 0 || *count > kMaxTensorsOfArgument) {
    return errors::InvalidArgument("op '", op.name, "': attribute '", arg.number_attr,
                                   "', the count of argument '", arg.name, "', must be in [0, ",
                                   kMaxTensorsOfArgument, "], got ", *count);
  }
  return count;
}

StatusOr<DataTypeList> ArgumentTypes(const OpDef& op, const ArgDef& arg, const AttrMap& attrs) {
  const std::string context = absl::StrCat("op '", op.name, "', type of argument '", arg.name, "'");
  if (!arg.type_list_attr.empty()) {
    auto types = GetAttr<DataTypeList>(attrs, arg.type_list_attr);
    return types.ok() ? types : WithContext(types.status(), context);
  }
  DataType type = arg.type;
  if (!arg.type_attr.empty()) {
    auto attr = GetAttr<DataType>(attrs, arg.type_attr);
    if (!attr.ok()) return WithContext(attr.status(), context);
    type = *attr;
  }
  MS_ASSIGN_OR_RETURN(const int64_t count, ArgumentCount(op, arg, attrs));
  return DataTypeList(count, type);
}

Status ExpandArgs(const OpDef& op, const std::vector<ArgDef>& args, const AttrMap& attrs,
                  const ExpandedArgs& out) {
  for (const ArgDef& arg : args) {
    out.starts->push_back(static_cast<int>(out.types->size()));
    MS_ASSIGN_OR_RETURN(const DataTypeList types, ArgumentTypes(op, arg, attrs));
    out.types->insert(out.types->end(), types.begin(), types.end());
    out.is_ref->insert(out.is_ref->end(), types.size(), arg.is_ref);
  }
  out.starts->push_back(static_cast<int>(out.types->size()));
  return absl::OkStatus();
}

// ---- Attributes ----

// "type in {float, int32}", "int >= 1", "list(string)": what the definition asks for.
std::string Expected(const AttrDef& attr) {
  std::string text = attr.type;
  if (!attr.allowed_types.empty()) {
    absl::StrAppend(&text, " in ", DataTypeListName(attr.allowed_types));
  }
  if (!attr.allowed_strings.empty()) {
    absl::StrAppend(&text, " in {\"", absl::StrJoin(attr.allowed_strings, "\", \""), "\"}");
  }
  if (attr.minimum) {
    absl::StrAppend(&text, attr.type == "int" ? " >= " : " of length >= ", *attr.minimum);
  }
  return text;
}

Status Refuse(const OpDef& op, const AttrDef& attr, absl::string_view problem,
              const AttrValue& value) {
  return errors::InvalidArgument("op '", op.name, "': ", problem, " '", attr.name, "': expected ",
                                 Expected(attr), ", got ", value.TypeName(), " ", value.ToString());
}

template <typename T>
bool Allowed(const std::vector<T>& allowed, const T& value) {
  return allowed.empty() || std::find(allowed.begin(), allowed.end(), value) != allowed.end();
}

// Whether the value, or every entry of the list, is among `allowed`; true for other kinds.
template <typename T>
bool AllAllowed(const std::vector<T>& allowed, const AttrValue& value) {
  if (const T* one = value.get<T>()) return Allowed(allowed, *one);
  if (const auto* list = value.get<std::vector<T>>()) {
    return std::all_of(list->begin(), list->end(),
                       [&allowed](const T& entry) { return Allowed(allowed, entry); });
  }
  return true;
}

struct ListLength {
  template <typename T>
  int64_t operator()(const std::vector<T>& list) const {
    return static_cast<int64_t>(list.size());
  }
  template <typename T>
  int64_t operator()(const T&) const {
    return 0;
  }
};

bool ReachesMinimum(const AttrDef& attr, const AttrValue& value) {
  if (!attr.minimum) return true;
  if (const int64_t* number = value.get<int64_t>()) return *number >= *attr.minimum;
  return std::visit(ListLength(), value.value()) >= *attr.minimum;
}

bool NamesOnlyTypes(const AttrValue& value) {
  static const DataTypeList* const all = &AllDataTypes();
  return AllAllowed(*all, value);
}

// Checks one given value; gives an empty list its kind.
Status CheckAttr(const OpDef& op, const AttrDef& attr, AttrValue* value) {
  if (value->is_empty_list() && absl::StartsWith(attr.type, "list(")) {
    MS_ASSIGN_OR_RETURN(*value, ParseAttrValue(attr.type, "[]"));
  }
  if (value->TypeName() != attr.type) return Refuse(op, attr, "ill-typed attribute", *value);
  const bool is_default = attr.default_value && *value == *attr.default_value;
  if (!is_default && !NamesOnlyTypes(*value)) {
    return Refuse(op, attr, "no valid type in attribute", *value);
  }
  if (!AllAllowed(attr.allowed_types, *value) || !AllAllowed(attr.allowed_strings, *value)) {
    return Refuse(op, attr, "value that is not allowed for attribute", *value);
  }
  if (!ReachesMinimum(attr, *value)) {
    return Refuse(op, attr, "value below the least for attribute", *value);
  }
  return absl::OkStatus();
}

std::string AttrNames(const OpDef& op) {
  if (op.attrs.empty()) return "none";
  return absl::StrJoin(op.attrs, ", ",
                       [](std::string* out, const AttrDef& attr) { out->append(attr.name); });
}

// ---- Inference of attributes from inputs ----

// One argument's tensors among the inputs of a node.
struct GivenArg {
  const OpDef& op;
  const ArgDef& arg;
  DataTypeList types;
};

// Sets the attribute, or checks that it has the value already. `what`: "type", "count".
Status SetOrCheck(const GivenArg& given, const std::string& name, AttrValue value, AttrMap* attrs) {
  const AttrValue* present = FindAttr(*attrs, name);
  if (present == nullptr) {
    SetAttr(attrs, name, std::move(value));
    return absl::OkStatus();
  }
  if (*present == value) return absl::OkStatus();
  return errors::InvalidArgument("op '", given.op.name, "': argument '", given.arg.name,
                                 "' does not fit attribute '", name, "': expected ",
                                 present->ToString(), ", got ", value.ToString());
}

Status InferFromArg(const GivenArg& given, AttrMap* attrs) {
  const ArgDef& arg = given.arg;
  if (!arg.type_list_attr.empty()) {
    return SetOrCheck(given, arg.type_list_attr, given.types, attrs);
  }
  const int64_t count = static_cast<int64_t>(given.types.size());
  if (!arg.number_attr.empty()) {
    MS_RETURN_IF_ERROR(SetOrCheck(given, arg.number_attr, count, attrs));
  } else if (count != 1) {
    return errors::InvalidArgument("op '", given.op.name, "': argument '", arg.name,
                                   "' is one tensor, got ", count);
  }
  if (arg.type_attr.empty()) return absl::OkStatus();
  for (DataType type : given.types) {
    MS_RETURN_IF_ERROR(SetOrCheck(given, arg.type_attr, type, attrs));
  }
  return absl::OkStatus();
}

}  // namespace

const AttrDef* OpDef::FindAttr(absl::string_view attr) const {
  for (const AttrDef& candidate : attrs) {
    if (candidate.name == attr) return &candidate;
  }
  return nullptr;
}

bool HasReferences(const OpDef& op) {
  const auto is_ref = [](const ArgDef& arg) { return arg.is_ref; };
  return std::any_of(op.inputs.begin(), op.inputs.end(), is_ref) ||
         std::any_of(op.outputs.begin(), op.outputs.end(), is_ref);
}

StatusOr<NodeSignature> ExpandSignature(const OpDef& op, const AttrMap& attrs) {
  NodeSignature signature;
  MS_RETURN_IF_ERROR(
      ExpandArgs(op, op.inputs, attrs,
                 {&signature.input_types, &signature.input_is_ref, &signature.input_starts}));
  MS_RETURN_IF_ERROR(
      ExpandArgs(op, op.outputs, attrs,
                 {&signature.output_types, &signature.output_is_ref, &signature.output_starts}));
  return signature;
}

Status CompleteAttrs(const OpDef& op, AttrMap* attrs, bool allow_unknown) {
  for (const auto& [name, value] : *attrs) {
    if (allow_unknown || absl::StartsWith(name, "_") || op.FindAttr(name) != nullptr) continue;
    return errors::InvalidArgument("op '", op.name, "' has no attribute '", name,
                                   "'; its attributes: ", AttrNames(op));
  }
  for (const AttrDef& attr : op.attrs) {
    const AttrValue* present = FindAttr(*attrs, attr.name);
    if (present == nullptr) {
      if (!attr.default_value) {
        return errors::InvalidArgument("op '", op.name, "': missing attribute '", attr.name,
                                       "': expected ", Expected(attr), ", got none");
      }
      SetAttr(attrs, attr.name, *attr.default_value);
      continue;
    }
    AttrValue checked = *present;
    MS_RETURN_IF_ERROR(CheckAttr(op, attr, &checked));
    if (present->is_empty_list()) SetAttr(attrs, attr.name, std::move(checked));
  }
  return absl::OkStatus();
}

Status InferAttrs(const OpDef& op, const DataTypeList& input_types,
                  const std::vector<int>& input_counts, AttrMap* attrs) {
  if (input_counts.size() != op.inputs.size()) {
    return errors::InvalidArgument("op '", op.name, "' has ", op.inputs.size(), " arguments, got ",
                                   input_counts.size());
  }
  size_t next = 0;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const int count = input_counts[i];
    if (count < 0 || next + count > input_types.size()) {
      return errors::InvalidArgument("op '", op.name, "': argument '", op.inputs[i].name,
                                     "' should be ", count, " of the inputs, of which ",
                                     input_types.size() - next, " are left");
    }
    const auto first = input_types.begin() + next;
    MS_RETURN_IF_ERROR(InferFromArg({op, op.inputs[i], DataTypeList(first, first + count)}, attrs));
    next += count;
  }
  if (next == input_types.size()) return absl::OkStatus();
  return errors::InvalidArgument("op '", op.name, "' takes ", next, " inputs, got ",
                                 input_types.size());
}

}  // namespace millstream
