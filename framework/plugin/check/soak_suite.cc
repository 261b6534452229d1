// Objects that are created and destroyed many times leak nothing.
#include <dirent.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <string>
#include <thread>

#include "framework/plugin/check/check_host.h"
#include "framework/plugin/check/device_bytes.h"
#include "framework/plugin/check/device_rules.h"

namespace millstream::plugin_check {
namespace {

constexpr const char* kRules[] = {"SOAK-DEVICES", "SOAK-STREAMS"};
constexpr int kRoundsAtATime = 50;
constexpr int kWarmUp = 20;
constexpr int64_t kMostGrowth = 32 << 20;
constexpr std::chrono::seconds kMostTimeToEnd(5);

int EntriesOf(const char* folder) {
  DIR* const handle = opendir(folder);
  if (handle == nullptr) return 0;
  int count = 0;
  while (readdir(handle) != nullptr) ++count;
  closedir(handle);
  return count;
}

// What the process holds.
struct Holdings {
  int threads;
  int descriptors;
  int mappings;
  int64_t resident;
  static Holdings Now() {
    Holdings now = {EntriesOf("/proc/self/task"), EntriesOf("/proc/self/fd"), 0, 0};
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) ++now.mappings;
    std::ifstream statm("/proc/self/statm");
    int64_t total = 0;
    statm >> total >> now.resident;
    now.resident *= sysconf(_SC_PAGESIZE);
    return now;
  }
};

// A thread that was joined stays in /proc for a moment, on a busy machine for longer: the kernel
// wakes who joins before it takes the thread off the list.
Holdings AfterThreadsEnded(const Holdings& before) {
  const auto last_look = std::chrono::steady_clock::now() + kMostTimeToEnd;
  Holdings now = Holdings::Now();
  while (now.threads > before.threads && std::chrono::steady_clock::now() < last_look) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    now = Holdings::Now();
  }
  return now;
}

void ExpectNothingLeft(const Holdings& before, int rounds, Reporter* report) {
  const Holdings after = AfterThreadsEnded(before);
  report->Expect(after.threads <= before.threads, "after ", rounds, " rounds there are ",
                 after.threads - before.threads, " threads more");
  report->Expect(after.descriptors <= before.descriptors, "after ", rounds, " rounds there are ",
                 after.descriptors - before.descriptors, " open files more");
  report->Expect(after.mappings <= before.mappings + rounds / 4, "after ", rounds,
                 " rounds there are ", after.mappings - before.mappings, " mappings more");
  report->Expect(after.resident <= before.resident + kMostGrowth, "after ", rounds,
                 " rounds the process has ", (after.resident - before.resident) >> 20, " MiB more");
}

// Calls `once` for all rounds; false when it failed.
template <typename Once>
void Soak(CheckContext* context, const char* rule, const std::string& what, Once once) {
  Reporter* const report = context->report;
  report->Begin(rule, what);
  for (int i = 0; i < kWarmUp; ++i) {
    if (!once()) return;
  }
  const Holdings before = Holdings::Now();
  const int rounds = context->settings->soak_rounds;
  for (int i = 0; i < rounds; ++i) {
    if (i % kRoundsAtATime == 0) report->Begin(rule, what);
    if (!once()) return;
  }
  ExpectNothingLeft(before, rounds, report);
}

bool UseDevice(CheckContext* context, uint32_t ordinal) {
  const auto device = CreateDevice(context, ordinal);
  if (device == nullptr) return false;
  const auto block = DeviceBytes::Make(*device, 5000);
  return context->report->Expect(block.ok() && (*block)->Write(TestBytes(5000, 1)).ok(),
                                 "a device that was just created does not work");
}

bool UseStream(CheckContext* context, const CheckedDevice& device) {
  const MS_DeviceApi& functions = device.functions();
  MS_Stream* stream = nullptr;
  MS_Event* event = nullptr;
  Status status = Take(functions.stream_create(device.device(), MS_STREAM_COMPUTE, 0, &stream));
  if (status.ok()) status = Take(functions.event_create(device.device(), 0, &event));
  if (status.ok()) status = Take(functions.event_record(event, stream));
  const auto block = DeviceBytes::Make(device, 100000);
  if (status.ok()) status = block.status();
  if (status.ok()) status = (*block)->Write(TestBytes(100000, 2));
  if (status.ok()) status = Take(functions.stream_sync(stream));
  if (event != nullptr) functions.event_destroy(event);
  if (stream != nullptr) functions.stream_destroy(stream);
  return context->report->Expect(status.ok(), status.ToString());
}

void CheckSoak(CheckContext* context) {
  for (const uint32_t ordinal : OrdinalsOf(context, kRules)) {
    const std::string what = absl::StrCat("device ", ordinal);
    Soak(context, "SOAK-DEVICES", what, [&] { return UseDevice(context, ordinal); });
    context->report->Begin("SOAK-STREAMS", what);
    const auto device = CreateDevice(context, ordinal);
    if (device == nullptr) continue;
    Soak(context, "SOAK-STREAMS", what, [&] { return UseStream(context, *device); });
  }
}

constexpr Check kChecks[] = {&CheckSoak};

}  // namespace

Suite SoakSuite() { return SuiteOf<kChecks, 1>("soak", /*loads_itself=*/false); }

}  // namespace millstream::plugin_check
