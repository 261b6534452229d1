#include "kernels/matmul/einsum_plan.h"

#include <algorithm>

#include "kernels/array/indices.h"

namespace millstream::kernels {
namespace {

// An axis in the tensors that have it: inputs 0 and 1, then the output.
constexpr int kOutput = 2;
struct Axis {
  char label;
  int64_t back;  // of an ellipsis: counted from its last dimension
  int64_t extent = 1;
  int64_t strides[3] = {0, 0, 0};
  bool is_in[3] = {false, false, false};
};

class Axes {
 public:
  Axis& Of(char label, int64_t back) {
    for (Axis& axis : axes_) {
      if (axis.label == label && axis.back == back) return axis;
    }
    axes_.push_back({label, back});
    return axes_.back();
  }
  const std::vector<Axis>& all() const { return axes_; }

  // The dimensions of the longest ellipsis.
  int64_t ellipsis_rank = 0;

 private:
  std::vector<Axis> axes_;
};

ms::Status AddInput(const std::string& subscripts, const ms::Shape& shape, int i, Axes* axes) {
  const bool has_ellipsis = subscripts.find('.') != std::string::npos;
  const auto named = static_cast<int64_t>(subscripts.size()) - (has_ellipsis ? 1 : 0);
  const int64_t unnamed = shape.rank() - named;
  if (unnamed < 0 || (unnamed > 0 && !has_ellipsis)) {
    return ms::InvalidArgument("inputs[", i, "] must have rank ", named,
                               has_ellipsis ? " or more" : "", " for the subscripts '", subscripts,
                               "', but has shape ", shape.ToString());
  }
  const ms::Shape strides = RowMajorStrides(shape);
  uint32_t d = 0;
  for (const char label : subscripts) {
    int64_t back = label == '.' ? unnamed : 1;
    if (label == '.') axes->ellipsis_rank = std::max(axes->ellipsis_rank, unnamed);
    for (; back > 0; --back, ++d) {
      Axis& axis = axes->Of(label, label == '.' ? back : 0);
      const bool broadcasts = label == '.' && shape[d] == 1;
      if (axis.is_in[0] || axis.is_in[1]) {
        const bool may_differ = label == '.' && (broadcasts || axis.extent == 1);
        if (axis.extent != shape[d] && !may_differ) {
          return ms::InvalidArgument("inputs[", i, "] of shape ", shape.ToString(),
                                     " has the size ", shape[d], " for the label '",
                                     label == '.' ? std::string("...") : std::string(1, label),
                                     "', which is ", axis.extent, " elsewhere");
        }
      }
      if (!broadcasts) axis.extent = shape[d];
      axis.is_in[i] = true;
      if (!broadcasts) axis.strides[i] += strides[d];
    }
  }
  return ms::Status();
}

// Adds the output's shape and strides.
ms::Status AddOutput(const std::string& subscripts, Axes* axes, EinsumPlan* plan) {
  if (subscripts.find('.') == std::string::npos && axes->ellipsis_rank > 0) {
    return ms::InvalidArgument("attribute 'equation': the output has no ellipsis for ",
                               axes->ellipsis_rank, " dimensions of inputs");
  }
  std::vector<Axis*> order;
  for (const char label : subscripts) {
    if (label != '.') order.push_back(&axes->Of(label, 0));
    if (label == '.') {
      for (int64_t back = axes->ellipsis_rank; back > 0; --back) {
        order.push_back(&axes->Of('.', back));
      }
    }
  }
  for (const Axis* axis : order) plan->output.Append(axis->extent);
  const ms::Shape strides = RowMajorStrides(plan->output);
  for (uint32_t d = 0; d < order.size(); ++d) {
    plan->fills = plan->fills && !order[d]->is_in[kOutput];
    order[d]->is_in[kOutput] = true;
    order[d]->strides[kOutput] += strides[d];
  }
  return ms::Status();
}

EinsumLoops LoopsOf(const std::vector<const Axis*>& axes, int tensor) {
  EinsumLoops loops;
  for (const Axis* axis : axes) loops.push_back({axis->extent, axis->strides[tensor]});
  return loops;
}

EinsumLoops Joined(EinsumLoops first, const EinsumLoops& second, const EinsumLoops& third) {
  first.insert(first.end(), second.begin(), second.end());
  first.insert(first.end(), third.begin(), third.end());
  return first;
}

}  // namespace

int64_t CountOf(const EinsumLoops& loops) {
  int64_t count = 1;
  for (const EinsumLoop& loop : loops) count *= loop.extent;
  return count;
}

int64_t PlaceOf(const EinsumLoops& loops, int64_t index) {
  int64_t place = 0;
  for (size_t i = loops.size(); i-- > 0;) {
    place += index % loops[i].extent * loops[i].stride;
    index /= loops[i].extent;
  }
  return place;
}

bool IsInOrder(const EinsumLoops& loops) {
  int64_t next = 1;
  for (size_t i = loops.size(); i-- > 0;) {
    if (loops[i].extent == 1) continue;
    if (loops[i].stride != next) return false;
    next *= loops[i].extent;
  }
  return true;
}

ms::Status ParseEquation(const std::string& text, EinsumEquation* equation) {
  std::string subscripts;
  bool is_output = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ') continue;
    if (text.compare(i, 3, "...") == 0) {
      subscripts.push_back('.');
      i += 2;
    } else if (text.compare(i, 2, "->") == 0 || text[i] == ',') {
      equation->inputs.push_back(subscripts);
      subscripts.clear();
      is_output = text[i] != ',';
      if (is_output) ++i;
    } else {
      subscripts.push_back(text[i]);
    }
  }
  equation->output = subscripts;
  if (is_output) return ms::Status();
  return ms::InvalidArgument(
      "attribute 'equation': Expecting exactly one '->' in einsum equation: ", text);
}

ms::Status PlanEinsum(const EinsumEquation& equation, const std::vector<ms::Shape>& shapes,
                      EinsumPlan* plan) {
  if (shapes.size() > 2 || shapes.size() != equation.inputs.size()) {
    return ms::InvalidArgument("attribute 'equation' is of ", equation.inputs.size(),
                               " inputs, but there are ", shapes.size());
  }
  Axes axes;
  for (size_t i = 0; i < shapes.size(); ++i) {
    MS_TRY(AddInput(equation.inputs[i], shapes[i], static_cast<int>(i), &axes));
  }
  MS_TRY(AddOutput(equation.output, &axes, plan));

  // In the order of the output, so that its elements are often in order already.
  std::vector<Axis> sorted = axes.all();
  std::stable_sort(sorted.begin(), sorted.end(), [](const Axis& a, const Axis& b) {
    return a.strides[kOutput] > b.strides[kOutput];
  });
  std::vector<const Axis*> batch, rows, inner, columns, own[2];
  for (const Axis& axis : sorted) {
    const bool in_both = axis.is_in[0] && axis.is_in[1];
    std::vector<const Axis*>& role = in_both && axis.is_in[kOutput] ? batch
                                     : in_both                      ? inner
                                     : !axis.is_in[kOutput]         ? own[axis.is_in[0] ? 0 : 1]
                                     : axis.is_in[0]                ? rows
                                                                    : columns;
    role.push_back(&axis);
  }
  for (int i = 0; i < 2; ++i) {
    const EinsumLoops first = LoopsOf(i == 0 ? rows : inner, i);
    const EinsumLoops second = LoopsOf(i == 0 ? inner : columns, i);
    plan->gather[i] = Joined(LoopsOf(batch, i), first, second);
    plan->swapped[i] = Joined(LoopsOf(batch, i), second, first);
    plan->sum[i] = LoopsOf(own[i], i);
  }
  plan->scatter =
      Joined(LoopsOf(batch, kOutput), LoopsOf(rows, kOutput), LoopsOf(columns, kOutput));
  plan->batch = CountOf(LoopsOf(batch, 0));
  plan->rows = CountOf(LoopsOf(rows, 0));
  plan->inner = CountOf(LoopsOf(inner, 0));
  plan->columns = CountOf(LoopsOf(columns, 1));
  return ms::Status();
}

}  // namespace millstream::kernels
