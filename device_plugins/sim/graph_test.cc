// Recorded work: "ms.capture/1" of simulated devices.
#include <functional>
#include <string>
#include <vector>

#include "device_plugins/sim/sim_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kBytes = 64;

class GraphTest : public ::testing::Test {
 protected:
  static const MS_CaptureApi& Api(const SimDevice& device) {
    return *device.open().plugin->capture;
  }

  // A graph that sets a to `byte` and copies it to b.
  static MS_Graph* Record(SimDevice& device, const MS_MemRef& a, const MS_MemRef& b,
                          uint32_t byte) {
    MS_Stream* const stream = device.stream(kRecorder);
    ExpectOk(Api(device).begin(stream));
    EXPECT_TRUE(device.Fill(a, byte, kRecorder).ok());
    ExpectOk(device->copy_async(stream, &b, &a, kBytes));
    MS_Graph* graph = nullptr;
    ExpectOk(Api(device).end(stream, &graph));
    EXPECT_NE(graph, nullptr);
    return graph;
  }
  static void Replay(SimDevice& device, MS_Graph* graph) {
    ExpectOk(Api(device).replay(graph, device.stream()));
    ExpectOk(device->stream_sync(device.stream()));
  }
  static std::string Text(Status status) { return std::string(status.message()); }

  // The stream that records.
  static constexpr size_t kRecorder = 4;
};

const std::string kZeros(kBytes, '\0');
const std::string kOnes(kBytes, '\1');

TEST_F(GraphTest, WorkIsDoneByReplaysAlone) {
  SimDevice device({{"delay_us", 100}});
  const MS_MemRef a = device.Allocate(kBytes);
  const MS_MemRef b = device.Allocate(kBytes);
  device.Write(a, kZeros);
  device.Write(b, kZeros);
  MS_Graph* const graph = Record(device, a, b, 1);
  EXPECT_EQ(device.Uses().graphs, 1u);
  ExpectOk(device->device_sync(device.get()));
  EXPECT_EQ(device.Read(a), kZeros) << "it was recorded, and not done";
  for (int i = 0; i < 3; ++i) {
    Replay(device, graph);
    EXPECT_EQ(device.Read(b), kOnes);
    device.Write(a, kZeros);
    device.Write(b, kZeros);
  }
  EXPECT_EQ(device.Uses().replays, 3u);
  Api(device).destroy(graph);
  EXPECT_EQ(device.Uses().graphs, 0u);
}

// Both places move at once, each to where the other was.
TEST_F(GraphTest, ChangesAreSimultaneousAndOfTheRecording) {
  SimDevice device;
  const MS_MemRef a = device.Allocate(kBytes);
  const MS_MemRef b = device.Allocate(kBytes);
  const MS_MemRef c = device.Allocate(kBytes);
  ExpectOk(Api(device).begin(device.stream(kRecorder)));
  ExpectOk(device->copy_async(device.stream(kRecorder), &b, &a, kBytes));
  MS_Graph* graph = nullptr;
  ExpectOk(Api(device).end(device.stream(kRecorder), &graph));
  const MS_MemChange swapped[] = {{a, b}, {b, a}};
  device.Write(a, kZeros);
  device.Write(b, kOnes);
  ExpectOk(Api(device).update(graph, swapped, 2));
  Replay(device, graph);
  EXPECT_EQ(device.Read(a), kOnes);
  // The next update is of the recording again.
  const MS_MemChange elsewhere[] = {{b, c}};
  device.Write(a, kZeros);
  ExpectOk(Api(device).update(graph, elsewhere, 1));
  Replay(device, graph);
  EXPECT_EQ(device.Read(c), kZeros);
  EXPECT_EQ(device.Read(b), kOnes);
  ExpectOk(Api(device).update(graph, nullptr, 0));
  Replay(device, graph);
  EXPECT_EQ(device.Read(b), kZeros);
  Api(device).destroy(graph);
}

TEST_F(GraphTest, APieceOfARegionMovesWithIt) {
  for (const uint64_t opaque : {0, 1}) {
    SimDevice device({{"opaque", opaque}});
    const MS_MemRef a = device.Allocate(4 * kBytes);
    const MS_MemRef b = device.Allocate(4 * kBytes);
    device.Write(b, std::string(4 * kBytes, '\0'));
    MS_MemRef piece = a;
    piece.offset += kBytes;
    piece.bytes = kBytes;
    ExpectOk(Api(device).begin(device.stream(kRecorder)));
    EXPECT_TRUE(device.Fill(piece, 1, kRecorder).ok());
    MS_Graph* graph = nullptr;
    ExpectOk(Api(device).end(device.stream(kRecorder), &graph));
    const MS_MemChange change = {a, b};
    ExpectOk(Api(device).update(graph, &change, 1));
    Replay(device, graph);
    EXPECT_EQ(device.Read(b), kZeros + kOnes + kZeros + kZeros);
    Api(device).destroy(graph);
  }
}

TEST_F(GraphTest, WhatCannotBeRecordedIsRefusedAndFailsTheRecording) {
  SimDevice device;
  const MS_MemRef block = device.Allocate(kBytes);
  std::string host(kBytes, '?');
  const MS_MemRef on_host = HostRef(host.data(), kBytes);
  MS_Stream* const stream = device.stream(kRecorder);
  uint8_t idle = 0;
  MS_Graph* graph = nullptr;
  const std::vector<std::function<MS_Status*()>> refused = {
      [&] { return device->event_record(device.event(), stream); },
      [&] { return device->stream_query(stream, &idle); },
      [&] { return device->stream_sync(stream); },
      [&] {
        return device->stream_host_fn(
            stream, [](void*) {}, nullptr);
      },
      [&] { return device->copy_async(stream, &block, &on_host, kBytes); },
      [&] { return device->copy_async(stream, &on_host, &block, kBytes); },
      [&] { return Api(device).begin(stream); },
  };
  for (size_t i = 0; i < refused.size(); ++i) {
    ExpectOk(Api(device).begin(stream));
    EXPECT_EQ(CodeOf(refused[i]()), absl::StatusCode::kFailedPrecondition) << i;
    EXPECT_EQ(CodeOf(Api(device).end(stream, &graph)), absl::StatusCode::kFailedPrecondition) << i;
    EXPECT_EQ(graph, nullptr);
    ExpectOk(device->stream_sync(stream));  // it is a stream as before
  }
  EXPECT_EQ(CodeOf(Api(device).end(stream, &graph)), absl::StatusCode::kFailedPrecondition);
}

TEST_F(GraphTest, AGraphMayGoWhileItIsReplayed) {
  SimDevice device({{"latency_us", 20000}});
  const MS_MemRef a = device.Allocate(kBytes);
  const MS_MemRef b = device.Allocate(kBytes);
  MS_Graph* const graph = Record(device, a, b, 1);
  ExpectOk(Api(device).replay(graph, device.stream()));
  Api(device).destroy(graph);
  ExpectOk(device->stream_sync(device.stream()));
  EXPECT_EQ(device.Read(b), kOnes);
}

TEST_F(GraphTest, SwitchesRefuse) {
  SimDevice device;
  const MS_MemRef a = device.Allocate(kBytes);
  const MS_MemRef b = device.Allocate(kBytes);
  MS_Graph* const graph = Record(device, a, b, 1);
  ASSERT_TRUE(device.Set("follow", 0).ok());
  const MS_MemChange change = {a, b};
  EXPECT_EQ(CodeOf(Api(device).update(graph, &change, 1)), absl::StatusCode::kUnimplemented);
  ASSERT_TRUE(device.Set("fail_replay", 1).ok());
  const Status replayed = TakeAbiStatus(Api(device).replay(graph, device.stream()));
  EXPECT_EQ(replayed.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(Text(replayed), HasSubstr("replay 1 fails: switch fail_replay"));
  // Of the two items the second is refused: nothing is enqueued, and nothing counted.
  ASSERT_TRUE(device.Set("fail_copy", 1).ok());
  for (int i = 0; i < 2; ++i) {
    const Status refused = TakeAbiStatus(Api(device).replay(graph, device.stream()));
    EXPECT_THAT(Text(refused), HasSubstr("copy")) << i;
  }
  ASSERT_TRUE(device.Set("fail_copy", 0).ok());
  Replay(device, graph);
  EXPECT_EQ(device.Read(b), kOnes);
  Api(device).destroy(graph);
  ASSERT_TRUE(device.Set("fail_capture", 1).ok());
  ExpectOk(Api(device).begin(device.stream(kRecorder)));
  MS_Graph* none = nullptr;
  EXPECT_EQ(CodeOf(Api(device).end(device.stream(kRecorder), &none)), absl::StatusCode::kInternal);
  EXPECT_EQ(none, nullptr);
  ASSERT_TRUE(device.Set("capture", 0).ok());
  EXPECT_EQ(CodeOf(Api(device).begin(device.stream(kRecorder))), absl::StatusCode::kUnimplemented);
}

TEST_F(GraphTest, ALostDeviceReplaysNothing) {
  SimDevice device;
  const MS_MemRef a = device.Allocate(kBytes);
  const MS_MemRef b = device.Allocate(kBytes);
  MS_Graph* const graph = Record(device, a, b, 1);
  MS_Stream* const stream = device.stream();  // while there is a device
  ASSERT_TRUE(device.Set("lost", 1).ok());
  EXPECT_EQ(CodeOf(Api(device).replay(graph, stream)), absl::StatusCode::kUnavailable);
  EXPECT_EQ(CodeOf(Api(device).begin(device.stream(kRecorder))), absl::StatusCode::kUnavailable);
  Api(device).destroy(graph);
}

TEST_F(GraphTest, ADeviceReplaysItsOwnWorkAlone) {
  SimDevice device;
  SimDevice other({}, 1);
  const MS_MemRef a = device.Allocate(kBytes);
  const MS_MemRef b = device.Allocate(kBytes);
  MS_Graph* const graph = Record(device, a, b, 1);
  EXPECT_EQ(CodeOf(Api(device).replay(graph, other.stream())), absl::StatusCode::kInvalidArgument);
  Api(device).destroy(graph);
}

}  // namespace
}  // namespace millstream
