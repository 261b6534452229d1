#include "framework/plugin/cpu_bits.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "absl/strings/str_cat.h"
#include "framework/plugin/plugin.h"

namespace millstream {
namespace {

struct BitName {
  uint64_t bit;
  const char* name;
};
constexpr BitName kBitNames[] = {
    {MS_CPU_AVX2, "AVX2"},
    {MS_CPU_FMA, "FMA"},
    {MS_CPU_AVX512F, "AVX512F"},
    {MS_CPU_AVX512BW, "AVX512BW"},
    {MS_CPU_AVX512VL, "AVX512VL"},
    {MS_CPU_AVX512DQ, "AVX512DQ"},
    {MS_CPU_AVX512VNNI, "AVX512VNNI"},
    {MS_CPU_AVX512BF16, "AVX512BF16"},
};

#if defined(__x86_64__)

// XCR0 (Intel SDM volume 1, 13.3): which register states the operating system saves.
constexpr uint64_t kXcr0Avx = 0x6;      // XMM, YMM
constexpr uint64_t kXcr0Avx512 = 0xe6;  // and opmask, upper ZMM, ZMM16..31

uint64_t ReadXcr0() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  constexpr unsigned kOsxsave = 1u << 27;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0 || (ecx & kOsxsave) == 0) return 0;
  uint32_t low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low | static_cast<uint64_t>(high) << 32;
}

uint64_t ProcessorBits() {
  __builtin_cpu_init();
  uint64_t bits = 0;
  if (__builtin_cpu_supports("avx2")) bits |= MS_CPU_AVX2;
  if (__builtin_cpu_supports("fma")) bits |= MS_CPU_FMA;
  if (__builtin_cpu_supports("avx512f")) bits |= MS_CPU_AVX512F;
  if (__builtin_cpu_supports("avx512bw")) bits |= MS_CPU_AVX512BW;
  if (__builtin_cpu_supports("avx512vl")) bits |= MS_CPU_AVX512VL;
  if (__builtin_cpu_supports("avx512dq")) bits |= MS_CPU_AVX512DQ;
  if (__builtin_cpu_supports("avx512vnni")) bits |= MS_CPU_AVX512VNNI;
  if (__builtin_cpu_supports("avx512bf16")) bits |= MS_CPU_AVX512BF16;
  return bits;
}

uint64_t FindEnabledBits() {
  const uint64_t xcr0 = ReadXcr0();
  uint64_t usable = 0;
  if ((xcr0 & kXcr0Avx) == kXcr0Avx) usable |= MS_CPU_AVX2 | MS_CPU_FMA;
  if ((xcr0 & kXcr0Avx512) == kXcr0Avx512) usable |= ~(MS_CPU_AVX2 | MS_CPU_FMA);
  return ProcessorBits() & usable;
}

#else

uint64_t FindEnabledBits() { return 0; }

#endif

}  // namespace

uint64_t EnabledCpuBits() {
  static const uint64_t bits = FindEnabledBits();
  return bits;
}

std::vector<std::string> CpuBitNames(uint64_t bits) {
  std::vector<std::string> names;
  for (int i = 0; i < 64; ++i) {
    const uint64_t bit = uint64_t{1} << i;
    if ((bits & bit) == 0) continue;
    names.push_back(absl::StrCat("bit ", i));
    for (const BitName& known : kBitNames) {
      if (known.bit == bit) names.back() = known.name;
    }
  }
  return names;
}

}  // namespace millstream
