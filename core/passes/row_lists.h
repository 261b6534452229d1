// The lists that loops over rows have filled: what a loop keeps of its iterations for its gradient.
// The loop that computes the gradient takes the elements away, the last one first.
#ifndef MILLSTREAM_CORE_PASSES_ROW_LISTS_H_
#define MILLSTREAM_CORE_PASSES_ROW_LISTS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/passes/row_counters.h"
#include "core/passes/step_ops.h"

namespace millstream {

// A list without a list.
struct KeptList {
  int64_t count = -1;  // of elements; -1: the step decides
  DataType dtype = DataType::kFloat;
  std::vector<int64_t> element;        // the shape of an element
  Output rows;                         // a tensor whose rows are the elements; or:
  std::optional<Progression> numbers;  // of integers: the elements
  const Node* like = nullptr;          // of the loop that filled it
};

// Those of a plan. Not thread-safe.
class KeptLists {
 public:
  // The largest number of integers in a list that is kept.
  static constexpr int64_t kMostNumbers = int64_t{1} << 20;

  explicit KeptLists(StepOps* ops) : ops_(*ops) {}

  // True if an element of this dtype can be kept: a list can be made of what was kept.
  bool CanKeep(DataType dtype) const;
  // True if the value is a list without elements, to which any number of elements of the shape can
  // be added.
  bool IsEmptyListFor(const Output& list, DataType dtype, const PartialShape& shape) const;
  // REQUIRES: CanKeep. `list` is not visible.
  void Add(const Output& list, KeptList kept);
  // Null: the value is no such list.
  const KeptList* Find(const Output& list) const;
  // Makes the lists that something reads. All places of operations may change.
  Status MakeThoseRead();

 private:
  StepOps& ops_;
  absl::flat_hash_map<Output, KeptList> lists_;
  std::vector<Output> in_order_;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PASSES_ROW_LISTS_H_
