// Simulated devices leave nothing behind.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "device_plugins/sim/sim_fixture.h"
#include "framework/testing/hang_guard.h"

namespace millstream {
namespace {

constexpr int kWarmUp = 20;
constexpr int kRounds = 100;
// What the C library keeps for later threads varies a little; a device has one mapping or more.
constexpr int64_t kMappingsThatVary = 30;

int64_t CountThreads() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

// Sanitizers have a thread of their own as soon as there is any.
int64_t NumThreads() {
  std::thread([] {}).join();
  return CountThreads();
}

int64_t NumMappings() {
  std::ifstream maps("/proc/self/maps");
  int64_t lines = 0;
  for (std::string line; std::getline(maps, line);) ++lines;
  return lines;
}

// Waits for threads to leave the table of the system, which they do a moment after they are joined.
void ExpectNoMoreThreadsThan(int64_t count) {
  EXPECT_TRUE(Eventually([count] { return CountThreads() <= count; }));
}

void UseDevice(const std::map<std::string, uint64_t>& switches) {
  SimDevice device(switches);
  const MS_MemRef block = device.Allocate(1 << 16);
  device.Allocate(1 << 16, MS_SPACE_HOST_PINNED);
  for (size_t n = 0; n < 4; ++n) {
    EXPECT_TRUE(device.Fill(block, 1, n).ok());
    ExpectOk(device->event_record(device.event(n), device.stream(n)));
    ExpectOk(device->stream_wait_event(device.stream((n + 1) % 4), device.event(n)));
  }
}

void ExpectNothingIsLeft(const std::map<std::string, uint64_t>& switches) {
  const int64_t threads = NumThreads();
  for (int i = 0; i < kWarmUp; ++i) UseDevice(switches);
  const int64_t mappings = NumMappings();
  for (int i = 0; i < kRounds; ++i) UseDevice(switches);
  ExpectNoMoreThreadsThan(threads);
  EXPECT_LT(NumMappings(), mappings + kMappingsThatVary);
}

TEST(SimLeakTest, DevicesThatWorkLeaveNothing) { ExpectNothingIsLeft({{"memory_mb", 1}}); }

TEST(SimLeakTest, DevicesThatHangLeaveNothing) {
  ExpectNothingIsLeft({{"memory_mb", 1}, {"hang_work", 4}});
}

TEST(SimLeakTest, DevicesThatCannotBeCreatedLeaveNothing) {
  const int64_t threads = NumThreads();
  const int64_t mappings = NumMappings();
  for (int i = 0; i < kRounds; ++i) {
    EXPECT_FALSE(SimDevice::CreationError(SimOptions({{"fail_create", 1}})).ok());
  }
  ExpectNoMoreThreadsThan(threads);
  EXPECT_LT(NumMappings(), mappings + kMappingsThatVary);
}

}  // namespace
}  // namespace millstream
