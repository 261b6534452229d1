#include "framework/plugin/plugin_options.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(PluginOptionsTest, APluginsNameHoldsUntilTheNext) {
  const StatusOr<NamedPluginOptions> options =
      ParsePluginOptions("sim:devices=2; memory_mb=64;acme:path=/a:b=c;;sim:seed=1;");
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_THAT(*options,
              ElementsAre(Pair("acme", ElementsAre(Pair("path", "/a:b=c"))),
                          Pair("sim", ElementsAre(Pair("devices", "2"), Pair("memory_mb", "64"),
                                                  Pair("seed", "1")))));
}

TEST(PluginOptionsTest, NothingSetsNothing) {
  const StatusOr<NamedPluginOptions> options = ParsePluginOptions(" ");
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_THAT(*options, IsEmpty());
}

TEST(PluginOptionsTest, ALaterValueCounts) {
  const StatusOr<NamedPluginOptions> options = ParsePluginOptions("sim:seed=1;devices=2;seed=3");
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_THAT(options->at("sim"), ElementsAre(Pair("seed", "3"), Pair("devices", "2")));
}

TEST(PluginOptionsTest, WhatIsNoOptionIsNamed) {
  for (const char* text : {"devices=2", "sim:devices", "sim:=2", ":devices=2", "sim:a=1;b"}) {
    const Status status = ParsePluginOptions(text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr("is no option: one is written plugin:"));
  }
  EXPECT_THAT(std::string(ParsePluginOptions("sim:a=1;b").status().message()),
              HasSubstr("\"b\" is no option"));
}

}  // namespace
}  // namespace millstream
