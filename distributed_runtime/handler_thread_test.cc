#include "distributed_runtime/handler_thread.h"

#include <thread>

#include "gtest/gtest.h"

namespace millstream {
namespace {

// Counts what it is asked for.
class Counting final : public HandlerThread::Owner {
 public:
  void HandOver() override { ++hand_overs; }
  void Help(absl::FunctionRef<bool()> is_done) override {
    ++helps;
    EXPECT_TRUE(is_done());
  }
  int hand_overs = 0;
  int helps = 0;
};

bool Done() { return true; }

TEST(HandlerThreadTest, AThreadIsKeptOnceByItsHandler) {
  Counting owner;
  EXPECT_FALSE(HandlerThread::Keep());
  {
    const HandlerThread::Scope scope(&owner);
    HandlerThread::Help(&Done);
    EXPECT_EQ(owner.helps, 0);  // it is not kept as yet
    EXPECT_TRUE(HandlerThread::Keep());
    EXPECT_FALSE(HandlerThread::Keep());
    HandlerThread::Help(&Done);
  }
  EXPECT_EQ(owner.hand_overs, 1);
  EXPECT_EQ(owner.helps, 1);
  EXPECT_FALSE(HandlerThread::Keep());
  HandlerThread::Help(&Done);
  EXPECT_EQ(owner.helps, 1);
}

TEST(HandlerThreadTest, AnAnswerIsGivenBeforeTheThreadReads) {
  Counting owner;
  int answers = 0;
  const auto answer = [&] {
    EXPECT_EQ(owner.helps, 0);
    ++answers;
  };
  const HandlerThread::Scope scope(&owner);
  HandlerThread::AnswerAndHelp(answer, &Done);  // it is not kept as yet
  EXPECT_EQ(owner.helps, 0);
  EXPECT_TRUE(HandlerThread::Keep());
  HandlerThread::AnswerAndHelp(answer, &Done);
  EXPECT_EQ(owner.helps, 1);
  EXPECT_EQ(answers, 2);
}

TEST(HandlerThreadTest, HandlersThatAreCalledInTheMeantimeKeepNothing) {
  Counting owner;
  const HandlerThread::Scope scope(&owner);
  {
    const HandlerThread::Scope nobody(nullptr);
    EXPECT_FALSE(HandlerThread::Keep());
  }
  std::thread([] { EXPECT_FALSE(HandlerThread::Keep()); }).join();
  EXPECT_EQ(owner.hand_overs, 0);
  EXPECT_TRUE(HandlerThread::Keep());
}

}  // namespace
}  // namespace millstream
