// Lines of waiting operations, and how often they are tried however many there are.
#include "core/resources/waiting_list.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/resources/resource_manager.h"
#include "core/resources/staging.h"
#include "framework/tensor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Puts wait for room, takes for elements: a queue of nothing but a count.
class Counted {
 public:
  explicit Counted(int64_t capacity) : capacity_(capacity) {}

  void Put() {
    Add(
        kPut, "put", [this] { return count_ < capacity_; }, 1, kTake);
  }
  void Take() {
    Add(
        kTake, "take", [this] { return count_ > 0; }, -1, kPut);
  }
  void Cancel(int64_t number) {
    list_.Cancel(TicketOf(number), errors::Cancelled("cancelled"), &ended_);
    list_.Advance(&ended_);
    ended_.Tell();
  }
  void CancelAll() {
    list_.CancelAll(errors::Cancelled("cancelled"), &ended_);
    ended_.Tell();
  }

  int64_t attempts() const { return attempts_; }
  // "put 0", in the order in which they ended.
  std::vector<std::string> TakeDone() { return std::exchange(done_, {}); }

 private:
  static constexpr WaitingList::Line kPut = {0, 0};
  static constexpr WaitingList::Line kTake = {1, 0};

  static WaitingList::Ticket TicketOf(int64_t number) {
    return reinterpret_cast<WaitingList::Ticket>(number + 1);
  }
  template <typename Possible>
  void Add(WaitingList::Line line, const char* name, Possible possible, int64_t change,
           WaitingList::Line helped) {
    const int64_t number = next_++;
    list_.Add(
        TicketOf(number), line,
        [=](Status*) {
          ++attempts_;
          if (!possible()) return false;
          count_ += change;
          list_.Wake(helped);
          return true;
        },
        [=](const Status& status) {
          done_.push_back(absl::StrCat(name, " ", number, status.ok() ? "" : " cancelled"));
        });
    list_.Advance(&ended_);
    ended_.Tell();
  }

  const int64_t capacity_;
  int64_t count_ = 0;
  int64_t next_ = 0;
  int64_t attempts_ = 0;
  std::vector<std::string> done_;
  WaitingList list_;
  WaitingList::Ended ended_;
};

TEST(WaitingListTest, OperationsOfALineEndInTheirOrder) {
  Counted counted(1);
  counted.Take();
  counted.Take();
  EXPECT_THAT(counted.TakeDone(), IsEmpty());
  counted.Put();
  EXPECT_THAT(counted.TakeDone(), ElementsAre("put 2", "take 0"));
  counted.Put();
  EXPECT_THAT(counted.TakeDone(), ElementsAre("put 3", "take 1"));
  counted.Put();
  counted.Put();
  EXPECT_THAT(counted.TakeDone(), ElementsAre("put 4"));
  counted.Take();
  EXPECT_THAT(counted.TakeDone(), ElementsAre("take 6", "put 5"));
}

TEST(WaitingListTest, WhatIsCancelledDoesNotKeepOthersWaiting) {
  Counted counted(0);
  counted.Put();
  counted.Put();
  counted.Cancel(0);
  EXPECT_THAT(counted.TakeDone(), ElementsAre("put 0 cancelled"));
  counted.Cancel(0);
  counted.Cancel(17);
  EXPECT_THAT(counted.TakeDone(), IsEmpty());
  counted.Take();
  counted.CancelAll();
  EXPECT_THAT(counted.TakeDone(), ElementsAre("put 1 cancelled", "take 2 cancelled"));
}

// An operation is tried when it comes, when something may help it, and no other time.
TEST(WaitingListTest, AttemptsDoNotGrowWithTheSquareOfWhatWaits) {
  constexpr int64_t kMany = 20000;
  Counted takers(kMany);
  for (int64_t i = 0; i < kMany; ++i) takers.Take();
  for (int64_t i = 0; i < kMany; ++i) takers.Put();
  EXPECT_EQ(takers.TakeDone().size(), 2 * kMany);
  EXPECT_LE(takers.attempts(), 5 * kMany);
  Counted givers(1);
  for (int64_t i = 0; i < kMany; ++i) givers.Put();
  for (int64_t i = 0; i < kMany; ++i) givers.Take();
  EXPECT_EQ(givers.TakeDone().size(), 2 * kMany);
  EXPECT_LE(givers.attempts(), 6 * kMany);
  Counted cancelled(0);
  for (int64_t i = 0; i < kMany; ++i) cancelled.Put();
  for (int64_t i = 0; i < kMany; ++i) cancelled.Cancel(i);
  EXPECT_EQ(cancelled.TakeDone().size(), kMany);
  EXPECT_LE(cancelled.attempts(), 3 * kMany);
}

TEST(WaitingListTest, LinesOfAKindAreTriedFromTheOldestOn) {
  WaitingList list;
  WaitingList::Ended ended;
  std::vector<int64_t> tried;
  int64_t room = 0;
  const auto add = [&](int64_t key) {
    list.Add(
        &tried + tried.size() + static_cast<size_t>(10 * key), {0, key},
        [&tried, &room, key](Status*) {
          tried.push_back(key);
          return room > 0 && room-- > 0;
        },
        [](const Status&) {});
    list.Advance(&ended);
  };
  for (const int64_t key : {7, 3, 5}) add(key);
  tried.clear();
  room = 1;
  list.WakeAll(0, /*stops=*/true);
  list.Advance(&ended);
  EXPECT_THAT(tried, ElementsAre(7, 3));
  tried.clear();
  list.WakeAll(0, /*stops=*/false);
  list.Advance(&ended);
  EXPECT_THAT(tried, ElementsAre(3, 5));
  list.CancelAll(errors::Cancelled("over"), &ended);
}

// Of a map whose one place is taken, each put that gets it lets the others wait on.
TEST(WaitingListTest, AMapOfManyWaitingPutsIsFilledOneByOne) {
  constexpr int64_t kMany = 20000;
  StagingSpec spec;
  spec.capacity = 1;
  const auto map = MakeResource<StagingMap>("map", spec);
  std::vector<int64_t> put;
  for (int64_t key = 0; key < kMany; ++key) {
    map->Put(&put + key, key, 1, {0}, {Tensor::Scalar<int64_t>(key)},
             [&put, key](const Status& status) {
               ASSERT_TRUE(status.ok()) << status;
               put.push_back(key);
             });
  }
  EXPECT_THAT(put, ElementsAre(0));
  for (int64_t key = 0; key < kMany; ++key) {
    StagedTensors taken;
    map->Get(&taken, key, {0}, &taken, [](const Status& status) { ASSERT_TRUE(status.ok()); });
    ASSERT_EQ(taken.size(), 1u);
    ASSERT_EQ(*taken[0].data<int64_t>(), key);
  }
  EXPECT_EQ(put.size(), static_cast<size_t>(kMany));
}

}  // namespace
}  // namespace millstream
