#include "core/numerics/numeric_checks.h"

#include <unistd.h>

#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/device/device_memory.h"
#include "core/graph/error_details.h"
#include "core/graph/graph_builder.h"
#include "core/host/host_ctx.h"
#include "core/host/kernel_host.h"
#include "core/host/thread_team.h"
#include "core/import/graph_def.h"
#include "core/io/write_file.h"
#include "core/numerics/numeric_scan.h"
#include "core/resources/run_time_handle.h"
#include "core/resources/variable.h"
#include "core/step/step_context.h"
#include "framework/numeric_bounds.h"
#include "framework/op_def.h"
#include "framework/plugin/host_status.h"
#include "framework/plugin/host_tensor.h"

namespace millstream {
namespace {

// A message of the format that files have is smaller than two gigabytes.
constexpr int64_t kMostBytesSaved = int64_t{1} << 30;
constexpr size_t kMostRangesNamed = 8;

// By name, as SessionOptions::disabled_passes takes them. fuse_relu_grad stays: it gives all
// results.
constexpr const char* kHiding[] = {
    "batch_updates",     "compile_elementwise",  "fold_batch_norm", "fold_constants",
    "fuse_attention",    "fuse_attention_grad",  "fuse_batch_norm", "fuse_concats",
    "fuse_dense_layers", "fuse_elementwise",     "fuse_gelu",       "fuse_layer_norm",
    "fuse_lstm_steps",   "fuse_product_updates", "fuse_products",   "fuse_softmax_grad",
    "join_lstm_steps",   "join_products",        "pack_weights",    "share_strips",
    "sum_products"};

Variable* VariableOf(const MS_TensorView& view) { return ResourceAs<Variable>(ResourceOf(view)); }

absl::string_view ArgumentOf(const Node& node, uint32_t input) {
  const std::vector<int>& starts = node.signature().input_starts;
  for (size_t k = 0; k < node.op().inputs.size(); ++k) {
    if (static_cast<int>(input) < starts[k + 1]) return node.op().inputs[k].name;
  }
  return "?";
}

std::string RangesOf(const Node& node, absl::Span<const MS_TensorView> inputs) {
  std::vector<std::string> ranges;
  for (uint32_t i = 0; i < inputs.size() && ranges.size() < kMostRangesNamed; ++i) {
    if (!CanScan(inputs[i])) continue;
    ranges.push_back(absl::StrCat(ArgumentOf(node, i), " ", RangeOf(inputs[i]).ToString()));
  }
  return absl::StrJoin(ranges, "; ");
}

// Characters that file names have on every system.
std::string FileNameOf(absl::string_view node) {
  std::string name(node);
  for (char& c : name) {
    if (!absl::ascii_isalnum(c) && c != '_' && c != '-') c = '_';
  }
  return name;
}

StatusOr<Tensor> ReadOnHost(const Tensor& tensor, const MS_Frame& frame) {
  StepContext* const step = frame.ctx->host->step;
  return MemoryOf(tensor)->ReadOnHost(tensor, [step] { return step->CheckInterruption(); });
}

// What a view shows, where the host can read it.
struct HostView {
  MS_TensorView view;
  Tensor copy;  // of what lies on a device; the view's dims are the original's
};

StatusOr<HostView> OnHost(const MS_TensorView& view, const MS_Frame& frame) {
  HostView result{view, Tensor()};
  DeviceMemory* const memory = frame.ctx->host->memory;
  const bool is_there = view.mem.base != nullptr && view.rank != MS_UNKNOWN_RANK;
  if (memory == nullptr || view.mem.space != MS_SPACE_DEVICE || !is_there) return result;
  MS_ASSIGN_OR_RETURN(const Shape shape, ShapeFromAbi(MS_Dims{view.dims, view.rank, 0}));
  const Tensor borrowed = memory->Borrow(FromAbiDataType(view.dtype), shape, view.mem);
  MS_ASSIGN_OR_RETURN(result.copy, ReadOnHost(borrowed, frame));
  result.view.mem = MakeView(result.copy, nullptr).mem;
  result.view.flags |= MS_VIEW_HOST;
  return result;
}

// Copies what the variable holds to `spare`, where that fits; nothing when it holds nothing.
StatusOr<Tensor> CopyOfValue(Variable* variable, const Tensor& spare) {
  const StatusOr<Tensor> value = variable->Read();
  if (!value.ok()) return Tensor();
  const bool fits = spare.has_value() && !value->is_on_device() &&
                    spare.dtype() == value->dtype() && spare.shape() == value->shape();
  if (!fits) return CopyOf(*value);
  MS_RETURN_IF_ERROR(CopyElements(*value, spare));
  return spare;
}

// Null if bounds of what the kernel makes of variables are not known. The rule of an op holds for
// kernels that compute what the op's documentation says. A kernel that does not declare this may
// compute anything.
BoundsRule RuleOf(const KernelInstance& kernel) {
  const OpCall& call = kernel.call();
  const bool has_rule =
      kernel.registration().keeps_update_bounds && call.op->bounds_rule != nullptr;
  return has_rule ? call.op->bounds_rule(*call.attrs) : nullptr;
}

bool IsUsed(const MS_Frame& frame, uint32_t output) {
  return ((frame.outputs_used[output / 64] >> (output % 64)) & 1) != 0;
}

// True if the view shows the value of a variable among the inputs that is known to be finite.
bool IsKnownFinite(const MS_TensorView& view, const MS_Frame& frame) {
  for (uint32_t i = 0; i < frame.n_in; ++i) {
    Variable* const variable = VariableOf(frame.inputs[i]);
    if (variable == nullptr) continue;
    if (variable->IsKnownFinite(view.mem)) return true;
  }
  return false;
}

// Notes in variables that their values are finite, where the outputs, which were scanned, are these
// values.
void NoteRead(const MS_Frame& frame) {
  for (uint32_t i = 0; i < frame.n_in; ++i) {
    Variable* const variable = VariableOf(frame.inputs[i]);
    if (variable == nullptr) continue;
    const StatusOr<Tensor> value = variable->Read();
    if (!value.ok() || !value->has_value()) continue;
    for (uint32_t k = 0; k < frame.n_out; ++k) {
      const MS_MemRef& given = frame.outputs[k].mem;
      if (!IsAt(*value, given)) continue;
      if (IsUsed(frame, k) && value->bytes() <= given.bytes) variable->NoteFinite(*value);
    }
  }
}

}  // namespace

// An update that cannot but give finite numbers, and what the variables will be.
struct NumericChecks::BoundedUpdate {
  struct Change {
    Variable* variable;
    uint64_t num_writes;  // before
    NumericBounds after;
  };
  absl::InlinedVector<Change, 3> changes;  // empty: it is no such update

  // Behind it. False when others have written a variable meanwhile: what the update made of the
  // rest is not known then either.
  bool Note() const {
    const auto is_alone = [](const Change& change) {
      return change.variable->BoundsOfValue().num_writes == change.num_writes + 1;
    };
    return !changes.empty() && absl::c_all_of(changes, is_alone) &&
           absl::c_all_of(changes, [](const Change& change) {
             return change.variable->NoteBoundsAfter(change.num_writes, change.after);
           });
  }
};

struct NumericChecks::CheckedKernel {
  CheckedKernel(NumericChecks* checks, const KernelInstance* kernel)
      : checks(checks), kernel(kernel), rule(RuleOf(*kernel)) {}
  // Looks at the inputs that are no variables.
  BoundedUpdate FindUpdate(MS_Frame* frame) const;
  // Of the variables among the inputs of a kernel that gives nothing, and so may write them.
  StatusOr<std::vector<Tensor>> KeepVariables(const MS_Frame& frame) ABSL_LOCKS_EXCLUDED(mutex);
  void Return(std::vector<Tensor> kept) ABSL_LOCKS_EXCLUDED(mutex);
  void DropUnused() ABSL_LOCKS_EXCLUDED(mutex) {
    absl::MutexLock lock(&mutex);
    unused.clear();
  }

  NumericChecks* const checks;
  const KernelInstance* const kernel;
  const BoundsRule rule;  // null: none
  absl::Mutex mutex;
  std::vector<std::vector<Tensor>> unused ABSL_GUARDED_BY(mutex);  // memory for further steps
};

NumericChecks::BoundedUpdate NumericChecks::CheckedKernel::FindUpdate(MS_Frame* frame) const {
  BoundedUpdate update;
  if (rule == nullptr) return update;
  NumericBoundsList before;
  for (uint32_t i = 0; i < frame->n_in; ++i) {
    const MS_TensorView& view = frame->inputs[i];
    std::optional<NumericBounds> bounds;
    if (Variable* const variable = VariableOf(view)) {
      const Variable::KnownBounds known = variable->BoundsOfValue();
      bounds = known.bounds;
      update.changes.push_back({variable, known.num_writes, {}});
    } else if (CanScan(view)) {
      bounds = BoundsOf(view, frame, ThreadsApi());
    }
    if (!bounds) return {};
    before.push_back(*bounds);
  }
  const NumericBoundsList after = rule(before);
  if (after.size() != update.changes.size()) return {};
  for (size_t i = 0; i < after.size(); ++i) update.changes[i].after = after[i];
  return update;
}

StatusOr<std::vector<Tensor>> NumericChecks::CheckedKernel::KeepVariables(const MS_Frame& frame) {
  std::vector<Tensor> kept;
  if (checks->folder_.empty() || frame.n_out > 0) return kept;
  {
    absl::MutexLock lock(&mutex);
    if (!unused.empty()) {
      kept = std::move(unused.back());
      unused.pop_back();
    }
  }
  kept.resize(frame.n_in);
  for (uint32_t i = 0; i < frame.n_in; ++i) {
    Variable* const variable = VariableOf(frame.inputs[i]);
    if (variable == nullptr) continue;
    MS_ASSIGN_OR_RETURN(kept[i], CopyOfValue(variable, kept[i]));
  }
  return kept;
}

// A device has less memory, and gives it again.
void NumericChecks::CheckedKernel::Return(std::vector<Tensor> kept) {
  if (kept.empty()) return;
  for (Tensor& tensor : kept) {
    if (tensor.is_on_device()) tensor = Tensor();
  }
  absl::MutexLock lock(&mutex);
  unused.push_back(std::move(kept));
}

NumericChecks::NumericChecks(std::string folder, FileSystem* files)
    : folder_(std::move(folder)), files_(files) {}

NumericChecks::~NumericChecks() = default;

MS_Status* NumericChecks::Compute(void* state, MS_Frame* frame) {
  CheckedKernel& checked = *static_cast<CheckedKernel*>(state);
  const BoundedUpdate update = checked.FindUpdate(frame);
  StatusOr<std::vector<Tensor>> before = std::vector<Tensor>();
  if (update.changes.empty()) {
    before = checked.KeepVariables(*frame);
  } else {
    checked.DropUnused();
  }
  if (!before.ok()) return ToAbiStatus(before.status());
  const KernelInstance& kernel = *checked.kernel;
  MS_Status* const failed = kernel.registration().compute(kernel.state(), frame);
  if (failed != nullptr) return failed;
  if (!frame->ctx->locks.held && update.Note()) return nullptr;
  const Status status = checked.checks->CheckResults(kernel, frame, *before);
  checked.Return(*std::move(before));
  return ToAbiStatus(status);
}

void* NumericChecks::StateFor(const KernelInstance* kernel) {
  absl::MutexLock lock(&mutex_);
  std::unique_ptr<CheckedKernel>& checked = kernels_[kernel];
  if (checked == nullptr) checked = std::make_unique<CheckedKernel>(this, kernel);
  return checked.get();
}

void NumericChecks::Forget(const KernelInstance* kernel) {
  absl::MutexLock lock(&mutex_);
  kernels_.erase(kernel);
}

void NumericChecks::DropKept() {
  absl::MutexLock lock(&mutex_);
  for (const auto& [kernel, checked] : kernels_) checked->DropUnused();
}

size_t NumericChecks::num_kernels() const {
  absl::MutexLock lock(&mutex_);
  return kernels_.size();
}

Status NumericChecks::CheckResults(const KernelInstance& kernel, MS_Frame* frame,
                                   absl::Span<const Tensor> before) {
  if (frame->ctx->locks.held) return absl::OkStatus();  // whose variables nobody could read
  return frame->n_out > 0 ? CheckOutputs(kernel, frame) : CheckVariables(kernel, frame, before);
}

Status NumericChecks::CheckOutputs(const KernelInstance& kernel, MS_Frame* frame) {
  bool looked = false;
  for (uint32_t k = 0; k < frame->n_out; ++k) {
    const MS_TensorView& given = frame->outputs[k];
    if (!IsUsed(*frame, k) || !HasNonFinite(given.dtype) || IsKnownFinite(given, *frame)) continue;
    MS_ASSIGN_OR_RETURN(const HostView output, OnHost(given, *frame));
    looked = true;
    if (!HoldsNonFinite(output.view, frame, ThreadsApi())) continue;
    return Describe(*frame, absl::StrCat("in output ", k, ": ", RangeOf(output.view).ToString()));
  }
  if (looked) NoteRead(*frame);
  return absl::OkStatus();
}

Status NumericChecks::CheckVariables(const KernelInstance& kernel, MS_Frame* frame,
                                     absl::Span<const Tensor> before) {
  for (uint32_t i = 0; i < frame->n_in; ++i) {
    Variable* const variable = VariableOf(frame->inputs[i]);
    if (variable == nullptr) continue;
    const StatusOr<Tensor> value = variable->Read();
    if (!value.ok() || variable->IsKnownFinite(PlaceOf(*value))) continue;
    Tensor on_host = *value;
    if (value->is_on_device()) {
      MS_ASSIGN_OR_RETURN(on_host, ReadOnHost(*value, *frame));
    }
    const MS_TensorView view = MakeView(on_host, nullptr);
    std::optional<NumericBounds> bounds;
    if (CanScan(view)) bounds = BoundsOf(view, frame, ThreadsApi());
    if (bounds || !CanScan(view)) {
      variable->NoteFinite(*value, bounds);
      continue;
    }
    return Describe(
        *frame, absl::StrCat("in the variable ", variable->name(), ": ", RangeOf(view).ToString()),
        before);
  }
  return absl::OkStatus();
}

// Variables as they were before are shown and saved as inputs. Whether the node is at fault does
// not depend on whether that is known.
Status NumericChecks::Describe(const MS_Frame& frame, const std::string& what,
                               absl::Span<const Tensor> before) {
  std::vector<Tensor> kept(frame.n_in);  // what the views are of
  std::vector<MS_TensorView> inputs;
  for (uint32_t i = 0; i < frame.n_in; ++i) {
    MS_ASSIGN_OR_RETURN(HostView input, OnHost(frame.inputs[i], frame));
    if (HoldsNonFinite(input.view)) return absl::OkStatus();
    kept[i] = std::move(input.copy);
    inputs.push_back(input.view);
    if (before.empty() || !before[i].has_value()) continue;
    kept[i] = before[i];
    if (before[i].is_on_device()) {
      MS_ASSIGN_OR_RETURN(kept[i], ReadOnHost(before[i], frame));
    }
    inputs[i] = MakeView(kept[i], nullptr);
  }
  const Node& node = *frame.ctx->node;
  Status status =
      errors::InvalidArgument("the first numbers of the step that are not finite, ", what);
  const std::string ranges = RangesOf(node, inputs);
  if (!ranges.empty()) status = WithErrorDetail(status, "ranges", ranges);
  if (folder_.empty()) return status;
  const StatusOr<std::string> path = Save(node, inputs);
  return WithErrorDetail(
      status, path.ok() ? "replay" : "not saved",
      path.ok() ? absl::StrCat("millstream replay ", *path) : std::string(path.status().message()));
}

// A GraphDef of constants and, where it takes no variable, the node. A variable of which is not
// known what it was before is left out.
StatusOr<std::string> NumericChecks::Save(const Node& node,
                                          absl::Span<const MS_TensorView> inputs) {
  Graph graph;
  GraphBuilder build(&graph, "inputs");
  NodeSpec spec;
  int64_t bytes = 0;
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    if ((inputs[i].flags & MS_VIEW_RESOURCE) != 0) continue;
    MS_ASSIGN_OR_RETURN(const Tensor value, CopyOfView(inputs[i]));
    bytes += static_cast<int64_t>(value.bytes());
    if (bytes > kMostBytesSaved) return errors::ResourceExhausted("the inputs are too large");
    AttrMap attrs;
    SetAttr(&attrs, "value", value);
    SetAttr(&attrs, "dtype", value.dtype());
    const Node* const constant = build.Named(ArgumentOf(node, i), "Const", {}, std::move(attrs));
    if (constant == nullptr) return build.status();
    spec.inputs.push_back(constant->output(0));
  }
  const bool can_run = absl::c_none_of(
      node.inputs(), [](const Output& input) { return input.dtype() == DataType::kResource; });
  if (can_run) {
    spec.name = graph.UniqueName(node.name());
    spec.op = node.op().name;
    spec.attrs = node.attrs();
    spec.source = node.source();
    spec.allow_unknown_attrs = true;
    MS_RETURN_IF_ERROR(graph.AddNode(std::move(spec)).status());
  }
  MS_ASSIGN_OR_RETURN(const std::string data, ExportGraphDef(graph));
  const std::string stem = absl::StrCat(folder_, "/", FileNameOf(node.name()), "-", getpid(), "-");
  // Other sessions count for themselves, and an earlier process may have had this one's number.
  while (true) {
    std::string path = absl::StrCat(stem, num_saved_.fetch_add(1), ".pb");
    if (files_->Describe(path).ok()) continue;
    const Status written = WriteFileAtomically(files_, path, data, FileSystem::Existing::kRefuse);
    if (written.ok()) return path;
    if (!absl::IsAlreadyExists(written)) return written;
  }
}

bool NumericChecks::Concern(const Node& node) {
  const AttrCondition keeps_finite = node.op().keeps_finite;
  return keeps_finite == nullptr || !keeps_finite(node.attrs());
}

void NumericChecks::DisableFusion(std::vector<std::string>* passes) {
  for (const char* name : kHiding) passes->push_back(name);
}

Status NumericChecks::CheckFeed(const Output& feed, const Tensor& value) {
  const MS_TensorView view = MakeView(value, nullptr);
  if (!HoldsNonFinite(view)) return absl::OkStatus();
  const NumericRange range = RangeOf(view);
  if (range.nans == 0) return absl::OkStatus();
  return AnnotateWithNode(
      errors::InvalidArgument("the feed of ", feed.name(), " holds NaN: ", range.ToString()),
      *feed.node);
}

}  // namespace millstream
