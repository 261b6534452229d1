// The kernels of an optimizer's dense step: on one variable, and on many by one call, which the
// runtime makes of several (core/passes/batch_updates.cc). An optimizer says what is its own:
//
//   template <typename T>
//   class Momentum {
//    public:
//     // The names of the inputs: the variable and its slots, then the rest.
//     static constexpr std::array<std::string_view, 2> kVariables = {"var", "accum"};
//     static constexpr std::array<std::string_view, 3> kRest = {"lr", "grad", "momentum"};
//     static constexpr size_t kGradient = 1;  // in kRest; all else there are scalars
//     static constexpr uint64_t kStreams = 5;  // arrays that are read or written, each time
//     counted struct Rates { ... };
//
//     ms::Status Init(const ms::KernelInfo& info);
//     size_t num_written() const;  // of the variables; the others are only read
//     Rates RatesOf(const std::array<ComputeTypeOf<T>, 3>& rest) const;
//     // On `count` elements; the arrays do not overlap.
//     void Run(const Rates& rates, const std::array<T*, 2>& variables, const T* gradient,
//              int64_t count) const;
//   };
//   const ms::Registered registered =
//       RegisterApply<Momentum>("ResourceApplyMomentum", "_MultiResourceApplyMomentum");
#ifndef MILLSTREAM_KERNELS_TRAINING_APPLY_STEPS_H_
#define MILLSTREAM_KERNELS_TRAINING_APPLY_STEPS_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/simd/instruction_set.h"
#include "kernels/training/variables.h"

namespace millstream::kernels {

// The inputs are those of the op on one variable, in its order; the op on many has in the place of
// each variable, slot and gradient as many as there are variables.
template <template <typename> class Optimizer, typename T>
class ApplySteps {
  using Step = Optimizer<T>;
  using Rates = typename Step::Rates;
  static constexpr size_t kVariables = Step::kVariables.size();
  static constexpr size_t kRest = Step::kRest.size();

 public:
  ms::Status Init(const ms::KernelInfo& info) {
    count_ = (info.num_inputs() - (kRest - 1)) / (kVariables + 1);
    MS_TRY(step_.Init(info));
    if (info.HasAttr("_nodes")) MS_TRY(info.Attr("_nodes", &nodes_));
    for (uint32_t i = 0; i < kVariables * count_; ++i) {
      inputs_.push_back(i);
      modes_.push_back(IsWritten(i / count_) ? MS_LOCK_WRITE : MS_LOCK_READ);
    }
    return ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    std::array<ComputeTypeOf<T>, kRest> rest{};
    MS_TRY(ReadScalars(frame, &rest));
    ms::VariableLocks locks;
    MS_TRY(frame.LockVariables(inputs_.data(), modes_.data(), static_cast<uint32_t>(inputs_.size()),
                               &locks));
    Member one;
    std::vector<Member> many(count_ == 1 ? 0 : count_);
    Member* const members = count_ == 1 ? &one : many.data();
    int64_t blocks = 0;
    for (uint32_t k = 0; k < count_; ++k) {
      MS_TRY(InMember(k, FindMember(frame, locks, k, &members[k])));
      members[k].first_block = blocks;
      blocks += BlocksOf(members[k].size);
    }
    Update(frame, step_.RatesOf(rest), members);
    return ms::Status();
  }

 private:
  static constexpr int64_t kBlock = 1024;  // elements; no piece of work is smaller
  // What takes less is done sooner than other threads have begun.
  static constexpr uint64_t kLeastParallelNanoseconds = 20000;

  // One variable, its slots and its gradient.
  struct Member {
    std::array<T*, kVariables> variables{};
    const T* gradient = nullptr;
    int64_t size = 0;
    int64_t first_block = 0;  // the members' blocks are numbered through
  };

  static int64_t BlocksOf(int64_t size) { return (size + kBlock - 1) / kBlock; }

  bool IsWritten(size_t variable) const { return variable < step_.num_written(); }

  // Where in the frame's inputs the i-th of Step::kRest stands, or the first gradient.
  uint32_t PlaceOf(size_t i) const {
    const size_t more = i > Step::kGradient ? count_ - 1 : 0;
    return static_cast<uint32_t>(kVariables * count_ + i + more);
  }

  ms::Status ReadScalars(const ms::Frame& frame,
                         std::array<ComputeTypeOf<T>, kRest>* values) const {
    for (size_t i = 0; i < kRest; ++i) {
      if (i == Step::kGradient) continue;
      MS_TRY(ReadScalar<T>(frame.input(PlaceOf(i)), Step::kRest[i], &(*values)[i]));
    }
    return ms::Status();
  }

  ms::Status FindMember(const ms::Frame& frame, const ms::VariableLocks& locks, uint32_t k,
                        Member* member) const {
    ms::View variable;
    MS_TRY(locks.Write(k, &variable));
    member->variables[0] = variable.data<T>();
    for (uint32_t j = 1; j < kVariables; ++j) {
      ms::View slot;
      MS_TRY(IsWritten(j) ? locks.Write(j * count_ + k, &slot) : locks.Read(j * count_ + k, &slot));
      MS_TRY(CheckSameShape(Step::kVariables[0], variable, Step::kVariables[j], slot));
      member->variables[j] = slot.data<T>();
    }
    const ms::View gradient = frame.input(PlaceOf(Step::kGradient) + k);
    MS_TRY(CheckSameShape(Step::kVariables[0], variable, Step::kRest[Step::kGradient], gradient));
    member->gradient = gradient.data<T>();
    member->size = variable.size();
    return ms::Status();
  }

  // What is wrong with the k-th member, by the node that was to change it alone.
  ms::Status InMember(uint32_t k, ms::Status status) const {
    if (status.ok() || count_ == 1) return status;
    const std::string name =
        k < nodes_.size() ? ms::StrCat("'", nodes_[k], "'") : ms::StrCat("variable ", k);
    return ms::Status(status.code(), ms::StrCat(name, ": ", status.message()));
  }

  static void RunStep(const Step& step, const Rates& rates,
                      const std::array<T*, kVariables>& variables, const T* gradient,
                      int64_t count) {
    step.Run(rates, variables, gradient, count);
  }

  // The part of the blocks [begin, end), which begin in the member, that is its own; returns where
  // the next one's begin.
  int64_t RunBlocks(const Rates& rates, const Member& member, int64_t begin, int64_t end) const {
    const int64_t from = (begin - member.first_block) * kBlock;
    const int64_t to = std::min(member.size, (end - member.first_block) * kBlock);
    std::array<T*, kVariables> variables = member.variables;
    for (T*& variable : variables) variable += from;
    RunLoop<&ApplySteps::RunStep>(step_, rates, variables, member.gradient + from, to - from);
    return std::min(end, member.first_block + BlocksOf(member.size));
  }

  // Every element is a case of its own, so that it makes no difference who takes which.
  void Update(ms::Frame& frame, const Rates& rates, const Member* members) const {
    const Member* const end_of_members = members + count_;
    const Member& last = end_of_members[-1];
    const int64_t blocks = last.first_block + BlocksOf(last.size);
    const auto run = [&](int64_t begin, int64_t end) {
      const auto is_before = [](int64_t block, const Member& m) { return block < m.first_block; };
      const Member* member = std::upper_bound(members, end_of_members, begin, is_before) - 1;
      for (; begin < end; ++member) begin = RunBlocks(rates, *member, begin, end);
    };
    int64_t elements = 0;
    for (const Member* member = members; member != end_of_members; ++member) {
      elements += member->size;
    }
    const uint64_t cost_ns = static_cast<uint64_t>(elements) * sizeof(T) * Step::kStreams / 12;
    if (cost_ns < kLeastParallelNanoseconds) {
      run(0, blocks);
    } else {
      frame.ParallelFor(static_cast<uint64_t>(blocks), cost_ns / static_cast<uint64_t>(blocks),
                        [&](uint64_t begin, uint64_t end) {
                          run(static_cast<int64_t>(begin), static_cast<int64_t>(end));
                        });
    }
  }

  uint32_t count_ = 1;  // variables
  std::vector<uint32_t> inputs_;
  std::vector<uint32_t> modes_;
  std::vector<std::string> nodes_;  // names, of each variable's update, if known
  Step step_;
};

// RegisterStep takes templates of a type.
template <template <typename> class Optimizer>
struct ApplyStepsOf {
  template <typename T>
  using Kernel = ApplySteps<Optimizer, T>;
};

// Registers both kernels, by the names of their ops.
template <template <typename> class Optimizer>
ms::Registered RegisterApply(const char* op, const char* op_on_many) {
  RegisterStep<ApplyStepsOf<Optimizer>::template Kernel>(op);
  return RegisterStep<ApplyStepsOf<Optimizer>::template Kernel>(op_on_many);
}

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_TRAINING_APPLY_STEPS_H_
