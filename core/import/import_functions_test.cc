// Calls of functions: how they are expanded, run, differentiated, and written back as they came.
#include "core/import/import_functions.h"

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/gradients/gradients.h"
#include "core/import/graph_def.h"
#include "core/testing/session_fixture.h"
#include "framework/message.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "millstream/framework/protos/graph.pb.h"

namespace millstream {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kFloat[] = R"(attr { key: "T" value { type: DT_FLOAT } })";
constexpr char kT[] = R"(attr { key: "T" value { placeholder: "T" } })";

// A node of a GraphDef, or, as `kind` "node_def", of a body.
std::string NodeText(const std::string& name, const std::string& op,
                     const std::vector<std::string>& inputs, const std::string& attrs,
                     const std::string& kind = "node") {
  std::string text = absl::StrCat(kind, " { name: \"", name, "\" op: \"", op, "\" ");
  for (const std::string& input : inputs) absl::StrAppend(&text, "input: \"", input, "\" ");
  return absl::StrCat(text, attrs, " } ");
}

std::string BodyNode(const std::string& name, const std::string& op,
                     const std::vector<std::string>& inputs, const std::string& attrs = kT) {
  return NodeText(name, op, inputs, attrs, "node_def");
}

std::string ConstText(const std::string& name, const std::vector<float>& values) {
  return NodeText(
      name, "Const", {},
      absl::StrCat(R"(attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "value" )",
                   "value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: ", values.size(),
                   " } } float_val: ", absl::StrJoin(values, " float_val: "), " } } }"));
}

// A function with the attribute T. `signature`: its arguments; `ends`: its ret and control_ret.
std::string FunctionText(const std::string& name, const std::string& signature,
                         const std::string& body, const std::string& ends) {
  return absl::StrCat("function { signature { name: \"", name, "\" ", signature,
                      R"( attr { name: "T" type: "type" } } )", body, ends, " } ");
}

std::string LibraryText(const std::string& functions) {
  return absl::StrCat("library { ", functions, " } ");
}

constexpr char kTwoToOne[] = R"(input_arg { name: "x" type_attr: "T" }
                                input_arg { name: "y" type_attr: "T" }
                                output_arg { name: "z" type_attr: "T" })";
constexpr char kOneToOne[] = R"(input_arg { name: "x" type_attr: "T" }
                                output_arg { name: "z" type_attr: "T" })";

std::string Returns(const std::string& tensor) {
  return absl::StrCat("ret { key: \"z\" value: \"", tensor, "\" }");
}

// z = (x + y)^2 * x
std::string PolynomialText() {
  return FunctionText("polynomial", kTwoToOne,
                      BodyNode("sum", "AddV2", {"x", "y"}) +
                          BodyNode("square", "Square", {"sum:z:0"}) +
                          BodyNode("product", "Mul", {"square:y:0", "x"}),
                      Returns("product:z:0"));
}

std::string CallAttrs(const std::string& function, int arguments, int results = 1,
                      const std::string& type = "DT_FLOAT") {
  const auto types = [&](const std::string& name, int count) {
    std::string list;
    for (int i = 0; i < count; ++i) absl::StrAppend(&list, "type: ", type, " ");
    return absl::StrCat("attr { key: \"", name, "\" value { list { ", list, "} } } ");
  };
  return absl::StrCat(types("Tin", arguments), types("Tout", results),
                      "attr { key: \"f\" value { func { name: \"", function,
                      "\" attr { key: \"T\" value { type: ", type, " } } } } }");
}

class ImportFunctionsTest : public SessionTest {
 protected:
  Status Import(const std::string& text) {
    const StatusOr<MessagePtr> message = ParseText("GraphDef", text);
    if (!message.ok()) return message.status();
    return ImportGraphDef(&graph, ToBinary(**message).value()).status();
  }
  void MustImport(const std::string& text) { ASSERT_EQ(Import(text), absl::OkStatus()); }
  std::string ErrorOf(const std::string& text) { return Import(text).ToString(); }
  Output Tensor(const std::string& name) { return graph.FindOutput(name).value(); }
  std::vector<float> Fetch(const std::string& name) { return Elements<float>(Value(Tensor(name))); }
  proto::GraphDef Exported() {
    proto::GraphDef def;
    EXPECT_TRUE(def.ParseFromString(ExportGraphDef(graph).value()));
    return def;
  }
  absl::flat_hash_map<std::string, proto::NodeDef> ExportedByName() {
    absl::flat_hash_map<std::string, proto::NodeDef> nodes;
    const proto::GraphDef def = Exported();
    for (const proto::NodeDef& node : def.node()) nodes[node.name()] = node;
    return nodes;
  }
  // a = (1, 2), b = (3, -1), call = polynomial(a, b).
  static std::string PolynomialGraph() {
    return absl::StrCat(ConstText("a", {1, 2}), ConstText("b", {3, -1}),
                        NodeText("call", "PartitionedCall", {"a", "b"}, CallAttrs("polynomial", 2)),
                        LibraryText(PolynomialText()));
  }
};

TEST_F(ImportFunctionsTest, ACallGivesWhatTheBodyReturns) {
  MustImport(absl::StrCat(PolynomialGraph(), NodeText("after", "Neg", {"call"}, kFloat)));
  EXPECT_THAT(Fetch("call"), ElementsAre(16, 2));
  EXPECT_THAT(Fetch("after"), ElementsAre(-16, -2));
  EXPECT_EQ(graph.Facts(Tensor("call")).shape, PartialShape({2}));
}

TEST_F(ImportFunctionsTest, TheBodyIsNamedByThePathOfTheInstance) {
  MustImport(absl::StrCat(PolynomialGraph(), NodeText("again", "PartitionedCall", {"call", "b"},
                                                      CallAttrs("polynomial", 2))));
  EXPECT_TRUE(graph.FindNode("call/square").ok());
  EXPECT_TRUE(graph.FindNode("again/square").ok());
  EXPECT_THAT(Fetch("again"), ElementsAre(19 * 19 * 16, 2));
}

TEST_F(ImportFunctionsTest, AttributesOfTheCallReachTheBody) {
  MustImport(absl::StrCat(
      NodeText("a", "Const", {},
               R"(attr { key: "dtype" value { type: DT_INT32 } } attr { key: "value" value {
                  tensor { dtype: DT_INT32 tensor_shape {} int_val: 5 } } })"),
      NodeText("call", "PartitionedCall", {"a", "a"}, CallAttrs("polynomial", 2, 1, "DT_INT32")),
      LibraryText(PolynomialText())));
  EXPECT_EQ(Elements<int32_t>(Value(Tensor("call"))), std::vector<int32_t>{500});
}

TEST_F(ImportFunctionsTest, FunctionsCallOthers) {
  const std::string inner =
      R"(attr { key: "Tin" value { list { type: DT_FLOAT type: DT_FLOAT } } }
         attr { key: "Tout" value { list { type: DT_FLOAT } } }
         attr { key: "f" value { func { name: "polynomial"
           attr { key: "T" value { placeholder: "T" } } } } })";
  const std::string outer =
      FunctionText("outer", kOneToOne,
                   BodyNode("inner", "PartitionedCall", {"x", "x"}, inner) +
                       BodyNode("by_name", "polynomial", {"inner:output:0", "x"}) +
                       BodyNode("result", "Neg", {"by_name:z:0"}),
                   Returns("result:y:0"));
  MustImport(absl::StrCat(ConstText("a", {1}),
                          NodeText("call", "PartitionedCall", {"a"}, CallAttrs("outer", 1)),
                          LibraryText(PolynomialText() + outer)));
  EXPECT_THAT(Fetch("call"), ElementsAre(-(4 + 1) * (4 + 1) * 4));
  EXPECT_TRUE(graph.FindNode("call/inner/square").ok());
}

TEST_F(ImportFunctionsTest, AFunctionStandsInThePlaceOfAnOp) {
  MustImport(absl::StrCat(ConstText("a", {1, 2}),
                          NodeText("call", "polynomial", {"a", "a"}, kFloat),
                          LibraryText(PolynomialText())));
  EXPECT_THAT(Fetch("call"), ElementsAre(4, 32));
  EXPECT_EQ(Exported().node(1).op(), "polynomial");
}

TEST_F(ImportFunctionsTest, GradientsGoThroughTheBody) {
  MustImport(PolynomialGraph());
  const auto gradients =
      AddGradients(&graph, {Tensor("call")}, {Tensor("a"), Tensor("b")}, {}, GradientOptions());
  ASSERT_EQ(gradients.status(), absl::OkStatus());
  // d/dx (x + y)^2 x = 2 (x + y) x + (x + y)^2; d/dy = 2 (x + y) x
  EXPECT_THAT(Elements<float>(Value((*gradients)[0].values)), ElementsAre(24, 5));
  EXPECT_THAT(Elements<float>(Value((*gradients)[1].values)), ElementsAre(8, 4));
}

TEST_F(ImportFunctionsTest, ACallIsExportedAsItCame) {
  const std::string text = PolynomialGraph();
  MustImport(text);
  const proto::GraphDef def = Exported();
  ASSERT_EQ(def.node_size(), 3);
  EXPECT_EQ(def.node(2).name(), "call");
  EXPECT_EQ(def.node(2).op(), "PartitionedCall");
  EXPECT_THAT(def.node(2).input(), ElementsAre("a", "b"));
  EXPECT_EQ(def.node(2).attr().at("f").func().name(), "polynomial");
  EXPECT_EQ(def.library().function_size(), 1);
  Graph again;
  EXPECT_TRUE(ImportGraphDef(&again, def.SerializeAsString()).ok());
}

TEST_F(ImportFunctionsTest, ACallWhoseBodyIsReadIsExportedAsItRuns) {
  MustImport(PolynomialGraph());
  Op("Neg", {Tensor("call/square")});
  auto nodes = ExportedByName();
  EXPECT_EQ(nodes.size(), 7);
  EXPECT_EQ(nodes["call"].op(), "IdentityN");
  EXPECT_THAT(nodes["call"].input(), ElementsAre("call/product"));
  EXPECT_THAT(nodes["call/sum"].input(), ElementsAre("a", "b"));
  EXPECT_THAT(nodes["Neg"].input(), ElementsAre("call/square"));
  ImportOptions options;
  options.prefix = "again";
  ASSERT_TRUE(ImportGraphDef(&graph, ExportGraphDef(graph).value(), options).ok());
  EXPECT_THAT(Fetch("again/call"), ElementsAre(16, 2));
  EXPECT_THAT(Fetch("again/Neg"), ElementsAre(-16, -1));
}

TEST_F(ImportFunctionsTest, ACallWhoseBodyAnotherOneTakesIsExportedAsItRuns) {
  MustImport(PolynomialGraph());
  proto::GraphDef other = Exported();
  other.mutable_node()->DeleteSubrange(0, 2);
  other.mutable_node(0)->set_name("later");
  ImportOptions options;
  options.input_map = {{"a", Tensor("call/square")}, {"b", Tensor("b")}};
  ASSERT_TRUE(ImportGraphDef(&graph, other.SerializeAsString(), options).ok());
  auto nodes = ExportedByName();
  EXPECT_EQ(nodes["call"].op(), "IdentityN");
  EXPECT_EQ(nodes["later"].op(), "PartitionedCall");
  EXPECT_THAT(nodes["later"].input(), ElementsAre("call/square", "b"));
}

TEST_F(ImportFunctionsTest, LaterImportsCallFunctionsOfTheGraph) {
  MustImport(PolynomialGraph());
  MustImport(absl::StrCat(ConstText("c", {2}), NodeText("later", "PartitionedCall", {"c", "c"},
                                                        CallAttrs("polynomial", 2))));
  EXPECT_THAT(Fetch("later"), ElementsAre(32));
}

// Each instance has kernels, and so generators, of its own.
TEST_F(ImportFunctionsTest, StateOfKernelsBelongsToTheInstance) {
  const std::string random =
      R"(attr { key: "T" value { type: DT_INT32 } } attr { key: "dtype" value { type: DT_FLOAT } }
         attr { key: "seed" value { i: 3 } } attr { key: "seed2" value { i: 7 } })";
  const std::string noise = FunctionText(
      "noise", kOneToOne,
      BodyNode("shape", "Shape", {"x"},
               absl::StrCat(kT, R"( attr { key: "out_type" value { type: DT_INT32 } })")) +
          BodyNode("random", "RandomUniform", {"shape:output:0"}, random),
      Returns("random:output:0"));
  MustImport(absl::StrCat(ConstText("a", {1, 2, 3}),
                          NodeText("one", "StatefulPartitionedCall", {"a"}, CallAttrs("noise", 1)),
                          NodeText("two", "StatefulPartitionedCall", {"a"}, CallAttrs("noise", 1)),
                          LibraryText(noise)));
  const std::vector<float> first = Fetch("one");
  const std::vector<float> second = Fetch("one");
  EXPECT_NE(first, second);
  // The other instance begins where the first one began.
  EXPECT_EQ(Fetch("two"), first);
  EXPECT_EQ(Fetch("two"), second);
}

// v = 5 by a function's only effect; nobody reads what it returns.
TEST_F(ImportFunctionsTest, ACallEndsWhenTheEffectsOfTheBodyAreThere) {
  const std::string variable =
      R"(attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "shape" value { shape {
         dim { size: 1 } } } } attr { key: "shared_name" value { s: "v" } })";
  const std::string dtype = R"(attr { key: "dtype" value { type: DT_FLOAT } })";
  const std::string set = FunctionText("set", R"(input_arg { name: "v" type: DT_RESOURCE }
                             input_arg { name: "x" type_attr: "T" })",
                                       BodyNode("assign", "AssignVariableOp", {"v", "x"}, dtype),
                                       R"(control_ret { key: "assign" value: "assign" })");
  const std::string attrs =
      R"(attr { key: "Tin" value { list { type: DT_RESOURCE type: DT_FLOAT } } }
         attr { key: "Tout" value { list {} } }
         attr { key: "f" value { func { name: "set" attr { key: "T" value { type: DT_FLOAT } } } } })";
  MustImport(absl::StrCat(NodeText("v", "VarHandleOp", {}, variable), ConstText("five", {5}),
                          NodeText("set_v", "StatefulPartitionedCall", {"v", "five"}, attrs),
                          NodeText("read", "ReadVariableOp", {"v", "^set_v"}, dtype),
                          LibraryText(set)));
  EXPECT_THAT(Fetch("read"), ElementsAre(5));
}

// Adds x to v where p is true, and gives x: an effect in a branch of the body.
TEST_F(ImportFunctionsTest, ACallEndsWhereABranchOfTheBodyWithAnEffectDoesNotRun) {
  const std::string dtype = R"(attr { key: "dtype" value { type: DT_FLOAT } })";
  const std::string add = FunctionText(
      "add",
      R"(input_arg { name: "v" type: DT_RESOURCE } input_arg { name: "p" type: DT_BOOL }
         input_arg { name: "x" type_attr: "T" } output_arg { name: "z" type_attr: "T" })",
      BodyNode("of_v", "Switch", {"v", "p"}, R"(attr { key: "T" value { type: DT_RESOURCE } })") +
          BodyNode("of_x", "Switch", {"x", "p"}) +
          BodyNode("add", "AssignAddVariableOp", {"of_v:output_true:0", "of_x:output_true:0"},
                   dtype) +
          BodyNode("done", "Identity", {"of_x:output_true:0", "^add"}) +
          BodyNode("merged", "Merge", {"of_x:output_false:0", "done:output:0"},
                   absl::StrCat(kT, R"( attr { key: "N" value { i: 2 } })")),
      Returns("merged:output:0"));
  const std::string attrs =
      R"(attr { key: "Tin" value { list { type: DT_RESOURCE type: DT_BOOL type: DT_FLOAT } } }
         attr { key: "Tout" value { list { type: DT_FLOAT } } }
         attr { key: "f" value { func { name: "add" attr { key: "T" value { type: DT_FLOAT } } } } })";
  const auto less = [&](const std::string& name, const std::string& a, const std::string& b) {
    return NodeText(name, "Less", {a, b}, kFloat) +
           NodeText("is_" + name, "All", {name, "no_axis"}, "");
  };
  MustImport(absl::StrCat(
      NodeText("v", "VarHandleOp", {}, dtype + R"(attr { key: "shape" value { shape {
         dim { size: 1 } } } } attr { key: "shared_name" value { s: "v" } })"),
      ConstText("one", {1}), ConstText("two", {2}),
      NodeText("no_axis", "Const", {},
               R"(attr { key: "dtype" value { type: DT_INT32 } } attr { key: "value" value {
                  tensor { dtype: DT_INT32 tensor_shape { dim { size: 1 } } int_val: 0 } } })"),
      less("true", "one", "two"), less("false", "two", "one"),
      NodeText("begin", "AssignVariableOp", {"v", "one"}, dtype),
      NodeText("without", "StatefulPartitionedCall", {"v", "is_false", "two", "^begin"}, attrs),
      NodeText("with", "StatefulPartitionedCall", {"v", "is_true", "two", "^without"}, attrs),
      NodeText("read", "ReadVariableOp", {"v", "^with"}, dtype), LibraryText(add)));
  EXPECT_THAT(Fetch("without"), ElementsAre(2));
  EXPECT_THAT(Fetch("read"), ElementsAre(3));
}

// The check of what is called waits for what the call waits for.
TEST_F(ImportFunctionsTest, TheBodyWaitsForTheCallsControlInputs) {
  MustImport(absl::StrCat(
      ConstText("a", {1}), NodeText("first", "Neg", {"a"}, kFloat),
      NodeText("call", "PartitionedCall", {"a", "a", "^first"}, CallAttrs("polynomial", 2)),
      LibraryText(PolynomialText())));
  const Node* const sum = graph.FindNode("call/sum").value();
  EXPECT_THAT(graph.ControlInputs(sum), ElementsAre(graph.FindNode("first").value()));
  EXPECT_TRUE(graph.ControlInputs(graph.FindNode("call/square").value()).empty());
}

TEST_F(ImportFunctionsTest, ErrorsOfAStepNameTheNodeOfTheInstance) {
  const std::string body =
      BodyNode("checked", "CheckNumerics", {"x"},
               absl::StrCat(kT, R"( attr { key: "message" value { s: "broken" } })"));
  MustImport(absl::StrCat(
      ConstText("zero", {0}), NodeText("log", "Log", {"zero"}, kFloat),
      NodeText("call", "PartitionedCall", {"log"}, CallAttrs("check", 1)),
      LibraryText(FunctionText("check", kOneToOne, body, Returns("checked:output:0")))));
  EXPECT_THAT(Execute({graph.FindNode("call").value()}).ToString(),
              AllOf(HasSubstr("broken"), HasSubstr("'call/checked' (op CheckNumerics)")));
}

TEST_F(ImportFunctionsTest, ListsOfTensorsAreArgumentsAndResults) {
  const std::string lists =
      R"pb(function {
             signature {
               name: "lists"
               input_arg { name: "xs" number_attr: "N" type: DT_FLOAT }
               output_arg { name: "z" type: DT_FLOAT }
               output_arg { name: "all" type_list_attr: "types" }
               attr { name: "N" type: "int" }
               attr { name: "types" type: "list(type)" }
             }
             node_def {
               name: "sum"
               op: "AddN"
               input: "xs"
               attr {
                 key: "N"
                 value { placeholder: "N" }
               }
               attr {
                 key: "T"
                 value { type: DT_FLOAT }
               }
             }
             node_def {
               name: "both"
               op: "IdentityN"
               input: "xs:1"
               input: "xs:0"
               attr {
                 key: "T"
                 value { placeholder: "types" }
               }
             }
             ret { key: "z" value: "sum:sum:0" }
             ret { key: "all" value: "both:output" }
           })pb";
  const std::string call =
      R"(attr { key: "Tin" value { list { type: DT_FLOAT type: DT_FLOAT } } }
         attr { key: "Tout" value { list { type: DT_FLOAT type: DT_FLOAT type: DT_FLOAT } } }
         attr { key: "f" value { func { name: "lists" attr { key: "N" value { i: 2 } }
           attr { key: "types" value { list { type: DT_FLOAT type: DT_FLOAT } } } } } })";
  MustImport(absl::StrCat(ConstText("a", {1}), ConstText("b", {2}),
                          NodeText("call", "PartitionedCall", {"a", "b"}, call),
                          LibraryText(lists)));
  EXPECT_THAT(Fetch("call:0"), ElementsAre(3));
  EXPECT_THAT(Fetch("call:1"), ElementsAre(2));
  EXPECT_THAT(Fetch("call:2"), ElementsAre(1));
}

struct Malformed {
  std::string name;
  std::string graph;
  std::vector<std::string> error;
};

class MalformedFunctionTest : public ImportFunctionsTest,
                              public ::testing::WithParamInterface<Malformed> {};

std::string CallOf(const std::string& function, const std::string& library) {
  return absl::StrCat(ConstText("a", {1}),
                      NodeText("call", "PartitionedCall", {"a"}, CallAttrs(function, 1)),
                      LibraryText(library));
}

INSTANTIATE_TEST_SUITE_P(
    Functions, MalformedFunctionTest,
    ::testing::Values(
        Malformed{"Unknown", CallOf("f", ""), {"NOT_FOUND", "no function 'f'", "node 'call'"}},
        Malformed{"CallsItself",
                  CallOf("f", FunctionText("f", kOneToOne, BodyNode("again", "f", {"x"}),
                                           Returns("again:z:0"))),
                  {"UNIMPLEMENTED", "function 'f' calls itself", "f calls f"}},
        Malformed{"UnknownOp",
                  CallOf("f", FunctionText("f", kOneToOne, BodyNode("n", "NoSuchOp", {"x"}),
                                           Returns("n:y:0"))),
                  {"NOT_FOUND", "NoSuchOp", "function 'f'", "node 'n'"}},
        Malformed{"UnknownTensor",
                  CallOf("f", FunctionText("f", kOneToOne, BodyNode("n", "Neg", {"w"}),
                                           Returns("n:y:0"))),
                  {"INVALID_ARGUMENT", "has no 'w'", "function 'f'"}},
        Malformed{"UnknownOutput",
                  CallOf("f", FunctionText("f", kOneToOne, BodyNode("n", "Neg", {"x"}),
                                           Returns("n:y:1"))),
                  {"INVALID_ARGUMENT", "has no 'n:y:1'", "result 'z'"}},
        Malformed{"NothingReturned",
                  CallOf("f", FunctionText("f", kOneToOne, BodyNode("n", "Neg", {"x"}), "")),
                  {"INVALID_ARGUMENT", "returns nothing for result 'z'"}},
        Malformed{
            "TwoNodesOfOneName",
            CallOf("f", FunctionText("f", kOneToOne,
                                     BodyNode("n", "Neg", {"x"}) + BodyNode("n", "Neg", {"x"}),
                                     Returns("n:y:0"))),
            {"INVALID_ARGUMENT", "two nodes called 'n'"}},
        Malformed{
            "MissingAttribute",
            CallOf("f", FunctionText("f", kOneToOne,
                                     BodyNode("n", "Neg", {"x"},
                                              R"(attr { key: "T" value { placeholder: "S" } })"),
                                     Returns("n:y:0"))),
            {"INVALID_ARGUMENT", "'S'", "does not give"}},
        Malformed{"OtherArguments",
                  CallOf("polynomial", PolynomialText()),
                  {"INVALID_ARGUMENT", "the call has arguments", "function 'polynomial' has"}},
        Malformed{"Cycle",
                  CallOf("f", FunctionText("f", kOneToOne,
                                           BodyNode("n", "Neg", {"m:y:0"}) +
                                               BodyNode("m", "Neg", {"n:y:0"}),
                                           Returns("n:y:0"))),
                  {"INVALID_ARGUMENT", "cycle"}}),
    [](const auto& info) { return info.param.name; });

TEST_P(MalformedFunctionTest, IsRefusedWithItsPlace) {
  const std::string error = ErrorOf(GetParam().graph);
  for (const std::string& text : GetParam().error) EXPECT_THAT(error, HasSubstr(text));
  EXPECT_EQ(graph.num_nodes(), 0);
}

// Each calls the next twice: 2^30 nodes from a few hundred bytes.
TEST_F(ImportFunctionsTest, CallsThatGrowWithoutBoundAreRefused) {
  std::string library =
      FunctionText("f0", kOneToOne, BodyNode("n", "Neg", {"x"}), Returns("n:y:0"));
  for (int i = 1; i <= 30; ++i) {
    const std::string before = absl::StrCat("f", i - 1);
    absl::StrAppend(&library,
                    FunctionText(absl::StrCat("f", i), kOneToOne,
                                 BodyNode("a", before, {"x"}) + BodyNode("b", before, {"a:z:0"}),
                                 Returns("b:z:0")));
  }
  EXPECT_THAT(ErrorOf(CallOf("f30", library)), HasSubstr("RESOURCE_EXHAUSTED"));
}

// A word of the body stands for all tensors of an argument: 500 words for a million inputs.
TEST_F(ImportFunctionsTest, InputsThatListsMultiplyAreRefused) {
  constexpr int kTensors = 2000;
  const std::vector<std::string> words(500, "xs");
  const std::string function = absl::StrCat(
      R"(function { signature { name: "f" input_arg { name: "xs" number_attr: "N" type: DT_FLOAT }
           attr { name: "N" type: "int" } } )",
      BodyNode("all", "AddN", words, R"(attr { key: "N" value { i: 1000000 } }
                                         attr { key: "T" value { type: DT_FLOAT } })"),
      "}");
  std::string types;
  for (int i = 0; i < kTensors; ++i) absl::StrAppend(&types, "type: DT_FLOAT ");
  const std::string attrs = absl::StrCat(R"(attr { key: "Tin" value { list { )", types,
                                         R"( } } } attr { key: "Tout" value { list {} } }
         attr { key: "f" value { func { name: "f" attr { key: "N" value { i: 2000 } } } } })");
  EXPECT_THAT(ErrorOf(absl::StrCat(ConstText("a", {1}),
                                   NodeText("call", "PartitionedCall",
                                            std::vector<std::string>(kTensors, "a"), attrs),
                                   LibraryText(function))),
              AllOf(HasSubstr("RESOURCE_EXHAUSTED"), HasSubstr("node 'all'")));
}

}  // namespace
}  // namespace millstream
