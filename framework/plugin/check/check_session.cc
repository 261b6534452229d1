#include "framework/plugin/check/check_session.h"

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

void Retain(MS_Resource* resource) {
  const std::lock_guard<std::mutex> lock(ReferenceMutex());
  ++resource->references;
}

}  // namespace

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
    Retain(found->second);
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
    if (--resource->references > 0) return;
  }
  resource->type->destroy(resource->object);
  delete resource;
}

void CheckSession::Keep(MS_Tensor* tensor) {
  const std::lock_guard<std::mutex> lock(mutex_);
  tensors_.push_back(tensor);
}

std::vector<std::string> CheckSession::Close() {
  std::vector<std::string> left;
  const auto objects = std::exchange(objects_, {});
  for (const auto& [key, object] : objects) {
    bool is_used = false;
    {
      const std::lock_guard<std::mutex> lock(ReferenceMutex());
      is_used = object->references > 1;
    }
    if (is_used)
      left.push_back(absl::StrCat("an object of type ", object->type->name, " is not released"));
    Release(object);
  }
  for (MS_Tensor* tensor : std::exchange(tensors_, {})) {
    if (tensor->references > 1) {
      left.emplace_back("a tensor that it created, retained or was given is not released");
    }
    ReleaseTensorHandle(tensor);
  }
  return left;
}

}  // namespace millstream::plugin_check
