// The CPU backend: every kernel of //kernels, for the device type "CPU", which is the host itself.
#include "framework/plugin/host_device.hpp"
#include "framework/plugin/plugin_entry.hpp"

namespace millstream {
namespace {

struct CpuDevices {
  static ms::HostDeviceText Text() {
    return {
        "CPU", "Host CPU", "", "x86-64",
        MS_DEVICE_OPEN | MS_DEVICE_UNIFIED | MS_DEVICE_HOST_IS_DEVICE | MS_DEVICE_LINEAR_POINTERS};
  }
};

struct CpuPlugin : ms::PluginDefaults {
  static constexpr char kVendor[] = "Millstream";
  static constexpr char kVersion[] = "0.1.0";
  static const MS_Table* GetInterface(std::string_view id) {
    return ms::HostDevices<CpuDevices>::GetInterface(id);
  }
};

}  // namespace
}  // namespace millstream

// The family "cpu" has one file for every CPU variant, all made of the same sources
// (ms_cpu_plugins): the widest that the machine can run has the highest rank.
#if defined(__AVX512F__)
MS_PLUGIN_NOTE("millstream_cpu_avx512", "cpu", /*rank=*/512,
               MS_CPU_AVX2 | MS_CPU_FMA | MS_CPU_AVX512F | MS_CPU_AVX512BW | MS_CPU_AVX512VL |
                   MS_CPU_AVX512DQ,
               MS_PLUGIN_DEVICES);
#else
MS_PLUGIN_NOTE("millstream_cpu", "cpu", /*rank=*/0, /*cpu_bits=*/0, MS_PLUGIN_DEVICES);
#endif
MS_PLUGIN_DEFINE(millstream::CpuPlugin);
