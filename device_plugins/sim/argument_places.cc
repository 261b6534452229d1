#include "device_plugins/sim/argument_places.h"

#include <algorithm>

#include "device_plugins/sim/kernel_host.h"

namespace millstream::sim {
namespace {

using ms::Status;
using RangeGetter = MS_Status* (*)(const MS_KernelInfo*, MS_Str, uint32_t*, uint32_t*);

// False when there is no such argument.
bool Mark(const MS_KernelInfo* info, MS_Str name, RangeGetter get_range, std::vector<bool>* marks) {
  uint32_t begin = 0;
  uint32_t end = 0;
  if (!Status::FromAbi(get_range(info, name, &begin, &end)).ok()) return false;
  std::fill(marks->begin() + begin, marks->begin() + end, true);
  return true;
}

Status Check(const char* what, uint32_t index, const MS_TensorView& view, bool must_be_in_host,
             const Memory& memory) {
  if (view.dtype == MS_RESOURCE || view.dtype == MS_STRING) return Status();
  if (view.mem.bytes == 0 || view.mem.base == nullptr) return Status();
  const bool in_device = memory.Holds(view.mem);
  if (in_device != must_be_in_host) {
    const bool is_opaque = in_device && memory.is_opaque();
    if (is_opaque == ((view.flags & MS_VIEW_OPAQUE) != 0)) return Status();
    return ms::Internal(what, index, " is of opaque memory, or of other, and its view says not so");
  }
  return ms::Internal(what, index,
                      in_device ? " is a host argument, but lies in the device's memory"
                                : " is no host argument, but does not lie in the device's memory");
}

}  // namespace

ArgumentPlaces::ArgumentPlaces(const MS_KernelDef& kernel, const MS_KernelInfo* info)
    : input_in_host_(ms::host_tables.kernel->num_inputs(info)),
      output_in_host_(ms::host_tables.kernel->num_outputs(info)) {
  const MS_KernelApi& api = *ms::host_tables.kernel;
  for (uint64_t i = 0; i < kernel.n_host_args; ++i) {
    const MS_Str name = kernel.host_args[i];
    const bool is_input = Mark(info, name, api.input_range, &input_in_host_);
    const bool is_output = Mark(info, name, api.output_range, &output_in_host_);
    is_known_ = is_known_ && (is_input || is_output);
  }
}

Status ArgumentPlaces::CheckInputs(const MS_Frame& frame, const Memory& memory) const {
  for (uint32_t i = 0; is_known_ && i < frame.n_in; ++i) {
    MS_TRY(Check("input ", i, frame.inputs[i], input_in_host_[i], memory));
  }
  return Status();
}

Status ArgumentPlaces::CheckOutputs(const MS_Frame& frame, const Memory& memory) const {
  for (uint32_t i = 0; is_known_ && i < frame.n_out; ++i) {
    MS_TRY(Check("output ", i, frame.outputs[i], output_in_host_[i], memory));
  }
  return Status();
}

}  // namespace millstream::sim
