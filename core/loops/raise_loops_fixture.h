// The fixture of the tests of loops that are nodes.
#ifndef MILLSTREAM_CORE_LOOPS_RAISE_LOOPS_FIXTURE_H_
#define MILLSTREAM_CORE_LOOPS_RAISE_LOOPS_FIXTURE_H_

#include <functional>
#include <string>
#include <vector>

#include "core/dynamic/random_program.h"
#include "core/graph/inner_graph.h"
#include "core/loops/raise_loops.h"
#include "gtest/gtest.h"

namespace millstream {

using Outputs = std::vector<Output>;

class RaiseLoopsTest : public DynamicTest {
 protected:
  static bool RunsAtOnce(const Node& node) { return node.op().name != "TestAsync"; }

  // The number of nodes that were made; those inside of them are not counted.
  int Raised(const StepSignature& signature) {
    const StatusOr<PrunedGraph> pruned = Prune(graph, signature);
    EXPECT_TRUE(pruned.ok()) << pruned.status();
    const auto raised = RaiseLoops(*pruned, signature, &RunsAtOnce, true, false);
    EXPECT_TRUE(raised.ok()) << raised.status();
    if (*raised == nullptr) return 0;
    keeps_control_flow_ = (*raised)->pruned.has_control_flow;
    const PrunedGraph& made = (*raised)->pruned;
    num_sums_ = 0;
    for (const auto& [node, loop] : made.loops) num_sums_ += static_cast<int>(loop->sums.size());
    return static_cast<int>(made.loops.size() + made.branches.size());
  }
  // In a step that feeds all placeholders.
  int Raised(const Outputs& fetches) {
    StepSignature signature;
    for (const Node* node : graph.nodes()) {
      if (node->op().name == "Placeholder") signature.feeds.push_back(node->output(0));
    }
    signature.fetches = fetches;
    return Raised(signature);
  }

  // While variable 0 is less than `limit`: adds 1 to it, and applies `body` to the others.
  Loop Count(const Outputs& others, float limit, const std::function<Outputs(const Outputs&)>& body,
             const std::string& name = "loop") {
    LoopOptions loop;
    loop.name = name;
    const Output entered = Enter(Constant(limit), name, true);
    Outputs initial = {Constant(0.0f)};
    initial.insert(initial.end(), others.begin(), others.end());
    return While(
        initial,
        [&](const Outputs& v) {
          return Op("Less", {v[0], entered});
        },
        [&](const Outputs& v) {
          Outputs results = {Op("Add", {v[0], ConstantAfter(1, v[0].node)})};
          const Outputs rest = body(Outputs(v.begin() + 1, v.end()));
          results.insert(results.end(), rest.begin(), rest.end());
          return results;
        },
        loop);
  }
  float Number(const Output& fetch, const std::vector<Feed>& feeds = {}) {
    const Tensor value = Value(fetch, feeds);
    return value.has_value() ? *value.data<float>() : -1;
  }
  bool keeps_control_flow_ = false;
  int num_sums_ = 0;  // LoopBody::sums of the nodes
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_LOOPS_RAISE_LOOPS_FIXTURE_H_
