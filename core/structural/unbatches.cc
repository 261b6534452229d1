// The parts that steps have in the results of a batch (batches.cc), and the gradients of the parts.
// A kernel that must wait does so in the Unbatcher. It hears of the end of the step that it waits
// for.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/device/device_memory.h"
#include "core/resources/batch_members.h"
#include "core/resources/unbatcher.h"
#include "core/structural/batch_kernels.h"
#include "core/structural/host_kernel.h"
#include "core/structural/structural.h"
#include "core/structural/tensor_rows.h"

namespace millstream {
namespace {

// ---- What both ops have in common ----

// The rows of one step in a batch.
struct Part {
  int64_t id = 0;
  int64_t begin = 0;
  int64_t end = 0;
};

// The parts that argument i names, which must be rows of a tensor of so many.
StatusOr<std::vector<Part>> PartsAt(const StructuralFrame& frame, uint32_t i, int64_t rows) {
  const Tensor index = frame.BorrowInput(i);
  const Shape& shape = index.shape();
  if (shape.rank() != 2 || shape.dim(1) != kIndexColumns) {
    return errors::InvalidArgument("argument 'batch_index' must have shape [?,3], got ",
                                   shape.ToString());
  }
  std::vector<Part> parts;
  for (int64_t k = 0; k < shape.dim(0); ++k) {
    const int64_t* const row = index.data<int64_t>() + k * kIndexColumns;
    parts.push_back({row[0], row[1], row[2]});
    if (row[1] >= 0 && row[1] <= row[2] && row[2] <= rows) continue;
    return errors::InvalidArgument("argument 'batch_index': row ", k, " says [", row[1], ", ",
                                   row[2], "), which are no rows of a tensor of ", rows);
  }
  return parts;
}

StatusOr<int64_t> IdAt(const StructuralFrame& frame, uint32_t i) {
  if (frame.input_shape(i).rank() == 0) return frame.Integer(i);
  return errors::InvalidArgument("argument 'id' must be a scalar, got shape ",
                                 frame.input_shape(i).ToString());
}

Status CheckHasRows(const StructuralFrame& frame, uint32_t i) {
  if (frame.input_shape(i).rank() > 0) return absl::OkStatus();
  return errors::InvalidArgument("argument '", frame.call().InputName(static_cast<int>(i)),
                                 "' must have at least one dimension");
}

Status CheckIsOutput(const StructuralFrame& frame, const Tensor& tensor) {
  const DataType dtype = frame.call().output_type(0);
  if (tensor.dtype() == dtype) return absl::OkStatus();
  return errors::InvalidArgument("the step's part of the batch has type ",
                                 DataTypeName(tensor.dtype()), ", the op gives ",
                                 DataTypeName(dtype));
}

Status EndedBefore(const char* what) {
  return absl::AbortedError(absl::StrCat("another step of the batch ended before it gave ", what,
                                         ": it failed, was stopped, or does not compute it"));
}

class UnbatcherKernel : public AsyncHostKernel {
 public:
  Status Init(const HostKernelInfo& info) override {
    MS_ASSIGN_OR_RETURN(container_, info.Attr<std::string>("container"));
    MS_ASSIGN_OR_RETURN(name_, info.Attr<std::string>("shared_name"));
    if (name_.empty()) name_ = std::string(info.node_name());
    return absl::OkStatus();
  }
  void ComputeAsync(StructuralFrame frame, HostExecution execution) final {
    const Status begun = FindAndBegin(frame, execution);
    if (!begun.ok()) execution.End(begun);
  }
  void Cancel(const StructuralFrame& frame, HostExecution execution) final {
    const auto unbatcher = frame.step_container()->manager()->Lookup<Unbatcher>(container_, key());
    if (unbatcher.ok()) (*unbatcher)->Cancel(execution.id());
  }

 protected:
  struct Shared {
    ResourceRef<Unbatcher> unbatcher;
    ResourceRef<BatchMembers> members;
  };
  // `suffix` keeps the names of one kind of op from those of another.
  explicit UnbatcherKernel(const char* suffix) : suffix_(suffix) {}
  // Begins an execution, which it has not ended where it gives an error.
  virtual Status Begin(const Shared& shared, StructuralFrame frame,
                       HostExecution execution) const = 0;
  const std::string& name() const { return name_; }

 private:
  std::string key() const { return absl::StrCat(name_, suffix_); }
  Status FindAndBegin(const StructuralFrame& frame, HostExecution execution) const {
    ResourceManager* const resources = frame.step_container()->manager();
    Shared shared;
    MS_ASSIGN_OR_RETURN(shared.members, BatchMembers::Of(resources));
    MS_ASSIGN_OR_RETURN(shared.unbatcher,
                        resources->LookupOrCreate<Unbatcher>(
                            container_, key(), [&]() -> StatusOr<ResourceRef<Unbatcher>> {
                              return MakeResource<Unbatcher>(name_);
                            }));
    return Begin(shared, frame, execution);
  }

  const char* const suffix_;
  std::string container_;
  std::string name_;
};

// ---- Unbatch ----

class UnbatchKernel final : public UnbatcherKernel {
 public:
  UnbatchKernel() : UnbatcherKernel("") {}
  Status Init(const HostKernelInfo& info) override {
    MS_ASSIGN_OR_RETURN(limit_, LimitOf(info, "timeout_micros"));
    return UnbatcherKernel::Init(info);
  }
  std::string WaitsFor(const StructuralFrame&) const override {
    return WaitText("its part of", "unbatch", name(), limit_);
  }

 private:
  Status Begin(const Shared& shared, StructuralFrame frame,
               HostExecution execution) const override {
    MS_RETURN_IF_ERROR(CheckHasRows(frame, 0));
    const int64_t rows = frame.input_shape(0).dim(0);
    MS_ASSIGN_OR_RETURN(const std::vector<Part> parts, PartsAt(frame, 1, rows));
    MS_ASSIGN_OR_RETURN(const int64_t id, IdAt(frame, 2));
    if (parts.empty() && rows > 0) {
      return errors::InvalidArgument(
          "argument 'batched_tensor': batch_index is empty while the tensor isn't.");
    }
    bool has_own = false;
    if (!parts.empty()) {
      MS_ASSIGN_OR_RETURN(has_own, GiveParts(shared, &frame, parts, id));
      shared.members->Finish(id);
    }
    if (has_own) {
      execution.End(absl::OkStatus());
    } else {
      TakePart(shared, frame, execution, id);
    }
    return absl::OkStatus();
  }

  // Gives the steps of a batch their parts. True if one of them is this step's own.
  StatusOr<bool> GiveParts(const Shared& shared, StructuralFrame* frame,
                           const std::vector<Part>& parts, int64_t id) const {
    MS_ASSIGN_OR_RETURN(const Tensor all, frame->InputTensor(0));
    bool has_own = false;
    for (const Part& part : parts) {
      const int64_t count = part.end - part.begin;
      Tensor rows = RowsOf(all, part.begin, ShapeOfRows(count, RowShape(all)));
      if (part.id == id) {
        MS_RETURN_IF_ERROR(frame->SetOutput(0, rows));
        has_own = true;
        continue;
      }
      // A part of its own memory: the others need not keep the batch.
      MS_ASSIGN_OR_RETURN(rows, rows.DeepCopy());
      MS_RETURN_IF_ERROR(shared.unbatcher->Give(part.id, std::move(rows), limit_));
      shared.members->WhenEnds(
          part.id, [unbatcher = shared.unbatcher, of = part.id] { unbatcher->Forget(of); });
    }
    return has_own;
  }

  // The execution may have ended when this returns.
  void TakePart(const Shared& shared, const StructuralFrame& frame, HostExecution execution,
                int64_t id) const {
    const int64_t runner = shared.members->RunnerOf(id);
    const auto taken = std::make_shared<std::vector<Tensor>>();
    shared.unbatcher->Take(execution.id(), {id}, limit_, taken.get(),
                           [frame, execution, taken](const Status& status) {
                             execution.End(status.ok() ? SetPart(frame, (*taken)[0]) : status);
                           });
    if (runner == id) return;
    shared.members->WhenEnds(runner, [unbatcher = shared.unbatcher, id] {
      unbatcher->Fail(id, EndedBefore("this step's part"));
    });
  }

  static Status SetPart(StructuralFrame frame, const Tensor& part) {
    MS_RETURN_IF_ERROR(CheckIsOutput(frame, part));
    return frame.SetOutput(0, part);
  }

  absl::Duration limit_;
};

// ---- UnbatchGrad ----

class UnbatchGradKernel final : public UnbatcherKernel {
 public:
  UnbatchGradKernel() : UnbatcherKernel("/gradients") {}
  std::string WaitsFor(const StructuralFrame&) const override {
    return WaitText("the gradients of", "unbatch", name(), absl::InfiniteDuration());
  }

 private:
  Status Begin(const Shared& shared, StructuralFrame frame,
               HostExecution execution) const override {
    for (const uint32_t i : {0u, 2u}) MS_RETURN_IF_ERROR(CheckHasRows(frame, i));
    MS_ASSIGN_OR_RETURN(std::vector<Part> parts, PartsAt(frame, 1, frame.input_shape(0).dim(0)));
    MS_ASSIGN_OR_RETURN(const int64_t id, IdAt(frame, 3));
    MS_ASSIGN_OR_RETURN(Tensor grad, frame.InputTensor(2));
    if (!IsPlainData(grad.dtype())) {
      return errors::InvalidArgument("argument 'grad' has type ", DataTypeName(grad.dtype()),
                                     ", which is no type of numbers");
    }
    if (parts.empty()) {
      MS_RETURN_IF_ERROR(SetNoRows(frame, 0, 0));
      MS_RETURN_IF_ERROR(Give(shared, std::move(grad), id));
      execution.End(absl::OkStatus());
      return absl::OkStatus();
    }
    const bool has_own =
        std::any_of(parts.begin(), parts.end(), [id](const Part& part) { return part.id == id; });
    if (!has_own) {
      return errors::InvalidArgument("argument 'batch_index' has no row of 'id' ", id);
    }
    MS_RETURN_IF_ERROR(shared.unbatcher->Give(id, std::move(grad), absl::InfiniteDuration()));
    TakeAll(shared, frame, execution, std::move(parts), id);
    return absl::OkStatus();
  }

  // Leaves the gradient for the step that runs the batch.
  static Status Give(const Shared& shared, Tensor grad, int64_t id) {
    const int64_t runner = shared.members->RunnerOf(id);
    MS_RETURN_IF_ERROR(shared.unbatcher->Give(id, std::move(grad), absl::InfiniteDuration()));
    if (runner == id) return absl::OkStatus();
    shared.members->WhenEnds(runner, [unbatcher = shared.unbatcher, id] { unbatcher->Forget(id); });
    return absl::OkStatus();
  }

  // The execution may have ended when this returns.
  static void TakeAll(const Shared& shared, const StructuralFrame& frame, HostExecution execution,
                      std::vector<Part> parts, int64_t id) {
    std::vector<int64_t> ids;
    for (const Part& part : parts) ids.push_back(part.id);
    const auto taken = std::make_shared<std::vector<Tensor>>();
    shared.unbatcher->Take(
        execution.id(), ids, absl::InfiniteDuration(), taken.get(),
        [frame, execution, parts = std::move(parts), taken](const Status& status) {
          execution.End(status.ok() ? SetGradient(frame, parts, *taken) : status);
        });
    for (const int64_t other : ids) {
      if (other == id) {
        shared.members->WhenEnds(id, [unbatcher = shared.unbatcher, id] { unbatcher->Forget(id); });
        continue;
      }
      shared.members->WhenEnds(other, [unbatcher = shared.unbatcher, other] {
        unbatcher->Fail(other, EndedBefore("its gradient"));
      });
    }
  }

  // Rows that no step has, which fill the batch up, have no gradient.
  static Status SetGradient(StructuralFrame frame, const std::vector<Part>& parts,
                            const std::vector<Tensor>& grads) {
    Shape shape = frame.input_shape(2);
    shape.set_dim(0, frame.input_shape(0).dim(0));
    MS_ASSIGN_OR_RETURN(const Tensor all, frame.AllocateOutput(0, shape));
    if (all.bytes() > 0) std::memset(all.raw(), 0, all.bytes());
    for (size_t i = 0; i < parts.size(); ++i) {
      MS_RETURN_IF_ERROR(CheckIsOutput(frame, grads[i]));
      const Shape rows = ShapeOfRows(parts[i].end - parts[i].begin, RowShape(all));
      if (grads[i].shape() != rows) {
        return errors::InvalidArgument("argument 'grad' of step ", i, " of the batch has shape ",
                                       grads[i].shape().ToString(), ", its part has ",
                                       rows.ToString());
      }
      MS_RETURN_IF_ERROR(CopyElements(grads[i], RowsOf(all, parts[i].begin, rows)));
    }
    return absl::OkStatus();
  }
};

MILLSTREAM_HOST_KERNEL("Unbatch", UnbatchKernel);
MILLSTREAM_HOST_KERNEL("UnbatchGrad", UnbatchGradKernel);

}  // namespace
}  // namespace millstream
