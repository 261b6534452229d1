// The instruction sets of this machine, as bits of a plugin's note.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_CPU_BITS_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_CPU_BITS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace millstream {

// The MS_CPU_* bits of instruction sets that the processor has and whose registers the operating
// system saves.
uint64_t EnabledCpuBits();

// {"AVX512F", "AVX512BW"}; a bit without a name is "bit 40".
std::vector<std::string> CpuBitNames(uint64_t bits);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_CPU_BITS_H_
