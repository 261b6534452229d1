// A part of "ms.resource/1": handles, and objects of plugins in the containers of sessions.
#ifndef MILLSTREAM_CORE_HOST_HOST_OBJECTS_H_
#define MILLSTREAM_CORE_HOST_HOST_OBJECTS_H_

#include "framework/plugin/plugin.h"

namespace millstream {

// Each implements the slot of this name in MS_ResourceApi.
namespace host_objects {

MS_Status* HandleRead(const MS_TensorView* handle, MS_Str* container, MS_Str* name, MS_Str* type);
MS_Status* Create(MS_Frame* frame, MS_Str container, MS_Str name, MS_Str type, void* object,
                  MS_Resource** out);
MS_Status* Lookup(MS_Frame* frame, MS_Str container, MS_Str name, MS_Str type, void** out_object,
                  MS_Resource** out);
MS_Status* LookupOrCreate(MS_Frame* frame, MS_Str container, MS_Str name, MS_Str type,
                          MS_Status* (*make)(void* user, void** out_object), void* user,
                          void** out_object, MS_Resource** out);
void Release(MS_Resource* resource);

}  // namespace host_objects

}  // namespace millstream

#endif  // MILLSTREAM_CORE_HOST_HOST_OBJECTS_H_
