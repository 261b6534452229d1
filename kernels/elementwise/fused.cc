// _FusedElementwise: a program of elementwise ops on floats, run tile by tile (fused_plan.h) with
// the ops' own loops, or machine code that does the same, so that its results have the bits of the
// same ops one by one. Of two NaNs an op passes on either.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/elementwise/fused_plan.h"
#include "kernels/elementwise/fused_program.h"

namespace millstream::kernels {
namespace {

constexpr int64_t kCacheLine = 64;

// Threads that are reckoned with where no plan says how many there are.
constexpr uint32_t kUnplannedThreads = 8;

constexpr int64_t kNanosecondsBetweenChecks = 2000000;

int64_t CacheLines(int64_t bytes) { return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine; }

// Where the parts of an execution's scratch memory begin, in bytes.
//
//   bases      the address of each input, output and single value at the first element
//   singles    one float each
//   rows       a tile of each short row
//   pieces     for each: the addresses of all places, then the buffers
struct ScratchLayout {
  explicit ScratchLayout(const FusedPlan& plan)
      : tile(CacheLines(plan.tile * static_cast<int64_t>(sizeof(float)))),
        // A line apart, so that neighbours do not fall on the same lines of the cache.
        buffer(tile + kCacheLine),
        places(CacheLines(plan.num_places() * static_cast<int64_t>(sizeof(void*)))),
        singles(places),
        rows(singles + CacheLines(plan.num_singles * static_cast<int64_t>(sizeof(float)))),
        pieces(rows + static_cast<int64_t>(plan.short_rows.size()) * tile),
        piece(places + plan.num_buffers * buffer),
        bytes(pieces + plan.pieces * piece) {}

  int64_t tile;    // bytes of one
  int64_t buffer;  // from one to the next
  int64_t places;  // bytes of all
  int64_t singles;
  int64_t rows;
  int64_t pieces;
  int64_t piece;  // from one to the next
  int64_t bytes;
};

// Fills `tile` with as many copies of the row as fit.
void RepeatRow(const float* row, int64_t length, int64_t tile_elements, float* tile) {
  std::memcpy(tile, row, static_cast<size_t>(length) * sizeof(float));
  for (int64_t filled = length; filled < tile_elements;) {
    const int64_t more = std::min(filled, tile_elements - filled);
    std::memcpy(tile + filled, tile, static_cast<size_t>(more) * sizeof(float));
    filled += more;
  }
}

// On a few elements a call of the wrong loop, begun by the processor's guess, costs more than the
// step. One call instruction for all steps gives it little to guess by; eight, in turn, halve the
// cost of 1,000 mixed steps on 4 elements.
void RunCalls(const std::vector<FusedCall>& calls, float* const* places, int64_t elements) {
#pragma GCC unroll 8
  for (const FusedCall& call : calls) {
    call.loop(places[call.x], places[call.y], places[call.out], elements);
  }
}

// One execution of a plan for a shape that is not empty.
class FusedExecution {
 public:
  FusedExecution(const FusedPlan& plan, void* scratch)
      : plan_(plan),
        layout_(plan),
        scratch_(static_cast<char*>(scratch)),
        bases_(static_cast<float**>(scratch)) {}

  ms::Status Run(ms::Frame& frame) {
    MS_TRY(FindBases(frame));
    RunCalls(plan_.once, bases_, 1);
    if (plan_.pieces == 1) {
      RunPiece(frame, 0);
    } else {
      frame.ParallelFor(static_cast<uint64_t>(plan_.pieces), plan_.piece_nanoseconds,
                        [&](uint64_t begin, uint64_t end) {
                          for (uint64_t piece = begin; piece < end; ++piece) {
                            RunPiece(frame, static_cast<int64_t>(piece));
                          }
                        });
    }
    return std::move(interruption_);
  }

 private:
  float* At(int64_t offset) const { return reinterpret_cast<float*>(scratch_ + offset); }

  ms::Status FindBases(ms::Frame& frame) {
    for (uint32_t i = 0; i < plan_.num_inputs; ++i) bases_[i] = frame.input(i).data<float>();
    const bool planned = frame.shape_state<FusedPlan>() != nullptr;
    for (uint32_t o = 0; o < plan_.num_outputs; ++o) {
      void* out = planned ? frame.planned_output(o) : nullptr;
      if (out == nullptr) {
        ms::View made;
        MS_TRY(frame.Output(o, plan_.shape, &made));
        out = made.raw();
      }
      bases_[plan_.num_inputs + o] = static_cast<float*>(out);
    }
    for (uint32_t s = 0; s < plan_.num_singles; ++s) {
      bases_[plan_.first_single() + s] = At(layout_.singles) + s;
    }
    for (size_t r = 0; r < plan_.short_rows.size(); ++r) {
      const FusedPlan::ShortRow& row = plan_.short_rows[r];
      float* const tile = At(layout_.rows + static_cast<int64_t>(r) * layout_.tile);
      const int64_t elements = std::min(plan_.tile, plan_.size);
      RepeatRow(bases_[row.input], row.length, elements, tile);
      bases_[row.input] = tile;
    }
    return ms::Status();
  }

  // Programs may be long and tensors large: the calling thread asks now and then whether the step
  // goes on, and the others see what it was told.
  bool IsStopped(ms::Frame& frame) {
    if (std::this_thread::get_id() == caller_) {
      interruption_ = frame.CheckCancelled();
      if (!interruption_.ok()) stopped_.store(true, std::memory_order_relaxed);
    }
    return stopped_.load(std::memory_order_relaxed);
  }

  void RunPiece(ms::Frame& frame, int64_t piece) {
    const int64_t offset = layout_.pieces + piece * layout_.piece;
    float** const places = reinterpret_cast<float**>(scratch_ + offset);
    std::copy_n(bases_, plan_.first_buffer(), places);
    for (uint32_t b = 0; b < plan_.num_buffers; ++b) {
      places[plan_.first_buffer() + b] = At(offset + layout_.places + b * layout_.buffer);
    }
    places[plan_.table()] = reinterpret_cast<float*>(places);
    // The first tiles of the pieces: without the product of two large numbers.
    const int64_t each = plan_.tiles / plan_.pieces;
    const int64_t longer = plan_.tiles % plan_.pieces;  // pieces that have one tile more
    const int64_t begin = piece * each + std::min(piece, longer);
    const int64_t end = begin + each + (piece < longer ? 1 : 0);
    const int64_t tile_nanoseconds =
        static_cast<int64_t>(plan_.piece_nanoseconds) / (each + (longer > 0 ? 1 : 0)) + 1;
    const int64_t between = std::max<int64_t>(1, kNanosecondsBetweenChecks / tile_nanoseconds);
    for (int64_t tile = begin; tile < end; ++tile) {
      if ((tile - begin) % between == between - 1 && IsStopped(frame)) return;
      RunTile(tile, places);
    }
  }

  void RunTile(int64_t tile, float** places) const {
    const int64_t in_period = tile % plan_.tiles_per_period * plan_.tile;
    const int64_t begin = tile / plan_.tiles_per_period * plan_.period + in_period;
    const int64_t elements = std::min(plan_.tile, plan_.period - in_period);
    for (const FusedPlan::Moving& moving : plan_.moving) {
      const int64_t at = moving.length == 0 ? begin : begin % moving.length;
      places[moving.place] = bases_[moving.place] + at;
    }
    for (const FusedPlan::Early& early : plan_.early) {
      if (OverLaterInput(early)) places[plan_.num_inputs + early.output] = places[early.buffer];
    }
    RunCalls(plan_.calls, places, elements);
    for (const FusedPlan::Early& early : plan_.early) {
      if (!OverLaterInput(early)) continue;
      std::memcpy(bases_[plan_.num_inputs + early.output] + begin, places[early.buffer],
                  static_cast<size_t>(elements) * sizeof(float));
    }
  }

  bool OverLaterInput(const FusedPlan::Early& early) const {
    const float* const output = bases_[plan_.num_inputs + early.output];
    return std::any_of(early.inputs.begin(), early.inputs.end(),
                       [&](uint32_t input) { return bases_[input] == output; });
  }

  const FusedPlan& plan_;
  const ScratchLayout layout_;
  char* const scratch_;
  float** const bases_;
  const std::thread::id caller_ = std::this_thread::get_id();
  std::atomic<bool> stopped_{false};
  ms::Status interruption_;  // the calling thread's
};

class FusedElementwise {
 public:
  ms::Status Init(const ms::KernelInfo& info) { return ReadFusedProgram(info, &program_); }

  ms::Status Specialize(ms::Specialization& specialization) const {
    std::vector<ms::Shape> inputs;
    for (uint32_t i = 0; i < specialization.num_inputs(); ++i) {
      inputs.push_back(specialization.input(i));
    }
    auto plan = std::make_unique<FusedPlan>();
    MS_TRY(
        PlanFused(program_, inputs, specialization.num_threads(), ChosenVectorSet(), plan.get()));
    if (plan->size > 0) {
      specialization.SetScratchBytes(static_cast<uint64_t>(ScratchLayout(*plan).bytes));
    }
    specialization.SetState(std::move(plan));
    return ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    const auto* plan = frame.shape_state<FusedPlan>();
    if (plan == nullptr) return PlanAndRun(frame);
    return Run(frame, *plan, frame.scratch());
  }

 private:
  ms::Status PlanAndRun(ms::Frame& frame) const {
    std::vector<ms::Shape> inputs;
    for (uint32_t i = 0; i < frame.num_inputs(); ++i) inputs.push_back(frame.input(i).shape());
    FusedPlan plan;
    // What runs once is not worth machine code.
    MS_TRY(PlanFused(program_, inputs, kUnplannedThreads, VectorSet::kNone, &plan));
    ms::View scratch;
    if (plan.size > 0) {
      MS_TRY(frame.Temp(static_cast<uint64_t>(ScratchLayout(plan).bytes), &scratch));
    }
    return Run(frame, plan, scratch.raw());
  }

  static ms::Status Run(ms::Frame& frame, const FusedPlan& plan, void* scratch) {
    if (plan.size > 0) return FusedExecution(plan, scratch).Run(frame);
    for (uint32_t o = 0; o < frame.num_outputs(); ++o) {
      ms::View empty;
      MS_TRY(frame.Output(o, plan.shape, &empty));
    }
    return ms::Status();
  }

  FusedProgram program_;
};

ms::KernelOptions Options() {
  ms::KernelOptions options = ms::KernelOptions().Type<float>("T");
  for (uint32_t output = 0; output < kInPlaceOutputs; ++output) {
    for (uint32_t input = 0; input < kInPlaceInputs; ++input) options.InPlace(output, input);
  }
  return options;
}

const ms::Registered fused = ms::Register<FusedElementwise>("_FusedElementwise", Options());

}  // namespace
}  // namespace millstream::kernels
