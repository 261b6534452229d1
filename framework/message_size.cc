#include "framework/message_size.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "framework/message.h"
#include "framework/status.h"
#include "google/protobuf/descriptor.pb.h"
#include "google/protobuf/message.h"

namespace millstream {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

// The limit is kFreeBytes plus kBytesPerEncodedByte for each byte of the message. Valid messages
// need at most about 20 bytes for each: nodes with only a short name.
constexpr int64_t kFreeBytes = int64_t{16} << 20;
constexpr int64_t kBytesPerEncodedByte = 24;
// Texts up to this size cannot exceed kFreeBytes.
constexpr size_t kSmallText = size_t{32} << 10;

// The overhead of the heap, and of the array of pointers, which grows by doubling.
constexpr int64_t kObjectOverhead = 32;
constexpr int64_t kStringBytes = sizeof(std::string) + kObjectOverhead;
constexpr int64_t kUnknownFieldBytes = 32;
constexpr int64_t kMapNodeBytes = 64;
// In the text form, all messages count as this size.
constexpr int64_t kTextMessageBytes = 400;

enum WireType : uint32_t {
  kVarint = 0,
  kFixed64 = 1,
  kDelimited = 2,
  kStartGroup = 3,
  kEndGroup = 4,
  kFixed32 = 5,
};

// Takes numbers and ranges from the front of some bytes; every function is false at their end.
class WireReader {
 public:
  explicit WireReader(absl::string_view bytes) : bytes_(bytes) {}

  bool empty() const { return bytes_.empty(); }
  bool Varint(uint64_t* value) {
    *value = 0;
    for (int shift = 0; shift < 64 && !bytes_.empty(); shift += 7) {
      const auto byte = static_cast<uint8_t>(bytes_.front());
      bytes_.remove_prefix(1);
      *value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return true;
    }
    return false;
  }
  bool Skip(size_t count) {
    if (count > bytes_.size()) return false;
    bytes_.remove_prefix(count);
    return true;
  }
  bool Delimited(absl::string_view* range) {
    uint64_t size = 0;
    if (!Varint(&size) || size > bytes_.size()) return false;
    *range = bytes_.substr(0, size);
    return Skip(size);
  }

 private:
  absl::string_view bytes_;
};

int64_t NumVarints(absl::string_view bytes) {
  int64_t count = 0;
  for (const char c : bytes) count += (static_cast<uint8_t>(c) & 0x80) == 0 ? 1 : 0;
  return count;
}

int64_t ElementBytes(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT64:
    case FieldDescriptor::CPPTYPE_UINT64:
    case FieldDescriptor::CPPTYPE_DOUBLE: return 8;
    case FieldDescriptor::CPPTYPE_BOOL: return 1;
    default: return 4;
  }
}

// Elements of a packed list.
int64_t NumPacked(const FieldDescriptor& field, absl::string_view bytes) {
  switch (field.type()) {
    case FieldDescriptor::TYPE_FIXED32:
    case FieldDescriptor::TYPE_SFIXED32:
    case FieldDescriptor::TYPE_FLOAT: return static_cast<int64_t>(bytes.size() / 4);
    case FieldDescriptor::TYPE_FIXED64:
    case FieldDescriptor::TYPE_SFIXED64:
    case FieldDescriptor::TYPE_DOUBLE: return static_cast<int64_t>(bytes.size() / 8);
    default: return NumVarints(bytes);
  }
}

bool IsMapEntry(const Descriptor* type) { return type != nullptr && type->options().map_entry(); }

WireType WireTypeOf(const FieldDescriptor& field) {
  switch (field.type()) {
    case FieldDescriptor::TYPE_STRING:
    case FieldDescriptor::TYPE_BYTES:
    case FieldDescriptor::TYPE_MESSAGE: return kDelimited;
    case FieldDescriptor::TYPE_FIXED32:
    case FieldDescriptor::TYPE_SFIXED32:
    case FieldDescriptor::TYPE_FLOAT: return kFixed32;
    case FieldDescriptor::TYPE_FIXED64:
    case FieldDescriptor::TYPE_SFIXED64:
    case FieldDescriptor::TYPE_DOUBLE: return kFixed64;
    default: return kVarint;
  }
}

// 1 for the key of a map's entry, 2 for its value, else 0.
int EntryBit(const Descriptor* type, uint64_t tag) {
  const uint64_t number = tag >> 3;
  if (!IsMapEntry(type) || number < 1 || number > 2) return 0;
  const FieldDescriptor* const field = type->FindFieldByNumber(static_cast<int>(number));
  return WireTypeOf(*field) == static_cast<WireType>(tag & 7) ? static_cast<int>(number) : 0;
}

// Adds up what the parser will allocate. Stops where there is no encoding, or too much.
class SizeCounter {
 public:
  explicit SizeCounter(int64_t limit) : limit_(limit) {}

  int64_t total() const { return total_; }
  bool has_incomplete_entries() const { return has_incomplete_entries_; }
  // `type` null: everything is unknown. False when it has stopped.
  bool Count(const Descriptor* type, absl::string_view bytes, int depth) {
    WireReader reader(bytes);
    int given = 0;  // a bit for each field of a map's entry
    while (!reader.empty()) {
      uint64_t tag = 0;
      if (!reader.Varint(&tag) || !CountField(type, tag, depth, &reader)) return false;
      if (total_ > limit_) return false;
      given |= EntryBit(type, tag);
    }
    if (IsMapEntry(type) && given != 3) has_incomplete_entries_ = true;
    return true;
  }

 private:
  bool CountField(const Descriptor* type, uint64_t tag, int depth, WireReader* reader) {
    const FieldDescriptor* const field =
        type == nullptr ? nullptr : type->FindFieldByNumber(static_cast<int>(tag >> 3));
    total_ += field == nullptr ? kUnknownFieldBytes
                               : (field->is_repeated() ? 2 * ElementBytes(*field) : 0);
    uint64_t number = 0;
    switch (static_cast<WireType>(tag & 7)) {
      case kVarint: return reader->Varint(&number);
      case kFixed64: return reader->Skip(8);
      case kFixed32: return reader->Skip(4);
      case kDelimited: break;
      // A group's fields count one by one; it is a set of unknown fields of its own.
      case kStartGroup: total_ += kObjectOverhead + kUnknownFieldBytes; return true;
      case kEndGroup: return true;
      default: return false;
    }
    absl::string_view content;
    return reader->Delimited(&content) && CountContent(field, content, depth);
  }

  bool CountContent(const FieldDescriptor* field, absl::string_view content, int depth) {
    const bool is_text = field == nullptr || field->cpp_type() == FieldDescriptor::CPPTYPE_STRING;
    if (is_text) {
      total_ += kStringBytes + static_cast<int64_t>(content.size());
      return true;
    }
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE && !field->is_repeated()) {
      // A number alone cannot come packed: it is kept as a field that is not known.
      total_ += kUnknownFieldBytes + kStringBytes + static_cast<int64_t>(content.size());
      return true;
    }
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
      total_ += 2 * ElementBytes(*field) * NumPacked(*field, content);
      return true;
    }
    const Descriptor* const type = field->message_type();
    total_ += IsMapEntry(type) ? kMapNodeBytes : ObjectBytes(type);
    return depth < kMaxMessageDepth && Count(type, content, depth + 1);
  }

  int64_t ObjectBytes(const Descriptor* type) {
    int64_t& bytes = objects_[type];
    if (bytes == 0) {
      const google::protobuf::Message* const prototype =
          google::protobuf::MessageFactory::generated_factory()->GetPrototype(type);
      bytes = static_cast<int64_t>(prototype->SpaceUsedLong()) + kObjectOverhead;
    }
    return bytes;
  }

  const int64_t limit_;
  int64_t total_ = 0;
  bool has_incomplete_entries_ = false;
  absl::flat_hash_map<const Descriptor*, int64_t> objects_;
};

int64_t LimitFor(size_t size) {
  return kFreeBytes + kBytesPerEncodedByte * static_cast<int64_t>(size);
}

absl::Status TooLarge(const Descriptor* message, size_t size, absl::string_view form) {
  return errors::ResourceExhausted("a ", message->name(), " of ", size, " ", form,
                                   " would take more than ", LimitFor(size),
                                   " bytes of memory: it consists of nearly empty parts");
}

// Messages that the text opens, those of lists in short form as well, up to where the parser stops
// because they nest too deep.
int64_t NumTextMessages(absl::string_view text) {
  int64_t count = 0;
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    switch (text[i]) {
      case '{':
      case '<':
        ++count;
        if (++depth > kMaxMessageDepth) return count;
        break;
      case '}':
      case '>': --depth; break;
      case '#': i = std::min(text.find('\n', i), text.size()); break;
      case '"':
      case '\'': {
        const char quote = text[i];
        for (++i; i < text.size() && text[i] != quote && text[i] != '\n'; ++i) {
          if (text[i] == '\\') ++i;
        }
        break;
      }
      default: break;
    }
  }
  return count;
}

}  // namespace

absl::Status CheckBinarySize(const Descriptor* message, absl::string_view bytes,
                             bool* has_incomplete_entries) {
  const int64_t limit = LimitFor(bytes.size());
  SizeCounter counter(limit);
  counter.Count(message, bytes, 0);
  *has_incomplete_entries = counter.has_incomplete_entries();
  if (counter.total() <= limit) return absl::OkStatus();
  return TooLarge(message, bytes.size(), "bytes");
}

int64_t ParsedBytes(const Descriptor* message, absl::string_view bytes, int64_t limit) {
  SizeCounter counter(limit);
  counter.Count(message, bytes, 0);
  return counter.total();
}

absl::Status CheckTextSize(const Descriptor* message, absl::string_view text) {
  if (text.size() <= kSmallText) return absl::OkStatus();
  if (NumTextMessages(text) <= LimitFor(text.size()) / kTextMessageBytes) return absl::OkStatus();
  return TooLarge(message, text.size(), "characters");
}

}  // namespace millstream
