// One plugin's registrations while register_all runs, and the table "ms.registry/1".
//
// Each registration is parsed and checked when it is made. Afterwards the ops, the kernels and the
// types of resources are added to their registries, all or none.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_REGISTRAR_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_REGISTRAR_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "framework/op_registry.h"
#include "framework/plugin/kernel_registry.h"
#include "framework/plugin/plugin.h"
#include "framework/plugin/resource_types.h"
#include "framework/status.h"

// A private transaction, which is invisible until the loader commits it. Only the thread that loads
// the plugin uses it.
struct MS_Registrar {
  MS_Registrar(std::string plugin_name, const millstream::OpRegistry* op_registry)
      : plugin(std::move(plugin_name)), ops(op_registry) {}

  const std::string plugin;
  const millstream::OpRegistry* const ops;
  std::vector<millstream::KernelRegistration> kernels;
  absl::flat_hash_map<std::string, uint64_t> kernels_of_op;  // number of kernels
  std::vector<millstream::OpDef> new_ops;                    // ops that are not in the registry yet
  std::vector<std::string> op_names;  // of all ops of the plugin, in the order of registration
  std::vector<millstream::ResourceType> resource_types;
  // The error of the first failed registration. The plugin fails even if it ignores the error.
  absl::Status first_error;

  // Finds an op in this transaction or in the registry. NOT_FOUND if there is none.
  absl::StatusOr<const millstream::OpDef*> FindOp(absl::string_view name) const;
};

namespace millstream {

const MS_Table* RegistryInterface();

// Checks and copies `definition`. INVALID_ARGUMENT for an unknown or reserved op, an unknown
// attribute or argument, a missing function, or a value above a bound of plugin_limits.h;
// UNIMPLEMENTED for constants that this host does not know.
StatusOr<KernelRegistration> ReadKernelDef(const MS_KernelDef& definition,
                                           const MS_Registrar& registrar);

// Adds all registrations to the registries, or none. ALREADY_EXISTS names a conflict.
Status CommitRegistrations(MS_Registrar registrar, OpRegistry* ops, KernelRegistry* kernels);

// INVALID_ARGUMENT for a struct shorter than `minimum`, UNIMPLEMENTED for required features.
Status CheckHead(const MS_Head& head, uint32_t minimum, absl::string_view type);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_REGISTRAR_H_
