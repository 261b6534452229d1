// Slices that index vectors name change by updates: in a variable (ResourceScatterNdUpdate, Add,
// Sub), in a copy of a tensor (TensorScatterUpdate, Add, Sub, ScatterNdNonAliasingAdd), or in zeros
// (ScatterNd).
#include <cstdint>
#include <cstring>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"
#include "kernels/array/strided_copy.h"
#include "kernels/scatter/nd_indices.h"
#include "kernels/scatter/row_updates.h"
#include "kernels/training/variables.h"

namespace millstream::kernels {
namespace {

// Changes `table`, the argument `name`.
ms::Status UpdateSlices(ms::Frame& frame, const RowUpdater& updater, const char* name,
                        const ms::View& indices, const ms::View& updates, const ms::View& table) {
  NdIndices slices;
  MS_TRY(slices.Init(name, table.shape(), indices));
  if (updates.shape() != slices.slices()) {
    return ms::InvalidArgument("updates must have shape ", slices.slices().ToString(),
                               ", a slice of ", name, ", which has shape ",
                               table.shape().ToString(), ", for each index, but has shape ",
                               updates.shape().ToString());
  }
  // No index is in range of a tensor that has nothing, even if its slices have nothing either.
  if (table.size() == 0 && indices.size() > 0) {
    return ms::InvalidArgument("Indices and updates specified for empty output: indices has shape ",
                               indices.shape().ToString(), ", for a tensor of shape ",
                               table.shape().ToString());
  }
  if (updates.size() == 0) return ms::Status();
  MS_TRY(slices.Check());
  ms::View ids;
  MS_TRY(slices.ToRows(frame, &ids));
  const RowUpdater::Rows rows{ids, updates, /*is_scalar=*/false, slices.width(), table};
  MS_TRY(updater.Check(rows));
  return updater.Run(frame, rows);
}

// Inputs: ref (a variable), indices, updates.
class ScatterNdInVariable {
 public:
  using Row = RowOperation;

  explicit ScatterNdInVariable(const Row& row) : operation_(row) {}

  ms::Status Init(const ms::KernelInfo& info) {
    return updater_.Init(operation_, info.input_dtype(2));
  }

  ms::Status Compute(ms::Frame& frame) const {
    ms::VariableLocks locks;
    MS_TRY(UnassignedIsNotFound(frame.LockVariables({{0, MS_LOCK_WRITE}}, &locks)));
    ms::View variable;
    MS_TRY(UnassignedIsNotFound(locks.Write(0, &variable)));
    return UpdateSlices(frame, updater_, "ref", frame.input(1), frame.input(2), variable);
  }

 private:
  const RowOperation operation_;
  RowUpdater updater_;
};

// Inputs: a tensor, indices, updates. The output is the tensor, changed.
struct TensorRow {
  const char* name;  // of the tensor
  RowOperation operation;
};
class ScatterNdInTensor {
 public:
  using Row = TensorRow;

  explicit ScatterNdInTensor(const Row& row) : row_(row) {}

  ms::Status Init(const ms::KernelInfo& info) {
    return updater_.Init(row_.operation, info.input_dtype(2));
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View tensor = frame.input(0);
    ms::View output;
    MS_TRY(frame.ForwardOrOutput(0, 0, tensor.shape(), &output));
    if (output.raw() != tensor.raw() && output.size() > 0) {
      StridedCopy copy;
      copy.AddDim(tensor.size(), 1, 1);
      MS_TRY(copy.Run(frame, tensor, 0, output, 0));
    }
    return UpdateSlices(frame, updater_, row_.name, frame.input(1), frame.input(2), output);
  }

 private:
  const Row& row_;
  RowUpdater updater_;
};

// Inputs: indices, updates, shape. Updates of one slice are added up; strings are joined.
class ScatterNd {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    return updater_.Init(RowOperation::kAdd, info.input_dtype(1));
  }

  ms::Status Compute(ms::Frame& frame) const {
    ms::Shape shape;
    MS_TRY(ReadIndexVector(frame.input(2), "shape", &shape));
    for (uint32_t i = 0; i < shape.rank(); ++i) {
      if (shape[i] < 0) return ms::InvalidArgument("shape[", i, "] = ", shape[i], " is negative");
    }
    ms::View output;
    MS_TRY(frame.Output(0, shape, &output));
    MS_TRY(SetToZero(frame, output));
    return UpdateSlices(frame, updater_, "shape", frame.input(0), frame.input(1), output);
  }

 private:
  RowUpdater updater_;
};

std::vector<MS_DType> WithBool(std::vector<MS_DType> types) {
  types.push_back(MS_BOOL);
  return types;
}

std::vector<MS_DType> SliceTypesOf(RowOperation operation) {
  const bool has_bool = operation == RowOperation::kAdd;
  return has_bool ? WithBool(TypesOf(operation)) : TypesOf(operation);
}

template <RowOperation operation>
ms::Registered RegisterInVariable(const char* op) {
  static constexpr RowOperation kOperation = operation;
  return ms::RegisterRow<ScatterNdInVariable>(
      op, kOperation,
      ms::KernelOptions().Types("T", SliceTypesOf(operation)).Types("Tindices", IndexTypes()));
}

ms::Registered RegisterInTensor(const char* op, const TensorRow& row) {
  return ms::RegisterRow<ScatterNdInTensor>(op, row,
                                            ms::KernelOptions()
                                                .Types("T", SliceTypesOf(row.operation))
                                                .Types("Tindices", IndexTypes())
                                                .InPlace(0, 0));
}

constexpr TensorRow kUpdate = {"tensor", RowOperation::kAssign};
constexpr TensorRow kAdd = {"tensor", RowOperation::kAdd};
constexpr TensorRow kSub = {"tensor", RowOperation::kSubtract};
constexpr TensorRow kAddToInput = {"input", RowOperation::kAdd};

const ms::Registered variable_update =
    RegisterInVariable<RowOperation::kAssign>("ResourceScatterNdUpdate");
const ms::Registered variable_add = RegisterInVariable<RowOperation::kAdd>("ResourceScatterNdAdd");
const ms::Registered variable_sub =
    RegisterInVariable<RowOperation::kSubtract>("ResourceScatterNdSub");
const ms::Registered tensor_update = RegisterInTensor("TensorScatterUpdate", kUpdate);
const ms::Registered tensor_add = RegisterInTensor("TensorScatterAdd", kAdd);
const ms::Registered tensor_sub = RegisterInTensor("TensorScatterSub", kSub);
const ms::Registered non_aliasing_add = RegisterInTensor("ScatterNdNonAliasingAdd", kAddToInput);
std::vector<MS_DType> SummedTypes() {
  std::vector<MS_DType> types = SliceTypesOf(RowOperation::kAdd);
  types.push_back(MS_STRING);
  return types;
}
const ms::Registered scatter_nd = ms::Register<ScatterNd>(
    "ScatterNd",
    ms::KernelOptions().Types("T", SummedTypes()).Types("Tindices", IndexTypes()).HostArg("shape"));

}  // namespace
}  // namespace millstream::kernels
