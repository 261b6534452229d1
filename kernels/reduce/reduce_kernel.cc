#include "kernels/reduce/reduce_kernel.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "kernels/common/parallel.h"

namespace millstream::kernels {
namespace {

constexpr int64_t kMostBytes = 16;  // of a result
constexpr int64_t kMadeBytes = 8;   // of an element that is made
// Runs whose results are folded together: what is called for them is called once.
constexpr int64_t kFolded = 64;
constexpr int64_t kLeafRows = 32;
// Rows shorter than half of this are taken several at a time.
constexpr int64_t kNarrow = 64;
// Rows that are made together.
constexpr int64_t kRowsMade = 4;

int64_t GroupBegin(const ReducePlan& plan, int64_t group) {
  return plan.items * group / plan.groups;
}

bool IsNarrow(const ReducePlan& plan) {
  return plan.inner * 2 <= kNarrow && plan.reduced_rank == 1 &&
         plan.reduced_strides[0] == plan.inner;
}

}  // namespace

void Reduction::RunTasks(int64_t begin, int64_t end) const {
  if (plan_.inner_reduced && plan_.reduced_rank == 0 && plan_.kept_rank <= 1) {
    if (plan_.items == 1) return RunEvenOutputs(begin, end);
    if (plan_.groups == 1 && functions_.make == nullptr) {
      if (loops_.is_exact) return RunEvenOutputs(begin, end);
      if (plan_.items <= kFolded && plan_.inner % ReducePlan::kRunLength == 0) {
        return RunLongOutputs(begin, end);
      }
    }
  }
  for (int64_t task = begin; task < end; ++task) {
    if (plan_.inner_reduced) {
      RunOutput(task);
    } else {
      RunTile(task);
    }
  }
}

void Reduction::CombineGroups() const {
  const int64_t group_bytes = plan_.outputs * loops_.bytes;
  for (int64_t step = 1; step < plan_.groups; step *= 2) {
    for (int64_t group = 0; group + step < plan_.groups; group += 2 * step) {
      loops_.combine(partial_ + (group + step) * group_bytes, plan_.outputs,
                     partial_ + group * group_bytes);
    }
  }
  FinishInto(partial_, plan_.outputs, 0);
}

void Reduction::FillEmpty() const {
  alignas(64) char results[ReducePlan::kTile * kMostBytes];
  loops_.fill_identity(results, std::min(ReducePlan::kTile, plan_.outputs));
  for (int64_t begin = 0; begin < plan_.outputs; begin += ReducePlan::kTile) {
    FinishInto(results, std::min(ReducePlan::kTile, plan_.outputs - begin), begin);
  }
}

void Reduction::FinishInto(const void* results, int64_t n, int64_t begin) const {
  if (functions_.finish != nullptr) {
    functions_.finish(results, n, plan_.count, out_, begin);
  } else {
    std::memcpy(static_cast<char*>(out_) + begin * loops_.bytes, results,
                static_cast<size_t>(n * loops_.bytes));
  }
}

// ---- Innermost dimension reduced ----

// Each output is made of one run, and the runs follow each other. Rows are longer than other runs
// only where that changes no result.
void Reduction::RunEvenOutputs(int64_t begin, int64_t end) const {
  const int64_t n = plan_.inner;
  const bool made = functions_.make != nullptr;
  if (!made && functions_.finish == nullptr) {
    loops_.runs(Address(begin * n), n, end - begin, true,
                static_cast<char*>(out_) + begin * loops_.bytes);
    return;
  }
  constexpr int64_t kResults = 64;
  const int64_t together =
      made ? std::clamp(ReducePlan::kRunLength / n, int64_t{1}, kResults) : kResults;
  alignas(64) char elements[ReducePlan::kRunLength * kMadeBytes];
  alignas(64) char results[kResults * kMostBytes];
  for (; begin < end; begin += together) {
    const int64_t runs = std::min(together, end - begin);
    if (made) functions_.make(source_, begin * n, runs * n, elements);
    loops_.runs(made ? elements : Address(begin * n), n, runs, true, results);
    FinishInto(results, runs, begin);
  }
}

// Each output is made of several whole runs, and all of these follow each other.
void Reduction::RunLongOutputs(int64_t begin, int64_t end) const {
  alignas(64) char runs[kFolded * kMostBytes];
  alignas(64) char results[kFolded * kMostBytes];
  const int64_t together = kFolded / plan_.items;
  for (; begin < end; begin += together) {
    const int64_t rows = std::min(together, end - begin);
    loops_.runs(Address(begin * plan_.inner), ReducePlan::kRunLength, rows * plan_.items, false,
                runs);
    loops_.fold(runs, plan_.items, rows, results);
    FinishInto(results, rows, begin);
  }
}

void Reduction::RunOutput(int64_t task) const {
  const int64_t index = task / plan_.groups;
  const int64_t group = task % plan_.groups;
  const int64_t start = plan_.KeptOffset(index);
  alignas(16) char result[kMostBytes];
  if (plan_.items == 1) {
    Run(start, plan_.inner, result);
  } else {
    Items(start, GroupBegin(plan_, group), GroupBegin(plan_, group + 1), result);
  }
  if (plan_.groups == 1) {
    FinishInto(result, 1, index);
  } else {
    std::memcpy(partial_ + (group * plan_.outputs + index) * loops_.bytes, result,
                static_cast<size_t>(loops_.bytes));
  }
}

// Items [begin, end), as a balanced tree.
void Reduction::Items(int64_t start, int64_t begin, int64_t end, void* result) const {
  if (end - begin > kFolded) {
    alignas(16) char other[kMostBytes];
    const int64_t middle = begin + (end - begin) / 2;
    Items(start, begin, middle, result);
    Items(start, middle, end, other);
    loops_.combine_one(other, result);
    return;
  }
  alignas(64) char runs[kFolded * kMostBytes];
  char* to = runs;
  for (int64_t item = begin; item < end;) {
    const int64_t first = item % plan_.runs_per_row * ReducePlan::kRunLength;
    const int64_t at = start + plan_.ReducedOffset(item / plan_.runs_per_row) + first;
    // Whole runs of one row follow each other: one call takes them all.
    const int64_t whole = std::min(end - item, (plan_.inner - first) / ReducePlan::kRunLength);
    const int64_t together = functions_.make == nullptr ? std::max<int64_t>(whole, 1) : 1;
    if (together > 1) {
      loops_.runs(Address(at), ReducePlan::kRunLength, together, false, to);
    } else {
      Run(at, std::min(ReducePlan::kRunLength, plan_.inner - first), to);
    }
    item += together;
    to += together * loops_.bytes;
  }
  loops_.fold(runs, end - begin, 1, result);
}

// A run of at most kRunLength elements.
void Reduction::Run(int64_t at, int64_t n, void* result) const {
  if (functions_.make == nullptr) {
    loops_.runs(Address(at), n, 1, false, result);
    return;
  }
  alignas(64) char elements[ReducePlan::kRunLength * kMadeBytes];
  functions_.make(source_, at, n, elements);
  loops_.runs(elements, n, 1, false, result);
}

// ---- Innermost dimension kept ----

void Reduction::RunTile(int64_t task) const {
  const int64_t group = task % plan_.groups;
  const int64_t tile = task / plan_.groups % plan_.tiles;
  const int64_t index = task / plan_.groups / plan_.tiles;
  const int64_t column = tile * ReducePlan::kTile;
  const int64_t width = std::min(ReducePlan::kTile, plan_.inner - column);
  const int64_t output = index * plan_.inner + column;
  alignas(64) char result[ReducePlan::kTile * kMostBytes];
  Rows(plan_.KeptOffset(index) + column, GroupBegin(plan_, group), GroupBegin(plan_, group + 1),
       width, result);
  if (plan_.groups == 1) {
    FinishInto(result, width, output);
  } else {
    std::memcpy(partial_ + (group * plan_.outputs + output) * loops_.bytes, result,
                static_cast<size_t>(width * loops_.bytes));
  }
}

// Rows [begin, end) of `width` columns, as a balanced tree.
void Reduction::Rows(int64_t start, int64_t begin, int64_t end, int64_t width, char* result) const {
  const bool narrow = IsNarrow(plan_);
  const int64_t leaf = narrow ? kLeafRows * (kNarrow / plan_.inner) : kLeafRows;
  if (end - begin > leaf) {
    const int64_t middle = begin + (end - begin) / 2;
    Rows(start, begin, middle, width, result);
    alignas(64) char other[ReducePlan::kTile * kMostBytes];
    Rows(start, middle, end, width, other);
    loops_.combine(other, width, result);
    return;
  }
  if (narrow) return NarrowRows(start + begin * plan_.inner, end - begin, plan_.inner, result);
  loops_.fill_identity(result, width);
  if (plan_.reduced_rank <= 1) {
    const int64_t stride = plan_.reduced_rank == 0 ? 0 : plan_.reduced_strides[0];
    EvenRows(start + begin * stride, end - begin, stride, width, result);
    return;
  }
  for (int64_t row = begin; row < end; ++row) {
    EvenRows(start + plan_.ReducedOffset(row), 1, 0, width, result);
  }
}

// Contiguous rows of few columns: as many rows as fit side by side are taken as one.
void Reduction::NarrowRows(int64_t at, int64_t rows, int64_t width, char* result) const {
  const int64_t together = kNarrow / width;
  const int64_t wide = together * width;
  const int64_t rest = rows % together * width;
  alignas(64) char side_by_side[kNarrow * kMostBytes];
  loops_.fill_identity(side_by_side, wide);
  EvenRows(at, rows / together, wide, wide, side_by_side);
  EvenRows(at + rows / together * wide, 1, 0, rest, side_by_side);
  const int64_t width_bytes = width * loops_.bytes;
  std::memcpy(result, side_by_side, static_cast<size_t>(width_bytes));
  for (int64_t i = 1; i < together; ++i) {
    loops_.combine(side_by_side + i * width_bytes, width, result);
  }
}

// As many elements as there are in four rows are made in the order in which they lie in memory,
// which it likes, and are in the first-level cache then.
void Reduction::EvenRows(int64_t at, int64_t rows, int64_t stride, int64_t width,
                         void* result) const {
  if (functions_.make == nullptr) {
    loops_.rows(Address(at), rows, stride, width, result);
    return;
  }
  alignas(64) char elements[kRowsMade * ReducePlan::kTile * kMadeBytes];
  for (; rows > 0; rows -= kRowsMade, at += kRowsMade * stride) {
    const int64_t count = std::min(kRowsMade, rows);
    if (stride == width) {
      functions_.make(source_, at, count * width, elements);
    } else {
      for (int64_t row = 0; row < count; ++row) {
        functions_.make(source_, at + row * stride, width, elements + row * width * loops_.bytes);
      }
    }
    loops_.rows(elements, count, width, width, result);
  }
}

ms::Status RunReduction(ms::Frame& frame, const ReduceFunctions& functions, const ReducePlan& plan,
                        const ms::View& in, void* scratch) {
  ms::View out;
  MS_TRY(frame.Output(0, plan.output, &out));
  if (plan.outputs == 0) return ms::Status();
  void* partial = scratch;
  if (plan.count != 0 && plan.groups > 1 && partial == nullptr) {
    ms::View temporary;
    MS_TRY(frame.Temp(static_cast<uint64_t>(plan.partial_elements() * functions.loops->bytes),
                      &temporary));
    partial = temporary.raw();
  }
  const Reduction reduction(plan, functions, in.raw(), out.raw(), partial);
  if (plan.count == 0) {
    reduction.FillEmpty();
    return ms::Status();
  }
  MS_TRY(ParallelRows(frame, plan.tasks(), plan.elements_per_task(), kReducePicoseconds,
                      [&](int64_t begin, int64_t end) { reduction.RunTasks(begin, end); }));
  if (plan.groups > 1) reduction.CombineGroups();
  return ms::Status();
}

ms::Status FindReduction(const ReduceTable& table, const ms::KernelInfo& info,
                         const ReduceFunctions** functions) {
  *functions = table.Find(info.input_dtype(0));
  return *functions == nullptr ? NoLoopFor(info.input_dtype(0)) : ms::Status();
}

ms::Status ReduceKernel::Init(const ms::KernelInfo& info) {
  MS_TRY(FindReduction(row_, info, &functions_));
  return info.Attr("keep_dims", &keep_dims_);
}

ms::Status ReduceKernel::Specialize(ms::Specialization& specialization) const {
  const ms::View axes = specialization.constant(1);
  if (axes.is_null()) return ms::Status();
  const ms::Shape input = specialization.input(0);
  uint32_t reduced = 0;
  MS_TRY(ReadAxes(axes, input.rank(), &reduced));
  auto state = std::make_unique<ReduceState>();
  PlanReduction(input, reduced, keep_dims_, &state->plan);
  specialization.SetScratchBytes(
      static_cast<uint64_t>(state->plan.partial_elements() * functions_->loops->bytes));
  specialization.SetState(std::move(state));
  return ms::Status();
}

ms::Status ReduceKernel::Compute(ms::Frame& frame) const {
  const ms::View in = frame.input(0);
  const auto* state = frame.shape_state<ReduceState>();
  if (state != nullptr) {
    return RunReduction(frame, *functions_, state->plan, in, frame.scratch());
  }
  uint32_t reduced = 0;
  MS_TRY(ReadAxes(frame.input(1), in.rank(), &reduced));
  ReducePlan plan;
  PlanReduction(in.shape(), reduced, keep_dims_, &plan);
  return RunReduction(frame, *functions_, plan, in, nullptr);
}

ms::Registered RegisterReduce(const char* op, const ReduceTable& table, uint32_t sets) {
  ms::KernelOptions options;
  options.HostArg("reduction_indices").Types("Tidx", {MS_INT32, MS_INT64});
  if (sets != 0) options.Types("T", TypesIn(sets));
  return ms::RegisterRow<ReduceKernel>(op, table, std::move(options));
}

}  // namespace millstream::kernels
