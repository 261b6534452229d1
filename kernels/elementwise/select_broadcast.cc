// SelectV2: t where the condition holds, e elsewhere; all three are broadcast. Works on elements by
// their size, or on string cells.
#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/array/indices.h"
#include "kernels/array/strings.h"
#include "kernels/common/parallel.h"

namespace millstream::kernels {
namespace {

// The operands of SelectV2, in this order, and their names for messages.
constexpr int kOperands = 3;
constexpr const char* kNames[kOperands] = {"condition", "t", "e"};
using Places = std::array<int64_t, kOperands>;  // of one element in each operand

// The dimensions of the output, the innermost first. Neighbours that run alike in all operands are
// one.
struct SelectPlan {
  ms::Shape output;
  uint32_t rank = 0;
  std::array<int64_t, ms::kMaxRank> dims;
  std::array<Places, ms::kMaxRank> strides;

  int64_t columns() const { return rank == 0 ? 1 : dims[0]; }
  Places steps() const { return rank == 0 ? Places{} : strides[0]; }

  // Where row `row` of the output begins in each operand.
  Places RowStart(int64_t row) const {
    Places start{};
    for (uint32_t d = 1; d < rank; ++d) {
      const int64_t index = row % dims[d];
      row /= dims[d];
      for (int i = 0; i < kOperands; ++i) start[i] += index * strides[d][i];
    }
    return start;
  }
};

ms::Status PlanShape(const ms::Shape* shapes, ms::Shape* output) {
  uint32_t rank = 0;
  for (int i = 0; i < kOperands; ++i) rank = std::max(rank, shapes[i].rank());
  *output = ms::Shape();
  for (uint32_t d = 0; d < rank; ++d) output->Append(1);
  for (int i = 0; i < kOperands; ++i) {
    const uint32_t missing = rank - shapes[i].rank();
    for (uint32_t d = missing; d < rank; ++d) {
      const int64_t dim = shapes[i][d - missing];
      if (dim == 1 || dim == (*output)[d]) continue;
      if ((*output)[d] != 1) {
        return ms::InvalidArgument("Incompatible shapes: ", kNames[i], " of shape ",
                                   shapes[i].ToString(),
                                   " does not broadcast against the others: ", shapes[0].ToString(),
                                   ", ", shapes[1].ToString(), " and ", shapes[2].ToString());
      }
      (*output)[d] = dim;
    }
  }
  return ms::Status();
}

void PlanStrides(const ms::Shape* shapes, SelectPlan* plan) {
  const uint32_t rank = plan->output.rank();
  Places step = {1, 1, 1};  // the stride that a dimension has where it is not repeated
  for (uint32_t d = rank; d-- > 0;) {
    const int64_t dim = plan->output[d];
    if (dim == 1) continue;
    Places stride{};
    for (int i = 0; i < kOperands; ++i) {
      const uint32_t missing = rank - shapes[i].rank();
      const bool runs = d >= missing && shapes[i][d - missing] != 1;
      stride[i] = runs ? step[i] : 0;
      if (runs) step[i] *= dim;
    }
    bool goes_on = plan->rank > 0;
    for (int i = 0; goes_on && i < kOperands; ++i) {
      goes_on = stride[i] == plan->strides[plan->rank - 1][i] * plan->dims[plan->rank - 1];
    }
    if (goes_on) {
      plan->dims[plan->rank - 1] *= dim;
    } else {
      plan->dims[plan->rank] = dim;
      plan->strides[plan->rank++] = stride;
    }
  }
}

ms::Status PlanSelect(const ms::Frame& frame, SelectPlan* plan) {
  const ms::Shape shapes[kOperands] = {frame.input(0).shape(), frame.input(1).shape(),
                                       frame.input(2).shape()};
  MS_TRY(PlanShape(shapes, &plan->output));
  PlanStrides(shapes, plan);
  return ms::Status();
}

// Elements that are `step` apart, which is 0 or 1.
template <typename Word>
void CopyElements(const Word* from, int64_t step, Word* out, int64_t n) {
  if (step == 1) {
    std::copy_n(from, n, out);
  } else {
    std::fill_n(out, n, *from);
  }
}

// One row: elements from `start` on, `steps` apart.
using RowLoop = void (*)(const uint8_t* condition, const void* t, const void* e, void* out,
                         const Places& start, const Places& steps, int64_t n);

template <typename Word>
void SelectRow(const uint8_t* condition, const void* t_base, const void* e_base, void* out_base,
               const Places& start, const Places& steps, int64_t n) {
  condition += start[0];
  const Word* const t = static_cast<const Word*>(t_base) + start[1];
  const Word* const e = static_cast<const Word*>(e_base) + start[2];
  Word* const out = static_cast<Word*>(out_base);
  const Places step = steps;
  if (step == Places{1, 1, 1}) {
    for (int64_t i = 0; i < n; ++i) out[i] = condition[i] != 0 ? t[i] : e[i];
    return;
  }
  // One condition for the row, as where it is a scalar.
  if (step[0] == 0) {
    const bool is_t = *condition != 0;
    return CopyElements(is_t ? t : e, is_t ? step[1] : step[2], out, n);
  }
  for (int64_t i = 0; i < n; ++i) {
    out[i] = condition[i * step[0]] != 0 ? t[i * step[1]] : e[i * step[2]];
  }
}

class SelectV2 {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    element_size_ = static_cast<int64_t>(ms::ElementSize(info.input_dtype(1)));
    switch (element_size_) {
      case 1: loop_ = &SelectRow<uint8_t>; return ms::Status();
      case 2: loop_ = &SelectRow<uint16_t>; return ms::Status();
      case 4: loop_ = &SelectRow<uint32_t>; return ms::Status();
      case 8: loop_ = &SelectRow<uint64_t>; return ms::Status();
      case 16: loop_ = &SelectRow<unsigned __int128>; return ms::Status();
      default: return ms::Status();  // strings
    }
  }

  ms::Status Compute(ms::Frame& frame) const {
    SelectPlan plan;
    MS_TRY(PlanSelect(frame, &plan));
    ms::View out;
    MS_TRY(frame.Output(0, plan.output, &out));
    if (out.size() == 0) return ms::Status();
    const int64_t columns = plan.columns();
    if (loop_ == nullptr) return SelectStrings(frame, plan, out);
    const uint8_t* const condition = frame.input(0).data<uint8_t>();
    const void* const t = frame.input(1).raw();
    const void* const e = frame.input(2).raw();
    return ParallelRows(frame, out.size() / columns, columns, 500, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        loop_(condition, t, e, out.data<char>() + row * columns * element_size_, plan.RowStart(row),
              plan.steps(), columns);
      }
    });
  }

 private:
  static ms::Status SelectStrings(const ms::Frame& frame, const SelectPlan& plan,
                                  const ms::View& out) {
    const uint8_t* const condition = frame.input(0).data<uint8_t>();
    const int64_t columns = plan.columns();
    const Places steps = plan.steps();
    for (int64_t k = 0; k < out.size(); ++k) {
      const Places start = plan.RowStart(k / columns);
      const int64_t i = k % columns;
      const uint32_t taken = condition[start[0] + i * steps[0]] != 0 ? 1 : 2;
      MS_TRY(CopyString(frame.input(taken), start[taken] + i * steps[taken], out, k));
    }
    return ms::Status();
  }

  int64_t element_size_ = 0;
  RowLoop loop_ = nullptr;
};

const ms::Registered select_v2 =
    ms::Register<SelectV2>("SelectV2", ms::KernelOptions().Types("T", MovableTypes()));

}  // namespace
}  // namespace millstream::kernels
