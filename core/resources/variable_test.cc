#include "core/resources/variable.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "framework/plugin/host_tensor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

constexpr int kThreads = 4;

Tensor Filled(float value, int64_t count = 4) {
  return Tensor::Vector<float>(std::vector<float>(count, value));
}

class VariableTest : public ::testing::Test {
 protected:
  Variable variable_{"", "w", DataType::kFloat, PartialShape({-1})};
};

TEST_F(VariableTest, HasNoValueAtFirst) {
  EXPECT_FALSE(variable_.IsInitialized());
  const Status status = variable_.Read().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("uninitialized value w"));
}

TEST_F(VariableTest, WithoutElementsItAlwaysHasItsValue) {
  Variable empty("", "empty", DataType::kFloat, PartialShape(Shape({0, 2})));
  EXPECT_TRUE(empty.IsInitialized());
  EXPECT_EQ(empty.Read()->shape(), Shape({0, 2}));
  EXPECT_TRUE(empty.Destroy().ok());
  EXPECT_TRUE(empty.IsInitialized());
  Variable unknown("", "unknown", DataType::kFloat, PartialShape::UnknownOfRank(2));
  EXPECT_FALSE(unknown.IsInitialized());
}

TEST_F(VariableTest, AReaderKeepsTheValueThatItRead) {
  ASSERT_EQ(variable_.Assign(Filled(1)), absl::OkStatus());
  const Tensor before = variable_.Read().value();
  ASSERT_EQ(variable_.Assign(Filled(2)), absl::OkStatus());
  EXPECT_TRUE(TensorsEqual(before, Filled(1)));
  EXPECT_TRUE(TensorsEqual(variable_.Read().value(), Filled(2)));
}

TEST_F(VariableTest, AssigningReusesMemoryThatNobodyElseHolds) {
  ASSERT_EQ(variable_.Assign(Filled(1)), absl::OkStatus());
  const void* const memory = variable_.Read().value().raw();
  ASSERT_EQ(variable_.Assign(Filled(2)), absl::OkStatus());
  EXPECT_EQ(variable_.Read().value().raw(), memory);
}

TEST_F(VariableTest, TheAssignedTensorStaysItsOwners) {
  const Tensor value = Filled(1);
  ASSERT_EQ(variable_.Assign(value), absl::OkStatus());
  value.data<float>()[0] = 9;
  EXPECT_TRUE(TensorsEqual(variable_.Read().value(), Filled(1)));
}

TEST_F(VariableTest, AssigningItsOwnValueChangesNothing) {
  ASSERT_EQ(variable_.Assign(Filled(3)), absl::OkStatus());
  ASSERT_EQ(variable_.Assign(variable_.Read().value()), absl::OkStatus());
  EXPECT_TRUE(TensorsEqual(variable_.Read().value(), Filled(3)));
}

TEST_F(VariableTest, ChangesItsShapeWithTheValue) {
  ASSERT_EQ(variable_.Assign(Filled(1, 4)), absl::OkStatus());
  ASSERT_EQ(variable_.Assign(Filled(2, 6)), absl::OkStatus());
  EXPECT_EQ(variable_.Read().value().shape(), Shape({6}));
}

TEST_F(VariableTest, HoldsStrings) {
  Variable names("", "names", DataType::kString, PartialShape({2}));
  ASSERT_EQ(names.Assign(Tensor::Vector<std::string>({"a", "b"})), absl::OkStatus());
  ASSERT_EQ(names.Assign(Tensor::Vector<std::string>({"c", "d"})), absl::OkStatus());
  EXPECT_EQ(names.Read().value().data<std::string>()[1], "d");
}

TEST_F(VariableTest, AWriterCopiesOnlyWhenSomebodyReads) {
  ASSERT_EQ(variable_.Assign(Filled(1)), absl::OkStatus());
  variable_.gate().Enter();
  const void* const alone = variable_.value().raw();
  ASSERT_EQ(variable_.PrepareWrite(), absl::OkStatus());
  EXPECT_EQ(variable_.value().raw(), alone);
  variable_.gate().Leave();

  const Tensor reader = variable_.Read().value();
  variable_.gate().Enter();
  ASSERT_EQ(variable_.PrepareWrite(), absl::OkStatus());
  EXPECT_NE(variable_.value().raw(), reader.raw());
  variable_.value().data<float>()[0] = 5;
  variable_.gate().Leave();
  EXPECT_TRUE(TensorsEqual(reader, Filled(1)));
}

TEST_F(VariableTest, AValueIsReplacedIfNobodyElseHasWritten) {
  ASSERT_EQ(variable_.Assign(Filled(1)), absl::OkStatus());
  const Tensor first = variable_.Read().value();
  EXPECT_TRUE(variable_.ReplaceIf(first, Filled(2, 6)));
  EXPECT_TRUE(TensorsEqual(variable_.Read().value(), Filled(2, 6)));
  EXPECT_FALSE(variable_.ReplaceIf(first, Filled(3)));
  EXPECT_TRUE(TensorsEqual(variable_.Read().value(), Filled(2, 6)));
  const Tensor second = variable_.Read().value();
  ASSERT_EQ(variable_.Destroy(), absl::OkStatus());
  EXPECT_FALSE(variable_.ReplaceIf(second, Filled(3)));
  EXPECT_FALSE(variable_.IsInitialized());
}

TEST_F(VariableTest, AValueIsDroppedIfNobodyElseHasWritten) {
  ASSERT_EQ(variable_.Assign(Filled(1)), absl::OkStatus());
  const Tensor first = variable_.Read().value();
  ASSERT_EQ(variable_.Assign(Filled(2)), absl::OkStatus());
  variable_.DropIf(first);
  EXPECT_TRUE(TensorsEqual(variable_.Read().value(), Filled(2)));
  variable_.DropIf(variable_.Read().value());
  EXPECT_FALSE(variable_.IsInitialized());
}

TEST_F(VariableTest, NoReplacementIsLostBetweenThreads) {
  constexpr int kEach = 200;
  ASSERT_EQ(variable_.Assign(Filled(0)), absl::OkStatus());
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([this] {
      for (int k = 0; k < kEach; ++k) {
        bool is_done = false;
        while (!is_done) {
          const Tensor value = variable_.Read().value();
          is_done = variable_.ReplaceIf(value, Filled(value.data<float>()[0] + 1));
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(TensorsEqual(variable_.Read().value(), Filled(static_cast<float>(kThreads * kEach))));
}

TEST_F(VariableTest, WhatIsKnownOfAValueGoesWithIt) {
  const auto is_known = [this] {
    const Tensor value = variable_.Read().value();
    return variable_.IsKnownFinite(PlaceOf(value));
  };
  const auto note = [this] { variable_.NoteFinite(variable_.Read().value()); };
  ASSERT_EQ(variable_.Assign(Filled(1)), absl::OkStatus());
  EXPECT_FALSE(is_known());
  note();
  EXPECT_TRUE(is_known());
  MS_MemRef place = PlaceOf(variable_.Read().value());
  place.bytes = 100;
  EXPECT_FALSE(variable_.IsKnownFinite(place));
  place.base = &variable_;
  place.bytes = 1;
  EXPECT_FALSE(variable_.IsKnownFinite(place));
  variable_.gate().Enter();
  ASSERT_EQ(variable_.PrepareWrite(), absl::OkStatus());
  variable_.gate().Leave();
  EXPECT_FALSE(is_known());
  note();
  ASSERT_EQ(variable_.Assign(Filled(2)), absl::OkStatus());
  EXPECT_FALSE(is_known());
  note();
  variable_.gate().Enter();
  variable_.Replace(Filled(3));
  variable_.gate().Leave();
  EXPECT_FALSE(is_known());
}

TEST_F(VariableTest, WhatIsFoundOfAnEarlierValueSaysNothingOfThisOne) {
  ASSERT_EQ(variable_.Assign(Filled(1)), absl::OkStatus());
  const Tensor before = variable_.Read().value();
  ASSERT_EQ(variable_.Assign(Filled(2)), absl::OkStatus());
  variable_.NoteFinite(before);
  const Tensor value = variable_.Read().value();
  EXPECT_FALSE(variable_.IsKnownFinite(PlaceOf(value)));
}

TEST_F(VariableTest, BoundsAreOfTheValueOfTheMoment) {
  const auto high = [this] {
    const std::optional<NumericBounds> bounds = variable_.BoundsOfValue().bounds;
    return bounds ? bounds->high : -1;
  };
  const auto write = [this] {
    variable_.gate().Enter();
    ASSERT_EQ(variable_.PrepareWrite(), absl::OkStatus());
    variable_.gate().Leave();
  };
  ASSERT_EQ(variable_.Assign(Filled(1)), absl::OkStatus());
  EXPECT_EQ(high(), -1);
  variable_.NoteFinite(variable_.Read().value(), NumericBounds{1, 2});
  EXPECT_EQ(high(), 2);
  variable_.NoteFinite(variable_.Read().value());  // who knows no bounds takes none away
  EXPECT_EQ(high(), 2);
  const uint64_t before = variable_.BoundsOfValue().num_writes;
  EXPECT_FALSE(variable_.NoteBoundsAfter(before, {1, 3}));  // nobody has written yet
  write();
  EXPECT_EQ(high(), -1);
  EXPECT_TRUE(variable_.NoteBoundsAfter(before, {1, 3}));
  EXPECT_EQ(high(), 3);
  const Tensor value = variable_.Read().value();
  EXPECT_TRUE(variable_.IsKnownFinite(PlaceOf(value)));
}

TEST_F(VariableTest, WhatAWriteMadeIsNotKnownWhenAnotherCameBetween) {
  ASSERT_EQ(variable_.Assign(Filled(1)), absl::OkStatus());
  const uint64_t before = variable_.BoundsOfValue().num_writes;
  ASSERT_EQ(variable_.Assign(Filled(2)), absl::OkStatus());
  variable_.gate().Enter();
  variable_.Replace(Filled(3));
  variable_.gate().Leave();
  EXPECT_FALSE(variable_.NoteBoundsAfter(before, {1, 3}));
  EXPECT_FALSE(variable_.BoundsOfValue().bounds.has_value());
  ASSERT_EQ(variable_.Destroy(), absl::OkStatus());
  EXPECT_FALSE(variable_.NoteBoundsAfter(variable_.BoundsOfValue().num_writes - 1, {1, 3}));
}

TEST_F(VariableTest, WritingNeedsAValue) {
  variable_.gate().Enter();
  EXPECT_EQ(variable_.PrepareWrite().code(), absl::StatusCode::kFailedPrecondition);
  variable_.gate().Leave();
}

TEST(GateTest, LetsOneInAtATime) {
  Gate gate;
  int64_t count = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20000; ++i) {
        gate.Enter();
        ++count;
        gate.Leave();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, 20000 * kThreads);
}

// Writers put one number everywhere; a torn value would hold two, a later one would change while
// the reader looks.
TEST_F(VariableTest, ReadersSeeWholeValuesThatStay) {
  ASSERT_EQ(variable_.Assign(Filled(0, 1000)), absl::OkStatus());
  std::atomic<bool> stop{false};
  std::vector<std::thread> writers;
  for (int t = 0; t < 2; ++t) {
    writers.emplace_back([&, t] {
      for (int i = 0; !stop; ++i) {
        if (t == 0) {
          EXPECT_EQ(variable_.Assign(Filled(static_cast<float>(i), 1000)), absl::OkStatus());
          continue;
        }
        variable_.gate().Enter();
        EXPECT_EQ(variable_.PrepareWrite(), absl::OkStatus());
        for (float& element : variable_.value().flat<float>()) element += 1;
        variable_.gate().Leave();
      }
    });
  }
  int torn = 0;
  for (int i = 0; i < 3000; ++i) {
    const Tensor seen = variable_.Read().value();
    const float first = seen.data<float>()[0];
    for (int look = 0; look < 2; ++look) {
      const auto elements = seen.flat<float>();
      torn += !std::all_of(elements.begin(), elements.end(), [&](float e) { return e == first; });
    }
  }
  stop = true;
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(torn, 0);
}

}  // namespace
}  // namespace millstream
