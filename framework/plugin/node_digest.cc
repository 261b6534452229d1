#include "framework/plugin/node_digest.h"

#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

namespace millstream {
namespace {

// FNV-1a of 64 bits over a form in which every piece says how long it is.
class Digest {
 public:
  void Bytes(const void* data, size_t size) {
    Number(size);
    const auto* bytes = static_cast<const unsigned char*>(data);
    for (size_t i = 0; i < size; ++i) Byte(bytes[i]);
  }
  void Number(uint64_t number) {
    for (int shift = 0; shift < 64; shift += 8) Byte(static_cast<unsigned char>(number >> shift));
  }
  uint64_t value() const { return value_; }

  void Add(std::monostate) {}
  void Add(AttrValue::EmptyList) {}
  void Add(int64_t value) { Number(static_cast<uint64_t>(value)); }
  void Add(bool value) { Number(value ? 1 : 0); }
  void Add(float value) {
    uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof(bits));
    Number(bits);
  }
  void Add(DataType value) { Number(static_cast<uint64_t>(value)); }
  void Add(const std::string& value) { Bytes(value.data(), value.size()); }
  void Add(const PartialShape& value) {
    Number(value.known_rank() ? 1 : 0);
    Number(value.dims().size());
    for (const int64_t size : value.dims()) Add(size);
  }
  void Add(const Tensor& value) {
    Add(value.dtype());
    Add(PartialShape(value.shape()));
    if (value.dtype() == DataType::kString) {
      for (const std::string& text : value.flat<std::string>()) Add(text);
    } else {
      Bytes(value.raw(), value.bytes());
    }
  }
  void Add(const FunctionRef& value) {
    Add(value.name);
    if (value.attrs != nullptr) Add(*value.attrs);
  }
  void Add(const AttrMap& attrs) {
    Number(attrs.size());
    for (const auto& [name, value] : attrs) {
      Add(name);
      Add(value);
    }
  }
  void Add(const AttrValue& value) {
    Number(value.value().index());
    std::visit([this](const auto& held) { Add(held); }, value.value());
  }
  template <typename T>
  void Add(const std::vector<T>& list) {
    Number(list.size());
    for (const T& item : list) Add(item);
  }
  void Add(const std::vector<bool>& list) {
    Number(list.size());
    for (const bool item : list) Add(item);
  }

 private:
  void Byte(unsigned char byte) { value_ = (value_ ^ byte) * 0x100000001b3ull; }
  uint64_t value_ = 0xcbf29ce484222325ull;
};

}  // namespace

uint64_t NodeDigest(absl::string_view op, const AttrMap& attrs, const NodeSignature& signature) {
  Digest digest;
  digest.Bytes(op.data(), op.size());
  digest.Add(attrs);
  digest.Add(signature.input_types);
  digest.Add(signature.output_types);
  return digest.value();
}

}  // namespace millstream
