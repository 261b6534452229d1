#include "kernels/testing/fake_host.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string_view>
#include <thread>

struct MS_Status {
  MS_Code code;
  std::string message;
};

struct MS_Registrar {
  std::vector<millstream::kernels::testing::RegisteredKernel> kernels;
};

struct MS_LockSet {
  struct Lock {
    millstream::kernels::testing::TensorValue* variable;
    uint32_t mode;
  };
  MS_Ctx* ctx;
  std::vector<Lock> locks;
};

struct MS_Buf {
  std::string bytes;
};

namespace millstream::kernels::testing {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 32;

TestDevice* test_device = nullptr;  // initialized before any initializer runs

template <typename... Parts>
MS_Status* Fail(MS_Code code, const Parts&... parts) {
  return new MS_Status{code, ms::StrCat(parts...)};
}

// ---- ms.core/1
// -----------------------------------------------------------------------------------

MS_Code StatusCode(const MS_Status* status) { return status == nullptr ? MS_OK : status->code; }
MS_Str StatusMessage(const MS_Status* status) { return ms::ToAbi(status->message); }
void StatusFree(MS_Status* status) { delete status; }
void BufAppend(MS_Buf* buffer, MS_Bytes bytes) {
  buffer->bytes.append(static_cast<const char*>(bytes.data), bytes.size);
}
uint64_t NowNs() {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}
void BreadcrumbSet(MS_Str) {}

const MS_CoreApi kCore = {{sizeof(MS_CoreApi), 1, 0, MS_CORE_API},
                          StatusCode,
                          StatusMessage,
                          StatusFree,
                          BufAppend,
                          NowNs,
                          BreadcrumbSet};

// ---- ms.registry/1
// -------------------------------------------------------------------------------

MS_Status* KernelRegister(MS_Registrar* registrar, const MS_KernelDef* def) {
  if (def->create == nullptr || def->compute == nullptr || def->destroy == nullptr) {
    return Fail(MS_INVALID_ARGUMENT, "kernel of ", ms::ToView(def->op),
                ": create, compute and destroy must be given");
  }
  RegisteredKernel kernel;
  kernel.def = *def;
  kernel.op = std::string(ms::ToView(def->op));
  kernel.label = std::string(ms::ToView(def->label));
  for (uint64_t i = 0; i < def->n_constraints; ++i) {
    const MS_TypeConstraint& constraint = *def->constraints[i];
    kernel.constraints.emplace_back(
        std::string(ms::ToView(constraint.attr)),
        std::vector<MS_DType>(constraint.dtypes, constraint.dtypes + constraint.n_dtypes));
  }
  kernel.in_place.assign(def->in_place, def->in_place + def->n_in_place);
  if (GetTestDevice() != nullptr) kernel.on_device = GetTestDevice()->Adapt(*def);
  registrar->kernels.push_back(std::move(kernel));
  return nullptr;
}

const MS_RegistryApi kRegistry = {{sizeof(MS_RegistryApi), 1, 0, MS_REGISTRY_API}, KernelRegister};

// ---- ms.kernel/1
// ---------------------------------------------------------------------------------

// The attribute, when it is there and of this kind.
MS_Status* FindAttr(const MS_KernelInfo* info, MS_Str name, MS_AttrKind kind,
                    const AttrValue** out) {
  const auto found = info->attrs.find(std::string(ms::ToView(name)));
  if (found == info->attrs.end()) {
    return Fail(MS_NOT_FOUND, "node ", info->node_name, " (", info->op, ") has no attribute ",
                ms::ToView(name));
  }
  if (found->second.kind != kind) {
    return Fail(MS_INVALID_ARGUMENT, "attribute ", ms::ToView(name), " of node ", info->node_name,
                " is of kind ", found->second.kind, ", asked for as ", kind);
  }
  *out = &found->second;
  return nullptr;
}

// A getter that finds the attribute of `kind` as `attr` and then runs the given statement.
#define MS_FAKE_GETTER(function, kind, parameters, statement) \
  MS_Status* function parameters {                            \
    const AttrValue* attr = nullptr;                          \
    MS_Status* status = FindAttr(info, name, kind, &attr);    \
    if (status != nullptr) return status;                     \
    statement;                                                \
    return nullptr;                                           \
  }
MS_FAKE_GETTER(AttrI64, MS_ATTR_I64, (const MS_KernelInfo* info, MS_Str name, int64_t* out),
               *out = attr->i64)
MS_FAKE_GETTER(AttrF32, MS_ATTR_F32, (const MS_KernelInfo* info, MS_Str name, float* out),
               *out = attr->f32)
MS_FAKE_GETTER(AttrBool, MS_ATTR_BOOL, (const MS_KernelInfo* info, MS_Str name, uint8_t* out),
               *out = attr->boolean)
MS_FAKE_GETTER(AttrStr, MS_ATTR_STR, (const MS_KernelInfo* info, MS_Str name, MS_Str* out),
               *out = ms::ToAbi(attr->text))
MS_FAKE_GETTER(AttrDType, MS_ATTR_DTYPE, (const MS_KernelInfo* info, MS_Str name, MS_DType* out),
               *out = attr->dtype)
MS_FAKE_GETTER(AttrShape, MS_ATTR_SHAPE, (const MS_KernelInfo* info, MS_Str name, MS_Dims* out),
               (*out = MS_Dims{attr->i64_list.data(), static_cast<uint32_t>(attr->i64_list.size()),
                               0}))
MS_FAKE_GETTER(AttrTensor, MS_ATTR_TENSOR,
               (const MS_KernelInfo* info, MS_Str name, MS_TensorView* out),
               *out = attr->tensor.View(MS_VIEW_HOST | MS_VIEW_CONST))
MS_FAKE_GETTER(AttrI64List, MS_ATTR_LIST | MS_ATTR_I64,
               (const MS_KernelInfo* info, MS_Str name, const int64_t** out, uint64_t* n),
               (*out = attr->i64_list.data(), *n = attr->i64_list.size()))
MS_FAKE_GETTER(AttrF32List, MS_ATTR_LIST | MS_ATTR_F32,
               (const MS_KernelInfo* info, MS_Str name, const float** out, uint64_t* n),
               (*out = attr->f32_list.data(), *n = attr->f32_list.size()))
MS_FAKE_GETTER(AttrStrList, MS_ATTR_LIST | MS_ATTR_STR,
               (const MS_KernelInfo* info, MS_Str name, const MS_Str** out, uint64_t* n),
               (*out = attr->text_views.data(), *n = attr->text_views.size()))
MS_FAKE_GETTER(AttrDTypeList, MS_ATTR_LIST | MS_ATTR_DTYPE,
               (const MS_KernelInfo* info, MS_Str name, const MS_DType** out, uint64_t* n),
               (*out = attr->dtype_list.data(), *n = attr->dtype_list.size()))
#undef MS_FAKE_GETTER

MS_Status* AttrShapeList(const MS_KernelInfo* info, MS_Str name, const MS_Dims**, uint64_t*) {
  return Fail(MS_UNIMPLEMENTED, "the fake host has no lists of shapes (attribute ",
              ms::ToView(name), " of ", info->op, ")");
}

MS_Str OpType(const MS_KernelInfo* info) { return ms::ToAbi(info->op); }
MS_Str NodeName(const MS_KernelInfo* info) { return ms::ToAbi(info->node_name); }
MS_Str DeviceName(const MS_KernelInfo*) { return ms::ToAbi("/device:CPU:0"); }
uint32_t NumInputs(const MS_KernelInfo* info) {
  return static_cast<uint32_t>(info->input_dtypes.size());
}
uint32_t NumOutputs(const MS_KernelInfo* info) {
  return static_cast<uint32_t>(info->output_dtypes.size());
}
MS_DType InputDType(const MS_KernelInfo* info, uint32_t i) { return info->input_dtypes.at(i); }
MS_DType OutputDType(const MS_KernelInfo* info, uint32_t i) { return info->output_dtypes.at(i); }
MS_AttrKind AttrKind(const MS_KernelInfo* info, MS_Str name) {
  const auto found = info->attrs.find(std::string(ms::ToView(name)));
  return found == info->attrs.end() ? MS_ATTR_NONE : found->second.kind;
}

MS_Status* FindRange(const std::map<std::string, std::pair<uint32_t, uint32_t>>& ranges,
                     MS_Str name, uint32_t* begin, uint32_t* end) {
  const auto found = ranges.find(std::string(ms::ToView(name)));
  if (found == ranges.end()) {
    return Fail(MS_NOT_FOUND, "no argument ", ms::ToView(name), " was declared to the tester");
  }
  *begin = found->second.first;
  *end = found->second.second;
  return nullptr;
}
MS_Status* InputRange(const MS_KernelInfo* info, MS_Str name, uint32_t* begin, uint32_t* end) {
  return FindRange(info->input_ranges, name, begin, end);
}
MS_Status* OutputRange(const MS_KernelInfo* info, MS_Str name, uint32_t* begin, uint32_t* end) {
  return FindRange(info->output_ranges, name, begin, end);
}

const MS_KernelApi kKernel = {{sizeof(MS_KernelApi), 1, 0, MS_KERNEL_API},
                              OpType,
                              NodeName,
                              DeviceName,
                              NumInputs,
                              NumOutputs,
                              InputDType,
                              OutputDType,
                              AttrKind,
                              AttrI64,
                              AttrF32,
                              AttrBool,
                              AttrStr,
                              AttrDType,
                              AttrShape,
                              AttrTensor,
                              AttrI64List,
                              AttrF32List,
                              AttrStrList,
                              AttrDTypeList,
                              AttrShapeList,
                              InputRange,
                              OutputRange};

// ---- ms.ctx/1
// ------------------------------------------------------------------------------------

MS_Status* CheckDims(const char* what, MS_DType dtype, MS_Dims dims) {
  if (dims.rank > ms::kMaxRank) return Fail(MS_INTERNAL, what, ": rank ", dims.rank);
  int64_t bytes = std::max<int64_t>(1, static_cast<int64_t>(CellBytes(dtype)));
  for (uint32_t i = 0; i < dims.rank; ++i) {
    if (dims.d[i] < 0) return Fail(MS_INTERNAL, what, ": dimension ", i, " is ", dims.d[i]);
    if (__builtin_mul_overflow(bytes, dims.d[i], &bytes) || bytes > kMostBytes) {
      return Fail(MS_RESOURCE_EXHAUSTED, what, ": more than 4 GiB asked for");
    }
  }
  return nullptr;
}

// Makes `value` the frame's output.
void SetOutput(MS_Frame* frame, uint32_t index, TensorValue value, MS_TensorView* out) {
  frame->ctx->outputs[index] = std::move(value);
  frame->outputs[index] = frame->ctx->outputs[index].View(MS_VIEW_HOST);
  if (out != nullptr) *out = frame->outputs[index];
}

MS_Status* AllocateOutput(MS_Frame* frame, uint32_t index, MS_Dims dims, MS_TensorView* out) {
  if (index >= frame->n_out) return Fail(MS_INTERNAL, "no output ", index);
  const MS_DType dtype = frame->ctx->output_dtypes[index];
  if (MS_Status* status = CheckDims("allocate_output", dtype, dims)) return status;
  SetOutput(
      frame, index,
      TensorValue::Make(dtype, std::vector<int64_t>(dims.d, dims.d + dims.rank), frame->ctx->fill),
      out);
  return nullptr;
}

MS_Status* ForwardOrAllocate(MS_Frame* frame, const uint32_t* candidates, uint32_t n,
                             uint32_t index, MS_Dims dims, MS_TensorView* out, int32_t* which) {
  if (index >= frame->n_out) return Fail(MS_INTERNAL, "no output ", index);
  const MS_DType dtype = frame->ctx->output_dtypes[index];
  TensorValue wanted;
  wanted.dtype = dtype;
  wanted.dims.assign(dims.d, dims.d + dims.rank);
  const uint64_t bytes = static_cast<uint64_t>(wanted.size()) * CellBytes(dtype);
  for (uint32_t i = 0; i < n && frame->ctx->may_forward; ++i) {
    if (candidates[i] >= frame->n_in) return Fail(MS_INTERNAL, "no input ", candidates[i]);
    const MS_Ctx::Input& input = frame->ctx->inputs[candidates[i]];
    if (input.variable != nullptr || input.value.buffer->bytes() != bytes) continue;
    wanted.buffer = input.value.buffer;
    *which = static_cast<int32_t>(candidates[i]);
    SetOutput(frame, index, std::move(wanted), out);
    return nullptr;
  }
  *which = -1;
  return AllocateOutput(frame, index, dims, out);
}

MS_Status* SetOutputTensor(MS_Frame* frame, uint32_t index, MS_Tensor* tensor) {
  if (index >= frame->n_out) return Fail(MS_INTERNAL, "no output ", index);
  SetOutput(frame, index, tensor->value, nullptr);
  return nullptr;
}

MS_Status* AllocateTemp(MS_Frame* frame, MS_DType dtype, MS_Dims dims, uint32_t,
                        MS_TensorView* out) {
  if (MS_Status* status = CheckDims("allocate_temp", dtype, dims)) return status;
  std::deque<TensorValue>& temps = frame->ctx->temps;
  temps.push_back(
      TensorValue::Make(dtype, std::vector<int64_t>(dims.d, dims.d + dims.rank), frame->ctx->fill));
  *out = temps.back().View(MS_VIEW_HOST);
  return nullptr;
}

MS_Status* CancelCheck(MS_Frame* frame) {
  int& left = frame->ctx->checks_before_cancel;
  if (left < 0) return nullptr;
  return left-- > 0 ? nullptr : Fail(MS_CANCELLED, "the step was cancelled");
}
void Done(MS_Done*, MS_Status* status) { StatusFree(status); }

MS_Status* RngReserve(MS_Frame* frame, uint64_t blocks, uint64_t* key, uint64_t counter[2]) {
  std::array<uint64_t, 2>& next = frame->ctx->philox_counter;
  *key = frame->ctx->philox_key;
  counter[0] = next[0];
  counter[1] = next[1];
  next[0] += blocks;
  if (next[0] < blocks) ++next[1];
  return nullptr;
}

const MS_CtxApi kCtx = {{sizeof(MS_CtxApi), 1, 0, MS_CTX_API},
                        AllocateOutput,
                        ForwardOrAllocate,
                        SetOutputTensor,
                        AllocateTemp,
                        CancelCheck,
                        Done,
                        RngReserve};

// ---- ms.tensor/1
// ---------------------------------------------------------------------------------

void TensorRetain(MS_Tensor* tensor) { ++tensor->references; }
void TensorRelease(MS_Tensor* tensor) {
  if (--tensor->references == 0) delete tensor;
}
void TensorView(MS_Tensor* tensor, MS_TensorView* out) {
  *out = tensor->value.View(MS_VIEW_HOST);
  out->handle = tensor;
}
MS_Status* TensorCreate(uint32_t, MS_DType dtype, MS_Dims dims, MS_Tensor** out) {
  if (MS_Status* status = CheckDims("tensor create", dtype, dims)) return status;
  *out = new MS_Tensor;
  (*out)->value = TensorValue::Make(dtype, std::vector<int64_t>(dims.d, dims.d + dims.rank));
  return nullptr;
}
MS_Status* FindCell(const MS_TensorView* view, uint64_t index, uint64_t** cell) {
  if (view->dtype != MS_STRING) return Fail(MS_INVALID_ARGUMENT, "the tensor is none of strings");
  const uint64_t count = view->mem.bytes / CellBytes(MS_STRING);
  if (index >= count) return Fail(MS_INVALID_ARGUMENT, "no cell ", index, " among ", count);
  *cell = reinterpret_cast<uint64_t*>(static_cast<char*>(view->mem.base) + view->mem.offset);
  *cell += index;
  return nullptr;
}
MS_Status* StringGet(const MS_TensorView* view, uint64_t index, MS_Str* out) {
  uint64_t* cell = nullptr;
  if (MS_Status* status = FindCell(view, index, &cell)) return status;
  const std::string* text = CellText(*cell);
  if (text == nullptr) return Fail(MS_INTERNAL, "cell ", index, " was never set");
  *out = ms::ToAbi(*text);
  return nullptr;
}
MS_Status* StringSet(const MS_TensorView* view, uint64_t index, MS_Str value) {
  uint64_t* cell = nullptr;
  if (MS_Status* status = FindCell(view, index, &cell)) return status;
  *cell = CellOf(ms::ToView(value));
  return nullptr;
}

const MS_TensorApi kTensor = {{sizeof(MS_TensorApi), 1, 0, MS_TENSOR_API},
                              TensorRetain,
                              TensorRelease,
                              TensorView,
                              TensorCreate,
                              StringGet,
                              StringSet};

// ---- ms.resource/1
// -------------------------------------------------------------------------------

MS_Status* VarsLock(MS_Frame* frame, const uint32_t* inputs, const uint32_t* modes, uint32_t n,
                    MS_LockSet** out) {
  auto set = std::make_unique<MS_LockSet>();
  set->ctx = frame->ctx;
  for (uint32_t i = 0; i < n; ++i) {
    if (inputs[i] >= frame->n_in || frame->ctx->inputs[inputs[i]].variable == nullptr) {
      return Fail(MS_INVALID_ARGUMENT, "input ", inputs[i], " is no variable");
    }
    set->locks.push_back({frame->ctx->inputs[inputs[i]].variable, modes[i]});
  }
  ++frame->ctx->held_lock_sets;
  *out = set.release();
  return nullptr;
}

// The k-th locked variable, which must have a value.
MS_Status* FindLocked(MS_LockSet* set, uint32_t k, const MS_LockSet::Lock** out) {
  if (k >= set->locks.size()) return Fail(MS_INTERNAL, "no lock ", k);
  if (set->locks[k].variable->buffer == nullptr) {
    return Fail(MS_FAILED_PRECONDITION, "variable ", k, " of the lock set was never assigned");
  }
  *out = &set->locks[k];
  return nullptr;
}

MS_Status* VarView(MS_LockSet* set, uint32_t k, MS_TensorView* out) {
  const MS_LockSet::Lock* lock = nullptr;
  if (MS_Status* status = FindLocked(set, k, &lock)) return status;
  *out = lock->variable->View(MS_VIEW_HOST);
  return nullptr;
}

MS_Status* VarPrepareWrite(MS_LockSet* set, uint32_t k, MS_TensorView* out) {
  const MS_LockSet::Lock* lock = nullptr;
  if (MS_Status* status = FindLocked(set, k, &lock)) return status;
  if (lock->mode != MS_LOCK_WRITE) return Fail(MS_INTERNAL, "lock ", k, " is for reading");
  *out = lock->variable->View(MS_VIEW_HOST);
  return nullptr;
}

MS_Status* VarReplace(MS_LockSet* set, uint32_t k, MS_Tensor* tensor) {
  if (k >= set->locks.size()) return Fail(MS_INTERNAL, "no lock ", k);
  if (set->locks[k].mode != MS_LOCK_WRITE) return Fail(MS_INTERNAL, "lock ", k, " is for reading");
  *set->locks[k].variable = tensor->value;
  return nullptr;
}

void VarsUnlock(MS_LockSet* set) {
  --set->ctx->held_lock_sets;
  delete set;
}

const MS_ResourceApi kResource = {{sizeof(MS_ResourceApi), 1, 0, MS_RESOURCE_API},
                                  VarsLock,
                                  VarView,
                                  VarPrepareWrite,
                                  VarReplace,
                                  VarsUnlock};

// ---- ms.threads/1
// --------------------------------------------------------------------------------

uint32_t NumThreads(const MS_Frame* frame) { return frame->ctx->threads; }

// With several threads, cuts even small ranges, unevenly, and runs the pieces at the same time.
void ParallelFor(MS_Frame* frame, uint64_t total, uint64_t, void (*fn)(void*, uint64_t, uint64_t),
                 void* user) {
  if (total == 0) return;
  const uint64_t pieces = std::min<uint64_t>(frame->ctx->threads, total);
  if (pieces == 1) return fn(user, 0, total);
  std::vector<std::thread> team;
  uint64_t begin = 0;
  for (uint64_t piece = 1; piece <= pieces; ++piece) {
    // The first pieces are the smaller ones: piece² / pieces² of the range is done after `piece`.
    const uint64_t share =
        static_cast<uint64_t>(static_cast<double>(total) * static_cast<double>(piece * piece) /
                              static_cast<double>(pieces * pieces));
    const uint64_t end = piece == pieces ? total : std::min(total, std::max(begin, share));
    if (begin < end) team.emplace_back(fn, user, begin, end);
    begin = end;
  }
  for (std::thread& thread : team) thread.join();
}

const MS_ThreadsApi kThreads = {
    {sizeof(MS_ThreadsApi), 1, 0, MS_THREADS_API}, NumThreads, ParallelFor};

// ---- Handshake
// -----------------------------------------------------------------------------------

MS_Status* StatusMake(MS_Code code, MS_Str message) {
  return new MS_Status{code, std::string(ms::ToView(message))};
}
void Log(const MS_HostBase*, int32_t, MS_Str message) { std::cerr << ms::ToView(message) << "\n"; }
const MS_Table* GetInterface(const MS_HostBase*, const char* id) {
  for (const MS_Table* table : {&kCore.head, &kRegistry.head, &kKernel.head, &kCtx.head,
                                &kTensor.head, &kResource.head, &kThreads.head}) {
    if (std::strcmp(table->id, id) == 0) return table;
  }
  return nullptr;
}

const MS_HostBase kHost = {MS_HOST_MAGIC, sizeof(MS_HostBase), MS_ABI_MAJOR, MS_ABI_MINOR, 0, 0,
                           {"fake", 4},   GetInterface,        StatusMake,   Log,          {}};

}  // namespace

TestDevice* SetTestDevice(TestDevice* device) { return test_device = device; }
TestDevice* GetTestDevice() { return test_device; }

void BindFakeHost() {
  ms::host_tables =
      ms::HostTables{&kHost, &kCore, &kRegistry, &kKernel, &kCtx, &kTensor, &kResource, &kThreads};
}

const std::vector<RegisteredKernel>& RegisteredKernels() {
  static const std::vector<RegisteredKernel>* const kernels = [] {
    BindFakeHost();
    auto registrar = std::make_unique<MS_Registrar>();
    for (const ms::KernelEntry& entry : ms::KernelEntries()) {
      const ms::Status status = entry.RegisterWith(registrar.get());
      if (!status.ok()) {
        std::cerr << status.message() << "\n";
        std::abort();
      }
    }
    return new std::vector<RegisteredKernel>(std::move(registrar->kernels));
  }();
  return *kernels;
}

}  // namespace millstream::kernels::testing
