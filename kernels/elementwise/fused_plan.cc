#include "kernels/elementwise/fused_plan.h"

#include <algorithm>
#include <cstring>

#include "kernels/common/parallel.h"
#include "kernels/elementwise/compiled_calls.h"

namespace millstream::kernels {
namespace {

// Elements of a tile: four of its values fill half a cache of 32 KiB. Measured, half and twice as
// many are as good, more are worse.
constexpr int64_t kTile = 1024;

// Tiles start at multiples of this many elements, where rows allow it: a cache line.
constexpr int64_t kTileUnit = 16;

// Loops say what an element costs from memory and back; of that, this much is the memory's part.
constexpr int64_t kMemoryPicoseconds = 200;
constexpr int64_t kLeastPicoseconds = 40;
// A step that is part of machine code costs that much less, but no less than an instruction does.
constexpr int64_t kCompiledFraction = 4;
constexpr int64_t kLeastCompiledPicoseconds = 10;

// Machine code is made where it saves as much in an execution: to make it takes as long as some
// hundred executions save then.
constexpr double kWorthwhileNanoseconds = 50;
constexpr double kSavedNanosecondsPerCall = 3;
constexpr double kSavedNanosecondsPerElement = 0.03;

constexpr uint32_t kNone = ~uint32_t{0};
constexpr int64_t kNever = -1;

int64_t RoundUp(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

void CopyElements(const float* x, const float* /*y*/, float* out, int64_t elements) {
  // The output may lie over the input.
  std::memmove(out, x, static_cast<size_t>(elements) * sizeof(float));
}

void RepeatElement(const float* x, const float* /*y*/, float* out, int64_t elements) {
  std::fill(out, out + elements, *x);
}

VectorProgram::Value SameValue(VectorProgram& /*p*/, VectorProgram::Value x,
                               VectorProgram::Value /*y*/) {
  return x;
}

ms::Shape BroadcastOf(const std::vector<ms::Shape>& inputs) {
  uint32_t rank = 0;
  for (const ms::Shape& input : inputs) rank = std::max(rank, input.rank());
  ms::Shape shape;
  for (uint32_t d = 0; d < rank; ++d) {
    int64_t size = 1;
    for (const ms::Shape& input : inputs) {
      const uint32_t missing = rank - input.rank();
      if (size == 1 && d >= missing) size = input[d - missing];
    }
    shape.Append(size);
  }
  return shape;
}

// Whether `input` is the last dimensions of `shape`, perhaps behind dimensions of 1.
bool IsRowOf(const ms::Shape& shape, const ms::Shape& input) {
  uint32_t equal = 0;  // dimensions at the end
  while (equal < input.rank() &&
         input[input.rank() - 1 - equal] == shape[shape.rank() - 1 - equal]) {
    ++equal;
  }
  for (uint32_t d = 0; d + equal < input.rank(); ++d) {
    if (input[d] != 1) return false;
  }
  return true;
}

class FusedPlanner {
 public:
  FusedPlanner(const FusedProgram& program, FusedPlan* plan) : program_(program), plan_(*plan) {}

  ms::Status CheckShapes(const std::vector<ms::Shape>& inputs);
  void CutTiles(const std::vector<ms::Shape>& inputs);
  void FindCalls();
  void FindPlaces();
  void FindEarlyOutputs();
  void Compile(VectorSet set, int64_t repeats);
  void CutPieces(uint32_t threads);

 private:
  // A call by the values that it reads and makes.
  struct ValueCall {
    FloatLoop loop;
    StepRecipe recipe;
    int64_t picoseconds;  // of an element, but for the memory's part
    uint32_t x;
    uint32_t y;
    uint32_t out;
  };

  std::vector<bool> FindNeeded() const;
  void AddStep(uint32_t value, const FusedStep& step, uint32_t output);
  void AddCopy(uint32_t from, uint32_t output);
  void AddOutput(const ValueCall& call, uint32_t output);
  void FindLastReads();
  uint32_t TakeBuffer();
  void FreeBuffer(uint32_t value, int64_t reader);
  FusedCall InPlaces(const ValueCall& call) const;

  const FusedProgram& program_;
  FusedPlan& plan_;
  std::vector<bool> runs_;  // of each value: along a tile; else it is a single element
  std::vector<ValueCall> once_;
  std::vector<ValueCall> calls_;
  std::vector<uint32_t> place_;     // of each value
  std::vector<int64_t> last_read_;  // of each value: the last of calls_ to read it
  std::vector<int64_t> written_;    // of each output: the one of calls_ that writes it
  std::vector<uint32_t> free_buffers_;
};

ms::Status FusedPlanner::CheckShapes(const std::vector<ms::Shape>& inputs) {
  plan_.shape = BroadcastOf(inputs);
  plan_.size = plan_.shape.num_elements();
  plan_.num_inputs = program_.num_inputs;
  plan_.num_outputs = static_cast<uint32_t>(program_.results.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].num_elements() == 1 || IsRowOf(plan_.shape, inputs[i])) continue;
    return ms::InvalidArgument("_FusedElementwise: args[", i, "] has shape ", inputs[i].ToString(),
                               ", expected that of all args together, ", plan_.shape.ToString(),
                               ", its last dimensions, or one element");
  }
  return ms::Status();
}

// Lengths of rows divide each other, because all are products of the last dimensions. So tiles of
// whole short rows, cut at the end of the shortest long row, cut no row in two.
void FusedPlanner::CutTiles(const std::vector<ms::Shape>& inputs) {
  int64_t longest_short = 1;
  plan_.period = plan_.size;
  for (uint32_t i = 0; i < plan_.num_inputs; ++i) {
    const int64_t length = inputs[i].num_elements();
    const bool whole = length == plan_.size;
    runs_.push_back(whole || length > 1);
    if (whole) {
      plan_.moving.push_back({i, 0});
    } else if (length > kTile) {
      plan_.moving.push_back({i, length});
      plan_.period = std::min(plan_.period, length);
    } else if (length > 1) {
      plan_.short_rows.push_back({i, length});
      longest_short = std::max(longest_short, length);
    }
  }
  for (uint32_t o = 0; o < plan_.num_outputs; ++o) {
    plan_.moving.push_back({plan_.num_inputs + o, 0});
  }
  const int64_t unit = longest_short == 1 ? kTileUnit : longest_short;
  const int64_t most = kTile / unit * unit;
  const int64_t fewest_tiles = (plan_.period + most - 1) / most;
  plan_.tile = RoundUp((plan_.period + fewest_tiles - 1) / fewest_tiles, unit);
  plan_.tiles_per_period = (plan_.period + plan_.tile - 1) / plan_.tile;
  plan_.tiles = plan_.size / plan_.period * plan_.tiles_per_period;
}

// Of each value: whether an output depends on it.
std::vector<bool> FusedPlanner::FindNeeded() const {
  std::vector<bool> needed(program_.num_values(), false);
  for (const uint32_t value : program_.results) needed[value] = true;
  for (uint32_t value = program_.num_values(); value-- > program_.num_inputs;) {
    if (!needed[value]) continue;
    const FusedStep& step = program_.steps[value - program_.num_inputs];
    needed[step.x] = true;
    needed[step.y] = true;
  }
  return needed;
}

// The step that makes `value`, which is `output` (kNone: none).
void FusedPlanner::AddStep(uint32_t value, const FusedStep& step, uint32_t output) {
  const FloatLoops& loops = *step.loops;
  const bool x_runs = runs_[step.x];
  const bool y_runs = runs_[step.y];
  runs_[value] = x_runs || y_runs;
  const FloatLoop loop = x_runs == y_runs ? loops.all : x_runs ? loops.only_x : loops.only_y;
  const int64_t picoseconds = std::max(kLeastPicoseconds, loops.picoseconds - kMemoryPicoseconds);
  const ValueCall added{loop, step.recipe, picoseconds, step.x, step.y, value};
  if (!runs_[value]) {
    place_[value] = plan_.first_single() + plan_.num_singles++;
    once_.push_back(added);
    return;
  }
  if (output != kNone) AddOutput(added, output);
  calls_.push_back(added);
}

// REQUIRES: `call` is added to calls_ next.
void FusedPlanner::AddOutput(const ValueCall& call, uint32_t output) {
  place_[call.out] = plan_.num_inputs + output;
  written_[output] = static_cast<int64_t>(calls_.size());
}

// `output` becomes a copy of a value that does not lie there: an input, a single element, or what
// another output holds as well.
void FusedPlanner::AddCopy(uint32_t from, uint32_t output) {
  const uint32_t copy = static_cast<uint32_t>(place_.size());
  const FloatLoop loop = runs_[from] ? &CopyElements : &RepeatElement;
  const ValueCall added{loop, &SameValue, kLeastPicoseconds, from, from, copy};
  place_.push_back(kNone);
  runs_.push_back(true);
  AddOutput(added, output);
  calls_.push_back(added);
}

void FusedPlanner::FindCalls() {
  const std::vector<bool> needed = FindNeeded();
  place_.assign(program_.num_values(), kNone);
  runs_.resize(program_.num_values(), false);
  written_.assign(plan_.num_outputs, kNever);
  for (uint32_t i = 0; i < plan_.num_inputs; ++i) place_[i] = i;
  // The first output that asks for a value is where it is computed.
  std::vector<uint32_t> output_of(program_.num_values(), kNone);
  for (uint32_t o = plan_.num_outputs; o-- > 0;) output_of[program_.results[o]] = o;
  for (uint32_t value = plan_.num_inputs; value < program_.num_values(); ++value) {
    if (!needed[value]) continue;
    AddStep(value, program_.steps[value - plan_.num_inputs], output_of[value]);
  }
  for (uint32_t o = 0; o < plan_.num_outputs; ++o) {
    if (written_[o] == kNever) AddCopy(program_.results[o], o);
  }
}

void FusedPlanner::FindLastReads() {
  last_read_.assign(place_.size(), kNever);
  for (size_t c = 0; c < calls_.size(); ++c) {
    const ValueCall& call = calls_[c];
    last_read_[call.x] = static_cast<int64_t>(c);
    last_read_[call.y] = static_cast<int64_t>(c);
  }
}

uint32_t FusedPlanner::TakeBuffer() {
  if (free_buffers_.empty()) return plan_.first_buffer() + plan_.num_buffers++;
  const uint32_t buffer = free_buffers_.back();
  free_buffers_.pop_back();
  return buffer;
}

// Frees the value's buffer, if it has one, when `reader` is the last of calls_ to read it.
void FusedPlanner::FreeBuffer(uint32_t value, int64_t reader) {
  if (place_[value] >= plan_.first_buffer() && last_read_[value] == reader) {
    free_buffers_.push_back(place_[value]);
  }
}

FusedCall FusedPlanner::InPlaces(const ValueCall& call) const {
  return {call.loop, place_[call.x], place_[call.y], place_[call.out]};
}

void FusedPlanner::FindPlaces() {
  FindLastReads();
  for (const ValueCall& call : once_) plan_.once.push_back(InPlaces(call));
  for (size_t c = 0; c < calls_.size(); ++c) {
    const ValueCall& call = calls_[c];
    // Loops may write over what they read, so the output may take over an operand's buffer.
    FreeBuffer(call.x, static_cast<int64_t>(c));
    if (call.y != call.x) FreeBuffer(call.y, static_cast<int64_t>(c));
    if (place_[call.out] == kNone) place_[call.out] = TakeBuffer();
    plan_.calls.push_back(InPlaces(call));
  }
}

void FusedPlanner::FindEarlyOutputs() {
  for (uint32_t o = 0; o < std::min(plan_.num_outputs, kInPlaceOutputs); ++o) {
    std::vector<uint32_t> inputs;
    for (uint32_t i = 0; i < std::min(plan_.num_inputs, kInPlaceInputs); ++i) {
      if (last_read_[i] > written_[o]) inputs.push_back(i);
    }
    if (inputs.empty()) continue;
    // Never free: the tile stays there until all calls are done.
    const uint32_t buffer = plan_.first_buffer() + plan_.num_buffers++;
    plan_.early.push_back({o, buffer, std::move(inputs)});
  }
}

// REQUIRES: places are final.
void FusedPlanner::Compile(VectorSet set, int64_t repeats) {
  const double saved =
      static_cast<double>(calls_.size()) * static_cast<double>(repeats) *
      (kSavedNanosecondsPerCall + kSavedNanosecondsPerElement * static_cast<double>(plan_.size));
  if (!program_.compile || set == VectorSet::kNone || saved < kWorthwhileNanoseconds) return;
  CallsToCompile calls;
  calls.runs.assign(runs_.begin(), runs_.begin() + plan_.num_inputs);
  for (const ValueCall& call : calls_) calls.recipes.push_back(call.recipe);
  const std::vector<bool> compiled = CompileCalls(calls, set, &plan_);
  for (size_t c = 0; c < calls_.size(); ++c) {
    if (!compiled[c]) continue;
    int64_t& picoseconds = calls_[c].picoseconds;
    picoseconds = std::max(kLeastCompiledPicoseconds, picoseconds / kCompiledFraction);
  }
}

void FusedPlanner::CutPieces(uint32_t threads) {
  const int64_t moved = static_cast<int64_t>(plan_.moving.size());
  int64_t picoseconds = moved * kMemoryPicoseconds / 2;
  for (const ValueCall& call : calls_) picoseconds += call.picoseconds;
  if (IsSerialWork(plan_.size, picoseconds)) return;
  // More pieces than threads, so that a thread that is late holds up less.
  const int64_t most = std::max<int64_t>(1, threads) * 2;
  const double serial = static_cast<double>(plan_.size) * static_cast<double>(picoseconds);
  const double worthwhile = serial / static_cast<double>(kSerialPicoseconds) + 1;
  plan_.pieces = std::min({most, plan_.tiles, static_cast<int64_t>(std::min(worthwhile, 1e6))});
  plan_.piece_nanoseconds =
      static_cast<uint64_t>(serial / 1000 / static_cast<double>(plan_.pieces)) + 1;
}

}  // namespace

ms::Status PlanFused(const FusedProgram& program, const std::vector<ms::Shape>& inputs,
                     uint32_t threads, VectorSet set, FusedPlan* plan, int64_t repeats) {
  FusedPlanner planner(program, plan);
  MS_TRY(planner.CheckShapes(inputs));
  if (plan->size == 0) return ms::Status();
  planner.CutTiles(inputs);
  planner.FindCalls();
  planner.FindPlaces();
  planner.FindEarlyOutputs();
  planner.Compile(set, repeats);
  planner.CutPieces(threads);
  return ms::Status();
}

}  // namespace millstream::kernels
