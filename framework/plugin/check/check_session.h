// What outlives one execution: objects of the plugin's own, and tensors that kernels keep.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_CHECK_SESSION_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_CHECK_SESSION_H_

#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "framework/plugin/host_tensor.h"
#include "framework/plugin/plugin.h"
#include "framework/plugin/resource_types.h"
#include "framework/status.h"

// A counted reference to an object of a plugin.
struct MS_Resource {
  const millstream::ResourceType* type;
  void* object;
  int references;  // the container's included; all are guarded by one mutex
};

namespace millstream::plugin_check {

// One session. Any thread may call it.
class CheckSession {
 public:
  CheckSession() = default;
  CheckSession(const CheckSession&) = delete;
  CheckSession& operator=(const CheckSession&) = delete;
  ~CheckSession() { Close(); }

  // As the functions of their names in MS_ResourceApi, in containers of this session.
  Status Create(MS_Str container, MS_Str name, MS_Str type, void* object, MS_Resource** out);
  Status LookupOrCreate(MS_Str container, MS_Str name, MS_Str type,
                        MS_Status* (*make)(void* user, void** out_object), void* user,
                        void** out_object, MS_Resource** out);
  static void Release(MS_Resource* resource);

  // Takes over a reference to a tensor that the kernel was given.
  void Keep(MS_Tensor* tensor);
  // The end, after which the kernel uses nothing of it any more: what was not given back.
  std::vector<std::string> Close();

 private:
  using Key = std::tuple<std::string, std::string, std::string>;  // container, type, name

  std::mutex mutex_;
  std::map<Key, MS_Resource*> objects_;
  std::vector<MS_Tensor*> tensors_;
};

}  // namespace millstream::plugin_check

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_CHECK_SESSION_H_
