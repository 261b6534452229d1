#include "framework/plugin/option_check.h"

#include <string>
#include <vector>

#include "framework/plugin/option_schema.hpp"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

// The schema that the plugin has; set by each test.
const ms::OptionSchema* schema = nullptr;

struct Definition {
  static const ms::OptionSchema& Options() { return *schema; }
};

class OptionCheckTest : public ::testing::Test {
 protected:
  OptionCheckTest() {
    schema = &standard_;
    plugin_.get_interface = [](const MS_Plugin*, const char* id) -> const MS_Table* {
      return std::string(id) == MS_OPTIONS_API && schema != nullptr ? ms::OptionsTable<Definition>()
                                                                    : nullptr;
    };
  }
  Status Check(const PluginOptions& given) { return CheckOptions(&plugin_, given, &all_); }
  std::string ErrorOf(const std::string& name, const std::string& value) {
    const Status status = Check({{name, value}});
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << name << " = " << value;
    return std::string(status.message());
  }
  // What is wrong with a schema of one option.
  Status CheckSchema(const ms::Option& option) {
    const ms::OptionSchema one{option};
    schema = &one;
    const Status status = Check({});
    schema = &standard_;
    return status;
  }

  const ms::OptionSchema standard_{
      ms::Option("count", MS_OPTION_I64).Default("-1").Range("-5", "5"),
      ms::Option("bytes", MS_OPTION_U64).Range("1", "").PerDevice(),
      ms::Option("rate", MS_OPTION_F64).Range("", "0.5"),
      ms::Option("on", MS_OPTION_BOOL),
      ms::Option("mode", MS_OPTION_STR).Default("fast").Choices({"fast", "exact"}),
      ms::Option("text", MS_OPTION_STR),
  };
  MS_Plugin plugin_ = {};
  PluginOptions all_;
};

TEST_F(OptionCheckTest, DefaultsAreAddedToWhatIsGiven) {
  ASSERT_TRUE(Check({{"count", "5"}, {"text", "any thing"}, {"bytes@3", "7"}}).ok());
  EXPECT_EQ(all_, (PluginOptions{
                      {"count", "5"}, {"text", "any thing"}, {"bytes@3", "7"}, {"mode", "fast"}}));
}

TEST_F(OptionCheckTest, ValuesOfEveryKindAreRead) {
  for (const auto& [name, value] : PluginOptions{{"count", "-5"},
                                                 {"bytes", "18446744073709551615"},
                                                 {"rate", "-1e300"},
                                                 {"rate", "0.5"},
                                                 {"on", "true"},
                                                 {"on", "0"},
                                                 {"mode", "exact"},
                                                 {"text", ""}}) {
    EXPECT_TRUE(Check({{name, value}}).ok()) << name << " = " << value;
  }
}

TEST_F(OptionCheckTest, BadValuesAreNamedWithWhatIsExpected) {
  EXPECT_EQ(ErrorOf("count", "6"), "option count must be a whole number in [-5, 5], got \"6\"");
  for (const char* value : {"", " 1", "1.5", "x", "0x1", "-6", "99999999999999999999"}) {
    ErrorOf("count", value);
  }
  EXPECT_EQ(ErrorOf("bytes", "0"), "option bytes must be a whole number of at least 1, got \"0\"");
  ErrorOf("bytes", "-1");
  EXPECT_EQ(ErrorOf("rate", "0.6"), "option rate must be a number of at most 0.5, got \"0.6\"");
  ErrorOf("rate", "nan");
  EXPECT_EQ(ErrorOf("on", "yes"), "option on must be 0 or 1, or false or true, got \"yes\"");
  EXPECT_EQ(ErrorOf("mode", "slow"), "option mode must be one of fast, exact, got \"slow\"");
}

TEST_F(OptionCheckTest, UnknownOptionsAreNamedWithThoseThereAre) {
  EXPECT_EQ(ErrorOf("cuont", "1"),
            "unknown option \"cuont\": known are count, bytes[@ordinal], rate, on, mode, text");
  ErrorOf("count@1", "1");
  ErrorOf("bytes@", "1");
  ErrorOf("bytes@x", "1");
}

TEST_F(OptionCheckTest, APluginWithoutSchemaTakesWhatItIsGiven) {
  schema = nullptr;
  ASSERT_TRUE(Check({{"anything", "goes"}}).ok());
  EXPECT_EQ(all_.size(), 1u);
}

TEST_F(OptionCheckTest, DescriptionsThatMakeNoSenseAreRefused) {
  EXPECT_THAT(std::string(CheckSchema(ms::Option("x", MS_OPTION_I64).Default("y")).message()),
              HasSubstr("option \"x\": the default \"y\" is not a whole number"));
  EXPECT_EQ(CheckSchema(ms::Option("", MS_OPTION_STR)).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CheckSchema(ms::Option("x", 77)).code(), absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace millstream
