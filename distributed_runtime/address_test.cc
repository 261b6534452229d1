#include "distributed_runtime/address.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

TEST(AddressTest, PortsOf16BitsAndAddressesWithoutANumberAreTaken) {
  for (const char* address : {"localhost:0", "localhost:65535", "127.0.0.1:2222", "[::1]:2222",
                              ":2222", "host", "host:", "host:http", "host:12ab",
                              "unix:/a/path:99999", "dns:///host:2222", "cluster1:1"}) {
    EXPECT_EQ(CheckAddress(address), absl::OkStatus()) << address;
  }
}

TEST(AddressTest, OtherPortsAreRefusedByTheirAddress) {
  for (const char* address : {"localhost:65536", "localhost:99999", "[::1]:70000", "host:-1",
                              "host:+80", "host:99999999999999999999", "dns:///host:65536"}) {
    const Status status = CheckAddress(address);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << address;
    EXPECT_THAT(std::string(status.message()), HasSubstr(address));
    EXPECT_THAT(std::string(status.message()), HasSubstr("expected 0 to 65535"));
  }
}

}  // namespace
}  // namespace millstream
