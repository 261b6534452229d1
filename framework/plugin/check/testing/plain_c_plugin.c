/* A plugin in C99 alone, without devices: Neg for float32 on CPU, with memory from the host or
 * planned. For the test that builds plugins in other languages. */
#include <stddef.h>
#include <stdint.h>

#include "framework/plugin/plugin.h"

MS_PLUGIN_NOTE("plain_c", "", 0, 0, MS_PLUGIN_KERNELS_ONLY);

static const MS_HostBase* bound_host;
static const MS_CtxApi* ctx_api;
static const MS_RegistryApi* registry_api;

static MS_Str Text(const char* text) {
  MS_Str result = {text, 0};
  while (text[result.size] != '\0') ++result.size;
  return result;
}

static MS_Status* Create(void* user, const MS_KernelInfo* info, void** out_state) {
  (void)user;
  (void)info;
  *out_state = NULL;
  return NULL;
}

static void Destroy(void* state) { (void)state; }

static MS_Status* Compute(void* state, MS_Frame* frame) {
  const MS_TensorView* x = &frame->inputs[0];
  MS_TensorView y = frame->outputs[0];
  const float* from;
  float* to;
  uint64_t i;
  (void)state;
  if (y.mem.base == NULL) {
    MS_Dims dims = {NULL, 0, 0};
    MS_Status* status;
    dims.d = x->dims;
    dims.rank = x->rank;
    status = ctx_api->allocate_output(frame, 0, dims, &y);
    if (status != NULL) return status;
  }
  from = (const float*)((const char*)x->mem.base + x->mem.offset);
  to = (float*)((char*)y.mem.base + y.mem.offset);
  for (i = 0; i < x->mem.bytes / sizeof(float); ++i) to[i] = -from[i];
  return NULL;
}

static const MS_Table* GetInterface(const MS_Plugin* plugin, const char* id) {
  (void)plugin;
  (void)id;
  return NULL;
}

static MS_Status* Init(const MS_Plugin* plugin, const MS_KV* options, uint64_t n_options) {
  (void)plugin;
  (void)options;
  if (n_options == 0) return NULL;
  return bound_host->status_make(MS_INVALID_ARGUMENT, Text("there are no options"));
}

static MS_Status* RegisterAll(const MS_Plugin* plugin, MS_Registrar* registrar) {
  static const MS_DType dtypes[] = {MS_FLOAT32};
  MS_TypeConstraint constraint = {{sizeof(MS_TypeConstraint), 0, NULL}, {NULL, 0}, NULL, 0};
  const MS_TypeConstraint* constraints[1];
  const MS_InPlacePair in_place = {0, 0};
  MS_KernelDef kernel = {{sizeof(MS_KernelDef), 0, NULL}};
  (void)plugin;
  constraint.attr = Text("T");
  constraint.dtypes = dtypes;
  constraint.n_dtypes = 1;
  constraints[0] = &constraint;
  kernel.op = Text("Neg");
  kernel.device_type = Text("CPU");
  kernel.constraints = constraints;
  kernel.n_constraints = 1;
  kernel.in_place = &in_place;
  kernel.n_in_place = 1;
  kernel.create = &Create;
  kernel.compute = &Compute;
  kernel.destroy = &Destroy;
  return registry_api->kernel_register(registrar, &kernel);
}

static void Shutdown(const MS_Plugin* plugin) { (void)plugin; }

MS_PLUGIN_EXPORT MS_Status* ms_plugin_entry(const MS_HostBase* host, const MS_Plugin** out_plugin);

MS_Status* ms_plugin_entry(const MS_HostBase* host, const MS_Plugin** out_plugin) {
  static MS_Plugin plugin;
  const uint32_t wanted_minor = MS_TARGET_MINOR;
  *out_plugin = NULL;
  bound_host = host;
  if (host->abi_major != MS_ABI_MAJOR || host->abi_minor < wanted_minor) {
    return host->status_make(MS_FAILED_PRECONDITION, Text("the host has another ABI"));
  }
  ctx_api = (const MS_CtxApi*)host->get_interface(host, MS_CTX_API);
  registry_api = (const MS_RegistryApi*)host->get_interface(host, MS_REGISTRY_API);
  if (ctx_api == NULL || registry_api == NULL) {
    return host->status_make(MS_UNIMPLEMENTED, Text("the host lacks an interface"));
  }
  plugin.magic = MS_PLUGIN_MAGIC;
  plugin.size = sizeof(plugin);
  plugin.abi_major = MS_ABI_MAJOR;
  plugin.built_minor = MS_ABI_MINOR;
  plugin.min_host_minor = MS_TARGET_MINOR;
  plugin.flags = MS_PLUGIN_KERNELS_ONLY;
  plugin.name = Text("plain_c");
  plugin.vendor = Text("Tests");
  plugin.version = Text("1.0");
  plugin.get_interface = &GetInterface;
  plugin.init = &Init;
  plugin.register_all = &RegisterAll;
  plugin.shutdown = &Shutdown;
  *out_plugin = &plugin;
  return NULL;
}
