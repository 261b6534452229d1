/* A plugin in plain C99, for the loader's tests. Each fixture is this file with one value changed
 * by the macros below; with none changed it is a good plugin with one kernel, FixtureDouble for
 * float32 on CPU. */
#define _GNU_SOURCE /* dladdr */
#include <dlfcn.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "framework/plugin/plugin.h"

/* Name in the note, and in the struct. */
#ifndef FIXTURE_NAME
#define FIXTURE_NAME "fixture_good"
#endif
#ifndef FIXTURE_STRUCT_NAME
#define FIXTURE_STRUCT_NAME FIXTURE_NAME
#endif
#ifndef FIXTURE_FAMILY
#define FIXTURE_FAMILY ""
#endif
#ifndef FIXTURE_RANK
#define FIXTURE_RANK 0
#endif
#ifndef FIXTURE_FLAGS
#define FIXTURE_FLAGS MS_PLUGIN_KERNELS_ONLY
#endif
/* What MS_Plugin says. */
#ifndef FIXTURE_MAGIC
#define FIXTURE_MAGIC MS_PLUGIN_MAGIC
#endif
#ifndef FIXTURE_SIZE
#define FIXTURE_SIZE sizeof(MS_Plugin)
#endif
#ifndef FIXTURE_MAJOR
#define FIXTURE_MAJOR MS_ABI_MAJOR
#endif
/* What the functions do. Not MS_OK: entry, init, or the registration after the first kernel, fails
 * with this code. */
#ifndef FIXTURE_ENTRY_CODE
#define FIXTURE_ENTRY_CODE MS_OK
#endif
#ifndef FIXTURE_INIT_CODE
#define FIXTURE_INIT_CODE MS_OK
#endif
#ifndef FIXTURE_REGISTER_CODE
#define FIXTURE_REGISTER_CODE MS_OK
#endif
/* 1: MS_Plugin.init is null; entry gives no MS_Plugin. */
#ifndef FIXTURE_NULL_INIT
#define FIXTURE_NULL_INIT 0
#endif
#ifndef FIXTURE_NULL_PLUGIN
#define FIXTURE_NULL_PLUGIN 0
#endif
/* 1: entry gives a pointer that no MS_Plugin can have. */
#ifndef FIXTURE_MISALIGNED
#define FIXTURE_MISALIGNED 0
#endif
/* The kernels' priority. */
#ifndef FIXTURE_PRIORITY
#define FIXTURE_PRIORITY 0
#endif
/* The device type of the kernels; how many there are, of rising priorities; the text that replaces
 * their label. */
#ifndef FIXTURE_DEVICE_TYPE
#define FIXTURE_DEVICE_TYPE "CPU"
#endif
#ifndef FIXTURE_KERNELS
#define FIXTURE_KERNELS 1
#endif
#ifndef FIXTURE_LABEL
#define FIXTURE_LABEL Text("")
#endif
/* An op of its own: its name, its input, how many attributes it has. NULL: there is none. */
#ifndef FIXTURE_OP
#define FIXTURE_OP NULL
#endif
#ifndef FIXTURE_OP_INPUT
#define FIXTURE_OP_INPUT "x: float"
#endif
#ifndef FIXTURE_OP_ATTRS
#define FIXTURE_OP_ATTRS 0
#endif
/* What runs in init, and in register_all before anything is registered. */
#ifndef FIXTURE_ON_INIT
#define FIXTURE_ON_INIT ((void)0)
#endif
#ifndef FIXTURE_ON_REGISTER
#define FIXTURE_ON_REGISTER ((void)0)
#endif
/* What runs in shutdown. */
#ifndef FIXTURE_ON_SHUTDOWN
#define FIXTURE_ON_SHUTDOWN ((void)0)
#endif
/* The op of a second kernel, whose registration's outcome the plugin ignores. */
#ifndef FIXTURE_SECOND_OP
#define FIXTURE_SECOND_OP NULL
#endif
/* The one option that init takes; NULL: init ignores what it is given. */
#ifndef FIXTURE_OPTION
#define FIXTURE_OPTION NULL
#endif
/* What runs when the file is opened. */
#ifndef FIXTURE_ON_OPEN
#define FIXTURE_ON_OPEN ((void)0)
#endif
/* The entry point's name. */
#ifndef FIXTURE_ENTRY
#define FIXTURE_ENTRY ms_plugin_entry
#endif

MS_PLUGIN_NOTE(FIXTURE_NAME, FIXTURE_FAMILY, FIXTURE_RANK, 0, FIXTURE_FLAGS);

/* For the fixture that leaves a symbol to the process that opens it. */
extern MS_Code code_that_nobody_defines;

static const MS_HostBase* bound_host;
static MS_Registrar* kept_registrar;

/* A text of a megabyte. */
__attribute__((unused)) static MS_Str LongText(void) {
  static char text[1 << 20];
  MS_Str result = {text, sizeof(text)};
  memset(text, 'x', sizeof(text));
  return result;
}

static MS_Str Text(const char* text) {
  MS_Str result = {text, 0};
  while (text[result.size] != '\0') ++result.size;
  return result;
}

/* Gives up every reference to this file that somebody may have. */
__attribute__((unused)) static void CloseSelf(void) {
  Dl_info info;
  void* self = NULL;
  int i;
  if (dladdr(&bound_host, &info) == 0) return;
  self = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  for (i = 0; i < 4 && self != NULL; ++i) dlclose(self);
}

/* NULL for MS_OK. */
static MS_Status* Outcome(MS_Code code, const char* message) {
  return code == MS_OK ? NULL : bound_host->status_make(code, Text(message));
}

static MS_Status* CreateKernel(void* user, const MS_KernelInfo* info, void** out_state) {
  (void)user;
  (void)info;
  *out_state = NULL;
  return NULL;
}

static MS_Status* DoubleInput(void* state, MS_Frame* frame) {
  const MS_MemRef* from = &frame->inputs[0].mem;
  const MS_MemRef* to = &frame->outputs[0].mem;
  const float* x = (const float*)((const char*)from->base + from->offset);
  float* y = (float*)((char*)to->base + to->offset);
  uint64_t i;
  (void)state;
  for (i = 0; i < to->bytes / sizeof(float); ++i) y[i] = 2.0f * x[i];
  return NULL;
}

static void DestroyKernel(void* state) { (void)state; }

static MS_Status* RegisterKernel(MS_Registrar* registrar, const char* op, int32_t priority) {
  static const MS_DType dtypes[] = {MS_FLOAT32};
  MS_TypeConstraint constraint = {{sizeof(MS_TypeConstraint), 0, NULL}, {NULL, 0}, dtypes, 1};
  const MS_TypeConstraint* constraints[1];
  const MS_InPlacePair in_place = {0, 0};
  MS_KernelDef kernel = {{sizeof(MS_KernelDef), 0, NULL}};
  const MS_RegistryApi* registry =
      (const MS_RegistryApi*)bound_host->get_interface(bound_host, MS_REGISTRY_API);
  constraint.attr = Text("T");
  constraints[0] = &constraint;
  kernel.op = Text(op);
  kernel.device_type = Text(FIXTURE_DEVICE_TYPE);
  kernel.label = FIXTURE_LABEL;
  kernel.priority = priority;
  kernel.constraints = constraints;
  kernel.n_constraints = 1;
  kernel.in_place = &in_place;
  kernel.n_in_place = 1;
  kernel.create = &CreateKernel;
  kernel.compute = &DoubleInput;
  kernel.destroy = &DestroyKernel;
  return registry->kernel_register(registrar, &kernel);
}

/* Registers a kernel when it is too late, and logs what it is told. */
__attribute__((unused)) static void RegisterLate(void) {
  const MS_CoreApi* core = (const MS_CoreApi*)bound_host->get_interface(bound_host, MS_CORE_API);
  MS_Status* status = RegisterKernel(kept_registrar, "FixtureDouble", 9);
  bound_host->log(bound_host, MS_LOG_INFO, core->status_message(status));
  core->status_free(status);
}

/* An op with an attribute for each number below FIXTURE_OP_ATTRS, for which one text will do: it is
 * refused before that is read, or is no attribute. */
static MS_Status* RegisterOp(MS_Registrar* registrar, const char* name) {
  const MS_RegistryApi* registry =
      (const MS_RegistryApi*)bound_host->get_interface(bound_host, MS_REGISTRY_API);
  static MS_Str attrs[FIXTURE_OP_ATTRS + 1];
  MS_OpDef op = {{sizeof(MS_OpDef), 0, NULL}};
  const MS_Str input = Text(FIXTURE_OP_INPUT);
  const uint64_t n_attrs = FIXTURE_OP_ATTRS;
  uint64_t i;
  for (i = 0; i < n_attrs; ++i) attrs[i] = Text("a: int = 0");
  op.name = Text(name);
  op.inputs = &input;
  op.n_inputs = 1;
  op.attrs = attrs;
  op.n_attrs = n_attrs;
  return registry->op_register(registrar, &op);
}

static const MS_Table* GetInterface(const MS_Plugin* plugin, const char* id) {
  (void)plugin;
  (void)id;
  return NULL;
}

static int IsText(MS_Str text, const char* expected) {
  const MS_Str other = Text(expected);
  return text.size == other.size && memcmp(text.data, other.data, text.size) == 0;
}

static MS_Status* Init(const MS_Plugin* plugin, const MS_KV* options, uint64_t n_options) {
  const char* known = FIXTURE_OPTION;
  uint64_t i;
  (void)plugin;
  FIXTURE_ON_INIT;
  for (i = 0; known != NULL && i < n_options; ++i) {
    if (!IsText(options[i].key, known)) {
      return bound_host->status_make(MS_INVALID_ARGUMENT, Text("the fixture does not know it"));
    }
    bound_host->log(bound_host, MS_LOG_INFO, options[i].value);
  }
  return Outcome(FIXTURE_INIT_CODE, "the fixture's init fails");
}

static MS_Status* RegisterAll(const MS_Plugin* plugin, MS_Registrar* registrar) {
  const char* own = FIXTURE_OP;
  const char* second = FIXTURE_SECOND_OP;
  MS_Status* status = NULL;
  int32_t i;
  (void)plugin;
  kept_registrar = registrar;
  FIXTURE_ON_REGISTER;
  if (own != NULL) status = RegisterOp(registrar, own);
  for (i = 0; status == NULL && i < FIXTURE_KERNELS; ++i) {
    status = RegisterKernel(registrar, "FixtureDouble", FIXTURE_PRIORITY + i);
  }
  if (status != NULL) return status;
  if (second != NULL) {
    const MS_CoreApi* core = (const MS_CoreApi*)bound_host->get_interface(bound_host, MS_CORE_API);
    core->status_free(RegisterKernel(registrar, second, FIXTURE_PRIORITY));
  }
  return Outcome(FIXTURE_REGISTER_CODE, "the fixture's registration fails half way");
}

static void Shutdown(const MS_Plugin* plugin) {
  (void)plugin;
  FIXTURE_ON_SHUTDOWN;
  bound_host->log(bound_host, MS_LOG_INFO, Text("shutdown of " FIXTURE_NAME));
}

/* What an OpenMP runtime would see as it is loaded. */
static int had_spin_count;

__attribute__((constructor)) static void OnOpen(void) {
  had_spin_count = getenv("GOMP_SPINCOUNT") != NULL;
  FIXTURE_ON_OPEN;
}

MS_PLUGIN_EXPORT MS_Status* FIXTURE_ENTRY(const MS_HostBase* host, const MS_Plugin** out_plugin);

MS_Status* FIXTURE_ENTRY(const MS_HostBase* host, const MS_Plugin** out_plugin) {
  static MS_Plugin plugin;
  bound_host = host;
  plugin.magic = FIXTURE_MAGIC;
  plugin.size = FIXTURE_SIZE;
  plugin.abi_major = FIXTURE_MAJOR;
  plugin.built_minor = MS_ABI_MINOR;
  plugin.min_host_minor = MS_TARGET_MINOR;
  plugin.flags = FIXTURE_FLAGS;
  plugin.name = Text(FIXTURE_STRUCT_NAME);
  plugin.vendor = Text("Fixtures");
  plugin.version = Text("1.2.3");
  plugin.get_interface = &GetInterface;
  plugin.init = FIXTURE_NULL_INIT ? NULL : &Init;
  plugin.register_all = &RegisterAll;
  plugin.shutdown = &Shutdown;
  *out_plugin = FIXTURE_NULL_PLUGIN ? NULL : &plugin;
  if (FIXTURE_MISALIGNED) *out_plugin = (const MS_Plugin*)(const void*)((const char*)&plugin + 1);
  (void)had_spin_count;
  return Outcome(FIXTURE_ENTRY_CODE, "the fixture's entry fails");
}
