#include "core/c_api/message_descriptions.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/c_api/json.h"
#include "framework/message.h"
#include "google/protobuf/descriptor.h"

namespace millstream::c_api {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;

constexpr char kPackage[] = "millstream.";

// Every type that our messages use, by its short name.
struct Types {
  std::map<std::string, const Descriptor*> messages;
  std::map<std::string, const EnumDescriptor*> enums;
};

// "NodeDef.AttrEntry"; types of protobuf itself keep their package.
std::string ShortName(absl::string_view full_name) {
  return std::string(absl::StripPrefix(full_name, kPackage));
}

void AddMessage(const Descriptor* message, Types* types) {
  if (!types->messages.emplace(ShortName(message->full_name()), message).second) return;
  for (int i = 0; i < message->enum_type_count(); ++i) {
    types->enums.emplace(ShortName(message->enum_type(i)->full_name()), message->enum_type(i));
  }
  for (int i = 0; i < message->field_count(); ++i) {
    const FieldDescriptor* field = message->field(i);
    if (field->message_type() != nullptr) AddMessage(field->message_type(), types);
    if (field->enum_type() != nullptr) {
      types->enums.emplace(ShortName(field->enum_type()->full_name()), field->enum_type());
    }
  }
}

Types FindTypes() {
  Types types;
  for (const std::string& name : MessageNames()) {
    const auto message = FindMessage(name);
    if (message.ok()) AddMessage(*message, &types);
  }
  return types;
}

void AppendMember(absl::string_view name, absl::string_view value, std::string* json) {
  absl::StrAppend(json, ", \"", name, "\": ");
  AppendJsonString(value, json);
}

void AppendMember(absl::string_view name, bool value, std::string* json) {
  absl::StrAppend(json, ", \"", name, "\": ", value ? "true" : "false");
}

void AppendField(const FieldDescriptor& field, std::string* json) {
  absl::StrAppend(json, "{\"name\": ");
  AppendJsonString(field.name(), json);
  absl::StrAppend(json, ", \"number\": ", field.number());
  AppendMember("type", absl::string_view(field.type_name()), json);
  if (field.message_type() != nullptr) {
    AppendMember("message", ShortName(field.message_type()->full_name()), json);
  }
  if (field.enum_type() != nullptr) {
    AppendMember("enum", ShortName(field.enum_type()->full_name()), json);
  }
  AppendMember("repeated", field.is_repeated(), json);
  AppendMember("map", field.is_map(), json);
  AppendMember("packed", field.is_packed(), json);
  AppendMember("presence", field.has_presence(), json);
  const google::protobuf::OneofDescriptor* oneof = field.real_containing_oneof();
  if (oneof == nullptr) {
    absl::StrAppend(json, ", \"oneof\": null}");
  } else {
    AppendMember("oneof", absl::string_view(oneof->name()), json);
    absl::StrAppend(json, "}");
  }
}

void AppendMessage(const Descriptor& message, std::string* json) {
  std::vector<const FieldDescriptor*> fields;
  for (int i = 0; i < message.field_count(); ++i) fields.push_back(message.field(i));
  std::sort(fields.begin(), fields.end(), [](const FieldDescriptor* a, const FieldDescriptor* b) {
    return a->number() < b->number();
  });
  absl::StrAppend(json, "[");
  for (size_t i = 0; i < fields.size(); ++i) {
    if (i > 0) absl::StrAppend(json, ", ");
    AppendField(*fields[i], json);
  }
  absl::StrAppend(json, "]");
}

void AppendEnum(const EnumDescriptor& type, std::string* json) {
  absl::StrAppend(json, "{");
  for (int i = 0; i < type.value_count(); ++i) {
    if (i > 0) absl::StrAppend(json, ", ");
    AppendJsonString(type.value(i)->name(), json);
    absl::StrAppend(json, ": ", type.value(i)->number());
  }
  absl::StrAppend(json, "}");
}

// Appends the object of all `types`, each written by append(type, json).
template <typename Map, typename Append>
void AppendTypes(const Map& types, Append append, std::string* json) {
  absl::string_view separator = "";
  absl::StrAppend(json, "{");
  for (const auto& [name, type] : types) {
    absl::StrAppend(json, separator, "\n");
    AppendJsonString(name, json);
    absl::StrAppend(json, ": ");
    append(*type, json);
    separator = ",";
  }
  absl::StrAppend(json, "}");
}

}  // namespace

std::string MessageDescriptions() {
  const Types types = FindTypes();
  std::string json = "{\"messages\": ";
  AppendTypes(types.messages, AppendMessage, &json);
  absl::StrAppend(&json, ", \"enums\": ");
  AppendTypes(types.enums, AppendEnum, &json);
  absl::StrAppend(&json, "}");
  return json;
}

}  // namespace millstream::c_api
