/* A plugin in plain C, with plugin.h alone: the device type TINY, three kernels, and an op of its
 * own. Its streams run all work synchronously, on the thread of the caller. */
#define _POSIX_C_SOURCE 200112L

#include <stdlib.h>
#include <string.h>

#include "millstream/plugin.h"

MS_PLUGIN_NOTE("tiny", "tiny", 0, 0, MS_PLUGIN_DEVICES);

#define LIMIT ((uint64_t)64 << 20)
#define ALIGNMENT ((uint64_t)64)

static const MS_HostBase* host;
static const MS_CtxApi* ctx;
static const MS_ShapeApi* shape;
static const MS_RegistryApi* registry;

static MS_Str Text(const char* text) {
  MS_Str result = {NULL, 0};
  result.data = text;
  result.size = strlen(text);
  return result;
}

static MS_Status* Fail(MS_Code code, const char* message) {
  return host->status_make(code, Text(message));
}

static char* Start(const MS_MemRef* ref) { return (char*)ref->base + ref->offset; }

/* ---- The device: memory ---- */

struct MS_Device {
  uint64_t in_use; /* atomic: any thread may allocate */
};
struct MS_Stream {
  MS_Device* device;
};
struct MS_Event {
  int nothing;
};

static MS_Status* MemAlloc(MS_Device* device, uint32_t space, uint64_t bytes, uint64_t alignment,
                           MS_MemRef* out) {
  if (space != MS_SPACE_DEVICE) return Fail(MS_UNIMPLEMENTED, "TINY has no such space");
  memset(out, 0, sizeof(*out));
  out->space = space;
  out->bytes = bytes;
  if (bytes == 0) return NULL;
  if (alignment < ALIGNMENT) alignment = ALIGNMENT;
  if (bytes > LIMIT) return Fail(MS_RESOURCE_EXHAUSTED, "TINY has 64 MiB");
  if (__atomic_add_fetch(&device->in_use, bytes, __ATOMIC_RELAXED) > LIMIT ||
      posix_memalign(&out->base, alignment, bytes) != 0) {
    __atomic_sub_fetch(&device->in_use, bytes, __ATOMIC_RELAXED);
    out->base = NULL;
    return Fail(MS_RESOURCE_EXHAUSTED, "TINY has not so many bytes left of its 64 MiB");
  }
  return NULL;
}

static void MemFree(MS_Device* device, const MS_MemRef* ref) {
  if (ref->base == NULL) return;
  free(ref->base);
  __atomic_sub_fetch(&device->in_use, ref->bytes, __ATOMIC_RELAXED);
}

static MS_Status* MemInfo(MS_Device* device, uint64_t* free_bytes, uint64_t* total) {
  const uint64_t in_use = __atomic_load_n(&device->in_use, __ATOMIC_RELAXED);
  *total = LIMIT;
  *free_bytes = in_use < LIMIT ? LIMIT - in_use : 0;
  return NULL;
}

/* ---- The device: streams and events. Work is complete when the call that enqueues it returns.
 * So every stream is always idle, and every event is always done. ---- */

static MS_Status* StreamCreate(MS_Device* device, uint32_t role, int32_t priority,
                               MS_Stream** out) {
  (void)role;
  (void)priority;
  *out = (MS_Stream*)malloc(sizeof(MS_Stream));
  if (*out == NULL) return Fail(MS_RESOURCE_EXHAUSTED, "no memory for a stream");
  (*out)->device = device;
  return NULL;
}
static void StreamDestroy(MS_Stream* stream) { free(stream); }
static void* StreamNative(MS_Stream* stream) { return stream; }
static MS_Status* StreamQuery(MS_Stream* stream, uint8_t* idle) {
  (void)stream;
  *idle = 1;
  return NULL;
}
static MS_Status* StreamSync(MS_Stream* stream) {
  (void)stream;
  return NULL;
}
static MS_Status* StreamWaitEvent(MS_Stream* stream, MS_Event* event) {
  (void)stream;
  (void)event;
  return NULL;
}

static MS_Status* EventCreate(MS_Device* device, uint32_t flags, MS_Event** out) {
  (void)device;
  (void)flags;
  *out = (MS_Event*)calloc(1, sizeof(MS_Event));
  return *out == NULL ? Fail(MS_RESOURCE_EXHAUSTED, "no memory for an event") : NULL;
}
static void EventDestroy(MS_Event* event) { free(event); }
static MS_Status* EventRecord(MS_Event* event, MS_Stream* stream) {
  (void)event;
  (void)stream;
  return NULL;
}
static MS_Status* EventQuery(MS_Event* event, uint8_t* done) {
  (void)event;
  *done = 1;
  return NULL;
}
static MS_Status* EventSync(MS_Event* event) {
  (void)event;
  return NULL;
}

static MS_Status* CopyAsync(MS_Stream* stream, const MS_MemRef* to, const MS_MemRef* from,
                            uint64_t bytes) {
  (void)stream;
  if (bytes != 0) memmove(Start(to), Start(from), bytes);
  return NULL;
}

static MS_Status* NoDeviceError(MS_Device* device) {
  (void)device;
  return NULL;
}

/* Slots that are not named are NULL. They are optional, and this device lacks them. */
static const MS_DeviceApi device_api = {
    .head = {sizeof(MS_DeviceApi), 1, MS_ABI_MINOR, MS_DEVICE_API},
    .mem_alloc = &MemAlloc,
    .mem_free = &MemFree,
    .mem_info = &MemInfo,
    .stream_create = &StreamCreate,
    .stream_destroy = &StreamDestroy,
    .stream_native = &StreamNative,
    .stream_query = &StreamQuery,
    .stream_sync = &StreamSync,
    .event_create = &EventCreate,
    .event_destroy = &EventDestroy,
    .event_record = &EventRecord,
    .event_query = &EventQuery,
    .event_sync = &EventSync,
    .stream_wait_event = &StreamWaitEvent,
    .copy_async = &CopyAsync,
    .device_sync = &NoDeviceError,
    .device_error = &NoDeviceError,
};

/* ---- The list of devices ---- */

static MS_SpaceDesc space = {
    .head = {.size = sizeof(MS_SpaceDesc)},
    .space = MS_SPACE_DEVICE,
    .flags = MS_SPACE_DEVICE_VISIBLE | MS_SPACE_LINEAR,
    .alignment = ALIGNMENT,
    .granularity = ALIGNMENT,
    .max_alloc = LIMIT,
    .mode = MS_ALLOC_RAW,
};
static const MS_SpaceDesc* const spaces[] = {&space};
static MS_DeviceDesc description = {
    .head = {.size = sizeof(MS_DeviceDesc)},
    .device_type = {"TINY", 4},
    .name = {"Tiny device", 11},
    .arch = {"host", 4},
    .numa = -1,
    .mem_total = LIMIT,
    .flags = MS_DEVICE_LINEAR_POINTERS,
    .spaces = spaces,
    .n_spaces = 1,
};

static MS_Status* Enumerate(const MS_Plugin* plugin, const MS_DeviceDesc** out, uint64_t* n,
                            MS_Str* reason) {
  (void)plugin;
  (void)reason;
  if (*n > 0) out[0] = &description;
  *n = 1;
  return NULL;
}
static MS_Status* DeviceCreate(const MS_Plugin* plugin, uint32_t ordinal, const MS_KV* options,
                               uint64_t n_options, MS_Device** out) {
  (void)plugin;
  (void)options;
  if (ordinal != 0) return Fail(MS_INVALID_ARGUMENT, "there is one TINY");
  if (n_options != 0) return Fail(MS_INVALID_ARGUMENT, "a TINY has no options");
  *out = (MS_Device*)calloc(1, sizeof(MS_Device));
  return *out == NULL ? Fail(MS_RESOURCE_EXHAUSTED, "no memory for a device") : NULL;
}
static void DeviceDestroy(MS_Device* device) { free(device); }
static const MS_DeviceApi* Functions(MS_Device* device) {
  (void)device;
  return &device_api;
}
static const MS_DevicesApi devices_api = {{sizeof(MS_DevicesApi), 1, MS_ABI_MINOR, MS_DEVICES_API},
                                          &Enumerate,
                                          &DeviceCreate,
                                          &DeviceDestroy,
                                          &Functions};

/* ---- Kernels: unary elementwise functions ---- */

typedef float (*Function)(float x);
static float Neg(float x) { return -x; }
static float Square(float x) { return x * x; }
static float Softsign(float x) { return x / (1 + (x < 0 ? -x : x)); }

/* The registration's `user` is the state of every kernel: a struct with a pointer to the function.
 */
static const Function functions[] = {&Neg, &Square, &Softsign};

static MS_Status* Create(void* user, const MS_KernelInfo* info, void** out_state) {
  (void)info;
  *out_state = user;
  return NULL;
}
static void Destroy(void* state) { (void)state; }

static MS_Status* Compute(void* state, MS_Frame* frame) {
  const Function function = *(const Function*)state;
  const MS_TensorView* x = &frame->inputs[0];
  MS_TensorView y = frame->outputs[0];
  const float* from = (const float*)Start(&x->mem);
  float* to;
  uint64_t i;
  uint64_t n = 1;
  for (i = 0; i < x->rank; ++i) n *= (uint64_t)x->dims[i];
  if (y.mem.base == NULL) { /* no plan has laid it out */
    MS_Dims dims = {NULL, 0, 0};
    const uint32_t candidate = 0;
    int32_t which;
    MS_Status* status;
    dims.d = x->dims;
    dims.rank = x->rank;
    status = ctx->forward_or_allocate(frame, &candidate, 1, 0, dims, &y, &which);
    if (status != NULL) return status;
  }
  to = (float*)Start(&y.mem);
  for (i = 0; i < n; ++i) to[i] = function(from[i]);
  return NULL;
}

static MS_Status* RegisterKernel(MS_Registrar* registrar, const char* op, const char* type_attr,
                                 const Function* function) {
  static const MS_DType dtypes[] = {MS_FLOAT32};
  static const MS_InPlacePair in_place = {0, 0};
  MS_TypeConstraint constraint = {.head = {.size = sizeof(MS_TypeConstraint)}};
  MS_KernelDef kernel = {.head = {.size = sizeof(MS_KernelDef)}};
  const MS_TypeConstraint* constraints[1];
  constraints[0] = &constraint;
  if (type_attr != NULL) {
    constraint.attr = Text(type_attr);
    constraint.dtypes = dtypes;
    constraint.n_dtypes = 1;
    kernel.constraints = constraints;
    kernel.n_constraints = 1;
  }
  kernel.op = Text(op);
  kernel.device_type = Text("TINY");
  kernel.in_place = &in_place;
  kernel.n_in_place = 1;
  kernel.user = (void*)function;
  kernel.create = &Create;
  kernel.compute = &Compute;
  kernel.destroy = &Destroy;
  return registry->kernel_register(registrar, &kernel);
}

/* ---- An op of our own ---- */

static MS_Status* SameShape(void* user, MS_ShapeCtx* node) {
  (void)user;
  return shape->set_output(node, 0, shape->input(node, 0));
}

static MS_Status* RegisterOp(MS_Registrar* registrar) {
  const MS_Str inputs[] = {{"x: float", 8}};
  const MS_Str outputs[] = {{"y: float", 8}};
  MS_OpDef op = {.head = {.size = sizeof(MS_OpDef)}};
  op.name = Text("TinySoftsign");
  op.doc = Text("x / (1 + |x|), element by element.");
  op.inputs = inputs;
  op.n_inputs = 1;
  op.outputs = outputs;
  op.n_outputs = 1;
  op.shape_fn = &SameShape;
  return registry->op_register(registrar, &op);
}

/* ---- The plugin ---- */

static const MS_Table* GetInterface(const MS_Plugin* plugin, const char* id) {
  (void)plugin;
  if (strcmp(id, MS_DEVICES_API) == 0) return &devices_api.head;
  if (strcmp(id, MS_DEVICE_API) == 0) return &device_api.head;
  return NULL;
}
static MS_Status* Init(const MS_Plugin* plugin, const MS_KV* options, uint64_t n_options) {
  (void)plugin;
  (void)options;
  return n_options == 0 ? NULL : Fail(MS_INVALID_ARGUMENT, "this plugin has no options");
}
static MS_Status* RegisterAll(const MS_Plugin* plugin, MS_Registrar* registrar) {
  MS_Status* status = RegisterOp(registrar);
  (void)plugin;
  if (status == NULL) status = RegisterKernel(registrar, "Neg", "T", &functions[0]);
  if (status == NULL) status = RegisterKernel(registrar, "Square", "T", &functions[1]);
  if (status == NULL) status = RegisterKernel(registrar, "TinySoftsign", NULL, &functions[2]);
  return status;
}
static void Shutdown(const MS_Plugin* plugin) { (void)plugin; }

MS_PLUGIN_EXPORT MS_Status* ms_plugin_entry(const MS_HostBase* base, const MS_Plugin** out);

MS_Status* ms_plugin_entry(const MS_HostBase* base, const MS_Plugin** out) {
  static MS_Plugin plugin;
  const uint32_t wanted_minor = MS_TARGET_MINOR;
  *out = NULL;
  host = base;
  if (host->abi_major != MS_ABI_MAJOR || host->abi_minor < wanted_minor) {
    return Fail(MS_FAILED_PRECONDITION, "the host has another ABI");
  }
  ctx = (const MS_CtxApi*)host->get_interface(host, MS_CTX_API);
  shape = (const MS_ShapeApi*)host->get_interface(host, MS_SHAPE_API);
  registry = (const MS_RegistryApi*)host->get_interface(host, MS_REGISTRY_API);
  if (ctx == NULL || shape == NULL || registry == NULL) {
    return Fail(MS_UNIMPLEMENTED, "the host lacks an interface");
  }
  plugin.magic = MS_PLUGIN_MAGIC;
  plugin.size = sizeof(plugin);
  plugin.abi_major = MS_ABI_MAJOR;
  plugin.built_minor = MS_BUILT_MINOR;
  plugin.min_host_minor = MS_TARGET_MINOR;
  plugin.flags = MS_PLUGIN_DEVICES;
  plugin.name = Text("tiny");
  plugin.vendor = Text("Tiny");
  plugin.version = Text("1.0");
  plugin.get_interface = &GetInterface;
  plugin.init = &Init;
  plugin.register_all = &RegisterAll;
  plugin.shutdown = &Shutdown;
  *out = &plugin;
  return NULL;
}
