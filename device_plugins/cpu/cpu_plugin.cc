// The CPU backend: every kernel of //kernels, for the device type "CPU", which is the host itself.
#include "framework/plugin/host_device.hpp"
#include "framework/plugin/plugin_entry.hpp"
#include "kernels/matmul/library_limit.h"
#include "kernels/simd/instruction_set.h"

namespace millstream {
namespace {

struct CpuDevices {
  static ms::HostDeviceText Text() {
    return {"CPU", "Host CPU", "", "x86-64",
            MS_DEVICE_OPEN | MS_DEVICE_HOST_IS_DEVICE | MS_DEVICE_LINEAR_POINTERS};
  }
};

struct CpuPlugin : ms::PluginDefaults {
  static constexpr char kVendor[] = "Millstream";
  static constexpr char kVersion[] = "0.1.0";

  static const ms::OptionSchema& Options() {
    static const ms::OptionSchema schema{ms::Option("isa", MS_OPTION_STR)
                                             .Doc("The widest instruction set that kernels and "
                                                  "oneDNN use, where the processor has it.")
                                             .Default("avx512")
                                             .Choices({"baseline", "avx2", "avx512"})};
    return schema;
  }
  // Without the option, oneDNN goes by its own environment variable.
  static ms::Status Init(const ms::PluginOptions& options) {
    for (const auto& [name, value] : options) {
      const auto set = kernels::InstructionSetNamed(value);
      if (name != "isa" || !set) {
        return ms::InvalidArgument("unknown option \"", name, "=", value,
                                   "\": expected isa=baseline, isa=avx2 or isa=avx512");
      }
      kernels::LimitInstructionSet(*set);
      if (*set != kernels::InstructionSet::kAvx512) MS_TRY(kernels::LimitLibrary(*set));
    }
    return ms::Status();
  }
  static const MS_Table* GetInterface(std::string_view id) {
    return ms::HostDevices<CpuDevices>::GetInterface(id);
  }
};

}  // namespace
}  // namespace millstream

MS_PLUGIN_NOTE("millstream_cpu", "cpu", /*rank=*/0, /*cpu_bits=*/0, MS_PLUGIN_DEVICES);
MS_PLUGIN_DEFINE(millstream::CpuPlugin);
