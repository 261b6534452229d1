// A device that cannot be created is left out: nobody else is hindered, and who asks for it is
// told.
#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/testing/session_fixture.h"
#include "framework/plugin/loader.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr char kPath[] = "device_plugins/sim/libmillstream_sim.so";

class AbsentDeviceTest : public SessionTest {
 protected:
  AbsentDeviceTest() {
    EXPECT_EQ(LoadCpuPlugin(), absl::OkStatus());
    const auto sim = PluginLoader::Global()->Load(
        absl::StrCat(std::getenv("TEST_SRCDIR"), "/", std::getenv("TEST_WORKSPACE"), "/", kPath),
        {{"devices", "3"}, {"fail_create@1", "1"}, {"garbage_sizes@2", "1"}});
    EXPECT_TRUE(sim.ok()) << sim.status();
    StartSession();
  }
  Output NegOn(const std::string& device) {
    build.set_device(device);
    const Output result = Op("Neg", {Constant(2.0f)});
    build.set_device("");
    return result;
  }
};

TEST_F(AbsentDeviceTest, TheOthersWork) {
  EXPECT_THAT(Elements<float>(Value(NegOn("/device:SIM:0"))), ElementsAre(-2));
  EXPECT_THAT(Elements<float>(Value(NegOn("/cpu:0"))), ElementsAre(-2));
  EXPECT_THAT(session->ListDevices(), SizeIs(2));
}

TEST_F(AbsentDeviceTest, WhoAsksForItLearnsWhyItIsNotThere) {
  ExpectError(Error(NegOn("/device:SIM:1")), absl::StatusCode::kInvalidArgument,
              {"plugin millstream_sim, device SIM:1", "fail_create"});
  ExpectError(Error(NegOn("/device:SIM:2")), absl::StatusCode::kInvalidArgument,
              {"plugin millstream_sim, device SIM:2", "mem_info"});
}

}  // namespace
}  // namespace millstream
