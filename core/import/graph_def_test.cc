#include "core/import/graph_def.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "framework/message.h"
#include "framework/op_registry.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "millstream/framework/protos/graph.pb.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// "x", a float placeholder of any shape.
constexpr char kX[] =
    R"(node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } } )";

// A float node of one op. `inputs`: "a", "b:1", "^c" ...
std::string NodeText(const std::string& name, const std::string& op,
                     const std::vector<std::string>& inputs) {
  std::string text = absl::StrCat("node { name: \"", name, "\" op: \"", op, "\" ");
  for (const std::string& input : inputs) absl::StrAppend(&text, "input: \"", input, "\" ");
  return absl::StrCat(text, "attr { key: \"T\" value { type: DT_FLOAT } } } ");
}

std::string NoOpText(const std::string& name, const std::vector<std::string>& inputs) {
  std::string text = absl::StrCat("node { name: \"", name, "\" op: \"NoOp\" ");
  for (const std::string& input : inputs) absl::StrAppend(&text, "input: \"", input, "\" ");
  return absl::StrCat(text, "} ");
}

std::string Bytes(const std::string& text) {
  const StatusOr<MessagePtr> message = ParseText("GraphDef", text);
  EXPECT_TRUE(message.ok()) << message.status();
  return message.ok() ? ToBinary(**message).value() : "";
}

StatusOr<ImportResult> ImportText(Graph* graph, const std::string& text,
                                  const ImportOptions& options = ImportOptions()) {
  return ImportGraphDef(graph, Bytes(text), options);
}

proto::GraphDef Exported(const Graph& graph, bool with_shapes = false) {
  const StatusOr<std::string> bytes = ExportGraphDef(graph, with_shapes);
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  proto::GraphDef def;
  EXPECT_TRUE(bytes.ok() && def.ParseFromString(*bytes));
  return def;
}

// The error of importing `text`; the graph must not have changed.
Status ImportError(const std::string& text, const ImportOptions& options = ImportOptions()) {
  Graph graph;
  const Status status = ImportText(&graph, text, options).status();
  EXPECT_EQ(graph.num_nodes(), 0) << status;
  return status;
}

#define EXPECT_ERROR(status, expected_code, text)               \
  do {                                                          \
    const Status& error = (status);                             \
    EXPECT_EQ(error.code(), (expected_code)) << error;          \
    EXPECT_THAT(std::string(error.message()), HasSubstr(text)); \
  } while (false)

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

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

// ---- What is refused ----

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

// Not through a NextIteration: nothing could ever come to the Merge.
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

// A loop over x: Enter, Merge, a body, NextIteration, Exit.
std::string LoopText(const std::string& body_op) {
  return absl::StrCat(
      kX, NodeText("merge", "Merge", {"enter", "next"}), NodeText("exit", "Exit", {"merge"}),
      NodeText("body", body_op, {"merge"}), NodeText("next", "NextIteration", {"body"}),
      absl::StrReplaceAll(NodeText("enter", "Enter", {"x"}),
                          {{"attr {", "attr { key: \"frame_name\" value { s: \"f\" } } attr {"}}));
}

std::string WithCount(const std::string& text) {
  return absl::StrReplaceAll(text, {{"input: \"next\" attr {",
                                     "input: \"next\" attr { key: \"N\" value { i: 2 } } attr {"}});
}

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
