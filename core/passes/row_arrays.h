// The arrays of tensors that a loop over rows reads and writes, and the lists that it takes
// elements from.
#ifndef MILLSTREAM_CORE_PASSES_ROW_ARRAYS_H_
#define MILLSTREAM_CORE_PASSES_ROW_ARRAYS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/inner_graph.h"
#include "core/passes/array_family.h"
#include "core/passes/row_lists.h"
#include "core/passes/row_program.h"
#include "core/passes/step_ops.h"

namespace millstream {

// An array whose elements are the rows of one tensor before the loop, or a list.
struct ReadArray {
  int made = -1;            // the operation; of a list: none
  std::string gradient;     // which array of the family (array_family.h)
  int scatter = -1;         // that wrote the rows
  std::vector<int> others;  // reads outside of the loop
  Output rows;              // the tensor
};

// An array whose elements become the rows of one tensor behind the loop, or a list.
struct WrittenArray {
  int made = -1;
  std::string gradient;
  int gather = -1;
  std::vector<int> before;  // writes before the loop
  int after = -1;           // a write behind the loop, of the first or the last row
  int64_t size = 0;         // of the array
};

// Not thread-safe.
class RowArrays {
 public:
  // Operation `place` stands for `loop`. REQUIRES: what is given outlives this object.
  RowArrays(const StepOps& ops, int place, const LoopBody& loop, const RowProgram& program,
            const KeptLists& lists)
      : ops_(ops), place_(place), loop_(loop), program_(program), lists_(lists) {}

  // False if an array is used in another way, or not known. Each row that the loop or another
  // operation reads was written; each row that is gathered is written once.
  bool Find();

  const std::vector<ReadArray>& reads() const { return reads_; }       // as program.reads
  const std::vector<WrittenArray>& writes() const { return writes_; }  // as program.writes
  // The row that operation i outside of the loop reads or writes, if it is known.
  std::optional<int64_t> RowOf(int i) const;
  // The variable whose last value an output of the loop is.
  int VariableOf(const Output& output) const;
  // See MayRemoveOp.
  bool MayRemove(int i) const { return MayRemoveOp(ops_, i); }

 private:
  const StepOp& op() const { return ops_.op(place_); }
  const Output& InputOf(const RowArray& array) const { return op().inputs[array.input]; }
  bool MayReplace(int i) const;
  std::optional<ArrayFamily> FamilyOf(const RowArray& array, int* made, std::string* gradient);
  bool AreApart(const std::vector<int>& others, const Progression& rows, int64_t size) const;
  bool StaysBelow(const Progression& rows, int64_t size) const;
  bool HasRoom(int made, int64_t rows) const;
  bool FindRead(const RowRead& read);
  bool AddUser(int user, ReadArray* array) const;
  bool FindWrite(const RowWrite& write);
  bool AddUser(int user, WrittenArray* array) const;
  bool GradientsAreWritten(const ArrayFamily& family, const WrittenArray& array) const;
  bool FlowsFit(const RowWrite& write, const WrittenArray& array) const;

  const StepOps& ops_;
  const int place_;
  const LoopBody& loop_;
  const RowProgram& program_;
  const KeptLists& lists_;
  std::vector<ReadArray> reads_;
  std::vector<WrittenArray> writes_;
  std::vector<std::pair<int, std::string>> found_;  // made and gradient of all of them
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PASSES_ROW_ARRAYS_H_
