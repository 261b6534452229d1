// The time of day, as a tensor.
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/structural/host_kernel.h"

namespace millstream {
namespace {

Status Timestamp(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(const Tensor output, frame->AllocateOutput(0, Shape()));
  *output.data<double>() = absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch());
  return absl::OkStatus();
}

MILLSTREAM_HOST_KERNEL("Timestamp", HostFunction<&Timestamp>);

}  // namespace
}  // namespace millstream
