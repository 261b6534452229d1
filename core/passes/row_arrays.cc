#include "core/passes/row_arrays.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "core/passes/known_values.h"

namespace millstream {
namespace {

// True for 0, 1, 2 ..., as many as `count`.
bool CountUp(const std::optional<std::vector<int64_t>>& numbers, int64_t count) {
  if (!numbers.has_value() || static_cast<int64_t>(numbers->size()) != count) return false;
  for (int64_t i = 0; i < count; ++i) {
    if ((*numbers)[static_cast<size_t>(i)] != i) return false;
  }
  return true;
}

}  // namespace

bool RowArrays::Find() {
  return absl::c_all_of(program_.reads, [&](const RowRead& read) { return FindRead(read); }) &&
         absl::c_all_of(program_.writes, [&](const RowWrite& write) { return FindWrite(write); });
}

bool RowArrays::MayReplace(int i) const {
  return !ops_.op(i).must_run && !ops_.op(i).names_kernel();
}

bool RowArrays::MayRemove(int i) const {
  return MayReplace(i) && absl::c_none_of(ops_.op(i).outputs, [&](const Output& value) {
           return ops_.IsVisible(value);
         });
}

// The operation that makes the array of floats; -1 if it is not known.
int RowArrays::ArrayAt(const Output& handle) const {
  const int made = ops_.Producer(handle);
  if (made < 0 || ops_.op(made).type() != "TensorArrayV3") return -1;
  const StatusOr<DataType> dtype = ops_.op(made).node->Attr<DataType>("dtype");
  return dtype.ok() && *dtype == DataType::kFloat ? made : -1;
}

std::optional<int64_t> RowArrays::RowOf(int i) const {
  const auto rows = KnownIntegers(ops_, ops_.op(i).inputs[1]);
  return rows.has_value() && rows->size() == 1 ? std::make_optional(rows->front()) : std::nullopt;
}

// True if the operations concern rows below `size` of which none is that of an iteration or of
// another operation.
bool RowArrays::AreApart(const std::vector<int>& others, const Progression& rows,
                         int64_t size) const {
  std::set<int64_t> found;
  return absl::c_all_of(others, [&](int i) {
    const std::optional<int64_t> row = RowOf(i);
    if (!row.has_value() || *row < 0 || *row >= size) return false;
    const int64_t iteration = (*row - rows.first) * rows.step;
    return (iteration < 0 || iteration >= program_.iterations) && found.insert(*row).second;
  });
}

bool RowArrays::StaysBelow(const Progression& rows, int64_t size) const {
  const int64_t last = rows.At(program_.iterations - 1);
  return std::min(rows.first, last) >= 0 && std::max(rows.first, last) < size;
}

int RowArrays::VariableOf(const Output& output) const {
  const auto found = absl::c_find(op().outputs, output);
  return loop_.exits[static_cast<size_t>(found - op().outputs.begin())];
}

// ---- Arrays that are read ----

bool RowArrays::AddReader(int reader, ReadArray* array) const {
  const std::string& type = ops_.op(reader).type();
  if (reader == place_ || type == "TensorArraySizeV3") return true;
  if (type == "TensorArrayScatterV3" && array->scatter < 0 && reader < place_ &&
      MayRemove(reader)) {
    array->scatter = reader;
    return true;
  }
  array->others.push_back(reader);
  return type == "TensorArrayReadV3" && MayReplace(reader);
}

bool RowArrays::FindRead(const RowRead& read) {
  ReadArray array;
  array.made = ArrayAt(op().inputs[read.array]);
  if (array.made < 0) return false;
  for (const int reader : ops_.Readers(op().inputs[read.array])) {
    if (!AddReader(reader, &array)) return false;
  }
  if (array.scatter < 0) return false;
  const PartialShape* const rows = ops_.KnownShape(RowsOf(array));
  if (rows == nullptr || rows->rank() == 0) return false;
  const int64_t count = rows->dim(0);
  const bool fits = CountUp(KnownIntegers(ops_, ops_.op(array.scatter).inputs[1]), count) &&
                    StaysBelow(read.rows, count) && AreApart(array.others, read.rows, count) &&
                    absl::c_all_of(array.others, [&](int i) { return i > array.scatter; });
  reads_.push_back(std::move(array));
  return fits;
}

// ---- Arrays that are written ----

bool RowArrays::AddReader(int reader, WrittenArray* array) const {
  const std::string& type = ops_.op(reader).type();
  if (reader == place_ || type == "TensorArraySizeV3") return true;
  if (type == "TensorArrayGatherV3" && array->gather < 0 && !ops_.op(reader).names_kernel()) {
    array->gather = reader;
    return true;
  }
  array->others.push_back(reader);
  return type == "TensorArrayWriteV3" && reader < place_ && MayRemove(reader);
}

bool RowArrays::FindWrite(const RowWrite& write) {
  WrittenArray array;
  array.made = ArrayAt(op().inputs[write.array]);
  if (array.made < 0) return false;
  for (const int reader : ops_.Readers(op().inputs[write.array])) {
    if (!AddReader(reader, &array)) return false;
  }
  const auto size = KnownIntegers(ops_, ops_.op(array.made).inputs[0]);
  if (array.gather < 0 || !size.has_value() || size->size() != 1) return false;
  array.size = size->front();
  const bool fits = program_.iterations + static_cast<int64_t>(array.others.size()) == array.size &&
                    CountUp(KnownIntegers(ops_, ops_.op(array.gather).inputs[1]), array.size) &&
                    StaysBelow(write.rows, array.size) &&
                    AreApart(array.others, write.rows, array.size) && FlowsFit(write, array);
  writes_.push_back(std::move(array));
  return fits;
}

// True if the writes before the loop come before it, and the rows are gathered behind it.
bool RowArrays::FlowsFit(const RowWrite& write, const WrittenArray& array) const {
  const Output& gathered = ops_.op(array.gather).inputs[2];
  if (ops_.Producer(gathered) != place_ || VariableOf(gathered) != write.variable) return false;
  Output flow = op().inputs[static_cast<size_t>(write.variable)];
  for (size_t left = array.others.size(); left > 0; --left) {
    const int before = ops_.Producer(flow);
    if (!absl::c_linear_search(array.others, before)) return false;
    flow = ops_.op(before).inputs[3];
  }
  return true;
}

}  // namespace millstream
