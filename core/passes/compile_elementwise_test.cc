// compile_elementwise changes what runs what fuse_elementwise made, and no bit of what it gives.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/graph/plan_facts.h"
#include "core/graph/prune.h"
#include "core/passes/pass_fixture.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

class CompileElementwiseTest : public PassTest {
 protected:
  CompileElementwiseTest()
      : PassTest(std::vector<std::string>{"fuse_elementwise", "compile_elementwise"}) {}
};

TEST_F(CompileElementwiseTest, FusedOperationsAreMarked) {
  ASSERT_TRUE(LoadCpuPlugin().ok());
  const Output x = Placeholder("x", DataType::kFloat);
  const Output z = Op("Neg", {Op("Square", {x})});
  const StepSignature signature = {{x}, {z}, {}};
  const StatusOr<PrunedGraph> program = Prune(graph, signature);
  ASSERT_TRUE(program.ok()) << program.status();
  const std::vector<Shape> shapes = {Shape({8})};
  const StatusOr<PlanFacts> facts = PlanFacts::Infer(*program, signature, &shapes);
  ASSERT_TRUE(facts.ok()) << facts.status();
  for (const bool compile : {false, true}) {
    StepOps ops(&*program, &*facts, "CPU", {z}, nullptr);
    for (const Node* node : program->nodes) {
      if (node == x.node) continue;
      StepOp op;
      op.node = node;
      op.inputs = {node->input(0)};
      op.outputs = {{node, 0}};
      ops.Append(std::move(op));
    }
    std::vector<std::string> disabled = PassNames();
    disabled.erase(std::find(disabled.begin(), disabled.end(), "fuse_elementwise"));
    if (compile) disabled.erase(std::find(disabled.begin(), disabled.end(), "compile_elementwise"));
    ASSERT_EQ(RunPasses(disabled, &ops), absl::OkStatus());
    const StepOp& fused = ops.op(ops.Producer(z));
    ASSERT_EQ(fused.type(), "_FusedElementwise");
    const StatusOr<bool> marked = GetAttr<bool>(fused.node->attrs(), "compile");
    ASSERT_TRUE(marked.ok()) << marked.status();
    EXPECT_EQ(*marked, compile);
  }
}

TEST_F(CompileElementwiseTest, NoBitChanges) {
  for (const int64_t size : {1, 7, 64, 1000, 5000}) {
    const std::string name = absl::StrCat("x", size);
    const Output x = Fed(name, {size});
    const Output y = Fed(name + "y", {size});
    Output z = x;
    for (int i = 0; i < 20; ++i) z = Op("Mul", {Op("AddV2", {z, y}), Op("Maximum", {x, z})});
    // Tanh stays a loop of its own between two pieces of machine code.
    Output w = Op("Tanh", {Op("Sqrt", {Op("Abs", {z})})});
    w = Op("TanhGrad", {w, Op("ReluGrad", {w, x})});
    EXPECT_EQ(Saved({w, z}), 64);
  }
}

}  // namespace
}  // namespace millstream
