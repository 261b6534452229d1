/* The Millstream plugin ABI: the only thing between the runtime and a backend.
 *
 * A plugin is a shared object that exports one function, ms_plugin_entry, and carries one ELF note
 * (MS_PLUGIN_NOTE). The host hands it an MS_HostBase; everything else is reached
 * through named function tables: the plugin asks the host for "ms.core/1" and the like, the host
 * asks the plugin for "ms.devices/1". Nothing is linked by symbol name in either direction.
 *
 * Rules that hold for every struct here:
 *  - LP64, little-endian. Fixed-width integers only. No implicit padding; sizes are multiples of 8;
 *    reserved and pad fields are zero.
 *  - "Frozen" structs never change and may be embedded or put in arrays. "Growable" structs begin
 *    with MS_Head (or MS_Table), are only passed by pointer, and grow at the tail. The writer sets
 *    size = sizeof and zeroes the rest; the reader uses MS_HAS before it touches a field that the
 *    first release of the struct did not have. Sizes are never compared for equality.
 *  - What a reader does not know is never ignored in silence. A bit of `required`, a flag, a mode,
 *    a number of an enumeration or a dtype that it does not know, and an extension whose own
 *    `required` is not 0: the reader refuses the item that has it, with MS_UNIMPLEMENTED, and
 *    nothing else. The item is one kernel, one op, one device, one call. An extension whose
 *    `required` is 0 is optional: a reader that does not know it goes on without it. Reserved
 *    constants are unknown to this host.
 *  - Functions return MS_Status*, where NULL means success and anything else is owned by the caller
 *    (ms.core/1 status_free), unless they are declared otherwise. No exception may cross.
 *  - Lifetimes. For ever: MS_Plugin, tables, functions, their `user`, and what says so. Until the
 *    callback returns that got it: everything else that is passed by pointer, unless it says
 *    otherwise. Until released: MS_Status, MS_Tensor, MS_Resource, MS_LockSet. Until destroyed:
 *    devices, and in them streams, events, blocks and graphs, which go before their device.
 *  - Threads. entry, init, register_all and shutdown are called one at a time. Everything else may
 *    be called from any thread, by several at once, unless it says otherwise.
 *  - The floating-point environment (rounding, flushing of denormals, traps) of a host's thread is
 *    the host's. A callback that changes it restores it before it returns; the host looks at the
 *    latest when a step ends, restores it, and names the plugin in the log.
 *
 * Within a major, minors only add: at the tail of growable structs and tables, new interfaces, new
 * constants. Every 1.x host loads every 1.y plugin whose min_host_minor it meets (CHANGELOG.md). */
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_PLUGIN_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_PLUGIN_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MS_ABI_MAJOR 1
#define MS_ABI_MINOR 0

/* The newest host minor that may be relied on without asking MS_HAS: MS_Plugin.min_host_minor. A
 * plugin that wants to run on older hosts lowers it, and no longer sees what came later. */
#ifndef MS_TARGET_MINOR
#define MS_TARGET_MINOR MS_ABI_MINOR
#endif
/* The newest minor that is seen: MS_Plugin.built_minor. A plugin that also wants what came after
 * its target, where a host has it, raises it up to MS_ABI_MINOR, and asks MS_HAS for it. */
#ifndef MS_BUILT_MINOR
#define MS_BUILT_MINOR MS_TARGET_MINOR
#endif
#if MS_TARGET_MINOR > MS_BUILT_MINOR || MS_BUILT_MINOR > MS_ABI_MINOR
#error "MS_TARGET_MINOR <= MS_BUILT_MINOR <= MS_ABI_MINOR must hold"
#endif
/* Fields, constants and structs that minor m added stand between #if MS_SINCE(m) and #endif. */
#define MS_SINCE(m) (MS_BUILT_MINOR >= (m))

#define MS_HOST_MAGIC 0x4d494c4c484f5354ull   /* "MILLHOST" */
#define MS_PLUGIN_MAGIC 0x4d494c4c504c5547ull /* "MILLPLUG" */

/* True when the writer of *p knew `field` and, for a pointer, filled it. */
#define MS_COVERS(p, field) \
  ((p)->head.size >= (uint32_t)(offsetof_ms(p, field) + sizeof((p)->field)))
#define offsetof_ms(p, field) ((size_t)((const char*)&(p)->field - (const char*)(p)))
#define MS_HAS(p, field) (MS_COVERS(p, field) && (p)->field != 0)

/* ---- Frozen structs ------------------------------------------------------------------------- */

/* UTF-8 text, not terminated. data may be NULL when size is 0. */
typedef struct MS_Str {
  const char* data;
  uint64_t size;
} MS_Str;
typedef struct MS_Bytes {
  const void* data;
  uint64_t size;
} MS_Bytes;
typedef struct MS_KV {
  MS_Str key;
  MS_Str value;
} MS_KV;

/* A tensor has at most MS_MAX_RANK dimensions. The host refuses more before a kernel sees them, so
 * that arrays of this length hold any shape. */
#define MS_MAX_RANK 32u
/* rank MS_UNKNOWN_RANK: nothing is known; a dimension of -1 is unknown. */
#define MS_UNKNOWN_RANK 0xffffffffu
typedef struct MS_Dims {
  const int64_t* d;
  uint32_t rank;
  uint32_t pad;
} MS_Dims;

/* A place in a device's memory. `base` is what mem_alloc gave. In a linear space (MS_SPACE_LINEAR)
 * the bytes start at base + offset, and the host may change either. In others, which are opaque,
 * `base` is a handle of the plugin's: the host passes it on as it got it and counts in `offset`.
 * `device_index` is the ordinal of the device, and 0 for host memory. */
typedef struct MS_MemRef {
  void* base;
  uint64_t offset;
  uint64_t bytes;
  uint32_t space;
  uint32_t device_index;
} MS_MemRef;

/* Output `output` may share the buffer of input `input` when the input has no other reader. */
typedef struct MS_InPlacePair {
  uint32_t output;
  uint32_t input;
} MS_InPlacePair;

typedef struct MS_Status MS_Status;         /* owned by the host */
typedef struct MS_Tensor MS_Tensor;         /* a counted reference to a host tensor */
typedef struct MS_Ctx MS_Ctx;               /* the host's side of one kernel execution */
typedef struct MS_KernelInfo MS_KernelInfo; /* a node's op, attributes and types */
typedef struct MS_Registrar MS_Registrar;   /* an open registration transaction */
typedef struct MS_ShapeCtx MS_ShapeCtx;     /* the shape inference of one node */
typedef struct MS_Shape MS_Shape;           /* a partially known shape of one inference */
typedef struct MS_GradCtx MS_GradCtx;       /* the backward step of one node */
typedef struct MS_Resource MS_Resource;     /* a counted reference to a plugin's object */
typedef struct MS_TraceSink MS_TraceSink;   /* where a profiler's events go */
typedef struct MS_LockSet MS_LockSet;       /* variables locked by one kernel execution */
typedef struct MS_Done MS_Done;             /* the completion of one asynchronous execution */
typedef struct MS_Buf MS_Buf;               /* a growing byte buffer of the host's */
typedef struct MS_Device MS_Device;         /* a device, the plugin's own type */
typedef struct MS_Stream MS_Stream;         /* a stream, the plugin's own type */
typedef struct MS_Event MS_Event;           /* an event, the plugin's own type */
typedef struct MS_Graph MS_Graph;           /* recorded work, the plugin's own type */

/* A dense row-major tensor. A view is valid until compute returns (or `done`, when asynchronous).
 * String cells and resources are opaque: they are read through ms.tensor/1 and ms.resource/1. */
typedef struct MS_TensorView {
  MS_MemRef mem;
  const int64_t* dims;
  uint32_t rank;
  uint32_t dtype;
  uint64_t flags;
  MS_Tensor* handle; /* borrowed; NULL for planned memory that nothing may keep */
} MS_TensorView;

/* MS_TensorView.flags */
#define MS_VIEW_HOST 1u     /* host-readable through mem.base + mem.offset */
#define MS_VIEW_REF 2u      /* reserved */
#define MS_VIEW_RESOURCE 4u /* a resource handle */
#define MS_VIEW_CONST 8u    /* the same value in every step */
#define MS_VIEW_UNINITIALIZED 16u
#define MS_VIEW_OPAQUE 32u /* base + offset is no address: the memory's space is not linear */

/* ---- Heads ---------------------------------------------------------------------------------- */

typedef struct MS_Ext MS_Ext;

/* First field of every growable struct. A set bit in `required` names a feature that the reader
 * must understand. `ext` is a chain of additions: each has an id, and the next one in its own head;
 * NULL ends it. What a reader does not know: see the rules above. */
typedef struct MS_Head {
  uint32_t size;
  uint32_t required;
  const MS_Ext* ext;
} MS_Head;

struct MS_Ext {
  MS_Head head;
  uint64_t id;
};

/* First field of every function table. */
typedef struct MS_Table {
  uint32_t size;
  uint16_t major;
  uint16_t minor;
  const char* id; /* "ms.core/1" */
} MS_Table;

/* ---- Constants ------------------------------------------------------------------------------ */

/* dtype = code | bits << 8 | lanes << 16, with DLPack's codes; codes from 0xE0 are Millstream's
 * and are never exported through DLPack. */
typedef uint32_t MS_DType;
#define MS_DTYPE(code, bits) ((MS_DType)((code) | ((uint32_t)(bits) << 8) | (1u << 16)))
#define MS_CODE_INT 0u
#define MS_CODE_UINT 1u
#define MS_CODE_FLOAT 2u
#define MS_CODE_BFLOAT 4u
#define MS_CODE_COMPLEX 5u
#define MS_CODE_BOOL 6u
#define MS_CODE_QINT 0xE0u
#define MS_CODE_QUINT 0xE1u
#define MS_CODE_STRING 0xE2u
#define MS_CODE_RESOURCE 0xE3u
#define MS_CODE_VARIANT 0xE4u
#define MS_INT8 MS_DTYPE(MS_CODE_INT, 8)
#define MS_INT16 MS_DTYPE(MS_CODE_INT, 16)
#define MS_INT32 MS_DTYPE(MS_CODE_INT, 32)
#define MS_INT64 MS_DTYPE(MS_CODE_INT, 64)
#define MS_UINT8 MS_DTYPE(MS_CODE_UINT, 8)
#define MS_UINT16 MS_DTYPE(MS_CODE_UINT, 16)
#define MS_UINT32 MS_DTYPE(MS_CODE_UINT, 32)
#define MS_UINT64 MS_DTYPE(MS_CODE_UINT, 64)
#define MS_FLOAT16 MS_DTYPE(MS_CODE_FLOAT, 16)
#define MS_FLOAT32 MS_DTYPE(MS_CODE_FLOAT, 32)
#define MS_FLOAT64 MS_DTYPE(MS_CODE_FLOAT, 64)
#define MS_BFLOAT16 MS_DTYPE(MS_CODE_BFLOAT, 16)
#define MS_COMPLEX64 MS_DTYPE(MS_CODE_COMPLEX, 64)
#define MS_COMPLEX128 MS_DTYPE(MS_CODE_COMPLEX, 128)
#define MS_BOOL MS_DTYPE(MS_CODE_BOOL, 8)
#define MS_QINT8 MS_DTYPE(MS_CODE_QINT, 8)
#define MS_QINT16 MS_DTYPE(MS_CODE_QINT, 16)
#define MS_QINT32 MS_DTYPE(MS_CODE_QINT, 32)
#define MS_QUINT8 MS_DTYPE(MS_CODE_QUINT, 8)
#define MS_QUINT16 MS_DTYPE(MS_CODE_QUINT, 16)
#define MS_STRING MS_DTYPE(MS_CODE_STRING, 0)
#define MS_RESOURCE MS_DTYPE(MS_CODE_RESOURCE, 0)
#define MS_VARIANT MS_DTYPE(MS_CODE_VARIANT, 0)
/* Reserved: the numbers are fixed, but this host has no tensors and takes no kernels of them. The
 * codes are DLPack's; two elements of four bits share a byte, the first in its low half. */
#define MS_CODE_FLOAT8_E4M3FN 10u
#define MS_CODE_FLOAT8_E4M3FNUZ 11u
#define MS_CODE_FLOAT8_E5M2 12u
#define MS_CODE_FLOAT8_E5M2FNUZ 13u
#define MS_FLOAT8_E4M3FN MS_DTYPE(MS_CODE_FLOAT8_E4M3FN, 8)
#define MS_FLOAT8_E4M3FNUZ MS_DTYPE(MS_CODE_FLOAT8_E4M3FNUZ, 8)
#define MS_FLOAT8_E5M2 MS_DTYPE(MS_CODE_FLOAT8_E5M2, 8)
#define MS_FLOAT8_E5M2FNUZ MS_DTYPE(MS_CODE_FLOAT8_E5M2FNUZ, 8)
#define MS_INT4 MS_DTYPE(MS_CODE_INT, 4)
#define MS_UINT4 MS_DTYPE(MS_CODE_UINT, 4)

/* Status codes, numbered as absl::StatusCode. */
typedef int32_t MS_Code;
#define MS_OK 0
#define MS_CANCELLED 1
#define MS_UNKNOWN 2
#define MS_INVALID_ARGUMENT 3
#define MS_DEADLINE_EXCEEDED 4
#define MS_NOT_FOUND 5
#define MS_ALREADY_EXISTS 6
#define MS_PERMISSION_DENIED 7
#define MS_RESOURCE_EXHAUSTED 8
#define MS_FAILED_PRECONDITION 9
#define MS_ABORTED 10
#define MS_OUT_OF_RANGE 11
#define MS_UNIMPLEMENTED 12
#define MS_INTERNAL 13
#define MS_UNAVAILABLE 14
#define MS_DATA_LOSS 15

#define MS_SPACE_DEVICE 0u
#define MS_SPACE_HOST_PINNED 1u
#define MS_SPACE_HOST 2u
#define MS_SPACE_MANAGED 3u /* reserved */

#define MS_LOG_DEBUG 0
#define MS_LOG_INFO 1
#define MS_LOG_WARNING 2
#define MS_LOG_ERROR 3

/* MS_HostBase.flags */
#define MS_HOST_SANITIZER 1u
#define MS_HOST_DEBUG 2u
#define MS_HOST_PROBE 4u

/* MS_Plugin.flags */
#define MS_PLUGIN_KERNELS_ONLY 1u
#define MS_PLUGIN_DEVICES 2u
#define MS_PLUGIN_HAS_OPTIONS 4u

/* ---- Handshake (frozen for ever) ------------------------------------------------------------ */

typedef struct MS_HostBase MS_HostBase;
struct MS_HostBase {
  uint64_t magic; /* MS_HOST_MAGIC */
  uint32_t size;
  uint16_t abi_major;
  uint16_t abi_minor;
  uint32_t flags;
  uint32_t pad;
  MS_Str host_version;
  /* A host interface by id, or NULL when this host does not have it. Tables live for ever. */
  const MS_Table* (*get_interface)(const MS_HostBase* host, const char* id);
  MS_Status* (*status_make)(MS_Code code, MS_Str message);
  void (*log)(const MS_HostBase* host, int32_t level, MS_Str message);
  void* reserved[4];
};

/* Static storage, valid for ever. All four functions are mandatory. */
typedef struct MS_Plugin MS_Plugin;
struct MS_Plugin {
  uint64_t magic; /* MS_PLUGIN_MAGIC */
  uint32_t size;
  uint16_t abi_major;
  uint16_t built_minor;
  uint16_t min_host_minor;
  uint16_t pad0;
  uint32_t flags;
  MS_Str name; /* the same as in the note */
  MS_Str vendor;
  MS_Str version;
  /* A plugin interface by id, or NULL. */
  const MS_Table* (*get_interface)(const MS_Plugin* plugin, const char* id);
  /* Called once, before anything else; options were checked against the schema. */
  MS_Status* (*init)(const MS_Plugin* plugin, const MS_KV* options, uint64_t n_options);
  /* Registers everything the plugin brings; a failure drops all of it. */
  MS_Status* (*register_all)(const MS_Plugin* plugin, MS_Registrar* registrar);
  /* Called after all sessions closed; the mapping stays. */
  void (*shutdown)(const MS_Plugin* plugin);
  void* reserved[4];
};

/* The one exported symbol. */
typedef MS_Status* (*MS_PluginEntry)(const MS_HostBase* host, const MS_Plugin** out_plugin);
#define MS_PLUGIN_ENTRY_NAME "ms_plugin_entry"

/* What the loader reads before it runs any code: the description of ELF note "Millstream", type 1.
 * Frozen. Text fields are terminated. */
#define MS_NOTE_OWNER "Millstream"
#define MS_NOTE_TYPE 1u
typedef struct MS_Note {
  uint64_t magic; /* MS_PLUGIN_MAGIC */
  uint16_t abi_major;
  uint16_t built_minor;
  uint16_t min_host_minor;
  uint16_t rank;      /* of several files of one family, the highest rank that can run is chosen */
  uint64_t cpu_bits;  /* MS_CPU_*: what the code needs beyond x86-64 baseline */
  uint32_t sanitizer; /* 0, or MS_SANITIZER_* */
  uint32_t flags;     /* as MS_Plugin.flags */
  char name[32];
  char family[32];
} MS_Note;
#define MS_CPU_AVX2 1ull
#define MS_CPU_FMA 2ull
#define MS_CPU_AVX512F 4ull
#define MS_CPU_AVX512BW 8ull
#define MS_CPU_AVX512VL 16ull
#define MS_CPU_AVX512DQ 32ull
#define MS_CPU_AVX512VNNI 64ull
#define MS_CPU_AVX512BF16 128ull
#define MS_SANITIZER_ADDRESS 1u
#define MS_SANITIZER_THREAD 2u
#define MS_SANITIZER_MEMORY 4u

/* The note as it lies in the file: the ELF note header, the owner's name, the description. */
typedef struct MS_NoteRecord {
  uint32_t owner_size; /* of "Millstream" with its terminator */
  uint32_t description_size;
  uint32_t type;
  char owner[12];
  MS_Note description;
} MS_NoteRecord;

#if defined(__SANITIZE_ADDRESS__)
#define MS_BUILT_SANITIZER MS_SANITIZER_ADDRESS
#elif defined(__SANITIZE_THREAD__)
#define MS_BUILT_SANITIZER MS_SANITIZER_THREAD
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MS_BUILT_SANITIZER MS_SANITIZER_ADDRESS
#elif __has_feature(thread_sanitizer)
#define MS_BUILT_SANITIZER MS_SANITIZER_THREAD
#elif __has_feature(memory_sanitizer)
#define MS_BUILT_SANITIZER MS_SANITIZER_MEMORY
#endif
#endif
#ifndef MS_BUILT_SANITIZER
#define MS_BUILT_SANITIZER 0u
#endif

#define MS_NOTE_FIELDS(name, family, rank, cpu_bits, flags)                             \
  {                                                                                     \
    MS_PLUGIN_MAGIC, MS_ABI_MAJOR, MS_BUILT_MINOR, MS_TARGET_MINOR, (rank), (cpu_bits), \
        MS_BUILT_SANITIZER, (flags), name, family                                       \
  }

/* Puts the note into this object file, at file scope, once a plugin. name and family are literals
 * of at most 31 bytes; families are alternatives of which one file is loaded (see MS_Note.rank).
 * The plugin's own code reads ms_plugin_description, never the note: tools that change run paths
 * and names of libraries (patchelf, auditwheel) move the note and overwrite the place it had. */
#define MS_PLUGIN_NOTE(name, family, rank, cpu_bits, flags)                    \
  static const MS_Note ms_plugin_description __attribute__((unused)) =         \
      MS_NOTE_FIELDS(name, family, rank, cpu_bits, flags);                     \
  static const MS_NoteRecord ms_plugin_note                                    \
      __attribute__((section(".note.millstream"), used, aligned(8))) = {       \
          sizeof(MS_NOTE_OWNER), sizeof(MS_Note), MS_NOTE_TYPE, MS_NOTE_OWNER, \
          MS_NOTE_FIELDS(name, family, rank, cpu_bits, flags)}

/* Stands before the definition of ms_plugin_entry. */
#define MS_PLUGIN_EXPORT __attribute__((visibility("default")))

/* ---- Kernels -------------------------------------------------------------------------------- */

/* The device that a node is placed on, for what is made once a node or once a shape signature:
 * uploads of weights, handles of libraries. NULLs and 0 for a device type without a plugin of its
 * own. Work that is enqueued on the stream is done before the node is first executed. */
typedef struct MS_DeviceContext {
  MS_Head head;
  MS_Device* device;
  MS_Stream* stream; /* the stream that computes, of MS_Frame */
  void* stream_native;
  uint32_t device_ordinal;
  uint32_t pad;
} MS_DeviceContext;

/* One execution of one kernel. Built once per plan instruction and reused: a step patches only
 * what changed. Valid until compute returns (or `done`).
 *
 * On a device with streams compute enqueues its work on `stream` and returns. Memory of the device
 * that it was given (inputs, outputs, scratch, temporary memory) is used again only by what the
 * host enqueues later; host arguments are valid until compute returns, so what the work needs of
 * them is copied first. Variables are locked while the work is enqueued. A kernel that uses streams
 * of its own joins them to `stream` by events before it returns. The host waits for the stream
 * before it destroys kernels and shape states.
 *
 * On a device whose memory is the host's (MS_DEVICE_HOST_IS_DEVICE) device_state and stream are set
 * too, and what compute enqueued is done before it returns: the host reads the outputs at once. */
typedef struct MS_Frame {
  MS_Head head;
  MS_Ctx* ctx;
  const MS_TensorView* inputs;
  /* Preset to planned memory of the shape that the plan found; mem.base NULL with rank
   * MS_UNKNOWN_RANK: the kernel calls ctx.allocate_output or ctx.set_output. */
  MS_TensorView* outputs;
  /* Bit i of word i / 64: output i is needed. A kernel may leave the others alone. */
  const uint64_t* outputs_used;
  void* shape_state; /* what specialize made; NULL on the dynamic path */
  void* scratch;     /* scratch_bytes of specialize, 64-byte aligned; NULL: none, or opaque */
  uint32_t n_in;
  uint32_t n_out;
  void* device_state;  /* MS_Device* of the plugin that owns the device */
  void* stream_native; /* what stream native() gave */
  MS_Stream* stream;
  uint64_t correlation_id;
  uint64_t flags; /* MS_FRAME_* */
  uint64_t step_id;
  uint32_t device_ordinal;
  uint32_t pad;
  MS_MemRef scratch_mem; /* the same place, in an opaque space too; 0 bytes: none was asked */
} MS_Frame;
#define MS_FRAME_DETERMINISTIC 1u
#define MS_FRAME_TRACING 2u
#define MS_FRAME_CAPTURE 4u /* `stream` records what compute enqueues, see "ms.capture/1" */

/* One shape signature of one node, while a plan is built. All dims are known; `outputs` is what
 * the op's shape function says. */
typedef struct MS_Specialization {
  MS_Head head;
  const MS_Dims* inputs;
  /* Values of inputs that are constants in host memory; the others have mem.base NULL. */
  const MS_TensorView* constants;
  const MS_Dims* outputs;
  uint32_t n_in;
  uint32_t n_out;
  uint32_t num_threads; /* the most that a frame of this plan will offer */
  uint32_t pad;
  uint64_t scratch_bytes; /* out: wanted for each execution, in the device's memory */
  void* shape_state;      /* out: passed in every frame, freed by unspecialize */
  const MS_DeviceContext* device;
} MS_Specialization;

/* Whether a kernel takes a node. Shapes may be of unknown rank, and have sizes of -1. */
typedef struct MS_SupportsQuery {
  MS_Head head;
  const MS_KernelInfo* info; /* for ms.kernel/1: op, attributes, types; no device */
  const MS_Dims* inputs;
  const MS_Dims* outputs;
  uint32_t n_in;
  uint32_t n_out;
} MS_SupportsQuery;

/* The type attribute `attr` must have one of `dtypes`. */
typedef struct MS_TypeConstraint {
  MS_Head head;
  MS_Str attr;
  const MS_DType* dtypes;
  uint64_t n_dtypes;
} MS_TypeConstraint;

/* MS_KernelDef.flags */
#define MS_KERNEL_ASYNC 1u /* compute_async instead of compute */
/* compute may block its thread for as long as it likes, also to wait for what another node of its
 * step does: it holds up nothing else of the step. While it waits it asks ctx.cancel_check. */
#define MS_KERNEL_BLOCKING 2u
#define MS_KERNEL_INEXPENSIVE 4u /* always cheap enough to run inline */
#define MS_KERNEL_SYNCS_HOST 8u  /* host-arg outputs are valid on return */
/* compute does nothing but enqueue work on the frame's stream, the same for the same shapes and
 * values of host arguments but for the addresses in the frame: it allocates nothing, locks no
 * variable, reserves no random numbers and has no output in host memory. See "ms.capture/1". */
#define MS_KERNEL_CAPTURE_SAFE 16u
#define MS_KERNEL_DETERMINISTIC 32u

typedef struct MS_KernelDef {
  MS_Head head;
  MS_Str op;
  MS_Str device_type;
  MS_Str label; /* attribute "_kernel" of a node must equal it; empty for the usual kernel */
  int32_t priority;
  uint32_t flags;
  const MS_TypeConstraint* const* constraints;
  uint64_t n_constraints;
  const MS_Str* host_args; /* names of arguments that live in host memory */
  uint64_t n_host_args;
  const MS_InPlacePair* in_place;
  uint64_t n_in_place;
  void* user; /* static for ever */
  /* Makes the state of one node. compute runs on it from several threads at once. */
  MS_Status* (*create)(void* user, const MS_KernelInfo* info, void** out_state);
  MS_Status* (*compute)(void* state, MS_Frame* frame);
  void (*compute_async)(void* state, MS_Frame* frame, MS_Done* done); /* only with ASYNC */
  void (*destroy)(void* state);
  /* Optional pair, for every shape signature of a plan: prepares what depends on shapes alone. */
  MS_Status* (*specialize)(void* state, MS_Specialization* specialization);
  void (*unspecialize)(void* state, void* shape_state);
  /* Optional, for kernels that take some shapes, layouts or attributes only. Asked before a node is
   * placed, with the shapes that are known then, and maybe again, for the same answer. A status,
   * whose text explain_placement shows, refuses the node: the next kernel is asked. */
  MS_Status* (*supports)(void* user, const MS_SupportsQuery* query);
} MS_KernelDef;

/* ---- Ops ------------------------------------------------------------------------------------ */

/* MS_OpDef.flags */
#define MS_OP_STATEFUL 1u /* never folded, merged or left out as equal to another */
#define MS_OP_COMMUTATIVE 2u
#define MS_OP_AGGREGATE 4u
#define MS_OP_ALLOWS_UNINITIALIZED_INPUT 8u

/* An op of the plugin's own. Texts as in TensorFlow's op specifications: arguments "x: T",
 * "n: int32", "xs: N * T", "all: Tlist"; attributes "T: {float, double} = DT_FLOAT", "N: int >= 1",
 * "mode: {'a', 'b'} = 'a'", "Tlist: list(type)". The name is of letters, digits and underscores and
 * begins with a capital. It begins with the plugin's name, family or vendor, capitals and
 * underscores aside, so that no op that a host gets later has it: plugin "acme" has "AcmeSwish". */
typedef struct MS_OpDef {
  MS_Head head;
  MS_Str name;
  MS_Str doc; /* a summary line, then an empty one and the rest; Python shows it */
  const MS_Str* inputs;
  uint64_t n_inputs;
  const MS_Str* outputs;
  uint64_t n_outputs;
  const MS_Str* attrs;
  uint64_t n_attrs;
  uint64_t flags;
  /* Says the outputs' shapes (ms.shape/1), or what is wrong with the inputs'. From any thread, for
   * ever. NULL: outputs of unknown shape. */
  MS_Status* (*shape_fn)(void* user, MS_ShapeCtx* ctx);
  void* user;
  /* Versions of graphs (GraphDef.versions.producer). 0: there from the first on. */
  uint32_t since_version;
  /* Graphs of this version and later cannot have the op, and `deprecation` says what instead;
   * older ones that are imported still can. 0: not deprecated. */
  uint32_t deprecated_version;
  MS_Str deprecation;
} MS_OpDef;

/* What a host says of an op that it has: names of arguments and attributes, in their order. */
typedef struct MS_OpInfo {
  MS_Head head;
  MS_Str name;
  const MS_Str* inputs;
  uint64_t n_inputs;
  const MS_Str* outputs;
  uint64_t n_outputs;
  const MS_Str* attrs;
  uint64_t n_attrs;
  uint64_t flags;         /* MS_OP_* */
  uint32_t since_version; /* as MS_OpDef has them */
  uint32_t deprecated_version;
} MS_OpInfo;

/* A tensor of the graph, until the gradient function returns; 0: none. */
typedef uint64_t MS_Ref;

/* A node that a gradient function adds. */
typedef struct MS_NodeDef {
  MS_Head head;
  MS_Str op;
  MS_Str name;          /* below the gradient's scope; empty: the op's */
  const MS_Ref* inputs; /* of all arguments, one after the other */
  uint64_t n_inputs;
  const uint32_t* counts; /* how many each argument takes; NULL: one each */
  uint64_t n_counts;
  /* Values in text form: 3, 1e-4, true, "text" in quotes with C's escapes, DT_FLOAT, [2, -1],
   * [DT_FLOAT, DT_INT32]. Types and counts that follow from the inputs need not be given. */
  const MS_KV* attrs;
  uint64_t n_attrs;
  /* Attributes that are taken over from the node whose gradient this is. */
  const MS_Str* copied_attrs;
  uint64_t n_copied_attrs;
} MS_NodeDef;

/* ---- Host interfaces ------------------------------------------------------------------------ */

/* "ms.core/1" */
typedef struct MS_CoreApi {
  MS_Table head;
  MS_Code (*status_code)(const MS_Status* status); /* NULL gives MS_OK */
  MS_Str (*status_message)(const MS_Status* status);
  void (*status_free)(MS_Status* status);
  void (*buf_append)(MS_Buf* buffer, MS_Bytes bytes);
  uint64_t (*now_ns)(void); /* monotonic */
  /* What the thread is doing, for the crash handler; cleared with an empty text. */
  void (*breadcrumb_set)(MS_Str text);
  /* Attaches bytes to a status, which whoever knows `type` may read; one for each type. */
  void (*status_add_payload)(MS_Status* status, MS_Str type, MS_Bytes payload);
  void (*log)(int32_t level, MS_Str message);
  /* 0: a message of this level would be dropped, and need not be made. */
  uint8_t (*log_enabled)(int32_t level);
  /* The environment variable, whose name begins with MILLSTREAM_; 0 for others and for one that is
   * not set. The text lives for ever. */
  uint8_t (*env_get)(MS_Str name, MS_Str* out);
} MS_CoreApi;

/* "ms.registry/1": only during register_all; everything is copied during the call.
 *
 * A kernel, an op or a gradient of which this host does not know the op, an argument, an attribute,
 * a dtype, a flag or a feature is skipped. The call succeeds, the plugin becomes ready without it,
 * and the list of plugins says what was skipped and why. An error is for what no host could take (a
 * missing function, a text that is none): it fails the whole plugin, even one that goes on.
 *
 * Two kernels of one op, device type, label and priority that serve a type in common: the one that
 * was registered first serves it. A tie is listed, and no error. Plugins are loaded in this order:
 * those that come with the host, then the others as they are found (docs/plugins.md); kernels of
 * one plugin in the order of their calls. */
typedef struct MS_RegistryApi {
  MS_Table head;
  MS_Status* (*kernel_register)(MS_Registrar* registrar, const MS_KernelDef* kernel);
  /* Before the op's kernels and gradient. An op that is there already, with the same signature, is
   * left as it is; one that differs is skipped, with what belongs to it. */
  MS_Status* (*op_register)(MS_Registrar* registrar, const MS_OpDef* op);
  /* The gradient of an op that this plugin registered before: fn adds nodes by ms.grad/1. From any
   * thread, for ever. fn NULL: the op is not differentiable, and nothing flows through it. */
  MS_Status* (*gradient_register)(MS_Registrar* registrar, MS_Str op,
                                  MS_Status* (*fn)(void* user, MS_GradCtx* ctx), void* user);
  /* A type of objects for ms.resource/1. destroy is called once, on any thread, after nobody uses
   * the object any more and the work is done that streams had when its last user released it. */
  MS_Status* (*resource_type_register)(MS_Registrar* registrar, MS_Str type,
                                       void (*destroy)(void* object));
  /* The op as this host has it, or NULL: it has none. Valid until register_all returns. */
  const MS_OpInfo* (*op_find)(MS_Registrar* registrar, MS_Str name);
} MS_RegistryApi;

typedef uint32_t MS_AttrKind;
#define MS_ATTR_NONE 0u
#define MS_ATTR_I64 1u
#define MS_ATTR_F32 2u
#define MS_ATTR_BOOL 3u
#define MS_ATTR_STR 4u
#define MS_ATTR_DTYPE 5u
#define MS_ATTR_SHAPE 6u
#define MS_ATTR_TENSOR 7u
#define MS_ATTR_FUNC 8u
#define MS_ATTR_LIST 0x100u /* or-ed with the kind of the items */

/* "ms.kernel/1": what a kernel may ask about its node during create, and a shape or gradient
 * function about the node that it is called for. Pointers that the getters give are valid until
 * that function returns. A getter answers MS_NOT_FOUND for an absent attribute and
 * MS_INVALID_ARGUMENT for one of another kind, naming the node. */
typedef struct MS_KernelApi {
  MS_Table head;
  MS_Str (*op_type)(const MS_KernelInfo* info);
  MS_Str (*node_name)(const MS_KernelInfo* info);
  MS_Str (*device_name)(const MS_KernelInfo* info);
  uint32_t (*num_inputs)(const MS_KernelInfo* info);
  uint32_t (*num_outputs)(const MS_KernelInfo* info);
  MS_DType (*input_dtype)(const MS_KernelInfo* info, uint32_t index);
  MS_DType (*output_dtype)(const MS_KernelInfo* info, uint32_t index);
  MS_AttrKind (*attr_kind)(const MS_KernelInfo* info, MS_Str name);
  MS_Status* (*attr_i64)(const MS_KernelInfo* info, MS_Str name, int64_t* out);
  MS_Status* (*attr_f32)(const MS_KernelInfo* info, MS_Str name, float* out);
  MS_Status* (*attr_bool)(const MS_KernelInfo* info, MS_Str name, uint8_t* out);
  MS_Status* (*attr_str)(const MS_KernelInfo* info, MS_Str name, MS_Str* out);
  MS_Status* (*attr_dtype)(const MS_KernelInfo* info, MS_Str name, MS_DType* out);
  MS_Status* (*attr_shape)(const MS_KernelInfo* info, MS_Str name, MS_Dims* out);
  MS_Status* (*attr_tensor)(const MS_KernelInfo* info, MS_Str name, MS_TensorView* out);
  MS_Status* (*attr_i64_list)(const MS_KernelInfo* info, MS_Str name, const int64_t** out,
                              uint64_t* n);
  MS_Status* (*attr_f32_list)(const MS_KernelInfo* info, MS_Str name, const float** out,
                              uint64_t* n);
  MS_Status* (*attr_str_list)(const MS_KernelInfo* info, MS_Str name, const MS_Str** out,
                              uint64_t* n);
  MS_Status* (*attr_dtype_list)(const MS_KernelInfo* info, MS_Str name, const MS_DType** out,
                                uint64_t* n);
  MS_Status* (*attr_shape_list)(const MS_KernelInfo* info, MS_Str name, const MS_Dims** out,
                                uint64_t* n);
  /* Positions [begin, end) that the named (possibly variadic) argument takes. */
  MS_Status* (*input_range)(const MS_KernelInfo* info, MS_Str name, uint32_t* begin, uint32_t* end);
  MS_Status* (*output_range)(const MS_KernelInfo* info, MS_Str name, uint32_t* begin,
                             uint32_t* end);
  /* The name of the function. */
  MS_Status* (*attr_func)(const MS_KernelInfo* info, MS_Str name, MS_Str* out);
  MS_Status* (*attr_bool_list)(const MS_KernelInfo* info, MS_Str name, const uint8_t** out,
                               uint64_t* n);
  MS_Status* (*attr_tensor_list)(const MS_KernelInfo* info, MS_Str name, const MS_TensorView** out,
                                 uint64_t* n);
  MS_Status* (*attr_func_list)(const MS_KernelInfo* info, MS_Str name, const MS_Str** out,
                               uint64_t* n);
  /* All attributes, those of no op definition (of names that begin with '_') included. */
  uint64_t (*attr_count)(const MS_KernelInfo* info);
  MS_Str (*attr_name)(const MS_KernelInfo* info, uint64_t i);
  /* Depends on op, attributes and types and on nothing else, not on the name: nodes of one digest
   * do the same. The same in every process of one version of the host. */
  uint64_t (*node_digest)(const MS_KernelInfo* info);
  /* The option of this plugin, as it was given or by its default (ms.options/1); MS_NOT_FOUND.
   * Valid for ever. Not for shape and gradient functions. */
  MS_Status* (*option_get)(const MS_KernelInfo* info, MS_Str name, MS_Str* out);
  /* The node's device, until the kernel is destroyed. NULL in all functions but create. */
  const MS_DeviceContext* (*device)(const MS_KernelInfo* info);
} MS_KernelApi;

struct DLManagedTensorVersioned; /* as dlpack.h 1.x declares it */

/* "ms.ctx/1": during compute. */
typedef struct MS_CtxApi {
  MS_Table head;
  /* Memory for output `index`; *out is also written to frame->outputs[index]. */
  MS_Status* (*allocate_output)(MS_Frame* frame, uint32_t index, MS_Dims dims, MS_TensorView* out);
  /* Uses the buffer of the first candidate input that nobody else needs and that has the right
   * size, else allocates. *which is the input taken, or -1. */
  MS_Status* (*forward_or_allocate)(MS_Frame* frame, const uint32_t* candidates, uint32_t n,
                                    uint32_t index, MS_Dims dims, MS_TensorView* out,
                                    int32_t* which);
  /* The output is this tensor, of the node's dtype. Its reference is shared, not taken. */
  MS_Status* (*set_output)(MS_Frame* frame, uint32_t index, MS_Tensor* tensor);
  /* Memory that lives until compute returns (or `done`), 64-byte aligned: MS_SPACE_DEVICE (on a
   * device, until the work is done that the stream has then), MS_SPACE_HOST, and
   * MS_SPACE_HOST_PINNED where the device has it. MS_UNIMPLEMENTED for a space that is not there
   * and for dtypes without a fixed size. */
  MS_Status* (*allocate_temp)(MS_Frame* frame, MS_DType dtype, MS_Dims dims, uint32_t space,
                              MS_TensorView* out);
  /* MS_CANCELLED when the step was cancelled, MS_DEADLINE_EXCEEDED after its time limit. A kernel
   * that takes long asks now and then, and returns what it gets: nobody else looks meanwhile. */
  MS_Status* (*cancel_check)(MS_Frame* frame);
  /* Ends an execution of compute_async: once, from any thread, also before compute_async returns.
   * The host owns the status from then on; the frame and what came with it are gone. */
  void (*done)(MS_Done* done, MS_Status* status);
  /* Reserves `blocks` blocks of four 32-bit numbers of the node's own Philox stream; gives the
   * key and the counter of the first. The stream starts from the node's attributes seed, seed2
   * and the graph's, and goes on from step to step within one session. */
  MS_Status* (*rng_reserve)(MS_Frame* frame, uint64_t blocks, uint64_t* out_key,
                            uint64_t out_counter[2]);
  /* Positions [begin, end) that the named (possibly variadic) argument takes. */
  MS_Status* (*input_list)(const MS_Frame* frame, MS_Str name, uint32_t* begin, uint32_t* end);
  MS_Status* (*output_list)(const MS_Frame* frame, MS_Str name, uint32_t* begin, uint32_t* end);
  /* The dtype that the node has there; 0 beyond the last output. */
  MS_DType (*expected_output_dtype)(const MS_Frame* frame, uint32_t index);
  uint64_t (*step_id)(const MS_Frame* frame); /* never the same twice in a process */
  /* The input as a tensor that may be kept; the caller owns a reference. Copied where the memory
   * is needed for something else afterwards. */
  MS_Status* (*input_tensor)(MS_Frame* frame, uint32_t index, MS_Tensor** out);
  /* Calls fn, once, from any thread, when the step is cancelled or fails; at once when it is
   * stopping already. For kernels that wait without asking cancel_check. Until deregistered, which
   * waits for a call that is under way and must happen before compute returns, or before `done`. fn
   * is brief and calls nothing here. */
  MS_Status* (*cancel_register)(MS_Frame* frame, void (*fn)(void* user), void* user,
                                uint64_t* out_token);
  void (*cancel_deregister)(MS_Frame* frame, uint64_t token);
  /* Calls fn, once, from any thread, when all that the frame's stream has to do so far is done; on
   * a device whose memory is the host's, when the execution has ended. */
  MS_Status* (*defer_release)(MS_Frame* frame, void (*fn)(void* user), void* user);
  /* A named part of the execution, which a traced step (MS_FRAME_TRACING) shows. Parts nest: end
   * closes the last that this thread began. Nothing happens in other steps. */
  void (*trace_begin)(MS_Frame* frame, MS_Str name);
  void (*trace_end)(MS_Frame* frame);
  /* A tensor in memory of the frame's device that the plugin owns, for set_output and var_replace.
   * release is called once, from any thread, after nobody uses the memory any more and the work is
   * done that streams had then. The memory is never written to. */
  MS_Status* (*wrap_device)(MS_Frame* frame, const MS_MemRef* memory, MS_DType dtype, MS_Dims dims,
                            void (*release)(void* user), void* user, MS_Tensor** out);
  /* As that of ms.tensor/1, and takes memory of the frame's device too. */
  MS_Status* (*dlpack_import)(MS_Frame* frame, struct DLManagedTensorVersioned* managed,
                              MS_Tensor** out);
} MS_CtxApi;

/* "ms.tensor/1" */
typedef struct MS_TensorApi {
  MS_Table head;
  void (*retain)(MS_Tensor* tensor);
  void (*release)(MS_Tensor* tensor);
  void (*view)(MS_Tensor* tensor, MS_TensorView* out);
  /* A new tensor in host memory. */
  MS_Status* (*create)(uint32_t space, MS_DType dtype, MS_Dims dims, MS_Tensor** out);
  /* String cells, by flat index. The text is valid until the cell is set or the view ends. */
  MS_Status* (*string_get)(const MS_TensorView* view, uint64_t index, MS_Str* out);
  MS_Status* (*string_set)(const MS_TensorView* view, uint64_t index, MS_Str value);
  MS_Status* (*string_copy)(const MS_TensorView* destination, uint64_t to,
                            const MS_TensorView* source, uint64_t from);
  /* A new tensor in the same memory: rows [begin, end), or other dims with as many elements. */
  MS_Status* (*slice)(MS_Tensor* tensor, int64_t begin, int64_t end, MS_Tensor** out);
  MS_Status* (*reshape)(MS_Tensor* tensor, MS_Dims dims, MS_Tensor** out);
  /* The same memory through DLPack. What is exported is kept until its deleter is called, and is
   * read-only when others may read it. An import takes the struct over (not when it fails) and
   * calls its deleter in the end; it must be dense and row-major, and is never written to.
   * MS_UNIMPLEMENTED for dtypes of the one that the other does not have. Linear memory of a device
   * with a dlpack_device_type is exported, as of device_id MS_DeviceDesc.ordinal, when the device
   * has written it; it is imported, when the lender has written it, by ms.ctx/1 dlpack_import. */
  MS_Status* (*dlpack_export)(MS_Tensor* tensor, struct DLManagedTensorVersioned** out);
  MS_Status* (*dlpack_import)(struct DLManagedTensorVersioned* managed, MS_Tensor** out);
} MS_TensorApi;

/* What is locked for reading cannot be changed. Both modes keep all other kernels out. */
#define MS_LOCK_READ 0u
#define MS_LOCK_WRITE 1u

/* "ms.resource/1": variables, and objects of the plugin's own that live in a session. vars_lock
 * takes the inputs that are handles, by input index, and locks them in an order that cannot
 * deadlock; a lock set that is still held when compute returns is released and reported. Reading
 * never sees a torn or later value. */
typedef struct MS_ResourceApi {
  MS_Table head;
  MS_Status* (*vars_lock)(MS_Frame* frame, const uint32_t* inputs, const uint32_t* modes,
                          uint32_t n, MS_LockSet** out);
  /* The value; MS_FAILED_PRECONDITION names a variable that was never assigned. */
  MS_Status* (*var_view)(MS_LockSet* locks, uint32_t k, MS_TensorView* out);
  /* The value, in memory that nobody else reads (copied first if somebody does). */
  MS_Status* (*var_prepare_write)(MS_LockSet* locks, uint32_t k, MS_TensorView* out);
  MS_Status* (*var_replace)(MS_LockSet* locks, uint32_t k, MS_Tensor* tensor);
  void (*vars_unlock)(MS_LockSet* locks);
  /* What a handle is of; a variable's type is "Variable". The texts live as long as the view. */
  MS_Status* (*handle_read)(const MS_TensorView* handle, MS_Str* container, MS_Str* name,
                            MS_Str* type);
  /* Objects of a registered type by container ("": the session's default one) and name, as a
   * kernel's attributes "container" and "shared_name" say them. create gives the object to the
   * container, MS_ALREADY_EXISTS leaves it to the caller. Each *out is a reference that the caller
   * releases; the object lives as long as there is one, or its container. lookup answers
   * MS_NOT_FOUND; lookup_or_create calls make when there is none; of two made at once one goes. */
  MS_Status* (*create)(MS_Frame* frame, MS_Str container, MS_Str name, MS_Str type, void* object,
                       MS_Resource** out);
  MS_Status* (*lookup)(MS_Frame* frame, MS_Str container, MS_Str name, MS_Str type,
                       void** out_object, MS_Resource** out);
  MS_Status* (*lookup_or_create)(MS_Frame* frame, MS_Str container, MS_Str name, MS_Str type,
                                 MS_Status* (*make)(void* user, void** out_object), void* user,
                                 void** out_object, MS_Resource** out);
  void (*release)(MS_Resource* resource);
} MS_ResourceApi;

/* "ms.threads/1". At any time one execution in the process holds the permit for parallelism; the
 * others are told 1 thread and parallel_for runs in their own. A library's own team (OpenMP) may
 * be used instead of parallel_for, with num_threads threads, never both at once. */
typedef struct MS_ThreadsApi {
  MS_Table head;
  uint32_t (*num_threads)(const MS_Frame* frame);
  /* Calls fn on disjoint ranges that cover [0, total) and returns when all are done. Ranges are
   * cut by size and cost alone. fn runs on the calling thread alone when the team is at work
   * already: inside another parallel_for, of this execution or another. fn throws nothing. */
  void (*parallel_for)(MS_Frame* frame, uint64_t total, uint64_t cost_ns_per_unit,
                       void (*fn)(void* user, uint64_t begin, uint64_t end), void* user);
  /* Calls fn on another thread, where it may take long and wait for others; on this one, before
   * schedule returns, when the system gives no thread. The execution must not end (`done`, or the
   * return of compute) before fn returned, for fn may use the frame until then. */
  void (*schedule)(MS_Frame* frame, void (*fn)(void* user), void* user);
} MS_ThreadsApi;

/* "ms.shape/1": what a shape function sees and says. Inputs and outputs are counted in tensors
 * (variadic arguments expanded). Shapes live until the shape function returns. Dimensions are
 * counted from the end when negative; a size of -1 is unknown. What is wrong with an input answers
 * MS_INVALID_ARGUMENT, with the argument's name; a bad index too. */
typedef struct MS_ShapeApi {
  MS_Table head;
  /* For ms.kernel/1: op, attributes, dtypes; the node has no name yet. */
  const MS_KernelInfo* (*info)(MS_ShapeCtx* ctx);
  uint32_t (*num_inputs)(MS_ShapeCtx* ctx);
  uint32_t (*num_outputs)(MS_ShapeCtx* ctx);
  const MS_Shape* (*input)(MS_ShapeCtx* ctx, uint32_t i); /* NULL beyond the last */
  /* The value when it is the same in every step and known; else mem.base NULL, rank unknown. */
  MS_Status* (*input_as_const)(MS_ShapeCtx* ctx, uint32_t i, MS_TensorView* out);
  /* The shape whose sizes the input, an integer vector, holds, as far as they are known. */
  MS_Status* (*input_as_shape)(MS_ShapeCtx* ctx, uint32_t i, const MS_Shape** out);
  uint32_t (*rank)(const MS_Shape* shape); /* MS_UNKNOWN_RANK */
  int64_t (*dim)(const MS_Shape* shape, int32_t axis);
  /* The shape, with as much more known as the check says. */
  MS_Status* (*with_rank)(MS_ShapeCtx* ctx, const MS_Shape* shape, uint32_t rank,
                          const MS_Shape** out);
  MS_Status* (*with_rank_at_least)(MS_ShapeCtx* ctx, const MS_Shape* shape, uint32_t rank,
                                   const MS_Shape** out);
  MS_Status* (*with_rank_at_most)(MS_ShapeCtx* ctx, const MS_Shape* shape, uint32_t rank,
                                  const MS_Shape** out);
  /* What both know together. */
  MS_Status* (*merge)(MS_ShapeCtx* ctx, const MS_Shape* a, const MS_Shape* b, const MS_Shape** out);
  MS_Status* (*merge_dim)(MS_ShapeCtx* ctx, int64_t a, int64_t b, int64_t* out);
  /* Dimensions [begin, end); end INT32_MAX: to the last. Unknown when the rank is. */
  MS_Status* (*subshape)(MS_ShapeCtx* ctx, const MS_Shape* shape, int32_t begin, int32_t end,
                         const MS_Shape** out);
  MS_Status* (*concat)(MS_ShapeCtx* ctx, const MS_Shape* a, const MS_Shape* b,
                       const MS_Shape** out);
  MS_Status* (*make_shape)(MS_ShapeCtx* ctx, MS_Dims dims, const MS_Shape** out);
  const MS_Shape* (*unknown)(MS_ShapeCtx* ctx);
  /* Sizes; unknown when one of them is, unless the other one settles it (0 times anything). Those
   * that would be negative or overflow are errors, and so is an inexact quotient. */
  MS_Status* (*add_dim)(MS_ShapeCtx* ctx, int64_t a, int64_t b, int64_t* out);
  MS_Status* (*sub_dim)(MS_ShapeCtx* ctx, int64_t a, int64_t b, int64_t* out);
  MS_Status* (*mul_dim)(MS_ShapeCtx* ctx, int64_t a, int64_t b, int64_t* out);
  MS_Status* (*div_dim)(MS_ShapeCtx* ctx, int64_t a, int64_t b, int64_t* out);
  MS_Status* (*set_output)(MS_ShapeCtx* ctx, uint32_t i, const MS_Shape* shape);
  /* Of the variable behind a handle, input or output; dtype 0 when nothing is known. */
  MS_Status* (*handle_get)(MS_ShapeCtx* ctx, uint32_t input, MS_DType* dtype, const MS_Shape** out);
  MS_Status* (*handle_set)(MS_ShapeCtx* ctx, uint32_t output, MS_DType dtype,
                           const MS_Shape* shape);
} MS_ShapeApi;

/* "ms.grad/1": one node's backward step. Inputs and outputs are counted in tensors. */
typedef struct MS_GradApi {
  MS_Table head;
  const MS_KernelInfo* (*info)(MS_GradCtx* ctx); /* of the node, for ms.kernel/1 */
  MS_Ref (*input)(MS_GradCtx* ctx, uint32_t i);  /* 0 beyond the last */
  MS_Ref (*output)(MS_GradCtx* ctx, uint32_t i);
  /* Whether a gradient of output i has come. */
  uint8_t (*has_dy)(MS_GradCtx* ctx, uint32_t i);
  /* It, as a dense tensor; zeros when none has come. */
  MS_Status* (*dy)(MS_GradCtx* ctx, uint32_t i, MS_Ref* out);
  MS_DType (*dtype)(MS_GradCtx* ctx, MS_Ref ref);
  /* What is known of the shape; valid until the gradient function returns. */
  MS_Status* (*dims)(MS_GradCtx* ctx, MS_Ref ref, MS_Dims* out);
  /* Writes the first *n outputs and sets *n to how many there are. */
  MS_Status* (*add_node)(MS_GradCtx* ctx, const MS_NodeDef* node, MS_Ref* outputs, uint64_t* n);
  /* A constant of this value, in host memory. */
  MS_Status* (*constant)(MS_GradCtx* ctx, const MS_TensorView* value, MS_Ref* out);
  MS_Status* (*zeros_like)(MS_GradCtx* ctx, MS_Ref ref, MS_Ref* out);
  /* The gradient of input i; 0: none, as for inputs that are not set. */
  MS_Status* (*set_dx)(MS_GradCtx* ctx, uint32_t i, MS_Ref dx);
  /* The same as rows: values[k] adds to row indices[k] of a tensor of shape dense_shape. */
  MS_Status* (*set_dx_rows)(MS_GradCtx* ctx, uint32_t i, MS_Ref values, MS_Ref indices,
                            MS_Ref dense_shape);
} MS_GradApi;

/* MS_TraceEvent.kind */
#define MS_TRACE_KERNEL 0u
#define MS_TRACE_COPY 1u
#define MS_TRACE_MEMSET 2u
#define MS_TRACE_ALLOC 3u
#define MS_TRACE_SYNC 4u
#define MS_TRACE_RANGE 5u

typedef struct MS_TraceEvent {
  MS_Head head;
  uint64_t correlation_id; /* of the frame, or 0 */
  uint64_t t0_ns;          /* as ms.core/1 now_ns counts */
  uint64_t t1_ns;
  uint32_t kind;   /* MS_TRACE_* */
  uint32_t device; /* the ordinal */
  uint32_t stream; /* the plugin's number for it; shown as a lane */
  uint32_t pad0;
  MS_Str name;
  const MS_KV* args;
  uint32_t n_args;
  uint32_t pad;
} MS_TraceEvent;

/* "ms.trace/1": for ms.profiler/1 flush. */
typedef struct MS_TraceApi {
  MS_Table head;
  MS_Status* (*emit)(MS_TraceSink* sink, const MS_TraceEvent* event); /* copied */
  void (*drops)(MS_TraceSink* sink, uint64_t n);                      /* events that were lost */
} MS_TraceApi;

/* ---- Plugin interfaces ---------------------------------------------------------------------- */

/* MS_DeviceDesc.flags */
#define MS_DEVICE_OPEN 1u /* kernels of other plugins may target it */
/* 2: reserved */
#define MS_DEVICE_HOST_IS_DEVICE 4u  /* its memory is host memory */
#define MS_DEVICE_LINEAR_POINTERS 8u /* of its memory the host may cut blocks, see MS_DeviceApi */

/* MS_SpaceDesc.flags */
#define MS_SPACE_HOST_VISIBLE 1u
#define MS_SPACE_DEVICE_VISIBLE 2u
#define MS_SPACE_COHERENT 4u
#define MS_SPACE_LINEAR 8u /* without it the space is opaque, of which see MS_MemRef */

#define MS_ALLOC_RAW 0u    /* the host pools what mem_alloc gives */
#define MS_ALLOC_POOLED 1u /* the plugin pools: the host calls alloc_on_stream for each tensor */

/* One memory space. The host asks for blocks of at most max_alloc bytes (0: no bound), whose
 * addresses are multiples of alignment (a power of two; 0: any), in multiples of granularity. */
typedef struct MS_SpaceDesc {
  MS_Head head;
  uint32_t space;
  uint32_t flags;
  uint64_t alignment;
  uint64_t granularity;
  uint64_t max_alloc;
  uint32_t mode;
  uint32_t pad;
} MS_SpaceDesc;

typedef struct MS_DeviceDesc {
  MS_Head head;
  MS_Str device_type; /* "CPU" */
  MS_Str name;
  MS_Str vendor;
  MS_Str arch;
  uint32_t ordinal;
  int32_t numa; /* of the host's nodes, the nearest; -1: unknown. Shown, and not used otherwise */
  MS_Str pci_id;
  uint64_t mem_total;
  uint64_t flags;
  const MS_SpaceDesc* const* spaces;
  uint64_t n_spaces;
  uint32_t dlpack_device_type; /* DLDeviceType; 0: its memory does not travel through DLPack */
  uint32_t pad;
} MS_DeviceDesc;

/* MS_MemStats.valid_mask: bit k says that field k, counted from in_use, was filled. */
typedef struct MS_MemStats {
  MS_Head head;
  uint64_t valid_mask;
  uint64_t in_use;
  uint64_t peak;
  uint64_t reserved;
  uint64_t peak_reserved;
  uint64_t limit;
  uint64_t num_allocs;
  uint64_t largest_alloc;
  uint64_t largest_free;
} MS_MemStats;

#define MS_STREAM_COMPUTE 0u
#define MS_STREAM_H2D 1u
#define MS_STREAM_D2H 2u
#define MS_STREAM_D2D 3u

/* "ms.device/1": functions of one device; any thread may call them. Those marked (optional) may be
 * NULL; the host then does without. A plugin whose devices share one table should also give it
 * through MS_Plugin.get_interface: the host then checks it when it loads the plugin, and not only
 * when it creates a device.
 *
 * Streams do what they are given in order, and all functions that take a stream return at once but
 * stream_sync. A MS_MemRef may point anywhere into a block. With MS_DEVICE_LINEAR_POINTERS the host
 * also cuts large blocks itself; without, a block is one tensor or the tensors of one step. Work
 * that fails later, a kernel's for instance, is told once, by the next stream_query or stream_sync
 * of its stream that finds it; the device goes on. A device that is lost says so in device_error
 * and everywhere else, for ever: MS_UNAVAILABLE. */
typedef struct MS_DeviceApi {
  MS_Table head;
  MS_Status* (*mem_alloc)(MS_Device* device, uint32_t space, uint64_t bytes, uint64_t alignment,
                          MS_MemRef* out);
  void (*mem_free)(MS_Device* device, const MS_MemRef* ref);
  /* (optional, both; for spaces of MS_ALLOC_POOLED) Memory for work that is enqueued on the stream
   * later, and the end of its use, after what is enqueued on the stream. */
  MS_Status* (*alloc_on_stream)(MS_Stream* stream, uint32_t space, uint64_t bytes,
                                uint64_t alignment, MS_MemRef* out);
  void (*free_on_stream)(MS_Stream* stream, const MS_MemRef* ref);
  MS_Status* (*mem_info)(MS_Device* device, uint64_t* free_bytes, uint64_t* total_bytes);
  MS_Status* (*mem_stats)(MS_Device* device, MS_MemStats* stats); /* (optional) */
  MS_Status* (*stream_create)(MS_Device* device, uint32_t role, int32_t priority, MS_Stream** out);
  /* Finishes what was enqueued, or drops it; does not wait for what will never end. */
  void (*stream_destroy)(MS_Stream* stream);
  void* (*stream_native)(MS_Stream* stream);
  MS_Status* (*stream_query)(MS_Stream* stream, uint8_t* idle);
  MS_Status* (*stream_sync)(MS_Stream* stream);
  /* An event that was never recorded is done: neither event_sync nor stream_wait_event waits for
   * it. Recorded again, it stands for the new place alone. */
  MS_Status* (*event_create)(MS_Device* device, uint32_t flags, MS_Event** out);
  void (*event_destroy)(MS_Event* event);
  MS_Status* (*event_record)(MS_Event* event, MS_Stream* stream);
  MS_Status* (*event_query)(MS_Event* event, uint8_t* done);
  MS_Status* (*event_sync)(MS_Event* event);
  /* The event may be of another device of this plugin. */
  MS_Status* (*stream_wait_event)(MS_Stream* stream, MS_Event* event);
  /* Any direction within one device and host memory. */
  MS_Status* (*copy_async)(MS_Stream* stream, const MS_MemRef* destination, const MS_MemRef* source,
                           uint64_t bytes);
  MS_Status* (*copy_peer_async)(MS_Stream* stream, const MS_MemRef* destination,
                                const MS_MemRef* source, uint64_t bytes); /* (optional) */
  MS_Status* (*peer_ok)(MS_Device* from, MS_Device* to, uint8_t* ok);     /* (optional) */
  MS_Status* (*fill_async)(MS_Stream* stream, const MS_MemRef* ref, uint32_t pattern,
                           uint32_t width, uint64_t bytes); /* (optional) */
  /* (optional) Calls fn, which enqueues nothing, after what was enqueued before, in any thread.
   * When this succeeded fn is called in any case, once: also when the device is lost. */
  MS_Status* (*stream_host_fn)(MS_Stream* stream, void (*fn)(void* user), void* user);
  MS_Status* (*device_sync)(MS_Device* device);
  MS_Status* (*device_error)(MS_Device* device); /* sticky */
  /* (optional, both) From host_register to host_unregister of the same address this memory of the
   * host's, whole pages of which no part is registered yet, is as MS_SPACE_HOST_PINNED for copies.
   * Nothing uses it when it is unregistered. */
  MS_Status* (*host_register)(MS_Device* device, void* address, uint64_t bytes);
  void (*host_unregister)(MS_Device* device, void* address);
} MS_DeviceApi;

/* What work did within `from` when it was recorded, it does at the same place within `to`. */
typedef struct MS_MemChange {
  MS_MemRef from;
  MS_MemRef to;
} MS_MemChange;

/* "ms.capture/1" (optional): work that is recorded once and enqueued as a whole in later steps. The
 * host records a row of kernels with MS_KERNEL_CAPTURE_SAFE, whose host arguments are constants, on
 * a stream that is for this alone. One thread at a time uses this stream, and so each graph.
 * From begin to end the stream records and does nothing: the work of kernels, copy_async within the
 * device, fill_async. All else that takes the stream answers MS_FAILED_PRECONDITION, and so does
 * end then. Other streams go on. */
typedef struct MS_CaptureApi {
  MS_Table head;
  MS_Status* (*begin)(MS_Stream* stream);
  /* Ends the recording in any case; after an error there is no graph. */
  MS_Status* (*end)(MS_Stream* stream, MS_Graph** out);
  /* For later replays, with simultaneous changes, which replace those of the last update; what no
   * change covers is as it was recorded. MS_UNIMPLEMENTED: the host records the work anew. */
  MS_Status* (*update)(MS_Graph* graph, const MS_MemChange* changes, uint64_t n_changes);
  /* Enqueues the work on a stream of the device, after what it has. Earlier replays may be under
   * way. After an error nothing was enqueued. */
  MS_Status* (*replay)(MS_Graph* graph, MS_Stream* stream);
  /* Replays that are under way are not affected. */
  void (*destroy)(MS_Graph* graph);
} MS_CaptureApi;

/* "ms.devices/1" */
typedef struct MS_DevicesApi {
  MS_Table head;
  /* Fills at most *n descriptions and sets *n to how many there are. With none, *reason says why.
   * Descriptions live for ever. */
  MS_Status* (*enumerate)(const MS_Plugin* plugin, const MS_DeviceDesc** out, uint64_t* n,
                          MS_Str* reason);
  /* Several logical devices may be created on one ordinal. */
  MS_Status* (*device_create)(const MS_Plugin* plugin, uint32_t ordinal, const MS_KV* options,
                              uint64_t n_options, MS_Device** out);
  void (*device_destroy)(MS_Device* device);
  const MS_DeviceApi* (*fns)(MS_Device* device);
} MS_DevicesApi;

/* "ms.profiler/1" (optional): what the plugin's devices do. The host calls start before a traced
 * step, and stop and flush after it, one step at a time. */
typedef struct MS_ProfilerApi {
  MS_Table head;
  /* Bit k of `kinds`: events of kind k are wanted. `now_ns` is ms.core/1 now_ns of the moment, to
   * set the devices' clocks by. */
  MS_Status* (*start)(const MS_Plugin* plugin, uint64_t kinds, uint64_t now_ns);
  MS_Status* (*stop)(const MS_Plugin* plugin);
  MS_Status* (*flush)(const MS_Plugin* plugin, MS_TraceSink* sink);
  /* (optional, both) What the thread enqueues between them belongs to this id: that of the frame
   * whose compute is being called (MS_Frame.correlation_id). They nest. */
  void (*correlation_push)(const MS_Plugin* plugin, uint64_t correlation_id);
  void (*correlation_pop)(const MS_Plugin* plugin);
} MS_ProfilerApi;

/* MS_OptionDesc.kind */
#define MS_OPTION_I64 1u
#define MS_OPTION_U64 2u
#define MS_OPTION_F64 3u
#define MS_OPTION_BOOL 4u /* 0, 1, false, true */
#define MS_OPTION_STR 5u

/* MS_OptionDesc.flags */
#define MS_OPTION_PER_DEVICE 1u /* also as name@ordinal, for one device */

typedef struct MS_OptionDesc {
  MS_Head head;
  MS_Str name;
  MS_Str doc;           /* a sentence */
  MS_Str default_value; /* data NULL: none */
  MS_Str minimum;       /* of numbers, inclusive; empty: no bound */
  MS_Str maximum;
  const MS_Str* choices; /* of texts; none: any text */
  uint64_t n_choices;
  uint32_t kind;
  uint32_t flags;
} MS_OptionDesc;

/* "ms.options/1" (optional): the options of init, against which the host checks what users give. */
typedef struct MS_OptionsApi {
  MS_Table head;
  /* Called before init. The descriptions live for ever. */
  void (*schema)(const MS_Plugin* plugin, const MS_OptionDesc* const** out, uint64_t* n);
} MS_OptionsApi;

/* Interface ids. Those that begin with "ms.x." are experiments, of which nothing is promised. These
 * are reserved, and no host has them yet:
 * "ms.graph/1": a plugin claims a connected part of a placed graph, and gives a kernel for it.
 * "ms.collective/1": communicators of several devices: reductions, gathers, broadcasts on streams.
 * "ms.kv/1": a store by which plugins of several processes find each other.
 * "ms.transport/1": moves tensors between tasks by other means than the host's own.
 * "ms.variant/1": values of MS_VARIANT: a plugin's types, with functions to copy, encode and free.
 * "ms.function/1": a kernel calls a function of the graph (MS_ATTR_FUNC).
 * "ms.resource/1", later minors: tables, queues and iterators by plugins.
 * Strides and other layouts: a view is dense and row-major. A layout would stand in a struct beside
 *   the view, behind a bit of `required`. */
#define MS_CORE_API "ms.core/1"
#define MS_REGISTRY_API "ms.registry/1"
#define MS_KERNEL_API "ms.kernel/1"
#define MS_CTX_API "ms.ctx/1"
#define MS_TENSOR_API "ms.tensor/1"
#define MS_RESOURCE_API "ms.resource/1"
#define MS_THREADS_API "ms.threads/1"
#define MS_SHAPE_API "ms.shape/1"
#define MS_GRAD_API "ms.grad/1"
#define MS_TRACE_API "ms.trace/1"
#define MS_DEVICES_API "ms.devices/1"
#define MS_DEVICE_API "ms.device/1"
#define MS_CAPTURE_API "ms.capture/1"
#define MS_PROFILER_API "ms.profiler/1"
#define MS_OPTIONS_API "ms.options/1"

#ifdef __cplusplus
}
#endif

#endif /* MILLSTREAM_FRAMEWORK_PLUGIN_PLUGIN_H_ */
