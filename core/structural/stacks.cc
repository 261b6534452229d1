// Stacks of tensors, which live for a step. A session's resource says what a node's stack may hold;
// what it holds is a resource of the step. All elements are in host memory.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "core/resources/resource_handle.h"
#include "core/structural/host_kernel.h"
#include "core/structural/structural.h"

namespace millstream {
namespace {

// What all steps of a session share. Constant.
class Stack final : public Resource {
 public:
  static constexpr char kType[] = "Stack";
  Stack(std::string name, DataType dtype, int64_t max_size)
      : Resource(kType), name_(std::move(name)), dtype_(dtype), max_size_(max_size) {}
  const std::string& name() const { return name_; }
  DataType dtype() const { return dtype_; }
  int64_t max_size() const { return max_size_; }  // negative: no limit
  void Drop() override {}

 private:
  const std::string name_;
  const DataType dtype_;
  const int64_t max_size_;
};

// What is on a stack in one step. Thread-safe.
class StackElements final : public Resource {
 public:
  static constexpr char kType[] = "StackElements";
  StackElements() : Resource(kType) {}

  Status Push(const Stack& stack, Tensor element) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    MS_RETURN_IF_ERROR(CheckOpen(stack));
    if (stack.max_size() >= 0 && static_cast<int64_t>(elements_.size()) >= stack.max_size()) {
      return errors::InvalidArgument("Stack[", stack.name(), "] overflowed its max_size (",
                                     stack.max_size(), ")");
    }
    elements_.push_back(std::move(element));
    return absl::OkStatus();
  }
  StatusOr<Tensor> Pop(const Stack& stack) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    MS_RETURN_IF_ERROR(CheckOpen(stack));
    if (elements_.empty()) {
      return errors::InvalidArgument("Stack[", stack.name(), "] is empty when calling Pop().");
    }
    Tensor element = std::move(elements_.back());
    elements_.pop_back();
    return element;
  }
  void Close() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    is_closed_ = true;
    elements_.clear();
  }
  void Drop() override { Close(); }

 private:
  Status CheckOpen(const Stack& stack) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!is_closed_) return absl::OkStatus();
    return errors::InvalidArgument("Stack[", stack.name(), "] has already been closed.");
  }

  absl::Mutex mutex_;
  std::vector<Tensor> elements_ ABSL_GUARDED_BY(mutex_);
  bool is_closed_ ABSL_GUARDED_BY(mutex_) = false;
};

// The handle is known before a step runs, so the size has to be a constant.
StatusOr<int64_t> MaxSize(const Node& stack) {
  const Node* source = stack.origin()->input(0).node;
  while (source->op().name == "Identity") source = source->input(0).node;
  if (source->op().name != "Const") {
    return errors::Unimplemented("argument 'max_size' must be a constant, got ",
                                 source->Describe());
  }
  MS_ASSIGN_OR_RETURN(const Tensor value, source->Attr<Tensor>("value"));
  MS_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, IntegerValues(value));
  if (sizes.size() == 1) return sizes[0];
  return errors::InvalidArgument("argument 'max_size' must be a scalar, got shape ",
                                 value.shape().ToString());
}

StatusOr<ResourceRef<Resource>> FindStack(const Node& node, ResourceManager* resources) {
  MS_ASSIGN_OR_RETURN(const DataType dtype, node.Attr<DataType>("elem_type"));
  MS_ASSIGN_OR_RETURN(const std::string given_name, node.Attr<std::string>("stack_name"));
  MS_ASSIGN_OR_RETURN(const int64_t max_size, MaxSize(node));
  if (dtype == DataType::kResource) {
    return errors::Unimplemented("attribute 'elem_type': a stack holds no resource handles");
  }
  // Another graph of the session may have a node of this name.
  const std::string key =
      absl::StrCat(node.name(), "/", DataTypeName(dtype), "/", max_size, "/", given_name);
  MS_ASSIGN_OR_RETURN(
      ResourceRef<Stack> stack,
      resources->LookupOrCreate<Stack>("", key, [&]() -> StatusOr<ResourceRef<Stack>> {
        return MakeResource<Stack>(given_name.empty() ? node.name() : given_name, dtype, max_size);
      }));
  return ResourceRef<Resource>(std::move(stack));
}

// The stack of input 0, with what it holds in this step.
struct StackOfStep {
  const Stack* stack = nullptr;
  ResourceRef<StackElements> elements;
};

StatusOr<StackOfStep> StackAt(const StructuralFrame& frame) {
  const auto* const stack = ResourceAs<Stack>(frame.handle(0));
  if (stack == nullptr) {
    return errors::InvalidArgument("argument 'handle' is no handle of a stack");
  }
  StepContainer* const container = frame.step_container();
  // The address is that of one node's stack for as long as the step runs.
  const std::string name = absl::StrCat(reinterpret_cast<uintptr_t>(stack));
  MS_ASSIGN_OR_RETURN(ResourceRef<StackElements> elements,
                      container->manager()->LookupOrCreate<StackElements>(
                          container->Name(), name, []() -> StatusOr<ResourceRef<StackElements>> {
                            return MakeResource<StackElements>();
                          }));
  return StackOfStep{stack, std::move(elements)};
}

Status CheckType(const Stack& stack, DataType dtype) {
  if (dtype == stack.dtype()) return absl::OkStatus();
  return errors::InvalidArgument("Stack[", stack.name(), "] has elements of type ",
                                 DataTypeName(stack.dtype()), ", the op has ", DataTypeName(dtype));
}

Status Push(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(const StackOfStep at, StackAt(*frame));
  MS_ASSIGN_OR_RETURN(const Tensor element, frame->InputTensor(1));
  MS_RETURN_IF_ERROR(CheckType(*at.stack, element.dtype()));
  MS_RETURN_IF_ERROR(at.elements->Push(*at.stack, element));
  return frame->SetOutput(0, element);
}

Status Pop(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(const StackOfStep at, StackAt(*frame));
  MS_RETURN_IF_ERROR(CheckType(*at.stack, frame->call().output_type(0)));
  MS_ASSIGN_OR_RETURN(const Tensor element, at.elements->Pop(*at.stack));
  return frame->SetOutput(0, element);
}

Status Close(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(const StackOfStep at, StackAt(*frame));
  at.elements->Close();
  return absl::OkStatus();
}

MILLSTREAM_RESOURCE_HANDLE("StackV2", FindStack);
MILLSTREAM_STRUCTURAL("StackV2", StructuralRole::kHandle, nullptr);
MILLSTREAM_HOST_KERNEL("StackPushV2", HostFunction<&Push>);
MILLSTREAM_HOST_KERNEL("StackPopV2", HostFunction<&Pop>);
MILLSTREAM_HOST_KERNEL("StackCloseV2", HostFunction<&Close>);

}  // namespace
}  // namespace millstream
