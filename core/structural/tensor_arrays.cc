// Arrays of tensors, which live in the container of their step and end with it. Ops of the third
// version pass handles on, those of the second version names: a container and a name within it.
#include <atomic>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/device/device_memory.h"
#include "core/resources/run_time_handle.h"
#include "core/resources/tensor_array.h"
#include "core/structural/host_kernel.h"
#include "core/structural/tensor_rows.h"
#include "framework/allocator.h"

namespace millstream {
namespace {

// ---- The array ----

// What a name of the second version begins with. It stands for the container of the step.
constexpr char kContainer[] = "_tensor_arrays";

// Output 0 of ops that make arrays.
Status SetHandle(StructuralFrame* frame, ResourceRef<TensorArray> array) {
  if (frame->call().output_type(0) == DataType::kResource) {
    MS_ASSIGN_OR_RETURN(const Tensor handle, MakeRunTimeHandle(std::move(array)));
    return frame->SetOutput(0, handle);
  }
  return frame->SetOutput(0, Tensor::Vector<std::string>({kContainer, array->name()}));
}

StatusOr<ResourceRef<TensorArray>> NamedArray(const StructuralFrame& frame) {
  const Tensor name = frame.BorrowInput(0);
  if (name.num_elements() != 2 || name.data<std::string>()[0] != kContainer) {
    return errors::InvalidArgument("argument 'handle' is no handle of a TensorArray: ",
                                   name.DebugString());
  }
  StepContainer* const container = frame.step_container();
  auto found =
      container->manager()->Lookup<TensorArray>(container->Name(), name.data<std::string>()[1]);
  if (found.ok()) return found;
  return WithContext(found.status(), "argument 'handle' names no TensorArray of this step");
}

// Of input 0.
StatusOr<ResourceRef<TensorArray>> ArrayOf(const StructuralFrame& frame) {
  if (frame.input(0).dtype == MS_STRING) return NamedArray(frame);
  auto* const array = ResourceAs<TensorArray>(frame.handle(0));
  if (array != nullptr) return ResourceRef<TensorArray>::Share(array);
  return errors::InvalidArgument("argument 'handle' is no handle of a TensorArray");
}

// A scalar of int32.
StatusOr<int64_t> ScalarInput(const StructuralFrame& frame, uint32_t i) {
  if (frame.input_shape(i).rank() != 0) {
    return errors::InvalidArgument(
        "argument '", frame.call().InputName(static_cast<int>(i)),
        "' must be scalar, but had shape: ", frame.input_shape(i).ToString());
  }
  return frame.Integer(i);
}

StatusOr<std::vector<int64_t>> VectorInput(const StructuralFrame& frame, uint32_t i) {
  if (frame.input_shape(i).rank() == 1) return frame.Integers(i);
  return errors::InvalidArgument(
      "Expected ", frame.call().InputName(static_cast<int>(i)),
      " to be a vector, but received shape: ", frame.input_shape(i).ToString());
}

class MakeArrayKernel final : public SyncHostKernel {
 public:
  Status Init(const HostKernelInfo& info) override {
    MS_ASSIGN_OR_RETURN(spec_.dtype, info.Attr<DataType>("dtype"));
    MS_ASSIGN_OR_RETURN(spec_.element_shape, info.Attr<PartialShape>("element_shape"));
    MS_ASSIGN_OR_RETURN(spec_.dynamic_size, info.Attr<bool>("dynamic_size"));
    MS_ASSIGN_OR_RETURN(spec_.clear_after_read, info.Attr<bool>("clear_after_read"));
    spec_.identical_element_shapes = info.Attr<bool>("identical_element_shapes").value_or(false);
    MS_ASSIGN_OR_RETURN(name_, info.Attr<std::string>("tensor_array_name"));
    if (name_.empty()) name_ = std::string(info.node_name());
    return absl::OkStatus();
  }

  Status Compute(StructuralFrame* frame) override {
    MS_ASSIGN_OR_RETURN(const int64_t size, ScalarInput(*frame, 0));
    if (size < 0) {
      return errors::InvalidArgument(
          "argument 'size' of a TensorArray must not be negative: Size "
          "should be >= 0, got ",
          size);
    }
    // A loop makes several arrays of one name, and so do nodes with one `tensor_array_name`.
    static std::atomic<int64_t> next_number{0};
    const int64_t number = next_number.fetch_add(1, std::memory_order_relaxed);
    auto array = MakeResource<TensorArray>(absl::StrCat(name_, "_", number), spec_, size);
    StepContainer* const container = frame->step_container();
    MS_RETURN_IF_ERROR(container->manager()->Create(container->Name(), array->name(), array));
    MS_RETURN_IF_ERROR(SetHandle(frame, std::move(array)));
    return frame->num_outputs() == 1 ? absl::OkStatus() : frame->SetOutput(1, Tensor::Scalar(0.0f));
  }

 private:
  TensorArraySpec spec_;
  std::string name_;
};

// Finds the gradient array of an array for a source, or makes it.
class MakeGradientKernel final : public SyncHostKernel {
 public:
  Status Init(const HostKernelInfo& info) override {
    MS_ASSIGN_OR_RETURN(source_, info.Attr<std::string>("source"));
    return absl::OkStatus();
  }

  Status Compute(StructuralFrame* frame) override {
    MS_ASSIGN_OR_RETURN(const ResourceRef<TensorArray> array, ArrayOf(*frame));
    Shape outer;
    if (frame->num_inputs() == 3) {
      MS_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, VectorInput(*frame, 2));
      outer = Shape(sizes);
      MS_RETURN_IF_ERROR(ValidateShape(outer));
    }
    StepContainer* const container = frame->step_container();
    const std::string name = absl::StrCat(array->name(), "@", source_);
    MS_ASSIGN_OR_RETURN(
        ResourceRef<TensorArray> gradient,
        container->manager()->LookupOrCreate<TensorArray>(
            container->Name(), name, [&] { return array->MakeGradient(name, outer); }));
    MS_RETURN_IF_ERROR(SetHandle(frame, std::move(gradient)));
    return frame->num_outputs() == 1 ? absl::OkStatus()
                                     : frame->PassOn(1, 1, frame->input_shape(1));
  }

 private:
  std::string source_;
};

// ---- Elements ----

// The last input is the flow of an op that writes; its only output passes it on.
Status PassFlowOn(StructuralFrame* frame) {
  const uint32_t flow = frame->num_inputs() - 1;
  return frame->PassOn(flow, 0, frame->input_shape(flow));
}

Status CheckType(const TensorArray& array, DataType dtype, const char* what) {
  if (dtype == array.dtype()) return absl::OkStatus();
  return errors::InvalidArgument("TensorArray dtype is ", DataTypeName(array.dtype()), " but Op ",
                                 what, " dtype ", DataTypeName(dtype), ".");
}

Status CheckRead(const TensorArray& array, const StructuralFrame& frame) {
  return CheckType(array, frame.call().output_type(0), "requested");
}

Status CheckWrite(const TensorArray& array, const StructuralFrame& frame, uint32_t value) {
  return CheckType(array, frame.call().input_type(static_cast<int>(value)), "is trying to write");
}

Status Write(TensorArray* array, StructuralFrame* frame) {
  MS_RETURN_IF_ERROR(CheckWrite(*array, *frame, 2));
  MS_ASSIGN_OR_RETURN(const int64_t index, ScalarInput(*frame, 1));
  MS_ASSIGN_OR_RETURN(Tensor value, frame->InputTensor(2));
  MS_RETURN_IF_ERROR(array->WriteAt(index, std::move(value)));
  return PassFlowOn(frame);
}

Status Read(TensorArray* array, StructuralFrame* frame) {
  MS_RETURN_IF_ERROR(CheckRead(*array, *frame));
  MS_ASSIGN_OR_RETURN(const int64_t index, ScalarInput(*frame, 1));
  MS_ASSIGN_OR_RETURN(const Tensor value, array->ReadAt(index));
  return frame->SetOutput(0, value);
}

// Copies of the rows. They share one buffer, whose memory stays until the last one is released, if
// each begins at an address that kernels expect.
StatusOr<std::vector<Tensor>> CopiesOfRows(const Tensor& value) {
  const int64_t count = value.shape().dim(0);
  const Shape shape = RowShape(value);
  const bool is_aligned = IsPlainData(value.dtype()) && count > 0 &&
                          value.bytes() / static_cast<size_t>(count) % kTensorAlignment == 0;
  Tensor all;
  if (is_aligned) {
    MS_ASSIGN_OR_RETURN(all, value.DeepCopy());
  }
  std::vector<Tensor> rows;
  rows.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    Tensor row = RowsOf(is_aligned ? all : value, i, shape);
    if (!is_aligned) {
      MS_ASSIGN_OR_RETURN(row, row.DeepCopy());
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

Status Scatter(TensorArray* array, StructuralFrame* frame) {
  MS_RETURN_IF_ERROR(CheckWrite(*array, *frame, 2));
  MS_ASSIGN_OR_RETURN(const std::vector<int64_t> indices, VectorInput(*frame, 1));
  const Tensor value = frame->BorrowInput(2);
  if (value.shape().rank() == 0) {
    return errors::InvalidArgument("Expected value to be at least a vector, but received shape: ",
                                   value.shape().ToString());
  }
  if (value.shape().dim(0) != static_cast<int64_t>(indices.size())) {
    return errors::InvalidArgument("Expected len(indices) == values.shape[0], but saw: ",
                                   indices.size(), " vs. ", value.shape().dim(0));
  }
  MS_ASSIGN_OR_RETURN(const std::vector<Tensor> rows, CopiesOfRows(value));
  MS_RETURN_IF_ERROR(array->Write(indices, rows));
  return PassFlowOn(frame);
}

// What the array and the op know of the shape of elements.
StatusOr<PartialShape> ShapeOfNone(const TensorArray& array, const PartialShape& attr,
                                   const char* verb) {
  const StatusOr<PartialShape> shape = array.element_shape().MergeWith(attr);
  if (!shape.ok()) return shape.status();
  if (shape->IsFullyKnown()) return *shape;
  return errors::Unimplemented("TensorArray has size zero, but element shape ", shape->ToString(),
                               " is not fully defined. Currently only static shapes are "
                               "supported when ",
                               verb, " zero-size TensorArrays.");
}

Status Gather(TensorArray* array, StructuralFrame* frame) {
  MS_RETURN_IF_ERROR(CheckRead(*array, *frame));
  MS_ASSIGN_OR_RETURN(const auto element_shape, frame->call().Attr<PartialShape>("element_shape"));
  MS_ASSIGN_OR_RETURN(const std::vector<int64_t> indices, VectorInput(*frame, 1));
  MS_RETURN_IF_ERROR(array->MergeElementShape(element_shape));
  if (indices.empty()) {
    MS_ASSIGN_OR_RETURN(const PartialShape shape, ShapeOfNone(*array, element_shape, "packing"));
    return frame->AllocateOutput(0, ShapeOfRows(0, shape.ToShape())).status();
  }
  MS_ASSIGN_OR_RETURN(const std::vector<Tensor> rows, array->Read(indices));
  const Shape& first = rows[0].shape();
  for (size_t i = 1; i < rows.size(); ++i) {
    if (rows[i].shape() == first) continue;
    return errors::InvalidArgument(
        "TensorArray has inconsistent shapes.  Index 0 has shape: ", first.ToString(),
        " but index ", i, " has shape: ", rows[i].shape().ToString());
  }
  const auto count = static_cast<int64_t>(rows.size());
  MS_ASSIGN_OR_RETURN(const Tensor all, frame->AllocateOutput(0, ShapeOfRows(count, first)));
  for (int64_t i = 0; i < count; ++i) {
    MS_RETURN_IF_ERROR(CopyElements(rows[static_cast<size_t>(i)], RowsOf(all, i, first)));
  }
  return absl::OkStatus();
}

// ---- Elements of several rows ----

Status CheckPieces(const std::vector<Tensor>& pieces) {
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].shape().rank() == 0) {
      return errors::InvalidArgument("Concat saw a scalar shape at index ", i,
                                     " but requires at least vectors.  Did you mean to call pack?");
    }
    if (RowShape(pieces[i]) == RowShape(pieces[0])) continue;
    return errors::InvalidArgument(
        "TensorArray has inconsistent shapes.  Index 0 has (excepting dimension 0) shape: ",
        RowShape(pieces[0]).ToString(), " but index ", i,
        " has (excepting dimension 0) shape: ", RowShape(pieces[i]).ToString());
  }
  return absl::OkStatus();
}

// The indices of all elements. RESOURCE_EXHAUSTED if there are more than kMostPieces: an array may
// have any size, because it takes memory only for what is written.
constexpr int64_t kMostPieces = int64_t{1} << 24;
StatusOr<std::vector<int64_t>> AllIndices(const TensorArray& array) {
  MS_ASSIGN_OR_RETURN(const int64_t size, array.size());
  if (size > kMostPieces) {
    return errors::ResourceExhausted("TensorArray ", array.name(), " has ", size,
                                     " elements; at most ", kMostPieces, " can be joined");
  }
  std::vector<int64_t> indices(static_cast<size_t>(size));
  std::iota(indices.begin(), indices.end(), 0);
  return indices;
}

Status ConcatNone(const TensorArray& array, const PartialShape& rest, StructuralFrame* frame) {
  PartialShape attr;
  if (rest.known_rank()) {
    attr = PartialShape({0});
    for (const int64_t dim : rest.dims()) attr.AddDim(dim);
  }
  MS_ASSIGN_OR_RETURN(const PartialShape shape, ShapeOfNone(array, attr, "concatenating"));
  if (shape.rank() == 0) {
    return errors::InvalidArgument(
        "Concat requires elements that are at least vectors, got scalars");
  }
  MS_RETURN_IF_ERROR(
      frame->AllocateOutput(0, ShapeOfRows(0, Shape(shape.dims().subspan(1)))).status());
  return frame->AllocateOutput(1, Shape({0})).status();
}

Status Concat(TensorArray* array, StructuralFrame* frame) {
  MS_RETURN_IF_ERROR(CheckRead(*array, *frame));
  MS_ASSIGN_OR_RETURN(const auto rest, frame->call().Attr<PartialShape>("element_shape_except0"));
  MS_ASSIGN_OR_RETURN(const std::vector<int64_t> indices, AllIndices(*array));
  if (indices.empty()) return ConcatNone(*array, rest, frame);
  MS_ASSIGN_OR_RETURN(const std::vector<Tensor> pieces, array->Read(indices));
  MS_RETURN_IF_ERROR(CheckPieces(pieces));
  const Shape row = RowShape(pieces[0]);
  if (!rest.IsCompatibleWith(row)) {
    return errors::InvalidArgument("attribute 'element_shape_except0' is ", rest.ToString(),
                                   ", but the elements have rows of shape ", row.ToString());
  }
  MS_ASSIGN_OR_RETURN(const Tensor lengths,
                      frame->AllocateOutput(1, Shape({static_cast<int64_t>(pieces.size())})));
  int64_t total = 0;
  for (size_t i = 0; i < pieces.size(); ++i) {
    lengths.data<int64_t>()[i] = pieces[i].shape().dim(0);
    total += pieces[i].shape().dim(0);
  }
  MS_ASSIGN_OR_RETURN(const Tensor all, frame->AllocateOutput(0, ShapeOfRows(total, row)));
  int64_t begin = 0;
  for (const Tensor& piece : pieces) {
    MS_RETURN_IF_ERROR(CopyElements(piece, RowsOf(all, begin, piece.shape())));
    begin += piece.shape().dim(0);
  }
  return absl::OkStatus();
}

// The lengths are those of the elements, which are all rows of the value.
Status CheckLengths(const Tensor& value, const std::vector<int64_t>& lengths) {
  if (value.shape().rank() == 0) {
    return errors::InvalidArgument("Expected value to be at least a vector, but received shape: ",
                                   value.shape().ToString());
  }
  int64_t left = value.shape().dim(0);
  bool fits = true;
  for (const int64_t length : lengths) {
    fits = fits && length >= 0 && length <= left;
    if (fits) left -= length;
  }
  if (fits && left == 0) return absl::OkStatus();
  return errors::InvalidArgument(
      "Expected sum of lengths to be equal to values.shape[0], but lengths are [",
      absl::StrJoin(lengths, ", "), "] and value's shape is: ", value.shape().ToString());
}

Status Split(TensorArray* array, StructuralFrame* frame) {
  MS_RETURN_IF_ERROR(CheckWrite(*array, *frame, 1));
  const Tensor value = frame->BorrowInput(1);
  MS_ASSIGN_OR_RETURN(const std::vector<int64_t> lengths, VectorInput(*frame, 2));
  MS_RETURN_IF_ERROR(CheckLengths(value, lengths));
  const auto count = static_cast<int64_t>(lengths.size());
  const Status reserved = array->Reserve(count);
  MS_ASSIGN_OR_RETURN(const int64_t size, array->size());
  if (!reserved.ok() || size != count) {
    return errors::InvalidArgument(
        "TensorArray's size is not equal to the size of lengths (", size, " vs. ", count,
        "), and the TensorArray is not marked as dynamically resizeable");
  }
  const Shape row = RowShape(value);
  std::vector<Tensor> pieces;
  int64_t begin = 0;
  for (const int64_t length : lengths) {
    const Tensor piece = RowsOf(value, begin, ShapeOfRows(length, row));
    MS_ASSIGN_OR_RETURN(Tensor copy, piece.DeepCopy());
    pieces.push_back(std::move(copy));
    begin += length;
  }
  MS_ASSIGN_OR_RETURN(const std::vector<int64_t> indices, AllIndices(*array));
  MS_RETURN_IF_ERROR(array->Write(indices, pieces));
  return PassFlowOn(frame);
}

// ---- The whole array ----

Status Size(TensorArray* array, StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(const int64_t size, array->size());
  MS_ASSIGN_OR_RETURN(const Tensor output, frame->AllocateOutput(0, Shape()));
  *output.data<int32_t>() = static_cast<int32_t>(size);
  return absl::OkStatus();
}

Status Close(TensorArray* array, StructuralFrame*) {
  array->Close();
  return absl::OkStatus();
}

// A kernel that works on the array of its first input.
template <Status (*kFunction)(TensorArray*, StructuralFrame*)>
class OnArray final : public SyncHostKernel {
 public:
  Status Compute(StructuralFrame* frame) override {
    MS_ASSIGN_OR_RETURN(const ResourceRef<TensorArray> array, ArrayOf(*frame));
    return kFunction(array.get(), frame);
  }
};

MILLSTREAM_HOST_KERNEL("TensorArrayV2", MakeArrayKernel);
MILLSTREAM_HOST_KERNEL("TensorArrayV3", MakeArrayKernel);
MILLSTREAM_HOST_KERNEL("TensorArrayGradV2", MakeGradientKernel);
MILLSTREAM_HOST_KERNEL("TensorArrayGradV3", MakeGradientKernel);
MILLSTREAM_HOST_KERNEL("TensorArrayGradWithShape", MakeGradientKernel);
MILLSTREAM_HOST_KERNEL("TensorArrayWriteV2", OnArray<&Write>);
MILLSTREAM_HOST_KERNEL("TensorArrayWriteV3", OnArray<&Write>);
MILLSTREAM_HOST_KERNEL("TensorArrayReadV2", OnArray<&Read>);
MILLSTREAM_HOST_KERNEL("TensorArrayReadV3", OnArray<&Read>);
MILLSTREAM_HOST_KERNEL("TensorArrayScatterV2", OnArray<&Scatter>);
MILLSTREAM_HOST_KERNEL("TensorArrayScatterV3", OnArray<&Scatter>);
MILLSTREAM_HOST_KERNEL("TensorArrayGatherV2", OnArray<&Gather>);
MILLSTREAM_HOST_KERNEL("TensorArrayGatherV3", OnArray<&Gather>);
MILLSTREAM_HOST_KERNEL("TensorArrayConcatV2", OnArray<&Concat>);
MILLSTREAM_HOST_KERNEL("TensorArrayConcatV3", OnArray<&Concat>);
MILLSTREAM_HOST_KERNEL("TensorArraySplitV2", OnArray<&Split>);
MILLSTREAM_HOST_KERNEL("TensorArraySplitV3", OnArray<&Split>);
MILLSTREAM_HOST_KERNEL("TensorArraySizeV2", OnArray<&Size>);
MILLSTREAM_HOST_KERNEL("TensorArraySizeV3", OnArray<&Size>);
MILLSTREAM_HOST_KERNEL("TensorArrayCloseV2", OnArray<&Close>);
MILLSTREAM_HOST_KERNEL("TensorArrayCloseV3", OnArray<&Close>);

}  // namespace
}  // namespace millstream
