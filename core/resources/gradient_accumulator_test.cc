#include "core/resources/gradient_accumulator.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// One take, and what has come of it.
struct Attempt {
  bool is_over = false;
  Status status;
  std::vector<int64_t> indices;
  std::vector<float> values;
  Shape shape;

  GradientAccumulator::Callback Callback() {
    return [this](const Status& result, const Gradient& gradient) {
      EXPECT_FALSE(is_over);
      is_over = true;
      status = result;
      if (!result.ok()) return;
      shape = gradient.values.shape();
      for (const float value : gradient.values.flat<float>()) values.push_back(value);
      if (!gradient.indices.has_value()) return;
      for (const int64_t index : gradient.indices.flat<int64_t>()) indices.push_back(index);
    };
  }
};

Gradient Dense(const std::vector<float>& values) { return {{}, Tensor::Vector<float>(values)}; }

class GradientAccumulatorTest : public ::testing::Test {
 protected:
  void Make(const PartialShape& shape, bool is_sparse, bool takes_mean) {
    AccumulatorSpec spec;
    spec.dtype = DataType::kFloat;
    spec.shape = shape;
    spec.is_sparse = is_sparse;
    spec.takes_mean = takes_mean;
    accumulator = MakeResource<GradientAccumulator>("a", spec);
  }
  void MakeDense(bool takes_mean = true) { Make(PartialShape({2}), false, takes_mean); }
  void MakeSparse(bool takes_mean = true) { Make(PartialShape({4, 2}), true, takes_mean); }
  void Apply(const Gradient& gradient, int64_t local_step = 0) {
    EXPECT_EQ(accumulator->Apply(local_step, gradient), absl::OkStatus());
  }
  static Gradient Rows(const std::vector<int64_t>& indices, const std::vector<float>& values) {
    const auto count = static_cast<int64_t>(indices.size());
    return {Tensor::Vector<int64_t>(indices), Tensor::FromValues<float>(Shape({count, 2}), values)};
  }
  void Take(int64_t num_required, Attempt* attempt) {
    accumulator->Take(attempt, num_required, attempt->Callback());
  }
  void ExpectCounts(int64_t applied, int64_t dropped) {
    const GradientCounts counts = accumulator->counts();
    EXPECT_EQ(counts.applied, applied);
    EXPECT_EQ(counts.dropped, dropped);
  }
  void ExpectRefused(const Gradient& gradient, const std::string& text) {
    const Status status = accumulator->Apply(0, gradient);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
  }

  ResourceRef<GradientAccumulator> accumulator;
};

TEST_F(GradientAccumulatorTest, GivesTheMean) {
  MakeDense();
  Apply(Dense({1, 2}));
  Apply(Dense({3, 8}));
  EXPECT_EQ(accumulator->num_accumulated(), 2);
  Attempt take;
  Take(1, &take);
  EXPECT_THAT(take.values, ElementsAre(2, 5));
  EXPECT_EQ(accumulator->num_accumulated(), 0);
}

TEST_F(GradientAccumulatorTest, MayGiveTheSum) {
  MakeDense(false);
  Apply(Dense({1, 2}));
  Apply(Dense({3, 8}));
  Attempt take;
  Take(2, &take);
  EXPECT_THAT(take.values, ElementsAre(4, 10));
}

TEST_F(GradientAccumulatorTest, ATakeWaitsForEnough) {
  MakeDense();
  Attempt first;
  Attempt second;
  Take(2, &first);
  Take(1, &second);
  Apply(Dense({1, 1}));
  EXPECT_FALSE(first.is_over);
  Apply(Dense({3, 3}));
  EXPECT_THAT(first.values, ElementsAre(2, 2));
  EXPECT_FALSE(second.is_over);
  Apply(Dense({7, 7}), 1);
  EXPECT_THAT(second.values, ElementsAre(7, 7));
}

TEST_F(GradientAccumulatorTest, AMillionTakesMayWait) {
  constexpr int kCount = 1'000'000;
  MakeDense();
  std::vector<char> tickets(kCount);
  int num_taken = 0;
  int num_cancelled = 0;
  for (char& ticket : tickets) {
    accumulator->Take(&ticket, 1, [&](const Status& status, const Gradient&) {
      num_taken += status.ok() ? 1 : 0;
      num_cancelled += absl::IsCancelled(status) ? 1 : 0;
    });
  }
  for (int i = 0; i < kCount / 4; ++i) {
    accumulator->Cancel(&tickets[i]);               // the oldest
    accumulator->Cancel(&tickets[kCount - 1 - i]);  // the newest
  }
  EXPECT_EQ(num_cancelled, kCount / 2);
  Apply(Dense({1, 2}));
  EXPECT_EQ(num_taken, 1);
  accumulator->Drop();
  EXPECT_EQ(num_taken + num_cancelled, kCount);
}

TEST_F(GradientAccumulatorTest, GradientsOfEarlierStepsAreDropped) {
  MakeDense();
  Apply(Dense({1, 1}));
  Attempt take;
  Take(1, &take);
  Apply(Dense({5, 5}), 0);  // now it is at step 1
  EXPECT_EQ(accumulator->num_accumulated(), 0);
  Apply(Dense({5, 5}), 1);
  EXPECT_EQ(accumulator->num_accumulated(), 1);
  accumulator->SetGlobalStep(7);
  Apply(Dense({5, 5}), 6);
  EXPECT_EQ(accumulator->num_accumulated(), 1);
}

TEST_F(GradientAccumulatorTest, CountsWhatItAddedAndWhatItDropped) {
  MakeDense();
  ExpectCounts(0, 0);
  Apply(Dense({1, 1}));
  Apply(Dense({2, 2}));
  Attempt take;
  Take(2, &take);
  ExpectCounts(2, 0);  // a take changes neither
  Apply(Dense({5, 5}), 0);
  Apply(Dense({5, 5}), 0);
  Apply(Dense({5, 5}), 1);
  ExpectCounts(3, 2);
  ExpectRefused({{}, Tensor::Vector<int32_t>({1, 2})}, "type float32, got int32");
  EXPECT_FALSE(accumulator->Apply(1, Dense({1, 2, 3})).ok());
  ExpectCounts(3, 2);  // what is refused is neither
}

TEST_F(GradientAccumulatorTest, CountsGradientsOfRows) {
  MakeSparse();
  accumulator->SetGlobalStep(4);
  Apply(Rows({3, 1}, {1, 1, 2, 2}), 3);
  Apply(Rows({3, 1}, {1, 1, 2, 2}), 4);
  Apply(Rows({}, {}), 4);
  ExpectCounts(2, 1);
}

TEST_F(GradientAccumulatorTest, RefusesOtherTypesAndShapes) {
  MakeDense();
  ExpectRefused(Dense({1, 2, 3}), "Shape mismatch: expected [2], got [3]");
  ExpectRefused({{}, Tensor::Vector<int32_t>({1, 2})}, "type float32, got int32");
  Make(PartialShape(), false, true);
  Apply(Dense({1, 2, 3}));
  ExpectRefused(Dense({1, 2}), "Shape mismatch: expected [3], got [2]");
}

TEST_F(GradientAccumulatorTest, ARowsMeanIsOfTheGradientsThatHaveIt) {
  MakeSparse();
  Apply(Rows({3, 1}, {1, 1, 2, 2}));
  Apply(Rows({1}, {4, 8}));
  Attempt take;
  Take(2, &take);
  EXPECT_THAT(take.indices, ElementsAre(1, 3));
  EXPECT_THAT(take.values, ElementsAre(3, 5, 1, 1));
  EXPECT_EQ(take.shape, Shape({2, 2}));
}

TEST_F(GradientAccumulatorTest, RowsMayBeAddedUp) {
  MakeSparse(false);
  Apply(Rows({1, 1}, {1, 2, 3, 4}));
  Apply(Rows({1}, {10, 10}));
  Attempt take;
  Take(2, &take);
  EXPECT_THAT(take.indices, ElementsAre(1));
  EXPECT_THAT(take.values, ElementsAre(14, 16));
}

TEST_F(GradientAccumulatorTest, GradientsMayHaveNoRows) {
  MakeSparse();
  Apply(Rows({}, {}));
  Attempt take;
  Take(1, &take);
  EXPECT_THAT(take.values, IsEmpty());
  EXPECT_EQ(take.shape, Shape({0, 2}));
}

TEST_F(GradientAccumulatorTest, RefusesRowsThatDoNotFit) {
  MakeSparse();
  ExpectRefused(Rows({4}, {1, 1}), "indices[0] = 4 is not in [0, 4)");
  ExpectRefused(Rows({-1}, {1, 1}), "indices[0] = -1");
  ExpectRefused({Tensor::Scalar<int64_t>(1), Tensor::Vector<float>({1, 1})}, "should be vector");
  ExpectRefused({Tensor::Vector<int64_t>({1}), Tensor::Of<float>(Shape({2, 2}), {1, 1, 1, 1})},
                "a value for each of 1 indices");
  ExpectRefused({Tensor::Vector<int64_t>({1}), Tensor::Of<float>(Shape({1, 3}), {1, 1, 1})},
                "Shape mismatch: expected [4,2]");
}

TEST_F(GradientAccumulatorTest, ACancelledTakeMakesWayForTheNext) {
  MakeDense();
  Attempt cancelled;
  Attempt next;
  Take(5, &cancelled);
  Take(1, &next);
  Apply(Dense({1, 2}));
  EXPECT_FALSE(next.is_over);
  accumulator->Cancel(&cancelled);
  EXPECT_EQ(cancelled.status.code(), absl::StatusCode::kCancelled);
  EXPECT_THAT(next.values, ElementsAre(1, 2));
  accumulator->Cancel(&cancelled);
}

TEST_F(GradientAccumulatorTest, ADroppedAccumulatorIsAsNew) {
  MakeDense();
  Apply(Dense({1, 2}));
  accumulator->SetGlobalStep(3);
  Apply(Dense({1, 2}), 2);
  ExpectCounts(1, 1);
  Attempt take;
  Take(2, &take);
  accumulator->Drop();
  EXPECT_EQ(take.status.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(accumulator->num_accumulated(), 0);
  ExpectCounts(0, 0);
  Apply(Dense({1, 2}), 0);
  EXPECT_EQ(accumulator->num_accumulated(), 1);
  ExpectCounts(1, 0);
}

}  // namespace
}  // namespace millstream
