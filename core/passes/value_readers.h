// The readers of each value, updated while operations are added and removed.
#ifndef MILLSTREAM_CORE_PASSES_VALUE_READERS_H_
#define MILLSTREAM_CORE_PASSES_VALUE_READERS_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "core/graph/graph.h"

namespace millstream {

// One argument of an operation.
struct ReadingArgument {
  int op;
  int number;
  int generation;  // of the operation's inputs; entries of earlier generations are outdated
};

// The time to add or remove an operation depends only on the number of its inputs. Not thread-safe.
class ValueReaders {
 public:
  // Adds operation `op` as a reader of `inputs`. REQUIRES: `op` reads nothing yet.
  void Add(int op, absl::Span<const Output> inputs);
  // Removes the operation. REQUIRES: it reads `inputs`.
  void Remove(int op, absl::Span<const Output> inputs);
  // The readers of the value in ascending order. One that reads it twice is listed twice.
  const std::vector<int>& Of(const Output& value) const;
  int Count(const Output& value) const;
  // Makes all readers of `from` read `to` instead. Returns the changed arguments.
  std::vector<ReadingArgument> Redirect(const Output& from, const Output& to);

 private:
  struct Entry {
    int count = 0;
    std::vector<ReadingArgument> arguments;  // includes outdated ones until the next query
    std::vector<int> ops;
    bool ops_are_current = false;
  };
  void DropGone(Entry* entry) const;

  mutable absl::flat_hash_map<Output, Entry> entries_;
  std::vector<int> generations_;  // by operation
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PASSES_VALUE_READERS_H_
