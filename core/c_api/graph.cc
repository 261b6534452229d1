// Graphs as a whole: adding nodes, names, import, export.
#include "core/graph/graph.h"

#include <string>
#include <utility>
#include <vector>

#include "core/c_api/c_api.h"
#include "core/c_api/handles.h"
#include "core/c_api/session_options.h"
#include "core/gradients/gradients.h"
#include "core/graph/graph_builder.h"
#include "core/import/graph_def.h"
#include "framework/status.h"

using millstream::AddGradients;
using millstream::AnnotateWithSpec;
using millstream::DenseGradient;
using millstream::ExportGraphDef;
using millstream::Gradient;
using millstream::GradientOptions;
using millstream::Graph;
using millstream::GraphBuilder;
using millstream::ImportGraphDef;
using millstream::ImportOptions;
using millstream::ImportResult;
using millstream::Node;
using millstream::NodeSpec;
using millstream::Output;
using millstream::Status;
using millstream::StatusOr;
using millstream::c_api::FindNodes;
using millstream::c_api::FindOutput;
using millstream::c_api::FindOutputs;
using millstream::c_api::Give;
using millstream::c_api::GiveBytes;
using millstream::c_api::MakeOutput;
using millstream::c_api::SetImportOptions;

namespace errors = millstream::errors;

namespace {

// The given counts, and in `*n_inputs` their sum.
StatusOr<std::vector<int>> CheckCounts(const int32_t* counts, int32_t n, int32_t* n_inputs) {
  std::vector<int> result(counts, counts + n);
  *n_inputs = 0;
  for (int count : result) {
    if (count < 0) return errors::InvalidArgument("an argument cannot have ", count, " tensors");
    *n_inputs += count;
  }
  return result;
}

Status CompleteOptions(const millstream_graph* graph, const char* const* map_names,
                       const millstream_output* map_outputs, int32_t n_map,
                       ImportOptions* options) {
  for (int32_t i = 0; i < n_map; ++i) {
    MS_ASSIGN_OR_RETURN(const Output output, FindOutput(graph, map_outputs[i]));
    options->input_map.emplace_back(map_names[i], output);
  }
  return absl::OkStatus();
}

StatusOr<std::vector<Output>> AddDenseGradients(Graph* graph, const std::vector<Output>& ys,
                                                const std::vector<Output>& xs,
                                                const std::vector<Output>& dys) {
  MS_ASSIGN_OR_RETURN(const std::vector<Gradient> gradients,
                      AddGradients(graph, ys, xs, dys, GradientOptions()));
  GraphBuilder builder(graph, "gradients");
  std::vector<Output> dense;
  for (const Gradient& gradient : gradients) {
    dense.push_back(gradient.is_none() ? Output() : DenseGradient(&builder, gradient));
  }
  MS_RETURN_IF_ERROR(builder.status());
  return dense;
}

}  // namespace

millstream_graph* millstream_graph_new(void) { return new millstream_graph(); }

void millstream_graph_free(millstream_graph* graph) { delete graph; }

millstream_status* millstream_graph_add_node(millstream_graph* graph, const char* op,
                                             const char* name, const millstream_output* inputs,
                                             const int32_t* input_counts, int32_t n_arguments,
                                             const int32_t* control_inputs,
                                             int32_t n_control_inputs,
                                             const millstream_attrs* attrs, const char* device,
                                             const char* source, int32_t* out_node) {
  *out_node = -1;
  NodeSpec spec;
  spec.op = op;
  spec.name = name;
  spec.device = device;
  spec.source = source;
  auto fail = [&](const Status& status) { return Give(AnnotateWithSpec(status, spec)); };
  if (attrs != nullptr) {
    if (!attrs->status.ok()) return fail(attrs->status);
    spec.attrs = attrs->attrs;
  }
  int32_t n_inputs = 0;
  StatusOr<std::vector<int>> counts = CheckCounts(input_counts, n_arguments, &n_inputs);
  if (!counts.ok()) return fail(counts.status());
  StatusOr<std::vector<Output>> tensors = FindOutputs(graph, inputs, n_inputs);
  if (!tensors.ok()) return fail(tensors.status());
  auto controls = FindNodes(graph, control_inputs, n_control_inputs);
  if (!controls.ok()) return fail(controls.status());
  spec.input_counts = *std::move(counts);
  spec.inputs = *std::move(tensors);
  spec.control_inputs = *std::move(controls);
  StatusOr<const Node*> node = graph->graph.AddNode(std::move(spec));
  if (!node.ok()) return Give(node.status());
  *out_node = (*node)->id();
  return nullptr;
}

void millstream_graph_unique_name(millstream_graph* graph, const char* name, int32_t reserve,
                                  millstream_bytes* out) {
  *out = GiveBytes(graph->graph.UniqueName(name, reserve != 0));
}

int32_t millstream_graph_num_nodes(const millstream_graph* graph) {
  return graph->graph.num_nodes();
}

millstream_status* millstream_graph_find_node(const millstream_graph* graph, const char* name,
                                              int32_t* out_node) {
  StatusOr<const Node*> node = graph->graph.FindNode(name);
  *out_node = node.ok() ? (*node)->id() : -1;
  return Give(node.status());
}

millstream_status* millstream_graph_export(const millstream_graph* graph, int32_t with_shapes,
                                           millstream_bytes* out) {
  *out = {nullptr, 0};
  return Give(ExportGraphDef(graph->graph, with_shapes != 0), out);
}

millstream_status* millstream_graph_import(millstream_graph* graph, const void* bytes, size_t size,
                                           const void* config, size_t config_size,
                                           const char* prefix, const char* source,
                                           const char* const* map_names,
                                           const millstream_output* map_outputs, int32_t n_map,
                                           const char* const* return_names, int32_t n_return,
                                           millstream_output* out_returns) {
  ImportOptions options;
  options.prefix = prefix;
  options.source = source;
  options.add_gradients = &AddDenseGradients;
  const absl::string_view given =
      config == nullptr ? "" : absl::string_view(static_cast<const char*>(config), config_size);
  Status configured = SetImportOptions(given, &options);
  if (!configured.ok()) return Give(configured);
  Status mapped = CompleteOptions(graph, map_names, map_outputs, n_map, &options);
  if (!mapped.ok()) return Give(mapped);
  options.return_tensors.assign(return_names, return_names + n_return);
  StatusOr<ImportResult> result = ImportGraphDef(
      &graph->graph, absl::string_view(static_cast<const char*>(bytes), size), options);
  if (!result.ok()) return Give(result.status());
  for (int32_t i = 0; i < n_return; ++i) out_returns[i] = MakeOutput(result->return_tensors[i]);
  return nullptr;
}

int32_t millstream_graph_producer(const millstream_graph* graph) {
  return graph->graph.producer_version();
}

void millstream_graph_set_producer(millstream_graph* graph, int32_t version) {
  graph->graph.set_producer_version(version);
}
