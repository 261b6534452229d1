// Tensors that a session keeps between steps, by handles that are texts.
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/mutex.h"
#include "core/resources/resource_manager.h"
#include "core/resources/run_time_handle.h"
#include "core/structural/host_kernel.h"
#include "core/structural/structural.h"

namespace millstream {
namespace {

constexpr char kName[] = "_session_tensors";

// Thread-safe.
class SessionTensors final : public Resource {
 public:
  static constexpr char kType[] = "SessionTensors";
  SessionTensors() : Resource(kType) {}

  int64_t Add(Tensor tensor) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    tensors_.emplace(++last_, std::move(tensor));
    return last_;
  }
  // No value if there is none.
  Tensor Find(int64_t number) const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    const auto found = tensors_.find(number);
    return found == tensors_.end() ? Tensor() : found->second;
  }
  bool Delete(int64_t number) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return tensors_.erase(number) > 0;
  }
  void Drop() override ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    tensors_.clear();
  }

 private:
  mutable absl::Mutex mutex_;
  std::map<int64_t, Tensor> tensors_ ABSL_GUARDED_BY(mutex_);
  int64_t last_ ABSL_GUARDED_BY(mutex_) = 0;
};

StatusOr<ResourceRef<SessionTensors>> Kept(const StructuralFrame& frame) {
  return frame.step_container()->manager()->LookupOrCreate<SessionTensors>(
      "", kName,
      []() -> StatusOr<ResourceRef<SessionTensors>> { return MakeResource<SessionTensors>(); });
}

// "GetSessionHandle;7;/job:localhost/replica:0/task:0/device:CPU:0", of input 0.
StatusOr<std::string> HandleAt(const StructuralFrame& frame) {
  if (frame.input_shape(0).rank() == 0) return *frame.BorrowInput(0).data<std::string>();
  return errors::InvalidArgument("argument 'handle' must be a scalar, got shape ",
                                 frame.input_shape(0).ToString());
}

// The number in a handle; -1 if it is none.
int64_t NumberIn(const std::string& handle) {
  const std::vector<std::string> parts = absl::StrSplit(handle, ';');
  int64_t number = -1;
  return parts.size() == 3 && absl::SimpleAtoi(parts[1], &number) ? number : -1;
}

Status NotKept(const std::string& handle) {
  return errors::InvalidArgument("argument 'handle': The tensor with handle '",
                                 absl::CHexEscape(handle), "' is not in the session store.");
}

class GetSessionHandleKernel final : public SyncHostKernel {
 public:
  Status Init(const HostKernelInfo& info) override {
    device_ = std::string(info.device_name());
    return absl::OkStatus();
  }
  Status Compute(StructuralFrame* frame) override {
    MS_ASSIGN_OR_RETURN(Tensor value, frame->InputTensor(0));
    MS_ASSIGN_OR_RETURN(const ResourceRef<SessionTensors> kept, Kept(*frame));
    MS_ASSIGN_OR_RETURN(const Tensor handle, frame->AllocateOutput(0, Shape()));
    *handle.data<std::string>() =
        absl::StrCat("GetSessionHandle;", kept->Add(std::move(value)), ";", device_);
    return absl::OkStatus();
  }

 private:
  std::string device_;
};

// One of the session's tensors, as long as something holds its handle.
class KeptTensor final : public Resource {
 public:
  static constexpr char kType[] = "SessionTensor";
  KeptTensor(ResourceRef<SessionTensors> kept, int64_t number)
      : Resource(kType), kept_(std::move(kept)), number_(number) {}
  void Drop() override { kept_->Delete(number_); }

 private:
  ~KeptTensor() override { kept_->Delete(number_); }

  const ResourceRef<SessionTensors> kept_;
  const int64_t number_;
};

Status GetSessionHandleV2(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(Tensor value, frame->InputTensor(0));
  MS_ASSIGN_OR_RETURN(const ResourceRef<SessionTensors> kept, Kept(*frame));
  const int64_t number = kept->Add(std::move(value));
  MS_ASSIGN_OR_RETURN(const Tensor handle,
                      MakeRunTimeHandle(MakeResource<KeptTensor>(kept, number)));
  return frame->SetOutput(0, handle);
}

Status GetSessionTensor(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(const std::string handle, HandleAt(*frame));
  MS_ASSIGN_OR_RETURN(const ResourceRef<SessionTensors> kept, Kept(*frame));
  const Tensor value = kept->Find(NumberIn(handle));
  if (!value.has_value()) return NotKept(handle);
  const DataType dtype = frame->call().output_type(0);
  if (value.dtype() == dtype) return frame->SetOutput(0, value);
  return errors::InvalidArgument("the tensor with handle '", absl::CHexEscape(handle),
                                 "' has type ", DataTypeName(value.dtype()), ", the op gives ",
                                 DataTypeName(dtype));
}

Status DeleteSessionTensor(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(const std::string handle, HandleAt(*frame));
  MS_ASSIGN_OR_RETURN(const ResourceRef<SessionTensors> kept, Kept(*frame));
  return kept->Delete(NumberIn(handle)) ? absl::OkStatus() : NotKept(handle);
}

MILLSTREAM_HOST_KERNEL("GetSessionHandle", GetSessionHandleKernel);
MILLSTREAM_HOST_KERNEL("GetSessionHandleV2", HostFunction<&GetSessionHandleV2>);
MILLSTREAM_HOST_KERNEL("GetSessionTensor", HostFunction<&GetSessionTensor>);
MILLSTREAM_HOST_KERNEL("DeleteSessionTensor", HostFunction<&DeleteSessionTensor>);

}  // namespace
}  // namespace millstream
