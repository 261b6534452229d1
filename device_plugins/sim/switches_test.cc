#include "device_plugins/sim/switches.h"

#include <fstream>
#include <map>
#include <string>
#include <vector>

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
                               "memory_mb, pooled, opaque, "));
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

std::vector<const MS_OptionDesc*> Schema() {
  const MS_OptionDesc* const* options = nullptr;
  uint64_t n = 0;
  OptionsTable()->schema(nullptr, &options, &n);
  return {options, options + n};
}

std::string TextOf(MS_Str text) { return std::string(ms::ToView(text)); }

TEST(SwitchesTest, TheSchemaAllowsWhatIsParsed) {
  EXPECT_EQ(Schema().size(), 27u);
  for (const MS_OptionDesc* option : Schema()) {
    const std::string name = TextOf(option->name);
    Settings settings;
    EXPECT_TRUE(Settings::Parse({{name, ms::ToView(option->default_value)}}, &settings).ok())
        << name;
    EXPECT_EQ(settings.num_devices(), 1u);
    const ms::Status most = Settings::Parse({{name, ms::ToView(option->maximum)}}, &settings);
    EXPECT_NE(most.code(), MS_INVALID_ARGUMENT) << name;
    const std::string beyond = TextOf(option->maximum) + "0";
    EXPECT_THAT(ErrorOf({{name, beyond}}),
                HasSubstr("[" + TextOf(option->minimum) + ", " + TextOf(option->maximum) + "]"));
    const std::string of_one = name + "@0";
    const ms::Status one = Settings::Parse({{of_one, ms::ToView(option->minimum)}}, &settings);
    EXPECT_EQ(one.ok(), (option->flags & MS_OPTION_PER_DEVICE) != 0) << name;
  }
}

// The names in the first columns of tables of docs/sim.md, with what stands behind them.
std::map<std::string, std::string> DocumentedOptions() {
  std::map<std::string, std::string> options;
  std::ifstream file("docs/sim.md");
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind("| `", 0) != 0) continue;
    const size_t end = line.find(" |");
    for (size_t at = line.find('`'); at < end; at = line.find('`', line.find('`', at + 1) + 1)) {
      options[line.substr(at + 1, line.find('`', at + 1) - at - 1)] = line.substr(end);
    }
  }
  return options;
}

TEST(SwitchesTest, TheDocumentHasEveryOptionWithItsDefault) {
  std::map<std::string, std::string> documented = DocumentedOptions();
  for (const MS_OptionDesc* option : Schema()) {
    const std::string name = TextOf(option->name);
    ASSERT_EQ(documented.count(name), 1u) << name;
    // Faults have no column of defaults.
    const bool is_fault = documented[name].rfind(" | ", 0) != 0 ||
                          documented[name].find(" | ", 3) == std::string::npos;
    const std::string default_value = TextOf(option->default_value);
    if (is_fault) {
      EXPECT_EQ(default_value, "0") << name;
    } else {
      EXPECT_EQ(documented[name].rfind(" | " + default_value + " | ", 0), 0u) << name;
    }
    documented.erase(name);
  }
  EXPECT_THAT(documented, ::testing::IsEmpty());
}

}  // namespace
}  // namespace millstream::sim
