// Two plugins and the host define the same symbols, and each has its own.
#include "framework/plugin/testing/twin_symbols.h"

#include "framework/plugin/host_interfaces.h"
#include "framework/plugin/testing/loader_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

// The host's own; it exports them.
TWIN_VISIBLE int twin_global = 100;
extern "C" TWIN_VISIBLE int twin_number() { return 9; }

namespace millstream {
namespace {

using ::testing::HasSubstr;

struct Registered {
  Registered() { twin_library::Registry::Global().Add("message", 9); }
} registered;

std::string TwinPath(const char* name) {
  return std::string("framework/plugin/testing/libtwin_") + name + ".so";
}

TEST_F(LoaderTest, TwinsAndTheirHostShareNothing) {
  twin_library::inline_variable = 200;
  twin_library::StaticOf<int>() = 300;
  for (const char* name : {"first", "second"}) {
    const Status status = loader_->Load(TwinPath(name)).status();
    ASSERT_TRUE(status.ok()) << status;
  }
  SetHostLogLevel(MS_LOG_INFO);
  testing::internal::CaptureStderr();
  EXPECT_TRUE(loader_->Shutdown().ok());
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("twin_first: 11111 of 1\n"));
  EXPECT_THAT(log, HasSubstr("twin_second: 22222 of 1\n"));

  EXPECT_EQ(twin_global, 100);
  EXPECT_EQ(twin_library::inline_variable, 200);
  EXPECT_EQ(twin_library::StaticOf<int>(), 300);
  EXPECT_EQ(twin_library::Registry::Global().OwnerOf("message"), 9);
  EXPECT_EQ(twin_library::Registry::Global().size(), 1u);
  EXPECT_EQ(twin_number(), 9);
}

}  // namespace
}  // namespace millstream
