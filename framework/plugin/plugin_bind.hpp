// Gets the host's function tables. plugin_entry.hpp does it for every plugin.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_PLUGIN_BIND_HPP_
#define MILLSTREAM_FRAMEWORK_PLUGIN_PLUGIN_BIND_HPP_

#include <cstddef>
#include <cstring>

#include "framework/plugin/plugin.hpp"

namespace ms {
inline namespace v1 {

// Fetches the host's table `id` into *out. REQUIRES: host_tables.base is bound.
// `first_release_size` covers the slots that every release of the table has; none may be null.
template <typename Api>
Status FetchHostTable(const char* id, size_t first_release_size, const Api** out) {
  const MS_HostBase* host = host_tables.base;
  const MS_Table* table = host->get_interface(host, id);
  if (table == nullptr) {
    return Unimplemented("the host, ABI ", host->abi_major, ".", host->abi_minor,
                         ", has no interface ", id);
  }
  if (table->size < first_release_size) {
    return InvalidArgument("the host's ", id, " has ", table->size, " bytes, needed are ",
                           first_release_size);
  }
  for (size_t at = sizeof(MS_Table); at < first_release_size; at += sizeof(void*)) {
    void* slot = nullptr;
    std::memcpy(&slot, reinterpret_cast<const char*>(table) + at, sizeof(slot));
    if (slot == nullptr) {
      return InvalidArgument("the host's ", id, " is null at byte ", at);
    }
  }
  *out = reinterpret_cast<const Api*>(table);
  return Status();
}

// Sets host_tables, which the C++ layer uses. FAILED_PRECONDITION for another ABI major or a host
// older than MS_TARGET_MINOR; UNIMPLEMENTED if the host lacks a table. REQUIRES: the host has
// MS_HOST_MAGIC; otherwise no status could be created.
inline Status BindHost(const MS_HostBase* host) {
  host_tables.base = host;
  const uint32_t wanted_minor = MS_TARGET_MINOR;
  if (host->abi_major != MS_ABI_MAJOR || host->abi_minor < wanted_minor) {
    return Status(MS_FAILED_PRECONDITION,
                  StrCat("needs ABI ", MS_ABI_MAJOR, ".", MS_TARGET_MINOR, ", host has ",
                         host->abi_major, ".", host->abi_minor));
  }
#define MS_SIZE_THROUGH(type, last) (offsetof(type, last) + sizeof(type::last))
  MS_TRY(FetchHostTable(MS_CORE_API, MS_SIZE_THROUGH(MS_CoreApi, env_get), &host_tables.core));
  MS_TRY(FetchHostTable(MS_REGISTRY_API, MS_SIZE_THROUGH(MS_RegistryApi, op_find),
                        &host_tables.registry));
  MS_TRY(FetchHostTable(MS_KERNEL_API, MS_SIZE_THROUGH(MS_KernelApi, device), &host_tables.kernel));
  MS_TRY(FetchHostTable(MS_CTX_API, MS_SIZE_THROUGH(MS_CtxApi, wrap_device), &host_tables.ctx));
  MS_TRY(FetchHostTable(MS_TENSOR_API, MS_SIZE_THROUGH(MS_TensorApi, dlpack_import),
                        &host_tables.tensor));
  MS_TRY(FetchHostTable(MS_RESOURCE_API, MS_SIZE_THROUGH(MS_ResourceApi, release),
                        &host_tables.resource));
  MS_TRY(
      FetchHostTable(MS_SHAPE_API, MS_SIZE_THROUGH(MS_ShapeApi, handle_set), &host_tables.shape));
  // These tables are optional: a host without gradients, or without traces, does not have them.
  if (host->get_interface(host, MS_GRAD_API) != nullptr) {
    MS_TRY(
        FetchHostTable(MS_GRAD_API, MS_SIZE_THROUGH(MS_GradApi, set_dx_rows), &host_tables.grad));
  }
  if (host->get_interface(host, MS_TRACE_API) != nullptr) {
    MS_TRY(FetchHostTable(MS_TRACE_API, MS_SIZE_THROUGH(MS_TraceApi, drops), &host_tables.trace));
  }
  MS_TRY(FetchHostTable(MS_THREADS_API, MS_SIZE_THROUGH(MS_ThreadsApi, schedule),
                        &host_tables.threads));
#undef MS_SIZE_THROUGH
  return Status();
}

}  // namespace v1
}  // namespace ms

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_PLUGIN_BIND_HPP_
