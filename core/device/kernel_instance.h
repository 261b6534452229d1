// The kernel of one node in one session: its state, which all steps share. A call without a node
// has one of its own.
#ifndef MILLSTREAM_CORE_DEVICE_KERNEL_INSTANCE_H_
#define MILLSTREAM_CORE_DEVICE_KERNEL_INSTANCE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "core/device/random_stream.h"
#include "core/graph/graph.h"
#include "framework/build_turns.h"
#include "framework/op_call.h"
#include "framework/plugin/kernel_registry.h"
#include "framework/plugin/plugin.h"
#include "framework/plugin/running_code.h"
#include "framework/status.h"

namespace millstream {

// The context of a device that no plugin has.
extern const MS_DeviceContext kNoDevice;

// Sets the fields of the frame that belong to the device.
void FillFrame(const MS_DeviceContext& device, MS_Frame* frame);

// Constant after creation, except for the random stream. Thread-safe.
class KernelInstance {
 public:
  // Creates the state of the kernel `registration`. Errors do not say whose call it is. What the
  // call is a view of, and `device`, must outlive the kernel.
  static StatusOr<std::unique_ptr<KernelInstance>> Create(const OpCall& call,
                                                          const KernelRegistration* registration,
                                                          absl::string_view device_name,
                                                          const MS_DeviceContext* device);
  ~KernelInstance();
  KernelInstance(const KernelInstance&) = delete;
  KernelInstance& operator=(const KernelInstance&) = delete;

  const OpCall& call() const { return call_; }
  const KernelRegistration& registration() const { return *registration_; }
  void* state() const { return state_; }
  RandomStream* random() { return &random_; }
  const MS_DeviceContext& device() const { return *device_; }

  // Prepares the kernel for these shapes, see MS_Specialization: gives what frames have as
  // shape_state, and the scratch memory of an execution. The kernel's errors.
  // REQUIRES: registration().specialize is there; `constants` has a view for each input.
  struct ShapeState {
    void* state = nullptr;
    int64_t scratch_bytes = 0;
  };
  StatusOr<ShapeState> Specialize(absl::Span<const MS_Dims> inputs,
                                  absl::Span<const MS_TensorView> constants,
                                  absl::Span<const MS_Dims> outputs, int num_threads) const;
  // Null is allowed.
  void Unspecialize(void* shape_state) const;

 private:
  KernelInstance(const OpCall& call, const KernelRegistration* registration,
                 const MS_DeviceContext* device);

  const OpCall call_;
  const KernelRegistration* const registration_;
  const MS_DeviceContext* const device_;
  void* state_ = nullptr;
  RandomStream random_;
};

// "plugin acme, kernel Conv2D, node layer/conv", for RunningCode. `kernel` is null for what the
// runtime does itself.
void DescribeRunning(const OpCall& call, const KernelInstance* kernel, CrashLine* line);

// The kernels of a session by node. Thread-safe; instances live as long as the cache.
class KernelCache {
 public:
  // `device` outlives the cache.
  KernelCache(std::string device_type, std::string device_name, const MS_DeviceContext* device)
      : device_type_(std::move(device_type)),
        device_name_(std::move(device_name)),
        device_(*device) {}
  // Threads that want the kernel of one node wait for the thread that creates it. No lock is held
  // over the creation, which runs code of a plugin. The error names the node.
  StatusOr<KernelInstance*> GetOrCreate(const Node* node) ABSL_LOCKS_EXCLUDED(mutex_);
  // A kernel that the caller alone has: of a node that is no part of the program.
  StatusOr<std::unique_ptr<KernelInstance>> Create(const Node* node) const;
  const std::string& device_type() const { return device_type_; }
  const std::string& device_name() const { return device_name_; }
  const MS_DeviceContext& device() const { return device_; }

 private:
  KernelInstance* Find(const Node* origin) ABSL_LOCKS_EXCLUDED(mutex_);

  const std::string device_type_;
  const std::string device_name_;
  const MS_DeviceContext& device_;
  BuildTurns<const Node*> turns_;
  absl::Mutex mutex_;
  // By the node of the program's graph, so that copies of a node share one state.
  absl::flat_hash_map<const Node*, std::unique_ptr<KernelInstance>> instances_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_DEVICE_KERNEL_INSTANCE_H_
