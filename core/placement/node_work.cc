#include "core/placement/node_work.h"

#include <algorithm>
#include <cmath>

#include "core/graph/structural_role.h"
#include "framework/dtype.h"

namespace millstream {
namespace {

// Sizes that are not known before a step is fed are mostly those of a batch.
constexpr double kUnknownSize = 32;
// A string has no fixed size.
constexpr double kStringBytes = 32;

double Elements(const PartialShape& shape) {
  if (!shape.known_rank()) return kUnknownSize;
  double elements = 1;
  for (const int64_t size : shape.dims()) elements *= size < 0 ? kUnknownSize : double(size);
  return elements;
}

double SizeOf(const PartialShape& shape, int dim) {
  const bool known = shape.known_rank() && shape.rank() >= -dim && shape.dim(dim) > 0;
  return known ? static_cast<double>(shape.dim(dim)) : kUnknownSize;
}

// [m, k] x [k, n]: m*k, k*n and m*n elements, whatever is transposed.
double OperationsOfProduct(const PartialShape& a, const PartialShape& b, const PartialShape& out) {
  double batch = 1;
  if (out.known_rank() && out.rank() > 2) {
    batch = std::max(1.0, Elements(out) / (SizeOf(out, -1) * SizeOf(out, -2)));
  }
  return 2 * std::sqrt(Elements(a) * Elements(b) * Elements(out) / batch);
}

// Each pixel that the convolution gives is a product with all of the filter's numbers for one
// channel; its gradients do as much.
double OperationsOfConvolution(const PartialShape& pixels, const PartialShape& filter) {
  return 2 * Elements(pixels) * Elements(filter) / SizeOf(filter, -1);
}

double Operations(const Node& node, const std::vector<PartialShape>& inputs,
                  const std::vector<PartialShape>& outputs) {
  const std::string& op = node.op().name;
  if (outputs.empty() || inputs.size() < 2) return 0;
  if (op == "MatMul" || op == "BatchMatMul" || op == "BatchMatMulV2") {
    return OperationsOfProduct(inputs[0], inputs[1], outputs[0]);
  }
  if (op == "Conv2D") return OperationsOfConvolution(outputs[0], inputs[1]);
  if (inputs.size() < 3) return 0;
  if (op == "Conv2DBackpropInput") return OperationsOfConvolution(inputs[2], inputs[1]);
  if (op == "Conv2DBackpropFilter") return OperationsOfConvolution(inputs[2], outputs[0]);
  return 0;
}

// Names and moves nothing, or shares the memory that is there.
bool IsFree(const Node& node) {
  if (node.op().name == "ReadVariableOp") return true;
  return RoleOf(node.op().name) != StructuralRole::kKernel;
}

}  // namespace

double EstimateBytes(DataType dtype, const PartialShape& shape) {
  if (dtype == DataType::kResource || dtype == DataType::kVariant) return 0;
  const double size = dtype == DataType::kString ? kStringBytes : double(DataTypeSize(dtype));
  return size * Elements(shape);
}

NodeWork EstimateWork(const Node& node, const std::vector<PartialShape>& inputs,
                      const std::vector<PartialShape>& outputs) {
  NodeWork work;
  if (IsFree(node)) return work;
  work.operations = Operations(node, inputs, outputs);
  work.bytes = 1;  // it runs, whatever it does
  for (size_t k = 0; k < inputs.size(); ++k) {
    work.bytes += EstimateBytes(node.input(static_cast<int>(k)).dtype(), inputs[k]);
  }
  for (size_t k = 0; k < outputs.size(); ++k) {
    work.bytes += EstimateBytes(node.output_type(static_cast<int>(k)), outputs[k]);
  }
  return work;
}

}  // namespace millstream
