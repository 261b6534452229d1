#include "core/io/crc32c.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace millstream {
namespace {

constexpr size_t kTables = 8;
using Tables = std::array<std::array<uint32_t, 256>, kTables>;

// tables[k][b]: what the byte b, followed by k bytes of zero, does to a checksum of zero.
constexpr Tables MakeTables() {
  constexpr uint32_t kPolynomial = 0x82F63B78u;  // bits reversed
  Tables tables = {};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    tables[0][byte] = crc;
  }
  for (size_t k = 1; k < kTables; ++k) {
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t before = tables[k - 1][byte];
      tables[k][byte] = (before >> 8) ^ tables[0][before & 0xFF];
    }
  }
  return tables;
}

constexpr Tables kTable = MakeTables();

// Eight bytes at a time, each through a table of its own (Kounavis, Berry: A systematic approach to
// building high performance software-based CRC generators, 2005).
uint32_t UpdateByTables(uint32_t crc, const unsigned char* data, size_t size) {
  for (; size >= kTables; size -= kTables, data += kTables) {
    uint32_t next = 0;
    for (int i = 0; i < 4; ++i) {
      next ^= kTable[kTables - 1 - i][data[i] ^ ((crc >> (8 * i)) & 0xFF)];
      next ^= kTable[kTables - 5 - i][data[i + 4]];
    }
    crc = next;
  }
  for (; size > 0; --size, ++data) crc = (crc >> 8) ^ kTable[0][(crc ^ *data) & 0xFF];
  return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) uint32_t UpdateByInstruction(uint32_t crc,
                                                               const unsigned char* data,
                                                               size_t size) {
  uint64_t wide = crc;
  for (; size >= 8; size -= 8, data += 8) {
    uint64_t word = 0;
    std::memcpy(&word, data, 8);
    wide = _mm_crc32_u64(wide, word);
  }
  crc = static_cast<uint32_t>(wide);
  for (; size > 0; --size, ++data) crc = _mm_crc32_u8(crc, *data);
  return crc;
}
#endif

uint32_t Update(uint32_t crc, const unsigned char* data, size_t size) {
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
  if (has_instruction) return UpdateByInstruction(crc, data, size);
#endif
  return UpdateByTables(crc, data, size);
}

}  // namespace

uint32_t Crc32c(absl::string_view data, uint32_t before) {
  const auto* const bytes = reinterpret_cast<const unsigned char*>(data.data());
  return ~Update(~before, bytes, data.size());
}

}  // namespace millstream
