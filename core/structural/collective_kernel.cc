#include "core/structural/collective_kernel.h"

#include <functional>
#include <utility>

namespace millstream {
namespace {

StatusOr<MergeOp> MergeOpOf(const std::string& name) {
  if (name == "Add") return MergeOp::kAdd;
  if (name == "Mul") return MergeOp::kMul;
  if (name == "Max") return MergeOp::kMax;
  if (name == "Min") return MergeOp::kMin;
  return errors::InvalidArgument("attribute 'merge_op' must be Add, Mul, Max or Min, got '", name,
                                 "'");
}

}  // namespace

StatusOr<ResourceRef<Collectives>> CollectivesOf(const StructuralFrame& frame) {
  return Collectives::Of(frame.step_container()->manager());
}

Status ReadMergeAttrs(const HostKernelInfo& info, CollectiveSpec* spec) {
  MS_ASSIGN_OR_RETURN(const std::string merge, info.Attr<std::string>("merge_op"));
  MS_ASSIGN_OR_RETURN(spec->merge, MergeOpOf(merge));
  MS_ASSIGN_OR_RETURN(const std::string final, info.Attr<std::string>("final_op"));
  spec->divides = final == "Div";
  return absl::OkStatus();
}

StatusOr<Tensor> CollectiveKernel::Given(const StructuralFrame& frame) {
  MS_ASSIGN_OR_RETURN(Tensor given, frame.InputTensor(0));
  if (given.space() != MemorySpace::kHost) return given.DeepCopy();
  return given;
}

void CollectiveKernel::Join(const StructuralFrame& frame, Collectives* collectives,
                            const CollectiveSpec& spec, CollectiveMember member) {
  collectives->Join(
      spec, std::move(member),
      [&frame](uint64_t total, uint64_t cost_ns, const std::function<void(uint64_t)>& work) {
        frame.ParallelFor(total, cost_ns, work);
      });
}

}  // namespace millstream
