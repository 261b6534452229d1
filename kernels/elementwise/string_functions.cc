// Add, Equal and NotEqual of strings, with broadcasting, and StringJoin.
#include <string>
#include <string_view>
#include <vector>

#include "kernels/elementwise/broadcast.h"

namespace millstream::kernels {
namespace {

// Calls fn(x_index, y_index, output_index) for every element of the output, until one fails.
template <typename Fn>
ms::Status ForEachPair(const BroadcastPlan& plan, Fn&& fn) {
  if (plan.output.num_elements() == 0) return ms::Status();
  const int64_t x_step = plan.x_strides[plan.rank - 1];
  const int64_t y_step = plan.y_strides[plan.rank - 1];
  const int64_t columns = plan.columns();
  ms::Status status;
  ForEachRowBlock(plan, 0, plan.rows(), [&](const RowBlock& block) {
    for (int64_t row = 0; row < block.rows; ++row) {
      for (int64_t i = 0; i < columns && status.ok(); ++i) {
        status = fn(block.x_offset + row * block.x_step + i * x_step,
                    block.y_offset + row * block.y_step + i * y_step,
                    block.output_offset + row * columns + i);
      }
    }
  });
  return status;
}

// x followed by y.
class StringAdd {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    const ms::View x = frame.input(0);
    const ms::View y = frame.input(1);
    BroadcastPlan plan;
    MS_TRY(PlanBroadcast(x.shape(), y.shape(), &plan));
    ms::View out;
    MS_TRY(frame.Output(0, plan.output, &out));
    std::string joined;
    return ForEachPair(plan, [&](int64_t i, int64_t j, int64_t k) -> ms::Status {
      std::string_view first;
      std::string_view second;
      MS_TRY(x.GetString(i, &first));
      MS_TRY(y.GetString(j, &second));
      joined.assign(first).append(second);
      return out.SetString(k, joined);
    });
  }
};

// Bytes are compared. As for numbers, shapes that do not broadcast may be one truth value.
template <bool kEqual>
class StringEquality {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    return info.Attr("incompatible_shape_error", &strict_);
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View x = frame.input(0);
    const ms::View y = frame.input(1);
    ms::View out;
    if (!strict_ && !CanBroadcast(x.shape(), y.shape())) {
      MS_TRY(frame.Output(0, ms::Shape(), &out));
      *out.data<bool>() = !kEqual;
      return ms::Status();
    }
    BroadcastPlan plan;
    MS_TRY(PlanBroadcast(x.shape(), y.shape(), &plan));
    MS_TRY(frame.Output(0, plan.output, &out));
    return ForEachPair(plan, [&](int64_t i, int64_t j, int64_t k) -> ms::Status {
      std::string_view first;
      std::string_view second;
      MS_TRY(x.GetString(i, &first));
      MS_TRY(y.GetString(j, &second));
      out.data<bool>()[k] = (first == second) == kEqual;
      return ms::Status();
    });
  }

 private:
  bool strict_ = true;
};

// The texts of several tensors, with a separator between them. A scalar is joined to all elements.
class StringJoin {
 public:
  ms::Status Init(const ms::KernelInfo& info) { return info.Attr("separator", &separator_); }

  ms::Status Compute(ms::Frame& frame) const {
    std::vector<ms::View> inputs;
    ms::Shape shape;
    for (uint32_t i = 0; i < frame.num_inputs(); ++i) {
      const ms::View input = frame.input(i);
      if (input.rank() > 0 && shape.rank() > 0 && input.shape() != shape) {
        return ms::InvalidArgument("Input shapes do not match: inputs[", i, "] has shape ",
                                   input.shape().ToString(), ", an input before it ",
                                   shape.ToString());
      }
      if (input.rank() > 0) shape = input.shape();
      inputs.push_back(input);
    }
    ms::View out;
    MS_TRY(frame.Output(0, shape, &out));
    std::string joined;
    for (int64_t k = 0; k < out.size(); ++k) {
      joined.clear();
      for (size_t i = 0; i < inputs.size(); ++i) {
        std::string_view text;
        MS_TRY(inputs[i].GetString(inputs[i].rank() == 0 ? 0 : k, &text));
        joined.append(i == 0 ? "" : separator_).append(text);
      }
      MS_TRY(out.SetString(k, joined));
    }
    return ms::Status();
  }

 private:
  std::string separator_;
};

ms::KernelOptions OnStrings() { return ms::KernelOptions().Types("T", {MS_STRING}); }

const ms::Registered add = ms::Register<StringAdd>("Add", OnStrings());
const ms::Registered equal = ms::Register<StringEquality<true>>("Equal", OnStrings());
const ms::Registered join = ms::Register<StringJoin>("StringJoin", ms::KernelOptions());
const ms::Registered not_equal = ms::Register<StringEquality<false>>("NotEqual", OnStrings());

}  // namespace
}  // namespace millstream::kernels
