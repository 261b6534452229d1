#include "kernels/codegen/scalar_registers.h"

#include <algorithm>
#include <cstddef>
#include <functional>

namespace millstream::kernels {
namespace {

using Code = ScalarInstruction::Code;

// Registers that only places of one round get, so that these need not all be in memory.
constexpr int kForOneRound = 3;

// What is known of a place.
struct Use {
  int count = 0;
  size_t first = 0;  // the instructions that use it first and last
  size_t last = 0;
  bool is_written = false;
  bool is_needed_before = false;  // read in a round before it is written there
  bool is_needed_after = false;
  MS_DType dtype = MS_BOOL;

  bool lasts() const { return is_needed_before || is_needed_after; }
};

class Uses {
 public:
  Uses(const std::vector<ScalarInstruction>& instructions, uint32_t num_places,
       const std::vector<uint32_t>& kept)
      : uses_(num_places) {
    for (const ScalarInstruction& instruction : instructions) {
      Add(instruction);
      ++at_;
    }
    for (const uint32_t place : kept) uses_[place].is_needed_after = true;
  }

  const std::vector<Use>& all() const { return uses_; }

 private:
  void Add(const ScalarInstruction& instruction);
  void Read(uint32_t place, MS_DType dtype) {
    Use& use = uses_[place];
    if (!use.is_written) use.is_needed_before = true;
    Touch(use, dtype);
  }
  void Write(uint32_t place, MS_DType dtype) {
    uses_[place].is_written = true;
    Touch(uses_[place], dtype);
  }
  void Touch(Use& use, MS_DType dtype) {
    if (use.count++ == 0) use.first = at_;
    use.last = at_;
    use.dtype = dtype;
  }

  std::vector<Use> uses_;
  size_t at_ = 0;
};

void Uses::Add(const ScalarInstruction& instruction) {
  const MS_DType type = instruction.type;
  switch (instruction.code) {
    case Code::kOther: return;
    case Code::kTake:
      Read(instruction.x, MS_INT64);
      Write(instruction.x, MS_INT64);
      return Write(instruction.result, type);
    case Code::kPut:
      Read(instruction.x, type);
      Read(instruction.result, MS_INT64);
      return Write(instruction.result, MS_INT64);
    case Code::kChoose:
      Read(instruction.x, MS_BOOL);
      Read(instruction.y, type);
      Read(instruction.z, type);
      return Write(instruction.result, type);
    case Code::kConvert:
      Read(instruction.x, type);
      return Write(instruction.result, instruction.to);
    case Code::kEqual:
    case Code::kNotEqual:
    case Code::kLess:
    case Code::kLessEqual:
    case Code::kGreater:
    case Code::kGreaterEqual:
      Read(instruction.x, type);
      Read(instruction.y, type);
      return Write(instruction.result, MS_BOOL);
    default:  // what is not used is x
      Read(instruction.x, type);
      Read(instruction.y, type);
      return Write(instruction.result, type);
  }
}

// The registers of one kind.
class Registers {
 public:
  explicit Registers(int count) : until_(static_cast<size_t>(count), 0) {}

  int count() const { return static_cast<int>(until_.size()); }
  // One that is free from instruction `first` to `last`, or kInMemory. What was asked for before
  // does not begin later.
  int8_t Take(size_t first, size_t last) {
    for (size_t i = 0; i < until_.size(); ++i) {
      if (until_[i] > first) continue;
      until_[i] = std::max(last, first + 1);
      return static_cast<int8_t>(i);
    }
    return ScalarPlace::kInMemory;
  }

 private:
  std::vector<size_t> until_;  // each is free from this instruction on
};

}  // namespace

std::vector<ScalarPlace> AssignScalarRegisters(const std::vector<ScalarInstruction>& instructions,
                                               uint32_t num_places,
                                               const std::vector<uint32_t>& kept, int general,
                                               int vectors) {
  const Uses found(instructions, num_places, kept);
  const std::vector<Use>& uses = found.all();
  std::vector<uint32_t> lasting;
  std::vector<uint32_t> others;
  for (uint32_t place = 0; place < num_places; ++place) {
    if (uses[place].count > 0) (uses[place].lasts() ? lasting : others).push_back(place);
  }
  std::stable_sort(lasting.begin(), lasting.end(),
                   [&](uint32_t a, uint32_t b) { return uses[a].count > uses[b].count; });
  std::stable_sort(others.begin(), others.end(),
                   [&](uint32_t a, uint32_t b) { return uses[a].first < uses[b].first; });
  std::vector<ScalarPlace> places(num_places);
  Registers kinds[] = {Registers(general), Registers(vectors)};
  int left[] = {std::max(general - kForOneRound, 0), std::max(vectors - kForOneRound, 0)};
  const size_t end = instructions.size() + 1;
  for (const uint32_t place : lasting) {
    const Use& use = uses[place];
    const int kind = IsInVectorRegister(use.dtype) ? 1 : 0;
    places[place].dtype = use.dtype;
    if (left[kind]-- <= 0) continue;
    places[place].reg = kinds[kind].Take(0, end);
    places[place].is_loaded = use.is_needed_before;
    places[place].is_stored = use.is_written;
  }
  for (const uint32_t place : others) {
    const Use& use = uses[place];
    places[place].dtype = use.dtype;
    places[place].reg = kinds[IsInVectorRegister(use.dtype) ? 1 : 0].Take(use.first, use.last);
  }
  return places;
}

}  // namespace millstream::kernels
