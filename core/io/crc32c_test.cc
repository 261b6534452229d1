#include "core/io/crc32c.h"

#include <string>

#include "gtest/gtest.h"

namespace millstream {
namespace {

// RFC 3720, appendix B.4.
TEST(Crc32cTest, MatchesThePublishedExamples) {
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  std::string up;
  for (char c = 0; c < 32; ++c) up.push_back(c);
  EXPECT_EQ(Crc32c(up), 0x46dd794eu);
  EXPECT_EQ(Crc32c(std::string(up.rbegin(), up.rend())), 0x113fdb5cu);
  EXPECT_EQ(Crc32c(""), 0u);
}

TEST(Crc32cTest, APartAtATimeGivesTheSame) {
  std::string text;
  for (int i = 0; i < 100; ++i) text.push_back(static_cast<char>(i * 37));
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    const uint32_t first = Crc32c(text.substr(0, cut));
    EXPECT_EQ(Crc32c(text.substr(cut), first), Crc32c(text)) << cut;
    EXPECT_EQ(JoinedCrc32c(first, Crc32c(text.substr(cut)), text.size() - cut), Crc32c(text));
  }
}

// A byte at a time, nothing is computed side by side.
TEST(Crc32cTest, LongDataGiveTheSameAsTheirBytes) {
  std::string text(100000, '\0');
  uint32_t state = 1;
  for (char& c : text) c = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  uint32_t expected = 0;
  size_t done = 0;
  for (const size_t size : {12287, 12288, 12289, 24576, 24583, 36863, 100000}) {
    for (; done < size; ++done) expected = Crc32c(text.substr(done, 1), expected);
    EXPECT_EQ(Crc32c(text.substr(0, size)), expected) << size;
  }
}

TEST(Crc32cTest, TheMaskedFormIsThatOfRecordFiles) {
  EXPECT_EQ(MaskCrc32c(0u), 0xa282ead8u);
  EXPECT_EQ(MaskCrc32c(0x8000u), 0xa282ead9u);
}

}  // namespace
}  // namespace millstream
