// The shape of the rows that a loop over rows reads, computes and writes.
#ifndef MILLSTREAM_CORE_PASSES_ROW_SHAPES_H_
#define MILLSTREAM_CORE_PASSES_ROW_SHAPES_H_

#include <cstdint>
#include <optional>

#include "core/passes/row_arrays.h"
#include "core/passes/row_program.h"
#include "core/passes/step_ops.h"

namespace millstream {

// The shape of a tensor with so many rows.
PartialShape Stacked(int64_t count, const PartialShape& row);

// The one shape that all rows and variables of the loop at `place` have; it has elements. None if
// there is none, or if what else the loop reads does not go along with it. REQUIRES: the arrays
// were found.
std::optional<PartialShape> FindRowShape(const StepOps& ops, int place, const RowProgram& program,
                                         const RowArrays& arrays);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PASSES_ROW_SHAPES_H_
