#include "core/device/device_stream.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "core/device/sim_memory.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAreArray;

constexpr auto kPause = std::chrono::microseconds(20);

// Streams of one simulated device, and what they share.
class DeviceStreamTest : public ::testing::Test {
 protected:
  explicit DeviceStreamTest(const ChangeFunctions& change = nullptr)
      : device_({{"delay_us", 100}}), functions_(*device_.open().functions) {
    if (change) change(&functions_);
    functions_.event_create = &CountEvent;
    events_created = 0;
    real_event_create = device_.open().functions->event_create;
    events_ = std::make_unique<EventPool>(&functions_, device_.get());
    poller_ = std::make_unique<EventPoller>(&functions_);
    for (uint32_t number = 1; number <= 2; ++number) {
      const DeviceStream::Shared shared{&functions_, device_.get(), events_.get(), poller_.get(),
                                        &progress_};
      auto stream = DeviceStream::Create(shared, MS_STREAM_COMPUTE, number);
      EXPECT_TRUE(stream.ok()) << stream.status();
      streams_.push_back(*std::move(stream));
    }
  }
  ~DeviceStreamTest() override {
    for (const auto& stream : streams_) EXPECT_TRUE(stream->Sync().ok());
  }

  DeviceStream& stream(int n = 0) { return *streams_[n]; }
  // Work that sets a byte of the host's.
  void Set(DeviceStream* on, char* byte, char value) {
    const MS_MemRef ref = HostRef(byte, 1);
    ExpectOk(device_->fill_async(on->raw(), &ref, static_cast<uint8_t>(value), 1, 1));
  }
  EventRef Mark(DeviceStream* on) {
    const StatusOr<EventRef> event = on->Mark();
    EXPECT_TRUE(event.ok()) << event.status();
    return event.ok() ? *event : nullptr;
  }
  // Null: the point has passed.
  void Await(const EventRef& event) {
    while (event != nullptr && !IsDone(device_, event.get())) std::this_thread::sleep_for(kPause);
  }
  void AwaitPoint(const StreamPoint& point) {
    const StatusOr<EventRef> event = streams_[point.stream - 1]->EventAt(point);
    ASSERT_TRUE(event.ok()) << event.status();
    Await(*event);
  }
  bool HasPassed(const StreamPoint& point) {
    streams_[point.stream - 1]->Poll();
    return progress_.HasPassed(point);
  }
  // All that is enqueued from now on waits until Resume.
  void Hang() { EXPECT_TRUE(device_.Set("hang_work", 1).ok()); }
  void Resume() { EXPECT_TRUE(device_.Set("hang_work", 0).ok()); }

  static inline std::atomic<int> events_created{0};

  SimDevice device_;
  MS_DeviceApi functions_;
  StreamProgress progress_;
  std::unique_ptr<EventPool> events_;
  std::unique_ptr<EventPoller> poller_;
  std::vector<std::unique_ptr<DeviceStream>> streams_;

 private:
  static MS_Status* CountEvent(MS_Device* device, uint32_t flags, MS_Event** out) {
    ++events_created;
    return real_event_create(device, flags, out);
  }
  static inline decltype(MS_DeviceApi::event_create) real_event_create = nullptr;
};

TEST_F(DeviceStreamTest, APointPassesOnceAllBeforeItIsDone) {
  char byte = 0;
  Hang();
  Set(&stream(), &byte, 1);
  const StreamPoint after_work = stream().Now();
  const EventRef event = Mark(&stream());
  EXPECT_FALSE(HasPassed(after_work));
  Resume();
  Await(event);
  EXPECT_EQ(byte, 1);
  EXPECT_TRUE(HasPassed(after_work));
  EXPECT_FALSE(HasPassed(stream().Now()));
}

TEST_F(DeviceStreamTest, PointsPassInOrder) {
  std::vector<StreamPoint> points;
  std::vector<char> bytes(200);
  for (char& byte : bytes) {
    Set(&stream(), &byte, 1);
    points.push_back(stream().Now());
    Mark(&stream());
  }
  size_t passed = 0;
  while (passed < points.size()) {
    if (!HasPassed(points[passed])) continue;
    EXPECT_EQ(bytes[passed], 1);
    ++passed;
    for (size_t i = 0; i < passed; ++i) EXPECT_TRUE(progress_.HasPassed(points[i]));
  }
}

TEST_F(DeviceStreamTest, TheEventAtAPointIsTheFirstMarkBehindIt) {
  Hang();
  char byte = 0;
  Set(&stream(), &byte, 1);
  const StreamPoint first = stream().Now();
  const EventRef first_mark = Mark(&stream());
  const StreamPoint second = stream().Now();
  const EventRef second_mark = Mark(&stream());
  EXPECT_EQ(stream().EventAt(first).value(), first_mark);
  EXPECT_EQ(stream().EventAt(second).value(), second_mark);
  const EventRef third_mark = stream().EventAt(stream().Now()).value();
  EXPECT_NE(third_mark, nullptr);
  EXPECT_NE(third_mark, second_mark);
  Resume();
  Await(third_mark);
  stream().Poll();
  EXPECT_EQ(stream().EventAt(first).value(), nullptr);
}

TEST_F(DeviceStreamTest, OtherStreamsWaitForAnEventOnTheDevice) {
  char byte = 0;
  Hang();
  Set(&stream(0), &byte, 1);
  ASSERT_TRUE(stream(1).Wait(Mark(&stream(0))).ok());
  Set(&stream(1), &byte, 2);
  const EventRef end = Mark(&stream(1));
  EXPECT_FALSE(IsDone(device_, end.get()));
  Resume();
  Await(end);
  EXPECT_EQ(byte, 2);
}

// Each sees its own work done at the points that it took, whoever marks the stream meanwhile.
TEST_F(DeviceStreamTest, SeveralThreadsTakePointsOfOneStream) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 200;
  std::atomic<int> not_done{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::minstd_rand random(static_cast<unsigned>(t + 1));
      std::vector<char> bytes(kRounds);
      for (char& byte : bytes) {
        DeviceStream& on = stream(static_cast<int>(random() % 2));
        Set(&on, &byte, 1);
        const StreamPoint point = on.Now();
        if (random() % 3 == 0) Mark(&on);
        if (random() % 3 == 0) on.Poll();
        AwaitPoint(point);
        not_done += byte == 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(not_done, 0);
}

TEST_F(DeviceStreamTest, AnEventIsRecordedAgainOnceNobodyHoldsIt) {
  for (int i = 0; i < 1000; ++i) {
    Await(Mark(&stream()));
    stream().Poll();
  }
  EXPECT_EQ(events_created, 1);
}

// As in a step of many iterations, each of which copies something.
TEST_F(DeviceStreamTest, ManyMarksNeedFewEvents) {
  ASSERT_TRUE(device_.Set("delay_us", 0).ok());
  for (int i = 0; i < 5000; ++i) Await(Mark(&stream()));
  EXPECT_LE(events_created, 100);
}

TEST_F(DeviceStreamTest, AnEventThatIsHeldIsNotRecordedAgain) {
  const EventRef held = Mark(&stream());
  Await(held);
  stream().Poll();
  Hang();
  char byte = 0;
  Set(&stream(), &byte, 1);
  const EventRef other = Mark(&stream());
  EXPECT_NE(other, held);
  EXPECT_TRUE(IsDone(device_, held.get()));
  EXPECT_FALSE(IsDone(device_, other.get()));
  Resume();
  Await(other);
}

TEST_F(DeviceStreamTest, AStreamIsIdleOnceItsWorkIsDone) {
  Hang();
  char byte = 0;
  Set(&stream(), &byte, 1);
  bool idle = true;
  ASSERT_TRUE(stream().Query(&idle).ok());
  EXPECT_FALSE(idle);
  Resume();
  ASSERT_TRUE(stream().Sync().ok());
  ASSERT_TRUE(stream().Query(&idle).ok());
  EXPECT_TRUE(idle);
}

// A device whose events have happened for everyone who asks a second time.
MS_Status* HappenedNextTime(MS_Event*, uint8_t* done) {
  static std::atomic<int> calls{0};
  *done = static_cast<uint8_t>(calls++ % 2);
  return nullptr;
}

class LateEventsTest : public DeviceStreamTest {
 protected:
  LateEventsTest()
      : DeviceStreamTest([](MS_DeviceApi* functions) {
          functions->stream_host_fn = nullptr;
          functions->event_query = &HappenedNextTime;
        }) {}
};

TEST_F(LateEventsTest, CallsOfAStreamComeInOrder) {
  absl::Mutex mutex;
  std::vector<int> calls;
  absl::Notification last;
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(stream()
                    .CallAfter([&, i] {
                      absl::MutexLock lock(&mutex);
                      calls.push_back(i);
                      if (calls.size() == 100) last.Notify();
                    })
                    .ok());
  }
  last.WaitForNotification();
  absl::MutexLock lock(&mutex);
  EXPECT_TRUE(std::is_sorted(calls.begin(), calls.end()));
}

// With the plugin's functions for the host, and with the thread that asks for events instead.
class CallAfterTest : public DeviceStreamTest, public ::testing::WithParamInterface<bool> {
 protected:
  CallAfterTest() : DeviceStreamTest(GetParam() ? nullptr : &RemoveOptionalFunctions) {}
};

TEST_P(CallAfterTest, TheCallComesAfterTheWork) {
  char byte = 0;
  absl::Notification called, called_for_other;
  Hang();
  Set(&stream(), &byte, 1);
  ASSERT_TRUE(stream().CallAfter([&] { called.Notify(); }).ok());
  ASSERT_TRUE(stream(1).CallAfter([&] { called_for_other.Notify(); }).ok());
  called_for_other.WaitForNotification();  // by then whoever calls has looked at both
  EXPECT_FALSE(called.HasBeenNotified());
  Resume();
  called.WaitForNotification();
  EXPECT_EQ(byte, 1);
}

TEST_P(CallAfterTest, CallsOfAStreamComeInOrderAndOnce) {
  constexpr int kCalls = 500;
  std::vector<int> expected;
  std::vector<int> calls;  // written by one thread at a time
  std::vector<char> bytes(kCalls);
  absl::Notification last;
  for (int i = 0; i < kCalls; ++i) {
    Set(&stream(), &bytes[i], 1);
    expected.push_back(i);
    ASSERT_TRUE(stream()
                    .CallAfter([&, i] {
                      EXPECT_EQ(bytes[i], 1);
                      calls.push_back(i);
                      if (calls.size() == kCalls) last.Notify();
                    })
                    .ok());
  }
  last.WaitForNotification();
  ASSERT_TRUE(stream().Sync().ok());
  EXPECT_THAT(calls, ElementsAreArray(expected));
}

TEST_P(CallAfterTest, AStreamThatHangsDelaysNoCallsOfOthers) {
  char byte = 0;
  Hang();
  Set(&stream(0), &byte, 1);
  absl::Notification first, second;
  ASSERT_TRUE(stream(0).CallAfter([&] { first.Notify(); }).ok());
  ASSERT_TRUE(stream(1).CallAfter([&] { second.Notify(); }).ok());
  second.WaitForNotification();
  EXPECT_FALSE(first.HasBeenNotified());
  Resume();
  first.WaitForNotification();
}

TEST_P(CallAfterTest, WhatACallHoldsGoesWithIt) {
  auto held = std::make_shared<int>(1);
  std::weak_ptr<int> seen = held;
  absl::Notification behind;
  ASSERT_TRUE(stream().CallAfter([held = std::move(held)] {}).ok());
  ASSERT_TRUE(stream().CallAfter([&] { behind.Notify(); }).ok());
  behind.WaitForNotification();
  EXPECT_TRUE(seen.expired());
}

INSTANTIATE_TEST_SUITE_P(Devices, CallAfterTest, ::testing::Bool(), [](const auto& info) {
  return info.param ? "WithHostFunctions" : "WithoutHostFunctions";
});

}  // namespace
}  // namespace millstream
