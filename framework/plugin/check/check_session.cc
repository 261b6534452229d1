#include "framework/plugin/check/check_session.h"

#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "framework/plugin/check/check_host.h"
#include "framework/plugin/host_status.h"

namespace millstream::plugin_check {
namespace {

// Of the references of all objects.
std::mutex& ReferenceMutex() {
  static auto* const mutex = new std::mutex;
  return *mutex;
}

void AddReference(MS_Resource* resource) {
  const std::lock_guard<std::mutex> lock(ReferenceMutex());
  ++resource->references;
}

// The tensors that kernels were given, by the session of the kernel. Each has a reference of ours,
// so that none goes while a kernel may still give it back.
struct TensorOwners {
  std::mutex mutex;
  CheckSession* current = nullptr;
  std::unordered_map<MS_Tensor*, const CheckSession*> owners;
};
TensorOwners& GivenTensors() {
  static auto* const tensors = new TensorOwners;
  return *tensors;
}

// Whether the kernel has a reference. REQUIRES: the mutex is locked.
bool IsHeld(MS_Tensor* tensor) {
  return GivenTensors().owners.count(tensor) != 0 && tensor->references > 1;
}

struct MisuseList {
  std::mutex mutex;
  BrokenRules broken;
};
MisuseList& Misuses() {
  static auto* const misuses = new MisuseList;
  return *misuses;
}

}  // namespace

void NoteMisuse(const char* rule, std::string text) {
  const std::lock_guard<std::mutex> lock(Misuses().mutex);
  Misuses().broken.emplace_back(rule, std::move(text));
}

BrokenRules TakeMisuses() {
  const std::lock_guard<std::mutex> lock(Misuses().mutex);
  return std::exchange(Misuses().broken, {});
}

Status CheckSession::Create(MS_Str container, MS_Str name, MS_Str type, void* object,
                            MS_Resource** out) {
  MS_ASSIGN_OR_RETURN(const ResourceType* const known,
                      ResourceTypes::Global()->Find(FromAbi(type)));
  const Key key(FromAbi(container), known->name, FromAbi(name));
  const std::lock_guard<std::mutex> lock(mutex_);
  MS_Resource*& place = objects_[key];
  if (place != nullptr) {
    return errors::AlreadyExists("there is an object ", FromAbi(name), " of type ", known->name);
  }
  place = new MS_Resource{known, object, 2};
  *out = place;
  return absl::OkStatus();
}

Status CheckSession::LookupOrCreate(MS_Str container, MS_Str name, MS_Str type,
                                    MS_Status* (*make)(void* user, void** out_object), void* user,
                                    void** out_object, MS_Resource** out) {
  MS_ASSIGN_OR_RETURN(const ResourceType* const known,
                      ResourceTypes::Global()->Find(FromAbi(type)));
  const Key key(FromAbi(container), known->name, FromAbi(name));
  const auto find = [&] {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = objects_.find(key);
    if (found == objects_.end()) return false;
    *out = found->second;
    *out_object = found->second->object;
    AddReference(found->second);
    return true;
  };
  if (find()) return absl::OkStatus();
  if (make == nullptr) {
    return errors::NotFound("there is no object ", FromAbi(name), " of type ", known->name);
  }
  void* object = nullptr;
  MS_RETURN_IF_ERROR(Take(make(user, &object)));
  const Status created = Create(container, name, type, object, out);
  if (created.ok()) {
    *out_object = object;
    return created;
  }
  // Another thread was faster.
  known->destroy(object);
  return find() ? absl::OkStatus() : created;
}

void CheckSession::Release(MS_Resource* resource) {
  if (resource == nullptr) return;
  {
    const std::lock_guard<std::mutex> lock(ReferenceMutex());
    if (resource->references <= (resource->is_kept ? 1 : 0)) {
      NoteMisuse("KERNEL-REFERENCES",
                 absl::StrCat("it released an object of type ", resource->type->name,
                              " to which it had no reference"));
      return;
    }
    if (--resource->references > 0) return;
  }
  resource->type->destroy(resource->object);
  delete resource;
}

void CheckSession::MakeCurrent() {
  const std::lock_guard<std::mutex> lock(GivenTensors().mutex);
  GivenTensors().current = this;
}

void CheckSession::Watch(MS_Tensor* tensor) {
  ++tensor->references;
  const std::lock_guard<std::mutex> lock(GivenTensors().mutex);
  GivenTensors().owners[tensor] = GivenTensors().current;
}

void CheckSession::Retain(MS_Tensor* tensor) {
  const std::lock_guard<std::mutex> lock(GivenTensors().mutex);
  if (IsHeld(tensor)) {
    ++tensor->references;
  } else {
    NoteMisuse("KERNEL-REFERENCES", "it retained a tensor to which it had no reference");
  }
}

void CheckSession::Release(MS_Tensor* tensor) {
  if (tensor == nullptr) return;
  const std::lock_guard<std::mutex> lock(GivenTensors().mutex);
  if (IsHeld(tensor)) {
    --tensor->references;
  } else {
    NoteMisuse("KERNEL-REFERENCES", "it released a tensor to which it had no reference");
  }
}

void CheckSession::DropReleased() {
  std::vector<MS_Tensor*> released;
  {
    const std::lock_guard<std::mutex> lock(GivenTensors().mutex);
    for (const auto& [tensor, owner] : GivenTensors().owners) {
      if (owner == this && tensor->references == 1) released.push_back(tensor);
    }
    for (MS_Tensor* tensor : released) GivenTensors().owners.erase(tensor);
  }
  // Outside of the lock: memory of the plugin's own is given back to it.
  for (MS_Tensor* tensor : released) ReleaseTensorHandle(tensor);
}

void CheckSession::Close() {
  const auto objects = std::exchange(objects_, {});
  for (const auto& [key, object] : objects) {
    bool is_used = false;
    {
      const std::lock_guard<std::mutex> lock(ReferenceMutex());
      object->is_kept = false;
      is_used = object->references > 1;
    }
    if (is_used) {
      NoteMisuse("KERNEL-REFERENCES",
                 absl::StrCat("an object of type ", object->type->name, " is not released"));
    }
    Release(object);
  }
  DropReleased();
  const std::lock_guard<std::mutex> lock(GivenTensors().mutex);
  if (GivenTensors().current == this) GivenTensors().current = nullptr;
  for (auto& [tensor, owner] : GivenTensors().owners) {
    if (owner != this) continue;
    NoteMisuse("KERNEL-REFERENCES",
               "a tensor that it created, retained or was given is not released");
    owner = nullptr;
  }
}

}  // namespace millstream::plugin_check
