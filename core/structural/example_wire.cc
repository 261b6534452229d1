#include "core/structural/example_wire.h"

#include <cstring>
#include <string>

namespace millstream {
namespace {

enum class WireType : uint32_t { kVarint = 0, kFixed64 = 1, kDelimited = 2, kFixed32 = 5 };

// Fields of the messages.
constexpr uint32_t kBytesList = 1;
constexpr uint32_t kFloatList = 2;
constexpr uint32_t kInt64List = 3;
constexpr uint32_t kListValue = 1;
constexpr uint32_t kEntries = 1;
constexpr uint32_t kEntryName = 1;
constexpr uint32_t kEntryValue = 2;

// A cursor in a message. Every function returns false where the bytes are malformed.
class WireReader {
 public:
  explicit WireReader(absl::string_view bytes) : bytes_(bytes) {}

  bool AtEnd() const { return bytes_.empty(); }
  absl::string_view rest() const { return bytes_; }

  bool ReadVarint(uint64_t* value) {
    constexpr size_t kMostBytes = 10;
    *value = 0;
    for (size_t i = 0; i < kMostBytes && i < bytes_.size(); ++i) {
      const auto byte = static_cast<uint8_t>(bytes_[i]);
      *value |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
      if ((byte & 0x80) != 0) continue;
      bytes_.remove_prefix(i + 1);
      return true;
    }
    return false;
  }
  bool ReadTag(uint32_t* field, WireType* type) {
    uint64_t tag = 0;
    if (!ReadVarint(&tag) || tag > UINT32_MAX) return false;
    *field = static_cast<uint32_t>(tag >> 3);
    *type = static_cast<WireType>(tag & 7);
    return *field != 0;
  }
  bool ReadDelimited(absl::string_view* value) {
    uint64_t size = 0;
    return ReadVarint(&size) && ReadBytes(size, value);
  }
  bool ReadBytes(uint64_t size, absl::string_view* value) {
    if (size > bytes_.size()) return false;
    *value = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return true;
  }
  bool Skip(WireType type) {
    uint64_t number = 0;
    absl::string_view skipped;
    switch (type) {
      case WireType::kVarint: return ReadVarint(&number);
      case WireType::kFixed64: return ReadBytes(8, &skipped);
      case WireType::kDelimited: return ReadDelimited(&skipped);
      case WireType::kFixed32: return ReadBytes(4, &skipped);
    }
    return false;
  }

 private:
  absl::string_view bytes_;
};

// What takes the values of a list, one after the other or, for packed floats, many at once.
struct Counter {
  int64_t count = 0;
  void Bytes(absl::string_view) { ++count; }
  void Floats(absl::string_view packed) {
    count += static_cast<int64_t>(packed.size() / sizeof(float));
  }
  void Integer(uint64_t) { ++count; }
};

struct Copier {
  void* to;
  void Bytes(absl::string_view value) {
    auto* const cell = static_cast<std::string*>(to);
    cell->assign(value.data(), value.size());
    to = cell + 1;
  }
  // The machine is little-endian, as the format is.
  void Floats(absl::string_view packed) {
    if (packed.empty()) return;
    std::memcpy(to, packed.data(), packed.size());
    to = static_cast<char*>(to) + packed.size();
  }
  void Integer(uint64_t value) {
    auto* const cell = static_cast<int64_t*>(to);
    *cell = static_cast<int64_t>(value);
    to = cell + 1;
  }
};

template <typename Sink>
bool ReadBytesValue(WireType type, WireReader* reader, Sink* sink) {
  absl::string_view value;
  if (type != WireType::kDelimited || !reader->ReadDelimited(&value)) return false;
  sink->Bytes(value);
  return true;
}

// One value, or packed ones.
template <typename Sink>
bool ReadFloatValue(WireType type, WireReader* reader, Sink* sink) {
  absl::string_view value;
  if (type == WireType::kFixed32) {
    if (!reader->ReadBytes(sizeof(float), &value)) return false;
  } else if (type != WireType::kDelimited || !reader->ReadDelimited(&value) ||
             value.size() % sizeof(float) != 0) {
    return false;
  }
  sink->Floats(value);
  return true;
}

template <typename Sink>
bool ReadIntegerValue(WireType type, WireReader* reader, Sink* sink) {
  uint64_t value = 0;
  if (type == WireType::kVarint) {
    if (!reader->ReadVarint(&value)) return false;
    sink->Integer(value);
    return true;
  }
  absl::string_view packed;
  if (type != WireType::kDelimited || !reader->ReadDelimited(&packed)) return false;
  WireReader values(packed);
  while (!values.AtEnd()) {
    if (!values.ReadVarint(&value)) return false;
    sink->Integer(value);
  }
  return true;
}

template <typename Sink>
bool ReadList(uint32_t kind, absl::string_view list, Sink* sink) {
  WireReader reader(list);
  while (!reader.AtEnd()) {
    uint32_t field = 0;
    WireType type{};
    if (!reader.ReadTag(&field, &type)) return false;
    const bool good = field != kListValue  ? reader.Skip(type)
                      : kind == kBytesList ? ReadBytesValue(type, &reader, sink)
                      : kind == kFloatList ? ReadFloatValue(type, &reader, sink)
                                           : ReadIntegerValue(type, &reader, sink);
    if (!good) return false;
  }
  return true;
}

DataType TypeOf(uint32_t kind) {
  return kind == kBytesList   ? DataType::kString
         : kind == kFloatList ? DataType::kFloat
                              : DataType::kInt64;
}

}  // namespace

// A feature has one list. Where a message has several, those of the last kind count, as one.
bool ReadFeature(absl::string_view message, FeatureValues* values) {
  *values = FeatureValues();
  WireReader reader(message);
  Counter counter;
  while (!reader.AtEnd()) {
    const absl::string_view from_here = reader.rest();
    uint32_t field = 0;
    WireType type{};
    if (!reader.ReadTag(&field, &type)) return false;
    if (field > kInt64List) {
      if (!reader.Skip(type)) return false;
      continue;
    }
    absl::string_view list;
    if (type != WireType::kDelimited || !reader.ReadDelimited(&list)) return false;
    if (values->dtype != TypeOf(field)) {
      counter.count = 0;
      values->dtype = TypeOf(field);
      values->lists = from_here;
    }
    if (!ReadList(field, list, &counter)) return false;
  }
  values->count = counter.count;
  return true;
}

void CopyFeature(const FeatureValues& values, void* to) {
  WireReader reader(values.lists);
  Copier copier{to};
  while (!reader.AtEnd()) {
    uint32_t field = 0;
    WireType type{};
    absl::string_view list;
    if (!reader.ReadTag(&field, &type)) return;
    if (field > kInt64List) {
      if (!reader.Skip(type)) return;
    } else if (!reader.ReadDelimited(&list) || !ReadList(field, list, &copier)) {
      return;
    }
  }
}

bool ReadSubmessages(absl::string_view message, uint32_t field,
                     absl::FunctionRef<bool(absl::string_view)> visit) {
  WireReader reader(message);
  while (!reader.AtEnd()) {
    uint32_t found = 0;
    WireType type{};
    if (!reader.ReadTag(&found, &type)) return false;
    if (found != field) {
      if (!reader.Skip(type)) return false;
      continue;
    }
    absl::string_view submessage;
    if (type != WireType::kDelimited || !reader.ReadDelimited(&submessage)) return false;
    if (!visit(submessage)) return false;
  }
  return true;
}

bool ReadEntries(absl::string_view message,
                 absl::FunctionRef<bool(absl::string_view, absl::string_view)> visit) {
  return ReadSubmessages(message, kEntries, [&](absl::string_view entry) {
    WireReader reader(entry);
    absl::string_view name, value;
    while (!reader.AtEnd()) {
      uint32_t field = 0;
      WireType type{};
      if (!reader.ReadTag(&field, &type)) return false;
      if (field > kEntryValue) {
        if (!reader.Skip(type)) return false;
        continue;
      }
      absl::string_view* const part = field == kEntryName ? &name : &value;
      if (type != WireType::kDelimited || !reader.ReadDelimited(part)) return false;
    }
    return visit(name, value);
  });
}

}  // namespace millstream
