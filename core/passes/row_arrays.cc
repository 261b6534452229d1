#include "core/passes/row_arrays.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
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

// Lists have no operations of their own.
bool RowArrays::Find() {
  return absl::c_all_of(program_.reads, [&](const RowRead& read) { return FindRead(read); }) &&
         absl::c_all_of(program_.writes, [&](const RowWrite& write) { return FindWrite(write); });
}

bool RowArrays::MayReplace(int i) const {
  return !ops_.op(i).must_run && !ops_.op(i).names_kernel();
}

// None if it is not known, or if it is the array of a read or a write before.
std::optional<ArrayFamily> RowArrays::FamilyOf(const RowArray& array, int* made,
                                               std::string* gradient) {
  *made = FindArray(ops_, InputOf(array), gradient);
  if (*made < 0) return std::nullopt;
  gradient->append(array.gradient);
  const std::pair<int, std::string> key = {*made, *gradient};
  if (absl::c_linear_search(found_, key)) return std::nullopt;
  found_.push_back(key);
  std::optional<ArrayFamily> family = FindArrayFamily(ops_, *made, place_);
  if (!family.has_value() || !family->users[*gradient].loops.empty()) return std::nullopt;
  return family;
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

// True if so many rows can be written to the array that operation `made` makes.
bool RowArrays::HasRoom(int made, int64_t rows) const {
  const StepOp& op = ops_.op(made);
  if (op.node->Attr<bool>("dynamic_size").value_or(false)) return true;
  const auto size = KnownIntegers(ops_, op.inputs[0]);
  return size.has_value() && size->size() == 1 && rows <= size->front();
}

int RowArrays::VariableOf(const Output& output) const {
  const auto found = absl::c_find(op().outputs, output);
  return loop_.exits[static_cast<size_t>(found - op().outputs.begin())];
}

// ---- Arrays that are read ----

bool RowArrays::AddUser(int user, ReadArray* array) const {
  const std::string& type = ops_.op(user).type();
  if (type == "TensorArrayScatterV3" && array->scatter < 0 && user < place_ && MayRemove(user)) {
    array->scatter = user;
    return true;
  }
  array->others.push_back(user);
  return type == "TensorArrayReadV3" && MayReplace(user);
}

bool RowArrays::FindRead(const RowRead& read) {
  ReadArray array;
  if (read.list >= 0) {
    array.rows = lists_.Find(op().inputs[static_cast<size_t>(read.list)])->rows;
    reads_.push_back(std::move(array));
    return true;
  }
  const std::optional<ArrayFamily> family = FamilyOf(read.array, &array.made, &array.gradient);
  if (!family.has_value()) return false;
  for (const int user : family->users.at(array.gradient).ops) {
    if (!AddUser(user, &array)) return false;
  }
  if (array.scatter < 0) return false;
  array.rows = ops_.op(array.scatter).inputs[2];
  const PartialShape* const rows = ops_.KnownShape(array.rows);
  if (rows == nullptr || rows->rank() == 0) return false;
  const int64_t count = rows->dim(0);
  const bool fits = HasRoom(array.made, count) &&
                    CountUp(KnownIntegers(ops_, ops_.op(array.scatter).inputs[1]), count) &&
                    StaysBelow(read.rows, count) && AreApart(array.others, read.rows, count) &&
                    absl::c_all_of(array.others, [&](int i) { return i > array.scatter; });
  reads_.push_back(std::move(array));
  return fits;
}

// ---- Arrays that are written ----

bool RowArrays::AddUser(int user, WrittenArray* array) const {
  const std::string& type = ops_.op(user).type();
  if (type == "TensorArrayGatherV3" && array->gather < 0 && user > place_ &&
      !ops_.op(user).names_kernel()) {
    array->gather = user;
    return true;
  }
  if (type != "TensorArrayWriteV3" || !MayRemove(user)) return false;
  if (user < place_) {
    array->before.push_back(user);
    return true;
  }
  if (array->after >= 0) return false;
  array->after = user;
  return true;
}

bool RowArrays::FindWrite(const RowWrite& write) {
  WrittenArray array;
  if (write.is_list) {
    array.size = program_.iterations;
    writes_.push_back(std::move(array));
    return true;
  }
  const std::optional<ArrayFamily> family = FamilyOf(write.array, &array.made, &array.gradient);
  if (!family.has_value()) return false;
  for (const int user : family->users.at(array.gradient).ops) {
    if (!AddUser(user, &array)) return false;
  }
  const auto size = KnownIntegers(ops_, ops_.op(array.made).inputs[0]);
  if (array.gather < 0 || !size.has_value() || size->size() != 1) return false;
  array.size = size->front();
  std::vector<int> others = array.before;
  if (array.after >= 0) others.push_back(array.after);
  const auto is_at_end = [&] {
    const std::optional<int64_t> row = RowOf(array.after);
    return row == 0 || row == array.size - 1;
  };
  const bool fits = program_.iterations + static_cast<int64_t>(others.size()) == array.size &&
                    (array.after < 0 || is_at_end()) &&
                    CountUp(KnownIntegers(ops_, ops_.op(array.gather).inputs[1]), array.size) &&
                    StaysBelow(write.rows, array.size) &&
                    AreApart(others, write.rows, array.size) && FlowsFit(write, array) &&
                    GradientsAreWritten(*family, array);
  writes_.push_back(std::move(array));
  return fits;
}

// Arrays that have gradients know the shapes of elements that were written to this array, and give
// zeros of that shape for what is not written to them. Without the elements of this array, all of
// theirs must be written.
bool RowArrays::GradientsAreWritten(const ArrayFamily& family, const WrittenArray& array) const {
  const std::string prefix = absl::StrCat(array.gradient, "@");
  return absl::c_all_of(family.users, [&](const auto& entry) {
    const std::string& gradient = entry.first;
    const bool is_next = absl::StartsWith(gradient, prefix) &&
                         gradient.find('@', prefix.size()) == std::string::npos;
    return !is_next || absl::c_any_of(entry.second.ops, [&](int i) {
      return ops_.op(i).type() == "TensorArrayScatterV3" &&
             CountUp(KnownIntegers(ops_, ops_.op(i).inputs[1]), array.size);
    });
  });
}

// True if the writes before the loop come before it, and the rows are gathered behind it and behind
// the write that follows it.
bool RowArrays::FlowsFit(const RowWrite& write, const WrittenArray& array) const {
  const Output& gathered = ops_.op(array.gather).inputs[2];
  const auto is_of_loop = [&](const Output& flow) {
    return ops_.Producer(flow) == place_ && VariableOf(flow) == write.variable;
  };
  if (array.after >= 0) {
    // Each has a flow of its own.
    const int sum = ops_.Producer(gathered);
    if (sum < 0 || ops_.op(sum).type() != "AddN" || ops_.op(sum).inputs.size() != 2) return false;
    const Output written = ops_.op(array.after).outputs[0];
    const std::vector<Output>& flows = ops_.op(sum).inputs;
    return (is_of_loop(flows[0]) && flows[1] == written) ||
           (is_of_loop(flows[1]) && flows[0] == written);
  }
  if (!is_of_loop(gathered)) return false;
  Output flow = op().inputs[static_cast<size_t>(write.variable)];
  for (size_t left = array.before.size(); left > 0; --left) {
    const int before = ops_.Producer(flow);
    if (!absl::c_linear_search(array.before, before)) return false;
    flow = ops_.op(before).inputs[3];
  }
  return true;
}

}  // namespace millstream
