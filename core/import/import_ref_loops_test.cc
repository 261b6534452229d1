// References in loops, and references to arrays and stacks: how imported graphs with them run.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/import/graph_def.h"
#include "core/testing/session_fixture.h"
#include "framework/message.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "millstream/framework/protos/graph.pb.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;

std::string Type(const char* attr, const char* type) {
  return absl::StrCat(" attr { key: \"", attr, "\" value { type: ", type, " } }");
}

std::string Attr(const char* attr, const std::string& value) {
  return absl::StrCat(" attr { key: \"", attr, "\" value { ", value, " } }");
}

const std::string kFloats = Type("T", "DT_FLOAT");
const std::string kInts = Type("T", "DT_INT32");

std::string NodeText(const std::string& name, const std::string& op,
                     const std::vector<std::string>& inputs, const std::string& attrs = kFloats) {
  std::string text = absl::StrCat("node { name: \"", name, "\" op: \"", op, "\" ");
  for (const std::string& input : inputs) absl::StrAppend(&text, "input: \"", input, "\" ");
  return absl::StrCat(text, attrs, " } ");
}

// A constant; `shape` is "" for a scalar. `control` is a node to wait for, or "".
std::string ConstText(const std::string& name, const char* type, const std::string& values,
                      const std::string& shape = "", const std::string& control = "") {
  std::vector<std::string> inputs;
  if (!control.empty()) inputs.push_back(absl::StrCat("^", control));
  return NodeText(
      name, "Const", inputs,
      absl::StrCat(Type("dtype", type),
                   Attr("value", absl::StrCat("tensor { dtype: ", type, " tensor_shape { ", shape,
                                              " } ", values, " }"))));
}
std::string IntText(const std::string& name, int value, const std::string& control = "") {
  return ConstText(name, "DT_INT32", absl::StrCat("int_val: ", value), "", control);
}
std::string FloatText(const std::string& name, float value) {
  return ConstText(name, "DT_FLOAT", absl::StrCat("float_val: ", value));
}

std::string EnterText(const std::string& name, const std::string& op, const std::string& input,
                      const std::string& type) {
  return NodeText(name, op, {input}, absl::StrCat(type, Attr("frame_name", "s: \"frame\"")));
}
std::string MergeText(const std::string& name, const std::string& op, const std::string& enter,
                      const std::string& next, const std::string& type) {
  return NodeText(name, op, {enter, next}, absl::StrCat(type, Attr("N", "i: 2")));
}

// A loop that counts i from 0 to 3: "i" is the number in its body, "goes_on" its LoopCond.
std::string CountingText() {
  return absl::StrCat(IntText("zero", 0), EnterText("enter_i", "Enter", "zero", kInts),
                      MergeText("merge_i", "Merge", "enter_i", "next_i", kInts),
                      IntText("three", 3, "merge_i"),
                      NodeText("less", "Less", {"merge_i", "three"}, kInts),
                      NodeText("goes_on", "LoopCond", {"less"}, ""),
                      NodeText("switch_i", "Switch", {"merge_i", "goes_on"}, kInts),
                      NodeText("i", "Identity", {"switch_i:1"}, kInts), IntText("one", 1, "i"),
                      NodeText("more", "AddV2", {"i", "one"}, kInts),
                      NodeText("next_i", "NextIteration", {"more"}, kInts));
}

class ImportReferenceLoopsTest : public SessionTest {
 protected:
  void MustImport(const std::string& text) {
    const StatusOr<MessagePtr> message = ParseText("GraphDef", text);
    ASSERT_TRUE(message.ok()) << message.status();
    const auto imported = ImportGraphDef(&graph, ToBinary(**message).value(), ImportOptions());
    ASSERT_TRUE(imported.ok()) << imported.status();
  }
  Output Tensor(const std::string& name) { return graph.FindOutput(name).value(); }
  std::vector<float> Fetch(const std::string& name, const std::vector<Feed>& feeds = {}) {
    return Elements<float>(Value(Tensor(name), feeds));
  }
  void Step(const std::string& name, const std::vector<Feed>& feeds = {}) {
    ASSERT_EQ(Run({}, feeds, {graph.FindNode(name).value()}).status(), absl::OkStatus());
  }
  std::string OpOf(const std::string& name) {
    proto::GraphDef def;
    EXPECT_TRUE(def.ParseFromString(ExportGraphDef(graph).value()));
    for (const proto::NodeDef& node : def.node()) {
      if (node.name() == name) return node.op();
    }
    return "";
  }
};

// ---- Arrays ----

const std::string kArray =
    absl::StrCat(Type("dtype", "DT_FLOAT"), Attr("clear_after_read", "b: false"));
const std::string kRead = Type("dtype", "DT_FLOAT");

std::string ArrayText() {
  return absl::StrCat(IntText("size", 3), NodeText("array", "TensorArray", {"size"}, kArray),
                      FloatText("flow", 0));
}

TEST_F(ImportReferenceLoopsTest, AnArrayIsWrittenAndRead) {
  MustImport(absl::StrCat(ArrayText(), IntText("at", 1), FloatText("x", 7),
                          NodeText("written", "TensorArrayWrite", {"array", "at", "x", "flow"}),
                          NodeText("read", "TensorArrayRead", {"array", "at", "written"}, kRead),
                          NodeText("count", "TensorArraySize", {"array", "written"}, ""),
                          NodeText("close", "TensorArrayClose", {"array", "^read"}, "")));
  EXPECT_THAT(Fetch("read"), ElementsAre(7));
  EXPECT_THAT(Elements<int32_t>(Value(Tensor("count"))), ElementsAre(3));
  Step("close");
  EXPECT_EQ(OpOf("array"), "TensorArray");
  EXPECT_EQ(OpOf("read"), "TensorArrayRead");
}

TEST_F(ImportReferenceLoopsTest, RowsOfATensorAreElements) {
  const std::string three = "dim { size: 3 }";
  MustImport(absl::StrCat(
      ArrayText(), ConstText("x", "DT_FLOAT", "float_val: 1 float_val: 2 float_val: 3", three),
      ConstText("places", "DT_INT32", "int_val: 2 int_val: 0 int_val: 1", three),
      ConstText("lengths", "DT_INT64", "int64_val: 1 int64_val: 0 int64_val: 2", three),
      NodeText("scattered", "TensorArrayScatter", {"array", "places", "x", "flow"}),
      NodeText("rows", "TensorArrayGather", {"array", "places", "scattered"}, kRead),
      NodeText("other", "TensorArray", {"size"}, kArray),
      NodeText("split", "TensorArraySplit", {"other", "x", "lengths", "flow"}),
      NodeText("joined", "TensorArrayConcat", {"other", "split"}, kRead)));
  EXPECT_THAT(Fetch("rows"), ElementsAre(1, 2, 3));
  EXPECT_THAT(Fetch("joined"), ElementsAre(1, 2, 3));
  EXPECT_THAT(Elements<int64_t>(Value(Tensor("joined:1"))), ElementsAre(1, 0, 2));
}

TEST_F(ImportReferenceLoopsTest, AnArrayHasOneForItsGradients) {
  const std::string source = Attr("source", "s: \"gradients\"");
  MustImport(absl::StrCat(ArrayText(), IntText("at", 1), FloatText("x", 7),
                          NodeText("written", "TensorArrayWrite", {"array", "at", "x", "flow"}),
                          NodeText("gradients", "TensorArrayGrad", {"array", "written"}, source),
                          NodeText("one", "TensorArrayWrite", {"gradients", "at", "x", "flow"}),
                          NodeText("two", "TensorArrayWrite", {"gradients", "at", "x", "one"}),
                          NodeText("sum", "TensorArrayRead", {"gradients", "at", "two"}, kRead)));
  EXPECT_THAT(Fetch("sum"), ElementsAre(14));
}

TEST_F(ImportReferenceLoopsTest, AnArrayEntersALoop) {
  const std::string cast = absl::StrCat(Type("SrcT", "DT_INT32"), Type("DstT", "DT_FLOAT"));
  const std::string three = "dim { size: 3 }";
  MustImport(absl::StrCat(
      ArrayText(), CountingText(),
      NodeText("same", "RefIdentity", {"array"}, Type("T", "DT_STRING")),
      EnterText("inside", "RefEnter", "same",
                absl::StrCat(Type("T", "DT_STRING"), Attr("is_constant", "b: true"))),
      EnterText("enter_flow", "Enter", "flow", kFloats),
      MergeText("merge_flow", "Merge", "enter_flow", "next_flow", kFloats),
      NodeText("switch_flow", "Switch", {"merge_flow", "goes_on"}),
      NodeText("value", "Cast", {"i"}, cast),
      NodeText("write", "TensorArrayWrite", {"inside", "i", "value", "switch_flow:1"}),
      NodeText("next_flow", "NextIteration", {"write"}), NodeText("exit", "Exit", {"switch_flow"}),
      ConstText("places", "DT_INT32", "int_val: 0 int_val: 1 int_val: 2", three),
      NodeText("all", "TensorArrayGather", {"array", "places", "exit"}, kRead)));
  EXPECT_THAT(Fetch("all"), ElementsAre(0, 1, 2));
}

// ---- Stacks ----

TEST_F(ImportReferenceLoopsTest, AStackGivesWhatWasPushedLast) {
  const std::string type = Type("elem_type", "DT_FLOAT");
  MustImport(absl::StrCat(NodeText("stack", "Stack", {}, type), FloatText("x", 1),
                          FloatText("y", 2), NodeText("first", "StackPush", {"stack", "x"}),
                          NodeText("second", "StackPush", {"stack", "y", "^first"}),
                          NodeText("last", "StackPop", {"stack", "^second"}, type),
                          NodeText("rest", "StackPop", {"stack", "^last"}, type),
                          NodeText("close", "StackClose", {"stack", "^rest"}, "")));
  const auto values = Run({Tensor("second"), Tensor("last"), Tensor("rest")}, {},
                          {graph.FindNode("close").value()});
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_THAT(Elements<float>((*values)[0]), ElementsAre(2));
  EXPECT_THAT(Elements<float>((*values)[1]), ElementsAre(2));
  EXPECT_THAT(Elements<float>((*values)[2]), ElementsAre(1));
  EXPECT_EQ(OpOf("stack"), "Stack");
}

// ---- Variables ----

std::string VariableText(const std::string& name, float value) {
  return absl::StrCat(
      NodeText(name, "VariableV2", {},
               absl::StrCat(Type("dtype", "DT_FLOAT"), Attr("shape", "shape { }"))),
      FloatText(absl::StrCat(name, "_first"), value),
      NodeText(absl::StrCat(name, "_init"), "Assign", {name, absl::StrCat(name, "_first")}));
}

TEST_F(ImportReferenceLoopsTest, ALoopPassesAReferenceToItsNextIteration) {
  MustImport(absl::StrCat(
      VariableText("v", 5), CountingText(), EnterText("enter", "RefEnter", "v", kFloats),
      MergeText("merge", "RefMerge", "enter", "next", kFloats),
      NodeText("switch", "RefSwitch", {"merge", "goes_on"}),
      ConstText("ten", "DT_FLOAT", "float_val: 10", "", "i"),
      NodeText("add", "AssignAdd", {"switch:1", "ten"}),
      NodeText("next", "RefNextIteration", {"add"}), NodeText("exit", "RefExit", {"switch"}),
      NodeText("after", "Neg", {"exit"})));
  Step("v_init");
  EXPECT_THAT(Fetch("after"), ElementsAre(-35));
  EXPECT_THAT(Fetch("v"), ElementsAre(35));
  EXPECT_EQ(OpOf("next"), "RefNextIteration");
}

TEST_F(ImportReferenceLoopsTest, AnIndexSelectsAReference) {
  MustImport(
      absl::StrCat(VariableText("v", 1), VariableText("w", 2),
                   NodeText("index", "Placeholder", {},
                            absl::StrCat(Type("dtype", "DT_INT32"), Attr("shape", "shape { }"))),
                   NodeText("chosen", "RefSelect", {"index", "v", "w"},
                            absl::StrCat(kFloats, Attr("N", "i: 2"))),
                   FloatText("ten", 10), NodeText("add", "AssignAdd", {"chosen", "ten"})));
  Step("v_init");
  Step("w_init");
  const std::vector<Feed> second = {{Tensor("index"), millstream::Tensor::Scalar<int32_t>(1)}};
  EXPECT_THAT(Fetch("chosen", second), ElementsAre(2));
  EXPECT_THAT(Fetch("add", second), ElementsAre(12));
  EXPECT_THAT(Fetch("v"), ElementsAre(1));
  EXPECT_THAT(Fetch("w"), ElementsAre(12));
  const std::vector<Feed> third = {{Tensor("index"), millstream::Tensor::Scalar<int32_t>(2)}};
  ExpectError(Error(Tensor("chosen"), third), absl::StatusCode::kInvalidArgument,
              {"argument 'index' must be a number from 0 to 1", "'chosen' (op RefSelect)"});
}

}  // namespace
}  // namespace millstream
