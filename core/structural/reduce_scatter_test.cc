// Reduce-scatter over the devices of a process.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/structural/collectives_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

class ReduceScatterTest : public CollectiveOpsTest {
 protected:
  Output Key(int32_t value) { return Constant(Tensor::Scalar<int32_t>(value)); }
  Output ReduceScatterOf(int device, const Output& input, const Output& group_size,
                         const std::string& merge = "Add", const std::string& final = "Id",
                         float timeout_seconds = 0) {
    On(device);
    const Output group = Key(1);
    const Output instance = Key(0);
    const Node* const node = build.Variadic(
        "CollectiveReduceScatterV2", {{input}, {group_size}, {group}, {instance}, {}},
        {{"merge_op", merge}, {"final_op", final}, {"timeout_seconds", timeout_seconds}});
    EXPECT_NE(node, nullptr) << build.status();
    return node == nullptr ? Output() : node->output(0);
  }
  Output ReduceScatter(int device, const Output& input, int32_t group_size,
                       const std::string& merge = "Add", const std::string& final = "Id",
                       float timeout_seconds = 0) {
    On(device);
    const Output size = Key(group_size);
    return ReduceScatterOf(device, input, size, merge, final, timeout_seconds);
  }
  Output Reduce(int device, const Output& input, int64_t group_size, const std::string& merge,
                const std::string& final) {
    On(device);
    return Op("CollectiveReduce", {input},
              {{"group_size", group_size},
               {"group_key", int64_t{1}},
               {"instance_key", int64_t{1}},
               {"merge_op", merge},
               {"final_op", final},
               {"subdiv_offsets", std::vector<int64_t>{0}}});
  }
};

TEST_F(ReduceScatterTest, EachMemberGetsItsPartInTheOrderOfDevices) {
  const Output third = ReduceScatter(2, Of(2, {100, 200, 300, 400, 500, 600}), 3);
  const Output first = ReduceScatter(0, Of(0, {1, 2, 3, 4, 5, 6}), 3);
  const Output second = ReduceScatter(1, Of(1, {10, 20, 30, 40, 50, 60}), 3);
  EXPECT_EQ(build.ShapeOf(first), PartialShape({2}));
  for (int step = 0; step < 5; ++step) {
    EXPECT_THAT(Fetch({first, second, third}),
                ElementsAre(ElementsAre(111, 222), ElementsAre(333, 444), ElementsAre(555, 666)));
  }
}

TEST_F(ReduceScatterTest, RowsMayHaveSeveralDimensions) {
  std::vector<Output> parts;
  for (int i = 0; i < 2; ++i) {
    const Output input = Of(i, {1, 2, 3, 4, 5, 6, 7, 8});
    const Output shape = Constant(Values<int32_t>({2, 2, 2}));
    parts.push_back(ReduceScatter(i, Op("Reshape", {input, shape}), 2));
  }
  EXPECT_EQ(build.ShapeOf(parts[0]), PartialShape({1, 2, 2}));
  const auto got = Run(parts);
  ASSERT_TRUE(got.ok()) << got.status();
  for (const Tensor& part : *got) EXPECT_EQ(part.shape(), Shape({1, 2, 2}));
  EXPECT_THAT(Elements<float>((*got)[0]), ElementsAre(2, 4, 6, 8));
  EXPECT_THAT(Elements<float>((*got)[1]), ElementsAre(10, 12, 14, 16));
}

// Beside 10^8, floats are 8 apart: a sum depends on the order of additions.
TEST_F(ReduceScatterTest, APartHasTheBitsOfTheReduction) {
  for (const char* merge : {"Add", "Mul", "Max", "Min"}) {
    for (const char* final : {"Id", "Div"}) {
      std::vector<Output> fetches;
      const std::vector<float> scales = {3, 1e8f, 3.3f, -1e8f};
      for (int i = 0; i < kDevices; ++i) {
        std::vector<float> values;
        for (int k = 0; k < 8 * kDevices; ++k) {
          values.push_back(scales[i] + 0.7f * static_cast<float>(k));
        }
        const Output input = Of(i, values);
        fetches.push_back(ReduceScatter(i, input, kDevices, merge, final));
        fetches.push_back(Reduce(i, input, kDevices, merge, final));
      }
      const std::vector<std::vector<float>> got = Fetch(fetches);
      ASSERT_EQ(got.size(), 2 * kDevices);
      std::vector<float> joined;
      for (int i = 0; i < kDevices; ++i) {
        joined.insert(joined.end(), got[2 * i].begin(), got[2 * i].end());
      }
      EXPECT_EQ(joined, got[1]) << merge << " " << final;
    }
  }
}

TEST_F(ReduceScatterTest, AGroupOfOneGetsItsTensorAndNoRowsAreShared) {
  EXPECT_THAT(Fetch({ReduceScatter(0, Of(0, {1, 2, 3}), 1)}), ElementsAre(ElementsAre(1, 2, 3)));
  EXPECT_THAT(Fetch({ReduceScatter(0, Of(0, {}), 2), ReduceScatter(1, Of(1, {}), 2)}),
              ElementsAre(ElementsAre(), ElementsAre()));
}

// Shapes that are known in the step alone.
TEST_F(ReduceScatterTest, RowsThatTheGroupDoesNotDivideAreRefused) {
  std::vector<Output> parts;
  std::vector<Output> inputs;
  for (int i = 0; i < 2; ++i) {
    On(i);
    inputs.push_back(Placeholder(absl::StrCat("x", i), DataType::kFloat));
    parts.push_back(ReduceScatter(i, inputs[i], 2));
  }
  const auto run = [&](const Tensor& value) {
    return Run(parts, {{inputs[0], value}, {inputs[1], value}}).status();
  };
  ExpectError(run(Values<float>({1, 2, 3})), kInvalid, {"group_size", "divide"});
  ExpectError(run(Tensor::Scalar<float>(1)), kInvalid, {"argument 'input'"});
  EXPECT_EQ(run(Values<float>({1, 2, 3, 4})), absl::OkStatus());
}

TEST_F(ReduceScatterTest, MembersThatDoNotAgreeAreNamed) {
  ExpectError(
      Run({ReduceScatter(0, Of(0, {1, 2}), 2), ReduceScatter(1, Of(1, {1, 2, 3, 4}), 2)}).status(),
      kInvalid,
      {"the members of collective group 1, instance 0 do not agree", "shape [2]", "shape [4]",
       "device:CPU:1"});
  ExpectError(
      Run({ReduceScatter(0, Of(0, {1, 2}), 2), ReduceScatter(1, Of(1, {1, 2}), 2, "Max")}).status(),
      kInvalid, {"do not agree", "a reduce-scatter by Add", "a reduce-scatter by Max"});
}

TEST_F(ReduceScatterTest, WhoIsMissingIsNamed) {
  const Output there = ReduceScatter(0, Of(0, {1, 2}), 2);
  const Output missing = ReduceScatter(1, Of(1, {1, 2}), 2);
  ASSERT_EQ(Fetch({there, missing}).size(), 2);
  RunOptions options;
  options.timeout_ms = 30;
  ExpectError(Run({there}, {}, {}, options).status(), absl::StatusCode::kDeadlineExceeded,
              {"(op CollectiveReduceScatterV2)",
               "waits for 1 of 2 members of collective group 1, instance 0: "
               "/job:localhost/replica:0/task:0/device:CPU:1"});
  EXPECT_EQ(Fetch({there, missing}).size(), 2) << "the session can be used further";
}

TEST_F(ReduceScatterTest, ANodeHasATimeLimitOfItsOwn) {
  const Output there = ReduceScatter(0, Of(0, {1, 2}), 2, "Add", "Id", 0.03f);
  const Output other = ReduceScatter(1, Of(1, {1, 2}), 2, "Add", "Id", 3600);
  // A step that may wait for others, but for the limit of the node.
  for (int step = 0; step < 2; ++step) {
    ExpectError(Run({there}).status(), absl::StatusCode::kDeadlineExceeded,
                {"attribute 'timeout_seconds' is 0.03",
                 "waits for 1 of 2 members of collective group 1, instance 0"});
  }
  const Output in_time = ReduceScatter(0, Of(0, {1, 2}), 2, "Add", "Id", 3600);
  for (int step = 0; step < 20; ++step) {
    EXPECT_THAT(Fetch({in_time, other}), ElementsAre(ElementsAre(2), ElementsAre(4)));
  }
}

// Keys whose values are known in the step alone.
TEST_F(ReduceScatterTest, RefusesGroupsThatMakeNoSense) {
  On(0);
  const Output size = Placeholder("size", DataType::kInt32);
  const Output part = ReduceScatterOf(0, Of(0, {1, 2}), size);
  EXPECT_EQ(build.ShapeOf(part), PartialShape({kUnknownDim}));
  for (const int32_t members : {0, -3}) {
    ExpectError(Error(part, {{size, Tensor::Scalar<int32_t>(members)}}), kInvalid,
                {absl::StrCat("argument 'group_size' must be positive, got ", members)});
  }
  ExpectError(Error(part, {{size, Values<int32_t>({1, 1})}}), kInvalid, {"group_size"});
  const auto got = Run({part}, {{size, Tensor::Scalar<int32_t>(1)}});
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_THAT(Elements<float>((*got)[0]), ElementsAre(1, 2));
}

}  // namespace
}  // namespace millstream
