// Which of a node's arguments must be in host memory, and which in the device's.
#ifndef MILLSTREAM_DEVICE_PLUGINS_SIM_ARGUMENT_PLACES_H_
#define MILLSTREAM_DEVICE_PLUGINS_SIM_ARGUMENT_PLACES_H_

#include <vector>

#include "device_plugins/sim/memory.h"
#include "framework/plugin/plugin.hpp"

namespace millstream::sim {

// Simulated devices could read all of the host's memory, and are particular about it on purpose:
// others cannot.
class ArgumentPlaces {
 public:
  // REQUIRES: the kernel of `info` is being created.
  ArgumentPlaces(const MS_KernelDef& kernel, const MS_KernelInfo* info);

  // INTERNAL when an input, or memory that an output has, is not where it must be. Handles of
  // variables and strings are the host's.
  ms::Status CheckInputs(const MS_Frame& frame, const Memory& memory) const;
  ms::Status CheckOutputs(const MS_Frame& frame, const Memory& memory) const;

 private:
  bool is_known_ = true;  // false for a host that does not say where arguments stand
  std::vector<bool> input_in_host_;
  std::vector<bool> output_in_host_;
};

}  // namespace millstream::sim

#endif  // MILLSTREAM_DEVICE_PLUGINS_SIM_ARGUMENT_PLACES_H_
