/* Tries to load one plugin, in a process that nobody minds losing:
 *
 *   millstream_plugin_probe FILE
 *
 * opens FILE as a shared object, calls its entry point, its init without options, and its
 * register_all. After each of the three it writes a byte to descriptor 3, the last one with exit
 * status 0. What the functions return does not matter, and neither does a file that cannot be
 * opened: only crashing, hanging and ending the process are found here, everything else is found by
 * the loader itself. */
#define _POSIX_C_SOURCE 199309L /* clock_gettime */
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "framework/plugin/plugin.h"
#include "framework/plugin/probe_report.h"

enum { kReportDescriptor = 3, kUsage = 64 };

struct MS_Status {
  MS_Code code;
};

/* ---- A host that takes what is registered and refuses everything else ------------------------ */

static struct MS_Status refusal = {MS_UNAVAILABLE};

static MS_Status* MakeStatus(MS_Code code, MS_Str message) {
  (void)message;
  refusal.code = code;
  return &refusal;
}
static void Log(const MS_HostBase* host, int32_t level, MS_Str message) {
  (void)host;
  (void)level;
  (void)message;
}

static MS_Code StatusCode(const MS_Status* status) { return status == NULL ? MS_OK : status->code; }
static MS_Str StatusMessage(const MS_Status* status) {
  const MS_Str none = {NULL, 0};
  (void)status;
  return none;
}
static void StatusFree(MS_Status* status) { (void)status; }
static void BufAppend(MS_Buf* buffer, MS_Bytes bytes) {
  (void)buffer;
  (void)bytes;
}
/* Time goes on: an init may wait for something, but not for ever. */
static uint64_t NowNs(void) {
  struct timespec now = {0, 0};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
static void BreadcrumbSet(MS_Str text) { (void)text; }
static void AddPayload(MS_Status* status, MS_Str type, MS_Bytes payload) {
  (void)status;
  (void)type;
  (void)payload;
}
static void LogNothing(int32_t level, MS_Str message) {
  (void)level;
  (void)message;
}
static uint8_t LogEnabled(int32_t level) {
  (void)level;
  return 0;
}
static uint8_t EnvGet(MS_Str name, MS_Str* out) {
  (void)name;
  (void)out;
  return 0;
}

static const MS_CoreApi core_api = {
    {sizeof(MS_CoreApi), 1, MS_ABI_MINOR, MS_CORE_API},
    &StatusCode,
    &StatusMessage,
    &StatusFree,
    &BufAppend,
    &NowNs,
    &BreadcrumbSet,
    &AddPayload,
    &LogNothing,
    &LogEnabled,
    &EnvGet,
};

static MS_Status* TakeKernel(MS_Registrar* registrar, const MS_KernelDef* kernel) {
  (void)registrar;
  (void)kernel;
  return NULL;
}
static MS_Status* TakeOp(MS_Registrar* registrar, const MS_OpDef* op) {
  (void)registrar;
  (void)op;
  return NULL;
}
static MS_Status* TakeGradient(MS_Registrar* registrar, MS_Str op,
                               MS_Status* (*fn)(void* user, MS_GradCtx* ctx), void* user) {
  (void)registrar;
  (void)op;
  (void)fn;
  (void)user;
  return NULL;
}
static MS_Status* TakeResourceType(MS_Registrar* registrar, MS_Str type,
                                   void (*destroy)(void* object)) {
  (void)registrar;
  (void)type;
  (void)destroy;
  return NULL;
}

/* A plugin that asks sees a host without ops, and must bear it. */
static const MS_OpInfo* FindNoOp(MS_Registrar* registrar, MS_Str name) {
  (void)registrar;
  (void)name;
  return NULL;
}

/* Nothing is kept: the registrar is there to be handed on. */
static const MS_RegistryApi registry_api = {
    {sizeof(MS_RegistryApi), 1, MS_ABI_MINOR, MS_REGISTRY_API},
    &TakeKernel,
    &TakeOp,
    &TakeGradient,
    &TakeResourceType,
    &FindNoOp,
};

/* The other tables have work to do only while kernels run; their functions are there to be looked
 * at. One that is called all the same ends as any function that fails. */
static MS_Status* Refuse(void) { return &refusal; }

#define MS_REFUSING_TABLE(type, id)                                                        \
  {                                                                                        \
    static type table = {{sizeof(type), 1, MS_ABI_MINOR, id}};                             \
    if (strcmp(wanted, id) == 0) {                                                         \
      FillWithRefusals((char*)&table + sizeof(MS_Table), sizeof(type) - sizeof(MS_Table)); \
      return &table.head;                                                                  \
    }                                                                                      \
  }

static void FillWithRefusals(char* slots, size_t bytes) {
  MS_Status* (*const refuse)(void) = &Refuse;
  size_t at;
  for (at = 0; at < bytes; at += sizeof(refuse)) memcpy(slots + at, &refuse, sizeof(refuse));
}

static const MS_Table* GetInterface(const MS_HostBase* host, const char* wanted) {
  (void)host;
  if (strcmp(wanted, MS_CORE_API) == 0) return &core_api.head;
  if (strcmp(wanted, MS_REGISTRY_API) == 0) return &registry_api.head;
  MS_REFUSING_TABLE(MS_KernelApi, MS_KERNEL_API)
  MS_REFUSING_TABLE(MS_CtxApi, MS_CTX_API)
  MS_REFUSING_TABLE(MS_TensorApi, MS_TENSOR_API)
  MS_REFUSING_TABLE(MS_ResourceApi, MS_RESOURCE_API)
  MS_REFUSING_TABLE(MS_ThreadsApi, MS_THREADS_API)
  MS_REFUSING_TABLE(MS_ShapeApi, MS_SHAPE_API)
  MS_REFUSING_TABLE(MS_GradApi, MS_GRAD_API)
  MS_REFUSING_TABLE(MS_TraceApi, MS_TRACE_API)
  return NULL;
}

static const MS_HostBase host_base = {
    MS_HOST_MAGIC,
    sizeof(MS_HostBase),
    MS_ABI_MAJOR,
    MS_ABI_MINOR,
    MS_HOST_PROBE,
    0,
    {"probe", 5},
    &GetInterface,
    &MakeStatus,
    &Log,
    {NULL, NULL, NULL, NULL},
};

/* ---------------------------------------------------------------------------------------------- */

static int Tell(char stage) { return write(kReportDescriptor, &stage, 1) == 1; }

/* Whether the loader would call its functions. */
static int IsPlugin(const MS_Plugin* plugin) {
  return plugin != NULL && (uintptr_t)plugin % sizeof(void*) == 0 &&
         plugin->magic == MS_PLUGIN_MAGIC && plugin->size >= sizeof(MS_Plugin) &&
         plugin->abi_major == MS_ABI_MAJOR && plugin->init != NULL && plugin->register_all != NULL;
}

static void Load(const char* path) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  static char registrar[64]; /* an address of our own */
  const MS_Plugin* plugin = NULL;
  MS_PluginEntry entry = NULL;
  if (library == NULL) return;
  *(void**)&entry = dlsym(library, MS_PLUGIN_ENTRY_NAME);
  if (entry == NULL || entry(&host_base, &plugin) != NULL || !IsPlugin(plugin)) return;
  if (!Tell(kProbeEntered) || plugin->init(plugin, NULL, 0) != NULL) return;
  if (!Tell(kProbeInitialized)) return;
  plugin->register_all(plugin, (MS_Registrar*)(void*)registrar);
}

int main(int argc, char** argv) {
  static const char usage[] = "usage: millstream_plugin_probe FILE\n";
  const struct rlimit no_core = {0, 0};
  if (argc != 2) {
    if (write(STDERR_FILENO, usage, sizeof(usage) - 1) < 0) return kUsage;
    return kUsage;
  }
  /* A crash is expected here: it leaves no file behind. Nor does this process outlive its parent.
   */
  setrlimit(RLIMIT_CORE, &no_core);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  Load(argv[1]);
  /* At once: what the plugin wants to run at exit is no part of loading it. */
  _exit(Tell(kProbeDone) ? 0 : 1);
}
