// What an import costs, in heap allocations: seconds depend on what else the machine does.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "core/import/graph_def.h"
#include "core/testing/cost_counter.h"
#include "framework/message.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

// A GraphDef in binary: `count` variables of the older kind, and a node that adds them all.
std::string SumOfVariables(int count) {
  std::string nodes, inputs;
  for (int i = 0; i < count; ++i) {
    absl::StrAppend(&nodes, R"(node { name: "v)", i, R"(" op: "VariableV2")",
                    R"( attr { key: "dtype" value { type: DT_FLOAT } })",
                    R"( attr { key: "shape" value { shape { dim { size: 2 } } } } } )");
    absl::StrAppend(&inputs, R"(input: "v)", i, "\" ");
  }
  absl::StrAppend(&nodes, R"(node { name: "sum_of_all_variables" op: "AddN" )", inputs,
                  R"(attr { key: "T" value { type: DT_FLOAT } } attr { key: "N" value { i: )",
                  count, " } } }");
  const StatusOr<MessagePtr> message = ParseText("GraphDef", nodes);
  EXPECT_TRUE(message.ok()) << message.status();
  return message.ok() ? ToBinary(**message).value() : "";
}

size_t AllocationsForReads(int count) {
  const std::string bytes = SumOfVariables(count);
  Graph graph;
  CostCounter counter;
  const Status imported = ImportGraphDef(&graph, bytes, ImportOptions()).status();
  const size_t allocations = counter.Finish().runtime.size();
  EXPECT_EQ(imported, absl::OkStatus());
  return allocations;
}

// Each of the reads gets a name of its own, and none of them is looked for from the start: for four
// times as many, that would take sixteen times as many names, each of them allocated.
TEST(ImportCostTest, ManyReadsForOneNodeCostAsTheyAreMany) {
  AllocationsForReads(1);  // what is made once for all imports
  const size_t few = AllocationsForReads(35);
  EXPECT_LT(2 * AllocationsForReads(140), 9 * few);
}

// A GraphDef in binary: `count` loops, each of which runs on what the one before gave, of another
// shape than it is entered with.
std::string ChainOfLoops(int count) {
  std::string nodes = R"(node { name: "x0" op: "Placeholder"
    attr { key: "dtype" value { type: DT_FLOAT } }
    attr { key: "shape" value { shape { dim { size: 1 } } } } })";
  constexpr char kLoop[] = R"(
    node { name: "enter$0" op: "Enter" input: "x$0" $2
           attr { key: "frame_name" value { s: "loop$0" } } }
    node { name: "merge$0" op: "Merge" input: ["enter$0", "next$0"] $2
           attr { key: "N" value { i: 2 } } }
    node { name: "limit$0" op: "Const" input: "^merge$0"
           attr { key: "dtype" value { type: DT_BOOL } }
           attr { key: "value" value { tensor { dtype: DT_BOOL bool_val: false } } } }
    node { name: "cond$0" op: "LoopCond" input: "limit$0" }
    node { name: "switch$0" op: "Switch" input: ["merge$0", "cond$0"] $2 }
    node { name: "two$0" op: "Const" input: "^switch$0"
           attr { key: "dtype" value { type: DT_FLOAT } }
           attr { key: "value" value { tensor { dtype: DT_FLOAT float_val: [1, 2]
                                       tensor_shape { dim { size: 2 } } } } } }
    node { name: "add$0" op: "Add" input: ["switch$0:1", "two$0"] $2 }
    node { name: "next$0" op: "NextIteration" input: "add$0" $2 }
    node { name: "x$1" op: "Exit" input: "switch$0" $2 })";
  for (int i = 0; i < count; ++i) {
    absl::SubstituteAndAppend(&nodes, kLoop, i, i + 1,
                              R"(attr { key: "T" value { type: DT_FLOAT } })");
  }
  const StatusOr<MessagePtr> message = ParseText("GraphDef", nodes);
  EXPECT_TRUE(message.ok()) << message.status();
  return message.ok() ? ToBinary(**message).value() : "";
}

size_t AllocationsForLoops(int count) {
  const std::string bytes = ChainOfLoops(count);
  Graph graph;
  CostCounter counter;
  const Status imported = ImportGraphDef(&graph, bytes, ImportOptions()).status();
  const size_t allocations = counter.Finish().runtime.size();
  EXPECT_EQ(imported, absl::OkStatus());
  const StatusOr<Output> last = graph.FindOutput(absl::StrCat("x", count));
  EXPECT_TRUE(last.ok()) << last.status();
  if (last.ok()) {
    EXPECT_EQ(graph.Facts(*last).shape, PartialShape());
  }
  return allocations;
}

// Nothing of the graph is gone through anew for each loop: four times as many would take sixteen
// times as much.
TEST(ImportCostTest, ManyLoopsCostAsTheyAreMany) {
  AllocationsForLoops(1);
  const size_t few = AllocationsForLoops(12);
  EXPECT_LT(2 * AllocationsForLoops(48), 9 * few);
}

}  // namespace
}  // namespace millstream
