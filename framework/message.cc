#include "framework/message.h"

#include <algorithm>
#include <charconv>
#include <climits>
#include <cmath>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "framework/message_size.h"
#include "framework/status.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/stubs/logging.h"
#include "google/protobuf/text_format.h"
#include "millstream/framework/protos/checkpoint_state.pb.h"
#include "millstream/framework/protos/control_flow.pb.h"
#include "millstream/framework/protos/device_attributes.pb.h"
#include "millstream/framework/protos/event.pb.h"
#include "millstream/framework/protos/example.pb.h"
#include "millstream/framework/protos/kernel_def.pb.h"
#include "millstream/framework/protos/queue_runner.pb.h"
#include "millstream/framework/protos/reader_base.pb.h"
#include "millstream/framework/protos/saved_model.pb.h"
#include "millstream/framework/protos/saved_tensor_slice.pb.h"
#include "millstream/framework/protos/tensor_bundle.pb.h"
#include "millstream/framework/protos/tensorflow_server.pb.h"
#include "millstream/framework/protos/tfprof_log.pb.h"
#include "millstream/framework/protos/tfprof_output.pb.h"

namespace millstream {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;
using google::protobuf::Message;
using google::protobuf::TextFormat;

constexpr absl::string_view kPackage = "millstream.";
constexpr absl::string_view kPublicPackage = "tensorflow.";
constexpr absl::string_view kProtobufPackage = "google.protobuf.";
constexpr absl::string_view kSourceFolder = "millstream/framework/protos/";

// One message of each .proto file that no other one imports. Being named here makes the linker keep
// these files and all that they import; message_test fails when a file is missing.
std::vector<const Descriptor*> RootMessages() {
  return {
      proto::BundleHeaderProto::descriptor(),
      proto::CheckpointState::descriptor(),
      proto::ControlFlowContextDef::descriptor(),
      proto::DeviceAttributes::descriptor(),
      proto::Event::descriptor(),
      proto::KernelList::descriptor(),
      proto::QueueRunnerDef::descriptor(),
      proto::ReaderBaseState::descriptor(),
      proto::SavedModel::descriptor(),
      proto::SavedTensorSlices::descriptor(),
      proto::SequenceExample::descriptor(),
      proto::ServerDef::descriptor(),
      proto::tfprof::GraphNodeProto::descriptor(),
      proto::tfprof::OpLogProto::descriptor(),
  };
}

void AddFileAndImports(const FileDescriptor* file, std::set<const FileDescriptor*>* files) {
  if (!absl::StartsWith(file->name(), kSourceFolder) || !files->insert(file).second) return;
  for (int i = 0; i < file->dependency_count(); ++i) {
    AddFileAndImports(file->dependency(i), files);
  }
}

void AddNames(const Descriptor* message, std::vector<std::string>* names) {
  if (message->options().map_entry()) return;  // an encoding of map fields, not a message
  names->push_back(message->full_name());
  for (int i = 0; i < message->nested_type_count(); ++i) {
    AddNames(message->nested_type(i), names);
  }
}

// Keeps the first error of a text and counts the others.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  // `line` and `column` count from 0; `line` is -1 when an error has no place.
  void AddError(int line, google::protobuf::io::ColumnNumber column,
                const std::string& message) override {
    if (++count_ > 1) return;
    text_ = line < 0 ? message : absl::StrCat(line + 1, ":", column + 1, ": ", message);
  }

  std::string ToString() const {
    if (count_ <= 1) return text_;
    return absl::StrCat(text_, " (and ", count_ - 1, " more)");
  }

 private:
  int count_ = 0;
  std::string text_;
};

// The fewest digits that give `value` back, laid out as Python does: "1.0", "0.0001", "1e-05",
// "1e+16". Protobuf for C++ writes "1", but programs compare text with what Python wrote.
template <typename Float>
std::string FormatFloat(Float value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[32];  // the longest is "-2.2250738585072014e-308"
  const std::to_chars_result end =
      std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::scientific);
  const absl::string_view scientific(buffer, end.ptr - buffer);
  const size_t mark = scientific.find('e');
  int exponent = 0;
  const size_t sign_length = scientific[mark + 1] == '+' ? 2 : 1;  // from_chars knows only '-'
  std::from_chars(buffer + mark + sign_length, end.ptr, exponent);
  if (exponent < -4 || exponent >= 16) return std::string(scientific);

  const absl::string_view sign = scientific[0] == '-' ? "-" : "";
  std::string digits;
  for (char c : scientific.substr(0, mark)) {
    if (c >= '0' && c <= '9') digits += c;
  }
  if (exponent < 0) return absl::StrCat(sign, "0.", std::string(-exponent - 1, '0'), digits);
  const size_t whole = exponent + 1;
  digits.resize(std::max(digits.size(), whole + 1), '0');
  return absl::StrCat(sign, digits.substr(0, whole), ".", digits.substr(whole));
}

class ValuePrinter : public TextFormat::FastFieldValuePrinter {
 public:
  void PrintFloat(float value, TextFormat::BaseTextGenerator* generator) const override {
    generator->PrintString(FormatFloat(value));
  }
  void PrintDouble(double value, TextFormat::BaseTextGenerator* generator) const override {
    generator->PrintString(FormatFloat(value));
  }
};

// Sets every field of a map's entry to the value that it has.
void SetAsGiven(Message* entry) {
  const google::protobuf::Reflection* const reflection = entry->GetReflection();
  for (int i = 0; i < entry->GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* const field = entry->GetDescriptor()->field(i);
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_STRING:
        reflection->SetString(entry, field, reflection->GetString(*entry, field));
        break;
      case FieldDescriptor::CPPTYPE_INT32:
        reflection->SetInt32(entry, field, reflection->GetInt32(*entry, field));
        break;
      case FieldDescriptor::CPPTYPE_INT64:
        reflection->SetInt64(entry, field, reflection->GetInt64(*entry, field));
        break;
      case FieldDescriptor::CPPTYPE_UINT32:
        reflection->SetUInt32(entry, field, reflection->GetUInt32(*entry, field));
        break;
      case FieldDescriptor::CPPTYPE_UINT64:
        reflection->SetUInt64(entry, field, reflection->GetUInt64(*entry, field));
        break;
      case FieldDescriptor::CPPTYPE_FLOAT:
        reflection->SetFloat(entry, field, reflection->GetFloat(*entry, field));
        break;
      case FieldDescriptor::CPPTYPE_DOUBLE:
        reflection->SetDouble(entry, field, reflection->GetDouble(*entry, field));
        break;
      case FieldDescriptor::CPPTYPE_BOOL:
        reflection->SetBool(entry, field, reflection->GetBool(*entry, field));
        break;
      case FieldDescriptor::CPPTYPE_ENUM:
        reflection->SetEnumValue(entry, field, reflection->GetEnumValue(*entry, field));
        break;
      case FieldDescriptor::CPPTYPE_MESSAGE: reflection->MutableMessage(entry, field); break;
    }
  }
}

// Says of the entries of maps that they have a key and a value, when they came without one of them:
// protobuf writes both, but an entry's length counts only those that it came with.
void CompleteMapEntries(Message* message) {
  const google::protobuf::Reflection* const reflection = message->GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(*message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      CompleteMapEntries(reflection->MutableMessage(message, field));
      continue;
    }
    for (int i = 0; i < reflection->FieldSize(*message, field); ++i) {
      Message* const item = reflection->MutableRepeatedMessage(message, field, i);
      if (field->is_map()) SetAsGiven(item);
      CompleteMapEntries(item);
    }
  }
}

// Strings of a text may be anything, by escapes; but bytes that hold them would not be read again.
absl::Status CheckStrings(const Message& message) {
  const google::protobuf::Reflection* const reflection = message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const bool is_message = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (!is_message && field->type() != FieldDescriptor::TYPE_STRING) continue;
    const int count = field->is_repeated() ? reflection->FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      if (is_message) {
        MS_RETURN_IF_ERROR(CheckStrings(field->is_repeated()
                                            ? reflection->GetRepeatedMessage(message, field, i)
                                            : reflection->GetMessage(message, field)));
        continue;
      }
      std::string scratch;
      const std::string& text =
          field->is_repeated() ? reflection->GetRepeatedStringReference(message, field, i, &scratch)
                               : reflection->GetStringReference(message, field, &scratch);
      if (!IsUtf8(text)) {
        return errors::InvalidArgument("field '", field->name(), "' of a ",
                                       message.GetDescriptor()->name(), " must be UTF-8");
      }
    }
  }
  return absl::OkStatus();
}

MessagePtr NewMessage(const Descriptor* descriptor) {
  const Message* prototype =
      google::protobuf::MessageFactory::generated_factory()->GetPrototype(descriptor);
  return MessagePtr(prototype->New());
}

}  // namespace

bool IsUtf8(absl::string_view text) {
  constexpr uint32_t kLeast[] = {0, 0x80, 0x800, 0x10000};
  for (size_t i = 0; i < text.size();) {
    const auto first = static_cast<uint8_t>(text[i++]);
    if (first < 0x80) continue;
    const int more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
    if (first < 0xC2 || first > 0xF4 || i + more > text.size()) return false;
    uint32_t code = first & (0x3F >> more);
    for (int k = 0; k < more; ++k) {
      const auto next = static_cast<uint8_t>(text[i++]);
      if ((next & 0xC0) != 0x80) return false;
      code = code << 6 | (next & 0x3F);
    }
    if (code < kLeast[more] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return false;
  }
  return true;
}

absl::StatusOr<const Descriptor*> FindMessage(absl::string_view name) {
  std::string full_name(name);
  if (!absl::StartsWith(name, kProtobufPackage)) {
    absl::string_view relative = name;
    if (!absl::ConsumePrefix(&relative, kPackage)) absl::ConsumePrefix(&relative, kPublicPackage);
    full_name = absl::StrCat(kPackage, relative);
  }
  const Descriptor* descriptor =
      google::protobuf::DescriptorPool::generated_pool()->FindMessageTypeByName(full_name);
  if (descriptor == nullptr || descriptor->options().map_entry()) {
    return errors::NotFound("there is no message called '", name, "'");
  }
  return descriptor;
}

absl::StatusOr<MessagePtr> NewMessage(absl::string_view name) {
  MS_ASSIGN_OR_RETURN(const Descriptor* descriptor, FindMessage(name));
  return NewMessage(descriptor);
}

absl::StatusOr<MessagePtr> ParseBinary(absl::string_view name, absl::string_view bytes) {
  MS_ASSIGN_OR_RETURN(const Descriptor* descriptor, FindMessage(name));
  if (bytes.size() > INT_MAX) {
    return errors::InvalidArgument("expected the bytes of a ", descriptor->name(), ", at most ",
                                   INT_MAX, ", got ", bytes.size());
  }
  bool has_incomplete_entries = false;
  MS_RETURN_IF_ERROR(CheckBinarySize(descriptor, bytes, &has_incomplete_entries));
  MessagePtr message = NewMessage(descriptor);
  google::protobuf::io::CodedInputStream input(reinterpret_cast<const uint8_t*>(bytes.data()),
                                               static_cast<int>(bytes.size()));
  input.SetRecursionLimit(kMaxMessageDepth);
  // Protobuf also prints some errors to stderr; ours are in the status.
  const google::protobuf::LogSilencer silencer;
  if (!message->ParseFromCodedStream(&input) || !input.ConsumedEntireMessage()) {
    return errors::InvalidArgument("expected the bytes of a ", descriptor->name(), ", got ",
                                   bytes.size(),
                                   " bytes that are cut off or encode something else");
  }
  if (has_incomplete_entries) CompleteMapEntries(message.get());
  return message;
}

absl::StatusOr<MessagePtr> ParseText(absl::string_view name, absl::string_view text) {
  MS_ASSIGN_OR_RETURN(const Descriptor* descriptor, FindMessage(name));
  if (text.size() > INT_MAX) {
    return errors::InvalidArgument("expected the text of a ", descriptor->name(), ", at most ",
                                   INT_MAX, " bytes, got ", text.size());
  }
  MS_RETURN_IF_ERROR(CheckTextSize(descriptor, text));
  MessagePtr message = NewMessage(descriptor);
  FirstError error;
  TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  parser.SetRecursionLimit(kMaxMessageDepth);
  google::protobuf::io::ArrayInputStream input(text.data(), static_cast<int>(text.size()));
  if (!parser.Parse(&input, message.get())) {
    return errors::InvalidArgument("expected the text of a ", descriptor->name(),
                                   ", got an error at ", error.ToString());
  }
  MS_RETURN_IF_ERROR(CheckStrings(*message));
  CompleteMapEntries(message.get());
  return message;
}

absl::StatusOr<std::string> ToBinary(const Message& message) {
  const size_t size = message.ByteSizeLong();
  if (size > INT_MAX) {
    return errors::InvalidArgument("a ", message.GetDescriptor()->name(), " of ", size,
                                   " bytes cannot be encoded: the limit is ", INT_MAX);
  }
  std::string bytes;
  bytes.reserve(size);
  const google::protobuf::LogSilencer silencer;  // of keys that a map has twice
  {
    google::protobuf::io::StringOutputStream output(&bytes);
    google::protobuf::io::CodedOutputStream coded(&output);
    coded.SetSerializationDeterministic(true);
    message.SerializeWithCachedSizes(&coded);
  }
  return bytes;
}

std::string PrintText(const Message& message) {
  const google::protobuf::LogSilencer silencer;  // as in ToBinary
  TextFormat::Printer printer;
  printer.SetHideUnknownFields(true);
  printer.SetDefaultFieldValuePrinter(new ValuePrinter);  // the printer owns it
  std::string text;
  // Fails only when its output stream does, and a string does not.
  printer.PrintToString(message, &text);
  return text;
}

std::vector<std::string> MessageNames() {
  std::set<const FileDescriptor*> files;
  for (const Descriptor* root : RootMessages()) AddFileAndImports(root->file(), &files);
  std::vector<std::string> names;
  for (const FileDescriptor* file : files) {
    for (int i = 0; i < file->message_type_count(); ++i) AddNames(file->message_type(i), &names);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace millstream
