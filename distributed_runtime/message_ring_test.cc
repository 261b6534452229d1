#include "distributed_runtime/message_ring.h"

#include <unistd.h>

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "distributed_runtime/shared_region.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

// Both ends of a ring in one mapping.
class MessageRingTest : public ::testing::Test {
 protected:
  RingHead& head() { return *reinterpret_cast<RingHead*>(region_->data()); }
  std::string TakeText() {
    std::string message;
    const StatusOr<bool> taken = in_.Take(&message);
    EXPECT_TRUE(taken.ok()) << taken.status();
    return taken.ok() && *taken ? message : "nothing";
  }
  RingWriter::Result Fill() {
    RingWriter::Result result = RingWriter::Result::kWritten;
    while (result == RingWriter::Result::kWritten) result = out_.Write(std::string(1000, 'x'));
    return result;
  }

  const std::shared_ptr<SharedRegion> region_ = SharedRegion::Create(kRingSize);
  RingWriter out_{region_->data()};
  RingReader in_{region_->data()};
};

TEST_F(MessageRingTest, MessagesComeInTheirOrderRoundAndRound) {
  std::mt19937 random(1);
  std::vector<std::string> sent;
  size_t taken = 0;
  for (int i = 0; i < 5000; ++i) {
    const std::string message(random() % 5000, static_cast<char>('a' + i % 26));
    ASSERT_EQ(out_.Write(message), RingWriter::Result::kWritten);
    sent.push_back(message);
    while (taken < sent.size() && random() % 8 != 0) {
      ASSERT_TRUE(TakeText() == sent[taken++]);
    }
    if (sent.size() - taken > 20) {
      ASSERT_TRUE(TakeText() == sent[taken++]);
    }
  }
  while (taken < sent.size()) {
    ASSERT_TRUE(TakeText() == sent[taken++]);
  }
  EXPECT_EQ(TakeText(), "nothing");
  EXPECT_TRUE(in_.IsEmpty());
}

TEST_F(MessageRingTest, AFullRingHasRoomAgainWhenAMessageIsTaken) {
  EXPECT_EQ(Fill(), RingWriter::Result::kNoRoom);
  EXPECT_EQ(TakeText(), std::string(1000, 'x'));
  EXPECT_EQ(out_.Write(std::string(1000, 'y')), RingWriter::Result::kWritten);
  EXPECT_EQ(out_.Write(std::string(1000, 'z')), RingWriter::Result::kNoRoom);
}

TEST_F(MessageRingTest, LongMessagesDoNotGoThroughTheRing) {
  const std::string longest(RingHead::kMostMessage, 'x');
  EXPECT_EQ(out_.Write(longest + "y"), RingWriter::Result::kNoRoom);
  EXPECT_EQ(out_.Write(longest), RingWriter::Result::kWritten);
  EXPECT_TRUE(TakeText() == longest);
}

TEST_F(MessageRingTest, NumbersOfTheOtherProcessAreChecked) {
  std::string message;
  for (const uint64_t written : {uint64_t{4}, RingHead::kBytes + 8, ~uint64_t{7}}) {
    head().written.store(written);
    EXPECT_EQ(in_.Take(&message).status().code(), absl::StatusCode::kInvalidArgument) << written;
  }
  head().written.store(0);
  for (const uint64_t read : {uint64_t{8}, RingHead::kBytes}) {
    head().read.store(read);
    EXPECT_EQ(out_.Write("x"), RingWriter::Result::kBroken) << read;
  }
}

TEST_F(MessageRingTest, ASizeThatIsNotThereIsRefused) {
  std::string message;
  for (const uint64_t size : {uint64_t{9}, RingHead::kBytes, ~uint64_t{0}}) {
    std::memcpy(region_->data() + sizeof(RingHead), &size, sizeof(size));
    head().written.store(16);
    EXPECT_EQ(in_.Take(&message).status().code(), absl::StatusCode::kInvalidArgument) << size;
  }
}

TEST_F(MessageRingTest, WhoComesTooLateToSleepStaysAwake) {
  const uint32_t before = in_.SetSleeper(RingSleeper::kReader);
  out_.Wake();
  in_.Sleep(RingSleeper::kReader, before, absl::InfiniteDuration());
  const uint32_t again = in_.SetSleeper(RingSleeper::kReader);
  in_.Nudge();
  in_.Sleep(RingSleeper::kReader, again, absl::InfiniteDuration());
  const uint32_t last = in_.SetSleeper(RingSleeper::kHelper);
  in_.WakeAll();
  in_.Sleep(RingSleeper::kHelper, last, absl::InfiniteDuration());
  EXPECT_NE(before, last);
}

TEST_F(MessageRingTest, AMessageOfAQuietRingWakesAReaderWhenItIsRoused) {
  const uint32_t quiet = in_.SetSleeper(RingSleeper::kNobody);
  ASSERT_EQ(out_.Write("one"), RingWriter::Result::kWritten);
  out_.Wake();
  EXPECT_EQ(in_.sleeper(), quiet);
  in_.Rouse(quiet);
  in_.Sleep(RingSleeper::kReader, quiet, absl::InfiniteDuration());
  EXPECT_NE(in_.sleeper() & RingHead::kSleepers, 0);  // the next message wakes it
}

TEST_F(MessageRingTest, ARingThatSomebodyReadsIsNotRoused) {
  const uint32_t quiet = in_.SetSleeper(RingSleeper::kNobody);
  const uint32_t helper = in_.SetSleeper(RingSleeper::kHelper);
  in_.Rouse(quiet);
  EXPECT_EQ(in_.sleeper(), helper);
}

// Sleeps whenever the ring is empty.
void ReadSleepily(RingReader* in, int count, RingSleeper who) {
  std::string message;
  for (int i = 0; i < count; ++i) {
    while (true) {
      const StatusOr<bool> taken = in->Take(&message);
      ASSERT_TRUE(taken.ok()) << taken.status();
      if (*taken) break;
      const uint32_t number = in->SetSleeper(who);
      if (in->IsEmpty()) in->Sleep(who, number, absl::InfiniteDuration());
    }
    ASSERT_EQ(message, absl::StrCat(i));
  }
}

// The two ends map the memory at two places, as processes do.
TEST_F(MessageRingTest, EveryMessageWakesWhoSleeps) {
  constexpr int kMessages = 20000;
  const std::shared_ptr<SharedRegion> other =
      SharedRegion::Map(dup(region_->descriptor()), region_->size());
  ASSERT_NE(other, nullptr);
  for (const RingSleeper who : {RingSleeper::kReader, RingSleeper::kHelper}) {
    RingReader in(other->data());
    RingWriter out(region_->data());
    head().written.store(0);
    head().read.store(0);
    std::thread reader([&] { ReadSleepily(&in, kMessages, who); });
    for (int i = 0; i < kMessages; ++i) {
      const std::string message = absl::StrCat(i);
      while (out.Write(message) == RingWriter::Result::kNoRoom) std::this_thread::yield();
      out.Wake();
    }
    reader.join();
  }
}

}  // namespace
}  // namespace millstream
