// The arrays of tensors that a loop over rows reads and writes.
#ifndef MILLSTREAM_CORE_PASSES_ROW_ARRAYS_H_
#define MILLSTREAM_CORE_PASSES_ROW_ARRAYS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "core/graph/inner_graph.h"
#include "core/passes/row_program.h"
#include "core/passes/step_ops.h"

namespace millstream {

// An array whose elements are the rows of one tensor before the loop.
struct ReadArray {
  int made = -1;            // the operation
  int scatter = -1;         // that wrote the rows
  std::vector<int> others;  // reads outside of the loop
};

// An array whose elements become the rows of one tensor behind the loop.
struct WrittenArray {
  int made = -1;
  int gather = -1;
  std::vector<int> others;  // writes before the loop
  int64_t size = 0;
};

// Not thread-safe.
class RowArrays {
 public:
  // Operation `place` stands for `loop`. REQUIRES: what is given outlives this object.
  RowArrays(const StepOps& ops, int place, const LoopBody& loop, const RowProgram& program)
      : ops_(ops), place_(place), loop_(loop), program_(program) {}

  // False if an array is used in another way, or not known. Each row that the loop or another
  // operation reads was written; each row that is gathered is written once.
  bool Find();

  const std::vector<ReadArray>& reads() const { return reads_; }       // as program.reads
  const std::vector<WrittenArray>& writes() const { return writes_; }  // as program.writes
  // The tensor whose rows are read.
  Output RowsOf(const ReadArray& array) const { return ops_.op(array.scatter).inputs[2]; }
  // The row that operation i outside of the loop reads or writes, if it is known.
  std::optional<int64_t> RowOf(int i) const;
  // The variable whose last value an output of the loop is.
  int VariableOf(const Output& output) const;
  // True if nobody would miss operation i, whose outputs something else replaces.
  bool MayRemove(int i) const;

 private:
  const StepOp& op() const { return ops_.op(place_); }
  int ArrayAt(const Output& handle) const;
  bool MayReplace(int i) const;
  bool AreApart(const std::vector<int>& others, const Progression& rows, int64_t size) const;
  bool StaysBelow(const Progression& rows, int64_t size) const;
  bool FindRead(const RowRead& read);
  bool AddReader(int reader, ReadArray* array) const;
  bool FindWrite(const RowWrite& write);
  bool AddReader(int reader, WrittenArray* array) const;
  bool FlowsFit(const RowWrite& write, const WrittenArray& array) const;

  const StepOps& ops_;
  const int place_;
  const LoopBody& loop_;
  const RowProgram& program_;
  std::vector<ReadArray> reads_;
  std::vector<WrittenArray> writes_;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PASSES_ROW_ARRAYS_H_
