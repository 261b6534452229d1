// Estimates of floating-point operations that several ops share, for OpSpec::Cost.
#ifndef MILLSTREAM_FRAMEWORK_OPS_OP_COST_H_
#define MILLSTREAM_FRAMEWORK_OPS_OP_COST_H_

#include "absl/types/span.h"
#include "framework/shape.h"

namespace millstream {

// The number of elements of a tensor of `shape`. A dimension of unknown size counts as 32, as does
// a shape of unknown rank: sizes that are not known before a step is fed are mostly those of a
// batch.
double EstimateElements(const PartialShape& shape);

// A CostFunction for products of matrices, or of batches of them: inputs 0 and 1 are the operands.
double ProductOperations(absl::Span<const PartialShape> inputs,
                         absl::Span<const PartialShape> outputs);

// The operations of a convolution that gives `pixels` with `filter`, [height, width, in, out]. Each
// gradient of it takes as many.
double ConvolutionOperations(const PartialShape& pixels, const PartialShape& filter);
// CostFunctions for a convolution of input 0 with filter 1, and for its gradients, whose input 2 is
// the gradient of its output.
double ConvolutionOutputOperations(absl::Span<const PartialShape> inputs,
                                   absl::Span<const PartialShape> outputs);
double ConvolutionInputGradientOperations(absl::Span<const PartialShape> inputs,
                                          absl::Span<const PartialShape> outputs);
double ConvolutionFilterGradientOperations(absl::Span<const PartialShape> inputs,
                                           absl::Span<const PartialShape> outputs);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_OPS_OP_COST_H_
