// Attribute values of nodes and their types.
#ifndef MILLSTREAM_FRAMEWORK_ATTR_VALUE_H_
#define MILLSTREAM_FRAMEWORK_ATTR_VALUE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "framework/dtype.h"
#include "framework/shape.h"
#include "framework/status.h"
#include "framework/tensor.h"

namespace millstream {

class AttrValue;

// Attributes, sorted by name.
using AttrMap = std::vector<std::pair<std::string, AttrValue>>;

// A reference to a function of the graph's library, with its own attributes.
struct FunctionRef {
  std::string name;
  std::shared_ptr<const AttrMap> attrs;  // may be null
};

// One attribute value. `float` attributes are float, `int` are int64_t, `string` are std::string.
// Lists are vectors; an empty list may have no element type. A value type.
class AttrValue {
 public:
  struct EmptyList {};
  using Variant =
      std::variant<std::monostate, int64_t, float, bool, std::string, DataType, PartialShape,
                   Tensor, FunctionRef, EmptyList, std::vector<int64_t>, std::vector<float>,
                   std::vector<bool>, std::vector<std::string>, std::vector<DataType>,
                   std::vector<PartialShape>, std::vector<Tensor>, std::vector<FunctionRef>>;

  AttrValue() = default;
  AttrValue(int64_t value) : value_(value) {}                         // NOLINT
  AttrValue(int value) : value_(static_cast<int64_t>(value)) {}       // NOLINT
  AttrValue(float value) : value_(value) {}                           // NOLINT
  AttrValue(bool value) : value_(value) {}                            // NOLINT
  AttrValue(std::string value) : value_(std::move(value)) {}          // NOLINT
  AttrValue(absl::string_view value) : value_(std::string(value)) {}  // NOLINT
  AttrValue(const char* value) : value_(std::string(value)) {}        // NOLINT
  AttrValue(DataType value) : value_(value) {}                        // NOLINT
  AttrValue(PartialShape value) : value_(std::move(value)) {}         // NOLINT
  AttrValue(Tensor value) : value_(std::move(value)) {}               // NOLINT
  AttrValue(FunctionRef value) : value_(std::move(value)) {}          // NOLINT
  template <typename T>
  AttrValue(std::vector<T> value) : value_(std::move(value)) {}  // NOLINT
  static AttrValue Empty() {
    AttrValue value;
    value.value_ = EmptyList();
    return value;
  }

  const Variant& value() const { return value_; }
  // The value if it is of type T, else null. An empty list without type is an empty vector of any
  // type.
  template <typename T>
  const T* get() const {
    if constexpr (IsVector<T>::value) {
      static const T* const empty = new T();
      if (is_empty_list()) return empty;
    }
    return std::get_if<T>(&value_);
  }
  bool is_empty_list() const { return std::holds_alternative<EmptyList>(value_); }
  bool has_value() const { return !std::holds_alternative<std::monostate>(value_); }
  // "int", "list(type)", ...: the word that specifications use; "list" for an empty list.
  absl::string_view TypeName() const;
  std::string ToString() const;

 private:
  template <typename T>
  struct IsVector : std::false_type {};
  template <typename T>
  struct IsVector<std::vector<T>> : std::true_type {};

  Variant value_;
};

// True if type and value are equal (tensors and floats bit for bit). All empty lists are equal,
// because a GraphDef does not contain their element type.
bool operator==(const AttrValue& a, const AttrValue& b);
inline bool operator!=(const AttrValue& a, const AttrValue& b) { return !(a == b); }

// The attribute; null if there is none.
const AttrValue* FindAttr(const AttrMap& attrs, absl::string_view name);
// Adds or replaces an attribute and keeps the order.
void SetAttr(AttrMap* attrs, absl::string_view name, AttrValue value);

// The attribute's value of type T (int64_t, float, bool, std::string, DataType, PartialShape,
// Tensor, FunctionRef, or a vector of one of them). NOT_FOUND if there is no such attribute,
// INVALID_ARGUMENT if it has another type. Both name the attribute.
template <typename T>
StatusOr<T> GetAttr(const AttrMap& attrs, absl::string_view name);

// Parses a value of the given type ("int", "list(float)", "type", "shape", "tensor", ...) in the
// form of op specifications: `3`, `1e-4`, `-inf`, `true`, `"SAME"` with C escapes, `DT_FLOAT` or
// `float`; for shapes `[2, ?]`, `[2, -1]`, `?` (unknown rank), `{ dim { size: 2 } }` or `{
// unknown_rank: true }`; for tensors a type, a shape and the elements, `int32[2] [3, 4]`; for
// functions the name; for lists `[a, b]`. INVALID_ARGUMENT with the text.
StatusOr<AttrValue> ParseAttrValue(absl::string_view type, absl::string_view text);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_ATTR_VALUE_H_
