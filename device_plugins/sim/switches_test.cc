#include "device_plugins/sim/switches.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream::sim {
namespace {

using ::testing::HasSubstr;

std::string ErrorOf(const ms::PluginOptions& options) {
  Settings settings;
  const ms::Status status = Settings::Parse(options, &settings);
  EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
  EXPECT_EQ(settings.num_devices(), 1u) << "it is left as it was";
  return std::string(status.message());
}

TEST(SwitchesTest, OneDeviceWhenNothingIsSaid) {
  Settings settings;
  ASSERT_TRUE(Settings::Parse({}, &settings).ok());
  ASSERT_EQ(settings.num_devices(), 1u);
  EXPECT_EQ(settings.switches(0).memory_mb, 256u);
  EXPECT_EQ(settings.switches(0).fail_copy, 0u);
}

TEST(SwitchesTest, WhatIsSaidOfOneDeviceGoesBeforeWhatIsSaidOfAll) {
  Settings settings;
  ASSERT_TRUE(
      Settings::Parse({{"memory_mb@1", "32"}, {"memory_mb", "64"}, {"devices", "3"}}, &settings)
          .ok());
  ASSERT_EQ(settings.num_devices(), 3u);
  EXPECT_EQ(settings.switches(0).memory_mb, 64u);
  EXPECT_EQ(settings.switches(1).memory_mb, 32u);
  EXPECT_EQ(settings.switches(2).memory_mb, 64u);
}

TEST(SwitchesTest, UnknownOptionsAreAnsweredWithTheKnown) {
  const std::string error = ErrorOf({{"memroy_mb", "1"}});
  EXPECT_THAT(error, HasSubstr("unknown option \"memroy_mb\": known are devices, fail_init, "
                               "memory_mb, poison, seed, "));
  EXPECT_THAT(ErrorOf({{"speed@0", "1"}}), HasSubstr("unknown option \"speed@0\": known are "));
  EXPECT_THAT(ErrorOf({{"devices@0", "1"}}), HasSubstr("unknown option \"devices@0\""));
}

TEST(SwitchesTest, ValuesAreWholeNumbersWithinBounds) {
  EXPECT_EQ(ErrorOf({{"memory_mb", "0"}}),
            "option memory_mb must be a whole number in [1, 65536], got \"0\"");
  for (const char* value : {"", "-1", "1.5", "x", "1 ", "99999999999999999999999"}) {
    EXPECT_THAT(ErrorOf({{"delay_us", value}}),
                HasSubstr("option delay_us must be a whole number in [0, 10000000], got \""));
  }
  EXPECT_THAT(ErrorOf({{"devices", "17"}}), HasSubstr("in [0, 16]"));
  EXPECT_THAT(ErrorOf({{"seed@1", "1"}}), HasSubstr("option seed@1 must be a whole number in [0, "
                                                    "0], got \"1\""));
  EXPECT_THAT(ErrorOf({{"devices", "0"}, {"seed@0", "1"}}), HasSubstr("there are no devices"));
}

TEST(SwitchesTest, InitFailsWhenItIsTold) {
  Settings settings;
  const ms::Status status = Settings::Parse({{"fail_init", "1"}}, &settings);
  EXPECT_EQ(status.code(), MS_INTERNAL);
  EXPECT_EQ(status.message(), "init fails: option fail_init");
}

}  // namespace
}  // namespace millstream::sim
