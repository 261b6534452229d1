// Every message by its name, in binary and as text.
//
// The messages are those of framework/protos. A name is "GraphDef", "millstream.GraphDef" or
// "tensorflow.GraphDef", which all mean the same message; nested ones are "Summary.Value". The few
// messages of protobuf itself that ours contain go by their full names, "google.protobuf.Any".
// What is found here are generated classes: a result may be cast to millstream::proto::GraphDef.
//
// All functions may be called from any thread; a message itself must not be changed meanwhile.
#ifndef MILLSTREAM_FRAMEWORK_MESSAGE_H_
#define MILLSTREAM_FRAMEWORK_MESSAGE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"

namespace millstream {

using MessagePtr = std::unique_ptr<google::protobuf::Message>;

// Messages nest at most this deep, in binary and in text. Deeper input is refused, so that none can
// exhaust the stack.
inline constexpr int kMaxMessageDepth = 100;

// The description of a message. It lives as long as the process. NOT_FOUND: no such message.
absl::StatusOr<const google::protobuf::Descriptor*> FindMessage(absl::string_view name);

// An empty message. NOT_FOUND: no such message.
absl::StatusOr<MessagePtr> NewMessage(absl::string_view name);

// True if `text` is UTF-8, which all strings of messages must be: without surrogates, overlong
// forms and code points above U+10FFFF.
bool IsUtf8(absl::string_view text);

// Parses a binary message. Unknown fields are kept and written again. INVALID_ARGUMENT: the bytes
// are truncated or malformed, have a string that is not UTF-8, or exceed 2 GiB. NOT_FOUND: no such
// message.
absl::StatusOr<MessagePtr> ParseBinary(absl::string_view name, absl::string_view bytes);

// Parses a message in protobuf's text format. INVALID_ARGUMENT: the text has an error; the status
// has its line and column, both counted from 1. NOT_FOUND: no such message.
absl::StatusOr<MessagePtr> ParseText(absl::string_view name, absl::string_view text);

// The binary encoding. Equal messages give equal bytes in one build: map entries are sorted.
// INVALID_ARGUMENT: it would exceed 2 GiB, the limit of readers.
absl::StatusOr<std::string> ToBinary(const google::protobuf::Message& message);

// The text form, with one field a line and sorted map entries. Numbers are printed like in Python's
// text_format, so that the text equals that of Python programs. ParseText reads it back. Unknown
// fields are left out.
std::string PrintText(const google::protobuf::Message& message);

// Full names ("millstream.GraphDef", nested ones too) of all messages of framework/protos, sorted.
std::vector<std::string> MessageNames();

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_MESSAGE_H_
