// How an Einsum of one or two tensors becomes a batch of matrix products.
//
// Each label of the equation, and each dimension of an ellipsis, is an axis. An axis is part of
//   batch       both inputs and the output          rows      the first input and the output
//   columns     the second input and the output     inner     both inputs, not the output
//   sum         one input alone, not the output
// The inputs are gathered into matrices [batch, rows, inner] and [batch, inner, columns], summed on
// the way over their own axes. Elements of the product are put to their places in the output.
#ifndef MILLSTREAM_KERNELS_MATMUL_EINSUM_PLAN_H_
#define MILLSTREAM_KERNELS_MATMUL_EINSUM_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "framework/plugin/plugin.hpp"

namespace millstream::kernels {

// One loop: how often it runs, and how far apart its elements are in a tensor. An axis that stands
// twice in a tensor has the sum of both strides; one that is broadcast has 0.
struct EinsumLoop {
  int64_t extent;
  int64_t stride;
};
using EinsumLoops = std::vector<EinsumLoop>;

// The product of the extents.
int64_t CountOf(const EinsumLoops& loops);
// The place of element `index` of the loops, counted as in a row-major tensor.
int64_t PlaceOf(const EinsumLoops& loops, int64_t index);
// Whether the elements are at the places 0, 1, 2, ...
bool IsInOrder(const EinsumLoops& loops);

struct EinsumEquation {
  std::vector<std::string> inputs;  // '.' stands for an ellipsis
  std::string output;
};
ms::Status ParseEquation(const std::string& text, EinsumEquation* equation);

struct EinsumPlan {
  ms::Shape output;
  int64_t batch = 1;
  int64_t rows = 1;
  int64_t inner = 1;
  int64_t columns = 1;
  EinsumLoops gather[2];   // batch, rows, inner; batch, inner, columns
  EinsumLoops swapped[2];  // the same with the last two exchanged
  EinsumLoops sum[2];
  EinsumLoops scatter;  // batch, rows, columns
  bool fills = true;    // the output: each of its elements is an element of the product
};

// `shapes` has one or two entries. INVALID_ARGUMENT if they do not fit the equation.
ms::Status PlanEinsum(const EinsumEquation& equation, const std::vector<ms::Shape>& shapes,
                      EinsumPlan* plan);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_MATMUL_EINSUM_PLAN_H_
