// Random programs of loops and conditionals, every node on a random one of three CPUs, give the
// same bits as on one CPU.
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/dynamic/dynamic_fixture.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using Outputs = std::vector<Output>;

class RandomLoopsTest : public DynamicTest, public ::testing::WithParamInterface<int> {
 protected:
  RandomLoopsTest() : random_(static_cast<uint32_t>(GetParam())) {
    x_ = Placeholder("x", DataType::kFloat, PartialShape::Scalar());
  }

  int Below(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }
  const Output& AnyOf(const Outputs& values) { return values[Below(values.size())]; }

  // Where statements stand: what they may read, and a node that runs whenever they do (null: the
  // step itself).
  struct Place {
    Outputs values;
    const Node* pivot = nullptr;
  };

  Output Number(const Place& place) {
    const float value = static_cast<float>(Below(9) - 4) / 4;
    return place.pivot == nullptr ? Constant(value) : ConstantAfter(value, place.pivot);
  }

  Output Arithmetic(const Place& place) {
    static constexpr const char* kOps[] = {"Add", "Sub", "Mul", "Maximum", "Minimum"};
    if (Below(4) == 0) return Op(Below(2) == 0 ? "Neg" : "Tanh", {AnyOf(place.values)});
    const Output other = Below(3) == 0 ? Number(place) : AnyOf(place.values);
    return Op(kOps[Below(5)], {AnyOf(place.values), other});
  }

  void Statements(Place* place, int depth) {
    const int count = 1 + Below(3);
    for (int i = 0; i < count; ++i) {
      const int kind = depth == 0 ? 0 : Below(4);
      place->values.push_back(kind == 2   ? Conditional(*place, depth - 1)
                              : kind == 3 ? Loops(*place, depth - 1)
                                          : Arithmetic(*place));
    }
  }

  Output Conditional(const Place& place, int depth) {
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

  // A loop of 0 to 4 iterations.
  Output Loops(const Place& place, int depth) {
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
        [&](const Outputs& v) {
          Place body{v, v[0].node};
          body.values.insert(body.values.end(), invariants.begin(), invariants.end());
          Statements(&body, depth);
          Outputs results = {Op("Add", {v[0], ConstantAfter(1, v[0].node)})};
          while (results.size() < v.size()) {
            // Invariants know no end of the loop: behind the pivot they do.
            build.set_control_inputs({v[0].node});
            const bool any = Below(4) == 0;
            results.push_back(Op("Identity", {any ? AnyOf(body.values) : body.values.back()}));
            build.set_control_inputs({});
          }
          return results;
        },
        loop_options);
    return loop.exits[1 + Below(loop.exits.size() - 1)];
  }

  void PlaceAtRandom() {
    for (const Node* node : graph.nodes()) {
      ASSERT_EQ(graph.SetDevice(node, absl::StrCat("/cpu:", Below(3))), absl::OkStatus());
    }
  }

  std::vector<Tensor> RunOn(int cpus, int threads, const Outputs& fetches, float x) {
    SessionOptions session_options;
    session_options.device_count["CPU"] = cpus;
    session_options.inter_op_threads = threads;
    session_options.intra_op_threads = 1;
    session_options.allow_soft_placement = true;   // all on one CPU
    session_options.operation_timeout_ms = 30000;  // a step that hangs fails
    StartSession(session_options);
    const auto results = Run(fetches, {{x_, Tensor::Scalar<float>(x)}});
    EXPECT_TRUE(results.ok()) << results.status();
    return results.ok() ? *results : std::vector<Tensor>();
  }

  Output x_;

 private:
  std::mt19937 random_;
  int num_loops_ = 0;
};

TEST_P(RandomLoopsTest, GiveTheSameBitsOnThreeDevices) {
  Place whole{{x_, Constant(0.5f)}, nullptr};
  for (int i = 0; i < 3; ++i) {
    whole.values.push_back(Loops(whole, 2));
    whole.values.push_back(Conditional(whole, 2));
  }
  ASSERT_TRUE(build.ok()) << build.status();
  PlaceAtRandom();
  const Outputs fetches(whole.values.end() - 4, whole.values.end());
  for (const float x : {-1.5f, 0.75f}) {
    const std::vector<Tensor> alone = RunOn(1, 1, fetches, x);
    for (const int threads : {1, 3}) {
      const std::vector<Tensor> parts = RunOn(3, threads, fetches, x);
      ASSERT_EQ(parts.size(), alone.size());
      for (size_t i = 0; i < alone.size(); ++i) {
        ASSERT_EQ(parts[i].shape(), alone[i].shape());
        EXPECT_EQ(std::memcmp(parts[i].raw(), alone[i].raw(), alone[i].bytes()), 0)
            << "fetch " << i << ", x " << x << ": " << *parts[i].data<float>() << " on three, "
            << *alone[i].data<float>() << " on one";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomLoopsTest, ::testing::Range(1, 101));

}  // namespace
}  // namespace millstream
