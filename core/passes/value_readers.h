// Which operations read which values, kept up to date while operations come and go.
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
  int generation;  // of the operation's inputs; an earlier one is no longer there
};

// Adding and removing an operation takes time for what it reads, however many others read the same.
// Not thread-safe.
class ValueReaders {
 public:
  // Operation `op`, which reads nothing yet, reads `inputs` from now on.
  void Add(int op, absl::Span<const Output> inputs);
  // REQUIRES: `inputs` is what it reads.
  void Remove(int op, absl::Span<const Output> inputs);
  // The operations that read the value, once for each argument, in ascending order.
  const std::vector<int>& Of(const Output& value) const;
  int Count(const Output& value) const;
  // Whoever read `from` reads `to`. Gives the arguments that this changed.
  std::vector<ReadingArgument> Redirect(const Output& from, const Output& to);

 private:
  struct Entry {
    int count = 0;
    std::vector<ReadingArgument> arguments;  // those that are gone too, until somebody asks
    std::vector<int> ops;
    bool ops_are_current = false;
  };
  void DropGone(Entry* entry) const;

  mutable absl::flat_hash_map<Output, Entry> entries_;
  std::vector<int> generations_;  // by operation
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PASSES_VALUE_READERS_H_
