// Streams and events of simulated devices, through the plugin's tables.
#include <sys/prctl.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "device_plugins/sim/sim_fixture.h"
#include "gmock/gmock.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

// A stream that stops at a host function until it is let go: what comes later cannot have run.
class Gate {
 public:
  Gate(const SimDevice& device, MS_Stream* stream) {
    ExpectOk(device->stream_host_fn(stream, &Wait, this));
  }
  void Open() { open_.store(true); }

 private:
  static void Wait(void* user) {
    while (!static_cast<Gate*>(user)->open_.load()) std::this_thread::yield();
  }
  std::atomic<bool> open_{false};
};

TEST(SimStreamTest, EnqueueingDoesNotWait) {
  SimDevice device;
  const MS_MemRef block = device.Allocate(4);
  Gate gate(device, device.stream());
  EXPECT_TRUE(device.Fill(block, 'x').ok());
  uint8_t idle = 2;
  ExpectOk(device->stream_query(device.stream(), &idle));
  EXPECT_EQ(idle, 0);
  EXPECT_EQ(device.Read(block), "\xff\xff\xff\xff") << "on another stream";
  gate.Open();
  ExpectOk(device->stream_sync(device.stream()));
  ExpectOk(device->stream_query(device.stream(), &idle));
  EXPECT_EQ(idle, 1);
  EXPECT_EQ(device.Read(block), "xxxx");
}

TEST(SimStreamTest, AStreamKeepsItsOrder) {
  SimDevice device({{"delay_us", 100}});
  std::vector<int> order;
  struct Step {
    std::vector<int>* order;
    int number;
  };
  std::vector<Step> steps;
  for (int i = 0; i < 100; ++i) steps.push_back({&order, i});
  for (Step& step : steps) {
    ExpectOk(device->stream_host_fn(
        device.stream(),
        [](void* user) {
          const Step* const self = static_cast<Step*>(user);
          self->order->push_back(self->number);
        },
        &step));
  }
  ExpectOk(device->stream_sync(device.stream()));
  ASSERT_EQ(order.size(), 100u);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(SimStreamTest, CopiesGoInEveryDirection) {
  SimDevice device;
  const std::vector<uint32_t> spaces = {MS_SPACE_DEVICE, MS_SPACE_HOST_PINNED, MS_SPACE_HOST};
  for (uint32_t from_space : spaces) {
    for (uint32_t to_space : spaces) {
      const MS_MemRef from = device.Allocate(8, from_space);
      MS_MemRef to = device.Allocate(8, to_space);
      device.Write(from, "abcdefgh");
      device.Write(to, "........");
      to.offset = 2;
      to.bytes = 6;
      ExpectOk(device->copy_async(device.stream(), &to, &from, 3));
      ExpectOk(device->stream_sync(device.stream()));
      to.offset = 0;
      to.bytes = 8;
      EXPECT_EQ(device.Read(to), "..abc...") << from_space << " to " << to_space;
    }
  }
}

TEST(SimStreamTest, CopiesMayOverlapThemselves) {
  SimDevice device;
  const MS_MemRef block = device.Allocate(8);
  device.Write(block, "abcdefgh");
  MS_MemRef later = block;
  later.offset = 2;
  later.bytes = 6;
  ExpectOk(device->copy_async(device.stream(), &later, &block, 6));
  ExpectOk(device->stream_sync(device.stream()));
  EXPECT_EQ(device.Read(block), "ababcdef");
}

TEST(SimStreamTest, FillsRepeatThePattern) {
  SimDevice device;
  const MS_MemRef block = device.Allocate(8);
  ExpectOk(device->fill_async(device.stream(), &block, 0x6261, 2, 6));
  ExpectOk(device->stream_sync(device.stream()));
  EXPECT_EQ(device.Read(block), "ababab\xff\xff");
  ExpectOk(device->fill_async(device.stream(), &block, 0x64636261, 4, 8));
  ExpectOk(device->stream_sync(device.stream()));
  EXPECT_EQ(device.Read(block), "abcdabcd");
}

TEST(SimStreamTest, PeersCopyFromAndToEachOther) {
  SimDevice first;
  SimDevice second({}, 1);
  uint8_t ok = 0;
  ExpectOk(first->peer_ok(first.get(), second.get(), &ok));
  EXPECT_EQ(ok, 1);
  const MS_MemRef a = first.Allocate(4);
  const MS_MemRef b = second.Allocate(4);
  first.Write(a, "from");
  // On either's stream.
  ExpectOk(first->copy_peer_async(first.stream(), &b, &a, 4));
  ExpectOk(first->stream_sync(first.stream()));
  EXPECT_EQ(second.Read(b), "from");
  second.Write(b, "back");
  ExpectOk(first->copy_peer_async(first.stream(), &a, &b, 4));
  ExpectOk(first->stream_sync(first.stream()));
  EXPECT_EQ(first.Read(a), "back");

  char local[4];
  const MS_MemRef host = HostRef(local, 4);
  const Status status = TakeAbiStatus(first->copy_peer_async(first.stream(), &host, &b, 4));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("is memory of no simulated device"));
}

TEST(SimStreamTest, PeersMayBeSwitchedOff) {
  SimDevice first;
  SimDevice alone({{"peer", 0}}, 1);
  uint8_t ok = 1;
  ExpectOk(first->peer_ok(first.get(), alone.get(), &ok));
  EXPECT_EQ(ok, 0);
  ok = 1;
  ExpectOk(first->peer_ok(alone.get(), first.get(), &ok));
  EXPECT_EQ(ok, 0);
  ok = 1;
  int no_sim = 0;
  ExpectOk(first->peer_ok(first.get(), reinterpret_cast<MS_Device*>(&no_sim), &ok));
  EXPECT_EQ(ok, 0) << "a device of another plugin";
  const MS_MemRef a = first.Allocate(4);
  const MS_MemRef b = alone.Allocate(4);
  EXPECT_EQ(CodeOf(alone->copy_peer_async(alone.stream(), &a, &b, 4)),
            absl::StatusCode::kUnimplemented);
}

TEST(SimStreamTest, UnknownConstantsAreUnimplemented) {
  SimDevice device;
  MS_Stream* stream = nullptr;
  EXPECT_EQ(CodeOf(device->stream_create(device.get(), 4, 0, &stream)),
            absl::StatusCode::kUnimplemented);
  MS_Event* event = nullptr;
  EXPECT_EQ(CodeOf(device->event_create(device.get(), 1, &event)),
            absl::StatusCode::kUnimplemented);
}

TEST(SimStreamTest, DeviceSyncWaitsForAllStreams) {
  SimDevice device({{"delay_us", 300}});
  std::vector<MS_MemRef> blocks;
  for (size_t n = 0; n < 4; ++n) {
    blocks.push_back(device.Allocate(1));
    for (char c : {'a', 'b', 'c'}) EXPECT_TRUE(device.Fill(blocks.back(), c, n).ok());
  }
  ExpectOk(device->device_sync(device.get()));
  for (const MS_MemRef& block : blocks) EXPECT_EQ(device.Read(block), "c");
}

TEST(SimStreamTest, DestroyingAStreamFinishesItsWork) {
  SimDevice device({{"delay_us", 300}});
  const MS_MemRef block = device.Allocate(1);
  for (char c : {'a', 'b', 'c'}) EXPECT_TRUE(device.Fill(block, c).ok());
  device.DestroyStream(0);
  EXPECT_EQ(device.Read(block), "c");
}

TEST(SimStreamTest, SyncInAHostFunctionIsRefused) {
  SimDevice device;
  struct Call {
    SimDevice* device;
    absl::StatusCode code;
  } call = {&device, absl::StatusCode::kOk};
  device.stream();
  ExpectOk(device->stream_host_fn(
      device.stream(),
      [](void* user) {
        auto* const self = static_cast<Call*>(user);
        self->code = CodeOf((*self->device)->stream_sync(self->device->stream()));
      },
      &call));
  ExpectOk(device->stream_sync(device.stream()));
  EXPECT_EQ(call.code, absl::StatusCode::kFailedPrecondition);
}

TEST(SimStreamTest, TheSystemAddsNothingToItsDelays) {
  if (prctl(PR_GET_TIMERSLACK) < 0) GTEST_SKIP() << "the system says nothing of its timers";
  SimDevice device;
  int nanoseconds = 0;
  ExpectOk(device->stream_host_fn(
      device.stream(), [](void* user) { *static_cast<int*>(user) = prctl(PR_GET_TIMERSLACK); },
      &nanoseconds));
  ExpectOk(device->stream_sync(device.stream()));
  EXPECT_EQ(nanoseconds, 1);
}

TEST(SimStreamTest, AHostFunctionMayEnqueueMore) {
  SimDevice device;
  struct Call {
    SimDevice* device;
    MS_MemRef block;
  } call = {&device, device.Allocate(1)};
  ExpectOk(device->stream_host_fn(
      device.stream(),
      [](void* user) {
        auto* const self = static_cast<Call*>(user);
        EXPECT_TRUE(self->device->Fill(self->block, 'x').ok());
      },
      &call));
  ExpectOk(device->stream_sync(device.stream()));
  ExpectOk(device->stream_sync(device.stream()));
  EXPECT_EQ(device.Read(call.block), "x");
}

// ---- Events -------------------------------------------------------------------------------------

TEST(SimEventTest, IsDoneWhenAllBeforeItIs) {
  SimDevice device;
  Gate gate(device, device.stream());
  ExpectOk(device->event_record(device.event(), device.stream()));
  EXPECT_FALSE(IsDone(device, device.event()));
  gate.Open();
  ExpectOk(device->event_sync(device.event()));
  EXPECT_TRUE(IsDone(device, device.event()));
}

TEST(SimEventTest, NeverRecordedItIsDoneAndNobodyWaits) {
  SimDevice device;
  const MS_MemRef block = device.Allocate(1);
  EXPECT_TRUE(IsDone(device, device.event()));
  ExpectOk(device->event_sync(device.event()));
  ExpectOk(device->stream_wait_event(device.stream(), device.event()));
  EXPECT_TRUE(device.Fill(block, 'x').ok());
  ExpectOk(device->stream_sync(device.stream()));
  EXPECT_EQ(device.Read(block), "x");
}

TEST(SimEventTest, AStreamWaitsForAnother) {
  SimDevice device;
  const MS_MemRef block = device.Allocate(1);
  Gate gate(device, device.stream(0));
  EXPECT_TRUE(device.Fill(block, 'a', 0).ok());
  ExpectOk(device->event_record(device.event(), device.stream(0)));
  ExpectOk(device->stream_wait_event(device.stream(1), device.event()));
  EXPECT_TRUE(device.Fill(block, 'b', 1).ok());
  uint8_t idle = 2;
  ExpectOk(device->stream_query(device.stream(1), &idle));
  EXPECT_EQ(idle, 0);
  gate.Open();
  ExpectOk(device->stream_sync(device.stream(1)));
  EXPECT_EQ(device.Read(block), "b");
}

// One that is recorded anew is not what an earlier wait waits for.
TEST(SimEventTest, AWaitIsForTheRecordingBeforeIt) {
  SimDevice device;
  Gate first(device, device.stream(0));
  ExpectOk(device->event_record(device.event(), device.stream(0)));
  ExpectOk(device->stream_wait_event(device.stream(2), device.event()));
  Gate second(device, device.stream(1));
  ExpectOk(device->event_record(device.event(), device.stream(1)));
  first.Open();
  ExpectOk(device->stream_sync(device.stream(2)));
  EXPECT_FALSE(IsDone(device, device.event()));
  second.Open();
  ExpectOk(device->event_sync(device.event()));
}

TEST(SimEventTest, StreamsOfOneDeviceWaitForAnother) {
  SimDevice first;
  SimDevice second({}, 1);
  const MS_MemRef block = first.Allocate(1);
  const MS_MemRef copy = second.Allocate(1);
  Gate gate(first, first.stream());
  EXPECT_TRUE(first.Fill(block, 'x').ok());
  ExpectOk(first->event_record(first.event(), first.stream()));
  ExpectOk(second->stream_wait_event(second.stream(), first.event()));
  ExpectOk(second->copy_peer_async(second.stream(), &copy, &block, 1));
  gate.Open();
  ExpectOk(second->stream_sync(second.stream()));
  EXPECT_EQ(second.Read(copy), "x");
  EXPECT_EQ(CodeOf(first->event_record(first.event(), second.stream())),
            absl::StatusCode::kInvalidArgument);
}

TEST(SimEventTest, MayBeDestroyedWhileItIsAwaited) {
  SimDevice device;
  MS_Event* event = nullptr;
  ExpectOk(device->event_create(device.get(), 0, &event));
  Gate gate(device, device.stream(0));
  ExpectOk(device->event_record(event, device.stream(0)));
  ExpectOk(device->stream_wait_event(device.stream(1), event));
  device->event_destroy(event);
  gate.Open();
  ExpectOk(device->stream_sync(device.stream(1)));
}

}  // namespace
}  // namespace millstream
