#include "core/c_api/session_options.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "core/passes/pass.h"
#include "framework/message.h"
#include "millstream/framework/protos/config.pb.h"

namespace millstream::c_api {
namespace {

bool Optimizes(const proto::GraphOptions& options) {
  return options.optimizer_options().opt_level() != proto::OptimizerOptions::L0 &&
         !options.rewrite_options().disable_meta_optimizer();
}

// A field of RewriterConfig that switches passes off: the one of this name, or all whose names
// begin so.
struct Switch {
  proto::RewriterConfig::Toggle (proto::RewriterConfig::*field)() const;
  const char* passes;
};

// As in TensorFlow, arithmetic_optimization switches the merging of equal operations, too.
constexpr Switch kSwitches[] = {
    {&proto::RewriterConfig::constant_folding, "fold_constants"},
    {&proto::RewriterConfig::arithmetic_optimization, "simplify_arithmetic"},
    {&proto::RewriterConfig::arithmetic_optimization, "merge_equal"},
    {&proto::RewriterConfig::common_subgraph_elimination, "merge_equal"},
    {&proto::RewriterConfig::remapping, "fuse_"},
    {&proto::RewriterConfig::remapping, "fold_batch_norm"},
};

// The passes and other optimizations that the program does without.
StatusOr<std::vector<std::string>> DisabledPasses(const proto::RewriterConfig& config) {
  const std::vector<std::string> names = OptimizationNames();
  std::vector<std::string> disabled;
  for (const std::string& name : config.disabled_passes()) {
    if (!absl::c_linear_search(names, name)) {
      return errors::InvalidArgument("rewrite_options.disabled_passes: unknown optimization '",
                                     name, "', expected one of ", absl::StrJoin(names, ", "));
    }
    disabled.push_back(name);
  }
  for (const Switch& one : kSwitches) {
    if ((config.*one.field)() != proto::RewriterConfig::OFF) continue;
    absl::c_copy_if(names, std::back_inserter(disabled),
                    [&](const std::string& name) { return absl::StartsWith(name, one.passes); });
  }
  return disabled;
}

StatusOr<ForbiddenOps> ForbiddenOpsOf(const proto::ConfigProto& config) {
  return ForbiddenOps::Create({config.forbidden_ops().begin(), config.forbidden_ops().end()});
}

}  // namespace

Status SetImportOptions(absl::string_view config, ImportOptions* options) {
  MS_ASSIGN_OR_RETURN(const MessagePtr message, ParseBinary("ConfigProto", config));
  const auto& fields = static_cast<const proto::ConfigProto&>(*message);
  MS_ASSIGN_OR_RETURN(options->forbidden_ops, ForbiddenOpsOf(fields));
  options->max_expansion = fields.max_import_expansion();
  return absl::OkStatus();
}

StatusOr<SessionOptions> MakeSessionOptions(absl::string_view config) {
  MS_ASSIGN_OR_RETURN(const MessagePtr message, ParseBinary("ConfigProto", config));
  const auto& fields = static_cast<const proto::ConfigProto&>(*message);
  if (fields.intra_op_parallelism_threads() < 0) {
    return errors::InvalidArgument("intra_op_parallelism_threads must be 0 or more, got ",
                                   fields.intra_op_parallelism_threads());
  }
  SessionOptions options;
  options.intra_op_threads = fields.intra_op_parallelism_threads();
  // A negative number asks for the caller's thread alone, which is what 0 means to us.
  options.inter_op_threads = std::max(fields.inter_op_parallelism_threads(), 0);
  options.device_count.insert(fields.device_count().begin(), fields.device_count().end());
  options.optimize = Optimizes(fields.graph_options());
  MS_ASSIGN_OR_RETURN(options.disabled_passes,
                      DisabledPasses(fields.graph_options().rewrite_options()));
  options.deterministic = fields.experimental().deterministic();
  options.check_numerics = fields.experimental().check_numerics();
  options.check_numerics_folder = fields.experimental().check_numerics_folder();
  options.allow_soft_placement = fields.allow_soft_placement();
  options.log_device_placement = fields.log_device_placement();
  options.placement_period = std::max(fields.placement_period(), 0);
  options.build_cost_model = std::max<int64_t>(fields.graph_options().build_cost_model(), 0);
  MS_ASSIGN_OR_RETURN(options.forbidden_ops, ForbiddenOpsOf(fields));
  options.operation_timeout_ms = std::max<int64_t>(fields.operation_timeout_in_ms(), 0);
  return options;
}

}  // namespace millstream::c_api
