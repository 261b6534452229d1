// Ops and messages as bytes and text.
#include <string>

#include "core/c_api/c_api.h"
#include "core/c_api/handles.h"
#include "core/c_api/message_descriptions.h"
#include "framework/message.h"
#include "framework/op_registry.h"
#include "framework/proto_conversion.h"
#include "framework/status.h"

using millstream::MessagePtr;
using millstream::OpDef;
using millstream::OpDefToProto;
using millstream::OpRegistry;
using millstream::ParseBinary;
using millstream::ParseText;
using millstream::PrintText;
using millstream::StatusOr;
using millstream::ToBinary;
using millstream::c_api::Give;
using millstream::c_api::GiveBytes;
using millstream::c_api::MessageDescriptions;

namespace proto = millstream::proto;

namespace {

StatusOr<std::string> OpListBytes() {
  proto::OpList list;
  for (const OpDef* op : OpRegistry::Global()->List()) {
    MS_RETURN_IF_ERROR(OpDefToProto(*op, list.add_op()));
  }
  return ToBinary(list);
}

StatusOr<std::string> TextToBinary(absl::string_view name, absl::string_view text) {
  MS_ASSIGN_OR_RETURN(const MessagePtr message, ParseText(name, text));
  return ToBinary(*message);
}

StatusOr<std::string> BinaryToText(absl::string_view name, absl::string_view bytes) {
  MS_ASSIGN_OR_RETURN(const MessagePtr message, ParseBinary(name, bytes));
  return PrintText(*message);
}

}  // namespace

millstream_status* millstream_op_list(millstream_bytes* out) {
  *out = {nullptr, 0};
  return Give(OpListBytes(), out);
}

millstream_status* millstream_message_parse_text(const char* name, const char* text, size_t size,
                                                 millstream_bytes* out) {
  *out = {nullptr, 0};
  return Give(TextToBinary(name, absl::string_view(text, size)), out);
}

millstream_status* millstream_message_print_text(const char* name, const void* bytes, size_t size,
                                                 millstream_bytes* out) {
  *out = {nullptr, 0};
  return Give(BinaryToText(name, absl::string_view(static_cast<const char*>(bytes), size)), out);
}

millstream_status* millstream_message_descriptions(millstream_bytes* out) {
  *out = GiveBytes(MessageDescriptions());
  return nullptr;
}
