// What outlives one execution: objects of the plugin's own, and the tensors that kernels were
// given. What is given back once too often is noted, and not touched.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_CHECK_SESSION_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_CHECK_SESSION_H_

#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "framework/plugin/host_tensor.h"
#include "framework/plugin/plugin.h"
#include "framework/plugin/resource_types.h"
#include "framework/status.h"

// A counted reference to an object of a plugin.
struct MS_Resource {
  const millstream::ResourceType* type;
  void* object;
  int references;       // the container's included; all are guarded by one mutex
  bool is_kept = true;  // by its container
};

namespace millstream::plugin_check {

// Rules that did not hold, and why.
using BrokenRules = std::vector<std::pair<const char*, std::string>>;

// Notes that the kernel that runs breaks a rule. Thread-safe.
void NoteMisuse(const char* rule, std::string text);
// What was noted since the last call.
BrokenRules TakeMisuses();

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

  // What kernels are given from now on, by any thread, is of this session.
  void MakeCurrent();
  // The kernel was given the tensor, and owns the reference that it has.
  static void Watch(MS_Tensor* tensor);
  // As the functions of their names in MS_TensorApi.
  static void Retain(MS_Tensor* tensor);
  static void Release(MS_Tensor* tensor);
  // Frees the tensors that the kernel has released.
  void DropReleased();
  // The end, after which the kernel uses nothing of it any more. Notes what was not given back.
  void Close();

 private:
  using Key = std::tuple<std::string, std::string, std::string>;  // container, type, name

  std::mutex mutex_;
  std::map<Key, MS_Resource*> objects_;
};

}  // namespace millstream::plugin_check

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_CHECK_SESSION_H_
