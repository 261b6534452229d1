// How a fused program runs over tensors of known shapes.
//
// All inputs broadcast to one shape, whose elements are cut into tiles that stay in the innermost
// cache. Every step runs its op's own loop over a tile before the next step does; a run of short
// steps may be one loop of machine code instead (compiled_calls.h). A tile of a value lies at a
// place: places are numbered, and only what they point to changes from tile to tile.
//
//   inputs     whole ones are read where they are; of one element: always the same address; rows
//              (the last dimensions of the shape, repeated) longer than a tile: the part that is
//              due; shorter ones: copied, over and over, into memory as long as a tile, once an
//              execution
//   outputs    written where they are
//   singles    what a step makes of single elements: computed once an execution
//   buffers    all other values; a value's buffer is free again after its last reader
//   table      the table of the places' addresses itself, for calls that use more than three places
#ifndef MILLSTREAM_KERNELS_ELEMENTWISE_FUSED_PLAN_H_
#define MILLSTREAM_KERNELS_ELEMENTWISE_FUSED_PLAN_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/codegen/vector_code.h"
#include "kernels/elementwise/fused_program.h"

namespace millstream::kernels {

// The registration's in-place pairs: each of the first outputs with each of the first inputs.
inline constexpr uint32_t kInPlaceOutputs = 4;
inline constexpr uint32_t kInPlaceInputs = 8;

// One call of a loop.
struct FusedCall {
  FloatLoop loop;
  uint32_t x;  // places
  uint32_t y;  // as x for an op of one operand
  uint32_t out;
};

struct FusedPlan : ms::ShapeState {
  // A place whose address follows the tile: at element `begin` of the shape it is as many elements
  // on; in a row of `length` elements, begin % length. A length of 0 stands for a whole tensor.
  struct Moving {
    uint32_t place;
    int64_t length;
  };
  // An input that is copied into a tile's length.
  struct ShortRow {
    uint32_t input;
    int64_t length;
  };
  // An output that is written before some inputs are read for the last time. When it lies over one
  // of these its tile goes into a buffer first.
  struct Early {
    uint32_t output;
    uint32_t buffer;
    std::vector<uint32_t> inputs;
  };

  ms::Shape shape;
  int64_t size = 0;  // elements of the shape; with none, nothing below is set
  // Tiles are `tile` elements, the last one of each `period` perhaps fewer.
  int64_t tile = 0;
  int64_t period = 0;
  int64_t tiles_per_period = 0;
  int64_t tiles = 0;
  // Pieces of the tiles that may run at once, each with buffers of its own.
  int64_t pieces = 1;
  uint64_t piece_nanoseconds = 0;

  std::vector<FusedCall> once;  // on single elements
  std::vector<FusedCall> calls;
  std::unique_ptr<const VectorCode> code;  // what some of the calls call; null when none does
  std::vector<Moving> moving;
  std::vector<ShortRow> short_rows;
  std::vector<Early> early;
  // Places, in this order.
  uint32_t num_inputs = 0;
  uint32_t num_outputs = 0;
  uint32_t num_singles = 0;
  uint32_t num_buffers = 0;

  uint32_t first_single() const { return num_inputs + num_outputs; }
  uint32_t first_buffer() const { return first_single() + num_singles; }
  uint32_t table() const { return first_buffer() + num_buffers; }
  uint32_t num_places() const { return table() + 1; }
};

// Fills *plan for executions on at most `threads` threads; INVALID_ARGUMENT when the inputs' shapes
// do not go together or an input repeats in another way than the above. Machine code is made for
// `set`, where the program allows it and it pays. `repeats`: how often an execution runs the calls
// on each tile.
ms::Status PlanFused(const FusedProgram& program, const std::vector<ms::Shape>& inputs,
                     uint32_t threads, VectorSet set, FusedPlan* plan, int64_t repeats = 1);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_ELEMENTWISE_FUSED_PLAN_H_
