// Objects of the plugin that live in sessions. Kernels share them by name.
//
//   struct Table { static constexpr char kTypeName[] = "Acme.Table"; ... };
//   ms::ResourceRegistration<Table>();                 // at namespace scope
//   ms::ResourceRef<Table> table;
//   MS_TRY(ms::LookupOrCreate<Table>(frame, container, name, [] { return new Table; }, &table));
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_PLUGIN_RESOURCE_HPP_
#define MILLSTREAM_FRAMEWORK_PLUGIN_PLUGIN_RESOURCE_HPP_

#include <memory>
#include <string_view>
#include <utility>

#include "framework/plugin/plugin_ops.hpp"

namespace ms {
inline namespace v1 {

// A reference to an object. The object lives as long as there is a reference.
template <typename T>
class ResourceRef {
 public:
  ResourceRef() = default;
  // Takes ownership of a reference.
  ResourceRef(T* object, MS_Resource* resource) : object_(object), resource_(resource) {}
  ResourceRef(const ResourceRef&) = delete;
  ResourceRef(ResourceRef&& other) noexcept
      : object_(std::exchange(other.object_, nullptr)),
        resource_(std::exchange(other.resource_, nullptr)) {}
  ResourceRef& operator=(ResourceRef other) noexcept {
    std::swap(object_, other.object_);
    std::swap(resource_, other.resource_);
    return *this;
  }
  ~ResourceRef() {
    if (resource_ != nullptr) host_tables.resource->release(resource_);
  }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  T* get() const { return object_; }

 private:
  T* object_ = nullptr;
  MS_Resource* resource_ = nullptr;
};

template <typename T>
MS_Str ResourceTypeName() {
  return ToAbi(std::string_view(T::kTypeName));
}

// Registers T as a type of resources.
template <typename T>
Status RegisterResourceType(MS_Registrar* registrar) {
  return Status::FromAbi(host_tables.registry->resource_type_register(
      registrar, ResourceTypeName<T>(),
      [](void* object) noexcept { delete static_cast<T*>(object); }));
}
template <typename T>
Registered ResourceRegistration() {
  Registrations().push_back(&RegisterResourceType<T>);
  return Registered();
}

// Adds the object to the container, which then owns it. On MS_ALREADY_EXISTS the caller keeps it.
template <typename T>
Status Create(const Frame& frame, std::string_view container, std::string_view name,
              std::unique_ptr<T>* object, ResourceRef<T>* out) {
  MS_Resource* resource = nullptr;
  MS_TRY(Status::FromAbi(host_tables.resource->create(frame.raw(), ToAbi(container), ToAbi(name),
                                                      ResourceTypeName<T>(), object->get(),
                                                      &resource)));
  *out = ResourceRef<T>(object->release(), resource);
  return Status();
}

template <typename T>
Status Lookup(const Frame& frame, std::string_view container, std::string_view name,
              ResourceRef<T>* out) {
  void* object = nullptr;
  MS_Resource* resource = nullptr;
  MS_TRY(Status::FromAbi(host_tables.resource->lookup(frame.raw(), ToAbi(container), ToAbi(name),
                                                      ResourceTypeName<T>(), &object, &resource)));
  *out = ResourceRef<T>(static_cast<T*>(object), resource);
  return Status();
}

// Finds the object, or adds the result of `make()`, a new T.
template <typename T, typename Make>
Status LookupOrCreate(const Frame& frame, std::string_view container, std::string_view name,
                      Make make, ResourceRef<T>* out) {
  void* object = nullptr;
  MS_Resource* resource = nullptr;
  const auto call = [](void* user, void** made) noexcept {
    return Guarded([&]() -> Status {
      *made = (*static_cast<Make*>(user))();
      return Status();
    });
  };
  MS_TRY(Status::FromAbi(host_tables.resource->lookup_or_create(frame.raw(), ToAbi(container),
                                                                ToAbi(name), ResourceTypeName<T>(),
                                                                call, &make, &object, &resource)));
  *out = ResourceRef<T>(static_cast<T*>(object), resource);
  return Status();
}

// The container, name and type of a handle. The strings are valid as long as the view.
inline Status ReadHandle(const View& handle, std::string_view* container, std::string_view* name,
                         std::string_view* type) {
  MS_Str texts[3] = {};
  MS_TRY(Status::FromAbi(
      host_tables.resource->handle_read(&handle.abi(), &texts[0], &texts[1], &texts[2])));
  *container = ToView(texts[0]);
  *name = ToView(texts[1]);
  *type = ToView(texts[2]);
  return Status();
}

}  // namespace v1
}  // namespace ms

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_PLUGIN_RESOURCE_HPP_
