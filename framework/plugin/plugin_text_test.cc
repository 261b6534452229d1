#include "framework/plugin/plugin_text.h"

#include <string>

#include "framework/plugin/plugin_limits.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

MS_Str Text(absl::string_view text) { return {text.data(), text.size()}; }

TEST(PrintableTest, TextStaysAsItIs) {
  for (const char* text : {"", "a\tb\nc",
                           "gr\xc3\xb6\xc3\x9f"
                           "e \xe2\x82\xac \xf0\x9f\x98\x80"}) {
    EXPECT_EQ(Printable(text), text);
  }
}

TEST(PrintableTest, WhatIsNoTextIsEscaped) {
  EXPECT_EQ(Printable(absl::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(Printable("a\x1b[31m\r"), "a\\x1b[31m\\x0d");
  EXPECT_EQ(Printable("\xff\xc3(\xe2\x82"), "\\xff\\xc3(\\xe2\\x82") << "cut off, or no beginning";
  EXPECT_EQ(Printable("\xc0\xaf\xed\xa0\x80"), "\\xc0\\xaf\\xed\\xa0\\x80")
      << "longer than needed; half of a pair";
}

TEST(PrintableTest, ALongTextIsCut) {
  EXPECT_EQ(Excerpt(std::string(100, 'x')), std::string(64, 'x') + "... (100 bytes)");
  const std::string shown = Printable(std::string(kMostTextBytes + 1, 'x'));
  EXPECT_EQ(shown, std::string(kMostTextBytes, 'x') + "... (65537 bytes)");
}

TEST(CheckNameTest, WhatCannotBeANameIsRefused) {
  EXPECT_EQ(CheckName({nullptr, 0}, "the name"), absl::OkStatus());
  EXPECT_EQ(CheckName(Text(std::string(kMostNameBytes, 'x')), "the name"), absl::OkStatus());
  EXPECT_EQ(CheckName(Text(std::string(kMostNameBytes + 1, 'x')), "the name").message(),
            "the name has 257 bytes, at most 256 are allowed");
  EXPECT_EQ(CheckName({nullptr, 5}, "the name").message(),
            "the name has 5 bytes, and its data is null");
  for (const char* name : {"a\nb", "a\x7f", "\xff"}) {
    EXPECT_THAT(std::string(CheckName(Text(name), "the name").message()),
                HasSubstr("the name is no UTF-8 text without control characters: \""));
  }
  EXPECT_EQ(CheckText(Text("a\n\tb"), "the text"), absl::OkStatus());
  EXPECT_FALSE(CheckText(Text(absl::string_view("\0", 1)), "the text").ok());
}

TEST(CheckArrayTest, TheCountIsBoundedAndTheDataThere) {
  const int data = 0;
  EXPECT_EQ(CheckArray(nullptr, 0, 3, "things"), absl::OkStatus());
  EXPECT_EQ(CheckArray(&data, 3, 3, "things"), absl::OkStatus());
  EXPECT_EQ(CheckArray(&data, 4, 3, "things").message(), "things: 4 items, at most 3 are allowed");
  EXPECT_EQ(CheckArray(nullptr, 1, 3, "things").message(),
            "things: 1 items, and the array is null");
}

TEST(IsDeviceTypeTest, IsWhatCanStandInADevicesName) {
  for (const char* type : {"CPU", "gpu", "NPU_2"}) EXPECT_TRUE(IsDeviceType(type)) << type;
  for (const char* type : {"", "*", "A/B", "A:0", "2GPU", "_A", "A B"}) {
    EXPECT_FALSE(IsDeviceType(type)) << type;
  }
}

}  // namespace
}  // namespace millstream
