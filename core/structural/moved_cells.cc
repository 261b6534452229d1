// Ops that move elements, for variants and resource handles. The kernel that the op has for int64
// moves the numbers of the elements, and the elements follow. So the index arithmetic of a family,
// its checks and its messages are those of its kernel. Numbers begin with one: what a kernel fills
// with, zero, stands for an element that holds nothing.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "core/device/kernel_instance.h"
#include "core/host/run_op_call.h"
#include "core/resources/run_time_handle.h"
#include "core/resources/variable.h"
#include "core/structural/host_kernel.h"
#include "framework/opaque_cell.h"

namespace millstream {
namespace {

// Of the kernels that move numbers: they work in host memory, where cells are.
constexpr char kDeviceType[] = "CPU";

bool HasCells(DataType dtype) {
  return dtype == DataType::kVariant || dtype == DataType::kResource;
}

// The elements of a call, by number.
class NumberedCells {
 public:
  NumberedCells() { cells_.push_back(&nothing_); }
  NumberedCells(const NumberedCells&) = delete;
  NumberedCells& operator=(const NumberedCells&) = delete;

  // The numbers of the elements of one more tensor, which must not change any more.
  StatusOr<Tensor> Number(const Tensor& tensor) {
    MS_ASSIGN_OR_RETURN(Tensor numbers, Tensor::Create(DataType::kInt64, tensor.shape()));
    for (int64_t i = 0; i < tensor.num_elements(); ++i) {
      numbers.data<int64_t>()[i] = static_cast<int64_t>(cells_.size());
      cells_.push_back(tensor.data<OpaqueCell>() + i);
    }
    kept_.push_back(tensor);
    return numbers;
  }

  // Sets the elements of `target` to those that have these numbers.
  Status Take(const Tensor& numbers, const Tensor& target) const {
    for (int64_t i = 0; i < numbers.num_elements(); ++i) {
      const int64_t number = numbers.data<int64_t>()[i];
      if (number < 0 || number >= static_cast<int64_t>(cells_.size())) {
        return errors::Internal("the kernel for int64 gave ", number, ", of ", cells_.size(),
                                " elements: it does not only move them");
      }
      target.data<OpaqueCell>()[i] = *cells_[static_cast<size_t>(number)];
    }
    return absl::OkStatus();
  }

 private:
  const OpaqueCell nothing_;
  std::vector<const OpaqueCell*> cells_;
  std::vector<Tensor> kept_;
};

// The call of a node, on numbers.
class CallOnNumbers {
 public:
  Status Init(const HostKernelInfo& info) {
    AttrMap attrs;
    for (const auto& [name, value] : *info.call().attrs) {
      // Choices of a kernel, and remarks, are about the node.
      if (absl::StartsWith(name, "_")) continue;
      const DataType* const dtype = value.get<DataType>();
      const bool is_of_cells = dtype != nullptr && HasCells(*dtype);
      SetAttr(&attrs, name, is_of_cells ? AttrValue(DataType::kInt64) : value);
    }
    MS_ASSIGN_OR_RETURN(call_, MakeOpCall(*info.call().op, std::move(attrs), {}, {}));
    device_name_ = std::string(info.device_name());
    return absl::OkStatus();
  }

  // One thread is enough for numbers. What stops the step stops the call.
  StatusOr<std::vector<Tensor>> Run(const StructuralFrame& frame,
                                    const std::vector<Tensor>& inputs) const {
    RunOptions options;
    options.cancellation = frame.run_options().cancellation;
    options.closing = frame.run_options().closing;
    SessionSettings settings;
    constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();
    return RunOpCall(call_.call(), inputs,
                     {kDeviceType, device_name_, kNoDevice, settings, options, kNoLimit,
                      /*names_call=*/false});
  }

 private:
  OwnedOpCall call_;
  std::string device_name_;
};

// The inputs of the frame from `first` on, with numbers in the place of cells.
Status AddInputs(const StructuralFrame& frame, uint32_t first, NumberedCells* cells,
                 std::vector<Tensor>* inputs) {
  for (uint32_t i = first; i < frame.num_inputs(); ++i) {
    Tensor input = frame.BorrowInput(i);
    if (HasCells(input.dtype())) {
      MS_ASSIGN_OR_RETURN(input, cells->Number(input));
    }
    inputs->push_back(std::move(input));
  }
  return absl::OkStatus();
}

Status SetOutputs(const std::vector<Tensor>& values, const NumberedCells& cells,
                  StructuralFrame* frame) {
  for (uint32_t k = 0; k < frame->num_outputs(); ++k) {
    const Tensor& value = values[k];
    if (!HasCells(frame->call().output_type(static_cast<int>(k)))) {
      MS_RETURN_IF_ERROR(frame->SetOutput(k, value));
      continue;
    }
    MS_ASSIGN_OR_RETURN(const Tensor output, frame->AllocateOutput(k, value.shape()));
    MS_RETURN_IF_ERROR(cells.Take(value, output));
  }
  return absl::OkStatus();
}

class MovedCells final : public SyncHostKernel {
 public:
  Status Init(const HostKernelInfo& info) override { return call_.Init(info); }

  Status Compute(StructuralFrame* frame) override {
    NumberedCells cells;
    std::vector<Tensor> inputs;
    MS_RETURN_IF_ERROR(AddInputs(*frame, 0, &cells, &inputs));
    MS_ASSIGN_OR_RETURN(const std::vector<Tensor> values, call_.Run(*frame, inputs));
    return SetOutputs(values, cells, frame);
  }

 private:
  CallOnNumbers call_;
};

// Ops that move elements out of the variable of input 0, or into it. The kernel works on another
// variable, which has the numbers.
class MovedCellsOfVariable final : public SyncHostKernel {
 public:
  Status Init(const HostKernelInfo& info) override {
    const bool is_update = info.call().num_outputs() == 0;
    dtype_ = is_update ? info.call().signature->input_types.back() : info.call().output_type(0);
    return call_.Init(info);
  }

  Status Compute(StructuralFrame* frame) override {
    MS_ASSIGN_OR_RETURN(Variable * variable, frame->variable(0));
    bool is_done = false;
    while (!is_done) {
      MS_RETURN_IF_ERROR(TryOnce(variable, frame, &is_done));
    }
    return absl::OkStatus();
  }

 private:
  // An update is not done if another writer came between.
  Status TryOnce(Variable* variable, StructuralFrame* frame, bool* is_done) const {
    MS_ASSIGN_OR_RETURN(const Tensor value, ValueOf(variable));
    NumberedCells cells;
    MS_ASSIGN_OR_RETURN(Tensor numbers, cells.Number(value));
    auto moved = MakeResource<Variable>("", variable->name(), DataType::kInt64, PartialShape());
    moved->Take(std::move(numbers));
    MS_ASSIGN_OR_RETURN(Tensor handle, MakeRunTimeHandle(moved));
    std::vector<Tensor> inputs = {std::move(handle)};
    MS_RETURN_IF_ERROR(AddInputs(*frame, 1, &cells, &inputs));
    MS_ASSIGN_OR_RETURN(const std::vector<Tensor> values, call_.Run(*frame, inputs));
    *is_done = true;
    if (frame->num_outputs() > 0) return SetOutputs(values, cells, frame);
    MS_ASSIGN_OR_RETURN(numbers, moved->Read());
    MS_ASSIGN_OR_RETURN(Tensor changed, Tensor::Create(dtype_, value.shape()));
    MS_RETURN_IF_ERROR(cells.Take(numbers, changed));
    *is_done = variable->ReplaceIf(value, std::move(changed));
    return absl::OkStatus();
  }

  // An op that reads a variable in passing answers NOT_FOUND when it was never assigned.
  StatusOr<Tensor> ValueOf(Variable* variable) const {
    StatusOr<Tensor> value = variable->Read();
    if (absl::IsFailedPrecondition(value.status())) {
      return errors::NotFound(value.status().message());
    }
    MS_RETURN_IF_ERROR(value.status());
    if (value->dtype() == dtype_) return value;
    return errors::InvalidArgument("variable '", variable->name(), "' holds ",
                                   DataTypeName(value->dtype()), ", expected ",
                                   DataTypeName(dtype_));
  }

  DataType dtype_ = DataType::kInvalid;  // of the cells
  CallOnNumbers call_;
};

// ---- The ops ----

struct MovingOp {
  const char* op;
  const char* type_attr;
};

constexpr MovingOp kOfTensors[] = {
    {"BroadcastTo", "T"},
    {"Concat", "T"},
    {"ConcatV2", "T"},
    {"ConjugateTranspose", "T"},
    {"DepthToSpace", "T"},
    {"DynamicPartition", "T"},
    {"DynamicStitch", "T"},
    {"Fill", "T"},
    {"Gather", "Tparams"},
    {"GatherNd", "Tparams"},
    {"GatherV2", "Tparams"},
    {"OneHot", "T"},
    {"Pack", "T"},
    {"ParallelDynamicStitch", "T"},
    {"Roll", "T"},
    {"Select", "T"},
    {"SelectV2", "T"},
    {"Slice", "T"},
    {"SpaceToDepth", "T"},
    {"SparseConcat", "T"},
    {"SparseFillEmptyRows", "T"},
    {"SparseReorder", "T"},
    {"SparseSlice", "T"},
    {"SparseSplit", "T"},
    {"Split", "T"},
    {"SplitV", "T"},
    {"StridedSlice", "T"},
    {"StridedSliceGrad", "T"},
    {"TensorStridedSliceUpdate", "T"},
    {"Tile", "T"},
    {"Transpose", "T"},
    {"Unpack", "T"},
};

constexpr MovingOp kOfVariables[] = {
    {"ResourceGather", "dtype"},
    {"ResourceGatherNd", "dtype"},
    {"ResourceScatterUpdate", "dtype"},
    {"ResourceStridedSliceAssign", "T"},
};

bool RegisterAll() {
  for (const DataType dtype : {DataType::kVariant, DataType::kResource}) {
    for (const MovingOp& moving : kOfTensors) {
      HostKernelRegistration::Of<MovedCells>(moving.op, moving.type_attr, dtype);
    }
    for (const MovingOp& moving : kOfVariables) {
      HostKernelRegistration::Of<MovedCellsOfVariable>(moving.op, moving.type_attr, dtype);
    }
  }
  return true;
}

[[maybe_unused]] const bool registered = RegisterAll();

}  // namespace
}  // namespace millstream
