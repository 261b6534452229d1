// Collective operations. A member that must wait does so in the Collectives of its resources.
#include <functional>
#include <string>
#include <utility>

#include "core/resources/collectives.h"
#include "core/structural/collective_kernel.h"
#include "core/structural/host_kernel.h"
#include "core/structural/structural.h"

namespace millstream {
namespace {

using Kind = CollectiveSpec::Kind;

// A member of an operation of one kind, which gives a tensor unless it gets a broadcast.
template <Kind kind, bool gives>
class Member final : public CollectiveKernel {
 public:
  Status ReadAttrs(const HostKernelInfo& info) override {
    spec_.kind = kind;
    MS_ASSIGN_OR_RETURN(spec_.dtype, info.Attr<DataType>("T"));
    MS_ASSIGN_OR_RETURN(spec_.group_size, info.Attr<int64_t>("group_size"));
    MS_ASSIGN_OR_RETURN(spec_.group_key, info.Attr<int64_t>("group_key"));
    MS_ASSIGN_OR_RETURN(spec_.instance_key, info.Attr<int64_t>("instance_key"));
    if (spec_.group_size < 1) {
      return errors::InvalidArgument("attribute 'group_size' must be positive, got ",
                                     spec_.group_size);
    }
    if (kind == Kind::kBroadcast) {
      MS_ASSIGN_OR_RETURN(shape_, info.Attr<PartialShape>("shape"));
    }
    if (kind != Kind::kReduce) return absl::OkStatus();
    return ReadMergeAttrs(info, &spec_);
  }
  std::string WaitsFor(const StructuralFrame& frame) const override {
    const auto collectives = CollectivesOf(frame);
    return collectives.ok() ? (*collectives)->Missing(spec_, device()) : "";
  }

 private:
  Status Begin(const StructuralFrame& frame, HostExecution execution) const override {
    MS_ASSIGN_OR_RETURN(const ResourceRef<Collectives> collectives, CollectivesOf(frame));
    CollectiveMember member;
    member.ticket = execution.id();
    member.device = device();
    member.gives = gives;
    if (gives) {
      MS_RETURN_IF_ERROR(CheckInput(frame.input_shape(0)));
      MS_ASSIGN_OR_RETURN(member.tensor, Given(frame));
    }
    member.done = [this, frame, execution](const Status& status, const Tensor& result) {
      execution.End(status.ok() ? Give(frame, result) : status);
    };
    Join(frame, collectives.get(), spec_, std::move(member));
    return absl::OkStatus();
  }

  Status CheckInput(const Shape& shape) const {
    if (kind == Kind::kGather && shape.rank() < 1) {
      return errors::InvalidArgument("argument 'input' must have a dimension to be joined in");
    }
    return CheckBroadcast(shape, "argument 'input' has");
  }
  Status CheckBroadcast(const Shape& shape, const char* what) const {
    if (kind != Kind::kBroadcast || shape_.IsCompatibleWith(shape)) return absl::OkStatus();
    return errors::InvalidArgument(what, " shape ", shape.ToString(), ", attribute 'shape' says ",
                                   shape_.ToString());
  }
  Status Give(StructuralFrame frame, const Tensor& result) const {
    MS_RETURN_IF_ERROR(CheckBroadcast(result.shape(), "the broadcast tensor has"));
    return frame.SetOutput(0, result);
  }

  CollectiveSpec spec_;
  PartialShape shape_;  // of a broadcast
};

using ReduceKernel = Member<Kind::kReduce, true>;
using GatherKernel = Member<Kind::kGather, true>;
using SendKernel = Member<Kind::kBroadcast, true>;
using ReceiveKernel = Member<Kind::kBroadcast, false>;

MILLSTREAM_HOST_KERNEL("CollectiveReduce", ReduceKernel);
MILLSTREAM_HOST_KERNEL("CollectiveGather", GatherKernel);
MILLSTREAM_HOST_KERNEL("CollectiveBcastSend", SendKernel);
MILLSTREAM_HOST_KERNEL("CollectiveBcastRecv", ReceiveKernel);

}  // namespace
}  // namespace millstream
