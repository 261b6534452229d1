// Shape arithmetic that gradient functions share.
#ifndef MILLSTREAM_CORE_GRADIENTS_SHAPE_HELPERS_H_
#define MILLSTREAM_CORE_GRADIENTS_SHAPE_HELPERS_H_

#include <vector>

#include "core/gradients/gradient_registry.h"

namespace millstream {

// The shape of `tensor` as an int32 vector: a Const if the static shape is fully known, else a
// Shape node.
Output ShapeVector(GraphBuilder* builder, Output tensor);
// `tensor` in the shape of `like`.
Output ReshapeLike(GraphBuilder* builder, Output tensor, Output like);
// Sums `gradient` over the axes along which `input` was broadcast, so that it has the shape of
// `input`. `gradient` has the shape of a broadcast of `input` and `other`. The last `own_dims`
// dimensions are not broadcast: `gradient` and `input` have the same ones.
Output SumToShapeOf(GraphBuilder* builder, Output gradient, Output input, Output other,
                    int own_dims = 0);
// Elements [begin, begin + 1) of a vector, as a vector.
Output ElementOf(GraphBuilder* builder, Output vector, int begin);
// The concatenation of vectors.
Output ConcatVectors(GraphBuilder* builder, const std::vector<Output>& vectors);

// A vector of int32 ones; `count` is an int32 scalar.
Output OnesVector(GraphBuilder* builder, Output count);

// The sum of all elements, a scalar.
Output SumOfAll(GraphBuilder* builder, Output tensor);
// Sets the gradient of input i, a scalar that fills the places of output 0 that no other input
// fills: the sum of all of dy less that of `taken`, the parts of dy that went to others.
void SetFillerGradient(GradientContext* context, int i, Output taken);

// Sets the gradient of input 0, a tensor of `shape` (a vector) from which the slices that `indices`
// name were taken: rows if each index vector is known to name one, else a dense tensor.
void SetSlicesGradient(GradientContext* context, Output dy, Output indices, Output shape);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_GRADIENTS_SHAPE_HELPERS_H_
