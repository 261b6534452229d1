#include "core/graph/frames.h"

#include <string>
#include <vector>

#include "core/testing/session_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

class FramesTest : public SessionTest {
 protected:
  Output Enter(const Output& data, const std::string& frame, int64_t parallel = 10) {
    return Op("Enter", {data}, {{"frame_name", frame}, {"parallel_iterations", parallel}});
  }
  Output Exit(const Output& data) { return Op("Exit", {data}); }

  StatusOr<FrameTree> Frames(const std::vector<Output>& fetches,
                             const std::vector<Output>& feeds = {}) {
    StatusOr<PrunedGraph> pruned = Prune(graph, {feeds, fetches, {}});
    EXPECT_TRUE(pruned.ok()) << pruned.status();
    if (!pruned.ok()) return pruned.status();
    pruned_ = *std::move(pruned);
    return FindFrames(pruned_, absl::flat_hash_set<Output>(feeds.begin(), feeds.end()));
  }
  // The names of the frames around what the node gives, the innermost first.
  std::vector<std::string> FramesOf(const FrameTree& tree, const Output& output) {
    std::vector<std::string> names;
    for (size_t i = 0; i < pruned_.nodes.size(); ++i) {
      if (pruned_.nodes[i] != output.node) continue;
      for (int frame = tree.output_frame[i]; frame != StaticFrame::kRoot;
           frame = tree.frames[frame].parent) {
        names.push_back(tree.frames[frame].name);
      }
    }
    return names;
  }

  PrunedGraph pruned_;
};

TEST_F(FramesTest, EnterAndExitNest) {
  const Output x = Constant(1.0f);
  const Output outer = Enter(x, "outer");
  const Output inner = Enter(outer, "inner");
  const Output body = Op("Neg", {inner});
  const Output left = Exit(body);
  const Output result = Exit(left);
  const StatusOr<FrameTree> tree = Frames({result});
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_EQ(tree->frames.size(), 3u);
  EXPECT_THAT(FramesOf(*tree, x), ::testing::IsEmpty());
  EXPECT_THAT(FramesOf(*tree, outer), ::testing::ElementsAre("outer"));
  EXPECT_THAT(FramesOf(*tree, body), ::testing::ElementsAre("inner", "outer"));
  EXPECT_THAT(FramesOf(*tree, left), ::testing::ElementsAre("outer"));
  EXPECT_THAT(FramesOf(*tree, result), ::testing::IsEmpty());
}

TEST_F(FramesTest, OneNameInTwoParentsIsTwoFrames) {
  const Output x = Constant(1.0f);
  const Output a = Exit(Exit(Enter(Enter(x, "a"), "body")));
  const Output b = Exit(Exit(Enter(Enter(x, "b"), "body")));
  const StatusOr<FrameTree> tree = Frames({a, b});
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_EQ(tree->frames.size(), 5u);
}

TEST_F(FramesTest, EntersOfOneFrameShareIt) {
  const Output a = Enter(Constant(1.0f), "loop");
  const Output b = Enter(Constant(2.0f), "loop");
  const StatusOr<FrameTree> tree = Frames({Exit(Op("Add", {a, b}))});
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_EQ(tree->frames.size(), 2u);
  EXPECT_EQ(tree->frames[1].parallel_iterations, 10);
}

TEST_F(FramesTest, ControlEdgesPlaceNodesToo) {
  const Output entered = Enter(Constant(1.0f), "loop");
  build.set_control_inputs({entered.node});
  const Output inside = Constant(2.0f);
  build.set_control_inputs({});
  const StatusOr<FrameTree> tree = Frames({Exit(Op("Add", {entered, inside}))});
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_THAT(FramesOf(*tree, inside), ::testing::ElementsAre("loop"));
}

TEST_F(FramesTest, InputsFromDifferentFramesAreRefused) {
  const Output x = Op("Neg", {Constant(1.0f)});
  const Output entered = Enter(x, "loop");
  const Output sum = Op("Add", {entered, x});
  const Status status = Frames({Exit(sum)}).status();
  ExpectError(status, kInvalid,
              {"different loops", "'" + entered.node->name() + "' is in frame 'loop'",
               "'" + x.node->name() + "' is in no loop"});
  EXPECT_EQ(StatusNode(status), sum.node->name());
}

TEST_F(FramesTest, AFedInputIsEverywhere) {
  const Output x = Placeholder("x", DataType::kFloat);
  const Output sum = Op("Add", {Enter(Constant(1.0f), "loop"), x});
  EXPECT_TRUE(Frames({Exit(sum)}, {x}).ok());
}

TEST_F(FramesTest, AnExitOutsideOfLoopsIsRefused) {
  ExpectError(Frames({Exit(Constant(1.0f))}).status(), kInvalid, {"Exit is in no loop"});
  ExpectError(Frames({Op("NextIteration", {Constant(1.0f)})}).status(), kInvalid,
              {"NextIteration is in no loop"});
}

TEST_F(FramesTest, ABackEdgeStaysInItsFrame) {
  const Output entered = Enter(Constant(1.0f), "loop");
  const Node* merge = build.Variadic("Merge", {{entered, entered}});
  const Output other = Op("NextIteration", {Enter(Constant(2.0f), "other")});
  ASSERT_EQ(graph.SetBackEdge(merge, 1, other.node), absl::OkStatus());
  ExpectError(Frames({Exit(merge->output(0))}).status(), kInvalid,
              {other.node->name(), "frame 'other'", "frame 'loop'"});
}

TEST_F(FramesTest, EntersMustAgreeOnTheirFrame) {
  const Output a = Enter(Constant(1.0f), "loop", 10);
  const Output b = Enter(Constant(1.0f), "loop", 3);
  ExpectError(Frames({Exit(Op("Add", {a, b}))}).status(), kInvalid,
              {"'parallel_iterations' is 3", "frame 'loop' has 10"});
  ExpectError(Frames({Exit(Enter(Constant(1.0f), "none", 0))}).status(), kInvalid,
              {"'parallel_iterations'", "got 0"});
}

}  // namespace
}  // namespace millstream
