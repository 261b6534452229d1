// What an import costs, in heap allocations: seconds depend on what else the machine does.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
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

}  // namespace
}  // namespace millstream
