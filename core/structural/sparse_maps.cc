// Maps that keep sparse tensors between steps, under numbers. Nodes have no handle of a map: they
// find it by its name.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "core/resources/resource.h"
#include "core/resources/resource_manager.h"
#include "core/structural/host_kernel.h"
#include "core/structural/sparse_parts.h"
#include "core/structural/structural.h"

namespace millstream {
namespace {

// Thread-safe.
class SparseTensorsMap final : public Resource {
 public:
  static constexpr char kType[] = "SparseTensorsMap";

  explicit SparseTensorsMap(std::string name) : Resource(kType), name_(std::move(name)) {}

  // Gives the number of the tensor. REQUIRES: nobody changes the tensors any more.
  int64_t Add(SparseParts parts) ABSL_LOCKS_EXCLUDED(mutex_) {
    const absl::MutexLock lock(&mutex_);
    tensors_.emplace(next_, std::move(parts));
    return next_++;
  }

  // Removes the tensors with these numbers, and gives them in their order. If there is an error,
  // it removes none. A number that stands twice is an error: its tensor is gone the second time.
  StatusOr<std::vector<SparseParts>> Take(absl::Span<const int64_t> numbers)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    const absl::MutexLock lock(&mutex_);
    std::vector<SparseParts> found;
    found.reserve(numbers.size());
    absl::flat_hash_set<int64_t> seen;
    for (const int64_t number : numbers) {
      const auto it = tensors_.find(number);
      if (it == tensors_.end() || !seen.insert(number).second) {
        return errors::InvalidArgument(
            "argument 'sparse_handles': Unable to find SparseTensor: ", number, " in map: ", name_);
      }
      found.push_back(it->second);
    }
    for (const int64_t number : numbers) tensors_.erase(number);
    return found;
  }

  void Drop() override ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::flat_hash_map<int64_t, SparseParts> dropped;  // freed after the lock
    const absl::MutexLock lock(&mutex_);
    dropped.swap(tensors_);
  }

 private:
  const std::string name_;
  absl::Mutex mutex_;
  int64_t next_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::flat_hash_map<int64_t, SparseParts> tensors_ ABSL_GUARDED_BY(mutex_);
};

class OnMap : public SyncHostKernel {
 public:
  Status Init(const HostKernelInfo& info) override {
    MS_ASSIGN_OR_RETURN(container_, info.Attr<std::string>("container"));
    MS_ASSIGN_OR_RETURN(name_, info.Attr<std::string>("shared_name"));
    if (name_.empty()) name_ = std::string(info.node_name());
    return absl::OkStatus();
  }

 protected:
  StatusOr<ResourceRef<SparseTensorsMap>> Map(const StructuralFrame& frame) const {
    return frame.step_container()->manager()->LookupOrCreate<SparseTensorsMap>(
        container_, name_, [&]() -> StatusOr<ResourceRef<SparseTensorsMap>> {
          return MakeResource<SparseTensorsMap>(name_);
        });
  }

 private:
  std::string container_;
  std::string name_;
};

class AddKernel final : public OnMap {
 public:
  Status Compute(StructuralFrame* frame) override {
    MS_RETURN_IF_ERROR(SparseInput(*frame).status());
    SparseParts parts;
    MS_ASSIGN_OR_RETURN(parts.indices, frame->InputTensor(0));
    MS_ASSIGN_OR_RETURN(parts.values, frame->InputTensor(1));
    MS_ASSIGN_OR_RETURN(parts.shape, frame->InputTensor(2));
    MS_ASSIGN_OR_RETURN(const ResourceRef<SparseTensorsMap> map, Map(*frame));
    MS_ASSIGN_OR_RETURN(const Tensor output, frame->AllocateOutput(0, Shape()));
    *output.data<int64_t>() = map->Add(std::move(parts));
    return absl::OkStatus();
  }
};

class AddManyKernel final : public OnMap {
 public:
  Status Compute(StructuralFrame* frame) override {
    MS_ASSIGN_OR_RETURN(const SparseParts parts, SparseInput(*frame));
    MS_ASSIGN_OR_RETURN(const int64_t rows, SparseRowCount(parts));
    MS_ASSIGN_OR_RETURN(const ResourceRef<SparseTensorsMap> map, Map(*frame));
    MS_ASSIGN_OR_RETURN(const Tensor output, frame->AllocateOutput(0, Shape({rows})));
    return ForEachSparseRow(parts, [&](int64_t row, SparseParts part) -> Status {
      output.data<int64_t>()[row] = map->Add(std::move(part));
      return absl::OkStatus();
    });
  }
};

class TakeManyKernel final : public OnMap {
 public:
  Status Compute(StructuralFrame* frame) override {
    const Tensor handles = frame->BorrowInput(0);
    if (handles.shape().rank() != 1 || handles.num_elements() == 0) {
      return errors::InvalidArgument("argument 'sparse_handles' must be a vector of one number or ",
                                     "more, got shape ", handles.shape().ToString());
    }
    MS_ASSIGN_OR_RETURN(const ResourceRef<SparseTensorsMap> map, Map(*frame));
    MS_ASSIGN_OR_RETURN(const std::vector<SparseParts> found, map->Take(handles.flat<int64_t>()));
    const DataType dtype = frame->call().output_type(1);
    for (size_t i = 0; i < found.size(); ++i) {
      if (found[i].values.dtype() != dtype) {
        return errors::InvalidArgument("Requested SparseTensor of type ", DataTypeName(dtype),
                                       " but SparseTensor[", i, "] has type ",
                                       DataTypeName(found[i].values.dtype()));
      }
      if (found[i].rank() != found[0].rank()) {
        return errors::InvalidArgument("Inconsistent rank across SparseTensors: rank prior to ",
                                       "SparseTensor[", i, "] was: ", found[0].rank(),
                                       " but rank of SparseTensor[", i, "] is: ", found[i].rank());
      }
    }
    return SetJoined(frame, handles.shape(), found);
  }
};

MILLSTREAM_HOST_KERNEL("AddSparseToTensorsMap", AddKernel);
MILLSTREAM_HOST_KERNEL("AddManySparseToTensorsMap", AddManyKernel);
MILLSTREAM_HOST_KERNEL("TakeManySparseFromTensorsMap", TakeManyKernel);

}  // namespace
}  // namespace millstream
