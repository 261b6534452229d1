// Barriers between the steps of a session.
#include <string>
#include <thread>
#include <vector>

#include "core/testing/session_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kCancelled = absl::StatusCode::kCancelled;
constexpr auto kOutOfRange = absl::StatusCode::kOutOfRange;
constexpr auto kFloat = DataType::kFloat;
using Types = std::vector<DataType>;

// A barrier of elements of a float and a text.
class BarriersTest : public SessionTest {
 protected:
  BarriersTest() {
    const auto node = TryNode("b", "_Barrier", {}, {{"component_types", types}});
    EXPECT_TRUE(node.ok()) << node.status();
    barrier = (*node)->output(0);
  }
  const Node* Added(const Node* node) {
    EXPECT_TRUE(build.ok()) << build.status();
    return node;
  }
  const Node* Insert(int64_t component, const std::vector<std::string>& keys,
                     const Output& values) {
    return Added(build.NodeOf("_BarrierInsertMany",
                              {barrier, Constant(Values<std::string>(keys)), values},
                              {{"component_index", component}}));
  }
  const Node* Numbers(const std::vector<std::string>& keys, const std::vector<float>& values) {
    return Insert(0, keys, Constant(Values<float>(values)));
  }
  const Node* Texts(const std::vector<std::string>& keys, const std::vector<std::string>& values) {
    return Insert(1, keys, Constant(Values<std::string>(values)));
  }
  const Node* Take(int32_t count, bool allow_small = false, bool wait_for_incomplete = false) {
    return Added(build.NodeOf("_BarrierTakeMany", {barrier, build.Int32(count)},
                              {{"component_types", types},
                               {"allow_small_batch", allow_small},
                               {"wait_for_incomplete", wait_for_incomplete}}));
  }
  const Node* Close(bool cancel = false) {
    return Added(build.NodeOf("_BarrierClose", {barrier}, {{"cancel_pending_enqueues", cancel}}));
  }
  int Size(const std::string& op) { return *Value(Op(op, {barrier})).data<int32_t>(); }
  // The keys that a take gives.
  std::vector<std::string> Keys(const Node* take) {
    return Elements<std::string>(Value(take->output(1)));
  }

  const Types types = {kFloat, DataType::kString};
  Output barrier;
};

TEST_F(BarriersTest, ElementsComeOutWhenTheyAreComplete) {
  EXPECT_EQ(Execute({Numbers({"a", "b", "c"}, {1, 2, 3})}), absl::OkStatus());
  EXPECT_EQ(Execute({Texts({"c", "a"}, {"C", "A"})}), absl::OkStatus());
  EXPECT_EQ(Size("_BarrierReadySize"), 2);
  EXPECT_EQ(Size("_BarrierIncompleteSize"), 1);
  const Node* const take = Take(2);
  const auto result = Run({take->output(0), take->output(1), take->output(2), take->output(3)});
  ASSERT_TRUE(result.ok()) << result.status();
  const std::vector<int64_t> indices = Elements<int64_t>((*result)[0]);
  EXPECT_EQ(indices[1], indices[0] + 2) << "the third key";
  EXPECT_THAT(Elements<std::string>((*result)[1]), ElementsAre("a", "c"));
  EXPECT_THAT(Elements<float>((*result)[2]), ElementsAre(1, 3));
  EXPECT_THAT(Elements<std::string>((*result)[3]), ElementsAre("A", "C"));
}

TEST_F(BarriersTest, ATakeWaitsForOtherSteps) {
  const Node* const take = Take(1);
  const std::vector<const Node*> inserts = {Numbers({"a"}, {1}), Texts({"a"}, {"A"})};
  StartSession();
  StatusOr<std::vector<Tensor>> result = absl::UnknownError("has not run");
  std::thread taker([&] { result = Run({take->output(1)}); });
  for (const Node* insert : inserts) EXPECT_EQ(Execute({insert}), absl::OkStatus());
  taker.join();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(Elements<std::string>(result->front()), ElementsAre("a"));
}

TEST_F(BarriersTest, ATimeLimitSaysWhatTheStepWaitsFor) {
  RunOptions options;
  options.timeout_ms = 30;
  ExpectError(Run({Take(1)->output(1)}, {}, {}, options).status(),
              absl::StatusCode::kDeadlineExceeded, {"waits for more elements of barrier 'b'"});
}

TEST_F(BarriersTest, AClosedBarrierCompletesWhatItHas) {
  EXPECT_EQ(Execute({Numbers({"a", "b"}, {1, 2})}), absl::OkStatus());
  EXPECT_EQ(Execute({Texts({"a"}, {"A"})}), absl::OkStatus());
  EXPECT_EQ(Execute({Close()}), absl::OkStatus());
  ExpectError(Execute({Close()}), kCancelled, {"is already closed"});
  ExpectError(Execute({Numbers({"c"}, {3})}), kCancelled, {"brand new key: c"});
  ExpectError(Error(Take(3)->output(1)), kOutOfRange, {"(requested 3, total size 2)"});
  EXPECT_THAT(Keys(Take(3, true)), ElementsAre("a"));
  EXPECT_EQ(Execute({Texts({"b"}, {"B"})}), absl::OkStatus());
  EXPECT_THAT(Keys(Take(3, true, true)), ElementsAre("b"));
  ExpectError(Error(Take(1, true)->output(1)), kOutOfRange, {"(requested 1, total size 0)"});
}

TEST_F(BarriersTest, ClosingMayDropWhatIsNotComplete) {
  EXPECT_EQ(Execute({Numbers({"a"}, {1})}), absl::OkStatus());
  EXPECT_EQ(Execute({Close(true)}), absl::OkStatus());
  EXPECT_EQ(Size("_BarrierIncompleteSize"), 0);
  ExpectError(Execute({Texts({"a"}, {"A"})}), kCancelled, {"is closed"});
  ExpectError(Error(Take(1)->output(1)), kOutOfRange, {"total size 0"});
}

TEST_F(BarriersTest, RefusesWhatDoesNotFit) {
  EXPECT_EQ(Execute({Numbers({"a"}, {1})}), absl::OkStatus());
  ExpectError(Execute({Numbers({"a"}, {1})}), kInvalid,
              {"Key a already has a value for component 0"});
  ExpectError(Execute({Numbers({"b"}, {1, 2})}), kInvalid, {"a row for each of the keys"});
  ExpectError(Execute({Insert(2, {"b"}, Constant(Values<float>({1})))}), kInvalid,
              {"'component_index' = 2 is not in [0, 2)"});
  ExpectError(Execute({Insert(1, {"b"}, Constant(Values<float>({1})))}), kInvalid,
              {"'values' has type float32, component 1 has string"});
  ExpectError(Error(Take(-1)->output(1)), kInvalid, {"'num_elements'"});
  const auto limited =
      TryNode("limited", "_Barrier", {}, {{"component_types", types}, {"capacity", 5}});
  ASSERT_TRUE(limited.ok()) << limited.status();
  ExpectError(Error(Op("_BarrierReadySize", {(*limited)->output(0)})), kInvalid,
              {"'capacity' must be -1"});
  const Node* const other = Added(build.NodeOf("_BarrierTakeMany", {barrier, build.Int32(1)},
                                               {{"component_types", Types{kFloat}}}));
  ExpectError(Error(other->output(1)), kInvalid, {"has 2 components", "the op has 1"});
}

}  // namespace
}  // namespace millstream
