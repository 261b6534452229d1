// Graphs with references to variables: how they run, and that they are written back as they came.
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/gradients/gradients.h"
#include "core/import/graph_def.h"
#include "core/testing/session_fixture.h"
#include "framework/message.h"
#include "framework/op_registry.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "millstream/framework/protos/graph.pb.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;

constexpr char kT[] = R"(attr { key: "T" value { type: DT_FLOAT } })";
constexpr char kDtype[] = R"(attr { key: "dtype" value { type: DT_FLOAT } })";

// A node of a GraphDef. `inputs`: "a", "b:1", "^c".
std::string NodeText(const std::string& name, const std::string& op,
                     const std::vector<std::string>& inputs, const std::string& attrs = kT) {
  std::string text = absl::StrCat("node { name: \"", name, "\" op: \"", op, "\" ");
  for (const std::string& input : inputs) absl::StrAppend(&text, "input: \"", input, "\" ");
  return absl::StrCat(text, attrs, " } ");
}

std::string ShapeAttr(int size) {
  return absl::StrCat(R"(attr { key: "shape" value { shape { dim { size: )", size, " } } } }");
}

// A variable of two floats, unless told.
std::string VariableText(const std::string& name, const std::string& op = "VariableV2",
                         int size = 2) {
  return NodeText(name, op, {}, absl::StrCat(kDtype, " ", ShapeAttr(size)));
}

std::string ConstText(const std::string& name, const std::vector<float>& values) {
  return NodeText(name, "Const", {},
                  absl::StrCat(kDtype, R"( attr { key: "value" value { tensor { dtype: DT_FLOAT )",
                               "tensor_shape { dim { size: ", values.size(), " } } float_val: ",
                               absl::StrJoin(values, " float_val: "), " } } }"));
}

// v, assigned (1, 2) by "init".
std::string InitializedText() {
  return absl::StrCat(VariableText("v"), ConstText("one_two", {1, 2}),
                      NodeText("init", "Assign", {"v", "one_two"}));
}

Status ImportText(const std::string& text, const ImportOptions& options, Graph* graph) {
  const StatusOr<MessagePtr> message = ParseText("GraphDef", text);
  if (!message.ok()) return message.status();
  return ImportGraphDef(graph, ToBinary(**message).value(), options).status();
}

class ImportReferencesTest : public SessionTest {
 protected:
  Status Import(const std::string& text, const ImportOptions& options = ImportOptions()) {
    return ImportText(text, options, &graph);
  }
  void MustImport(const std::string& text, const ImportOptions& options = ImportOptions()) {
    ASSERT_EQ(Import(text, options), absl::OkStatus());
  }
  Output Tensor(const std::string& name) { return graph.FindOutput(name).value(); }
  const Node* NodeOf(const std::string& name) { return graph.FindNode(name).value(); }
  std::vector<float> Fetch(const std::string& name) { return Elements<float>(Value(Tensor(name))); }
  void Step(const std::string& name) { ASSERT_EQ(Execute({NodeOf(name)}), absl::OkStatus()); }
  proto::GraphDef Exported() {
    proto::GraphDef def;
    EXPECT_TRUE(def.ParseFromString(ExportGraphDef(graph).value()));
    return def;
  }
};

TEST_F(ImportReferencesTest, AVariablesNameIsItsValue) {
  MustImport(InitializedText());
  Step("init");
  EXPECT_THAT(Fetch("v:0"), ElementsAre(1, 2));
  EXPECT_EQ(graph.Facts(Tensor("v")).shape, PartialShape({2}));
  EXPECT_EQ(NodeOf("v")->output_type(0), DataType::kFloat);
}

TEST_F(ImportReferencesTest, ConsumersReadAfterTheirControlInputs) {
  MustImport(absl::StrCat(InitializedText(), NodeText("add", "AssignAdd", {"v", "one_two"}),
                          NodeText("after", "Identity", {"v", "^add"}),
                          NodeText("twice", "Add", {"v", "v", "^after"})));
  Step("init");
  EXPECT_THAT(Fetch("after"), ElementsAre(2, 4));
  EXPECT_THAT(Fetch("twice"), ElementsAre(6, 12));
}

TEST_F(ImportReferencesTest, AnAssignmentReturnsTheValueAfterIt) {
  MustImport(absl::StrCat(InitializedText(), NodeText("add", "AssignAdd", {"init", "one_two"}),
                          NodeText("sub", "AssignSub", {"add", "one_two"}),
                          NodeText("square", "Square", {"add"}),
                          NodeText("of_sub", "Neg", {"sub"})));
  EXPECT_THAT(Fetch("init:0"), ElementsAre(1, 2));
  EXPECT_THAT(Fetch("add"), ElementsAre(2, 4));
  EXPECT_THAT(Fetch("square"), ElementsAre(4, 16));
  EXPECT_THAT(Fetch("of_sub"), ElementsAre(-1, -2));  // init, add and sub in their order
}

TEST_F(ImportReferencesTest, WhoWaitsForAnAssignmentNeedsNoRead) {
  MustImport(absl::StrCat(InitializedText(), NodeText("set", "NoOp", {"^init"}, "")));
  Step("set");
  EXPECT_THAT(Fetch("v"), ElementsAre(1, 2));
  const std::vector<const Node*> before = graph.ControlInputs(NodeOf("set"));
  ASSERT_EQ(before.size(), 1u);
  EXPECT_EQ(before[0]->op().name, "AssignVariableOp");
}

// A variable as a control input waits for nothing, and needs no value.
TEST_F(ImportReferencesTest, WaitingForAVariableIsNoReading) {
  MustImport(
      absl::StrCat(VariableText("v"), ConstText("c", {1}), NodeText("y", "Neg", {"c", "^v"})));
  EXPECT_THAT(Fetch("y"), ElementsAre(-1));
}

TEST_F(ImportReferencesTest, AssignmentsMayChangeTheShapeWhenTold) {
  const std::string unchecked =
      absl::StrCat(kT, R"( attr { key: "validate_shape" value { b: false } })");
  MustImport(absl::StrCat(InitializedText(), ConstText("three", {5, 6, 7}),
                          NodeText("change", "Assign", {"v", "three"}, unchecked),
                          NodeText("y", "Neg", {"v"})));
  Step("init");
  EXPECT_THAT(Fetch("y"), ElementsAre(-1, -2));
  EXPECT_THAT(Fetch("change:0"), ElementsAre(5, 6, 7));
  EXPECT_THAT(Fetch("y"), ElementsAre(-5, -6, -7));
  EXPECT_FALSE(graph.Facts(Tensor("v")).shape.known_rank());
  EXPECT_EQ(graph.Facts(Tensor("change")).shape, PartialShape({3}));
}

TEST_F(ImportReferencesTest, OtherwiseTheShapeIsCheckedAtTheImport) {
  const Status status = Import(absl::StrCat(VariableText("v"), ConstText("three", {5, 6, 7}),
                                            NodeText("assign", "Assign", {"v", "three"})));
  ExpectError(status, absl::StatusCode::kInvalidArgument,
              {"'assign' (op Assign)", "'value'", "[2]", "[3]"});
  EXPECT_EQ(graph.num_nodes(), 0);
}

TEST_F(ImportReferencesTest, TheFirstVersionOfVariables) {
  const std::string scalar = absl::StrCat(kDtype, R"( attr { key: "shape" value { shape { } } })");
  MustImport(absl::StrCat(NodeText("v", "Variable", {}, scalar), ConstText("one_two", {1, 2}),
                          NodeText("init", "Assign", {"v", "one_two"}),
                          VariableText("w", "Variable")));
  Step("init");
  EXPECT_THAT(Fetch("v"), ElementsAre(1, 2));
  EXPECT_EQ(graph.Facts(Tensor("w")).shape, PartialShape({2}));
}

TEST_F(ImportReferencesTest, QueriesAndIdentities) {
  MustImport(absl::StrCat(InitializedText(),
                          NodeText("there", "IsVariableInitialized", {"v"}, kDtype),
                          NodeText("same", "RefIdentity", {"v", "^init"}),
                          NodeText("add", "AssignAdd", {"same", "one_two"})));
  EXPECT_FALSE(*Value(Tensor("there")).data<bool>());
  EXPECT_THAT(Fetch("add"), ElementsAre(2, 4));  // after init, for which `same` waits
  EXPECT_TRUE(*Value(Tensor("there")).data<bool>());
}

std::string IndicesText(const std::string& name, const std::string& shape, int index) {
  const std::string type = R"(attr { key: "dtype" value { type: DT_INT32 } } )";
  return NodeText(name, "Const", {},
                  absl::StrCat(type, R"(attr { key: "value" value { tensor { dtype: DT_INT32 )",
                               "tensor_shape { ", shape, " } int_val: ", index, " } } }"));
}

TEST_F(ImportReferencesTest, PartsOfVariablesChange) {
  const std::string one = "dim { size: 1 }";
  const std::string attrs =
      absl::StrCat(kT, R"( attr { key: "Tindices" value { type: DT_INT32 } })");
  MustImport(absl::StrCat(InitializedText(), IndicesText("row", one, 1),
                          IndicesText("vector", one + one, 0), ConstText("ten", {10}),
                          NodeText("scaled", "ScatterMul", {"v", "row", "ten"}, attrs),
                          NodeText("set", "ScatterNdUpdate", {"scaled", "vector", "ten"}, attrs)));
  Step("init");
  EXPECT_THAT(Fetch("set"), ElementsAre(10, 20));
  EXPECT_THAT(Fetch("v"), ElementsAre(10, 20));
}

TEST_F(ImportReferencesTest, ATemporaryVariableIsGoneAfterItsStep) {
  const std::string name = R"( attr { key: "var_name" value { s: "t" } })";
  MustImport(absl::StrCat(
      NodeText("t", "TemporaryVariable", {}, absl::StrCat(kDtype, " ", ShapeAttr(2), name)),
      ConstText("one_two", {1, 2}), NodeText("first", "Assign", {"t", "one_two"}),
      NodeText("second", "AssignAdd", {"first", "one_two"}),
      NodeText("taken", "DestroyTemporaryVariable", {"second"}, absl::StrCat(kT, name))));
  for (int i = 0; i < 2; ++i) EXPECT_THAT(Fetch("taken"), ElementsAre(2, 4));
  ExpectError(Execute({NodeOf("t")}), absl::StatusCode::kFailedPrecondition, {"uninitialized"});
  EXPECT_EQ(Exported().node(0).op(), "TemporaryVariable");
}

TEST_F(ImportReferencesTest, OptimizersGoOn) {
  const std::string rate =
      NodeText("rate", "Const", {},
               absl::StrCat(kDtype, R"( attr { key: "value" value { tensor { dtype: DT_FLOAT )",
                            "tensor_shape { } float_val: 0.5 } } }"));
  MustImport(absl::StrCat(InitializedText(), rate, ConstText("zero", {0, 0}), VariableText("m"),
                          NodeText("init_m", "Assign", {"m", "zero"}),
                          NodeText("init_all", "NoOp", {"^init", "^init_m"}, ""),
                          NodeText("step", "ApplyMomentum", {"v", "m", "rate", "v", "rate"})));
  Step("init_all");
  EXPECT_THAT(Fetch("step:0"), ElementsAre(0.5f, 1));  // v -= rate * v
  EXPECT_THAT(Fetch("m"), ElementsAre(1, 2));
}

TEST_F(ImportReferencesTest, AVariableWithoutValueIsAnErrorOfTheReader) {
  MustImport(absl::StrCat(InitializedText(), NodeText("y", "Neg", {"v"}),
                          NodeText("add", "AssignAdd", {"v", "one_two"})));
  const std::string phrase = "Attempting to use uninitialized value v";
  ExpectError(Error(Tensor("y")), absl::StatusCode::kFailedPrecondition, {phrase, "'y' (op Neg)"});
  ExpectError(Error(Tensor("v")), absl::StatusCode::kFailedPrecondition,
              {phrase, "'v' (op VariableV2)"});
  const Status add = Error(Tensor("add"));
  ExpectError(add, absl::StatusCode::kFailedPrecondition, {phrase, "'add' (op AssignAdd)"});
  EXPECT_EQ(StatusNode(add), "add");
}

TEST_F(ImportReferencesTest, ATensorIsNoReference) {
  ExpectError(
      Import(absl::StrCat(ConstText("c", {1, 2}), NodeText("assign", "Assign", {"c", "c"}))),
      absl::StatusCode::kInvalidArgument,
      {"'assign' (op Assign)", "expected a reference to a variable, got the tensor c"});
  EXPECT_EQ(graph.num_nodes(), 0);
}

TEST_F(ImportReferencesTest, OnlyImportedGraphsHaveReferences) {
  ExpectError(
      TryNode("v", "VariableV2", {}, {{"dtype", DataType::kFloat}, {"shape", PartialShape()}})
          .status(),
      absl::StatusCode::kInvalidArgument, {"'v' (op VariableV2)", "handles"});
}

TEST_F(ImportReferencesTest, AnInputMapMayGiveAReference) {
  MustImport(InitializedText());
  ImportOptions options;
  options.prefix = "more";
  options.input_map = {{"v", Tensor("v")}};
  MustImport(absl::StrCat(VariableText("v"), ConstText("c", {10, 20}),
                          NodeText("add", "AssignAdd", {"v", "c"}), NodeText("y", "Neg", {"v"})),
             options);
  Step("init");
  EXPECT_THAT(Fetch("more/add"), ElementsAre(11, 22));
  EXPECT_THAT(Fetch("v"), ElementsAre(11, 22));
  EXPECT_THAT(Fetch("more/y"), ElementsAre(-11, -22));
}

TEST_F(ImportReferencesTest, NamesOfVariablesArePrefixed) {
  ImportOptions options;
  for (const char* prefix : {"a", "b"}) {
    options.prefix = prefix;
    MustImport(absl::StrCat(InitializedText(), NodeText("add", "AssignAdd", {"v", "one_two"})),
               options);
  }
  Step("a/init");
  Step("b/init");
  Step("a/add");
  EXPECT_THAT(Fetch("a/v"), ElementsAre(2, 4));
  EXPECT_THAT(Fetch("b/v"), ElementsAre(1, 2));
}

TEST_F(ImportReferencesTest, AVariableHasAGradient) {
  MustImport(absl::StrCat(InitializedText(), NodeText("square", "Square", {"v"}),
                          NodeText("y", "Mul", {"square", "v"})));
  const StatusOr<std::vector<Gradient>> gradients =
      AddGradients(&graph, {Tensor("y")}, {Tensor("v")}, {}, GradientOptions());
  ASSERT_TRUE(gradients.ok()) << gradients.status();
  Step("init");
  EXPECT_THAT(Elements<float>(Value((*gradients)[0].values)), ElementsAre(3, 12));
}

TEST_F(ImportReferencesTest, AControlInputThatIsAddedHoldsForTheWrite) {
  MustImport(absl::StrCat(InitializedText(), NodeText("add", "AssignAdd", {"v", "one_two"}),
                          NodeText("again", "AssignAdd", {"v", "one_two"}),
                          NodeText("y", "Neg", {"v", "^add"})));
  Step("init");
  ASSERT_EQ(graph.AddControlInput(NodeOf("add"), NodeOf("again")), absl::OkStatus());
  EXPECT_THAT(Fetch("y"), ElementsAre(-3, -6));
  EXPECT_THAT(Exported().node(3).input(), ElementsAre("v", "one_two", "^again"));
}

// ---- Feeds ----

TEST_F(ImportReferencesTest, AFeedOfAVariableReachesWhoTakesItsValue) {
  MustImport(absl::StrCat(InitializedText(), NodeText("read", "Identity", {"v"}),
                          NodeText("sum", "Add", {"v", "read"}),
                          NodeText("after", "Neg", {"v", "^sum"})));
  const std::vector<Feed> feeds = {{Tensor("v"), Values<float>({10, 20})}};
  const auto values = Run({Tensor("sum"), Tensor("after"), Tensor("v")}, feeds);  // v has no value
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_THAT(Elements<float>((*values)[0]), ElementsAre(20, 40));
  EXPECT_THAT(Elements<float>((*values)[1]), ElementsAre(-10, -20));
  EXPECT_THAT(Elements<float>((*values)[2]), ElementsAre(10, 20));
  Step("init");
  EXPECT_THAT(Fetch("sum"), ElementsAre(2, 4));
}

TEST_F(ImportReferencesTest, AFeedOfAnAssignmentStandsForIt) {
  MustImport(absl::StrCat(InitializedText(), NodeText("add", "AssignAdd", {"v", "one_two"}),
                          NodeText("of_add", "Neg", {"add"}), NodeText("of_v", "Neg", {"v"}),
                          NodeText("again", "AssignAdd", {"v", "add"})));
  Step("init");
  const std::vector<Feed> feeds = {{Tensor("add"), Values<float>({5, 5})}};
  EXPECT_THAT(Elements<float>(Value(Tensor("of_add"), feeds)), ElementsAre(-5, -5));
  EXPECT_THAT(Elements<float>(Value(Tensor("of_v"), feeds)), ElementsAre(-1, -2));
  EXPECT_THAT(Fetch("v"), ElementsAre(1, 2));  // nothing was added
  EXPECT_THAT(Elements<float>(Value(Tensor("again"), feeds)), ElementsAre(6, 7));
}

TEST_F(ImportReferencesTest, AFeedReachesBranchesAndGradients) {
  const std::string boolean =
      R"(attr { key: "dtype" value { type: DT_BOOL } } attr { key: "value" value { tensor {
         dtype: DT_BOOL tensor_shape { } bool_val: true } } })";
  MustImport(absl::StrCat(InitializedText(), NodeText("yes", "Const", {}, boolean),
                          NodeText("branch", "RefSwitch", {"v", "yes"}),
                          NodeText("taken", "Neg", {"branch:1"}),
                          NodeText("square", "Square", {"v"})));
  const StatusOr<std::vector<Gradient>> gradients =
      AddGradients(&graph, {Tensor("square")}, {Tensor("v")}, {}, GradientOptions());
  ASSERT_TRUE(gradients.ok()) << gradients.status();
  const std::vector<Feed> feeds = {{Tensor("v"), Values<float>({10, 20})}};
  EXPECT_THAT(Elements<float>(Value((*gradients)[0].values, feeds)), ElementsAre(20, 40));
  Step("init");
  EXPECT_THAT(Elements<float>(Value(Tensor("branch:1"), feeds)), ElementsAre(10, 20));
  const std::vector<Feed> branch = {{Tensor("branch:1"), Values<float>({3, 4})}};
  EXPECT_THAT(Elements<float>(Value(Tensor("taken"), branch)), ElementsAre(-3, -4));
}

TEST_F(ImportReferencesTest, AFeedIsNoReference) {
  MustImport(absl::StrCat(InitializedText(), NodeText("add", "AssignAdd", {"v", "one_two"}),
                          NodeText("same", "RefIdentity", {"v"}), NodeText("y", "Neg", {"add"}),
                          NodeText("there", "IsVariableInitialized", {"v"}, kDtype)));
  Step("init");
  const std::vector<Feed> feeds = {{Tensor("v"), Values<float>({10, 20})}};
  for (const std::string name : {"add", "same", "there"}) {
    const Status status = Error(Tensor(name), feeds);
    ExpectError(status, absl::StatusCode::kInvalidArgument,
                {"expected a reference to a variable", "fed for v"});
    EXPECT_EQ(StatusNode(status), name);
  }
  ExpectError(Error(Tensor("y"), feeds), absl::StatusCode::kInvalidArgument,
              {"'add' (op AssignAdd)"});
  EXPECT_THAT(Fetch("v"), ElementsAre(1, 2));
}

TEST_F(ImportReferencesTest, FeedsOfVariablesAreCheckedAsOthers) {
  MustImport(absl::StrCat(InitializedText(), NodeText("y", "Neg", {"v"})));
  ExpectError(Error(Tensor("y"), {{Tensor("v"), Values<int32_t>({1, 2})}}),
              absl::StatusCode::kInvalidArgument, {"the feed of v:0 must be float32, got int32"});
  ExpectError(Error(Tensor("y"), {{Tensor("v"), Values<float>({1, 2, 3})}}),
              absl::StatusCode::kInvalidArgument, {"the feed of v:0 must have shape [2], got [3]"});
}

// ---- Export ----

TEST_F(ImportReferencesTest, ExportsRestoreWhatCame) {
  const std::string text = absl::StrCat(
      InitializedText(),
      "node { name: \"add\" op: \"AssignAdd\" input: \"v\" input: \"one_two\" input: \"^init\" "
      "device: \"/device:CPU:0\" ",
      kT, R"(attr { key: "_class" value { list { s: "loc:@v" } } } } )",
      NodeText("same", "RefIdentity", {"add"}),
      NodeText("there", "IsVariableInitialized", {"same"}, kDtype),
      NodeText("read", "Identity", {"same", "^v", "^add", "^init"}),
      NodeText("twice", "Add", {"v", "add"}), NodeText("done", "NoOp", {"^add", "^same"}, ""));
  MustImport(text);
  const proto::GraphDef def = Exported();
  std::vector<std::string> names;
  for (const proto::NodeDef& node : def.node()) {
    names.push_back(absl::StrCat(node.name(), "=", node.op(), "(", absl::StrJoin(node.input(), " "),
                                 ")", node.device()));
  }
  EXPECT_THAT(names,
              ElementsAre("v=VariableV2()", "one_two=Const()", "init=Assign(v one_two)",
                          "add=AssignAdd(v one_two ^init)/device:CPU:0", "same=RefIdentity(add)",
                          "there=IsVariableInitialized(same)", "read=Identity(same ^v ^add ^init)",
                          "twice=Add(v add)", "done=NoOp(^add ^same)"));
  EXPECT_EQ(def.node(0).attr().at("shape").shape().dim(0).size(), 2);
  EXPECT_EQ(def.node(0).attr().at("shared_name").s(), "");
  EXPECT_TRUE(def.node(2).attr().at("validate_shape").b());
  EXPECT_EQ(def.node(2).attr().count("dtype"), 0u);
  EXPECT_EQ(def.node(3).attr().at("_class").list().s(0), "loc:@v");

  // What was exported imports to the same again.
  Graph copy;
  ASSERT_TRUE(ImportGraphDef(&copy, ExportGraphDef(graph).value()).ok());
  EXPECT_EQ(ExportGraphDef(copy).value(), ExportGraphDef(graph).value());
}

TEST_F(ImportReferencesTest, ExportsHoldForNodesThatWereAddedLater) {
  MustImport(InitializedText());
  build.set_control_inputs({NodeOf("init")});
  const Output y = Op("Neg", {Tensor("v")});
  const proto::GraphDef def = Exported();
  const proto::NodeDef& last = def.node(def.node_size() - 1);
  EXPECT_EQ(last.name(), y.node->name());
  EXPECT_THAT(last.input(), ElementsAre("v", "^init"));
}

TEST_F(ImportReferencesTest, ResultsAreTheNodesOfTheGraphDef) {
  const StatusOr<MessagePtr> message = ParseText("GraphDef", InitializedText());
  ASSERT_TRUE(message.ok());
  ImportOptions options;
  options.return_tensors = {"v", "init:0"};
  const StatusOr<ImportResult> result =
      ImportGraphDef(&graph, ToBinary(**message).value(), options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(result->nodes, ElementsAre(NodeOf("v"), NodeOf("one_two"), NodeOf("init")));
  EXPECT_THAT(result->return_tensors, ElementsAre(Tensor("v"), Tensor("init")));
}

TEST_F(ImportReferencesTest, ImportedNodesTellTheLineThatImports) {
  ImportOptions options;
  options.source = "restore.py:3 in main";
  MustImport(absl::StrCat(InitializedText(), NodeText("y", "Neg", {"v"})), options);
  ExpectError(Error(Tensor("y")), absl::StatusCode::kFailedPrecondition, {"restore.py:3 in main"});
  options.prefix = "again";
  ExpectError(Import(NodeText("y", "Neg", {"nowhere"}), options),
              absl::StatusCode::kInvalidArgument, {"restore.py:3 in main", "'again/y'"});
}

// An op that is registered must also run.
TEST(ReferenceOpsTest, EveryOneHasATwinOnHandles) {
  int count = 0;
  for (const OpDef* op : OpRegistry::Global()->List()) {
    if (!HasReferences(*op) || op->inputs.empty() || absl::StartsWith(op->name, "Ref")) continue;
    ++count;
    const bool has_twin = OpRegistry::Global()->Find(absl::StrCat(op->name, "VariableOp")).ok() ||
                          OpRegistry::Global()->Find(absl::StrCat("Resource", op->name)).ok() ||
                          OpRegistry::Global()->Find(absl::StrCat(op->name, "V2")).ok() ||
                          OpRegistry::Global()->Find(absl::StrCat("_", op->name)).ok() ||
                          op->name == "FakeQueue" || op->name == "IsVariableInitialized" ||
                          op->name == "DestroyTemporaryVariable";
    EXPECT_TRUE(has_twin) << op->name;
  }
  EXPECT_GE(count, 9);
}

}  // namespace
}  // namespace millstream
