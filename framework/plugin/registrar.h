// One plugin's registrations while register_all runs, and the table "ms.registry/1".
//
// Each registration is parsed and checked when it is made. What this host cannot take is skipped
// and listed; a definition that no host could take fails the plugin. Afterwards the ops, the
// kernels and the types of resources are added to their registries, all or none.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_REGISTRAR_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_REGISTRAR_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "framework/op_registry.h"
#include "framework/plugin/kernel_registry.h"
#include "framework/plugin/plugin.h"
#include "framework/plugin/resource_types.h"
#include "framework/status.h"

namespace millstream {
struct FoundOp;
}

// A private transaction, which is invisible until the loader commits it. The functions of the table
// may be called by any thread until Close. The members are for the thread that loads the plugin,
// before register_all is called and after Close.
struct MS_Registrar {
  MS_Registrar(std::string plugin_name, const millstream::OpRegistry* op_registry)
      : plugin(plugin_name), ops(op_registry), prefixes({std::move(plugin_name)}) {}
  // With all prefixes that a plugin has.
  MS_Registrar(const std::string& name, const std::string& family, const std::string& vendor,
               const millstream::OpRegistry* op_registry)
      : plugin(name), ops(op_registry), prefixes({name, family, vendor}) {}
  ~MS_Registrar();
  MS_Registrar(const MS_Registrar&) = delete;
  MS_Registrar& operator=(const MS_Registrar&) = delete;

  const std::string plugin;
  const millstream::OpRegistry* const ops;
  std::vector<std::string> prefixes;  // that names of new ops may have: name, family, vendor
  bool is_builtin = false;            // the plugin comes with the host
  std::vector<millstream::KernelRegistration> kernels;
  absl::flat_hash_map<std::string, uint64_t> kernels_of_op;  // number of kernels
  std::vector<millstream::OpDef> new_ops;                    // ops that are not in the registry yet
  std::vector<std::string> op_names;  // of all ops of the plugin, in the order of registration
  std::vector<millstream::ResourceType> resource_types;
  std::vector<std::string> skipped;      // why each kernel, op and gradient was skipped
  size_t num_kernels_skipped = 0;        // of these
  std::vector<std::string> skipped_ops;  // names of ops, whose kernels and gradients go with them
  // What op_find gave out.
  std::vector<std::unique_ptr<const millstream::FoundOp>> found_ops;
  // The error of the first failed registration. The plugin fails even if it ignores the error.
  absl::Status first_error;

  // register_all has returned: from now on the table's functions do nothing and say so.
  void Close();

  absl::Mutex mutex;
  bool is_closed = false;  // guarded by the mutex

  // Finds an op in this transaction or in the registry. NOT_FOUND if there is none, or if the
  // plugin has another one of that name, which was skipped.
  absl::StatusOr<const millstream::OpDef*> FindOp(absl::string_view name) const;
};

namespace millstream {

// An op in the form that op_find gives. Borrows the definition.
struct FoundOp {
  explicit FoundOp(const OpDef& op);
  FoundOp(const FoundOp&) = delete;
  FoundOp& operator=(const FoundOp&) = delete;

  std::vector<MS_Str> inputs, outputs, attrs;
  MS_OpInfo info = {};
};

const MS_Table* RegistryInterface();

// Whether the status says that another host could take what this one cannot.
bool IsSkipped(const Status& status);

// Checks and copies `definition`. NOT_FOUND for an op, an attribute or an argument that this host
// does not have, UNIMPLEMENTED for constants and features that it does not know: such a kernel is
// skipped. INVALID_ARGUMENT for a reserved op, a missing function, or a value above a bound of
// plugin_limits.h.
StatusOr<KernelRegistration> ReadKernelDef(const MS_KernelDef& definition,
                                           const MS_Registrar& registrar);

// Adds all registrations to the registries, or none. ALREADY_EXISTS names a conflict. Appends a
// line for each tie of kernels to *ties.
Status CommitRegistrations(MS_Registrar* registrar, OpRegistry* ops, KernelRegistry* kernels,
                           std::vector<std::string>* ties);

// INVALID_ARGUMENT for a struct shorter than `minimum`; UNIMPLEMENTED for required features and for
// extensions that require any, of which this host knows none. Other extensions are optional, and
// are passed over.
Status CheckHead(const MS_Head& head, uint32_t minimum, absl::string_view type);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_REGISTRAR_H_
