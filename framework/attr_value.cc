#include "framework/attr_value.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace millstream {
namespace {

template <typename T>
struct Kind;
template <>
struct Kind<int64_t> {
  static constexpr const char* kName = "int";
  static constexpr const char* kListName = "list(int)";
};
template <>
struct Kind<float> {
  static constexpr const char* kName = "float";
  static constexpr const char* kListName = "list(float)";
};
template <>
struct Kind<bool> {
  static constexpr const char* kName = "bool";
  static constexpr const char* kListName = "list(bool)";
};
template <>
struct Kind<std::string> {
  static constexpr const char* kName = "string";
  static constexpr const char* kListName = "list(string)";
};
template <>
struct Kind<DataType> {
  static constexpr const char* kName = "type";
  static constexpr const char* kListName = "list(type)";
};
template <>
struct Kind<PartialShape> {
  static constexpr const char* kName = "shape";
  static constexpr const char* kListName = "list(shape)";
};
template <>
struct Kind<Tensor> {
  static constexpr const char* kName = "tensor";
  static constexpr const char* kListName = "list(tensor)";
};
template <>
struct Kind<FunctionRef> {
  static constexpr const char* kName = "func";
  static constexpr const char* kListName = "list(func)";
};
template <>
struct Kind<std::monostate> {
  static constexpr const char* kName = "nothing";
};
template <>
struct Kind<AttrValue::EmptyList> {
  static constexpr const char* kName = "list";
};
template <typename T>
struct Kind<std::vector<T>> {
  static constexpr const char* kName = Kind<T>::kListName;
};

// ---- Text ----

std::string Text(std::monostate) { return "<unset>"; }
std::string Text(AttrValue::EmptyList) { return "[]"; }
std::string Text(int64_t value) { return absl::StrCat(value); }
std::string Text(float value) { return absl::StrCat(value); }
std::string Text(bool value) { return value ? "true" : "false"; }
std::string Text(const std::string& value) {
  return absl::StrCat("\"", absl::CEscape(value), "\"");
}
std::string Text(DataType value) { return std::string(DataTypeSpecName(value)); }
std::string Text(const PartialShape& value) { return value.ToString(); }
std::string Text(const Tensor& value) { return value.DebugString(); }
std::string Text(const FunctionRef& value) {
  std::string text = value.name;
  if (value.attrs == nullptr || value.attrs->empty()) return text;
  const char* separator = "[";
  for (const auto& [name, attr] : *value.attrs) {
    absl::StrAppend(&text, separator, name, "=", attr.ToString());
    separator = ", ";
  }
  return text + "]";
}
template <typename T>
std::string Text(const std::vector<T>& list) {
  std::string text = "[";
  for (size_t i = 0; i < list.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", Text(static_cast<const T&>(list[i])));
  }
  return text + "]";
}

// ---- Equality ----

template <typename T>
bool Same(const T& a, const T& b) {
  return a == b;
}
template <>
bool Same(const std::monostate&, const std::monostate&) {
  return true;
}
template <>
bool Same(const AttrValue::EmptyList&, const AttrValue::EmptyList&) {
  return true;
}
template <>
bool Same(const float& a, const float& b) {
  return std::memcmp(&a, &b, sizeof(a)) == 0;
}
template <>
bool Same(const Tensor& a, const Tensor& b) {
  return TensorsEqual(a, b);
}
template <>
bool Same(const FunctionRef& a, const FunctionRef& b) {
  static const AttrMap* const none = new AttrMap;
  const AttrMap& attrs_of_a = a.attrs == nullptr ? *none : *a.attrs;
  const AttrMap& attrs_of_b = b.attrs == nullptr ? *none : *b.attrs;
  return a.name == b.name && attrs_of_a == attrs_of_b;
}
template <typename T>
bool Same(const std::vector<T>& a, const std::vector<T>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const T& x, const T& y) { return Same<T>(x, y); });
}

struct IsEmptyList {
  bool operator()(AttrValue::EmptyList) const { return true; }
  template <typename T>
  bool operator()(const std::vector<T>& list) const {
    return list.empty();
  }
  template <typename T>
  bool operator()(const T&) const {
    return false;
  }
};

bool NameLess(const std::pair<std::string, AttrValue>& attr, absl::string_view name) {
  return attr.first < name;
}

}  // namespace

absl::string_view AttrValue::TypeName() const {
  return std::visit(
      [](const auto& value) -> absl::string_view {
        return Kind<std::decay_t<decltype(value)>>::kName;
      },
      value_);
}

std::string AttrValue::ToString() const {
  return std::visit([](const auto& value) { return Text(value); }, value_);
}

bool operator==(const AttrValue& a, const AttrValue& b) {
  if (std::visit(IsEmptyList(), a.value()) && std::visit(IsEmptyList(), b.value())) return true;
  if (a.value().index() != b.value().index()) return false;
  return std::visit(
      [&b](const auto& value) {
        return Same(value, std::get<std::decay_t<decltype(value)>>(b.value()));
      },
      a.value());
}

const AttrValue* FindAttr(const AttrMap& attrs, absl::string_view name) {
  const auto found = std::lower_bound(attrs.begin(), attrs.end(), name, NameLess);
  return found != attrs.end() && found->first == name ? &found->second : nullptr;
}

void SetAttr(AttrMap* attrs, absl::string_view name, AttrValue value) {
  const auto place = std::lower_bound(attrs->begin(), attrs->end(), name, NameLess);
  if (place != attrs->end() && place->first == name) {
    place->second = std::move(value);
  } else {
    attrs->emplace(place, std::string(name), std::move(value));
  }
}

template <typename T>
StatusOr<T> GetAttr(const AttrMap& attrs, absl::string_view name) {
  const AttrValue* value = FindAttr(attrs, name);
  if (value == nullptr) return errors::NotFound("missing attribute '", name, "'");
  const T* typed = value->get<T>();
  if (typed == nullptr) {
    return errors::InvalidArgument("attribute '", name, "' must be of type ", Kind<T>::kName,
                                   ", got ", value->TypeName(), " ", value->ToString());
  }
  return *typed;
}

template StatusOr<int64_t> GetAttr(const AttrMap&, absl::string_view);
template StatusOr<float> GetAttr(const AttrMap&, absl::string_view);
template StatusOr<bool> GetAttr(const AttrMap&, absl::string_view);
template StatusOr<std::string> GetAttr(const AttrMap&, absl::string_view);
template StatusOr<DataType> GetAttr(const AttrMap&, absl::string_view);
template StatusOr<PartialShape> GetAttr(const AttrMap&, absl::string_view);
template StatusOr<Tensor> GetAttr(const AttrMap&, absl::string_view);
template StatusOr<FunctionRef> GetAttr(const AttrMap&, absl::string_view);
template StatusOr<std::vector<int64_t>> GetAttr(const AttrMap&, absl::string_view);
template StatusOr<std::vector<float>> GetAttr(const AttrMap&, absl::string_view);
template StatusOr<std::vector<bool>> GetAttr(const AttrMap&, absl::string_view);
template StatusOr<std::vector<std::string>> GetAttr(const AttrMap&, absl::string_view);
template StatusOr<std::vector<DataType>> GetAttr(const AttrMap&, absl::string_view);
template StatusOr<std::vector<PartialShape>> GetAttr(const AttrMap&, absl::string_view);
template StatusOr<std::vector<Tensor>> GetAttr(const AttrMap&, absl::string_view);
template StatusOr<std::vector<FunctionRef>> GetAttr(const AttrMap&, absl::string_view);

}  // namespace millstream
