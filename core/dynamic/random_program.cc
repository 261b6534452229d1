#include "core/dynamic/random_program.h"

#include <cstring>

#include "absl/strings/str_cat.h"

namespace millstream {

RandomProgramTest::RandomProgramTest(int seed) : random_(static_cast<uint32_t>(seed)) {
  x = Placeholder("x", DataType::kFloat, PartialShape::Scalar());
}

Output RandomProgramTest::Number(const Place& place) {
  const float value = static_cast<float>(Below(9) - 4) / 4;
  return place.pivot == nullptr ? Constant(value) : ConstantAfter(value, place.pivot);
}

Output RandomProgramTest::Arithmetic(const Place& place) {
  static constexpr const char* kOps[] = {"Add", "Sub", "Mul", "Maximum", "Minimum"};
  if (Below(4) == 0) return Op(Below(2) == 0 ? "Neg" : "Tanh", {AnyOf(place.values)});
  const Output other = Below(3) == 0 ? Number(place) : AnyOf(place.values);
  return Op(kOps[Below(5)], {AnyOf(place.values), other});
}

void RandomProgramTest::Statements(Place* place, int depth) {
  const int count = 1 + Below(3);
  for (int i = 0; i < count; ++i) {
    const int kind = depth == 0 ? 0 : Below(4);
    place->values.push_back(kind == 2   ? Conditional(*place, depth - 1)
                            : kind == 3 ? Loops(*place, depth - 1)
                                        : Arithmetic(*place));
  }
}

Output RandomProgramTest::Conditional(const Place& place, int depth) {
  const Output pred = Op("Less", {AnyOf(place.values), Number(place)});
  Place branches[2];
  const Node* pivot = build.NodeOf("Switch", {pred, pred});
  const int captured = 1 + Below(3);
  for (int i = 0; i < captured; ++i) {
    const Node* branch = build.NodeOf("Switch", {AnyOf(place.values), pred});
    for (int b = 0; b < 2; ++b) branches[b].values.push_back(branch->output(b));
  }
  Outputs results;
  for (int b = 0; b < 2; ++b) {
    branches[b].pivot = Op("Identity", {pivot->output(b)}).node;
    Statements(&branches[b], depth);
    results.push_back(branches[b].values.back());
  }
  return Merge(results)->output(0);
}

RandomProgramTest::Outputs RandomProgramTest::Body(const Outputs& variables,
                                                   const Outputs& invariants, int depth) {
  Place body{variables, variables[0].node};
  body.values.insert(body.values.end(), invariants.begin(), invariants.end());
  Statements(&body, depth);
  Outputs results = {Op("Add", {variables[0], ConstantAfter(1, variables[0].node)})};
  while (results.size() < variables.size()) {
    // Invariants know no end of the loop: behind the pivot they do.
    build.set_control_inputs({variables[0].node});
    const bool any = Below(4) == 0;
    results.push_back(Op("Identity", {any ? AnyOf(body.values) : body.values.back()}));
    build.set_control_inputs({});
  }
  return results;
}

Output RandomProgramTest::Loops(const Place& place, int depth) {
  LoopOptions loop_options;
  loop_options.name = absl::StrCat("loop", num_loops_++);
  loop_options.parallel_iterations = 1 + Below(3) * Below(5);
  const auto enter = [&](const Output& value) {
    return Enter(value, loop_options.name, true, loop_options.parallel_iterations);
  };
  Outputs invariants;
  for (int i = Below(3); i > 0; --i) invariants.push_back(enter(AnyOf(place.values)));
  const Output start = place.pivot == nullptr ? Constant(0.0f) : ConstantAfter(0, place.pivot);
  Outputs initial = {start};
  for (int i = 1 + Below(2); i > 0; --i) initial.push_back(AnyOf(place.values));
  const float count = static_cast<float>(Below(5));
  const Loop loop = While(
      initial,
      [&](const Outputs& v) {
        const Output below = Op("Less", {v[0], ConstantAfter(count, v[0].node)});
        if (Below(3) != 0) return below;
        return Op("LogicalAnd", {below, Op("Less", {v[1], ConstantAfter(1, v[1].node)})});
      },
      [&](const Outputs& v) { return Body(v, invariants, depth); }, loop_options);
  return loop.exits[1 + Below(static_cast<int>(loop.exits.size()) - 1)];
}

RandomProgramTest::Outputs RandomProgramTest::Build() {
  Place whole{{x, Constant(0.5f)}, nullptr};
  for (int i = 0; i < 3; ++i) {
    whole.values.push_back(Loops(whole, 2));
    whole.values.push_back(Conditional(whole, 2));
  }
  EXPECT_TRUE(build.ok()) << build.status();
  return Outputs(whole.values.end() - 4, whole.values.end());
}

void RandomProgramTest::PlaceAtRandom(const std::vector<std::string>& devices) {
  for (const Node* node : graph.nodes()) {
    const std::string& device = devices[Below(static_cast<int>(devices.size()))];
    ASSERT_EQ(graph.SetDevice(node, device), absl::OkStatus());
  }
}

void RandomProgramTest::ExpectSameBits(const std::vector<Tensor>& actual,
                                       const std::vector<Tensor>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(actual[i].shape(), expected[i].shape());
    EXPECT_EQ(std::memcmp(actual[i].raw(), expected[i].raw(), expected[i].bytes()), 0)
        << "fetch " << i << ": " << actual[i].DebugString() << ", and not "
        << expected[i].DebugString();
  }
}

}  // namespace millstream
