// Batches of the tensors of several steps. Their nodes have no handles: they find the batcher by
// its name. A kernel that must wait does so there. One step of a batch, the runner, gets all
// tensors; the others get none, and wait in Unbatch for their parts of what becomes of them
// (unbatches.cc).
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/resources/batch_members.h"
#include "core/resources/batcher.h"
#include "core/structural/batch_kernels.h"
#include "core/structural/host_kernel.h"
#include "core/structural/structural.h"

namespace millstream {
namespace {

// The number of results for which a batch is waited, on nodes that stand for a BatchFunction.
constexpr char kResultsAttr[] = "_batch_results";

Status CheckSizes(const BatcherSpec& spec) {
  if (spec.num_batch_threads < 1) {
    return errors::InvalidArgument("attribute 'num_batch_threads' must be positive; was ",
                                   spec.num_batch_threads);
  }
  if (spec.max_batch_size < 1) {
    return errors::InvalidArgument("attribute 'max_batch_size' must be positive; was ",
                                   spec.max_batch_size);
  }
  if (spec.max_enqueued_batches < 0) {
    return errors::InvalidArgument("attribute 'max_enqueued_batches' must be non-negative; was ",
                                   spec.max_enqueued_batches);
  }
  const std::vector<int64_t>& allowed = spec.allowed_batch_sizes;
  int64_t least = 1;
  for (const int64_t size : allowed) {
    if (size < least) {
      return errors::InvalidArgument(
          "attribute 'allowed_batch_sizes': entries must be positive and monotonically increasing");
    }
    least = size + 1;
  }
  if (allowed.empty() || allowed.back() == spec.max_batch_size) return absl::OkStatus();
  return errors::InvalidArgument("attribute 'allowed_batch_sizes': the final entry must equal ",
                                 "max_batch_size, ", spec.max_batch_size, "; was ", allowed.back());
}

// Puts a batch together and gives it to the last of its steps.
void RunBatch(const ResourceRef<BatchMembers>& members, const ResourceRef<Batcher>& batcher,
              const Batcher::Tasks& tasks) {
  const int64_t results = batcher->spec().num_results;
  const StatusOr<std::vector<Tensor>> joined = JoinTasks(batcher->spec(), tasks);
  if (!joined.ok()) {
    for (const BatchTask& task : tasks) task.done(joined.status(), {}, {});
    if (results > 0) batcher->Release();
    return;
  }
  std::vector<int64_t> ids;
  for (const BatchTask& task : tasks) ids.push_back(task.id);
  BatchMembers::Heard ran;
  if (results > 0) ran = [batcher] { batcher->Release(); };
  members->Join(ids, ids.back(), results, std::move(ran));
  for (size_t i = 0; i + 1 < tasks.size(); ++i) tasks[i].done(absl::OkStatus(), {}, {});
  tasks.back().done(absl::OkStatus(), *joined, IndexOf(tasks));
}

class BatchKernel final : public AsyncHostKernel {
 public:
  Status Init(const HostKernelInfo& info) override {
    MS_ASSIGN_OR_RETURN(container_, info.Attr<std::string>("container"));
    MS_ASSIGN_OR_RETURN(name_, info.Attr<std::string>("shared_name"));
    if (name_.empty()) name_ = std::string(info.node_name());
    MS_ASSIGN_OR_RETURN(queue_, info.Attr<std::string>("batching_queue"));
    MS_ASSIGN_OR_RETURN(spec_.num_batch_threads, info.Attr<int64_t>("num_batch_threads"));
    MS_ASSIGN_OR_RETURN(spec_.max_batch_size, info.Attr<int64_t>("max_batch_size"));
    MS_ASSIGN_OR_RETURN(spec_.max_enqueued_batches, info.Attr<int64_t>("max_enqueued_batches"));
    MS_ASSIGN_OR_RETURN(spec_.timeout, LimitOf(info, "batch_timeout_micros"));
    MS_ASSIGN_OR_RETURN(spec_.allowed_batch_sizes,
                        info.Attr<std::vector<int64_t>>("allowed_batch_sizes"));
    MS_ASSIGN_OR_RETURN(spec_.dtypes, info.Attr<DataTypeList>("T"));
    spec_.num_results = info.Attr<int64_t>(kResultsAttr).value_or(0);
    return CheckSizes(spec_);
  }
  void ComputeAsync(StructuralFrame frame, HostExecution execution) override {
    const Status begun = Begin(frame, execution);
    if (!begun.ok()) execution.End(begun);
  }
  void Cancel(const StructuralFrame& frame, HostExecution execution) override {
    const auto batcher = frame.step_container()->manager()->Lookup<Batcher>(container_, name_);
    if (batcher.ok()) (*batcher)->Cancel(execution.id());
  }
  std::string WaitsFor(const StructuralFrame&) const override {
    return WaitText("more tensors for", "batch", name_, spec_.timeout);
  }

 private:
  // After an error the execution has not ended.
  Status Begin(const StructuralFrame& frame, HostExecution execution) const {
    BatchTask task;
    task.ticket = execution.id();
    MS_ASSIGN_OR_RETURN(task.tensors, TensorsOf(frame));
    ResourceManager* const resources = frame.step_container()->manager();
    MS_ASSIGN_OR_RETURN(const ResourceRef<BatchMembers> members, BatchMembers::Of(resources));
    MS_ASSIGN_OR_RETURN(const ResourceRef<Batcher> batcher, Find(resources, members));
    MS_ASSIGN_OR_RETURN(task.id, members->Add(frame.step_container()));
    task.done = [frame, execution, id = task.id](const Status& status,
                                                 const std::vector<Tensor>& batched,
                                                 const std::vector<int64_t>& index) {
      execution.End(status.ok() ? SetOutputs(frame, id, batched, index) : status);
    };
    return batcher->Add(queue_, std::move(task));
  }

  static StatusOr<std::vector<Tensor>> TensorsOf(const StructuralFrame& frame) {
    std::vector<Tensor> tensors;
    for (uint32_t i = 0; i < frame.num_inputs(); ++i) {
      const Shape shape = frame.input_shape(i);
      if (shape.rank() == 0) {
        return errors::InvalidArgument(
            "argument 'in_tensors': Batching input tensors must have at least one dimension");
      }
      if (shape.dim(0) != frame.input_shape(0).dim(0)) {
        return errors::InvalidArgument(
            "argument 'in_tensors': Batching input tensors supplied in a given op invocation must "
            "have equal 0th-dimension size, got ",
            frame.input_shape(0).dim(0), " and ", shape.dim(0));
      }
      MS_ASSIGN_OR_RETURN(Tensor tensor, frame.InputTensor(i));
      tensors.push_back(std::move(tensor));
    }
    return tensors;
  }

  StatusOr<ResourceRef<Batcher>> Find(ResourceManager* resources,
                                      const ResourceRef<BatchMembers>& members) const {
    MS_ASSIGN_OR_RETURN(ResourceRef<Batcher> batcher,
                        resources->LookupOrCreate<Batcher>(
                            container_, name_, [&]() -> StatusOr<ResourceRef<Batcher>> {
                              return MakeResource<Batcher>(name_, spec_,
                                                           [members](const ResourceRef<Batcher>& of,
                                                                     const Batcher::Tasks& tasks) {
                                                             RunBatch(members, of, tasks);
                                                           });
                            }));
    if (batcher->spec() == spec_) return batcher;
    return errors::InvalidArgument("attribute 'shared_name': batcher '", name_,
                                   "' has other types, sizes or time limits");
  }

  static Status SetOutputs(StructuralFrame frame, int64_t id, const std::vector<Tensor>& batched,
                           const std::vector<int64_t>& index) {
    const uint32_t count = frame.num_inputs();
    for (uint32_t i = 0; i < count; ++i) {
      MS_RETURN_IF_ERROR(batched.empty() ? SetNoRows(frame, i, i) : frame.SetOutput(i, batched[i]));
    }
    const auto rows = static_cast<int64_t>(index.size()) / kIndexColumns;
    MS_ASSIGN_OR_RETURN(const Tensor given, frame.AllocateOutput(count, {rows, kIndexColumns}));
    std::copy(index.begin(), index.end(), given.data<int64_t>());
    MS_ASSIGN_OR_RETURN(const Tensor number, frame.AllocateOutput(count + 1, Shape()));
    *number.data<int64_t>() = id;
    return absl::OkStatus();
  }

  std::string container_;
  std::string name_;
  std::string queue_;
  BatcherSpec spec_;
};

MILLSTREAM_HOST_KERNEL("Batch", BatchKernel);

}  // namespace
}  // namespace millstream
