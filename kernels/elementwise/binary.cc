#include "kernels/elementwise/binary.h"

#include <algorithm>
#include <atomic>
#include <memory>

#include "kernels/common/parallel.h"
#include "kernels/common/streamed_output.h"

namespace millstream::kernels {
namespace {

struct BroadcastState : ms::ShapeState {
  BroadcastPlan plan;
};

BinaryLoop LoopFor(const BinaryFunctions& functions, BroadcastPlan::Inner inner) {
  switch (inner) {
    case BroadcastPlan::Inner::kBoth: return functions.both;
    case BroadcastPlan::Inner::kOnlyX: return functions.only_x;
    case BroadcastPlan::Inner::kOnlyY: return functions.only_y;
  }
  return nullptr;
}

// As the loops, for operands in call.format.
bool NarrowRows(const BinaryCall& call, BroadcastPlan::Inner inner, const void* x, const void* y,
                void* out, const RowBlock& block, int64_t columns) {
  const BinaryLoop loop = LoopFor(*call.functions, inner);
  const NarrowFormat& format = *call.format;
  const bool x_runs = inner != BroadcastPlan::Inner::kOnlyY;
  const bool y_runs = inner != BroadcastPlan::Inner::kOnlyX;
  float x_tile[kTileElements];
  float y_tile[kTileElements];
  float out_tile[kTileElements];
  bool refused = false;
  for (int64_t row = 0; row < block.rows; ++row) {
    const int64_t x_begin = block.x_offset + row * block.x_step;
    const int64_t y_begin = block.y_offset + row * block.y_step;
    const int64_t out_begin = block.output_offset + row * columns;
    for (int64_t begin = 0; begin < columns; begin += kTileElements) {
      const int64_t n = std::min(kTileElements, columns - begin);
      format.widen(x, x_begin + (x_runs ? begin : 0), x_runs ? n : 1, x_tile);
      format.widen(y, y_begin + (y_runs ? begin : 0), y_runs ? n : 1, y_tile);
      const int64_t out_offset = call.same_dtype ? 0 : out_begin + begin;
      refused |= loop(x_tile, y_tile, call.same_dtype ? out_tile : out,
                      RowBlock{0, 0, out_offset, 1, 0, 0}, n);
      if (call.same_dtype) format.narrow(out_tile, n, out, out_begin + begin);
    }
  }
  return refused;
}

// As the loops, past the caches. Short rows share a tile: a copy of less than a few lines takes
// longer than what it saves.
bool StreamRows(const BinaryCall& call, BroadcastPlan::Inner inner, const void* x, const void* y,
                void* out, const RowBlock& block, int64_t columns) {
  constexpr int64_t kLeastBytes = 512;
  const BinaryLoop loop = LoopFor(*call.functions, inner);
  if (block.rows * columns * call.result_bytes < kLeastBytes) {
    return loop(x, y, out, block, columns);
  }
  const int64_t x_stride = inner == BroadcastPlan::Inner::kOnlyY ? 0 : 1;
  const int64_t y_stride = inner == BroadcastPlan::Inner::kOnlyX ? 0 : 1;
  const int64_t tile_elements = kStreamedTileBytes / call.result_bytes;
  const int64_t tile_rows = std::max<int64_t>(1, tile_elements / columns);
  alignas(64) char tile[kStreamedTileBytes];
  bool refused = false;
  for (int64_t row = 0; row < block.rows; row += tile_rows) {
    const int64_t rows = std::min(tile_rows, block.rows - row);
    char* const to =
        static_cast<char*>(out) + (block.output_offset + row * columns) * call.result_bytes;
    for (int64_t begin = 0; begin < columns; begin += tile_elements) {
      const int64_t n = std::min(tile_elements, columns - begin);
      const RowBlock part{block.x_offset + row * block.x_step + begin * x_stride,
                          block.y_offset + row * block.y_step + begin * y_stride,
                          0,
                          rows,
                          block.x_step,
                          block.y_step};
      refused |= loop(x, y, tile, part, n);
      StreamCopy(tile, rows * n * call.result_bytes, to + begin * call.result_bytes);
    }
  }
  EndStreaming();
  return refused;
}

// Whether a call with these operands writes its results so. Rows of less than a line take longer
// than the memory.
bool StreamsResults(const BinaryCall& call, const BroadcastPlan& plan, const void* x, const void* y,
                    const void* out) {
  constexpr int64_t kLine = 64;
  if (call.format != nullptr || out == x || out == y) return false;
  if (plan.rank > 1 && plan.columns() * call.result_bytes < kLine) return false;
  const int64_t operands = (plan.x_fills ? 1 : 0) + (plan.y_fills && x != y ? 1 : 0);
  return IsStreamed(operands * plan.size * call.operand_bytes, plan.size * call.result_bytes);
}

// What RunBinary does beyond one thread's worth of work.
[[gnu::noinline]] ms::Status RunRows(ms::Frame& frame, const BinaryCall& call,
                                     const BroadcastPlan& plan, const void* x, const void* y,
                                     void* out) {
  const BinaryLoop loop = LoopFor(*call.functions, plan.inner);
  const bool is_streamed = StreamsResults(call, plan, x, y, out);
  std::atomic<bool> refused{false};
  const auto run = [&](const RowBlock& block, int64_t columns) {
    const bool some_refused = is_streamed ? StreamRows(call, plan.inner, x, y, out, block, columns)
                              : call.format == nullptr
                                  ? loop(x, y, out, block, columns)
                                  : NarrowRows(call, plan.inner, x, y, out, block, columns);
    if (some_refused) refused.store(true, std::memory_order_relaxed);
  };
  if (plan.rank == 1) {
    const int64_t x_stride = plan.x_strides[0];
    const int64_t y_stride = plan.y_strides[0];
    MS_TRY(
        ParallelElements(frame, plan.columns(), call.picoseconds, [&](int64_t begin, int64_t end) {
          run(RowBlock{begin * x_stride, begin * y_stride, begin, 1, 0, 0}, end - begin);
        }));
  } else {
    const int64_t columns = plan.columns();
    MS_TRY(ParallelRows(
        frame, plan.rows(), columns, call.picoseconds, [&](int64_t begin, int64_t end) {
          ForEachRowBlock(plan, begin, end, [&](const RowBlock& block) { run(block, columns); });
        }));
  }
  if (refused.load(std::memory_order_relaxed)) return ms::InvalidArgument(call.functions->refusal);
  return ms::Status();
}

}  // namespace

ms::Status BinaryCall::Init(const BinaryTable& table, MS_DType operands, MS_DType results) {
  functions = table.Find(operands);
  if (functions == nullptr) return NoLoopFor(operands);
  format = NarrowFormatOf(operands);
  picoseconds = functions->picoseconds + (format == nullptr ? 0 : kTilePicoseconds);
  same_dtype = operands == results;
  operand_bytes = static_cast<int64_t>(ms::ElementSize(operands));
  result_bytes = static_cast<int64_t>(ms::ElementSize(results));
  return ms::Status();
}

bool RunBinaryElements(const BinaryCall& call, const void* x, const void* y, void* out,
                       int64_t begin, int64_t end) {
  const RowBlock block{begin, begin, begin, 1, 0, 0};
  if (call.format == nullptr) return call.functions->both(x, y, out, block, end - begin);
  return NarrowRows(call, BroadcastPlan::Inner::kBoth, x, y, out, block, end - begin);
}

ms::Status RunBinary(ms::Frame& frame, const BinaryCall& call, const BroadcastPlan& plan,
                     const void* x, const void* y, void* out) {
  const bool one_thread_does = plan.rank == 1 && plan.dims[0] > 0 && call.format == nullptr &&
                               IsSerialWork(plan.dims[0], call.picoseconds);
  if (!one_thread_does) return RunRows(frame, call, plan, x, y, out);
  const BinaryLoop loop = LoopFor(*call.functions, plan.inner);
  if (loop(x, y, out, RowBlock{0, 0, 0, 1, 0, 0}, plan.dims[0])) {
    return ms::InvalidArgument(call.functions->refusal);
  }
  return ms::Status();
}

ms::KernelOptions BinaryOptions(uint32_t sets) {
  ms::KernelOptions options;
  options.Types("T", TypesIn(sets)).InPlace(0, 0).InPlace(0, 1);
  return options;
}

ms::Status BroadcastingKernel::Init(const ms::KernelInfo& info) {
  return call_.Init(row_.table, info.input_dtype(0), info.output_dtype(0));
}

ms::Status BroadcastingKernel::Specialize(ms::Specialization& specialization) const {
  auto state = std::make_unique<BroadcastState>();
  MS_TRY(PlanBroadcast(specialization.input(x_), specialization.input(y_), &state->plan));
  specialization.SetState(std::move(state));
  return ms::Status();
}

ms::Status BroadcastingKernel::Compute(ms::Frame& frame) const {
  const auto* state = frame.shape_state<BroadcastState>();
  if (state == nullptr) return PlanAndRun(frame);
  void* const out = frame.planned_output(0);
  if (out == nullptr) return Run(frame, state->plan);
  return RunBinary(frame, call_, state->plan, frame.input(x_).raw(), frame.input(y_).raw(), out);
}

[[gnu::noinline]] ms::Status BroadcastingKernel::PlanAndRun(ms::Frame& frame) const {
  BroadcastPlan plan;
  MS_TRY(PlanBroadcast(frame.input(x_).shape(), frame.input(y_).shape(), &plan));
  return Run(frame, plan);
}

ms::Status BroadcastingKernel::Run(ms::Frame& frame, const BroadcastPlan& plan) const {
  ms::View out;
  if (call_.same_dtype && plan.x_fills) {
    MS_TRY(frame.ForwardOrOutput(x_, 0, plan.output, &out));
  } else if (call_.same_dtype && plan.y_fills) {
    MS_TRY(frame.ForwardOrOutput(y_, 0, plan.output, &out));
  } else {
    MS_TRY(frame.Output(0, plan.output, &out));
  }
  if (plan.size == 0) return ms::Status();
  return RunBinary(frame, call_, plan, frame.input(x_).raw(), frame.input(y_).raw(), out.raw());
}

ms::Status SameShapeKernel::Init(const ms::KernelInfo& info) {
  op_ = info.op();
  return call_.Init(row_.table, info.input_dtype(0), info.output_dtype(0));
}

ms::Status SameShapeKernel::Compute(ms::Frame& frame) const {
  const ms::View x = frame.input(0);
  const ms::View y = frame.input(1);
  const ms::Shape shape = x.shape();
  if (shape != y.shape()) {
    return ms::InvalidArgument(op_, ": inputs ", row_.x_name, " and ", row_.y_name,
                               " must have the same shape, got ", shape.ToString(), " and ",
                               y.shape().ToString());
  }
  ms::View out;
  MS_TRY(frame.ForwardOrOutput(0, 0, shape, &out));
  if (x.size() == 0) return ms::Status();
  BroadcastPlan plan;
  plan.dims[0] = x.size();
  plan.x_strides[0] = plan.y_strides[0] = 1;
  return RunBinary(frame, call_, plan, x.raw(), y.raw(), out.raw());
}

}  // namespace millstream::kernels
