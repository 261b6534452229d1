#include "core/resources/lookup_table.h"

#include <cstring>
#include <utility>

namespace millstream {
namespace {

// Negative zero becomes zero in each element of T.
template <typename T>
void DropSignOfZero(std::string* bytes) {
  for (size_t at = 0; at < bytes->size(); at += sizeof(T)) {
    T number;
    std::memcpy(&number, bytes->data() + at, sizeof(T));
    if (number != T(0)) continue;
    number = T(0);
    std::memcpy(bytes->data() + at, &number, sizeof(T));
  }
}

}  // namespace

std::string TableKey(const Tensor& keys, int64_t i, int64_t elements) {
  if (keys.dtype() == DataType::kString) return keys.data<std::string>()[i];
  const size_t bytes = static_cast<size_t>(elements) * DataTypeSize(keys.dtype());
  std::string key(static_cast<const char*>(keys.raw()) + static_cast<size_t>(i) * bytes, bytes);
  if (keys.dtype() == DataType::kFloat) DropSignOfZero<float>(&key);
  if (keys.dtype() == DataType::kDouble) DropSignOfZero<double>(&key);
  return key;
}

LookupTable::Value LookupTable::ValueAt(const Tensor& values, int64_t i) const {
  const int64_t elements = spec_.value_shape.num_elements();
  Value value;
  if (values.dtype() == DataType::kString) {
    const std::string* const first = values.data<std::string>() + i * elements;
    value.texts.assign(first, first + elements);
  } else {
    const size_t bytes = static_cast<size_t>(elements) * DataTypeSize(values.dtype());
    value.bytes.assign(static_cast<const char*>(values.raw()) + static_cast<size_t>(i) * bytes,
                       bytes);
  }
  return value;
}

void LookupTable::SetValue(const Value& value, int64_t elements, int64_t i, const Tensor& values) {
  if (values.dtype() == DataType::kString) {
    for (int64_t k = 0; k < elements; ++k) {
      values.data<std::string>()[i * elements + k] = value.texts[static_cast<size_t>(k)];
    }
  } else if (!value.bytes.empty()) {
    std::memcpy(static_cast<char*>(values.raw()) + static_cast<size_t>(i) * value.bytes.size(),
                value.bytes.data(), value.bytes.size());
  }
}

StatusOr<Shape> LookupTable::ValuesShape(const Shape& keys) const {
  const int own = spec_.key_shape.rank();
  bool fits = keys.rank() >= own;
  for (int d = 0; fits && d < own; ++d) {
    fits = keys.dim(keys.rank() - own + d) == spec_.key_shape.dim(d);
  }
  if (!fits) {
    return errors::InvalidArgument(
        "argument 'keys': expected a shape that ends with that of a key, ",
        spec_.key_shape.ToString(), ", got ", keys.ToString());
  }
  Shape shape(keys.dims().subspan(0, keys.rank() - own));
  for (const int64_t dim : spec_.value_shape.dims()) shape.AddDim(dim);
  return shape;
}

Status LookupTable::CheckTypes(DataType keys, DataType values) const {
  if (keys != spec_.key_dtype) {
    return errors::InvalidArgument("argument 'keys' must be type ", DataTypeName(spec_.key_dtype),
                                   " for table '", name_, "' but got ", DataTypeName(keys));
  }
  if (values == DataType::kInvalid || values == spec_.value_dtype) return absl::OkStatus();
  return errors::InvalidArgument("values must be type ", DataTypeName(spec_.value_dtype),
                                 " for table '", name_, "' but got ", DataTypeName(values));
}

Status LookupTable::CheckEntries(const Entries& entries) const {
  MS_RETURN_IF_ERROR(CheckTypes(entries.keys.dtype(), entries.values.dtype()));
  MS_ASSIGN_OR_RETURN(const Shape wanted, ValuesShape(entries.keys.shape()));
  if (wanted == entries.values.shape()) return absl::OkStatus();
  return errors::InvalidArgument("argument 'values': expected shape ", wanted.ToString(),
                                 " for keys of shape ", entries.keys.shape().ToString(), ", got ",
                                 entries.values.shape().ToString());
}

Status LookupTable::CheckKey(const std::string& key) const {
  for (const std::string& reserved : spec_.reserved_keys) {
    if (key != reserved) continue;
    return errors::InvalidArgument(
        "argument 'keys': Using the empty_key or deleted_key as a table ",
        "key is not allowed (table '", name_, "')");
  }
  return absl::OkStatus();
}

Status LookupTable::CheckReady() const {
  if (spec_.kind != TableKind::kConstant || is_initialized_) return absl::OkStatus();
  return errors::FailedPrecondition("Table not initialized: argument 'table_handle' is '", name_,
                                    "'");
}

StatusOr<LookupTable::Map> LookupTable::MapOf(const Entries& entries) const {
  MS_RETURN_IF_ERROR(CheckEntries(entries));
  const int64_t elements = spec_.key_shape.num_elements();
  const int64_t count = elements == 0 ? 0 : entries.keys.num_elements() / elements;
  Map map;
  for (int64_t i = 0; i < count; ++i) {
    Value value = ValueAt(entries.values, i);
    const auto [at, is_new] = map.try_emplace(TableKey(entries.keys, i, elements), value);
    if (is_new || at->second == value) continue;
    return errors::FailedPrecondition(
        "HashTable has different value for same key: argument 'keys', ", "element ", i,
        " of table '", name_, "'");
  }
  return map;
}

Status LookupTable::Initialize(absl::FunctionRef<StatusOr<Entries>()> make) {
  if (spec_.kind != TableKind::kConstant) {
    return errors::Unimplemented("argument 'table_handle': table '", name_,
                                 "' is mutable; it cannot be initialized");
  }
  MS_ASSIGN_OR_RETURN(const Entries entries, make());
  MS_ASSIGN_OR_RETURN(Map map, MapOf(entries));
  absl::MutexLock lock(&mutex_);
  if (is_initialized_) {
    if (map == map_) return absl::OkStatus();
    return errors::FailedPrecondition("Table was already initialized with different data: table '",
                                      name_, "'");
  }
  map_ = std::move(map);
  is_initialized_ = true;
  return absl::OkStatus();
}

Status LookupTable::Insert(const Entries& entries, bool replaces) {
  if (spec_.kind == TableKind::kConstant) {
    // Programs of later versions give a constant table its entries so.
    if (replaces) return Initialize([&] { return entries; });
    return errors::Unimplemented("argument 'table_handle': table '", name_,
                                 "' does not allow insertions");
  }
  MS_RETURN_IF_ERROR(CheckEntries(entries));
  const int64_t elements = spec_.key_shape.num_elements();
  const int64_t count = elements == 0 ? 0 : entries.keys.num_elements() / elements;
  std::vector<std::string> keys;
  for (int64_t i = 0; i < count; ++i) {
    keys.push_back(TableKey(entries.keys, i, elements));
    MS_RETURN_IF_ERROR(CheckKey(keys.back()));
  }
  absl::MutexLock lock(&mutex_);
  if (replaces) map_.clear();
  for (int64_t i = 0; i < count; ++i) {
    map_[std::move(keys[static_cast<size_t>(i)])] = ValueAt(entries.values, i);
  }
  return absl::OkStatus();
}

Status LookupTable::Remove(const Tensor& keys) {
  if (spec_.kind == TableKind::kConstant) {
    return errors::Unimplemented("argument 'table_handle': table '", name_,
                                 "' does not allow removals");
  }
  MS_RETURN_IF_ERROR(CheckTypes(keys.dtype(), DataType::kInvalid));
  MS_RETURN_IF_ERROR(ValuesShape(keys.shape()).status());
  const int64_t elements = spec_.key_shape.num_elements();
  const int64_t count = elements == 0 ? 0 : keys.num_elements() / elements;
  absl::MutexLock lock(&mutex_);
  for (int64_t i = 0; i < count; ++i) {
    const std::string key = TableKey(keys, i, elements);
    MS_RETURN_IF_ERROR(CheckKey(key));
    map_.erase(key);
  }
  return absl::OkStatus();
}

Status LookupTable::Find(const Tensor& keys, const Tensor& default_value, Tensor* values) const {
  const int64_t elements = spec_.key_shape.num_elements();
  const int64_t count = elements == 0 ? 0 : keys.num_elements() / elements;
  const int64_t width = spec_.value_shape.num_elements();
  const Value missing = ValueAt(default_value, 0);
  absl::ReaderMutexLock lock(&mutex_);
  MS_RETURN_IF_ERROR(CheckReady());
  for (int64_t i = 0; i < count; ++i) {
    const std::string key = TableKey(keys, i, elements);
    MS_RETURN_IF_ERROR(CheckKey(key));
    const auto found = map_.find(key);
    SetValue(found == map_.end() ? missing : found->second, width, i, *values);
  }
  return absl::OkStatus();
}

int64_t LookupTable::size() const {
  absl::ReaderMutexLock lock(&mutex_);
  return static_cast<int64_t>(map_.size());
}

StatusOr<LookupTable::Entries> LookupTable::Export() const {
  absl::ReaderMutexLock lock(&mutex_);
  // The reference has a code of its own here.
  if (!CheckReady().ok()) {
    return absl::AbortedError(
        absl::StrCat("HashTable is not initialized: argument 'table_handle' is '", name_, "'"));
  }
  const auto count = static_cast<int64_t>(map_.size());
  const auto with_count = [count](const Shape& shape) {
    Shape whole({count});
    for (const int64_t dim : shape.dims()) whole.AddDim(dim);
    return whole;
  };
  Entries entries;
  MS_ASSIGN_OR_RETURN(entries.keys, Tensor::Create(spec_.key_dtype, with_count(spec_.key_shape)));
  MS_ASSIGN_OR_RETURN(entries.values,
                      Tensor::Create(spec_.value_dtype, with_count(spec_.value_shape)));
  const int64_t width = spec_.value_shape.num_elements();
  int64_t i = 0;
  for (const auto& [key, value] : map_) {
    if (spec_.key_dtype == DataType::kString) {
      entries.keys.data<std::string>()[i] = key;
    } else {
      std::memcpy(static_cast<char*>(entries.keys.raw()) + static_cast<size_t>(i) * key.size(),
                  key.data(), key.size());
    }
    SetValue(value, width, i++, entries.values);
  }
  return entries;
}

void LookupTable::Drop() {
  absl::MutexLock lock(&mutex_);
  map_.clear();
  is_initialized_ = false;
}

}  // namespace millstream
