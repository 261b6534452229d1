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

// A linear map of checksums: what it makes of each bit.
using LinearMap = std::array<uint32_t, 32>;

uint32_t Apply(const LinearMap& map, uint32_t crc) {
  uint32_t sum = 0;
  for (size_t bit = 0; crc != 0; ++bit, crc >>= 1) {
    if ((crc & 1) != 0) sum ^= map[bit];
  }
  return sum;
}

// What `count` bytes of zero do to the checksum before them.
LinearMap ZerosAfter(uint64_t count) {
  constexpr unsigned char kZero = 0;
  LinearMap all = {};   // of the bytes so far
  LinearMap some = {};  // of 1, 2, 4, ... bytes
  for (size_t bit = 0; bit < all.size(); ++bit) {
    all[bit] = uint32_t{1} << bit;
    some[bit] = UpdateByTables(all[bit], &kZero, 1);
  }
  for (; count > 0; count >>= 1) {
    LinearMap twice = {};
    for (size_t bit = 0; bit < all.size(); ++bit) {
      if ((count & 1) != 0) all[bit] = Apply(some, all[bit]);
      twice[bit] = Apply(some, some[bit]);
    }
    some = twice;
  }
  return all;
}

#if defined(__x86_64__)
// The instruction gives its result after three cycles and begins another one each cycle. So the
// checksums of three blocks are computed side by side, and then put together: a checksum is linear,
// and this is what kBlock bytes of zero after it do to each of its bytes (Gopal et al.: Fast CRC
// computation for iSCSI polynomial using CRC32 instruction, 2011).
constexpr size_t kBlock = 4096;
using Shift = std::array<std::array<uint32_t, 256>, 4>;

const Shift& ShiftByBlock() {
  static const Shift* const shift = [] {
    auto* const made = new Shift;
    const LinearMap map = ZerosAfter(kBlock);
    for (size_t k = 0; k < made->size(); ++k) {
      for (uint32_t byte = 0; byte < 256; ++byte) (*made)[k][byte] = Apply(map, byte << (8 * k));
    }
    return made;
  }();
  return *shift;
}

uint32_t Shifted(const Shift& shift, uint32_t crc) {
  return shift[0][crc & 0xFF] ^ shift[1][(crc >> 8) & 0xFF] ^ shift[2][(crc >> 16) & 0xFF] ^
         shift[3][crc >> 24];
}

uint64_t WordAt(const unsigned char* data) {
  uint64_t word = 0;
  std::memcpy(&word, data, sizeof(word));
  return word;
}

__attribute__((target("sse4.2"))) uint32_t UpdateByThrees(uint32_t crc, const unsigned char* data,
                                                          size_t num_threes) {
  const Shift& shift = ShiftByBlock();
  for (; num_threes > 0; --num_threes, data += 3 * kBlock) {
    uint64_t first = crc;
    uint64_t second = 0;
    uint64_t third = 0;
    for (size_t i = 0; i < kBlock; i += 8) {
      first = _mm_crc32_u64(first, WordAt(data + i));
      second = _mm_crc32_u64(second, WordAt(data + kBlock + i));
      third = _mm_crc32_u64(third, WordAt(data + 2 * kBlock + i));
    }
    crc = Shifted(shift, static_cast<uint32_t>(first)) ^ static_cast<uint32_t>(second);
    crc = Shifted(shift, crc) ^ static_cast<uint32_t>(third);
  }
  return crc;
}

__attribute__((target("sse4.2"))) uint32_t UpdateByInstruction(uint32_t crc,
                                                               const unsigned char* data,
                                                               size_t size) {
  if (const size_t num_threes = size / (3 * kBlock)) {
    crc = UpdateByThrees(crc, data, num_threes);
    data += num_threes * 3 * kBlock;
    size -= num_threes * 3 * kBlock;
  }
  uint64_t wide = crc;
  for (; size >= 8; size -= 8, data += 8) {
    wide = _mm_crc32_u64(wide, WordAt(data));
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

uint32_t JoinedCrc32c(uint32_t first, uint32_t second, uint64_t second_size) {
  return Apply(ZerosAfter(second_size), first) ^ second;
}

}  // namespace millstream
