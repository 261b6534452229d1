#include "kernels/common/vector_copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "kernels/simd/instruction_set.h"

namespace millstream::kernels {
namespace {

// Copies `bytes` bytes to `offset` bytes after the begin of a larger array, and finds that no other
// byte of it has changed.
void ExpectCopied(int64_t bytes, int64_t offset) {
  constexpr unsigned char kOther = 0xee;
  std::vector<unsigned char> from(static_cast<size_t>(bytes));
  std::iota(from.begin(), from.end(), static_cast<unsigned char>(1));
  std::vector<unsigned char> to(static_cast<size_t>(bytes + 2 * offset + 64), kOther);
  std::vector<unsigned char> expected = to;
  std::copy(from.begin(), from.end(), expected.begin() + offset);
  VectorCopy(from.data(), bytes, to.data() + offset);
  EXPECT_EQ(to, expected) << bytes << " bytes to offset " << offset;
}

TEST(VectorCopyTest, EverySizeInEverySet) {
  const InstructionSet widest = WidestInstructionSet();
  for (const InstructionSet set : {InstructionSet::kBaseline, widest}) {
    LimitInstructionSet(set);
    for (int64_t bytes = 0; bytes <= 400; ++bytes) {
      for (const int64_t offset : {0, 1, 16, 31}) ExpectCopied(bytes, offset);
    }
    ExpectCopied(100'003, 64);
  }
  LimitInstructionSet(widest);
}

}  // namespace
}  // namespace millstream::kernels
