// The C++ layer over plugin.h. It is header only, needs only standard headers, and is compiled into
// the plugin.
//
// A kernel is a class with `Status Compute(Frame&) const`, or, if it ends later than it returns,
// `void ComputeAsync(Frame, Done) const`, and these optional functions:
//   `Status Init(const KernelInfo&)`             reads the node's attributes, once a node
//   `Status Specialize(Specialization&) const`   prepares what depends on shapes alone, once a plan
//   `static Status Supports(const SupportsQuery&)`   refuses nodes by their attributes and shapes
// It is registered by one line at namespace scope beside it:
//
//   const ms::Registered relu = ms::RegisterForTypes<Relu, float, double>(
//       "Relu", "T", ms::KernelOptions().InPlace(0, 0));
//
// Several threads call Compute on one kernel object at the same time. This layer converts an
// exception that leaves a kernel into an INTERNAL status; none crosses the ABI.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_PLUGIN_HPP_
#define MILLSTREAM_FRAMEWORK_PLUGIN_PLUGIN_HPP_

#include <algorithm>
#include <array>
#include <atomic>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <list>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "framework/plugin/plugin.h"
#include "framework/plugin/plugin_status.hpp"

namespace ms {
inline namespace v1 {

// ---- Types -------------------------------------------------------------------------------------

// The dtype of a C++ type; only for types that a tensor can hold.
template <typename T>
constexpr MS_DType DTypeOf() {
  if constexpr (std::is_same_v<T, bool>)
    return MS_BOOL;
  else if constexpr (std::is_same_v<T, float>)
    return MS_FLOAT32;
  else if constexpr (std::is_same_v<T, double>)
    return MS_FLOAT64;
  else if constexpr (std::is_same_v<T, std::complex<float>>)
    return MS_COMPLEX64;
  else if constexpr (std::is_same_v<T, std::complex<double>>)
    return MS_COMPLEX128;
  else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>)
    return MS_DTYPE(MS_CODE_INT, 8 * sizeof(T));
  else if constexpr (std::is_integral_v<T>)
    return MS_DTYPE(MS_CODE_UINT, 8 * sizeof(T));
  else
    return T::kDType;
}

// Bytes of one element; 0 for types without a fixed size.
inline uint64_t ElementSize(MS_DType dtype) { return ((dtype >> 8) & 0xff) / 8; }

inline constexpr uint32_t kMaxRank = MS_MAX_RANK;

// Loops over dimensions return early, so that the compiler does not vectorize them. They have few
// iterations, and the preparation of vector code would take longer than a small kernel.
inline bool SameDims(const int64_t* a, const int64_t* b, uint32_t rank) {
  for (uint32_t i = 0; i < rank; ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}
inline int64_t NumElements(const int64_t* dims, uint32_t rank) {
  int64_t count = 1;
  for (uint32_t i = 0; i < rank && count != 0; ++i) count *= dims[i];
  return count;
}

// A fully known shape, kept in place. More than kMaxRank dimensions throw std::length_error, which
// the entry points of this layer turn into a status.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) {
    for (int64_t dim : dims) Append(dim);
  }
  Shape(const int64_t* dims, uint32_t rank) : rank_(rank) {
    if (rank > kMaxRank) ThrowTooLong();
    for (uint32_t i = 0; i < rank; ++i) dims_[i] = dims[i];
  }

  uint32_t rank() const { return rank_; }
  int64_t operator[](uint32_t i) const { return dims_[i]; }
  int64_t& operator[](uint32_t i) { return dims_[i]; }
  const int64_t* begin() const { return dims_.data(); }
  const int64_t* end() const { return dims_.data() + rank_; }
  void Append(int64_t dim) {
    if (rank_ == kMaxRank) ThrowTooLong();
    dims_[rank_++] = dim;
  }
  int64_t num_elements() const { return NumElements(dims_.data(), rank_); }
  MS_Dims abi() const { return MS_Dims{dims_.data(), rank_, 0}; }
  bool operator==(const Shape& other) const {
    return rank_ == other.rank_ && SameDims(begin(), other.begin(), rank_);
  }
  bool operator!=(const Shape& other) const { return !(*this == other); }
  MS_SHARED_COLD std::string ToString() const { return TextOfDims(dims_.data(), rank_); }

 private:
  [[noreturn]] __attribute__((noinline, cold)) static void ThrowTooLong() {
    throw std::length_error(StrCat("a shape has at most ", kMaxRank, " dimensions"));
  }

  uint32_t rank_ = 0;
  std::array<int64_t, kMaxRank> dims_;
};

// A borrowed tensor of a kernel, valid until Compute returns.
class View {
 public:
  View() : view_{} {}
  explicit View(const MS_TensorView& view) : view_(view) {}

  uint32_t rank() const { return view_.rank; }
  int64_t dim(uint32_t i) const { return view_.dims[i]; }
  Shape shape() const { return Shape(view_.dims, view_.rank); }
  MS_DType dtype() const { return view_.dtype; }
  int64_t size() const { return NumElements(view_.dims, view_.rank); }
  uint64_t bytes() const { return view_.mem.bytes; }
  void* raw() const { return static_cast<char*>(view_.mem.base) + view_.mem.offset; }
  template <typename T>
  T* data() const {
    return static_cast<T*>(raw());
  }
  bool is_null() const { return view_.mem.base == nullptr; }
  // The string in cell `i`, in flat order, of a tensor of strings. Valid until the cell is set or
  // the tensor is released.
  Status GetString(int64_t i, std::string_view* out) const {
    MS_Str text{};
    MS_TRY(
        Status::FromAbi(host_tables.tensor->string_get(&view_, static_cast<uint64_t>(i), &text)));
    *out = ToView(text);
    return Status();
  }
  // Sets the cell to a copy of `text`. Different cells may be set by several threads.
  Status SetString(int64_t i, std::string_view text) const {
    return Status::FromAbi(
        host_tables.tensor->string_set(&view_, static_cast<uint64_t>(i), ms::ToAbi(text)));
  }
  const MS_TensorView& abi() const { return view_; }

 private:
  MS_TensorView view_;
};

// ---- Node attributes ---------------------------------------------------------------------------

// The node of a kernel during Init, or of a shape or gradient function. Results of getters are
// copies, or valid until Init or that function returns.
class KernelInfo {
 public:
  explicit KernelInfo(const MS_KernelInfo* info) : info_(info) {}

  std::string_view op() const { return ToView(host_tables.kernel->op_type(info_)); }
  std::string_view node_name() const { return ToView(host_tables.kernel->node_name(info_)); }
  uint32_t num_inputs() const { return host_tables.kernel->num_inputs(info_); }
  uint32_t num_outputs() const { return host_tables.kernel->num_outputs(info_); }
  MS_DType input_dtype(uint32_t i) const { return host_tables.kernel->input_dtype(info_, i); }
  MS_DType output_dtype(uint32_t i) const { return host_tables.kernel->output_dtype(info_, i); }
  bool HasAttr(std::string_view name) const {
    return host_tables.kernel->attr_kind(info_, ToAbi(name)) != MS_ATTR_NONE;
  }

  Status Attr(std::string_view name, int64_t* out) const {
    return Status::FromAbi(host_tables.kernel->attr_i64(info_, ToAbi(name), out));
  }
  Status Attr(std::string_view name, float* out) const {
    return Status::FromAbi(host_tables.kernel->attr_f32(info_, ToAbi(name), out));
  }
  Status Attr(std::string_view name, bool* out) const {
    uint8_t value = 0;
    MS_TRY(Status::FromAbi(host_tables.kernel->attr_bool(info_, ToAbi(name), &value)));
    *out = value != 0;
    return Status();
  }
  MS_SHARED Status Attr(std::string_view name, std::string* out) const {
    MS_Str value{};
    MS_TRY(Status::FromAbi(host_tables.kernel->attr_str(info_, ToAbi(name), &value)));
    *out = std::string(ToView(value));
    return Status();
  }
  Status DTypeAttr(std::string_view name, MS_DType* out) const {
    return Status::FromAbi(host_tables.kernel->attr_dtype(info_, ToAbi(name), out));
  }
  MS_SHARED Status Attr(std::string_view name, std::vector<int64_t>* out) const {
    const int64_t* values = nullptr;
    uint64_t n = 0;
    MS_TRY(Status::FromAbi(host_tables.kernel->attr_i64_list(info_, ToAbi(name), &values, &n)));
    out->assign(values, values + n);
    return Status();
  }
  MS_SHARED Status Attr(std::string_view name, std::vector<float>* out) const {
    const float* values = nullptr;
    uint64_t n = 0;
    MS_TRY(Status::FromAbi(host_tables.kernel->attr_f32_list(info_, ToAbi(name), &values, &n)));
    out->assign(values, values + n);
    return Status();
  }
  MS_SHARED Status Attr(std::string_view name, std::vector<std::string>* out) const {
    const MS_Str* values = nullptr;
    uint64_t n = 0;
    MS_TRY(Status::FromAbi(host_tables.kernel->attr_str_list(info_, ToAbi(name), &values, &n)));
    out->clear();
    for (uint64_t i = 0; i < n; ++i) out->emplace_back(ToView(values[i]));
    return Status();
  }
  MS_SHARED Status Attr(std::string_view name, std::vector<bool>* out) const {
    const uint8_t* values = nullptr;
    uint64_t n = 0;
    MS_TRY(Status::FromAbi(host_tables.kernel->attr_bool_list(info_, ToAbi(name), &values, &n)));
    out->assign(values, values + n);
    return Status();
  }
  Status TensorAttr(std::string_view name, View* out) const {
    MS_TensorView view{};
    MS_TRY(Status::FromAbi(host_tables.kernel->attr_tensor(info_, ToAbi(name), &view)));
    *out = View(view);
    return Status();
  }
  Status InputRange(std::string_view name, uint32_t* begin, uint32_t* end) const {
    return Status::FromAbi(host_tables.kernel->input_range(info_, ToAbi(name), begin, end));
  }
  // Nodes with equal digests compute the same function.
  uint64_t digest() const { return host_tables.kernel->node_digest(info_); }
  // The value of a plugin option: the user's, or the default (option_schema.hpp).
  Status Option(std::string_view name, std::string_view* out) const {
    MS_Str value{};
    MS_TRY(Status::FromAbi(host_tables.kernel->option_get(info_, ToAbi(name), &value)));
    *out = ToView(value);
    return Status();
  }
  // The node's device, for Init; null for shape, gradient and Supports functions.
  const MS_DeviceContext* device() const { return host_tables.kernel->device(info_); }
  const MS_KernelInfo* abi() const { return info_; }

 private:
  const MS_KernelInfo* info_;
};

// A node that a kernel may refuse. Sizes are -1 and ranks MS_UNKNOWN_RANK where not known.
class SupportsQuery {
 public:
  explicit SupportsQuery(const MS_SupportsQuery* query) : query_(query) {}
  KernelInfo info() const { return KernelInfo(query_->info); }
  uint32_t num_inputs() const { return query_->n_in; }
  uint32_t num_outputs() const { return query_->n_out; }
  MS_Dims input(uint32_t i) const { return query_->inputs[i]; }
  MS_Dims output(uint32_t i) const { return query_->outputs[i]; }

 private:
  const MS_SupportsQuery* query_;
};

// ---- Execution ---------------------------------------------------------------------------------

// The base of the data that Specialize keeps for the frames of one shape signature.
class ShapeState {
 public:
  virtual ~ShapeState() = default;
};

// One shape signature of one node; every shape is known.
class Specialization {
 public:
  explicit Specialization(MS_Specialization* spec) : spec_(spec) {}
  uint32_t num_inputs() const { return spec_->n_in; }
  uint32_t num_outputs() const { return spec_->n_out; }
  Shape input(uint32_t i) const { return Shape(spec_->inputs[i].d, spec_->inputs[i].rank); }
  Shape output(uint32_t i) const { return Shape(spec_->outputs[i].d, spec_->outputs[i].rank); }
  // The value of input i if it is the same in every step; else a null view.
  View constant(uint32_t i) const { return View(spec_->constants[i]); }
  // The most threads that a frame will offer.
  uint32_t num_threads() const { return spec_->num_threads; }
  const MS_DeviceContext* device() const { return spec_->device; }
  void SetScratchBytes(uint64_t bytes) { spec_->scratch_bytes = bytes; }
  void SetState(std::unique_ptr<ShapeState> state) { spec_->shape_state = state.release(); }

 private:
  MS_Specialization* spec_;
};

// The locked variables of one execution. The destructor unlocks them.
class VariableLocks {
 public:
  VariableLocks() = default;
  VariableLocks(const VariableLocks&) = delete;
  VariableLocks& operator=(const VariableLocks&) = delete;
  ~VariableLocks() {
    if (locks_ != nullptr) host_tables.resource->vars_unlock(locks_);
  }
  // The k-th locked variable's value.
  Status Read(uint32_t k, View* out) const {
    MS_TensorView view{};
    MS_TRY(Status::FromAbi(host_tables.resource->var_view(locks_, k, &view)));
    *out = View(view);
    return Status();
  }
  // The value of the k-th locked variable, which may be changed in place.
  Status Write(uint32_t k, View* out) const {
    MS_TensorView view{};
    MS_TRY(Status::FromAbi(host_tables.resource->var_prepare_write(locks_, k, &view)));
    *out = View(view);
    return Status();
  }
  MS_LockSet** raw() { return &locks_; }

 private:
  MS_LockSet* locks_ = nullptr;
};

// A function on ranges of a loop that several threads run. Exceptions must not leave it, for it is
// called by the host or by OpenMP: the first one is kept, and thrown again on the loop's own
// thread.
class RangeCall {
 public:
  using Function = void (*)(void* user, uint64_t begin, uint64_t end);
  RangeCall(Function function, void* user) : function_(function), user_(user) {}

  // `call` is a RangeCall.
  MS_SHARED static void Run(void* call, uint64_t begin, uint64_t end) noexcept {
    static_cast<RangeCall*>(call)->RunGuarded(begin, end);
  }
  MS_SHARED void Finish() {
    if (error_ != nullptr) std::rethrow_exception(error_);
  }

 private:
  void RunGuarded(uint64_t begin, uint64_t end) noexcept {
    try {
      function_(user_, begin, end);
    } catch (...) {
      if (!has_failed_.exchange(true)) error_ = std::current_exception();
    }
  }

  const Function function_;
  void* const user_;
  std::atomic<bool> has_failed_{false};
  std::exception_ptr error_;  // written once, by the thread that set has_failed_
};

// One execution of a kernel.
class Frame {
 public:
  explicit Frame(MS_Frame* frame) : frame_(frame) {}

  uint32_t num_inputs() const { return frame_->n_in; }
  uint32_t num_outputs() const { return frame_->n_out; }
  View input(uint32_t i) const { return View(frame_->inputs[i]); }
  bool output_used(uint32_t i) const { return (frame_->outputs_used[i / 64] >> (i % 64)) & 1; }

  // The planned memory of output i, of the inferred shape; null if there is none. Only for kernels
  // with a shape state, which guarantees that the inputs have the shapes that Specialize got.
  void* planned_output(uint32_t i) const {
    const MS_MemRef& memory = frame_->outputs[i].mem;
    return memory.base == nullptr ? nullptr : static_cast<char*>(memory.base) + memory.offset;
  }
  // Memory for output i: the planned one when the plan found this shape, else allocated.
  MS_SHARED Status Output(uint32_t i, const Shape& shape, View* out) {
    const MS_TensorView& planned = frame_->outputs[i];
    if (planned.mem.base != nullptr) {
      if (planned.rank == shape.rank() && SameDims(shape.begin(), planned.dims, shape.rank())) {
        *out = View(planned);
        return Status();
      }
      return NotAsPlanned(i, shape);
    }
    MS_TensorView view{};
    MS_TRY(Status::FromAbi(host_tables.ctx->allocate_output(frame_, i, shape.abi(), &view)));
    *out = View(view);
    return Status();
  }
  // As Output, but takes over the buffer of input `candidate` where that is allowed.
  MS_SHARED Status ForwardOrOutput(uint32_t candidate, uint32_t i, const Shape& shape, View* out) {
    if (frame_->outputs[i].mem.base != nullptr) return Output(i, shape, out);
    MS_TensorView view{};
    int32_t which = -1;
    MS_TRY(Status::FromAbi(host_tables.ctx->forward_or_allocate(frame_, &candidate, 1, i,
                                                                shape.abi(), &view, &which)));
    *out = View(view);
    return Status();
  }
  // Host memory of `bytes` until Compute returns, 64-byte aligned. Prefer SetScratchBytes.
  Status Temp(uint64_t bytes, View* out) { return TempIn(MS_SPACE_HOST, bytes, out); }
  // The same in the device's memory, until the stream has completed what Compute enqueued.
  Status DeviceTemp(uint64_t bytes, View* out) { return TempIn(MS_SPACE_DEVICE, bytes, out); }
  MS_SHARED Status TempIn(uint32_t space, uint64_t bytes, View* out) {
    MS_TensorView view{};
    const int64_t dim = static_cast<int64_t>(bytes);
    MS_TRY(Status::FromAbi(
        host_tables.ctx->allocate_temp(frame_, MS_UINT8, MS_Dims{&dim, 1, 0}, space, &view)));
    *out = View(view);
    return Status();
  }

  // The data that Specialize kept; null in the dynamic executor.
  template <typename State>
  const State* shape_state() const {
    return static_cast<const State*>(static_cast<const ShapeState*>(frame_->shape_state));
  }
  void* scratch() const { return frame_->scratch; }
  bool deterministic() const { return (frame_->flags & MS_FRAME_DETERMINISTIC) != 0; }

  // The number of threads that a library's own team may use; 1 unless this execution holds the
  // permit.
  uint32_t num_threads() const { return host_tables.threads->num_threads(frame_); }
  // Calls fn(begin, end) on ranges that cover [0, total). The ranges depend only on size and cost.
  // A plugin that is compiled with OpenMP uses the OpenMP team, which its libraries (oneDNN) use
  // too, because two teams would compete for the cores. Other plugins use the host's team. An
  // exception that leaves fn leaves ParallelFor, after all ranges have ended.
  template <typename Fn>
  void ParallelFor(uint64_t total, uint64_t cost_ns_per_unit, Fn&& fn) {
    using Plain = std::remove_reference_t<Fn>;
    const RangeCall::Function run = [](void* user, uint64_t begin, uint64_t end) {
      (*static_cast<Plain*>(user))(begin, end);
    };
    RunOnTeam(total, cost_ns_per_unit, run, const_cast<void*>(static_cast<const void*>(&fn)));
  }

  // Locks the variables of these inputs, each for MS_LOCK_READ or MS_LOCK_WRITE.
  Status LockVariables(std::initializer_list<std::pair<uint32_t, uint32_t>> inputs_and_modes,
                       VariableLocks* locks) {
    constexpr size_t kMost = 16;
    std::array<uint32_t, kMost> inputs{};
    std::array<uint32_t, kMost> modes{};
    if (inputs_and_modes.size() > kMost) {
      return Internal("a list of more than ", kMost, " variables to lock");
    }
    uint32_t n = 0;
    for (const auto& [input, mode] : inputs_and_modes) {
      inputs[n] = input;
      modes[n++] = mode;
    }
    return LockVariables(inputs.data(), modes.data(), n, locks);
  }
  // The same for any number of them, as arrays of `n`.
  Status LockVariables(const uint32_t* inputs, const uint32_t* modes, uint32_t n,
                       VariableLocks* locks) {
    return Status::FromAbi(host_tables.resource->vars_lock(frame_, inputs, modes, n, locks->raw()));
  }
  // Philox key and first counter of `blocks` blocks of four 32-bit numbers.
  Status ReserveRandom(uint64_t blocks, uint64_t* key, uint64_t counter[2]) {
    return Status::FromAbi(host_tables.ctx->rng_reserve(frame_, blocks, key, counter));
  }
  Status CheckCancelled() const { return Status::FromAbi(host_tables.ctx->cancel_check(frame_)); }
  MS_Frame* raw() const { return frame_; }

 private:
#ifdef _OPENMP
  // ParallelFor on OpenMP's team.
  MS_SHARED void RunOnTeam(uint64_t total, uint64_t cost_ns_per_unit, RangeCall::Function run,
                           void* user) {
    constexpr uint64_t kPieceNanoseconds = 20000;
    constexpr uint64_t kMostPieces = 64;
    const uint64_t cost = std::max<uint64_t>(cost_ns_per_unit, 1);
    const uint64_t piece = std::max<uint64_t>(std::max<uint64_t>(kPieceNanoseconds / cost, 1),
                                              (total + kMostPieces - 1) / kMostPieces);
    const uint32_t threads = total > piece ? num_threads() : 1;
    if (threads <= 1) {
      if (total > 0) run(user, uint64_t{0}, total);
      return;
    }
    const int64_t pieces = static_cast<int64_t>((total + piece - 1) / piece);
    RangeCall call(run, user);
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (int64_t k = 0; k < pieces; ++k) {
      const uint64_t begin = static_cast<uint64_t>(k) * piece;
      RangeCall::Run(&call, begin, std::min(begin + piece, total));
    }
    call.Finish();
  }
#else
  // ParallelFor on the host's team.
  MS_SHARED void RunOnTeam(uint64_t total, uint64_t cost_ns_per_unit, RangeCall::Function run,
                           void* user) {
    RangeCall call(run, user);
    host_tables.threads->parallel_for(frame_, total, cost_ns_per_unit, &RangeCall::Run, &call);
    call.Finish();
  }
#endif

  MS_SHARED_COLD Status NotAsPlanned(uint32_t i, const Shape& shape) const {
    return Internal("output ", i, " was planned as ", View(frame_->outputs[i]).shape().ToString(),
                    " but the kernel found ", shape.ToString());
  }

  MS_Frame* frame_;
};

// The end of one asynchronous execution. Called once, from any thread; afterwards the frame is
// gone. An object that is destroyed without a call ends the execution with an error.
class Done {
 public:
  explicit Done(MS_Done* done) : done_(done) {}
  Done(Done&& other) noexcept : done_(std::exchange(other.done_, nullptr)) {}
  Done& operator=(const Done&) = delete;
  ~Done() {
    if (done_ != nullptr) Finish(Internal("the kernel let go of its execution without ending it"));
  }

  void operator()(const Status& status) { Finish(status); }

 private:
  void Finish(const Status& status) {
    host_tables.ctx->done(std::exchange(done_, nullptr), status.ToAbi());
  }
  MS_Done* done_;
};

// ---- Registration ------------------------------------------------------------------------------

// The options of a registration besides op and class.
class KernelOptions {
 public:
  KernelOptions() = default;
  MS_SHARED KernelOptions(const KernelOptions&) = default;
  MS_SHARED KernelOptions(KernelOptions&&) = default;
  MS_SHARED KernelOptions& operator=(const KernelOptions&) = default;
  MS_SHARED KernelOptions& operator=(KernelOptions&&) = default;
  MS_SHARED ~KernelOptions() = default;

  template <typename T>
  KernelOptions& Type(const char* attr) {
    return Types(attr, {DTypeOf<T>()});
  }
  MS_SHARED KernelOptions& Types(const char* attr, std::vector<MS_DType> dtypes) {
    constraints_.push_back({attr, std::move(dtypes)});
    return *this;
  }
  // The named argument lives in host memory on every device.
  MS_SHARED KernelOptions& HostArg(const char* name) {
    host_args_.push_back(name);
    return *this;
  }
  MS_SHARED KernelOptions& InPlace(uint32_t output, uint32_t input) {
    in_place_.push_back({output, input});
    return *this;
  }
  KernelOptions& Flags(uint32_t flags) {
    flags_ |= flags;
    return *this;
  }
  KernelOptions& Extension(const MS_Ext* extension) {  // which lives for ever
    extension_ = extension;
    return *this;
  }
  KernelOptions& Label(const char* label) {
    label_ = label;
    return *this;
  }
  KernelOptions& Priority(int32_t priority) {
    priority_ = priority;
    return *this;
  }
  KernelOptions& Device(const char* device_type) {
    device_type_ = device_type;
    return *this;
  }

 private:
  friend class KernelEntry;
  struct Constraint {
    const char* attr;
    std::vector<MS_DType> dtypes;
  };
  std::list<Constraint> constraints_;
  std::vector<const char*> host_args_;
  std::vector<MS_InPlacePair> in_place_;
  const MS_Ext* extension_ = nullptr;
  uint32_t flags_ = 0;
  int32_t priority_ = 0;
  const char* label_ = "";
  const char* device_type_ = "CPU";
};

template <typename K, typename = void>
struct HasInit : std::false_type {};
template <typename K>
struct HasInit<K, std::void_t<decltype(std::declval<K&>().Init(std::declval<const KernelInfo&>()))>>
    : std::true_type {};
template <typename K, typename = void>
struct HasSpecialize : std::false_type {};
template <typename K>
struct HasSpecialize<
    K, std::void_t<decltype(std::declval<const K&>().Specialize(std::declval<Specialization&>()))>>
    : std::true_type {};
template <typename K, typename = void>
struct HasSupports : std::false_type {};
template <typename K>
struct HasSupports<K, std::void_t<decltype(K::Supports(std::declval<const SupportsQuery&>()))>>
    : std::true_type {};
template <typename K, typename = void>
struct IsAsync : std::false_type {};
template <typename K>
struct IsAsync<K, std::void_t<decltype(std::declval<const K&>().ComputeAsync(
                      std::declval<Frame>(), std::declval<Done>()))>> : std::true_type {};

// A class that serves many kernels has a constructor from its own `struct Row { ... };`, which each
// registration gives it, and which lives for ever.
template <typename K, typename = void>
struct HasRow : std::false_type {};
template <typename K>
struct HasRow<K, std::void_t<typename K::Row>> : std::true_type {};

// The C functions of a kernel class.
template <typename K>
struct KernelFunctions {
  static MS_Status* Create([[maybe_unused]] void* user, const MS_KernelInfo* info,
                           void** out_state) noexcept {
    return Guarded([&]() -> Status {
      std::unique_ptr<K> kernel;
      if constexpr (HasRow<K>::value) {
        kernel = std::make_unique<K>(*static_cast<const typename K::Row*>(user));
      } else {
        kernel = std::make_unique<K>();
      }
      if constexpr (HasInit<K>::value) MS_TRY(kernel->Init(KernelInfo(info)));
      *out_state = kernel.release();
      return Status();
    });
  }
  static MS_Status* Compute(void* state, MS_Frame* frame) noexcept {
    if constexpr (!IsAsync<K>::value) {
      return Guarded([&]() -> Status {
        Frame wrapped(frame);
        return static_cast<const K*>(state)->Compute(wrapped);
      });
    }
    return nullptr;
  }
  // An exception ends the execution by the destructor of Done, which it passes.
  static void ComputeAsync(void* state, MS_Frame* frame, MS_Done* done) noexcept {
    if constexpr (IsAsync<K>::value) {
      try {
        static_cast<const K*>(state)->ComputeAsync(Frame(frame), Done(done));
      } catch (...) {
        LogDroppedException();
      }
    }
  }
  static void Destroy(void* state) noexcept { delete static_cast<K*>(state); }
  static MS_Status* Specialize(void* state, MS_Specialization* specialization) noexcept {
    if constexpr (HasSpecialize<K>::value) {
      return Guarded([&]() -> Status {
        Specialization wrapped(specialization);
        return static_cast<const K*>(state)->Specialize(wrapped);
      });
    }
    return nullptr;
  }
  static MS_Status* Supports(void*, const MS_SupportsQuery* query) noexcept {
    if constexpr (HasSupports<K>::value) {
      return Guarded([&]() -> Status { return K::Supports(SupportsQuery(query)); });
    }
    return nullptr;
  }
};

// The same for any class.
struct KernelClass {
  MS_Status* (*create)(void*, const MS_KernelInfo*, void**);
  MS_Status* (*compute)(void*, MS_Frame*);            // null if asynchronous
  void (*compute_async)(void*, MS_Frame*, MS_Done*);  // or null
  void (*destroy)(void*);
  MS_Status* (*specialize)(void*, MS_Specialization*);     // or null
  MS_Status* (*supports)(void*, const MS_SupportsQuery*);  // or null
};
template <typename K>
inline constexpr KernelClass kKernelClass = {
    &KernelFunctions<K>::Create,
    IsAsync<K>::value ? nullptr : &KernelFunctions<K>::Compute,
    IsAsync<K>::value ? &KernelFunctions<K>::ComputeAsync : nullptr,
    &KernelFunctions<K>::Destroy,
    HasSpecialize<K>::value ? &KernelFunctions<K>::Specialize : nullptr,
    HasSupports<K>::value ? &KernelFunctions<K>::Supports : nullptr};

// One registered kernel, kept until register_all hands it to the host.
class KernelEntry {
 public:
  template <typename K>
  static KernelEntry Of(const char* op, KernelOptions options) {
    return KernelEntry(op, kKernelClass<K>, nullptr, std::move(options));
  }
  // `row` is what K::Row of a class with rows is at; else null.
  KernelEntry(const char* op, const KernelClass& functions, const void* row, KernelOptions options)
      : op_(op), class_(&functions), row_(row), options_(std::move(options)) {}

  Status RegisterWith(MS_Registrar* registrar) const {
    std::vector<MS_TypeConstraint> constraints;
    for (const auto& constraint : options_.constraints_) {
      constraints.push_back({{sizeof(MS_TypeConstraint), 0, nullptr},
                             ToAbi(constraint.attr),
                             constraint.dtypes.data(),
                             constraint.dtypes.size()});
    }
    std::vector<const MS_TypeConstraint*> constraint_pointers;
    for (const auto& constraint : constraints) constraint_pointers.push_back(&constraint);
    std::vector<MS_Str> host_args;
    for (const char* name : options_.host_args_) host_args.push_back(ToAbi(name));

    MS_KernelDef def{};
    def.head = {sizeof(def), 0, options_.extension_};
    def.op = ToAbi(op_);
    def.device_type = ToAbi(options_.device_type_);
    def.label = ToAbi(options_.label_);
    def.priority = options_.priority_;
    def.flags = options_.flags_ | (class_->compute_async != nullptr ? MS_KERNEL_ASYNC : 0u);
    def.constraints = constraint_pointers.data();
    def.n_constraints = constraint_pointers.size();
    def.host_args = host_args.data();
    def.n_host_args = host_args.size();
    def.in_place = options_.in_place_.data();
    def.n_in_place = options_.in_place_.size();
    def.user = const_cast<void*>(row_);
    def.create = class_->create;
    def.compute = class_->compute;
    def.compute_async = class_->compute_async;
    def.supports = class_->supports;
    def.destroy = class_->destroy;
    def.specialize = class_->specialize;
    if (def.specialize != nullptr) def.unspecialize = &Unspecialize;
    return Status::FromAbi(host_tables.registry->kernel_register(registrar, &def));
  }

 private:
  static void Unspecialize(void*, void* shape_state) noexcept {
    delete static_cast<ShapeState*>(shape_state);
  }

  const char* op_;
  const KernelClass* class_;
  const void* row_;
  KernelOptions options_;
};

inline std::list<KernelEntry>& KernelEntries() {
  static std::list<KernelEntry> entries;
  return entries;
}

// The result of a registration, so that it can be at namespace scope.
struct Registered {};

MS_SHARED inline Registered RegisterClass(const char* op, const KernelClass& functions,
                                          const void* row, KernelOptions options) {
  KernelEntries().emplace_back(op, functions, row, std::move(options));
  return Registered();
}
template <typename K>
Registered Register(const char* op, KernelOptions options = KernelOptions()) {
  return RegisterClass(op, kKernelClass<K>, nullptr, std::move(options));
}
// Of a class with rows.
template <typename K>
Registered RegisterRow(const char* op, const typename K::Row& row,
                       KernelOptions options = KernelOptions()) {
  return RegisterClass(op, kKernelClass<K>, &row, std::move(options));
}

// A class for one type.
struct ClassOfType {
  MS_DType dtype;
  const KernelClass* functions;
};
MS_SHARED inline void RegisterClasses(const char* op, const char* attr,
                                      std::initializer_list<ClassOfType> classes,
                                      const KernelOptions& options) {
  for (const ClassOfType& one : classes) {
    RegisterClass(op, *one.functions, nullptr, KernelOptions(options).Types(attr, {one.dtype}));
  }
}

// Registers Kernel<T> for every T, constraining the type attribute `attr` to T.
template <template <typename> class Kernel, typename... Ts>
Registered RegisterForTypes(const char* op, const char* attr,
                            const KernelOptions& options = KernelOptions()) {
  RegisterClasses(op, attr, {ClassOfType{DTypeOf<Ts>(), &kKernelClass<Kernel<Ts>>}...}, options);
  return Registered();
}

}  // namespace v1
}  // namespace ms

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_PLUGIN_HPP_
