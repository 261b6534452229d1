// Kernels that reduce dimensions of their input. An op is a table of functions, one entry a type of
// elements. What walks through memory is here once, for all of them; loops are compiled for the
// types that are computed in (reduce_loops.h), and elements of other types are made those, a tile
// at a time.
#ifndef MILLSTREAM_KERNELS_REDUCE_REDUCE_KERNEL_H_
#define MILLSTREAM_KERNELS_REDUCE_REDUCE_KERNEL_H_

#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/type_table.h"
#include "kernels/reduce/reduce_plan.h"

namespace millstream::kernels {

// One reduction in one type that is computed in, compiled. `x` are elements of that type, and so
// are results.
struct ReduceLoops {
  // Results of `runs` runs of n neighbours, which follow each other. `short_runs`: the elements of
  // short runs are combined one after the other; the first one begins.
  void (*runs)(const void* x, int64_t n, int64_t runs, bool short_runs, void* results);
  // Combines rows of `width` elements, `stride` elements apart, with the result.
  void (*rows)(const void* x, int64_t rows, int64_t stride, int64_t width, void* result);
  // Combines n results with other ones.
  void (*combine)(const void* other, int64_t n, void* result);
  // The same of one.
  void (*combine_one)(const void* other, void* result);
  // Combines each of `rows` rows of n results of runs to one, as a balanced tree.
  void (*fold)(const void* runs, int64_t n, int64_t rows, void* results);
  void (*fill_identity)(void* results, int64_t n);
  int64_t bytes;  // of a result
  bool is_exact;  // in any order the result is the same, but for the sign of a zero
};

// Makes the elements [begin, begin + n) of what is reduced, in the type that is computed in.
using ReduceMake = void (*)(const void* source, int64_t begin, int64_t n, void* made);
// Writes the outputs [begin, begin + n), each of which `count` elements were reduced to.
using ReduceFinish = void (*)(const void* results, int64_t n, int64_t count, void* out,
                              int64_t begin);

// One op on elements of one type.
struct ReduceFunctions {
  MS_DType dtype;
  const ReduceLoops* loops;
  ReduceMake make = nullptr;      // null: elements are of the type that is computed in
  ReduceFinish finish = nullptr;  // null: outputs are results
};
using ReduceTable = TypeTable<ReduceFunctions>;

inline constexpr int64_t kReducePicoseconds = 300;  // of one element; see ParallelElements

// A reduction while it runs.
class Reduction {
 public:
  // `source` is what functions.make reads, or the elements. `partial` has room for
  // plan.partial_elements() results.
  Reduction(const ReducePlan& plan, const ReduceFunctions& functions, const void* source, void* out,
            void* partial)
      : plan_(plan),
        functions_(functions),
        loops_(*functions.loops),
        source_(source),
        out_(out),
        partial_(static_cast<char*>(partial)) {}

  // Runs tasks [begin, end) of the plan. Each element is made once, for neighbours one after the
  // other.
  void RunTasks(int64_t begin, int64_t end) const;
  // Combines the groups' results, in place, and writes the outputs.
  void CombineGroups() const;
  // Writes what a reduction of nothing gives.
  void FillEmpty() const;

 private:
  void RunEvenOutputs(int64_t begin, int64_t end) const;
  void RunLongOutputs(int64_t begin, int64_t end) const;
  void RunOutput(int64_t task) const;
  void Items(int64_t start, int64_t begin, int64_t end, void* result) const;
  void Run(int64_t at, int64_t n, void* result) const;
  void RunTile(int64_t task) const;
  void Rows(int64_t start, int64_t begin, int64_t end, int64_t width, char* result) const;
  void NarrowRows(int64_t at, int64_t rows, int64_t width, char* result) const;
  void EvenRows(int64_t at, int64_t rows, int64_t stride, int64_t width, void* result) const;
  void FinishInto(const void* results, int64_t n, int64_t begin) const;

  const void* Address(int64_t at) const {
    return static_cast<const char*>(source_) + at * loops_.bytes;
  }

  const ReducePlan& plan_;
  const ReduceFunctions& functions_;
  const ReduceLoops& loops_;
  const void* const source_;
  void* const out_;
  char* const partial_;
};

// What kernels that reduce keep for frames of one shape signature.
struct ReduceState : ms::ShapeState {
  ReducePlan plan;
};

// Reduces `in` to the first output of the frame. `scratch` holds partial_elements accumulators;
// when it is null, temporary memory is taken.
ms::Status RunReduction(ms::Frame& frame, const ReduceFunctions& functions, const ReducePlan& plan,
                        const ms::View& in, void* scratch);

// Sets *functions to the entry for the dtype of a kernel's first input.
ms::Status FindReduction(const ReduceTable& table, const ms::KernelInfo& info,
                         const ReduceFunctions** functions);

// output = reduce(input, reduction_indices) with attribute keep_dims.
class ReduceKernel {
 public:
  using Row = ReduceTable;

  explicit ReduceKernel(const Row& row) : row_(row) {}
  ms::Status Init(const ms::KernelInfo& info);
  ms::Status Specialize(ms::Specialization& specialization) const;
  ms::Status Compute(ms::Frame& frame) const;

 private:
  const Row& row_;
  const ReduceFunctions* functions_ = nullptr;
  bool keep_dims_ = false;
};

// Registers a ReduceKernel for T in `sets`; for an op without T when that is 0.
ms::Registered RegisterReduce(const char* op, const ReduceTable& table, uint32_t sets);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_REDUCE_REDUCE_KERNEL_H_
