#include "core/device/kernel_instance.h"

#include <random>

#include "framework/plugin/host_status.h"
#include "framework/plugin/kernel_info.h"

namespace millstream {
namespace {

// A node that asks for no seed draws another stream in every session.
uint64_t FreshSeed() {
  std::random_device device;
  return (static_cast<uint64_t>(device()) << 32) | device();
}

uint64_t SeedAttr(const Node& node, absl::string_view name) {
  const AttrValue* value = FindAttr(node.attrs(), name);
  const int64_t* seed = value == nullptr ? nullptr : value->get<int64_t>();
  return seed == nullptr ? 0 : static_cast<uint64_t>(*seed);
}

}  // namespace

RandomStream::RandomStream(const Node& node)
    : key_(SeedAttr(node, "seed")), upper_counter_(SeedAttr(node, "seed2")) {
  const bool draws = FindAttr(node.attrs(), "seed") != nullptr;
  if (draws && key_ == 0 && upper_counter_ == 0) {
    key_ = FreshSeed();
    upper_counter_ = FreshSeed();
  }
}

KernelInstance::KernelInstance(const Node* node, const KernelRegistration* registration)
    : node_(node), registration_(registration), random_(*node) {}

KernelInstance::~KernelInstance() {
  if (state_ != nullptr && registration_->destroy != nullptr) registration_->destroy(state_);
}

StatusOr<std::unique_ptr<KernelInstance>> KernelInstance::Create(const Node* node,
                                                                 absl::string_view device_type,
                                                                 absl::string_view device_name) {
  StatusOr<const KernelRegistration*> registration =
      KernelRegistry::Global()->Find(node->op().name, device_type, node->attrs());
  if (!registration.ok()) return AnnotateWithNode(registration.status(), *node);
  std::unique_ptr<KernelInstance> instance(new KernelInstance(node, *registration));
  if ((*registration)->create != nullptr) {
    const MS_KernelInfo info(&node->op(), node->name(), device_name, &node->attrs(),
                             &node->signature(), (*registration)->plugin);
    Status created =
        TakeAbiStatus((*registration)->create((*registration)->user, &info, &instance->state_));
    if (!created.ok()) return AnnotateWithNode(created, *node);
  }
  return instance;
}

void DescribeRunning(const Node& node, const KernelInstance* kernel, CrashLine* line) {
  line->Append("plugin ");
  line->Append(kernel == nullptr ? "core" : kernel->registration().plugin);
  line->Append(", kernel ");
  line->Append(node.op().name);
  line->Append(", node ");
  line->Append(node.name());
}

StatusOr<KernelInstance*> KernelCache::GetOrCreate(const Node* node) {
  absl::MutexLock lock(&mutex_);
  const Node* const origin = node->origin();
  std::unique_ptr<KernelInstance>& instance = instances_[origin];
  if (instance == nullptr) {
    MS_ASSIGN_OR_RETURN(instance, KernelInstance::Create(origin, device_type_, device_name_));
  }
  return instance.get();
}

}  // namespace millstream
