#include "core/numeric_checks.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/error_details.h"
#include "core/graph_builder.h"
#include "core/graph_def.h"
#include "core/host_ctx.h"
#include "core/numeric_scan.h"
#include "core/variable.h"
#include "framework/plugin/host_status.h"
#include "framework/plugin/host_tensor.h"

namespace millstream {
namespace {

// A message of the format that files have is smaller than two gigabytes.
constexpr int64_t kMostBytesSaved = int64_t{1} << 30;
constexpr size_t kMostRangesNamed = 8;

// By name, as SessionOptions::disabled_passes takes them. fuse_relu_grad stays: it gives all
// results.
constexpr const char* kHiding[] = {"batch_updates",    "compile_elementwise",  "fold_constants",
                                   "fuse_elementwise", "fuse_product_updates", "fuse_products",
                                   "pack_weights"};

// Ops that make no number of numbers, or one within their range.
constexpr absl::string_view kHarmless[] = {"Abs",
                                           "ConcatV2",
                                           "DynamicPartition",
                                           "DynamicStitch",
                                           "ExpandDims",
                                           "Fill",
                                           "Floor",
                                           "GatherV2",
                                           "Identity",
                                           "IdentityN",
                                           "MaxPool",
                                           "Maximum",
                                           "Minimum",
                                           "Neg",
                                           "OneHot",
                                           "OnesLike",
                                           "Pack",
                                           "Pad",
                                           "RandomUniform",
                                           "Relu",
                                           "ReluGrad",
                                           "Reshape",
                                           "ResourceGather",
                                           "Select",
                                           "Sigmoid",
                                           "Sign",
                                           "Slice",
                                           "Split",
                                           "SplitV",
                                           "Squeeze",
                                           "StridedSlice",
                                           "StridedSliceGrad",
                                           "Tanh",
                                           "Tile",
                                           "Transpose",
                                           "Unique",
                                           "Unpack",
                                           "ZerosLike"};

// A window that no other overlaps gets one gradient; where they overlap, a sum.
bool AddsGradients(const Node& node) {
  const auto sizes = node.Attr<std::vector<int64_t>>("ksize");
  const auto strides = node.Attr<std::vector<int64_t>>("strides");
  if (!sizes.ok() || !strides.ok()) return true;
  for (size_t i = 0; i < sizes->size() && i < strides->size(); ++i) {
    if ((*sizes)[i] > (*strides)[i]) return true;
  }
  return false;
}

Variable* VariableOf(const MS_TensorView& view) {
  if ((view.flags & MS_VIEW_RESOURCE) == 0) return nullptr;
  return ResourceAs<Variable>(static_cast<Resource*>(view.mem.base));
}

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

Status Write(const std::string& path, absl::string_view bytes) {
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return errors::FailedPrecondition(path, ": ", std::strerror(errno));
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  const bool closed = std::fclose(file) == 0;
  if (written && closed) return absl::OkStatus();
  return errors::FailedPrecondition(path, ": ", std::strerror(errno));
}

// What the input holds, of a variable its value.
StatusOr<Tensor> ValueOf(const MS_TensorView& input) {
  Variable* const variable = VariableOf(input);
  return variable == nullptr ? CopyOfView(input) : variable->Read();
}

}  // namespace

MS_Status* NumericChecks::Compute(void* state, MS_Frame* frame) {
  const auto& [checks, kernel] = *static_cast<const CheckedKernel*>(state);
  MS_Status* const failed = kernel->registration().compute(kernel->state(), frame);
  return failed != nullptr ? failed : ToAbiStatus(checks->CheckResults(*kernel, *frame));
}

void* NumericChecks::StateFor(const KernelInstance* kernel) {
  absl::MutexLock lock(&mutex_);
  std::unique_ptr<CheckedKernel>& checked = kernels_[kernel];
  if (checked == nullptr) checked = std::make_unique<CheckedKernel>(CheckedKernel{this, kernel});
  return checked.get();
}

Status NumericChecks::CheckResults(const KernelInstance& kernel, const MS_Frame& frame) {
  for (uint32_t k = 0; k < frame.n_out; ++k) {
    if (!HoldsNonFinite(frame.outputs[k])) continue;
    return Describe(kernel, frame,
                    absl::StrCat("in output ", k, ": ", RangeOf(frame.outputs[k]).ToString()));
  }
  if (frame.n_out > 0) return absl::OkStatus();
  for (uint32_t i = 0; i < frame.n_in; ++i) {
    Variable* const variable = VariableOf(frame.inputs[i]);
    if (variable == nullptr) continue;
    const StatusOr<Tensor> value = variable->Read();
    if (!value.ok() || value->is_on_device()) continue;
    const MS_TensorView view = MakeView(*value, nullptr);
    if (!HoldsNonFinite(view)) continue;
    return Describe(
        kernel, frame,
        absl::StrCat("in the variable ", variable->name(), ": ", RangeOf(view).ToString()));
  }
  return absl::OkStatus();
}

Status NumericChecks::Describe(const KernelInstance& kernel, const MS_Frame& frame,
                               const std::string& what) {
  const absl::Span<const MS_TensorView> inputs(frame.inputs, frame.n_in);
  if (absl::c_any_of(inputs, HoldsNonFinite)) return absl::OkStatus();
  const Node& node = kernel.node();
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

// A GraphDef of constants and, where it takes no variable, the node.
StatusOr<std::string> NumericChecks::Save(const Node& node,
                                          absl::Span<const MS_TensorView> inputs) {
  Graph graph;
  GraphBuilder build(&graph, "inputs");
  NodeSpec spec;
  bool can_run = true;
  int64_t bytes = 0;
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    MS_ASSIGN_OR_RETURN(const Tensor value, ValueOf(inputs[i]));
    can_run &= VariableOf(inputs[i]) == nullptr;
    bytes += static_cast<int64_t>(value.bytes());
    if (bytes > kMostBytesSaved) return errors::ResourceExhausted("the inputs are too large");
    AttrMap attrs;
    SetAttr(&attrs, "value", value);
    SetAttr(&attrs, "dtype", value.dtype());
    const Node* const constant = build.Named(ArgumentOf(node, i), "Const", {}, std::move(attrs));
    if (constant == nullptr) return build.status();
    spec.inputs.push_back(constant->output(0));
  }
  if (can_run) {
    spec.name = graph.UniqueName(node.name());
    spec.op = node.op().name;
    spec.attrs = node.attrs();
    spec.source = node.source();
    spec.allow_unknown_attrs = true;
    MS_RETURN_IF_ERROR(graph.AddNode(std::move(spec)).status());
  }
  MS_ASSIGN_OR_RETURN(const std::string data, ExportGraphDef(graph));
  const std::string path = absl::StrCat(folder_, "/", FileNameOf(node.name()), "-", getpid(), "-",
                                        num_saved_.fetch_add(1), ".pb");
  MS_RETURN_IF_ERROR(Write(path, data));
  return path;
}

bool NumericChecks::Concern(const Node& node) {
  const std::string& op = node.op().name;
  if (op == "MaxPoolGrad") return AddsGradients(node);
  return !absl::c_linear_search(kHarmless, op);
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
