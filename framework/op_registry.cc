#include "framework/op_registry.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace millstream {
namespace {

// Levenshtein's distance: insertions, deletions and substitutions that turn `a` into `b`.
size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substitution = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitution});
    }
  }
  return row[b.size()];
}

// At most three of `names` that a slip of the fingers away from `name`, nearest first.
std::vector<std::string> CloseNames(absl::string_view name, const std::vector<std::string>& names) {
  constexpr size_t kMaxNames = 3;
  constexpr size_t kLongestName = 100;  // longer ones are no typing errors, and cost
  if (name.size() > kLongestName) return {};
  const std::string wanted = absl::AsciiStrToLower(name);
  const size_t limit = std::max<size_t>(1, name.size() / 3);
  std::vector<std::pair<size_t, std::string>> close;
  for (const std::string& candidate : names) {
    const size_t distance = EditDistance(wanted, absl::AsciiStrToLower(candidate));
    if (distance <= limit) close.emplace_back(distance, candidate);
  }
  std::sort(close.begin(), close.end());
  if (close.size() > kMaxNames) close.resize(kMaxNames);
  std::vector<std::string> result;
  for (auto& entry : close) result.push_back(std::move(entry.second));
  return result;
}

}  // namespace

OpRegistry* OpRegistry::Global() {
  static auto* const registry = new OpRegistry;
  return registry;
}

Status OpRegistry::Register(OpDef def) {
  std::string name = def.name;
  absl::MutexLock lock(&mutex_);
  const auto [place, inserted] = ops_.try_emplace(std::move(name));
  if (!inserted) return errors::AlreadyExists("op '", def.name, "' is registered already");
  place->second = std::make_unique<const OpDef>(std::move(def));
  return absl::OkStatus();
}

Status OpRegistry::RegisterAll(std::vector<OpDef> defs,
                               absl::FunctionRef<Status()> last_condition) {
  absl::MutexLock lock(&mutex_);
  for (const OpDef& def : defs) {
    if (ops_.contains(def.name)) {
      return errors::AlreadyExists("op '", def.name, "' is registered already");
    }
  }
  MS_RETURN_IF_ERROR(last_condition());
  for (OpDef& def : defs) {
    std::string name = def.name;
    ops_.emplace(std::move(name), std::make_unique<const OpDef>(std::move(def)));
  }
  return absl::OkStatus();
}

const OpDef* OpRegistry::FindOrNull(absl::string_view name) const {
  absl::ReaderMutexLock lock(&mutex_);
  const auto found = ops_.find(name);
  return found == ops_.end() ? nullptr : found->second.get();
}

StatusOr<const OpDef*> OpRegistry::Find(absl::string_view name) const {
  if (const OpDef* op = FindOrNull(name)) return op;
  std::vector<std::string> names;
  {
    absl::ReaderMutexLock lock(&mutex_);
    names.reserve(ops_.size());
    for (const auto& entry : ops_) names.push_back(entry.first);
  }
  const std::vector<std::string> close = CloseNames(name, names);
  return errors::NotFound("Op type not registered '", name, "'",
                          close.empty() ? "" : "; did you mean ", absl::StrJoin(close, " or "),
                          close.empty() ? "" : "?");
}

std::vector<const OpDef*> OpRegistry::List() const {
  std::vector<const OpDef*> list;
  {
    absl::ReaderMutexLock lock(&mutex_);
    list.reserve(ops_.size());
    for (const auto& entry : ops_) list.push_back(entry.second.get());
  }
  std::sort(list.begin(), list.end(),
            [](const OpDef* a, const OpDef* b) { return a->name < b->name; });
  return list;
}

OpRegistration::OpRegistration(const OpSpec& spec) {
  StatusOr<OpDef> def = spec.Build();
  const Status status = def.ok() ? OpRegistry::Global()->Register(*std::move(def)) : def.status();
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::abort();
}

}  // namespace millstream
