// The base of the objects in a session's containers: variables, queues, tables.
#ifndef MILLSTREAM_CORE_RESOURCES_RESOURCE_H_
#define MILLSTREAM_CORE_RESOURCES_RESOURCE_H_

#include <atomic>
#include <cstdint>
#include <utility>

#include "absl/strings/string_view.h"

namespace millstream {

// A reference-counted object. A derived class has `static constexpr char kType[]`, which identifies
// the type in lookups. Thread-safe.
class Resource {
 public:
  explicit Resource(absl::string_view type) : type_(type) {}
  Resource(const Resource&) = delete;
  Resource& operator=(const Resource&) = delete;

  absl::string_view type() const { return type_; }
  void Ref() { references_.fetch_add(1, std::memory_order_relaxed); }
  void Unref() {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
  bool IsUnique() const { return references_.load(std::memory_order_acquire) == 1; }

  // Called when the container is dropped. Releases the contents. Holders of references find the
  // resource empty or closed afterwards.
  virtual void Drop() = 0;
  // True if plans keep the resource by address. Then its name leads to the same object as long as
  // somebody holds a reference, also after Drop.
  virtual bool KeepsItsName() const { return false; }

 protected:
  virtual ~Resource() = default;

 private:
  const absl::string_view type_;  // has static storage
  std::atomic<int32_t> references_{1};
};

// Owns one reference to a resource, or none.
template <typename T>
class ResourceRef {
 public:
  ResourceRef() = default;
  // Takes over the reference that the creator holds.
  static ResourceRef Adopt(T* resource) {
    ResourceRef ref;
    ref.resource_ = resource;
    return ref;
  }
  static ResourceRef Share(T* resource) {
    if (resource != nullptr) resource->Ref();
    return Adopt(resource);
  }
  ResourceRef(const ResourceRef& other) : ResourceRef(Share(other.resource_)) {}
  ResourceRef(ResourceRef&& other) noexcept : resource_(std::exchange(other.resource_, nullptr)) {}
  // From a reference to a derived type.
  template <typename U>
  ResourceRef(ResourceRef<U> other) : resource_(other.release()) {}  // NOLINT: as pointers convert
  ResourceRef& operator=(ResourceRef other) noexcept {
    std::swap(resource_, other.resource_);
    return *this;
  }
  ~ResourceRef() {
    if (resource_ != nullptr) resource_->Unref();
  }
  T* get() const { return resource_; }
  T* operator->() const { return resource_; }
  T& operator*() const { return *resource_; }
  explicit operator bool() const { return resource_ != nullptr; }
  // Passes the reference to the caller.
  T* release() { return std::exchange(resource_, nullptr); }

 private:
  T* resource_ = nullptr;
};

template <typename T, typename... Arguments>
ResourceRef<T> MakeResource(Arguments&&... arguments) {
  return ResourceRef<T>::Adopt(new T(std::forward<Arguments>(arguments)...));
}

// The resource as a T, or null when it is of another type.
template <typename T>
T* ResourceAs(Resource* resource) {
  return resource != nullptr && resource->type() == T::kType ? static_cast<T*>(resource) : nullptr;
}

}  // namespace millstream

#endif  // MILLSTREAM_CORE_RESOURCES_RESOURCE_H_
