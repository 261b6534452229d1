// Tables from keys to values, which live in a session.
#ifndef MILLSTREAM_CORE_RESOURCES_LOOKUP_TABLE_H_
#define MILLSTREAM_CORE_RESOURCES_LOOKUP_TABLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "core/resources/resource.h"
#include "framework/dtype.h"
#include "framework/shape.h"
#include "framework/status.h"
#include "framework/tensor.h"

namespace millstream {

enum class TableKind {
  kConstant,  // initialized once, and not changed afterwards
  kMutable,
  kDense,  // mutable, with one or two keys that cannot be used
};

// What a table holds. Two nodes that share a table must mean the same.
struct TableSpec {
  TableKind kind = TableKind::kConstant;
  DataType key_dtype = DataType::kInvalid;
  DataType value_dtype = DataType::kInvalid;
  Shape key_shape;                         // of one key: a scalar, or a vector for kDense
  Shape value_shape;                       // of one value
  std::vector<std::string> reserved_keys;  // of kDense, as in TableKey
};

// A key as the bytes of its elements, or the text of its only one. Zero is one key whatever its
// sign.
std::string TableKey(const Tensor& keys, int64_t i, int64_t elements);

// Thread-safe. Keys and values of its functions are tensors of many, of the dtypes of the table.
class LookupTable final : public Resource {
 public:
  static constexpr char kType[] = "LookupTable";
  LookupTable(std::string name, TableSpec spec)
      : Resource(kType), name_(std::move(name)), spec_(std::move(spec)) {}

  const std::string& name() const { return name_; }
  const TableSpec& spec() const { return spec_; }

  // Fills a constant table by make(), which gives keys and values, unless that was done before:
  // then the entries must be the same. FAILED_PRECONDITION for a key with two
  // values, and for other entries than before; UNIMPLEMENTED for a mutable table.
  struct Entries {
    Tensor keys;
    Tensor values;
  };
  Status Initialize(absl::FunctionRef<StatusOr<Entries>()> make) ABSL_LOCKS_EXCLUDED(mutex_);

  // Adds entries to a mutable table. The last value of a key counts. With `replaces`, all entries
  // before are removed, and a constant table is filled as by Initialize.
  Status Insert(const Entries& entries, bool replaces) ABSL_LOCKS_EXCLUDED(mutex_);
  // Keys that are not there are ignored.
  Status Remove(const Tensor& keys) ABSL_LOCKS_EXCLUDED(mutex_);
  // Sets the rows of *values, one for each key: `default_value` where the table has none.
  Status Find(const Tensor& keys, const Tensor& default_value, Tensor* values) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  int64_t size() const ABSL_LOCKS_EXCLUDED(mutex_);
  // All entries, in no particular order. ABORTED for a constant table that is not filled.
  StatusOr<Entries> Export() const ABSL_LOCKS_EXCLUDED(mutex_);

  // The shape of the values of `keys`. INVALID_ARGUMENT if these are not of the table's key shape.
  StatusOr<Shape> ValuesShape(const Shape& keys) const;
  Status CheckTypes(DataType keys, DataType values) const;
  void Drop() override ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // The elements of a value: bytes, or texts.
  struct Value {
    std::string bytes;
    std::vector<std::string> texts;
    friend bool operator==(const Value& a, const Value& b) {
      return a.bytes == b.bytes && a.texts == b.texts;
    }
  };
  using Map = absl::flat_hash_map<std::string, Value>;

  Value ValueAt(const Tensor& values, int64_t i) const;
  static void SetValue(const Value& value, int64_t elements, int64_t i, const Tensor& values);
  Status CheckEntries(const Entries& entries) const;
  Status CheckKey(const std::string& key) const;
  Status CheckReady() const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  StatusOr<Map> MapOf(const Entries& entries) const;

  const std::string name_;
  const TableSpec spec_;
  mutable absl::Mutex mutex_;
  Map map_ ABSL_GUARDED_BY(mutex_);
  bool is_initialized_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_RESOURCES_LOOKUP_TABLE_H_
