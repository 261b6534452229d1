// _ScanRows: a program of elementwise ops on floats (fused_plan.h) that runs on the rows of
// tensors, one after the other, with variables that are passed on from row to row. A tile of the
// row is taken through all iterations before the next tile is.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/elementwise/fused_plan.h"
#include "kernels/elementwise/fused_program.h"

namespace millstream::kernels {
namespace {

constexpr int64_t kCacheLine = 64;

// Elements that are computed between two questions whether the step goes on.
constexpr int64_t kElementsBetweenChecks = 1 << 20;

// Which row of a tensor each iteration reads or writes.
struct RowNumbers {
  int64_t first = 0;
  int64_t stride = 0;  // 1 or -1
  int64_t At(int64_t iteration) const { return first + stride * iteration; }
};

// What the attributes say.
struct Scan {
  FusedProgram program;
  int64_t num_rows = 0;
  int64_t num_states = 0;
  int64_t iterations = 0;
  std::vector<RowNumbers> numbers;  // of each tensor of rows, then of each result
  std::vector<int64_t> sizes;
  std::vector<int64_t> places;

  uint32_t num_tensors() const { return static_cast<uint32_t>(sizes.size()); }
  uint32_t num_given() const { return static_cast<uint32_t>(places.size() / 2); }
  uint32_t first_given() const { return program.num_inputs - num_given(); }
  uint32_t first_other() const { return static_cast<uint32_t>(num_rows + num_states); }
  const RowNumbers& of_result(size_t k) const { return numbers[static_cast<size_t>(num_rows) + k]; }
};

template <typename... Parts>
ms::Status InvalidAttr(const char* name, const Parts&... parts) {
  return ms::InvalidArgument("attribute '", name, "' of _ScanRows: ", parts...);
}

// True if iterations 0 to `iterations` - 1 concern rows of a tensor with `size` ones.
bool StaysBelow(const RowNumbers& numbers, int64_t iterations, int64_t size) {
  const int64_t last = numbers.At(iterations - 1);
  return std::min(numbers.first, last) >= 0 && std::max(numbers.first, last) < size;
}

// REQUIRES: the row exists.
bool IsComputed(const Scan& scan, size_t tensor, int64_t row) {
  const RowNumbers& numbers = scan.of_result(tensor);
  const int64_t iteration = (row - numbers.first) * numbers.stride;
  return iteration >= 0 && iteration < scan.iterations;
}

// Each row of a result is computed, or given, once.
ms::Status CheckPlaces(const Scan& scan) {
  std::vector<int64_t> written(scan.sizes.size(), scan.iterations);
  std::vector<std::pair<int64_t, int64_t>> given;
  for (size_t g = 0; g < scan.places.size(); g += 2) {
    const int64_t tensor = scan.places[g];
    const int64_t row = scan.places[g + 1];
    const bool exists = tensor >= 0 && tensor < static_cast<int64_t>(written.size()) && row >= 0 &&
                        row < scan.sizes[static_cast<size_t>(tensor)];
    const bool is_given = std::count(given.begin(), given.end(), std::pair(tensor, row)) > 0;
    if (!exists || is_given || IsComputed(scan, static_cast<size_t>(tensor), row)) {
      return InvalidAttr("places", "row ", row, " of result ", tensor,
                         " does not exist or is written twice");
    }
    given.emplace_back(tensor, row);
    ++written[static_cast<size_t>(tensor)];
  }
  for (size_t k = 0; k < written.size(); ++k) {
    const RowNumbers& numbers = scan.of_result(k);
    const bool fits = StaysBelow(numbers, scan.iterations, scan.sizes[k]);
    if (fits && written[k] == scan.sizes[k]) continue;
    return InvalidAttr("sizes", "element ", k, " is ", scan.sizes[k], ", but ", written[k],
                       " rows are written, in the iterations rows ", numbers.first, " to ",
                       numbers.At(scan.iterations - 1));
  }
  return ms::Status();
}

// What firsts and strides say.
ms::Status ReadNumbers(const ms::KernelInfo& info, Scan* scan) {
  // So that no number of a row overflows.
  constexpr int64_t kMost = int64_t{1} << 40;
  std::vector<int64_t> firsts;
  std::vector<int64_t> strides;
  MS_TRY(info.Attr("firsts", &firsts));
  MS_TRY(info.Attr("strides", &strides));
  MS_TRY(info.Attr("iterations", &scan->iterations));
  if (scan->iterations < 1 || scan->iterations > kMost) {
    return InvalidAttr("iterations", "expected 1 to ", kMost, ", got ", scan->iterations);
  }
  const size_t count = static_cast<size_t>(scan->num_rows) + scan->sizes.size();
  if (firsts.size() != count || strides.size() != count) {
    return InvalidAttr("firsts", "expected one number for each of ", count, " tensors, got ",
                       firsts.size(), ", and ", strides.size(), " strides");
  }
  for (size_t k = 0; k < count; ++k) {
    if (std::abs(strides[k]) != 1 || firsts[k] < -kMost || firsts[k] > kMost) {
      return InvalidAttr("strides", "element ", k, " is ", strides[k], ", expected 1 or -1, from ",
                         firsts[k], " on");
    }
    scan->numbers.push_back({firsts[k], strides[k]});
  }
  return ms::Status();
}

ms::Status ReadScan(const ms::KernelInfo& info, Scan* scan) {
  MS_TRY(ReadFusedProgram(info, &scan->program));
  MS_TRY(info.Attr("num_rows", &scan->num_rows));
  MS_TRY(info.Attr("num_states", &scan->num_states));
  MS_TRY(info.Attr("sizes", &scan->sizes));
  MS_TRY(info.Attr("places", &scan->places));
  const int64_t num_inputs = info.num_inputs();
  const int64_t num_given = static_cast<int64_t>(scan->places.size() / 2);
  const bool fits = scan->places.size() % 2 == 0 && scan->num_rows >= 0 && scan->num_states >= 1 &&
                    scan->num_rows <= num_inputs && scan->num_states <= num_inputs &&
                    scan->num_rows + scan->num_states + num_given <= num_inputs;
  if (!fits || static_cast<int64_t>(scan->sizes.size()) + scan->num_states != info.num_outputs()) {
    return InvalidAttr("num_rows", num_inputs, " args and ", info.num_outputs(),
                       " results do not go with ", scan->num_rows, " tensors of rows, ",
                       scan->num_states, " variables and ", num_given, " rows");
  }
  MS_TRY(ReadNumbers(info, scan));
  return CheckPlaces(*scan);
}

struct ScanPlan : ms::ShapeState {
  ms::Shape row;
  FusedPlan fused;  // of a row
};

// Where the parts of an execution's scratch memory begin, in bytes.
struct ScanLayout {
  ScanLayout(const Scan& scan, const FusedPlan& plan)
      : tile(Lines(plan.tile * static_cast<int64_t>(sizeof(float)))),
        buffer(tile + kCacheLine),
        singles(Lines(plan.num_places() * static_cast<int64_t>(sizeof(void*)))),
        rows(singles + Lines(plan.num_singles * static_cast<int64_t>(sizeof(float)))),
        buffers(rows + static_cast<int64_t>(plan.short_rows.size()) * tile),
        states(buffers + plan.num_buffers * buffer),
        bytes(states + 2 * scan.num_states * buffer) {}

  static int64_t Lines(int64_t bytes) { return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine; }

  int64_t tile;
  int64_t buffer;  // from one to the next, of states as well
  int64_t singles;
  int64_t rows;
  int64_t buffers;
  int64_t states;  // two of each
  int64_t bytes;
};

// One execution.
class ScanExecution {
 public:
  ScanExecution(const Scan& scan, const ScanPlan& plan, void* scratch)
      : scan_(scan),
        plan_(plan.fused),
        row_(plan.row),
        size_(plan.fused.size),
        layout_(scan, plan.fused),
        scratch_(static_cast<char*>(scratch)),
        places_(static_cast<float**>(scratch)) {}

  ms::Status Run(ms::Frame& frame) {
    MS_TRY(FindTensors(frame));
    if (size_ == 0) return ms::Status();
    Prepare();
    for (int64_t tile = 0; tile < plan_.tiles; ++tile) {
      const int64_t in_period = tile % plan_.tiles_per_period * plan_.tile;
      const int64_t begin = tile / plan_.tiles_per_period * plan_.period + in_period;
      MS_TRY(RunTile(frame, begin, std::min(plan_.tile, plan_.period - in_period)));
    }
    return ms::Status();
  }

 private:
  float* At(int64_t offset) const { return reinterpret_cast<float*>(scratch_ + offset); }
  float* State(int64_t state, int64_t side) const {
    return At(layout_.states + (2 * state + side) * layout_.buffer);
  }

  ms::Status FindTensors(ms::Frame& frame) {
    for (uint32_t i = 0; i < plan_.num_inputs; ++i) {
      inputs_.push_back(frame.input(i).data<float>());
    }
    for (uint32_t o = 0; o < plan_.num_outputs; ++o) {
      ms::Shape shape;
      if (o < scan_.num_tensors()) shape.Append(scan_.sizes[o]);
      for (const int64_t dim : row_) shape.Append(dim);
      ms::View made;
      MS_TRY(frame.Output(o, shape, &made));
      outputs_.push_back(made.data<float>());
    }
    for (uint32_t g = 0; g < scan_.num_given(); ++g) {
      float* const to = outputs_[static_cast<size_t>(scan_.places[2 * g])];
      std::copy_n(inputs_[scan_.first_given() + g], size_, to + scan_.places[2 * g + 1] * size_);
    }
    return ms::Status();
  }

  // Sets the places that stay the same in all iterations.
  void Prepare() {
    for (uint32_t i = 0; i < plan_.num_inputs; ++i) places_[i] = inputs_[i];
    for (uint32_t s = 0; s < plan_.num_singles; ++s) {
      places_[plan_.first_single() + s] = At(layout_.singles) + s;
    }
    for (uint32_t b = 0; b < plan_.num_buffers; ++b) {
      places_[plan_.first_buffer() + b] = At(layout_.buffers + b * layout_.buffer);
    }
    places_[plan_.table()] = reinterpret_cast<float*>(places_);
    Call(plan_.once, 1);
    for (size_t r = 0; r < plan_.short_rows.size(); ++r) {
      const FusedPlan::ShortRow& row = plan_.short_rows[r];
      float* const tile = At(layout_.rows + static_cast<int64_t>(r) * layout_.tile);
      const int64_t elements = std::min(plan_.tile, size_);
      for (int64_t i = 0; i < elements; ++i) tile[i] = inputs_[row.input][i % row.length];
      places_[row.input] = tile;
    }
  }

  void Call(const std::vector<FusedCall>& calls, int64_t elements) const {
    for (const FusedCall& call : calls) {
      call.loop(places_[call.x], places_[call.y], places_[call.out], elements);
    }
  }

  // The elements [begin, begin + elements) of all rows.
  ms::Status RunTile(ms::Frame& frame, int64_t begin, int64_t elements) {
    const size_t bytes = static_cast<size_t>(elements) * sizeof(float);
    for (const FusedPlan::Moving& moving : plan_.moving) {
      if (moving.place < scan_.first_other() || moving.place >= plan_.num_inputs) continue;
      const int64_t at = moving.length == 0 ? begin : begin % moving.length;
      places_[moving.place] = inputs_[moving.place] + at;
    }
    for (int64_t s = 0; s < scan_.num_states; ++s) {
      std::memcpy(State(s, 0), inputs_[static_cast<size_t>(scan_.num_rows + s)] + begin, bytes);
    }
    for (int64_t i = 0; i < scan_.iterations; ++i) {
      PointTo(i, begin);
      Call(plan_.calls, elements);
      unchecked_ += elements;
      if (unchecked_ < kElementsBetweenChecks) continue;
      unchecked_ = 0;
      MS_TRY(frame.CheckCancelled());
    }
    for (int64_t s = 0; s < scan_.num_states; ++s) {
      std::memcpy(outputs_[static_cast<size_t>(scan_.num_tensors() + s)] + begin,
                  State(s, scan_.iterations % 2), bytes);
    }
    return ms::Status();
  }

  // Sets the places of iteration i.
  void PointTo(int64_t i, int64_t begin) const {
    const RowNumbers* numbers = scan_.numbers.data();
    for (int64_t k = 0; k < scan_.num_rows; ++k) {
      places_[k] = inputs_[static_cast<size_t>(k)] + (numbers++)->At(i) * size_ + begin;
    }
    float** const results = places_ + plan_.num_inputs;
    for (uint32_t o = 0; o < scan_.num_tensors(); ++o) {
      results[o] = outputs_[o] + (numbers++)->At(i) * size_ + begin;
    }
    for (int64_t s = 0; s < scan_.num_states; ++s) {
      places_[scan_.num_rows + s] = State(s, i % 2);
      results[scan_.num_tensors() + s] = State(s, (i + 1) % 2);
    }
  }

  const Scan& scan_;
  const FusedPlan& plan_;
  const ms::Shape& row_;
  const int64_t size_;
  const ScanLayout layout_;
  char* const scratch_;
  float** const places_;
  int64_t unchecked_ = 0;  // elements since the last question, of several tiles
  std::vector<float*> inputs_;
  std::vector<float*> outputs_;
};

class ScanRows {
 public:
  ms::Status Init(const ms::KernelInfo& info) { return ReadScan(info, &scan_); }

  ms::Status Specialize(ms::Specialization& specialization) const {
    std::vector<ms::Shape> inputs;
    for (uint32_t i = 0; i < specialization.num_inputs(); ++i) {
      inputs.push_back(specialization.input(i));
    }
    auto plan = std::make_unique<ScanPlan>();
    MS_TRY(MakePlan(inputs, ChosenVectorSet(), plan.get()));
    specialization.SetScratchBytes(static_cast<uint64_t>(ScanLayout(scan_, plan->fused).bytes));
    specialization.SetState(std::move(plan));
    return ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    if (const auto* const plan = frame.shape_state<ScanPlan>()) {
      return ScanExecution(scan_, *plan, frame.scratch()).Run(frame);
    }
    std::vector<ms::Shape> inputs;
    for (uint32_t i = 0; i < frame.num_inputs(); ++i) inputs.push_back(frame.input(i).shape());
    ScanPlan plan;
    // What runs once is not worth machine code.
    MS_TRY(MakePlan(inputs, VectorSet::kNone, &plan));
    ms::View scratch;
    MS_TRY(frame.Temp(static_cast<uint64_t>(ScanLayout(scan_, plan.fused).bytes), &scratch));
    return ScanExecution(scan_, plan, scratch.raw()).Run(frame);
  }

 private:
  // The plan of a row.
  ms::Status MakePlan(const std::vector<ms::Shape>& inputs, VectorSet set, ScanPlan* plan) const {
    const uint32_t num_rows = static_cast<uint32_t>(scan_.num_rows);
    plan->row = inputs[num_rows];
    std::vector<ms::Shape> shapes = inputs;
    for (uint32_t i = 0; i < inputs.size(); ++i) {
      if (i < num_rows) {
        const bool has_rows =
            inputs[i].rank() > 0 && StaysBelow(scan_.numbers[i], scan_.iterations, inputs[i][0]);
        if (!has_rows) return WrongShape(i, inputs[i], plan->row);
        shapes[i] = ms::Shape(inputs[i].begin() + 1, inputs[i].rank() - 1);
      }
      const bool is_row = i < scan_.first_other() || i >= scan_.first_given();
      if (is_row && shapes[i] != plan->row) return WrongShape(i, inputs[i], plan->row);
    }
    MS_TRY(PlanFused(scan_.program, shapes, 1, set, &plan->fused, scan_.iterations));
    if (plan->fused.shape == plan->row) return ms::Status();
    return ms::InvalidArgument("_ScanRows: args together have shape ", plan->fused.shape.ToString(),
                               ", expected that of a row, ", plan->row.ToString());
  }

  ms::Status WrongShape(uint32_t i, const ms::Shape& found, const ms::Shape& row) const {
    return ms::InvalidArgument("_ScanRows: args[", i, "] has shape ", found.ToString(),
                               ", expected ", i < scan_.num_rows ? "rows " : "a row", " of shape ",
                               row.ToString());
  }

  Scan scan_;
};

const ms::Registered scan_rows =
    ms::Register<ScanRows>("_ScanRows", ms::KernelOptions().Type<float>("T"));

}  // namespace
}  // namespace millstream::kernels
