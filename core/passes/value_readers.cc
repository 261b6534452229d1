#include "core/passes/value_readers.h"

#include <algorithm>
#include <utility>

namespace millstream {

void ValueReaders::Add(int op, absl::Span<const Output> inputs) {
  if (static_cast<size_t>(op) >= generations_.size()) generations_.resize(op + 1);
  for (size_t i = 0; i < inputs.size(); ++i) {
    Entry& entry = entries_[inputs[i]];
    entry.arguments.push_back({op, static_cast<int>(i), generations_[op]});
    entry.ops_are_current = false;
    ++entry.count;
  }
}

void ValueReaders::Remove(int op, absl::Span<const Output> inputs) {
  ++generations_[op];
  for (const Output& input : inputs) {
    Entry& entry = entries_[input];
    entry.ops_are_current = false;
    --entry.count;
  }
}

void ValueReaders::DropGone(Entry* entry) const {
  std::vector<ReadingArgument>& all = entry->arguments;
  if (static_cast<int>(all.size()) == entry->count) return;
  const auto is_gone = [this](const ReadingArgument& argument) {
    return argument.generation != generations_[argument.op];
  };
  all.erase(std::remove_if(all.begin(), all.end(), is_gone), all.end());
}

const std::vector<int>& ValueReaders::Of(const Output& value) const {
  static const auto* const kNone = new std::vector<int>;
  auto found = entries_.find(value);
  if (found == entries_.end()) return *kNone;
  Entry& entry = found->second;
  if (entry.ops_are_current) return entry.ops;
  DropGone(&entry);
  entry.ops.clear();
  for (const ReadingArgument& argument : entry.arguments) entry.ops.push_back(argument.op);
  std::sort(entry.ops.begin(), entry.ops.end());
  entry.ops_are_current = true;
  return entry.ops;
}

int ValueReaders::Count(const Output& value) const {
  auto found = entries_.find(value);
  return found == entries_.end() ? 0 : found->second.count;
}

std::vector<ReadingArgument> ValueReaders::Redirect(const Output& from, const Output& to) {
  auto found = entries_.find(from);
  if (found == entries_.end()) return {};
  DropGone(&found->second);
  std::vector<ReadingArgument> moved = std::move(found->second.arguments);
  entries_.erase(found);
  Entry& entry = entries_[to];
  entry.arguments.insert(entry.arguments.end(), moved.begin(), moved.end());
  entry.count += static_cast<int>(moved.size());
  entry.ops_are_current = false;
  return moved;
}

}  // namespace millstream
