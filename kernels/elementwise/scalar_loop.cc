// _ScalarLoop: a loop whose condition and body are elementwise ops on scalars, run as one program
// without a kernel call for each of them: as machine code where there is some for all of them, else
// by calls of functions.
#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "kernels/codegen/scalar_code.h"
#include "kernels/elementwise/scalar_program.h"

namespace millstream::kernels {
namespace {

// Between two questions whether the step goes on: less than a millisecond.
constexpr int64_t kStepsBetweenChecks = 1 << 15;

// What an iteration takes from rows of elements, and puts at the ends of others.
struct Elements {
  std::vector<uint32_t> taken;  // the values that they become
  std::vector<uint32_t> kept;   // the values that are put
};

// The steps of an iteration, arranged to run again and again. Variables are in the first places.
class IterationSteps {
 public:
  // `next`: the value of each variable in the next iteration; `condition`: whether there is one.
  // REQUIRES: these, and the steps from `first` on, read no step before `first`.
  IterationSteps(const ScalarProgram& program, size_t first, std::vector<uint32_t> next,
                 uint32_t condition, const Elements& elements);

  // Both rows of steps end with EndOfSteps.
  std::vector<ScalarStep> once;   // what is the same in all iterations
  std::vector<ScalarStep> again;  // leaves the next values in the variables' places
  uint32_t condition;             // the place of it after `again`
  uint32_t num_places;
  std::unique_ptr<ScalarCode> code;  // the same as `again`; null if there is none
  // The places of the addresses that kTake and kPut work on.
  std::vector<uint32_t> taken_at;
  std::vector<uint32_t> kept_at;

 private:
  void AddTaken(const ScalarProgram& program);
  void Divide(const ScalarProgram& program, size_t first);
  bool MayOverwrite(uint32_t variable) const;
  void ComputeInPlace();
  void AddKept(const ScalarProgram& program);
  void AddMoves(const ScalarProgram& program);

  // Of each variable; the place of the value is that of the variable where it is computed in place.
  std::vector<uint32_t> next_;
  Elements elements_;
  std::vector<uint32_t> kept_places_;  // of elements_.kept
};

IterationSteps::IterationSteps(const ScalarProgram& program, size_t first,
                               std::vector<uint32_t> next, uint32_t condition,
                               const Elements& elements)
    : condition(condition),
      num_places(static_cast<uint32_t>(program.dtypes.size())),
      next_(std::move(next)),
      elements_(elements),
      kept_places_(elements.kept) {
  Divide(program, first);
  ComputeInPlace();
  AddTaken(program);
  AddKept(program);
  AddMoves(program);
  std::vector<uint32_t> variables(next_.size());
  std::iota(variables.begin(), variables.end(), 0);
  code = ScalarCode::Make({again.begin(), again.end()}, num_places, this->condition, variables);
  ScalarStep end;
  end.run = &EndOfSteps;
  once.push_back(end);
  again.push_back(end);
}

void IterationSteps::Divide(const ScalarProgram& program, size_t first) {
  const size_t num_inputs = program.dtypes.size() - program.steps.size();
  std::vector<bool> varies(program.dtypes.size(), false);
  std::fill_n(varies.begin(), next_.size(), true);
  for (const uint32_t value : elements_.taken) varies[value] = true;
  for (size_t i = first; i < program.steps.size(); ++i) {
    const ScalarStep& step = program.steps[i];
    varies[num_inputs + i] = varies[step.x] || varies[step.y] || varies[step.z];
    (varies[num_inputs + i] ? again : once).push_back(step);
  }
}

// True if nothing needs the value of the variable in this iteration once the next one is computed.
bool IterationSteps::MayOverwrite(uint32_t variable) const {
  const uint32_t next = next_[variable];
  const bool is_needed = condition == variable ||
                         std::count(next_.begin(), next_.end(), variable) > 0 ||
                         std::count(elements_.kept.begin(), elements_.kept.end(), variable) > 0;
  if (is_needed || std::count(next_.begin(), next_.end(), next) > 1) return false;
  const auto step = std::find_if(again.begin(), again.end(), [&](const ScalarStep& candidate) {
    return candidate.result == next;
  });
  if (step == again.end()) return false;
  return std::none_of(step + 1, again.end(), [&](const ScalarStep& later) {
    return later.x == variable || later.y == variable || later.z == variable;
  });
}

void IterationSteps::ComputeInPlace() {
  std::vector<uint32_t> places(num_places);
  for (uint32_t value = 0; value < num_places; ++value) places[value] = value;
  for (uint32_t variable = 0; variable < next_.size(); ++variable) {
    if (MayOverwrite(variable)) places[next_[variable]] = variable;
  }
  for (ScalarStep& step : again) {
    for (uint32_t* value : {&step.x, &step.y, &step.z, &step.result}) *value = places[*value];
  }
  for (uint32_t& value : next_) value = places[value];
  for (uint32_t& value : kept_places_) value = places[value];
  // It is a value of this iteration, which a move would overwrite.
  if (condition < next_.size()) {
    again.push_back(MoveOf(MS_BOOL, condition, num_places));
    condition = num_places++;
  } else {
    condition = places[condition];
  }
}

// Before all other steps.
void IterationSteps::AddTaken(const ScalarProgram& program) {
  std::vector<ScalarStep> taking;
  for (const uint32_t value : elements_.taken) {
    taking.push_back(TakeOf(program.dtypes[value], num_places, value));
    taken_at.push_back(num_places++);
  }
  again.insert(again.begin(), taking.begin(), taking.end());
}

// Before variables change that are not computed in place.
void IterationSteps::AddKept(const ScalarProgram& program) {
  for (size_t k = 0; k < kept_places_.size(); ++k) {
    again.push_back(PutOf(program.dtypes[elements_.kept[k]], kept_places_[k], num_places));
    kept_at.push_back(num_places++);
  }
}

// What was not computed in place. The value of another variable is read before that one changes.
void IterationSteps::AddMoves(const ScalarProgram& program) {
  std::vector<ScalarStep> moves;
  for (uint32_t variable = 0; variable < next_.size(); ++variable) {
    const MS_DType dtype = program.dtypes[variable];
    uint32_t from = next_[variable];
    if (from == variable) continue;
    if (from < next_.size()) {
      again.push_back(MoveOf(dtype, from, num_places));
      from = num_places++;
    }
    moves.push_back(MoveOf(dtype, from, variable));
  }
  again.insert(again.end(), moves.begin(), moves.end());
}

// Rows of elements of one run.
class ElementRows {
 public:
  // Of values of these types.
  explicit ElementRows(const std::vector<uint32_t>& sizes) : sizes_(sizes), rows_(sizes.size()) {}

  // Makes place for elements up to `count`, and writes where the next one goes to the places.
  ms::Status Reserve(ms::Frame& frame, int64_t count, const std::vector<uint32_t>& places,
                     Scalar* values) {
    if (count <= capacity_ || rows_.empty()) return ms::Status();
    const int64_t capacity = std::max(count, 2 * capacity_);
    for (size_t k = 0; k < rows_.size(); ++k) {
      ms::View view;
      MS_TRY(frame.Temp(static_cast<uint64_t>(capacity) * sizes_[k], &view));
      char* const row = static_cast<char*>(view.raw());
      char* end = row;
      if (rows_[k] != nullptr) {
        char* old_end = nullptr;
        std::memcpy(&old_end, values[places[k]].bytes, sizeof(old_end));
        std::memcpy(row, rows_[k], static_cast<size_t>(old_end - rows_[k]));
        end += old_end - rows_[k];
      }
      rows_[k] = row;
      std::memcpy(values[places[k]].bytes, &end, sizeof(end));
    }
    capacity_ = capacity;
    return ms::Status();
  }

  // Null before the first call of Reserve.
  const char* row(size_t k) const { return rows_[k]; }

 private:
  const std::vector<uint32_t>& sizes_;
  std::vector<char*> rows_;
  int64_t capacity_ = 0;
};

class ScalarLoop {
 public:
  ms::Status Init(const ms::KernelInfo& info);
  ms::Status Specialize(ms::Specialization& specialization) const {
    specialization.SetScratchBytes(Bytes());
    return ms::Status();
  }
  ms::Status Compute(ms::Frame& frame) const;

 private:
  uint64_t Bytes() const { return iteration_->num_places * sizeof(Scalar); }
  ms::Status ReadNext(const ms::KernelInfo& info, std::vector<uint32_t>* next) const;
  ms::Status ReadExits(const ms::KernelInfo& info);
  ms::Status ReadElements(const ms::KernelInfo& info);
  ms::Status CheckFirst() const;
  ms::Status CheckIteration(const std::vector<uint32_t>& next, uint32_t condition) const;
  ms::Status PointToStacks(const ms::Frame& frame, Scalar* values, int64_t* left) const;
  ms::Status Iterate(ms::Frame& frame, ElementRows* rows, int64_t* iterations,
                     Scalar* values) const;

  ScalarProgram program_;
  size_t num_first_ = 0;           // steps of the condition for the initial values
  std::vector<ScalarStep> first_;  // these, and EndOfSteps
  uint32_t has_first_ = 0;         // what they give
  std::unique_ptr<IterationSteps> iteration_;
  std::vector<uint32_t> exits_;  // the variable of each of the first outputs
  Elements elements_;            // of inputs, and of outputs behind these
  std::vector<uint32_t> kept_sizes_;
};

ms::Status ScalarLoop::ReadNext(const ms::KernelInfo& info, std::vector<uint32_t>* next) const {
  std::vector<int64_t> numbers;
  MS_TRY(info.Attr("next", &numbers));
  if (numbers.size() > info.num_inputs()) {
    return ms::InvalidArgument("attribute 'next' of _ScalarLoop: expected at most one number for ",
                               "each of the ", info.num_inputs(), " inputs, got ", numbers.size());
  }
  next->resize(numbers.size());
  for (size_t i = 0; i < numbers.size(); ++i) {
    MS_TRY(ReadScalarValue("next", i, numbers[i], program_, program_.dtypes.size(),
                           program_.dtypes[i], &(*next)[i]));
  }
  return ms::Status();
}

ms::Status ScalarLoop::ReadExits(const ms::KernelInfo& info) {
  std::vector<int64_t> exits;
  MS_TRY(info.Attr("exits", &exits));
  if (exits.size() + elements_.kept.size() != info.num_outputs()) {
    return ms::InvalidArgument("attribute 'exits' of _ScalarLoop: expected one number for each of ",
                               "the ", info.num_outputs(), " outputs but ", elements_.kept.size(),
                               " kept ones, got ", exits.size());
  }
  exits_.resize(exits.size());
  for (size_t i = 0; i < exits.size(); ++i) {
    MS_TRY(ReadScalarValue("exits", i, exits[i], program_,
                           info.num_inputs() - elements_.taken.size(),
                           info.output_dtype(static_cast<uint32_t>(i)), &exits_[i]));
  }
  return ms::Status();
}

ms::Status ScalarLoop::ReadElements(const ms::KernelInfo& info) {
  int64_t num_stacks = 0;
  MS_TRY(info.Attr("num_stacks", &num_stacks));
  if (num_stacks < 0 || num_stacks > info.num_inputs()) {
    return ms::InvalidArgument("attribute 'num_stacks' of _ScalarLoop: expected 0 to ",
                               info.num_inputs(), ", got ", num_stacks);
  }
  for (int64_t i = info.num_inputs() - num_stacks; i < info.num_inputs(); ++i) {
    elements_.taken.push_back(static_cast<uint32_t>(i));
  }
  std::vector<int64_t> kept;
  MS_TRY(info.Attr("kept", &kept));
  if (kept.size() > info.num_outputs()) {
    return ms::InvalidArgument("attribute 'kept' of _ScalarLoop: expected at most one number for ",
                               "each of the ", info.num_outputs(), " outputs, got ", kept.size());
  }
  const size_t first = info.num_outputs() - kept.size();
  elements_.kept.resize(kept.size());
  for (size_t k = 0; k < kept.size(); ++k) {
    const MS_DType dtype = info.output_dtype(static_cast<uint32_t>(first + k));
    MS_TRY(ReadScalarValue("kept", k, kept[k], program_, program_.dtypes.size(), dtype,
                           &elements_.kept[k]));
    kept_sizes_.push_back(static_cast<uint32_t>(ms::ElementSize(dtype)));
  }
  return ms::Status();
}

// Before the first iteration there is no element of a stack.
ms::Status ScalarLoop::CheckFirst() const {
  const auto is_element = [&](uint32_t value) {
    return std::count(elements_.taken.begin(), elements_.taken.end(), value) > 0;
  };
  bool reads_element = is_element(has_first_);
  for (size_t i = 0; i < num_first_; ++i) {
    const ScalarStep& step = program_.steps[i];
    reads_element |= is_element(step.x) || is_element(step.y) || is_element(step.z);
  }
  if (!reads_element) return ms::Status();
  return ms::InvalidArgument("attribute 'num_first' of _ScalarLoop: is ",
                             static_cast<int64_t>(num_first_),
                             ", but the first condition reads an element of a stack");
}

// The steps of an iteration, and what it gives, read no step of the first condition.
ms::Status ScalarLoop::CheckIteration(const std::vector<uint32_t>& next, uint32_t condition) const {
  const size_t num_inputs = program_.dtypes.size() - program_.steps.size();
  const auto is_of_first = [&](uint32_t value) {
    return value >= num_inputs && value < num_inputs + num_first_;
  };
  bool reads_first = is_of_first(condition) || std::any_of(next.begin(), next.end(), is_of_first) ||
                     std::any_of(elements_.kept.begin(), elements_.kept.end(), is_of_first);
  for (size_t i = num_first_; i < program_.steps.size(); ++i) {
    const ScalarStep& step = program_.steps[i];
    reads_first |= is_of_first(step.x) || is_of_first(step.y) || is_of_first(step.z);
  }
  if (!reads_first) return ms::Status();
  return ms::InvalidArgument("attribute 'num_first' of _ScalarLoop: is ",
                             static_cast<int64_t>(num_first_),
                             ", but the steps of an iteration read one of the first so many steps");
}

ms::Status ScalarLoop::Init(const ms::KernelInfo& info) {
  MS_TRY(ReadScalarProgram(info, &program_));
  std::vector<uint32_t> next;
  MS_TRY(ReadNext(info, &next));
  MS_TRY(ReadElements(info));
  if (next.size() + elements_.taken.size() > info.num_inputs()) {
    return ms::InvalidArgument("attribute 'num_stacks' of _ScalarLoop: of the ", info.num_inputs(),
                               " inputs, ", next.size(), " are variables, so ",
                               elements_.taken.size(), " cannot be stacks");
  }
  MS_TRY(ReadExits(info));
  int64_t num_first = 0;
  MS_TRY(info.Attr("num_first", &num_first));
  const auto num_steps = static_cast<int64_t>(program_.steps.size());
  if (num_first < 0 || num_first > num_steps) {
    return ms::InvalidArgument("attribute 'num_first' of _ScalarLoop: expected 0 to ", num_steps,
                               ", the number of steps, got ", num_first);
  }
  num_first_ = static_cast<size_t>(num_first);
  std::vector<int64_t> conditions;
  MS_TRY(info.Attr("conditions", &conditions));
  if (conditions.size() != 2) {
    return ms::InvalidArgument("attribute 'conditions' of _ScalarLoop: expected two numbers, got ",
                               static_cast<int64_t>(conditions.size()));
  }
  uint32_t goes_on = 0;
  MS_TRY(ReadScalarValue("conditions", 0, conditions[0], program_, info.num_inputs() + num_first_,
                         MS_BOOL, &has_first_));
  MS_TRY(ReadScalarValue("conditions", 1, conditions[1], program_, program_.dtypes.size(), MS_BOOL,
                         &goes_on));
  MS_TRY(CheckFirst());
  MS_TRY(CheckIteration(next, goes_on));
  first_.assign(program_.steps.begin(), program_.steps.begin() + num_first);
  first_.emplace_back();
  first_.back().run = &EndOfSteps;
  iteration_ =
      std::make_unique<IterationSteps>(program_, num_first_, std::move(next), goes_on, elements_);
  return ms::Status();
}

// Behind their last elements. `left`: of the shortest one.
ms::Status ScalarLoop::PointToStacks(const ms::Frame& frame, Scalar* values, int64_t* left) const {
  *left = std::numeric_limits<int64_t>::max();
  for (size_t k = 0; k < elements_.taken.size(); ++k) {
    const ms::View stack = frame.input(elements_.taken[k]);
    const char* const end = static_cast<const char*>(stack.raw()) + stack.bytes();
    std::memcpy(values[iteration_->taken_at[k]].bytes, &end, sizeof(end));
    *left = std::min(*left, stack.size());
  }
  return ms::Status();
}

ms::Status ScalarLoop::Iterate(ms::Frame& frame, ElementRows* rows, int64_t* iterations,
                               Scalar* values) const {
  const ScalarStep* const steps = iteration_->again.data();
  const ScalarCode* const code = iteration_->code.get();
  const unsigned char* const goes_on = values[iteration_->condition].bytes;
  const int64_t between =
      std::max<int64_t>(1, kStepsBetweenChecks / static_cast<int64_t>(iteration_->again.size()));
  int64_t elements = 0;
  MS_TRY(PointToStacks(frame, values, &elements));
  iteration_->once[0].run(iteration_->once.data(), values);
  do {
    const int64_t most = std::min(between, elements);
    if (most == 0) {
      return ms::InvalidArgument("_ScalarLoop: iteration ", *iterations,
                                 " takes an element from an empty list");
    }
    MS_TRY(rows->Reserve(frame, *iterations + most, iteration_->kept_at, values));
    int64_t left = most;
    if (code != nullptr) {
      left = code->function()(values, most);
    } else {
      do {
        steps->run(steps, values);
      } while (--left > 0 && *goes_on != 0);
    }
    *iterations += most - left;
    elements -= most - left;
    MS_TRY(frame.CheckCancelled());
  } while (*goes_on != 0);
  return ms::Status();
}

ms::Status ScalarLoop::Compute(ms::Frame& frame) const {
  void* memory = frame.scratch();
  if (memory == nullptr) {
    ms::View scratch;
    MS_TRY(frame.Temp(Bytes(), &scratch));
    memory = scratch.raw();
  }
  auto* const values = static_cast<Scalar*>(memory);
  const uint32_t num_scalars = frame.num_inputs() - static_cast<uint32_t>(elements_.taken.size());
  for (uint32_t i = 0; i < frame.num_inputs(); ++i) {
    const ms::View input = frame.input(i);
    const uint32_t rank = i < num_scalars ? 0 : 1;
    if (input.rank() != rank) {
      return ms::InvalidArgument("_ScalarLoop: input ", i, " must be a ",
                                 rank == 0 ? "scalar" : "vector", ", its shape is ",
                                 input.shape().ToString());
    }
    if (rank == 0) {
      std::memcpy(values[i].bytes, input.raw(), ms::ElementSize(program_.dtypes[i]));
    }
  }
  first_[0].run(first_.data(), values);
  ElementRows rows(kept_sizes_);
  int64_t iterations = 0;
  if (values[has_first_].bytes[0] != 0) MS_TRY(Iterate(frame, &rows, &iterations, values));
  const auto num_exits = static_cast<uint32_t>(exits_.size());
  for (uint32_t o = 0; o < frame.num_outputs(); ++o) {
    ms::Shape shape;
    if (o >= num_exits) shape.Append(iterations);
    ms::View out;
    MS_TRY(frame.Output(o, shape, &out));
    if (o < num_exits) {
      std::memcpy(out.raw(), values[exits_[o]].bytes, ms::ElementSize(program_.dtypes[exits_[o]]));
    } else if (iterations > 0) {
      std::memcpy(out.raw(), rows.row(o - num_exits), out.bytes());
    }
  }
  return ms::Status();
}

const ms::Registered scalar_loop = ms::Register<ScalarLoop>("_ScalarLoop", ms::KernelOptions());

}  // namespace
}  // namespace millstream::kernels
