#include "kernels/common/streamed_output.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "kernels/simd/instruction_set.h"

namespace millstream::kernels {
namespace {

constexpr int64_t kMega = int64_t{1} << 20;

TEST(IsStreamedTest, OnlyWhatNoCacheHolds) {
  EXPECT_FALSE(IsStreamed(0, 4096));
  EXPECT_FALSE(IsStreamed(kMega / 8, kMega / 8));
#if defined(__SSE2__)
  EXPECT_TRUE(IsStreamed(16 * kMega, 16 * kMega));
#endif
}

TEST(IsStreamedTest, NotTheSmallResultOfMuch) { EXPECT_FALSE(IsStreamed(1024 * kMega, 4)); }

// Copies `bytes` bytes to an address that is `offset` from the begin of a line, and finds that no
// other byte has changed.
void ExpectCopied(int64_t bytes, int64_t offset) {
  std::vector<unsigned char> from(static_cast<size_t>(bytes));
  std::iota(from.begin(), from.end(), static_cast<unsigned char>(1));
  alignas(64) unsigned char to[1024];
  ASSERT_LE(offset + bytes, static_cast<int64_t>(sizeof(to)));
  std::fill(std::begin(to), std::end(to), static_cast<unsigned char>(0xee));
  StreamCopy(from.data(), bytes, to + offset);
  EndStreaming();
  for (int64_t i = 0; i < static_cast<int64_t>(sizeof(to)); ++i) {
    const bool is_within = i >= offset && i < offset + bytes;
    ASSERT_EQ(to[i], is_within ? from[static_cast<size_t>(i - offset)] : 0xee)
        << bytes << " bytes to offset " << offset << ", byte " << i;
  }
}

TEST(StreamCopyTest, EverySizeAtEveryOffsetInEverySet) {
  const InstructionSet widest = WidestInstructionSet();
  for (const InstructionSet set : {InstructionSet::kBaseline, widest}) {
    LimitInstructionSet(set);
    for (int64_t bytes = 0; bytes <= 200; ++bytes) {
      for (int64_t offset = 0; offset < 64; ++offset) ExpectCopied(bytes, offset);
    }
    ExpectCopied(961, 63);
  }
  LimitInstructionSet(widest);
}

}  // namespace
}  // namespace millstream::kernels
