// Collective operations over four devices of a process.
#ifndef MILLSTREAM_CORE_STRUCTURAL_COLLECTIVES_FIXTURE_H_
#define MILLSTREAM_CORE_STRUCTURAL_COLLECTIVES_FIXTURE_H_

#include <vector>

#include "absl/strings/str_cat.h"
#include "core/testing/session_fixture.h"
#include "gtest/gtest.h"

namespace millstream {

class CollectiveOpsTest : public SessionTest {
 protected:
  static constexpr int kDevices = 4;

  CollectiveOpsTest() {
    SessionOptions options;
    options.device_count["CPU"] = kDevices;
    StartSession(options);
  }

  // Where what is built next is placed.
  void On(int device) { build.set_device(absl::StrCat("/device:CPU:", device)); }
  // A constant on the device.
  Output Of(int device, const std::vector<float>& values) {
    On(device);
    return Constant(Values<float>(values));
  }
  std::vector<std::vector<float>> Fetch(const std::vector<Output>& fetches) {
    const StatusOr<std::vector<Tensor>> fetched = Run(fetches);
    EXPECT_TRUE(fetched.ok()) << fetched.status();
    std::vector<std::vector<float>> values;
    if (!fetched.ok()) return values;
    for (const Tensor& tensor : *fetched) values.push_back(Elements<float>(tensor));
    return values;
  }
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_STRUCTURAL_COLLECTIVES_FIXTURE_H_
