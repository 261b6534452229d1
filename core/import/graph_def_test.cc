#include "core/import/graph_def.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "core/import/graph_def_fixture.h"
#include "framework/op_registry.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "millstream/framework/protos/graph.pb.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// ---- Export and round trip ----

TEST(ExportTest, WritesInputsControlsDeviceAndAttributes) {
  Graph graph;
  ASSERT_TRUE(
      ImportText(&graph, absl::StrCat(kX, NoOpText("n", {}), NodeText("y", "Neg", {"x:0", "^n"})))
          .ok());
  ASSERT_TRUE(graph.SetDevice(graph.FindNode("y").value(), "/device:CPU:0").ok());
  const proto::GraphDef def = Exported(graph);
  ASSERT_EQ(def.node_size(), 3);
  const proto::NodeDef& y = def.node(2);
  EXPECT_EQ(y.name(), "y");
  EXPECT_EQ(y.op(), "Neg");
  EXPECT_EQ(y.device(), "/device:CPU:0");
  EXPECT_THAT(y.input(), ElementsAre("x", "^n"));
  EXPECT_EQ(y.attr().at("T").type(), proto::DT_FLOAT);
  EXPECT_EQ(def.versions().producer(), 0);  // of a GraphDef without versions
}

TEST(ExportTest, OfAnEmptyGraphDeclaresOurVersion) {
  EXPECT_EQ(Exported(Graph()).versions().producer(), kGraphDefProducer);
}

TEST(ExportTest, ShapesAreWrittenWhenAskedForAndReadBack) {
  Graph graph;
  ASSERT_TRUE(ImportText(&graph, kX).ok());
  ASSERT_TRUE(graph.RefineShape(graph.FindOutput("x").value(), PartialShape({2, -1})).ok());
  EXPECT_EQ(Exported(graph).node(0).attr().count("_output_shapes"), 0);
  const StatusOr<std::string> bytes = ExportGraphDef(graph, /*with_shapes=*/true);
  ASSERT_TRUE(bytes.ok());

  Graph copy;
  ASSERT_TRUE(ImportGraphDef(&copy, *bytes).ok());
  EXPECT_EQ(copy.Facts(copy.FindOutput("x").value()).shape, PartialShape({2, -1}));
  EXPECT_EQ(ExportGraphDef(copy, /*with_shapes=*/true).value(), *bytes);
  EXPECT_EQ(Exported(copy).node(0).attr().count("_output_shapes"), 0);
}

TEST(ExportTest, OneNode) {
  Graph graph;
  ASSERT_TRUE(ImportText(&graph, kX).ok());
  const StatusOr<std::string> bytes = ExportNodeDef(graph, *graph.node(0));
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  proto::NodeDef node;
  ASSERT_TRUE(node.ParseFromString(*bytes));
  EXPECT_EQ(node.name(), "x");
  EXPECT_EQ(node.op(), "Placeholder");
}

TEST(RoundTripTest, KeepsEverything) {
  const std::string text = absl::StrCat(kX, NoOpText("first", {}),
                                        R"(node { name: "axis" op: "Const" device: "/cpu:0"
           attr { key: "dtype" value { type: DT_INT32 } }
           attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape {} int_val: 0 } } }
           attr { key: "_class" value { list { s: "loc:@x" } } }
           attr { key: "_mine" value { s: "kept" } } }
         node { name: "s" op: "Split" input: "axis" input: "x" input: "^first"
           attr { key: "T" value { type: DT_FLOAT } }
           attr { key: "num_split" value { i: 3 } } }
         node { name: "sum" op: "AddN" input: "s:2" input: "s" input: "s:1"
           attr { key: "N" value { i: 3 } } attr { key: "T" value { type: DT_FLOAT } } }
         library { function { signature { name: "F" } } }
         versions { producer: 27 min_consumer: 12 })");
  Graph graph;
  const StatusOr<ImportResult> result = ImportText(&graph, text);
  ASSERT_TRUE(result.ok()) << result.status();
  const std::string bytes = ExportGraphDef(graph).value();

  Graph copy;
  ASSERT_TRUE(ImportGraphDef(&copy, bytes).ok());
  EXPECT_EQ(ExportGraphDef(copy).value(), bytes);
  const proto::GraphDef def = Exported(copy);
  EXPECT_EQ(def.versions().producer(), 27);
  EXPECT_EQ(def.library().function(0).signature().name(), "F");
  EXPECT_EQ(def.node(2).device(), "/cpu:0");
  EXPECT_EQ(def.node(2).attr().at("_class").list().s(0), "loc:@x");
  EXPECT_EQ(def.node(2).attr().at("_mine").s(), "kept");
  EXPECT_THAT(def.node(4).input(), ElementsAre("s:2", "s", "s:1"));
}

// An op as a plugin might have deprecated it.
void RegisterDeprecatedOp() {
  OpDef op = OpSpec("DeprecatedForTests").Build().value();
  op.deprecated_version = 30;
  op.deprecation = "Use NoOp.";
  ASSERT_TRUE(OpRegistry::Global()->Register(std::move(op)).ok());
}

TEST(DeprecationTest, NewGraphsCannotHaveTheOpAndOldOnesThatAreImportedCan) {
  RegisterDeprecatedOp();
  const std::string text = "node { name: 'old' op: 'DeprecatedForTests' } ";
  Graph graph;
  NodeSpec spec;
  spec.name = "new";
  spec.op = "DeprecatedForTests";
  const Status added = graph.AddNode(spec).status();
  EXPECT_EQ(added.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(added.message()),
              HasSubstr(absl::StrCat("the op is not for graphs of version 30 and later, and this "
                                     "one has version ",
                                     kGraphDefProducer, ": Use NoOp.")));
  EXPECT_FALSE(ImportText(&graph, text + "versions { producer: 30 }").ok());
  EXPECT_EQ(graph.num_nodes(), 0);
  EXPECT_TRUE(ImportText(&graph, text + "versions { producer: 29 }").ok());
  Graph another;
  EXPECT_TRUE(ImportText(&another, text).ok()) << "a GraphDef without versions is the oldest";
}

TEST(RoundTripTest, KeepsAttributesOfNewerProducers) {
  const std::string text =
      absl::StrReplaceAll(kX, {{"attr {", "attr { key: \"novel\" value { b: true } } attr {"}});
  Graph graph;
  ASSERT_TRUE(ImportText(&graph, absl::StrCat(text, "versions { producer: 99999 }")).ok());
  const std::string bytes = ExportGraphDef(graph).value();
  Graph copy;
  ASSERT_TRUE(ImportGraphDef(&copy, bytes).ok());
  EXPECT_EQ(ExportGraphDef(copy).value(), bytes);
  EXPECT_TRUE(Exported(copy).node(0).attr().at("novel").b());
}

// ---- Import ----

TEST(ImportTest, TakesNodesInAnyOrder) {
  Graph graph;
  const StatusOr<ImportResult> result = ImportText(
      &graph, absl::StrCat(NodeText("z", "Neg", {"y"}), NodeText("y", "Neg", {"x"}), kX));
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(result->nodes.size(), 3);
  EXPECT_EQ(result->nodes[0]->name(), "z");  // as in the GraphDef
  EXPECT_EQ(graph.node(0)->name(), "x");     // as the edges ask
}

TEST(ImportTest, AddsDefaults) {
  Graph graph;
  ASSERT_TRUE(ImportText(&graph, absl::StrCat(kX, NodeText("m", "MatMul", {"x", "x"}))).ok());
  EXPECT_EQ(graph.FindNode("m").value()->Attr<bool>("transpose_a").value(), false);
}

TEST(ImportTest, PutsThePrefixBeforeNamesAndColocation) {
  Graph graph;
  const std::string text = absl::StrCat(kX, R"(node { name: "y" op: "Neg" input: "x" input: "^x"
                            attr { key: "T" value { type: DT_FLOAT } }
                            attr { key: "_class" value { list { s: "loc:@x" s: "loc:@far" } } } })");
  ImportOptions options;
  options.prefix = "imported";
  options.return_tensors = {"y", "x:0"};
  const StatusOr<ImportResult> result = ImportText(&graph, text, options);
  ASSERT_TRUE(result.ok()) << result.status();
  const Node* y = graph.FindNode("imported/y").value();
  EXPECT_EQ(y->input(0).name(), "imported/x:0");
  EXPECT_THAT(y->Attr<std::vector<std::string>>("_class").value(),
              ElementsAre("loc:@imported/x", "loc:@far"));
  EXPECT_THAT(result->return_tensors, ElementsAre(y->output(0), y->input(0)));
}

TEST(ImportTest, ReplacesMappedInputs) {
  Graph graph;
  ASSERT_TRUE(ImportText(&graph, absl::StrCat(kX, NoOpText("before", {}))).ok());
  ImportOptions options;
  options.prefix = "p";
  options.input_map = {{"missing:0", graph.FindOutput("x").value()},
                       {"^gone", Output{graph.FindNode("before").value(), 0}}};
  options.return_tensors = {"missing"};
  const StatusOr<ImportResult> result =
      ImportText(&graph, NodeText("y", "Neg", {"missing", "^gone"}), options);
  ASSERT_TRUE(result.ok()) << result.status();
  const Node* y = result->nodes[0];
  EXPECT_EQ(y->input(0).name(), "x:0");
  EXPECT_THAT(graph.ControlInputs(y), ElementsAre(graph.FindNode("before").value()));
  EXPECT_EQ(result->return_tensors[0].name(), "x:0");
}

TEST(ImportTest, ControlDependenciesHoldBackTheRoots) {
  Graph graph;
  ASSERT_TRUE(ImportText(&graph, NoOpText("before", {})).ok());
  ImportOptions options;
  options.control_dependencies = {"before"};
  ASSERT_TRUE(ImportText(&graph, absl::StrCat(kX, NodeText("y", "Neg", {"x"})), options).ok());
  const Node* before = graph.FindNode("before").value();
  EXPECT_THAT(graph.ControlInputs(graph.FindNode("x").value()), ElementsAre(before));
  EXPECT_THAT(graph.ControlInputs(graph.FindNode("y").value()), IsEmpty());
}

TEST(ImportTest, MergesVersionsAndLibraries) {
  Graph graph;
  const std::string library = "library { function { signature { name: \"F\" } } } ";
  ASSERT_TRUE(ImportText(&graph, absl::StrCat(kX, library, "versions { producer: 100 }")).ok());
  const std::string more = absl::StrCat(NoOpText("n", {}),
                                        "library { function { signature { name: \"F\" } } "
                                        "function { signature { name: \"G\" } } "
                                        "gradient { function_name: \"F\" gradient_func: \"G\" } } "
                                        "versions { producer: 90 }");
  ASSERT_TRUE(ImportText(&graph, more).ok());
  const proto::GraphDef def = Exported(graph);
  EXPECT_EQ(def.versions().producer(), 90);
  ASSERT_EQ(def.library().function_size(), 2);
  EXPECT_EQ(def.library().function(1).signature().name(), "G");
  EXPECT_EQ(def.library().gradient(0).gradient_func(), "G");
  EXPECT_ERROR(
      ImportText(&graph, "library { function { signature { name: \"F\" is_stateful: true } } }")
          .status(),
      kInvalid, "another function called 'F'");
}

TEST(ImportTest, ShapesOfHandlesAreNotRead) {
  Graph graph;
  const auto imported = ImportText(&graph, R"(
      node { name: "size" op: "Placeholder" attr { key: "dtype" value { type: DT_INT32 } }
             attr { key: "shape" value { shape {} } } }
      node { name: "array" op: "TensorArrayV3" input: "size"
             attr { key: "dtype" value { type: DT_FLOAT } }
             attr { key: "_output_shapes"
                    value { list { shape { dim { size: 2 } } shape {} } } } }
      versions { producer: 134 })");
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(graph.Facts(graph.FindOutput("array").value()).shape, PartialShape::Scalar());
}

// Not through a NextIteration: nothing could ever come to the Merge.
TEST(ImportTest, LoopsAreImportedAndExportedAsTheyCame) {
  Graph graph;
  const Status imported = ImportText(&graph, WithCount(LoopText("Neg"))).status();
  ASSERT_TRUE(imported.ok()) << imported;
  const Node* merge = *graph.FindNode("merge");
  EXPECT_EQ(merge->input(0).name(), "enter:0");
  EXPECT_EQ(merge->input(1).name(), "next:0");
  EXPECT_FALSE(graph.Facts(merge->output(0)).shape.known_rank());
  const proto::GraphDef exported = Exported(graph);
  for (const proto::NodeDef& node : exported.node()) {
    if (node.name() == "merge") {
      EXPECT_THAT(node.input(), ElementsAre("enter", "next"));
    }
  }
  Graph again;
  EXPECT_TRUE(ImportGraphDef(&again, *ExportGraphDef(graph, true), ImportOptions()).ok());
}

// ---- Limits ----

TEST(GraphDefTest, ForbiddenOpsAreRefusedAndNothingIsAdded) {
  Graph graph;
  ImportOptions options;
  options.forbidden_ops = ForbiddenOps::Create({"files", "Neg"}).value();
  const Status status =
      ImportText(&graph, absl::StrCat(kX, NodeText("y", "Neg", {"x"})), options).status();
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("the op is forbidden by ConfigProto.forbidden_ops (\"Neg\")\n"
                        "  node 'y' (op Neg)"));
  EXPECT_EQ(graph.num_nodes(), 0);
  EXPECT_TRUE(ImportText(&graph, kX, options).ok());
}

TEST(GraphDefTest, ForbiddenOpsOfFunctionsAreRefused) {
  Graph graph;
  ImportOptions options;
  options.forbidden_ops = ForbiddenOps::Create({"Neg"}).value();
  const std::string library =
      "library { function { signature { name: \"f\" } node_def { name: \"n\" op: \"Neg\" } } }";
  const Status status = ImportText(&graph, library, options).status();
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("function 'f', node 'n' (op Neg)"));
}

TEST(GraphDefTest, WhatConstantsTakeIsLimitedUnlessAllowed) {
  const std::string text =
      "node { name: \"c\" op: \"Const\" attr { key: \"dtype\" value { type: DT_INT8 } } "
      "attr { key: \"value\" value { tensor { dtype: DT_INT8 int_val: 1 "
      "tensor_shape { dim { size: 20000000 } } } } } }";
  Graph graph;
  const Status by_size = ImportText(&graph, text).status();
  EXPECT_ERROR(by_size, absl::StatusCode::kResourceExhausted,
               "and those of a GraphDef of its size may take 16778");
  EXPECT_ERROR(by_size, absl::StatusCode::kResourceExhausted,
               "; ConfigProto.max_import_expansion allows more");
  EXPECT_EQ(graph.num_nodes(), 0);
  ImportOptions options;
  options.max_expansion = 19000000;
  EXPECT_ERROR(ImportText(&graph, text, options).status(), absl::StatusCode::kResourceExhausted,
               ", its size and the value of ConfigProto.max_import_expansion");
  options.max_expansion = 20000000;
  EXPECT_TRUE(ImportText(&graph, text, options).ok());
  options.max_expansion = -1;
  Graph another;
  EXPECT_TRUE(ImportText(&another, text, options).ok());
}

TEST(GraphDefTest, WhatConstantsTakeInTheGraphDefItselfIsNoExpansion) {
  const std::string text = absl::StrCat(
      "node { name: \"c\" op: \"Const\" attr { key: \"dtype\" value { type: DT_INT8 } } "
      "attr { key: \"value\" value { tensor { dtype: DT_INT8 tensor_content: \"",
      std::string(1000, 'x'), "\" tensor_shape { dim { size: 1000 } } } } } }");
  Graph graph;
  ImportOptions options;
  options.max_expansion = 1;
  EXPECT_TRUE(ImportText(&graph, text, options).ok());
}

}  // namespace
}  // namespace millstream
