// The kernels that plugins (and core's structural ops, as device type "*") registered.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_KERNEL_REGISTRY_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_KERNEL_REGISTRY_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/synchronization/mutex.h"
#include "framework/attr_value.h"
#include "framework/dtype.h"
#include "framework/plugin/plugin.h"
#include "framework/status.h"

namespace millstream {

// The device type of kernels that serve every device.
inline constexpr char kAnyDevice[] = "*";

// A kernel registration, copied out of the plugin's MS_KernelDef.
struct KernelRegistration {
  struct Constraint {
    std::string attr;
    DataTypeList types;
  };
  std::string op;
  std::string device_type;
  std::string label;
  std::string plugin;       // who registered it; "core" for structural ops
  bool is_builtin = false;  // the plugin comes with the host
  int32_t priority = 0;
  uint32_t flags = 0;                // MS_KERNEL_*
  bool has_all_in_host = false;      // of core's: all inputs and outputs are in host memory
  bool keeps_update_bounds = false;  // MS_EXT_BOUNDED_UPDATE
  std::vector<Constraint> constraints;
  std::vector<std::string> host_args;
  std::vector<MS_InPlacePair> in_place;
  void* user = nullptr;
  MS_Status* (*create)(void*, const MS_KernelInfo*, void**) = nullptr;
  MS_Status* (*compute)(void*, MS_Frame*) = nullptr;
  void (*compute_async)(void*, MS_Frame*, MS_Done*) = nullptr;
  void (*destroy)(void*) = nullptr;
  MS_Status* (*specialize)(void*, MS_Specialization*) = nullptr;
  void (*unspecialize)(void*, void*) = nullptr;
  MS_Status* (*supports)(void*, const MS_SupportsQuery*) = nullptr;
  // ---- For core's asynchronous kernels; null for kernels of plugins ----
  // Called when the step stops: the execution of `done` must end soon, unless it has ended already.
  void (*cancel)(void* state, MS_Frame* frame, MS_Done* done) = nullptr;
  // Describes what the execution that is about to start may wait for, for messages.
  std::string (*waits_for)(void* state, MS_Frame* frame) = nullptr;
};

// Thread-safe. Registrations are never removed, so pointers stay valid.
class KernelRegistry {
 public:
  static KernelRegistry* Global();

  // Adds all kernels or none. Calls `last_condition`, unless it is null, before, and returns its
  // error. Appends to *ties, unless it is null, a line for each two kernels that tie: same op,
  // device type, label and priority, and constraints that one set of attributes can satisfy both.
  // Find says which one serves.
  Status Commit(std::vector<KernelRegistration> kernels,
                const std::function<Status()>& last_condition = nullptr,
                std::vector<std::string>* ties = nullptr) ABSL_LOCKS_EXCLUDED(mutex_);

  // The kernel for a node of `op` on `device_type`. Its label equals the attribute "_kernel" (empty
  // if absent), its constraints are satisfied, and CloseDeviceType does not exclude it; of several,
  // the one with the highest priority; of those, one of a plugin that comes with the host; of
  // those, the one that was registered first. Kernels of type "*" come after those of the device.
  // Each kernel with `supports` is given to `ask`, unless that is null, before it is chosen; an
  // error passes it over. INVALID_ARGUMENT lists the kernels and why each does not fit.
  using Question = std::function<Status(const KernelRegistration& kernel)>;
  StatusOr<const KernelRegistration*> Find(absl::string_view op, absl::string_view device_type,
                                           const AttrMap& attrs,
                                           const Question& ask = nullptr) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Which kernels that fit otherwise were passed over by `ask`, and why; empty if none was. A text
  // for messages.
  std::string Refusals(absl::string_view op, absl::string_view device_type, const AttrMap& attrs,
                       const Question& ask) const ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<const KernelRegistration*> KernelsOf(absl::string_view op) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The types of device that some kernel is for, in the order of the alphabet.
  std::vector<std::string> DeviceTypes() const ABSL_LOCKS_EXCLUDED(mutex_);

  // From now on nodes on `device_type` have kernels of `plugin`, of core, and of nobody else. Gives
  // what other plugins have registered for it until now: "3 kernels of plugin acme"; empty:
  // nothing.
  std::string CloseDeviceType(const std::string& device_type, const std::string& plugin)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void FindTies(const std::vector<KernelRegistration>& kernels,
                std::vector<std::string>* ties) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Few kernels fit one node, so that no memory is allocated for them.
  using Candidates = absl::InlinedVector<const KernelRegistration*, 4>;
  // Those that fit, the best one first.
  Candidates Fitting(absl::string_view op, absl::string_view device_type,
                     const AttrMap& attrs) const ABSL_LOCKS_EXCLUDED(mutex_);
  bool IsShutOut(const KernelRegistration& kernel) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable absl::Mutex mutex_;
  // The plugins that closed device types, by type.
  absl::flat_hash_map<std::string, std::string> closed_types_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, std::vector<std::unique_ptr<const KernelRegistration>>> kernels_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_KERNEL_REGISTRY_H_
