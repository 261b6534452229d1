// Sessions with simulated accelerators beside the CPU.
#ifndef MILLSTREAM_CORE_ON_DEVICE_DEVICE_SESSION_FIXTURE_H_
#define MILLSTREAM_CORE_ON_DEVICE_DEVICE_SESSION_FIXTURE_H_

#include <cstdint>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "core/testing/session_fixture.h"
#include "device_plugins/sim/control.h"
#include "framework/held_time_limits_for_tests.h"

namespace millstream {

// So many simulated devices a session has.
inline constexpr int kNumSims = 3;

// Makes the simulated devices known to the loader, and the CPU's. Ends the process when it cannot.
void LoadSims();
// Throws a switch (docs/sim.md) on the devices of that ordinal that exist, of all sessions.
void SetOnSims(int ordinal, const std::string& name, uint64_t value);
// Returns once work of one of those devices hangs.
void AwaitHangOnSims(int ordinal);
// What those devices have of recorded work and registered memory.
SIM_Uses UsesOfSims(int ordinal);

class DeviceSessionTest : public SessionTest {
 protected:
  // A session with these switches (docs/sim.md) on its simulated devices.
  explicit DeviceSessionTest(const std::map<std::string, uint64_t>& switches = {},
                             const SessionOptions& options = SessionOptions());

  // The nodes that `body` adds ask for `device`: "SIM:0".
  template <typename Body>
  auto On(const std::string& device, Body body) {
    build.set_device("/device:" + device);
    auto result = body();
    build.set_device("");
    return result;
  }
  Output OpOn(const std::string& device, absl::string_view op, const std::vector<Output>& inputs,
              GraphBuilder::Attrs attrs = {}) {
    return On(device, [&] { return Op(op, inputs, attrs); });
  }

  // A node of that name.
  Output NodeOn(const std::string& device, const std::string& name, const std::string& op,
                const std::vector<Output>& inputs);

  static void Set(int ordinal, const std::string& name, uint64_t value) {
    SetOnSims(ordinal, name, value);
  }
  // Runs a step whose time is over once work of that device hangs.
  template <typename RunStep>
  static auto RunUntilItHangs(int ordinal, RunStep run) {
    HeldTimeLimits held;
    std::thread waiter([&held, ordinal] {
      AwaitHangOnSims(ordinal);
      held.Release();
    });
    auto result = run();
    waiter.join();
    return result;
  }
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_ON_DEVICE_DEVICE_SESSION_FIXTURE_H_
