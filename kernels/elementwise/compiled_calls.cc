#include "kernels/elementwise/compiled_calls.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "kernels/codegen/vector_program.h"
#include "kernels/codegen/vector_registers.h"

namespace millstream::kernels {
namespace {

// Calls that become one, [begin, end).
struct Run {
  size_t begin;
  size_t end;
};

// Of more calls than this, another run begins: making a program is quadratic in its length where
// registers do not suffice.
constexpr size_t kMostCalls = 256;

class CallCompiler {
 public:
  CallCompiler(const CallsToCompile& calls, VectorSet set, const FusedPlan& plan)
      : calls_(calls),
        registers_(AvailableRegisters(set)),
        plan_(plan),
        read_until_(plan.calls.size()) {
    FindLastReaders();
  }

  // Fills *runs and their programs.
  void Compile(std::vector<Run>* runs, std::vector<VectorProgram>* programs) const;

 private:
  void FindLastReaders();
  bool StandsStill(uint32_t place) const;
  size_t LastThatFits(size_t begin, size_t end) const;
  VectorProgram Translate(size_t begin, size_t end, std::vector<size_t>* instructions) const;

  const CallsToCompile& calls_;
  const int registers_;
  const FusedPlan& plan_;
  std::vector<size_t> read_until_;  // of each call: the last call that reads what it writes, or it
};

void CallCompiler::FindLastReaders() {
  std::map<uint32_t, size_t> writers;  // of each place, the call that wrote it last
  for (size_t c = 0; c < plan_.calls.size(); ++c) {
    const FusedCall& call = plan_.calls[c];
    for (const uint32_t operand : {call.x, call.y}) {
      const auto writer = writers.find(operand);
      if (writer != writers.end()) read_until_[writer->second] = c;
    }
    writers[call.out] = c;
    read_until_[c] = c;
  }
}

bool CallCompiler::StandsStill(uint32_t place) const {
  if (place < plan_.num_inputs) return !calls_.runs[place];
  return place >= plan_.first_single() && place < plan_.first_buffer();
}

// The calls as a program, which stores what calls after them read, and outputs. *instructions: how
// many there are after each call.
VectorProgram CallCompiler::Translate(size_t begin, size_t end,
                                      std::vector<size_t>* instructions) const {
  VectorProgram program;
  std::map<uint32_t, VectorProgram::Value> values;  // that places hold
  std::vector<uint32_t> outputs;
  const auto read = [&](uint32_t place) {
    if (StandsStill(place)) return program.Broadcast(place);
    const auto [entry, is_new] = values.try_emplace(place);
    if (is_new) entry->second = program.Load(place);
    return entry->second;
  };
  for (size_t c = begin; c < end; ++c) {
    const FusedCall& call = plan_.calls[c];
    const VectorProgram::Value x = read(call.x);
    const VectorProgram::Value y = read(call.y);
    const VectorProgram::Value value = calls_.recipes[c](program, x, y);
    values[call.out] = value;
    if (call.out < plan_.first_single()) {
      outputs.push_back(call.out);
    } else if (read_until_[c] >= end) {
      program.Store(call.out, value);
    }
    instructions->push_back(program.instructions().size());
  }
  // At the end, because an output may lie over an input that a later call reads.
  for (const uint32_t output : outputs) program.Store(output, values[output]);
  return program;
}

// The end of the longest run from `begin` on for which there are registers.
size_t CallCompiler::LastThatFits(size_t begin, size_t end) const {
  std::vector<size_t> instructions;
  const VectorProgram program = Translate(begin, end, &instructions);
  const size_t assigned = AssignRegisters(program, registers_).instructions;
  const auto first_over = std::upper_bound(instructions.begin(), instructions.end(), assigned);
  return begin + static_cast<size_t>(first_over - instructions.begin());
}

void CallCompiler::Compile(std::vector<Run>* runs, std::vector<VectorProgram>* programs) const {
  const std::vector<StepRecipe>& recipes = calls_.recipes;
  for (size_t begin = 0; begin < recipes.size();) {
    if (recipes[begin] == nullptr) {
      ++begin;
      continue;
    }
    size_t end = begin;
    while (end < recipes.size() && recipes[end] != nullptr && end - begin < kMostCalls) ++end;
    end = LastThatFits(begin, end);
    // One call's own loop is as good.
    if (end - begin > 1) {
      std::vector<size_t> instructions;
      runs->push_back({begin, end});
      programs->push_back(Translate(begin, end, &instructions));
    }
    begin = std::max(end, begin + 1);
  }
}

}  // namespace

std::vector<bool> CompileCalls(const CallsToCompile& calls, VectorSet set, FusedPlan* plan) {
  std::vector<bool> compiled(plan->calls.size(), false);
  std::vector<Run> runs;
  std::vector<VectorProgram> programs;
  CallCompiler(calls, set, *plan).Compile(&runs, &programs);
  if (runs.empty()) return compiled;
  plan->code = VectorCode::Make(programs, set);
  if (plan->code == nullptr) return compiled;
  std::vector<FusedCall> kept;
  size_t next = 0;
  for (size_t r = 0; r < runs.size(); ++r) {
    const auto first = plan->calls.begin();
    kept.insert(kept.end(), first + static_cast<ptrdiff_t>(next),
                first + static_cast<ptrdiff_t>(runs[r].begin));
    kept.push_back({plan->code->function(r), plan->table(), plan->table(), plan->table()});
    next = runs[r].end;
    std::fill(compiled.begin() + static_cast<ptrdiff_t>(runs[r].begin),
              compiled.begin() + static_cast<ptrdiff_t>(next), true);
  }
  kept.insert(kept.end(), plan->calls.begin() + static_cast<ptrdiff_t>(next), plan->calls.end());
  plan->calls = std::move(kept);
  return compiled;
}

}  // namespace millstream::kernels
