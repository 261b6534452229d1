// Changes rows of a table that a list of indices names, in the order of the list: what Scatter ops
// do with variables and tensors.
#ifndef MILLSTREAM_KERNELS_SCATTER_ROW_UPDATES_H_
#define MILLSTREAM_KERNELS_SCATTER_ROW_UPDATES_H_

#include <cstdint>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/accumulate_rows.h"
#include "kernels/elementwise/binary.h"

namespace millstream::kernels {

// What becomes of an element x and its update u.
enum class RowOperation {
  kAssign,    // u
  kAdd,       // x + u; of bool: x or u; of strings: u after x
  kSubtract,  // x - u
  kMultiply,  // x * u
  kDivide,    // x / u, of integers without the fraction
  kMinimum,   // the smaller one
  kMaximum,   // the larger one
};

// The types that an operation has loops for. Strings can be added as well.
std::vector<MS_DType> TypesOf(RowOperation operation);

// One operation on one type. Every element gets its updates in the order of the list, so that the
// bits are the same for any number of threads.
class RowUpdater {
 public:
  ms::Status Init(RowOperation operation, MS_DType dtype);

  // The arguments of one call: row ids[k] of `table` gets row k of `updates`, or with `is_scalar`
  // in every element the only one. Rows have `width` elements.
  // REQUIRES: ids are int32 or int64, and rows of the table.
  struct Rows {
    const ms::View& ids;
    const ms::View& updates;
    bool is_scalar;
    int64_t width;
    const ms::View& table;
  };

  // INVALID_ARGUMENT if an integer would be divided by zero. Then nothing may run.
  ms::Status Check(const Rows& rows) const;
  ms::Status Run(ms::Frame& frame, const Rows& rows) const;

 private:
  void UpdateColumns(const Rows& rows, int64_t first, int64_t last) const;
  ms::Status UpdateStrings(const Rows& rows) const;

  RowOperation operation_ = RowOperation::kAssign;
  bool is_string_ = false;
  bool adds_numbers_ = false;  // by the accumulator; else by the call, if it has functions
  RowAccumulator accumulator_;
  BinaryCall call_;
  int64_t bytes_ = 0;
};

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_SCATTER_ROW_UPDATES_H_
