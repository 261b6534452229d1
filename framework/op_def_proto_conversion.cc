// OpDef to its message and back.
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "framework/proto_conversion.h"

namespace millstream {
namespace {

void ArgToProto(const ArgDef& arg, proto::OpDef::ArgDef* message) {
  message->set_name(arg.name);
  message->set_type(DataTypeToProto(arg.type));
  message->set_type_attr(arg.type_attr);
  message->set_number_attr(arg.number_attr);
  message->set_type_list_attr(arg.type_list_attr);
  message->set_is_ref(arg.is_ref);
}

StatusOr<ArgDef> ArgFromProto(const proto::OpDef::ArgDef& message) {
  ArgDef arg;
  arg.name = message.name();
  bool is_ref = false;
  MS_ASSIGN_OR_RETURN(arg.type, DataTypeFromProto(message.type(), &is_ref));
  arg.type_attr = message.type_attr();
  arg.number_attr = message.number_attr();
  arg.type_list_attr = message.type_list_attr();
  arg.is_ref = is_ref || message.is_ref();
  const int kinds =
      (arg.type != DataType::kInvalid) + !arg.type_attr.empty() + !arg.type_list_attr.empty();
  if (kinds == 1) return arg;
  return errors::InvalidArgument("argument '", arg.name,
                                 "' needs one of type, type_attr and type_list_attr, got ", kinds);
}

Status AttrToProto(const AttrDef& attr, proto::OpDef::AttrDef* message) {
  message->set_name(attr.name);
  message->set_type(attr.type);
  if (attr.default_value) {
    MS_RETURN_IF_ERROR(AttrValueToProto(*attr.default_value, message->mutable_default_value()));
  }
  if (attr.minimum) {
    message->set_has_minimum(true);
    message->set_minimum(*attr.minimum);
  }
  for (DataType type : attr.allowed_types) {
    message->mutable_allowed_values()->mutable_list()->add_type(DataTypeToProto(type));
  }
  for (const std::string& value : attr.allowed_strings) {
    message->mutable_allowed_values()->mutable_list()->add_s(value);
  }
  return absl::OkStatus();
}

StatusOr<AttrDef> AttrFromProto(const proto::OpDef::AttrDef& message) {
  AttrDef attr;
  attr.name = message.name();
  attr.type = message.type();
  if (message.has_default_value()) {
    MS_ASSIGN_OR_RETURN(AttrValue value, AttrValueFromProto(message.default_value()));
    if (value.is_empty_list()) {
      MS_ASSIGN_OR_RETURN(value, ParseAttrValue(attr.type, "[]"));
    }
    attr.default_value = std::move(value);
  }
  if (message.has_minimum()) attr.minimum = message.minimum();
  for (int number : message.allowed_values().list().type()) {
    MS_ASSIGN_OR_RETURN(const DataType type, DataTypeFromProto(number));
    attr.allowed_types.push_back(type);
  }
  for (const std::string& value : message.allowed_values().list().s()) {
    attr.allowed_strings.push_back(value);
  }
  return attr;
}

}  // namespace

Status OpDefToProto(const OpDef& op, proto::OpDef* message) {
  message->Clear();
  message->set_name(op.name);
  for (const ArgDef& arg : op.inputs) ArgToProto(arg, message->add_input_arg());
  for (const ArgDef& arg : op.outputs) ArgToProto(arg, message->add_output_arg());
  for (const AttrDef& attr : op.attrs) {
    const Status status = AttrToProto(attr, message->add_attr());
    if (!status.ok()) {
      return WithContext(status, absl::StrCat("op '", op.name, "', attribute '", attr.name, "'"));
    }
  }
  const size_t line_end = op.doc.find('\n');
  message->set_summary(op.doc.substr(0, line_end));
  if (line_end != std::string::npos) {
    const absl::string_view rest = absl::string_view(op.doc).substr(line_end);
    message->set_description(std::string(absl::StripAsciiWhitespace(rest)));
  }
  message->set_is_stateful(op.is_stateful);
  message->set_is_commutative(op.is_commutative);
  message->set_is_aggregate(op.is_aggregate);
  message->set_allows_uninitialized_input(op.allows_uninitialized_input);
  if (op.deprecated_version != 0) {
    message->mutable_deprecation()->set_version(static_cast<int>(op.deprecated_version));
    message->mutable_deprecation()->set_explanation(op.deprecation);
  }
  return absl::OkStatus();
}

StatusOr<OpDef> OpDefFromProto(const proto::OpDef& message) {
  OpDef op;
  op.name = message.name();
  const std::string context = absl::StrCat("op '", op.name, "'");
  for (const auto* args : {&message.input_arg(), &message.output_arg()}) {
    for (const auto& arg_message : *args) {
      StatusOr<ArgDef> arg = ArgFromProto(arg_message);
      if (!arg.ok()) return WithContext(arg.status(), context);
      (args == &message.input_arg() ? op.inputs : op.outputs).push_back(*std::move(arg));
    }
  }
  for (const auto& attr_message : message.attr()) {
    StatusOr<AttrDef> attr = AttrFromProto(attr_message);
    if (!attr.ok()) {
      return WithContext(attr.status(),
                         absl::StrCat(context, ", attribute '", attr_message.name(), "'"));
    }
    op.attrs.push_back(*std::move(attr));
  }
  op.doc = message.summary();
  if (!message.description().empty()) absl::StrAppend(&op.doc, "\n\n", message.description());
  op.is_stateful = message.is_stateful();
  op.is_commutative = message.is_commutative();
  op.is_aggregate = message.is_aggregate();
  op.allows_uninitialized_input = message.allows_uninitialized_input();
  if (message.has_deprecation()) {
    op.deprecated_version = static_cast<uint32_t>(message.deprecation().version());
    op.deprecation = message.deprecation().explanation();
  }
  return op;
}

}  // namespace millstream
