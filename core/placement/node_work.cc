#include "core/placement/node_work.h"

#include "core/graph/structural_role.h"
#include "framework/dtype.h"
#include "framework/ops/op_cost.h"

namespace millstream {
namespace {

// A guess: the sizes of strings are not known before they are computed.
constexpr double kStringBytes = 32;

double Operations(const Node& node, const std::vector<PartialShape>& inputs,
                  const std::vector<PartialShape>& outputs) {
  const CostFunction cost = node.op().cost_function;
  return cost == nullptr ? 0 : cost(inputs, outputs);
}

// True if an execution computes nothing and moves no bytes.
bool IsFree(const Node& node) {
  return node.op().costs_nothing || RoleOf(node.op().name) != StructuralRole::kKernel;
}

}  // namespace

double EstimateBytes(DataType dtype, const PartialShape& shape) {
  if (dtype == DataType::kResource || dtype == DataType::kVariant) return 0;
  const double size = dtype == DataType::kString ? kStringBytes : double(DataTypeSize(dtype));
  return size * EstimateElements(shape);
}

NodeWork EstimateWork(const Node& node, const std::vector<PartialShape>& inputs,
                      const std::vector<PartialShape>& outputs) {
  NodeWork work;
  if (IsFree(node)) return work;
  work.operations = Operations(node, inputs, outputs);
  work.bytes = 1;  // not zero, because the node runs
  for (size_t k = 0; k < inputs.size(); ++k) {
    work.bytes += EstimateBytes(node.input(static_cast<int>(k)).dtype(), inputs[k]);
  }
  for (size_t k = 0; k < outputs.size(); ++k) {
    work.bytes += EstimateBytes(node.output_type(static_cast<int>(k)), outputs[k]);
  }
  return work;
}

}  // namespace millstream
