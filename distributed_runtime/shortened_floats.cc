#include "distributed_runtime/shortened_floats.h"

#include <cstdint>
#include <cstring>

namespace millstream {
namespace {

constexpr int kDropped = 16;                // bits
constexpr uint32_t kInfinity = 0x7F800000;  // larger numbers without the sign are NaN
constexpr uint32_t kWithoutSign = 0x7FFFFFFF;
constexpr uint16_t kQuiet = 0x0040;  // the first bit of a mantissa

}  // namespace

void ShortenFloats(const float* elements, size_t count, char* out) {
  for (size_t i = 0; i < count; ++i) {
    uint32_t bits;
    std::memcpy(&bits, &elements[i], sizeof(bits));
    uint16_t half = static_cast<uint16_t>(bits >> kDropped);
    // Without its lower bits, it might be an infinity.
    if ((bits & kWithoutSign) > kInfinity) half |= kQuiet;
    std::memcpy(out + i * sizeof(half), &half, sizeof(half));
  }
}

void LengthenFloats(const char* bytes, size_t count, float* out) {
  for (size_t i = 0; i < count; ++i) {
    uint16_t half;
    std::memcpy(&half, bytes + i * sizeof(half), sizeof(half));
    const uint32_t bits = uint32_t{half} << kDropped;
    std::memcpy(&out[i], &bits, sizeof(bits));
  }
}

}  // namespace millstream
