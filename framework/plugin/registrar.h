// One plugin's registrations while register_all runs, and the table "ms.registry/1".
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_REGISTRAR_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_REGISTRAR_H_

#include <string>
#include <utility>
#include <vector>

#include "framework/op_registry.h"
#include "framework/plugin/kernel_registry.h"
#include "framework/plugin/plugin.h"
#include "framework/status.h"

// A private transaction: nothing of it is seen until the loader commits `kernels`. It belongs to
// the thread that loads the plugin.
struct MS_Registrar {
  MS_Registrar(std::string plugin_name, const millstream::OpRegistry* op_registry)
      : plugin(std::move(plugin_name)), ops(op_registry) {}

  const std::string plugin;
  const millstream::OpRegistry* const ops;
  std::vector<millstream::KernelRegistration> kernels;
  // The first registration that was refused: it fails the plugin even if the plugin ignores it.
  absl::Status first_error;
};

namespace millstream {

const MS_Table* RegistryInterface();

// Copies `definition` after checking it. INVALID_ARGUMENT for an unknown op, attribute, argument
// or a missing function, UNIMPLEMENTED for constants that this host does not know.
StatusOr<KernelRegistration> ReadKernelDef(const MS_KernelDef& definition, absl::string_view plugin,
                                           const OpRegistry& ops);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_REGISTRAR_H_
