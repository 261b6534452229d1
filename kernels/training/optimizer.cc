#include "kernels/training/optimizer.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/array/accumulate_rows.h"
#include "kernels/array/indices.h"
#include "kernels/training/variables.h"

namespace millstream::kernels {
namespace {

// The step of one node: an optimizer with the node's attribute, on its type.
class Step {
 public:
  explicit Step(const Optimizer& optimizer) : optimizer_(optimizer) {}

  ms::Status Init(const ms::KernelInfo& info) {
    MS_DType dtype = 0;
    MS_TRY(info.DTypeAttr("T", &dtype));
    loops_ = optimizer_.table.Find(dtype);
    if (loops_ == nullptr) return NoLoopFor(dtype);
    format_ = NarrowFormatOf(dtype);
    bytes_ = static_cast<int64_t>(ms::ElementSize(dtype));
    return optimizer_.flag == nullptr ? ms::Status() : info.Attr(optimizer_.flag, &flag_);
  }

  // The variables that are changed; those after them are only read.
  uint32_t num_written() const { return optimizer_.written[flag_ ? 1 : 0]; }
  int64_t bytes() const { return bytes_; }  // of an element

  // Reads the scalars: input `place(i)` is the i-th of optimizer.rest.
  template <typename Place>
  ms::Status ReadRates(const ms::Frame& frame, const Place& place, void* rates) const {
    const auto bytes = static_cast<size_t>(ms::ElementSize(loops_->dtype));
    alignas(16) char rest[kMostOptimizerRest * 16] = {};
    for (uint32_t i = 0; i < optimizer_.num_rest; ++i) {
      if (i == optimizer_.gradient) continue;
      const ms::View view = frame.input(place(i));
      MS_TRY(CheckScalar(view, optimizer_.rest[i]));
      if (view.dtype() == MS_INT64) {
        MakeNumber(*static_cast<const int64_t*>(view.raw()), rest + i * bytes);
      } else if (format_ != nullptr) {
        format_->widen(view.raw(), 0, 1, reinterpret_cast<float*>(rest + i * bytes));
      } else {
        std::memcpy(rest + i * bytes, view.raw(), bytes);
      }
    }
    loops_->rates(rest, rates);
    return ms::Status();
  }

  // Asks for the memory of `count` elements from `place` on, or of the first of them.
  void Prefetch(void* const* variables, int64_t place, int64_t count) const {
    for (uint32_t j = 0; j < optimizer_.num_variables; ++j) {
      PrefetchRow(static_cast<const char*>(variables[j]) + place * bytes_, count * bytes_);
    }
  }

  // On `count` elements, from `place` on in the variables and from `gradient_place` on in the
  // gradient.
  void Run(const void* rates, void* const* variables, int64_t place, const void* gradient,
           int64_t gradient_place, int64_t count) const {
    if (format_ != nullptr) {
      return RunNarrow(rates, variables, place, gradient, gradient_place, count);
    }
    void* from[kMostOptimizerVariables];
    for (uint32_t j = 0; j < optimizer_.num_variables; ++j) {
      from[j] = static_cast<char*>(variables[j]) + place * bytes_;
    }
    loops_->run(flag_, rates, from, static_cast<const char*>(gradient) + gradient_place * bytes_,
                count);
  }

 private:
  // A number of steps, as the type that is computed in: only steps among real numbers have one.
  void MakeNumber(int64_t steps, void* number) const {
    if (loops_->dtype == MS_FLOAT64) {
      const auto wide = static_cast<double>(steps);
      std::memcpy(number, &wide, sizeof(wide));
    } else {
      const auto narrow = static_cast<float>(steps);
      std::memcpy(number, &narrow, sizeof(narrow));
    }
  }

  void RunNarrow(const void* rates, void* const* variables, int64_t place, const void* gradient,
                 int64_t gradient_place, int64_t count) const {
    float tiles[kMostOptimizerVariables][kTileElements];
    float gradient_tile[kTileElements];
    void* from[kMostOptimizerVariables];
    for (uint32_t j = 0; j < optimizer_.num_variables; ++j) from[j] = tiles[j];
    for (int64_t at = 0; at < count; at += kTileElements) {
      const int64_t n = std::min(kTileElements, count - at);
      for (uint32_t j = 0; j < optimizer_.num_variables; ++j) {
        format_->widen(variables[j], place + at, n, tiles[j]);
      }
      format_->widen(gradient, gradient_place + at, n, gradient_tile);
      loops_->run(flag_, rates, from, gradient_tile, n);
      for (uint32_t j = 0; j < num_written(); ++j) {
        format_->narrow(tiles[j], n, variables[j], place + at);
      }
    }
  }

  const Optimizer& optimizer_;
  const OptimizerLoops* loops_ = nullptr;
  const NarrowFormat* format_ = nullptr;
  int64_t bytes_ = 0;
  bool flag_ = false;
};

// The inputs are those of the op on one variable, in its order; the op on many has in the place of
// each variable, slot and gradient as many as there are variables.
class ApplySteps {
 public:
  using Row = Optimizer;

  explicit ApplySteps(const Row& row) : optimizer_(row), step_(row) {}

  ms::Status Init(const ms::KernelInfo& info) {
    count_ = (info.num_inputs() - (optimizer_.num_rest - 1)) / (optimizer_.num_variables + 1);
    MS_TRY(step_.Init(info));
    if (info.HasAttr("_nodes")) MS_TRY(info.Attr("_nodes", &nodes_));
    for (uint32_t i = 0; i < optimizer_.num_variables * count_; ++i) {
      inputs_.push_back(i);
      modes_.push_back(IsWritten(i / count_) ? MS_LOCK_WRITE : MS_LOCK_READ);
    }
    return ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    alignas(16) char rates[kMostRatesBytes];
    MS_TRY(step_.ReadRates(
        frame, [this](uint32_t i) { return PlaceOf(i); }, rates));
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
    Update(frame, rates, members);
    return ms::Status();
  }

 private:
  static constexpr int64_t kBlock = 1024;  // elements; no piece of work is smaller
  // What takes less is done sooner than other threads have begun.
  static constexpr uint64_t kLeastParallelNanoseconds = 20000;

  // One variable, its slots and its gradient.
  struct Member {
    std::array<void*, kMostOptimizerVariables> variables{};
    const void* gradient = nullptr;
    int64_t size = 0;
    int64_t first_block = 0;  // the members' blocks are numbered through
  };

  static int64_t BlocksOf(int64_t size) { return (size + kBlock - 1) / kBlock; }

  bool IsWritten(uint32_t variable) const { return variable < step_.num_written(); }

  // Where in the frame's inputs the i-th of optimizer.rest stands, or the first gradient.
  uint32_t PlaceOf(uint32_t i) const {
    const uint32_t more = i > optimizer_.gradient ? count_ - 1 : 0;
    return optimizer_.num_variables * count_ + i + more;
  }

  ms::Status FindMember(const ms::Frame& frame, const ms::VariableLocks& locks, uint32_t k,
                        Member* member) const {
    const std::string_view* const names = optimizer_.variables;
    ms::View variable;
    MS_TRY(locks.Write(k, &variable));
    member->variables[0] = variable.raw();
    for (uint32_t j = 1; j < optimizer_.num_variables; ++j) {
      ms::View slot;
      MS_TRY(IsWritten(j) ? locks.Write(j * count_ + k, &slot) : locks.Read(j * count_ + k, &slot));
      MS_TRY(CheckSameShape(names[0], variable, names[j], slot));
      member->variables[j] = slot.raw();
    }
    const ms::View gradient = frame.input(PlaceOf(optimizer_.gradient) + k);
    MS_TRY(CheckSameShape(names[0], variable, optimizer_.rest[optimizer_.gradient], gradient));
    member->gradient = gradient.raw();
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

  // The part of the blocks [begin, end), which begin in the member, that is its own; returns where
  // the next one's begin.
  int64_t RunBlocks(const void* rates, const Member& member, int64_t begin, int64_t end) const {
    const int64_t from = (begin - member.first_block) * kBlock;
    const int64_t to = std::min(member.size, (end - member.first_block) * kBlock);
    step_.Run(rates, member.variables.data(), from, member.gradient, from, to - from);
    return std::min(end, member.first_block + BlocksOf(member.size));
  }

  // Every element is a case of its own, so that it makes no difference who takes which.
  void Update(ms::Frame& frame, const void* rates, const Member* members) const {
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
    const uint64_t cost_ns =
        static_cast<uint64_t>(elements * step_.bytes()) * optimizer_.streams / 12;
    if (cost_ns < kLeastParallelNanoseconds) {
      run(0, blocks);
    } else {
      frame.ParallelFor(static_cast<uint64_t>(blocks), cost_ns / static_cast<uint64_t>(blocks),
                        [&](uint64_t begin, uint64_t end) {
                          run(static_cast<int64_t>(begin), static_cast<int64_t>(end));
                        });
    }
  }

  const Optimizer& optimizer_;
  Step step_;
  uint32_t count_ = 1;  // variables
  std::vector<uint32_t> inputs_;
  std::vector<uint32_t> modes_;
  std::vector<std::string> nodes_;  // names, of each variable's update, if known
};

// The variable and slots of an optimizer, its first inputs, locked.
class LockedVariables {
 public:
  // The first `written` are locked for writing, the others for reading.
  ms::Status Lock(ms::Frame& frame, const Optimizer& optimizer, uint32_t written) {
    const uint32_t count = optimizer.num_variables;
    std::array<uint32_t, kMostOptimizerVariables> inputs{};
    std::array<uint32_t, kMostOptimizerVariables> modes{};
    for (uint32_t j = 0; j < count; ++j) {
      inputs[j] = j;
      modes[j] = j < written ? MS_LOCK_WRITE : MS_LOCK_READ;
    }
    MS_TRY(frame.LockVariables(inputs.data(), modes.data(), count, &locks_));
    for (uint32_t j = 0; j < count; ++j) {
      ms::View view;
      MS_TRY(j < written ? locks_.Write(j, &view) : locks_.Read(j, &view));
      if (j == 0) variable_ = view;
      MS_TRY(CheckSameShape(optimizer.variables[0], variable_, optimizer.variables[j], view));
      elements_[j] = view.raw();
    }
    return ms::Status();
  }
  const ms::View& variable() const { return variable_; }
  void* const* elements() const { return elements_.data(); }  // of the variable, then the slots

 private:
  ms::VariableLocks locks_;
  ms::View variable_;
  std::array<void*, kMostOptimizerVariables> elements_{};
};

// Inputs: those of the dense step on one variable, and indices after the gradient.
class SparseApplyStep {
 public:
  using Row = Optimizer;

  explicit SparseApplyStep(const Row& row) : optimizer_(row), step_(row) {}

  ms::Status Init(const ms::KernelInfo& info) { return step_.Init(info); }

  ms::Status Compute(ms::Frame& frame) const {
    const uint32_t first = optimizer_.num_variables;
    const uint32_t gradient = first + optimizer_.gradient;
    const auto place = [&](uint32_t i) { return first + i + (i > optimizer_.gradient ? 1 : 0); };
    alignas(16) char rates[kMostRatesBytes];
    MS_TRY(step_.ReadRates(frame, place, rates));
    const ms::View grad = frame.input(gradient);
    const ms::View indices = frame.input(gradient + 1);
    LockedVariables locked;
    MS_TRY(locked.Lock(frame, optimizer_, step_.num_written()));
    const ms::View& variable = locked.variable();
    MS_TRY(CheckRowGradient(variable, grad, indices));
    MS_TRY(CheckRowIndices(indices, variable.dim(0)));

    const int64_t width = DimProduct(variable.shape(), 1, variable.rank());
    const int64_t n = indices.size();
    // In their order for every element.
    ForColumns(frame, n, width, step_.bytes(), optimizer_.streams, [&](int64_t begin, int64_t end) {
      for (int64_t k = 0; k < n; ++k) {
        if (k + kRowsAhead < n) {
          const int64_t ahead = IndexAt(indices, k + kRowsAhead) * width + begin;
          step_.Prefetch(locked.elements(), ahead, end - begin);
        }
        step_.Run(rates, locked.elements(), IndexAt(indices, k) * width + begin, grad.raw(),
                  k * width + begin, end - begin);
      }
    });
    return ms::Status();
  }

 private:
  const Optimizer& optimizer_;
  Step step_;
};

ms::KernelOptions OptionsOf(const Optimizer& optimizer) {
  const bool has_complex = optimizer.table.Find(MS_COMPLEX64) != nullptr;
  return ms::KernelOptions().Types(
      "T", TypesIn(has_complex ? kFloatTypes | kComplexTypes : kFloatTypes));
}

}  // namespace

ms::Registered RegisterApply(const Optimizer& optimizer, const char* op, const char* op_on_many) {
  ms::RegisterRow<ApplySteps>(op, optimizer, OptionsOf(optimizer).Extension(&kBoundedUpdate));
  return ms::RegisterRow<ApplySteps>(op_on_many, optimizer, OptionsOf(optimizer));
}

ms::Registered RegisterSparseApply(const Optimizer& optimizer, const char* op) {
  return ms::RegisterRow<SparseApplyStep>(op, optimizer,
                                          OptionsOf(optimizer).Types("Tindices", IndexTypes()));
}

}  // namespace millstream::kernels
