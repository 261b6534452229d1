// The gradient of Einsum: that of an input is an Einsum of dy and the other input, with the
// subscripts exchanged.
//
// What such an Einsum does not give is added: dimensions that the op summed over at once are
// repeated by a product with ones, which also fills the diagonals of labels that stand twice.
#include <algorithm>
#include <string>
#include <vector>

#include "core/gradients/gradient_registry.h"
#include "core/gradients/math_helpers.h"
#include "core/gradients/shape_helpers.h"
#include "framework/ops/einsum_equation.h"

namespace millstream {
namespace {

constexpr char kEllipsis = kEinsumEllipsis;

Output Einsum(GraphBuilder* builder, const std::vector<std::string>& inputs,
              const std::string& output, const std::vector<Output>& tensors) {
  std::string equation;
  const auto append = [&](const std::string& subscripts) {
    for (const char label : subscripts) {
      equation += label == kEllipsis ? std::string("...") : std::string(1, label);
    }
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (i > 0) equation += ",";
    append(inputs[i]);
  }
  equation += "->";
  append(output);
  const Node* node = builder->Variadic("Einsum", {tensors}, {{"equation", equation}});
  return node == nullptr ? Output() : node->output(0);
}

// Part [begin, end) of a vector; 0 as the end is that of the vector.
Output Part(GraphBuilder* builder, Output vector, int begin, int end) {
  return builder->Op("StridedSlice",
                     {vector, builder->Int32Vector({begin}), builder->Int32Vector({end}),
                      builder->Int32Vector({1})},
                     {{"end_mask", int64_t{end == 0 ? 1 : 0}}});
}

// The sizes of an input's dimensions.
class Sizes {
 public:
  Sizes(GraphBuilder* builder, Output tensor, const std::string& subscripts)
      : builder_(builder), shape_(ShapeVector(builder, tensor)), subscripts_(subscripts) {}

  // Of a label, as a vector of one; of the ellipsis, as a vector that may be empty.
  Output Of(char label) const {
    const size_t ellipsis = subscripts_.find(kEllipsis);
    const size_t at = subscripts_.find(label);
    const int before = static_cast<int>(at);
    const int after = static_cast<int>(subscripts_.size() - at) - 1;
    if (at == std::string::npos) return builder_->Int32Vector({});
    if (label == kEllipsis) return Part(builder_, shape_, before, -after);
    const bool from_end = ellipsis != std::string::npos && ellipsis < at;
    return from_end ? Part(builder_, shape_, -after - 1, -after)
                    : ElementOf(builder_, shape_, before);
  }
  Output Of(const std::string& labels) const {
    std::vector<Output> sizes;
    for (const char label : labels) sizes.push_back(Of(label));
    return sizes.empty() ? builder_->Int32Vector({}) : ConcatVectors(builder_, sizes);
  }

 private:
  GraphBuilder* const builder_;
  const Output shape_;
  const std::string subscripts_;
};

// `gradient` has the subscripts `kept`, which begin with the ellipsis if there is one in either
// input. Its dimensions are those of the broadcast; the result has the input's own.
Output SumOverBroadcast(GraphBuilder* builder, Output gradient, const Sizes& own,
                        const Sizes& other, const std::string& kept) {
  const Output axes =
      builder->Op("BroadcastGradientArgs", {own.Of(kEllipsis), other.Of(kEllipsis)});
  const Output sum = builder->Op("Sum", {gradient, axes});
  return builder->Op("Reshape", {sum, own.Of(kept)});
}

// The gradient of input i.
Output InputGradient(GradientContext* context, const EinsumEquation& equation, int i) {
  GraphBuilder* builder = context->builder();
  const bool has_other = context->num_inputs() > 1;
  const std::string& own = equation.inputs[i];
  const std::string other = has_other ? equation.inputs[1 - i] : std::string();

  // Labels of the input that the product gives, and those over which the op summed at once.
  std::string kept;
  std::string summed;
  for (const char label : own) {
    if (HasLabel(kept, label) || HasLabel(summed, label) || label == kEllipsis) continue;
    (HasLabel(equation.output, label) || HasLabel(other, label) ? kept : summed) += label;
  }
  const bool others_broadcast = HasLabel(other, kEllipsis);
  if (others_broadcast || HasLabel(own, kEllipsis)) kept.insert(0, 1, kEllipsis);

  std::vector<std::string> subscripts = {equation.output};
  std::vector<Output> factors = {context->dy(0)};
  if (has_other) {
    subscripts.push_back(other);
    factors.push_back(Conjugate(context, context->input(1 - i)));
  }
  if (summed.empty() && !others_broadcast) return Einsum(builder, subscripts, own, factors);
  Output gradient = Einsum(builder, subscripts, kept, factors);
  const Sizes sizes(builder, context->input(i), own);
  if (others_broadcast) {
    const Sizes other_sizes(builder, context->input(1 - i), other);
    gradient = SumOverBroadcast(builder, gradient, sizes, other_sizes, kept);
    if (!HasLabel(own, kEllipsis)) kept.erase(0, 1);
  }
  if (summed.empty()) return Einsum(builder, {kept}, own, {gradient});
  const Output ones =
      builder->Op("Fill", {sizes.Of(summed), builder->ScalarOf(gradient.dtype(), 1)});
  return Einsum(builder, {kept, summed}, own, {gradient, ones});
}

Status EinsumGradient(GradientContext* context) {
  MS_ASSIGN_OR_RETURN(const std::string text, context->Attr<std::string>("equation"));
  MS_ASSIGN_OR_RETURN(const EinsumEquation equation, ParseEinsumEquation(text));
  for (int i = 0; i < context->num_inputs(); ++i) {
    context->SetDx(i, InputGradient(context, equation, i));
  }
  return absl::OkStatus();
}

MILLSTREAM_GRADIENT("Einsum", EinsumGradient);

}  // namespace
}  // namespace millstream
