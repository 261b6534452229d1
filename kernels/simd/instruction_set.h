// Loops that are compiled for several instruction sets inside one plugin. A loop is an ordinary
// function, and says by its address that it is one:
//
//   void AddRows(const float* x, float* y, int64_t n);
//   ...
//   RunLoop<&AddRows>(x, y, n);
//
// RunLoop has a copy of the function, and of all that it calls, for each set, and calls the copy
// for the set that was chosen when the plugin was loaded. Nothing else is compiled for more than
// the processors that all have in common: code of a wider set is in functions named InAvx2 and
// InAvx512 and, because all that they call is inlined into them, nowhere else. So the linker never
// has to choose between copies of one function for different sets.
// device_plugins/cpu:wide_code_test reads the plugin's machine code for that.
//
// Compilers may not contract to fused multiply-add (ms_kernel_library), so that a loop that does
// the same operations in the same order gives the same bits in every set. Only the products of
// matrices are compiled for it. AVX2 leaves it out elsewhere, because GCC 12 makes fused operations
// of sums and differences in turn, as complex products have them, whatever it is told. AVX-512
// cannot leave it out: complex numbers have loops for it by hand (kernels/linalg).
#ifndef MILLSTREAM_KERNELS_SIMD_INSTRUCTION_SET_H_
#define MILLSTREAM_KERNELS_SIMD_INSTRUCTION_SET_H_

#include <complex>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

namespace millstream::kernels {

// From the narrowest to the widest; each has all of those before it.
enum class InstructionSet : uint8_t {
  kBaseline,  // what the whole plugin is compiled for: x86-64 with SSE2, or another architecture
  kAvx2,      // AVX2, FMA
  kAvx512,    // the same, and AVX-512 F, BW, VL, DQ
};

// "baseline", "avx2", "avx512", or nothing.
std::optional<InstructionSet> InstructionSetNamed(std::string_view name);

// The widest that this processor and its system have.
InstructionSet WidestInstructionSet();

// Loops, and machine code that is made while the program runs, keep to `most` from now on. Not
// while a loop runs.
void LimitInstructionSet(InstructionSet most);

namespace internal {
extern InstructionSet chosen_instruction_set;
}  // namespace internal

// What loops run in: the widest there is, within the limit.
inline InstructionSet ChosenInstructionSet() { return internal::chosen_instruction_set; }

// The widest set that elementwise loops on a type are compiled for. A copy takes room in the
// plugin, integers gain little beyond AVX2, and arithmetic on small ones is rare.
template <typename T>
inline constexpr InstructionSet kWidestLoops = std::is_floating_point_v<T> ? InstructionSet::kAvx512
                                               : std::is_integral_v<T> && sizeof(T) >= 4
                                                   ? InstructionSet::kAvx2
                                                   : InstructionSet::kBaseline;
template <>
inline constexpr InstructionSet kWidestLoops<std::complex<float>> = InstructionSet::kAvx2;

// The same for ops that are rare on anything but floating-point numbers, as pooling is.
template <typename T>
inline constexpr InstructionSet kWidestOnFloats =
    std::is_floating_point_v<T> ? kWidestLoops<T> : InstructionSet::kBaseline;

// ---- Templates
// -----------------------------------------------------------------------------------

#if defined(__x86_64__)
#if defined(MS_FUSED_MULTIPLY_ADD)
#define MS_IN_AVX2 __attribute__((target("avx2,fma"), flatten, noinline))
#else
#define MS_IN_AVX2 __attribute__((target("avx2"), flatten, noinline))
#endif
#define MS_IN_AVX512 \
  __attribute__((target("avx2,fma,avx512f,avx512bw,avx512vl,avx512dq"), flatten, noinline))
#endif

// One loop for all sets, or one for each where they differ by the width of their vectors.
template <auto kBaseline, auto kAvx2, auto kAvx512>
struct LoopInSets;

template <typename R, typename... Args, R (*kBaseline)(Args...), R (*kAvx2)(Args...),
          R (*kAvx512)(Args...)>
struct LoopInSets<kBaseline, kAvx2, kAvx512> {
  __attribute__((noinline)) static R InBaseline(Args... args) { return kBaseline(args...); }
#if defined(__x86_64__)
  MS_IN_AVX2 static R InAvx2(Args... args) { return kAvx2(args...); }
  MS_IN_AVX512 static R InAvx512(Args... args) { return kAvx512(args...); }
#endif

  // In the widest set up to `kMost`. There are no copies for wider ones.
  template <InstructionSet kMost>
  static R RunUpTo(Args... args) {
#if defined(__x86_64__)
    const InstructionSet chosen = ChosenInstructionSet();
    if constexpr (kMost >= InstructionSet::kAvx512) {
      if (chosen >= InstructionSet::kAvx512) return InAvx512(args...);
    }
    if constexpr (kMost >= InstructionSet::kAvx2) {
      if (chosen >= InstructionSet::kAvx2) return InAvx2(args...);
    }
#endif
    return InBaseline(args...);
  }
};

#undef MS_IN_AVX2
#undef MS_IN_AVX512

template <InstructionSet kMost, auto kLoop, typename... Args>
inline auto RunLoopUpTo(Args&&... args) {
  return LoopInSets<kLoop, kLoop, kLoop>::template RunUpTo<kMost>(args...);
}
template <auto kLoop, typename... Args>
inline auto RunLoop(Args&&... args) {
  return RunLoopUpTo<InstructionSet::kAvx512, kLoop>(args...);
}

// The same of a class template Loop<kVectorBytes> with a static function Run.
template <InstructionSet kMost, template <int> class Loop, typename... Args>
inline auto RunVectorLoopUpTo(Args&&... args) {
  using Loops = LoopInSets<&Loop<16>::Run, &Loop<32>::Run, &Loop<64>::Run>;
  return Loops::template RunUpTo<kMost>(args...);
}
template <template <int> class Loop, typename... Args>
inline auto RunVectorLoop(Args&&... args) {
  return RunVectorLoopUpTo<InstructionSet::kAvx512, Loop>(args...);
}

// The same up to the widest set for loops on T.
template <typename T, auto kLoop, typename... Args>
inline auto RunLoopOn(Args&&... args) {
  return RunLoopUpTo<kWidestLoops<T>, kLoop>(args...);
}
template <typename T, template <int> class Loop, typename... Args>
inline auto RunVectorLoopOn(Args&&... args) {
  return RunVectorLoopUpTo<kWidestLoops<T>, Loop>(args...);
}

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_SIMD_INSTRUCTION_SET_H_
