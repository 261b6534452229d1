// Plugins through the C API. The loader is the process's own: the tests run in this order.
#include <fstream>
#include <string>

#include "core/c_api/c_api.h"
#include "core/c_api/testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream::c_api {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kCpuPlugin[] = "device_plugins/cpu/libmillstream_cpu.so";

std::string List() {
  millstream_bytes bytes;
  ExpectOk(millstream_plugin_list(&bytes));
  return Take(bytes);
}

class PluginsTest : public GraphFixture {
 protected:
  SessionHandle NewSession() const {
    millstream_session* session = nullptr;
    ExpectOk(millstream_session_new(graph(), "", 0, &session));
    return SessionHandle(session);
  }
};

TEST_F(PluginsTest, WhatIsNoPluginIsRefusedAndListed) {
  const std::string path = ::testing::TempDir() + "/not_a_plugin.so";
  std::ofstream(path) << "text";
  const Error error = millstream_plugin_load(path.c_str(), nullptr, nullptr, 0, nullptr);
  EXPECT_EQ(error.code, kInvalidArgument);
  EXPECT_THAT(error.message, HasSubstr("not_a_plugin.so"));
  EXPECT_THAT(List(), AllOf(HasSubstr("not_a_plugin.so\""), HasSubstr("\"state\": \"REJECTED\""),
                            HasSubstr("\"stage\": \"preflight\""), HasSubstr("\"code\": 3"),
                            Not(HasSubstr("\"rank\""))));
}

TEST_F(PluginsTest, APackagesPluginIsLoadedWhenItIsAskedFor) {
  ExpectOk(millstream_plugin_add_path(kCpuPlugin));
  millstream_plugin_add_error("entry point acme", "ImportError: no module \"acme\"");
  EXPECT_THAT(List(), AllOf(Not(HasSubstr("millstream_cpu")),
                            HasSubstr("entry point acme: ImportError: no module \\\"acme\\\"")));
  ExpectOk(millstream_plugin_load_installed());
  EXPECT_THAT(
      List(),
      AllOf(HasSubstr("\"name\": \"millstream_cpu\", \"family\": \"cpu\", \"vendor\": "
                      "\"Millstream\""),
            HasSubstr("\"origin\": \"package\""), HasSubstr("\"state\": \"READY\""),
            HasSubstr("\"code\": 0"), HasSubstr("\"cpu\": []"), HasSubstr("\"type\": \"CPU\"")));
  EXPECT_EQ(Error(millstream_plugin_add_path(kCpuPlugin)).code, kFailedPrecondition);
}

TEST_F(PluginsTest, ShutdownWaitsForTheLastSession) {
  SessionHandle session = NewSession();
  const Error busy = millstream_plugin_shutdown();
  EXPECT_EQ(busy.code, kFailedPrecondition);
  EXPECT_THAT(busy.message, AllOf(HasSubstr("libmillstream_cpu.so"), HasSubstr("open devices")));
  session.reset();
  ExpectOk(millstream_plugin_shutdown());
  millstream_session* none = nullptr;
  EXPECT_NE(Error(millstream_session_new(graph(), "", 0, &none)).code, 0);
  EXPECT_EQ(none, nullptr);
}

}  // namespace
}  // namespace millstream::c_api
