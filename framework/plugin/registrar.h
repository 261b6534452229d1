// One plugin's registrations while register_all runs, and the table "ms.registry/1".
//
// Everything is read and checked as it comes; only then do the ops go into the op registry, the
// kernels into the kernel registry and the types of resources into theirs, all or none.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_REGISTRAR_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_REGISTRAR_H_

#include <string>
#include <utility>
#include <vector>

#include "framework/op_registry.h"
#include "framework/plugin/kernel_registry.h"
#include "framework/plugin/plugin.h"
#include "framework/plugin/resource_types.h"
#include "framework/status.h"

// A private transaction: nothing of it is seen until the loader commits it. It belongs to the
// thread that loads the plugin.
struct MS_Registrar {
  MS_Registrar(std::string plugin_name, const millstream::OpRegistry* op_registry)
      : plugin(std::move(plugin_name)), ops(op_registry) {}

  const std::string plugin;
  const millstream::OpRegistry* const ops;
  std::vector<millstream::KernelRegistration> kernels;
  std::vector<millstream::OpDef> new_ops;  // that no registry had yet
  std::vector<std::string> op_names;       // of all that the plugin registered, in that order
  std::vector<millstream::ResourceType> resource_types;
  // The first registration that was refused: it fails the plugin even if the plugin ignores it.
  absl::Status first_error;

  // The op, of this transaction or registered before; NOT_FOUND.
  absl::StatusOr<const millstream::OpDef*> FindOp(absl::string_view name) const;
};

namespace millstream {

const MS_Table* RegistryInterface();

// Copies `definition` after checking it. INVALID_ARGUMENT for an unknown op, attribute, argument
// or a missing function, UNIMPLEMENTED for constants that this host does not know.
StatusOr<KernelRegistration> ReadKernelDef(const MS_KernelDef& definition,
                                           const MS_Registrar& registrar);

// Puts all of it into the registries, or nothing. ALREADY_EXISTS for what is there already.
Status CommitRegistrations(MS_Registrar registrar, OpRegistry* ops, KernelRegistry* kernels);

// INVALID_ARGUMENT for a struct shorter than `minimum`, UNIMPLEMENTED for required features.
Status CheckHead(const MS_Head& head, uint32_t minimum, absl::string_view type);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_REGISTRAR_H_
