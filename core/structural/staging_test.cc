// Staging areas and maps between the steps of a session.
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
constexpr auto kLate = absl::StatusCode::kDeadlineExceeded;
constexpr auto kFloat = DataType::kFloat;
using Types = std::vector<DataType>;

class StagingTest : public SessionTest {
 protected:
  const Node* Added(const Node* node) {
    EXPECT_TRUE(build.ok()) << build.status();
    return node;
  }
  // A node on the area "s".
  const Node* On(const std::string& op, const std::vector<std::vector<Output>>& inputs,
                 const Types& dtypes) {
    return Added(build.Variadic(op, inputs,
                                {{"dtypes", dtypes},
                                 {"capacity", capacity},
                                 {"memory_limit", memory_limit},
                                 {"shared_name", std::string("s")}}));
  }
  const Node* Stage(float value) { return On("Stage", {{Constant(value)}}, {kFloat}); }
  Output Unstage() { return On("Unstage", {}, {kFloat})->output(0); }
  Output Peek(int32_t index) {
    return On("StagePeek", {{build.Int32(index)}}, {kFloat})->output(0);
  }
  // Stages components of an element of two floats.
  const Node* MapStage(int64_t key, const std::vector<int32_t>& indices,
                       const std::vector<float>& values, const std::string& op = "MapStage") {
    std::vector<Output> inputs;
    for (const float value : values) inputs.push_back(Constant(value));
    return Added(build.Variadic(op, {{Key(key)}, {build.Int32Vector(indices)}, inputs},
                                {{"dtypes", Types{kFloat, kFloat}},
                                 {"fake_dtypes", Types(values.size(), kFloat)},
                                 {"shared_name", std::string("s")}}));
  }
  const Node* MapUnstage(int64_t key, const std::vector<int32_t>& indices,
                         const std::string& op = "MapUnstage") {
    return On(op, {{Key(key)}, {build.Int32Vector(indices)}}, Types(indices.size(), kFloat));
  }
  Output Key(int64_t key) { return Constant(Tensor::Scalar(key)); }
  int Int(const std::string& op) { return *Value(On(op, {}, {kFloat})->output(0)).data<int32_t>(); }
  std::vector<float> Get(const Output& fetch) { return Elements<float>(Value(fetch)); }
  Status Late(const std::vector<Output>& fetches, const std::vector<const Node*>& targets = {}) {
    RunOptions options;
    options.timeout_ms = 30;
    return Run(fetches, {}, targets, options).status();
  }

  int64_t capacity = 0;
  int64_t memory_limit = 0;
};

TEST_F(StagingTest, ElementsComeOutInOrder) {
  EXPECT_EQ(Execute({Stage(1)}), absl::OkStatus());
  EXPECT_EQ(Execute({Stage(2)}), absl::OkStatus());
  EXPECT_EQ(Int("StageSize"), 2);
  EXPECT_THAT(Get(Peek(1)), ElementsAre(2));
  EXPECT_THAT(Get(Unstage()), ElementsAre(1));
  EXPECT_THAT(Get(Unstage()), ElementsAre(2));
  EXPECT_EQ(Int("StageSize"), 0);
}

TEST_F(StagingTest, AStepWaitsForAnElement) {
  const Output taken = Unstage();
  const Node* const stage = Stage(3);
  StartSession();
  StatusOr<std::vector<Tensor>> result = absl::UnknownError("has not run");
  std::thread taker([&] { result = Run({taken}); });
  EXPECT_EQ(Execute({stage}), absl::OkStatus());
  taker.join();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(Elements<float>(result->front()), ElementsAre(3));
}

TEST_F(StagingTest, AFullAreaMakesWait) {
  capacity = 1;
  EXPECT_EQ(Execute({Stage(1)}), absl::OkStatus());
  ExpectError(Late({}, {Stage(2)}), kLate, {"waits for room in staging area 's'"});
  EXPECT_EQ(Int("StageSize"), 1);
  EXPECT_EQ(Execute({On("StageClear", {}, {kFloat})}), absl::OkStatus());
  EXPECT_EQ(Int("StageSize"), 0);
  ExpectError(Late({Unstage()}), kLate, {"waits for an element of staging area 's'"});
}

TEST_F(StagingTest, AnElementThatNeverFitsIsRefused) {
  memory_limit = 2;
  ExpectError(Execute({Stage(1)}), kInvalid,
              {"combined size of '4' bytes", "memory limit of '2'", "(op Stage)"});
}

TEST_F(StagingTest, RefusesWhatDoesNotFit) {
  EXPECT_EQ(Execute({Stage(1)}), absl::OkStatus());
  ExpectError(Error(Peek(-1)), kInvalid, {"'index' must not be negative, got -1"});
  ExpectError(Error(On("Unstage", {}, {DataType::kInt32})->output(0)), kInvalid,
              {"has type int32, the staged tensor has float32"});
}

TEST_F(StagingTest, AnElementOfAMapIsCompleteWithAllComponents) {
  EXPECT_EQ(Execute({MapStage(7, {1}, {70})}), absl::OkStatus());
  EXPECT_EQ(Int("MapSize"), 0);
  EXPECT_EQ(Int("MapIncompleteSize"), 1);
  const Node* const taken = MapUnstage(7, {0, 1});
  ExpectError(Late({taken->output(0)}), kLate, {"waits for an element of staging map 's'"});
  EXPECT_EQ(Execute({MapStage(7, {0}, {7})}), absl::OkStatus());
  EXPECT_EQ(Int("MapSize"), 1);
  const auto result = Run({taken->output(0), taken->output(1)});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(Elements<float>((*result)[0]), ElementsAre(7));
  EXPECT_THAT(Elements<float>((*result)[1]), ElementsAre(70));
  EXPECT_EQ(Int("MapSize"), 0);
}

TEST_F(StagingTest, ComponentsMayBeTakenOneByOne) {
  EXPECT_EQ(Execute({MapStage(1, {0, 1}, {3, 4})}), absl::OkStatus());
  EXPECT_THAT(Get(MapUnstage(1, {1}, "MapPeek")->output(0)), ElementsAre(4));
  EXPECT_THAT(Get(MapUnstage(1, {1})->output(0)), ElementsAre(4));
  ExpectError(Error(MapUnstage(1, {1})->output(0)), kInvalid, {"has already been removed"});
  EXPECT_THAT(Get(MapUnstage(1, {0})->output(0)), ElementsAre(3));
  EXPECT_EQ(Int("MapSize"), 0);
}

TEST_F(StagingTest, AnOrderedMapGivesTheSmallestKeyFirst) {
  EXPECT_EQ(Execute({MapStage(9, {0, 1}, {90, 91}, "OrderedMapStage")}), absl::OkStatus());
  EXPECT_EQ(Execute({MapStage(-2, {0, 1}, {20, 21}, "OrderedMapStage")}), absl::OkStatus());
  EXPECT_EQ(Int("OrderedMapSize"), 2);
  EXPECT_EQ(Int("MapSize"), 0) << "another map";
  for (const int64_t key : {-2, 9}) {
    const Node* const any =
        On("OrderedMapUnstageNoKey", {{build.Int32Vector({0, 1})}}, {kFloat, kFloat});
    const auto result = Run({any->output(0), any->output(1)});
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(*(*result)[0].data<int64_t>(), key);
    EXPECT_THAT(Elements<float>((*result)[1]), ElementsAre(key == 9 ? 90 : 20));
  }
}

TEST_F(StagingTest, AMapRefusesWhatDoesNotFit) {
  EXPECT_EQ(Execute({MapStage(1, {0}, {3})}), absl::OkStatus());
  ExpectError(Execute({MapStage(1, {0}, {3})}), kInvalid, {"was already initialized"});
  ExpectError(Execute({MapStage(1, {2}, {3})}), kInvalid, {"'indices': 2 is not in [0, 2)"});
  ExpectError(Execute({MapStage(1, {1, 1}, {3, 4})}), kInvalid, {"2 different elements"});
  EXPECT_EQ(Execute({MapStage(1, {1}, {4})}), absl::OkStatus());
  ExpectError(Execute({MapStage(1, {1}, {4})}), kInvalid, {"is complete already"});
  ExpectError(Error(MapUnstage(1, {5})->output(0)), kInvalid, {"'indices': 5 is not in [0, 2)"});
}

}  // namespace
}  // namespace millstream
