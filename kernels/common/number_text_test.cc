#include "kernels/common/number_text.h"

#include <gtest/gtest.h>

#include <clocale>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <limits>
#include <string>

namespace millstream::kernels {
namespace {

template <typename T>
T NumberIn(const char* text) {
  T number = 0;
  EXPECT_TRUE(ParseNumber(text, &number)) << text;
  return number;
}

template <typename T>
bool IsNumber(const char* text) {
  T number = 0;
  return ParseNumber(text, &number);
}

std::string Printed(double number) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.2f", number);
  return text;
}

void ExpectPointsAreRead() {
  EXPECT_EQ(NumberIn<float>("-2.5"), -2.5f);
  EXPECT_EQ(NumberIn<double>(" 3.25e2\t"), 325.0);
  EXPECT_FALSE(IsNumber<float>("2,5"));
  EXPECT_FALSE(IsNumber<double>("2,5"));
}

TEST(NumberTextTest, ReadsWholeNumbersOfTheirType) {
  EXPECT_EQ(NumberIn<int32_t>(" -25\n"), -25);
  EXPECT_EQ(NumberIn<int64_t>("9223372036854775807"), std::numeric_limits<int64_t>::max());
  for (const char* const text : {"", " ", "2147483648", "1.0", "0x10", "7x", "1 2"}) {
    EXPECT_FALSE(IsNumber<int32_t>(text)) << text;
  }
}

TEST(NumberTextTest, ReadsFloatingPointNumbers) {
  ExpectPointsAreRead();
  EXPECT_EQ(NumberIn<double>("0x10"), 16.0);
  EXPECT_EQ(NumberIn<float>("1e400"), INFINITY);
  EXPECT_EQ(NumberIn<double>("-inf"), -INFINITY);
  EXPECT_TRUE(std::isnan(NumberIn<float>("nan")));
  for (const char* const text : {"", " ", "7x", "1 2", "e5", "-"}) {
    EXPECT_FALSE(IsNumber<float>(text)) << text;
    EXPECT_FALSE(IsNumber<double>(text)) << text;
  }
}

TEST(NumberTextTest, TheLocaleOfTheProcessChangesNothing) {
  bool has_commas = false;
  for (const char* const name : {"de_DE.UTF-8", "de_DE", "fr_FR.UTF-8", "fr_FR", "pt_BR.UTF-8"}) {
    has_commas = std::setlocale(LC_ALL, name) != nullptr && Printed(1.5) == "1,50";
    if (has_commas) break;
  }
  if (!has_commas) GTEST_SKIP() << "no locale that is installed has decimal commas";
  ExpectPointsAreRead();
  {
    const PlainLocaleScope plain;
    EXPECT_EQ(Printed(1.5), "1.50");
  }
  EXPECT_EQ(Printed(1.5), "1,50");
  std::setlocale(LC_ALL, "C");
}

}  // namespace
}  // namespace millstream::kernels
