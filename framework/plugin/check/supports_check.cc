#include "framework/plugin/check/supports_check.h"

#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "framework/plugin/check/check_host.h"
#include "framework/plugin/check/op_specs.h"
#include "framework/plugin/kernel_info.h"

namespace millstream::plugin_check {
namespace {

enum class Known { kNothing, kRanks, kShapes };
constexpr Known kStages[] = {Known::kNothing, Known::kRanks, Known::kShapes};

const char* TextOf(Known known) {
  switch (known) {
    case Known::kNothing: return "shapes unknown";
    case Known::kRanks: return "sizes unknown";
    case Known::kShapes: return "shapes known";
  }
  return "";
}

PartialShape ShapeOf(const CaseInput& input, Known known) {
  if (input.is_variable) return PartialShape::Scalar();
  if (known == Known::kNothing) return PartialShape();
  const Shape& shape = input.value.shape();
  return known == Known::kRanks ? PartialShape::UnknownOfRank(shape.rank()) : PartialShape(shape);
}

// What `supports` says. The shapes of outputs are unknown, as those of ops without shape function.
Status Ask(const Trial& trial, const OpCall& call, Known known) {
  const KernelRegistration& kernel = *trial.kernel;
  const KernelCase& kernel_case = trial.kernel_case;
  const MS_KernelInfo info(call, "", kernel.plugin);
  std::vector<PartialShape> shapes;
  for (const CaseInput& input : kernel_case.inputs) shapes.push_back(ShapeOf(input, known));
  std::vector<MS_Dims> inputs;
  for (const PartialShape& shape : shapes) inputs.push_back(DimsToAbi(shape));
  const std::vector<MS_Dims> outputs(static_cast<size_t>(call.num_outputs()),
                                     MS_Dims{nullptr, MS_UNKNOWN_RANK, 0});
  MS_SupportsQuery query = {};
  query.head.size = sizeof(query);
  query.info = &info;
  query.inputs = inputs.data();
  query.outputs = outputs.data();
  query.n_in = static_cast<uint32_t>(inputs.size());
  query.n_out = static_cast<uint32_t>(outputs.size());
  return Take(kernel.supports(kernel.user, &query));
}

}  // namespace

bool TakesNode(const Trial& trial, Reporter* report) {
  if (trial.kernel->supports == nullptr) return true;
  const OpDef* const op = KnownOps().FindOrNull(trial.kernel->op);
  const auto signature = ExpandSignature(*op, trial.kernel_case.attrs);
  if (!signature.ok()) return false;
  const OpCall call = {op, &trial.kernel_case.attrs, &*signature, "checked"};
  bool takes = false;
  for (const Known known : kStages) {
    if (report != nullptr) {
      report->Begin("KERNEL-SUPPORTS", absl::StrCat(trial.text, ", ", TextOf(known)));
    }
    const Status first = Ask(trial, call, known);
    const Status second = Ask(trial, call, known);
    takes = takes || first.ok();
    if (report == nullptr) continue;
    report->Expect(first.code() == second.code(), "supports says ", first.ToString(),
                   ", and asked again ", second.ToString());
    report->Expect(first.ok() || !first.message().empty(),
                   "supports refuses the node and gives no reason");
  }
  return takes;
}

}  // namespace millstream::plugin_check
