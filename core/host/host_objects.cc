#include "core/host/host_objects.h"

#include <utility>

#include "core/host/kernel_host.h"
#include "core/resources/resource_manager.h"
#include "core/resources/run_time_handle.h"
#include "framework/plugin/host_status.h"
#include "framework/plugin/resource_types.h"

namespace millstream::host_objects {
namespace {

// An object of a plugin. Constant except for its ownership.
class PluginObject : public Resource {
 public:
  // `memory`: of the device whose kernel made the object; null: host memory. It outlives the
  // session's resources.
  PluginObject(const ResourceType* type, void* object, DeviceMemory* memory)
      : Resource(type->name), type_(*type), object_(object), memory_(memory) {}
  void* object() const { return object_; }
  // Gives the ownership of the object back to the plugin.
  void Disown() { is_owned_ = false; }
  // Does nothing: holders of references may use the object. It is destroyed with the last
  // reference.
  void Drop() override {}

 private:
  // Work that is enqueued may still use the object.
  ~PluginObject() override {
    if (!is_owned_) return;
    const auto destroy = [call = type_.destroy, object = object_] { call(object); };
    if (memory_ == nullptr) {
      destroy();
    } else {
      memory_->CallWhenUnused(destroy);
    }
  }
  const ResourceType& type_;
  void* const object_;
  DeviceMemory* const memory_;
  bool is_owned_ = true;
};

// A reference as the plugin holds it.
MS_Resource* ToAbi(ResourceRef<Resource> resource) {
  return reinterpret_cast<MS_Resource*>(resource.release());
}

// Where the object is, or may be. Its type is a registered one, so what is found is a PluginObject.
struct Place {
  ResourceManager* manager;
  const ResourceType* type;
  DeviceMemory* memory;
};
StatusOr<Place> FindPlace(const MS_Frame& frame, MS_Str type) {
  Place place;
  MS_ASSIGN_OR_RETURN(place.type, ResourceTypes::Global()->Find(FromAbi(type)));
  place.manager = frame.ctx->host->step->container()->manager();
  place.memory = frame.ctx->host->memory;
  if (place.manager != nullptr) return place;
  return errors::FailedPrecondition("the step has no session to keep an object of type ",
                                    place.type->name);
}

void Give(ResourceRef<Resource> resource, void** out_object, MS_Resource** out) {
  *out_object = static_cast<PluginObject*>(resource.get())->object();
  *out = ToAbi(std::move(resource));
}

Status CreateObject(const MS_Frame& frame, MS_Str container, MS_Str name, MS_Str type, void* object,
                    MS_Resource** out) {
  MS_ASSIGN_OR_RETURN(const Place place, FindPlace(frame, type));
  ResourceRef<PluginObject> made = MakeResource<PluginObject>(place.type, object, place.memory);
  const Status created = place.manager->Create(FromAbi(container), FromAbi(name), made);
  if (!created.ok()) {
    made->Disown();
    return created;
  }
  *out = ToAbi(std::move(made));
  return absl::OkStatus();
}

StatusOr<ResourceRef<Resource>> FindOrMake(const MS_Frame& frame, MS_Str container, MS_Str name,
                                           MS_Str type,
                                           MS_Status* (*make)(void* user, void** out_object),
                                           void* user) {
  MS_ASSIGN_OR_RETURN(const Place place, FindPlace(frame, type));
  StatusOr<ResourceRef<Resource>> found =
      place.manager->LookupAny(FromAbi(container), place.type->name, FromAbi(name));
  if (found.ok() || make == nullptr) return found;
  void* object = nullptr;
  MS_RETURN_IF_ERROR(TakeAbiStatus(make(user, &object)));
  return place.manager->KeepFirst(FromAbi(container), FromAbi(name),
                                  MakeResource<PluginObject>(place.type, object, place.memory));
}

}  // namespace

MS_Status* HandleRead(const MS_TensorView* handle, MS_Str* container, MS_Str* name, MS_Str* type) {
  Variable* const variable = ResourceAs<Variable>(ResourceOf(*handle));
  if (variable == nullptr) {
    return ToAbiStatus(errors::InvalidArgument("the tensor is not the handle of a variable"));
  }
  *container = millstream::ToAbi(variable->container());
  *name = millstream::ToAbi(variable->name());
  *type = millstream::ToAbi(variable->type());
  return nullptr;
}

MS_Status* Create(MS_Frame* frame, MS_Str container, MS_Str name, MS_Str type, void* object,
                  MS_Resource** out) {
  *out = nullptr;
  return ToAbiStatus(CreateObject(*frame, container, name, type, object, out));
}

MS_Status* Lookup(MS_Frame* frame, MS_Str container, MS_Str name, MS_Str type, void** out_object,
                  MS_Resource** out) {
  return LookupOrCreate(frame, container, name, type, nullptr, nullptr, out_object, out);
}

MS_Status* LookupOrCreate(MS_Frame* frame, MS_Str container, MS_Str name, MS_Str type,
                          MS_Status* (*make)(void* user, void** out_object), void* user,
                          void** out_object, MS_Resource** out) {
  *out = nullptr;
  StatusOr<ResourceRef<Resource>> found = FindOrMake(*frame, container, name, type, make, user);
  if (!found.ok()) return ToAbiStatus(found.status());
  Give(*std::move(found), out_object, out);
  return nullptr;
}

void Release(MS_Resource* resource) {
  if (resource != nullptr) reinterpret_cast<Resource*>(resource)->Unref();
}

}  // namespace millstream::host_objects
