// Graphs with references to queues and accumulators: how they run, and that they are written back
// as they came.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/import/graph_def.h"
#include "core/testing/session_fixture.h"
#include "framework/message.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "millstream/framework/protos/graph.pb.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;

constexpr char kTypes[] =
    R"(attr { key: "component_types" value { list { type: DT_FLOAT } } }
       attr { key: "shapes" value { list { shape { } } } } )";
constexpr char kComponents[] =
    R"(attr { key: "component_types" value { list { type: DT_FLOAT } } } )";
constexpr char kGiven[] = R"(attr { key: "Tcomponents" value { list { type: DT_FLOAT } } } )";

// A node of a GraphDef. `inputs`: "a", "b:1", "^c".
std::string NodeText(const std::string& name, const std::string& op,
                     const std::vector<std::string>& inputs, const std::string& attrs = "") {
  std::string text = absl::StrCat("node { name: \"", name, "\" op: \"", op, "\" ");
  for (const std::string& input : inputs) absl::StrAppend(&text, "input: \"", input, "\" ");
  return absl::StrCat(text, attrs, " } ");
}

std::string ConstText(const std::string& name, const std::string& dtype,
                      const std::string& tensor) {
  return NodeText(name, "Const", {},
                  absl::StrCat("attr { key: \"dtype\" value { type: ", dtype,
                               " } } attr { key: \"value\" value { tensor { dtype: ", dtype, " ",
                               tensor, " } } }"));
}

// A queue `q`, and all that can be done with it.
std::string QueueText(const std::string& op = "FIFOQueue", const std::string& queue = "q") {
  return absl::StrCat(
      NodeText("q", op, {}, kTypes), ConstText("one", "DT_FLOAT", "tensor_shape { } float_val: 1"),
      ConstText("rows", "DT_FLOAT",
                "tensor_shape { dim { size: 3 } } float_val: 2 float_val: 3 float_val: 4"),
      ConstText("two", "DT_INT32", "tensor_shape { } int_val: 2"),
      NodeText("put", "QueueEnqueue", {queue, "one"}, kGiven),
      NodeText("put_many", "QueueEnqueueMany", {queue, "rows"}, kGiven),
      NodeText("take", "QueueDequeue", {queue}, kComponents),
      NodeText("take_many", "QueueDequeueMany", {queue, "two"}, kComponents),
      NodeText("take_up_to", "QueueDequeueUpTo", {queue, "two"}, kComponents),
      NodeText("size", "QueueSize", {queue}), NodeText("close", "QueueClose", {queue}),
      NodeText("is_closed", "QueueIsClosed", {queue}));
}

class ImportQueuesTest : public SessionTest {
 protected:
  void MustImport(const std::string& text) {
    const StatusOr<MessagePtr> message = ParseText("GraphDef", text);
    ASSERT_TRUE(message.ok()) << message.status();
    ASSERT_EQ(ImportGraphDef(&graph, ToBinary(**message).value(), ImportOptions()).status(),
              absl::OkStatus());
  }
  Output Tensor(const std::string& name) { return graph.FindOutput(name).value(); }
  std::vector<float> Fetch(const std::string& name) { return Elements<float>(Value(Tensor(name))); }
  void Step(const std::string& name) {
    ASSERT_EQ(Execute({graph.FindNode(name).value()}), absl::OkStatus());
  }
  void ExpectThatAllWorks() {
    Step("put");
    Step("put_many");
    EXPECT_EQ(*Value(Tensor("size")).data<int32_t>(), 4);
    EXPECT_EQ(Fetch("take").size(), 1u);
    EXPECT_EQ(Fetch("take_many").size(), 2u);
    EXPECT_FALSE(*Value(Tensor("is_closed")).data<bool>());
    Step("close");
    EXPECT_TRUE(*Value(Tensor("is_closed")).data<bool>());
    EXPECT_EQ(Fetch("take_up_to").size(), 1u);
    ExpectError(Error(Tensor("take")), absl::StatusCode::kOutOfRange,
                {"is closed and has insufficient elements", "node 'take' (op QueueDequeue)"});
  }
};

TEST_F(ImportQueuesTest, ElementsGoFromStepToStep) {
  MustImport(QueueText());
  Step("put_many");
  EXPECT_THAT(Fetch("take"), ElementsAre(2));
  EXPECT_THAT(Fetch("take_many"), ElementsAre(3, 4));
}

class ImportQueueKindsTest : public ImportQueuesTest,
                             public ::testing::WithParamInterface<const char*> {};

TEST_P(ImportQueueKindsTest, EveryOpWorks) {
  MustImport(QueueText(GetParam()));
  ExpectThatAllWorks();
}

INSTANTIATE_TEST_SUITE_P(All, ImportQueueKindsTest,
                         ::testing::Values("FIFOQueue", "PaddingFIFOQueue", "RandomShuffleQueue"));

TEST_F(ImportQueuesTest, AFakeQueueIsTheQueueOfItsHandle) {
  MustImport(absl::StrCat(NodeText("handle", "FIFOQueueV2", {}, kTypes),
                          NodeText("fake", "FakeQueue", {"handle"}),
                          QueueText("FIFOQueue", "fake")));
  ExpectThatAllWorks();
}

TEST_F(ImportQueuesTest, WritesTheGraphAsItCame) {
  MustImport(QueueText());
  proto::GraphDef def;
  ASSERT_TRUE(def.ParseFromString(ExportGraphDef(graph).value()));
  for (const proto::NodeDef& node : def.node()) {
    if (node.name() == "q") {
      EXPECT_EQ(node.op(), "FIFOQueue");
    }
    if (node.name() != "take_many") continue;
    EXPECT_EQ(node.op(), "QueueDequeueMany");
    EXPECT_THAT(node.input(), ElementsAre("q", "two"));
  }
  EXPECT_EQ(def.node_size(), 12);
}

// Outside an operation on a handle has the name of the one on a reference.
TEST_F(ImportQueuesTest, AHandleIsWrittenWithTheShapeOfTheReferenceThatItIsOutside) {
  MustImport(NodeText("barrier", "_Barrier", {}, kTypes));
  const StatusOr<std::string> bytes = ExportGraphDef(graph, /*with_shapes=*/true);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  proto::GraphDef def;
  ASSERT_TRUE(def.ParseFromString(*bytes));
  EXPECT_EQ(def.node(0).op(), "Barrier");
  EXPECT_EQ(def.node(0).attr().at("_output_shapes").list().shape(0).dim_size(), 1);
  Graph copy;
  const auto imported = ImportGraphDef(&copy, *bytes, ImportOptions());
  EXPECT_TRUE(imported.ok()) << imported.status();
}

TEST_F(ImportQueuesTest, AnAccumulatorRuns) {
  constexpr char kText[] = R"(
    node { name: "a" op: "SparseConditionalAccumulator"
           attr { key: "dtype" value { type: DT_FLOAT } }
           attr { key: "shape" value { shape { dim { size: 4 } } } } }
    node { name: "step" op: "Const" attr { key: "dtype" value { type: DT_INT64 } }
           attr { key: "value" value { tensor { dtype: DT_INT64 tensor_shape { } int64_val: 0 } } } }
    node { name: "indices" op: "Const" attr { key: "dtype" value { type: DT_INT64 } }
           attr { key: "value" value { tensor { dtype: DT_INT64 tensor_shape { dim { size: 1 } }
                                                int64_val: 3 } } } }
    node { name: "values" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
           attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 1 } }
                                                float_val: 8 } } } }
    node { name: "one" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
           attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 1 } } } }
    node { name: "apply" op: "SparseAccumulatorApplyGradient"
           input: "a" input: "step" input: "indices" input: "values" input: "indices"
           attr { key: "dtype" value { type: DT_FLOAT } }
           attr { key: "has_known_shape" value { b: false } } }
    node { name: "count" op: "AccumulatorNumAccumulated" input: "a" }
    node { name: "take" op: "SparseAccumulatorTakeGradient" input: "a" input: "one"
           attr { key: "dtype" value { type: DT_FLOAT } } })";
  MustImport(kText);
  Step("apply");
  EXPECT_EQ(*Value(Tensor("count")).data<int32_t>(), 1);
  EXPECT_THAT(Fetch("take:1"), ElementsAre(8));
}

// Of before tables had a key for removed entries: the op takes one input fewer than that on
// handles.
TEST_F(ImportQueuesTest, ATableWithOneReservedKeyRuns) {
  constexpr char kTable[] =
      R"(attr { key: "key_dtype" value { type: DT_INT64 } }
         attr { key: "value_dtype" value { type: DT_FLOAT } }
         attr { key: "initial_num_buckets" value { i: 8 } })";
  constexpr char kElements[] =
      R"(attr { key: "Tin" value { type: DT_INT64 } } attr { key: "Tout" value { type: DT_FLOAT } })";
  MustImport(absl::StrCat(
      ConstText("empty", "DT_INT64", "tensor_shape { } int64_val: -1"),
      NodeText("table", "MutableDenseHashTable", {"empty"}, kTable),
      ConstText("keys", "DT_INT64", "tensor_shape { dim { size: 2 } } int64_val: 5 int64_val: -2"),
      ConstText("values", "DT_FLOAT", "tensor_shape { dim { size: 2 } } float_val: 3 float_val: 4"),
      ConstText("none", "DT_FLOAT", "tensor_shape { } float_val: 9"),
      NodeText("insert", "LookupTableInsert", {"table", "keys", "values"}, kElements),
      NodeText("find", "LookupTableFind", {"table", "keys", "none"}, kElements),
      ConstText("reserved", "DT_INT64", "tensor_shape { dim { size: 1 } } int64_val: -1"),
      ConstText("value", "DT_FLOAT", "tensor_shape { dim { size: 1 } } float_val: 1"),
      NodeText("refused", "LookupTableInsert", {"table", "reserved", "value"}, kElements),
      NodeText("size", "LookupTableSize", {"table"})));
  EXPECT_THAT(Fetch("find"), ElementsAre(9, 9));
  Step("insert");
  EXPECT_THAT(Fetch("find"), ElementsAre(3, 4));
  EXPECT_EQ(*Value(Tensor("size")).data<int64_t>(), 2);
  ExpectError(Execute({graph.FindNode("refused").value()}), absl::StatusCode::kInvalidArgument,
              {"empty_key"});
  proto::GraphDef def;
  ASSERT_TRUE(def.ParseFromString(ExportGraphDef(graph).value()));
  EXPECT_EQ(def.node(1).op(), "MutableDenseHashTable");
  EXPECT_THAT(def.node(1).input(), ElementsAre("empty"));
  EXPECT_EQ(def.node(5).op(), "LookupTableInsert");
}

// Nodes that were built here are written as others know them.
TEST_F(ImportQueuesTest, AnInternalOpIsWrittenAsTheOneThatItReplaces) {
  const auto handle = TryNode("a", "_SparseConditionalAccumulator", {},
                              {{"dtype", DataType::kFloat}, {"shape", PartialShape({4})}});
  ASSERT_TRUE(handle.ok()) << handle.status();
  Op("_SparseAccumulatorTakeGradient", {(*handle)->output(0), build.Int32(1)},
     {{"dtype", DataType::kFloat}});
  proto::GraphDef def;
  ASSERT_TRUE(def.ParseFromString(ExportGraphDef(graph).value()));
  std::vector<std::string> ops;
  for (const proto::NodeDef& node : def.node()) ops.push_back(node.op());
  EXPECT_THAT(
      ops, ElementsAre("SparseConditionalAccumulator", "Const", "SparseAccumulatorTakeGradient"));
}

// A reference to a name was a vector, and its handle is none.
TEST_F(ImportQueuesTest, AGraphThatIsWrittenWithShapesCanBeRead) {
  MustImport(QueueText());
  const StatusOr<std::string> written = ExportGraphDef(graph, /*with_shapes=*/true);
  ASSERT_TRUE(written.ok()) << written.status();
  Graph again;
  const auto read = ImportGraphDef(&again, *written, ImportOptions());
  EXPECT_TRUE(read.ok()) << read.status();
}

// On a handle that is no reference outside.
TEST_F(ImportQueuesTest, AnInternalOpOnAHandleKeepsItsName) {
  MustImport(absl::StrCat(
      NodeText("handle", "Placeholder", {}, R"(attr { key: "dtype" value { type: DT_RESOURCE } })"),
      NodeText("close", "_BarrierClose", {"handle"})));
  const StatusOr<std::string> written = ExportGraphDef(graph);
  ASSERT_TRUE(written.ok()) << written.status();
  Graph again;
  const auto read = ImportGraphDef(&again, *written, ImportOptions());
  EXPECT_TRUE(read.ok()) << read.status();
}

}  // namespace
}  // namespace millstream
