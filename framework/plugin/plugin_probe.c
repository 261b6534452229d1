/* Tries to load one plugin, in a process that nobody minds losing:
 *
 *   millstream_plugin_probe FILE
 *
 * opens FILE as a shared object and calls its entry point. When that has returned, whatever it
 * said, and whether or not the file could be opened at all, the byte 'K' is written to descriptor 3
 * and the exit status is 0: only crashing, hanging and ending the process are found here,
 * everything else is found by the loader itself. */
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "framework/plugin/plugin.h"

enum { kReportDescriptor = 3, kUsage = 64 };

struct MS_Status {
  MS_Code code;
};

/* ---- A host that refuses everything ---------------------------------------------------------- */

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
static uint64_t NowNs(void) { return 0; }
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

/* The other tables have work to do only after the entry point; their functions are there to be
 * looked at. One that is called all the same ends as any function that fails. */
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
  MS_REFUSING_TABLE(MS_RegistryApi, MS_REGISTRY_API)
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

static void Load(const char* path) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  const MS_Plugin* plugin = NULL;
  MS_PluginEntry entry = NULL;
  if (library == NULL) return;
  *(void**)&entry = dlsym(library, MS_PLUGIN_ENTRY_NAME);
  if (entry != NULL) entry(&host_base, &plugin);
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
  _exit(write(kReportDescriptor, "K", 1) == 1 ? 0 : 1);
}
