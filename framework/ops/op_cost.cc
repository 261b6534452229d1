#include "framework/ops/op_cost.h"

#include <algorithm>
#include <cmath>

namespace millstream {
namespace {

constexpr double kUnknownSize = 32;

// Of the dimension at `dim`, counted from the last, which is -1.
double SizeOf(const PartialShape& shape, int dim) {
  const bool known = shape.known_rank() && shape.rank() >= -dim && shape.dim(dim) > 0;
  return known ? static_cast<double>(shape.dim(dim)) : kUnknownSize;
}

}  // namespace

double EstimateElements(const PartialShape& shape) {
  if (!shape.known_rank()) return kUnknownSize;
  double elements = 1;
  for (const int64_t size : shape.dims()) elements *= size < 0 ? kUnknownSize : double(size);
  return elements;
}

// For [m, k] x [k, n] the tensors have m*k, k*n and m*n elements, whichever operand is transposed.
double ProductOperations(absl::Span<const PartialShape> inputs,
                         absl::Span<const PartialShape> outputs) {
  const PartialShape& product = outputs[0];
  double batch = 1;
  if (product.known_rank() && product.rank() > 2) {
    const double matrix = SizeOf(product, -1) * SizeOf(product, -2);
    batch = std::max(1.0, EstimateElements(product) / matrix);
  }
  return 2 * std::sqrt(EstimateElements(inputs[0]) * EstimateElements(inputs[1]) *
                       EstimateElements(product) / batch);
}

// Each output pixel of one channel is a product with all of the filter's numbers for that channel.
double ConvolutionOperations(const PartialShape& pixels, const PartialShape& filter) {
  return 2 * EstimateElements(pixels) * EstimateElements(filter) / SizeOf(filter, -1);
}

double ConvolutionOutputOperations(absl::Span<const PartialShape> inputs,
                                   absl::Span<const PartialShape> outputs) {
  return ConvolutionOperations(outputs[0], inputs[1]);
}

double ConvolutionInputGradientOperations(absl::Span<const PartialShape> inputs,
                                          absl::Span<const PartialShape>) {
  return ConvolutionOperations(inputs[2], inputs[1]);
}

double ConvolutionFilterGradientOperations(absl::Span<const PartialShape> inputs,
                                           absl::Span<const PartialShape> outputs) {
  return ConvolutionOperations(inputs[2], outputs[0]);
}

}  // namespace millstream
