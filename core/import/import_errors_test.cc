// What is refused when a GraphDef is imported.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "core/import/graph_def_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

TEST(ImportErrorTest, TruncatedBytes) {
  const std::string bytes = Bytes(kX);
  Graph graph;
  const Status status =
      ImportGraphDef(&graph, absl::string_view(bytes).substr(0, bytes.size() - 1)).status();
  EXPECT_ERROR(status, kInvalid, absl::StrCat(bytes.size() - 1, " bytes"));
  EXPECT_EQ(graph.num_nodes(), 0);
}

TEST(ImportErrorTest, DamagedBytesAreReadWholeOrRefusedWhole) {
  const std::string bytes =
      Bytes(absl::StrCat(kX, NodeText("y", "Add", {"x", "x"}), NodeText("z", "Neg", {"y:0", "^x"}),
                         "versions { producer: 27 min_consumer: 12 }"));
  int refused = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
      Graph graph;
      const StatusOr<ImportResult> result = ImportGraphDef(&graph, damaged);
      EXPECT_EQ(graph.num_nodes(), result.ok() ? result->nodes.size() : 0) << i << ", " << bit;
      if (!result.ok()) ++refused;
    }
  }
  EXPECT_GT(refused, static_cast<int>(bytes.size()));
}

TEST(ImportErrorTest, UnknownOpsAllInOneError) {
  const std::string text =
      absl::StrCat(kX, NodeText("a", "Frobnicate", {"x"}), NodeText("b", "Twist", {"x"}),
                   NodeText("c", "Frobnicate", {"x"}));
  EXPECT_ERROR(ImportError(text), absl::StatusCode::kNotFound,
               "2 unknown ops: Frobnicate (2 nodes, first 'a'), Twist (1 node, 'b')");
}

TEST(ImportErrorTest, Names) {
  EXPECT_ERROR(ImportError(absl::StrCat(kX, kX)), kInvalid, "two nodes of this name");
  EXPECT_ERROR(ImportError(NoOpText("", {})), kInvalid, "'' is no name");
  EXPECT_ERROR(ImportError(NoOpText("a:b", {})), kInvalid, "'a:b' is no name");

  Graph graph;
  ASSERT_TRUE(ImportText(&graph, kX).ok());
  const Status status = ImportText(&graph, absl::StrCat(NoOpText("n", {}), kX)).status();
  EXPECT_ERROR(status, absl::StatusCode::kAlreadyExists, "node 'x'");
  EXPECT_EQ(graph.num_nodes(), 1);
}

TEST(ImportErrorTest, Inputs) {
  auto neg = [](const std::vector<std::string>& inputs) {
    return ImportError(absl::StrCat(kX, NodeText("y", "Neg", inputs)));
  };
  EXPECT_ERROR(neg({"nowhere"}), kInvalid, "the GraphDef has no node 'nowhere'");
  EXPECT_ERROR(neg({"x", "^nowhere"}), kInvalid, "the GraphDef has no node 'nowhere'");
  EXPECT_ERROR(neg({"x:1"}), kInvalid, "'x:1' does not exist: the node has 1 outputs");
  EXPECT_ERROR(neg({"x:-1"}), kInvalid, "'x:-1' is no tensor name");
  EXPECT_ERROR(neg({"x:99999999999"}), kInvalid, "is no tensor name");
  EXPECT_ERROR(neg({"x:"}), kInvalid, "is no tensor name");
  EXPECT_ERROR(neg({""}), kInvalid, "names no node");
  EXPECT_ERROR(neg({"^"}), kInvalid, "names no node");
  EXPECT_ERROR(neg({"x", "x"}), kInvalid, "expected 1 inputs, got 2");
  EXPECT_ERROR(neg({}), kInvalid, "expected 1 inputs, got 0");
  EXPECT_ERROR(neg({"^x", "x"}), kInvalid, "input 'x' stands after a control input");
  EXPECT_EQ(StatusNode(neg({"nowhere"})), "y");
}

TEST(ImportErrorTest, TypesAndShapesAreFoundBeforeTheFirstNodeIsAdded) {
  const std::string integer =
      R"(node { name: "i" op: "Placeholder" attr { key: "dtype" value { type: DT_INT32 } } } )";
  EXPECT_ERROR(ImportError(absl::StrCat(integer, NodeText("y", "Neg", {"i"}))), kInvalid,
               "expected float32, got int32 (i:0)");

  const std::string matrix = absl::StrReplaceAll(
      kX, {{"attr {",
            "attr { key: \"shape\" value { shape { dim { size: 2 } dim { size: 3 } } } } "
            "attr {"}});
  const Status status = ImportError(absl::StrCat(matrix, NodeText("m", "MatMul", {"x", "x"})));
  EXPECT_EQ(status.code(), kInvalid) << status;
  EXPECT_EQ(StatusNode(status), "m");
}

TEST(ImportErrorTest, Attributes) {
  const std::string missing = R"(node { name: "x" op: "Placeholder" })";
  EXPECT_ERROR(ImportError(missing), kInvalid, "missing attribute 'dtype'");
  const std::string ill_typed =
      R"(node { name: "x" op: "Placeholder" attr { key: "dtype" value { i: 1 } } })";
  EXPECT_ERROR(ImportError(ill_typed), kInvalid, "'dtype'");
  const std::string unknown =
      absl::StrReplaceAll(kX, {{"attr {", "attr { key: \"novel\" value { b: true } } attr {"}});
  EXPECT_ERROR(ImportError(absl::StrCat(unknown, "versions { producer: 134 }")), kInvalid,
               "no attribute 'novel'");
  const std::string shapes = absl::StrReplaceAll(
      kX,
      {{"attr {", "attr { key: \"_output_shapes\" value { list { shape {} shape {} } } } attr {"}});
  EXPECT_ERROR(ImportError(shapes), kInvalid, "'_output_shapes' expected 1 shapes, got 2");
}

TEST(ImportErrorTest, CyclesAreNamed) {
  const std::string text =
      absl::StrCat(kX, NodeText("a", "Add", {"x", "c"}), NodeText("b", "Neg", {"a"}),
                   NodeText("c", "Neg", {"b"}), NodeText("after", "Neg", {"c"}));
  EXPECT_ERROR(ImportError(text), kInvalid, "a cycle of 3 nodes: a -> b -> c -> a");
  EXPECT_ERROR(ImportError(NoOpText("self", {"^self"})), kInvalid, "self -> self");
}

TEST(ImportErrorTest, AMergeThatWaitsForItselfIsACycle) {
  const std::string text =
      absl::StrCat(kX, NodeText("body", "Neg", {"merge"}),
                   absl::StrReplaceAll(NodeText("merge", "Merge", {"x", "body"}),
                                       {{"attr {", "attr { key: \"N\" value { i: 2 } } attr {"}}));
  EXPECT_ERROR(ImportError(text), kInvalid, "a cycle of 2 nodes: body -> merge -> body");
}

TEST(ImportErrorTest, CyclesOverDevicesAreNamed) {
  const auto on = [](const std::string& device, const std::string& node) {
    return absl::StrReplaceAll(node, {{"name:", absl::StrCat("device: \"", device, "\" name:")}});
  };
  const std::string text =
      absl::StrCat(on("/cpu:0", NoOpText("a", {"^c"})), on("/cpu:1", NoOpText("b", {"^a"})),
                   on("/cpu:0", NoOpText("c", {"^b"})));
  EXPECT_ERROR(ImportError(text), kInvalid, "a cycle of 3 nodes: a -> b -> c -> a");
}

TEST(ImportErrorTest, ACycleBesideALoopIsNamed) {
  const std::string text = absl::StrCat(WithCount(LoopText("Neg")), NodeText("a", "Neg", {"b"}),
                                        NodeText("b", "Add", {"a", "exit"}));
  EXPECT_ERROR(ImportError(text), kInvalid, "a cycle of 2 nodes: a -> b -> a");
}

TEST(ImportErrorTest, TypesOfBackEdgesAreChecked) {
  const std::string text = absl::StrReplaceAll(
      WithCount(LoopText("Neg")), {{R"(input: "body" attr { key: "T" value { type: DT_FLOAT)",
                                    R"(input: "body" attr { key: "T" value { type: DT_INT32)"}});
  EXPECT_ERROR(ImportError(text), kInvalid, "expected int32, got float");
  const std::string index =
      absl::StrReplaceAll(WithCount(LoopText("Neg")), {{R"(input: "next")", R"(input: "next:1")"}});
  EXPECT_ERROR(ImportError(index), kInvalid, "the node has 1 outputs");
}

TEST(ImportErrorTest, Versions) {
  EXPECT_ERROR(ImportError("versions { producer: 2000 min_consumer: 135 }"), kInvalid,
               "needs a reader of version 135 or later; this one has version 134");
  EXPECT_ERROR(ImportError("versions { producer: 2000 bad_consumers: 134 }"), kInvalid,
               "may not be read by readers of version 134");
}

TEST(ImportErrorTest, Options) {
  Graph graph;
  ASSERT_TRUE(ImportText(&graph, kX).ok());
  auto import = [&](const ImportOptions& options) {
    return ImportText(&graph, NoOpText("n", {}), options).status();
  };
  ImportOptions unused;
  unused.input_map = {{"nowhere:0", graph.FindOutput("x").value()}};
  EXPECT_ERROR(import(unused), kInvalid, "input map: the GraphDef has no node 'nowhere'");
  ImportOptions none;
  none.input_map = {{"n:0", Output()}};
  EXPECT_ERROR(import(none), kInvalid, "no tensor is given for 'n:0'");
  ImportOptions missing;
  missing.return_tensors = {"n:0"};
  EXPECT_ERROR(import(missing), kInvalid, "return tensors: 'n:0' is no tensor");
  ImportOptions control;
  control.control_dependencies = {"nowhere"};
  EXPECT_ERROR(import(control), absl::StatusCode::kNotFound, "'nowhere'");
  EXPECT_EQ(graph.num_nodes(), 1);
}

}  // namespace
}  // namespace millstream
