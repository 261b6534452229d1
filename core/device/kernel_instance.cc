#include "core/device/kernel_instance.h"

#include <algorithm>
#include <limits>

#include "core/device/find_kernel.h"
#include "framework/plugin/host_status.h"
#include "framework/plugin/kernel_info.h"

namespace millstream {

const MS_DeviceContext kNoDevice = {
    {sizeof(MS_DeviceContext), 0, nullptr}, nullptr, nullptr, nullptr, 0, 0};

void FillFrame(const MS_DeviceContext& device, MS_Frame* frame) {
  frame->device_state = device.device;
  frame->stream = device.stream;
  frame->stream_native = device.stream_native;
  frame->device_ordinal = device.device_ordinal;
}

KernelInstance::KernelInstance(const OpCall& call, const KernelRegistration* registration,
                               const MS_DeviceContext* device)
    : call_(call), registration_(registration), device_(device), random_(*call.attrs) {}

KernelInstance::~KernelInstance() {
  if (state_ != nullptr && registration_->destroy != nullptr) registration_->destroy(state_);
}

StatusOr<std::unique_ptr<KernelInstance>> KernelInstance::Create(
    const OpCall& call, const KernelRegistration* registration, absl::string_view device_name,
    const MS_DeviceContext* device) {
  std::unique_ptr<KernelInstance> instance(new KernelInstance(call, registration, device));
  if (registration->create != nullptr) {
    MS_KernelInfo info(call, device_name, registration->plugin);
    info.device = device;
    MS_RETURN_IF_ERROR(
        TakeAbiStatus(registration->create(registration->user, &info, &instance->state_)));
  }
  return instance;
}

StatusOr<KernelInstance::ShapeState> KernelInstance::Specialize(
    absl::Span<const MS_Dims> inputs, absl::Span<const MS_TensorView> constants,
    absl::Span<const MS_Dims> outputs, int num_threads) const {
  MS_Specialization specialization = {};
  specialization.head.size = sizeof(specialization);
  specialization.inputs = inputs.data();
  specialization.constants = constants.data();
  specialization.outputs = outputs.data();
  specialization.n_in = static_cast<uint32_t>(inputs.size());
  specialization.n_out = static_cast<uint32_t>(outputs.size());
  specialization.device = device_;
  specialization.num_threads = static_cast<uint32_t>(num_threads);
  MS_RETURN_IF_ERROR(TakeAbiStatus(registration_->specialize(state_, &specialization)));
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
  return ShapeState{specialization.shape_state,
                    static_cast<int64_t>(std::min<uint64_t>(specialization.scratch_bytes, kMost))};
}

void KernelInstance::Unspecialize(void* shape_state) const {
  if (shape_state != nullptr) registration_->unspecialize(state_, shape_state);
}

void DescribeRunning(const OpCall& call, const KernelInstance* kernel, CrashLine* line) {
  line->Append("plugin ");
  line->Append(kernel == nullptr ? "core" : kernel->registration().plugin);
  line->Append(", kernel ");
  line->Append(call.op->name);
  line->Append(", node ");
  line->Append(call.name);
}

KernelInstance* KernelCache::Find(const Node* origin) {
  absl::MutexLock lock(&mutex_);
  const auto found = instances_.find(origin);
  return found == instances_.end() ? nullptr : found->second.get();
}

StatusOr<KernelInstance*> KernelCache::GetOrCreate(const Node* node) {
  const Node* const origin = node->origin();
  if (KernelInstance* const found = Find(origin)) return found;
  const BuildTurns<const Node*>::Turn turn(&turns_, origin);
  if (KernelInstance* const found = Find(origin)) return found;
  MS_ASSIGN_OR_RETURN(std::unique_ptr<KernelInstance> made, Create(origin));
  KernelInstance* const instance = made.get();
  absl::MutexLock lock(&mutex_);
  instances_[origin] = std::move(made);
  return instance;
}

StatusOr<std::unique_ptr<KernelInstance>> KernelCache::Create(const Node* node) const {
  const StatusOr<const KernelRegistration*> registration = FindKernel(*node, device_type_);
  if (!registration.ok()) return AnnotateWithNode(registration.status(), *node);
  StatusOr<std::unique_ptr<KernelInstance>> kernel =
      KernelInstance::Create(node->call(), *registration, device_name_, &device_);
  if (!kernel.ok()) return AnnotateWithNode(kernel.status(), *node);
  return kernel;
}

}  // namespace millstream
