// What simulated devices do wrong on purpose, through the plugin's tables.
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "device_plugins/sim/sim_fixture.h"
#include "gmock/gmock.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

// A device that goes on, whatever happens to others.
void ExpectWorks(SimDevice& device) {
  EXPECT_TRUE(device.Error().ok()) << device.Error();
  const MS_MemRef block = device.Allocate(2);
  EXPECT_TRUE(device.Fill(block, 'k').ok());
  ExpectOk(device->stream_sync(device.stream()));
  EXPECT_EQ(device.Read(block), "kk");
}

void ExpectUnavailable(const std::string& call, MS_Status* status) {
  const Status taken = TakeAbiStatus(status);
  EXPECT_EQ(taken.code(), absl::StatusCode::kUnavailable) << call;
  EXPECT_THAT(std::string(taken.message()), HasSubstr("SIM:0 is lost: ")) << call;
}

// Everything that gives a status says that the device is lost. `stream`, `event` and `block` are
// from before.
void ExpectLost(SimDevice& device, const MS_MemRef& block) {
  const MS_DeviceApi& api = *device.operator->();
  MS_Stream* const stream = device.stream();
  MS_Event* const event = device.event();
  MS_MemRef ref = {};
  MS_Stream* new_stream = nullptr;
  MS_Event* new_event = nullptr;
  MS_MemStats stats = {};
  stats.head.size = sizeof(stats);
  uint64_t a = 0, b = 0;
  uint8_t flag = 0;
  ExpectUnavailable("mem_alloc", api.mem_alloc(device.get(), MS_SPACE_DEVICE, 8, 0, &ref));
  ExpectUnavailable("mem_info", api.mem_info(device.get(), &a, &b));
  ExpectUnavailable("mem_stats", api.mem_stats(device.get(), &stats));
  ExpectUnavailable("stream_create", api.stream_create(device.get(), 0, 0, &new_stream));
  ExpectUnavailable("stream_query", api.stream_query(stream, &flag));
  ExpectUnavailable("stream_sync", api.stream_sync(stream));
  ExpectUnavailable("event_create", api.event_create(device.get(), 0, &new_event));
  ExpectUnavailable("event_record", api.event_record(event, stream));
  ExpectUnavailable("event_query", api.event_query(event, &flag));
  ExpectUnavailable("event_sync", api.event_sync(event));
  ExpectUnavailable("stream_wait_event", api.stream_wait_event(stream, event));
  ExpectUnavailable("copy_async", api.copy_async(stream, &block, &block, 1));
  ExpectUnavailable("copy_peer_async", api.copy_peer_async(stream, &block, &block, 1));
  ExpectUnavailable("peer_ok", api.peer_ok(device.get(), device.get(), &flag));
  ExpectUnavailable("fill_async", api.fill_async(stream, &block, 0, 1, 1));
  ExpectUnavailable("stream_host_fn",
                    api.stream_host_fn(
                        stream, [](void*) { ADD_FAILURE() << "called"; }, nullptr));
  ExpectUnavailable("device_sync", api.device_sync(device.get()));
  ExpectUnavailable("device_error", api.device_error(device.get()));
}

// ---- What fails once ----------------------------------------------------------------------------

TEST(SimFaultTest, TheNthAllocationFails) {
  SimDevice device({{"fail_alloc", 2}});
  SimDevice other;
  device.Allocate(8);
  EXPECT_EQ(device.AllocationError(8),
            errors::ResourceExhausted("SIM:0: allocation 2 fails: switch fail_alloc"));
  ExpectWorks(device);
  ExpectWorks(other);
}

TEST(SimFaultTest, TheNthCopyFails) {
  SimDevice device({{"fail_copy", 2}});
  const MS_MemRef block = device.Allocate(4);
  device.Write(block, "data");
  const MS_MemRef to = device.Allocate(4);
  const Status status = TakeAbiStatus(device->copy_async(device.stream(), &to, &block, 4));
  EXPECT_EQ(status, errors::Internal("SIM:0: copy 2 fails: switch fail_copy"));
  EXPECT_EQ(device.Read(to), "\xff\xff\xff\xff") << "it was not done";
  ExpectWorks(device);
}

TEST(SimFaultTest, TheNthPieceOfWorkFails) {
  SimDevice device({{"fail_work", 2}});
  const MS_MemRef block = device.Allocate(1);
  EXPECT_TRUE(device.Fill(block, 'a').ok());
  EXPECT_EQ(device.Fill(block, 'b'), errors::Internal("SIM:0: work 2 fails: switch fail_work"));
  ExpectOk(device->stream_sync(device.stream()));
  EXPECT_EQ(device.Read(block), "a");
  ExpectWorks(device);
}

TEST(SimFaultTest, ASwitchThatIsThrownLaterCountsFromThen) {
  SimDevice device;
  const MS_MemRef block = device.Allocate(1);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(device.Fill(block, 'a').ok());
  EXPECT_TRUE(device.Set("fail_work", 1).ok());
  EXPECT_EQ(device.Fill(block, 'b'), errors::Internal("SIM:0: work 6 fails: switch fail_work"));
  EXPECT_TRUE(device.Set("fail_alloc", 1).ok());
  EXPECT_EQ(device.AllocationError(8).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(device.Set("memory_mb", 1).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(device.Set("no_such", 1).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(device.Set("speed_percent", 0).code(), absl::StatusCode::kInvalidArgument);
  ExpectWorks(device);
}

TEST(SimFaultTest, ADeviceCannotBeCreated) {
  const Status status = SimDevice::CreationError({{"fail_create", "1"}}, 1);
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("SIM:1 cannot be created: switch fail_create"));
  EXPECT_THAT(std::string(SimDevice::CreationError({{"speed", "1"}}).message()),
              HasSubstr("unknown option \"speed\" of a device: known are memory_mb, "));
}

TEST(SimFaultTest, SizesAreGarbage) {
  SimDevice device({{"garbage_sizes", 1}});
  uint64_t free_bytes = 0, total_bytes = 0;
  ExpectOk(device->mem_info(device.get(), &free_bytes, &total_bytes));
  EXPECT_GT(free_bytes, total_bytes);
  EXPECT_LT(static_cast<int64_t>(total_bytes), 0);
  const MS_MemStats stats = device.Stats();
  EXPECT_GT(stats.in_use, stats.limit);
  EXPECT_TRUE(device.Set("garbage_sizes", 0).ok());
  EXPECT_EQ(device.Stats().in_use, 0u);
}

// ---- Devices that are lost ----------------------------------------------------------------------

TEST(SimFaultTest, ADeviceIsLostInTheMiddleOfACopy) {
  SimDevice device({{"lose_copy", 2}});
  SimDevice other;
  const MS_MemRef block = device.Allocate(8);
  device.Write(block, "abcdefgh");
  std::string host = "........";
  const MS_MemRef to = HostRef(host.data(), 8);
  ExpectOk(device->event_record(device.event(), device.stream()));
  ExpectOk(device->stream_sync(device.stream()));
  ExpectOk(device->copy_async(device.stream(), &to, &block, 8));
  ExpectUnavailable("stream_sync", device->stream_sync(device.stream()));
  EXPECT_EQ(host, "abcd....");
  EXPECT_EQ(device.Error(), absl::UnavailableError("SIM:0 is lost: switch lose_copy"));
  ExpectLost(device, block);
  ExpectWorks(other);
}

TEST(SimFaultTest, ADeviceIsLostInTheMiddleOfWork) {
  // It hangs while the test enqueues what is lost.
  SimDevice device({{"lose_work", 1}, {"hang_work", 1}});
  SimDevice other({}, 1);
  const MS_MemRef block = device.Allocate(8);
  const MS_MemRef copy = other.Allocate(8);
  static std::atomic<int> calls{0};
  calls = 0;
  EXPECT_TRUE(device.Fill(block, 'x').ok());
  EXPECT_TRUE(device.Fill(block, 'y').ok());
  ExpectOk(device->stream_host_fn(
      device.stream(), [](void*) { ++calls; }, nullptr));
  ExpectOk(device->event_record(device.event(), device.stream()));
  // Another device that waits goes on, with what it finds.
  ExpectOk(other->stream_wait_event(other.stream(), device.event()));
  ExpectOk(other->copy_peer_async(other.stream(), &copy, &block, 8));
  EXPECT_TRUE(device.Set("hang_work", 0).ok());
  ExpectOk(other->stream_sync(other.stream()));
  ExpectUnavailable("event_sync", device->event_sync(device.event()));
  EXPECT_EQ(calls, 1) << "whoever waits to be called is called";
  EXPECT_EQ(other.Read(copy), "\xff\xff\xff\xff\xff\xff\xff\xff");
  ExpectLost(device, block);
  ExpectWorks(other);
}

TEST(SimFaultTest, WaitsOfALostDeviceEnd) {
  SimDevice device({{"hang_work", 1}});
  const MS_MemRef block = device.Allocate(8);
  EXPECT_TRUE(device.Fill(block, 'x').ok());
  ExpectOk(device->event_record(device.event(), device.stream()));
  device.stream(1);
  ExpectOk(device->stream_wait_event(device.stream(1), device.event()));
  std::thread on_event([&] { ExpectUnavailable("", device->event_sync(device.event())); });
  std::thread on_stream([&] { ExpectUnavailable("", device->stream_sync(device.stream(1))); });
  std::thread on_device([&] { ExpectUnavailable("", device->device_sync(device.get())); });
  device.AwaitHang();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));  // most of the three wait by then
  EXPECT_TRUE(device.Set("lost", 1).ok());
  on_event.join();
  on_stream.join();
  on_device.join();
  ExpectLost(device, block);
}

TEST(SimFaultTest, ADeviceMayBeLostFromTheStart) {
  SimDevice device({{"lost", 1}});
  EXPECT_EQ(device.Error(), absl::UnavailableError("SIM:0 is lost: switch lost"));
  EXPECT_EQ(device.AllocationError(8).code(), absl::StatusCode::kUnavailable);
}

// ---- Work that hangs ----------------------------------------------------------------------------

TEST(SimFaultTest, WorkHangsUntilItsSwitchIsCleared) {
  SimDevice device({{"hang_work", 2}});
  SimDevice other;
  const MS_MemRef block = device.Allocate(2);
  EXPECT_TRUE(device.Fill(block, 'a').ok());
  EXPECT_TRUE(device.Fill(block, 'b').ok());
  ExpectOk(device->event_record(device.event(), device.stream()));
  device.AwaitHang();
  EXPECT_FALSE(IsDone(device, device.event()));
  EXPECT_EQ(device.Read(block), "aa") << "another stream goes on";
  ExpectWorks(other);
  EXPECT_TRUE(device.Set("hang_work", 0).ok());
  ExpectOk(device->event_sync(device.event()));
  EXPECT_EQ(device.Read(block), "bb");
  ExpectWorks(device);
}

TEST(SimFaultTest, ACopyHangsAsWell) {
  SimDevice device;
  const MS_MemRef block = device.Allocate(2);
  EXPECT_TRUE(device.Set("hang_copy", 1).ok());
  ExpectOk(device->copy_async(device.stream(), &block, &block, 1));
  ExpectOk(device->event_record(device.event(), device.stream()));
  device.AwaitHang();
  EXPECT_FALSE(IsDone(device, device.event()));
  EXPECT_TRUE(device.Set("hang_copy", 0).ok());
  ExpectOk(device->event_sync(device.event()));
}

TEST(SimFaultTest, DestroyingAStreamThatHangsLosesTheDevice) {
  SimDevice device({{"hang_work", 1}});
  SimDevice other;
  const MS_MemRef block = device.Allocate(2);
  device.stream(1);
  EXPECT_TRUE(device.Fill(block, 'a').ok());
  device.DestroyStream(0);
  EXPECT_EQ(device.Error(), absl::UnavailableError("SIM:0 is lost: its work hung, and a stream "
                                                   "that waits for it was destroyed"));
  ExpectUnavailable("stream_sync", device->stream_sync(device.stream(1)));
  ExpectWorks(other);
}

// The hang is two events and one device away, and begins when it is already waited for.
TEST(SimFaultTest, DestroyingAStreamEndsAHangThatItWaitsFor) {
  SimDevice hung({{"hang_work", 1}, {"delay_us", 20000}});
  SimDevice between({}, 1);
  SimDevice last({}, 2);
  const MS_MemRef block = hung.Allocate(2);
  const MS_MemRef result = last.Allocate(1);
  EXPECT_TRUE(hung.Fill(block, 'a').ok());
  ExpectOk(hung->event_record(hung.event(), hung.stream()));
  ExpectOk(between->stream_wait_event(between.stream(), hung.event()));
  ExpectOk(between->event_record(between.event(), between.stream()));
  ExpectOk(last->stream_wait_event(last.stream(), between.event()));
  EXPECT_TRUE(last.Fill(result, 'z').ok());
  last.DestroyStream(0);
  EXPECT_EQ(hung.Error().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(last.Read(result), "z");
  ExpectWorks(between);
  ExpectWorks(last);
}

TEST(SimFaultTest, DestroyingAStreamThatIsIdleLeavesAHangAlone) {
  SimDevice device({{"hang_work", 1}});
  SimDevice other({}, 1);
  const MS_MemRef block = device.Allocate(2);
  device.stream(1);
  EXPECT_TRUE(device.Fill(block, 'a').ok());
  ExpectOk(device->event_record(device.event(), device.stream()));
  device.DestroyStream(1);
  ExpectWorks(other);
  other.DestroyStream(0);
  EXPECT_TRUE(device.Error().ok());
  EXPECT_TRUE(device.Set("hang_work", 0).ok());
  ExpectOk(device->event_sync(device.event()));
}

TEST(SimFaultTest, ADeviceThatHangsWithStreamsLeftIsDestroyed) {
  MS_Stream* stream = nullptr;
  testing::internal::CaptureStderr();
  {
    SimDevice device({{"hang_work", 1}});
    const MS_MemRef block = device.Allocate(2);
    ExpectOk(device->stream_create(device.get(), MS_STREAM_COMPUTE, 0, &stream));
    ExpectOk(device->fill_async(stream, &block, 1, 1, 2));
  }
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("SIM:0 is destroyed before 1 streams"));
}

}  // namespace
}  // namespace millstream
