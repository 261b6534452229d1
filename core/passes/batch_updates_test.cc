// batch_updates changes what a plan executes, and no bit of what the variables are afterwards.
#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/passes/pass_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

SessionOptions WithoutPasses() {
  SessionOptions options;
  options.disabled_passes = PassNames();
  return options;
}

// This pass and no other.
SessionOptions WithThePass() {
  SessionOptions options = WithoutPasses();
  std::vector<std::string>& disabled = options.disabled_passes;
  disabled.erase(std::find(disabled.begin(), disabled.end(), "batch_updates"));
  return options;
}

class BatchUpdatesTest : public SessionTest {
 protected:
  struct Outcome {
    int64_t instructions = 0;
    std::vector<std::string> values;  // of all variables, then what was fetched
  };

  // The handle of a variable that every step begins with.
  Output Variable(const Tensor& initial, const std::string& name = "") {
    const Output handle =
        SessionTest::Variable(name.empty() ? absl::StrCat("v", handles_.size()) : name,
                              initial.dtype(), PartialShape(initial.shape()));
    handles_.push_back(handle);
    initializers_.push_back(Assign(handle, Constant(initial)));
    return handle;
  }
  Output Variable(const Shape& shape) { return Variable(Numbers(shape)); }

  // A gradient that a step computes.
  Output Gradient(const Output& variable) {
    return Op("Mul", {Constant(Numbers(ShapeOf(variable))), Constant(0.75f)});
  }
  Shape ShapeOf(const Output& variable) { return graph.Facts(variable).handle->shape.ToShape(); }

  // A step of gradient descent.
  const Node* Descend(const Output& variable, const Output& rate, Output gradient = Output()) {
    if (!gradient) gradient = Gradient(variable);
    return build.NodeOf("ResourceApplyGradientDescent", {variable, rate, gradient});
  }

  // Two steps in a session of its own.
  Outcome RunWith(const SessionOptions& options, const std::vector<const Node*>& targets,
                  const std::vector<Output>& fetches) {
    EXPECT_TRUE(build.ok()) << build.status();
    session.reset();
    StartSession(options);
    EXPECT_EQ(Execute(initializers_), absl::OkStatus());
    Outcome outcome;
    const std::unique_ptr<Callable> callable = MakeCallable({{}, fetches, targets});
    std::vector<Tensor> fetched(fetches.size());
    for (int step = 0; step < 2; ++step) {
      const Status ran = callable->Run({}, absl::MakeSpan(fetched), RunOptions());
      EXPECT_TRUE(ran.ok()) << ran;
    }
    outcome.instructions = callable->num_instructions();
    for (const Output& handle : handles_) outcome.values.push_back(Bytes(Value(Read(handle))));
    for (const Tensor& tensor : fetched) outcome.values.push_back(Bytes(tensor));
    return outcome;
  }

  // How many instructions the pass saves.
  int64_t Saved(const std::vector<const Node*>& targets, const std::vector<Output>& fetches = {},
                int devices = 1) {
    SessionOptions options = WithoutPasses();
    options.device_count["CPU"] = devices;
    const Outcome plain = RunWith(options, targets, fetches);
    options.disabled_passes = WithThePass().disabled_passes;
    const Outcome batched = RunWith(options, targets, fetches);
    EXPECT_EQ(plain.values, batched.values);
    return plain.instructions - batched.instructions;
  }

  static std::string Bytes(const Tensor& tensor) {
    return std::string(static_cast<const char*>(tensor.raw()), tensor.bytes());
  }

 private:
  std::vector<Output> handles_;
  std::vector<const Node*> initializers_;
};

struct Optimizer {
  std::string op;
  int slots;
  std::vector<float> rest;  // the scalars
  size_t gradient;          // its place among them
  const char* flag;
  bool flag_value;
};

void PrintTo(const Optimizer& optimizer, std::ostream* out) {
  *out << optimizer.op << optimizer.flag_value;
}

class EachOptimizerTest : public BatchUpdatesTest,
                          public ::testing::WithParamInterface<Optimizer> {};

// Numbers above zero, and what arithmetic treats in ways of its own.
Tensor Special(const Shape& shape) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float special[] = {
      0.0f, -0.0f, infinity, -infinity, std::numeric_limits<float>::quiet_NaN(), 1e-40f, 3e38f};
  Tensor tensor = Numbers(shape);
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    float& number = tensor.data<float>()[i];
    number = i % 29 < 7 ? special[i % 29] : number + 1.25f;
  }
  return tensor;
}

TEST_P(EachOptimizerTest, UpdatesOfManyVariablesAreOne) {
  const Optimizer& optimizer = GetParam();
  std::vector<Output> scalars;
  for (float number : optimizer.rest) scalars.push_back(Constant(number));
  std::vector<const Node*> updates;
  for (const Shape& shape : {Shape({3, 5}), Shape(), Shape({0}), Shape({50000}), Shape({1025})}) {
    std::vector<Output> inputs;
    for (int j = 0; j <= optimizer.slots; ++j) inputs.push_back(Variable(Special(shape)));
    inputs.insert(inputs.end(), scalars.begin(), scalars.end());
    inputs.insert(inputs.begin() + 1 + optimizer.slots + static_cast<int64_t>(optimizer.gradient),
                  Op("Mul", {Constant(Special(shape)), Constant(-0.5f)}));
    updates.push_back(build.NodeOf("ResourceApply" + optimizer.op, inputs,
                                   {{optimizer.flag, optimizer.flag_value}}));
  }
  EXPECT_EQ(Saved(updates), 4);
  EXPECT_EQ(Saved({Group(updates)}), 4);
}

INSTANTIATE_TEST_SUITE_P(
    AllOptimizers, EachOptimizerTest,
    ::testing::Values(
        Optimizer{"GradientDescent", 0, {0.25f}, 1, "use_locking", false},
        Optimizer{"Momentum", 1, {0.1f, 0.9f}, 1, "use_nesterov", false},
        Optimizer{"Momentum", 1, {0.1f, 0.9f}, 1, "use_nesterov", true},
        Optimizer{"Adagrad", 1, {0.1f}, 1, "update_slots", false},
        Optimizer{"Adagrad", 1, {0.1f}, 1, "update_slots", true},
        Optimizer{"Adam", 2, {0.9f, 0.99f, 0.1f, 0.9f, 0.99f, 1e-8f}, 6, "use_nesterov", false},
        Optimizer{"Adam", 2, {0.9f, 0.99f, 0.1f, 0.9f, 0.99f, 1e-8f}, 6, "use_nesterov", true}));

// ---- What goes together -------------------------------------------------------------------------

TEST_F(BatchUpdatesTest, OtherRatesAreOtherUpdates) {
  const Output a = Variable(Shape({2})), b = Variable(Shape({2})), c = Variable(Shape({2}));
  const Output rate = Constant(0.5f);
  EXPECT_EQ(Saved({Descend(a, rate), Descend(b, Constant(0.25f)), Descend(c, rate)}), 1);
}

TEST_F(BatchUpdatesTest, ConstantsOfOneValueAreOneRate) {
  const Output a = Variable(Shape({2})), b = Variable(Shape({2}));
  EXPECT_EQ(Saved({Descend(a, Constant(0.5f)), Descend(b, Constant(0.5f))}), 1);
  EXPECT_EQ(Saved({Descend(a, Constant(0.0f)), Descend(b, Constant(-0.0f))}), 0);
}

// The read of which nobody needs the value goes too.
TEST_F(BatchUpdatesTest, ReadsOfOneVariableAreOneRate) {
  const Output a = Variable(Shape({2})), b = Variable(Shape({2}));
  const Output rate = Variable(Tensor::Scalar<float>(0.5f));
  const Output first = Read(rate);
  const Output second = Read(rate);
  const std::vector<const Node*> updates = {Descend(a, first), Descend(b, second)};
  EXPECT_EQ(Saved(updates), 2);
  EXPECT_EQ(Saved(updates, {first}), 1);
  EXPECT_EQ(Saved(updates, {Op("Neg", {first})}), 1);
}

TEST_F(BatchUpdatesTest, ReadsBeforeAndAfterAWriteAreTwoRates) {
  const Output a = Variable(Shape({2})), b = Variable(Shape({2}));
  const Output rate = Variable(Tensor::Scalar<float>(0.5f));
  const Output first = Read(rate);
  const Node* const raised = Assign(rate, Constant(0.75f), {first.node});
  const Output second = Read(rate, {raised});
  EXPECT_EQ(Saved({Descend(a, first), Descend(b, second)}), 0);
}

TEST_F(BatchUpdatesTest, OtherAttributesAreOtherUpdates) {
  const Output rate = Constant(0.5f);
  std::vector<const Node*> updates;
  for (bool nesterov : {true, false, true}) {
    const Output variable = Variable(Shape({2}));
    updates.push_back(build.NodeOf("ResourceApplyMomentum",
                                   {variable, Variable(Shape({2})), rate, Gradient(variable), rate},
                                   {{"use_nesterov", nesterov}}));
  }
  EXPECT_EQ(Saved(updates), 1);
}

// ---- What may stand between ---------------------------------------------------------------------

TEST_F(BatchUpdatesTest, AReadOfTheVariableKeepsItsPlace) {
  const Output a = Variable(Shape({2})), b = Variable(Shape({2})), rate = Constant(0.5f);
  const Output gradient = Gradient(b);
  const Node* const first = Descend(a, rate);
  const Output after = Read(a, {first});
  const Node* const second = Descend(b, rate, gradient);
  EXPECT_EQ(Saved({first, second}, {after}), 0);
}

TEST_F(BatchUpdatesTest, AWriteOfASlotKeepsItsPlace) {
  const Output rate = Constant(0.5f);
  std::vector<Output> slots;
  std::vector<const Node*> nodes;
  for (int i = 0; i < 2; ++i) {
    const Output variable = Variable(Shape({2}));
    slots.push_back(Variable(Shape({2})));
    nodes.push_back(build.NodeOf("ResourceApplyMomentum",
                                 {variable, slots.back(), rate, Gradient(variable), rate}));
    if (i == 0) nodes.push_back(Assign(slots[0], Constant(Numbers(Shape({2}))), {nodes[0]}));
  }
  EXPECT_EQ(Saved(nodes), 0);
}

TEST_F(BatchUpdatesTest, OtherVariablesDoNotMatter) {
  const Output a = Variable(Shape({2})), b = Variable(Shape({2})), rate = Constant(0.5f);
  const Output other = Variable(Shape({2}));
  const Node* const first = Descend(a, rate);
  const Output read = Read(other);
  const Node* const assigned = Assign(other, Constant(Numbers(Shape({2}))), {read.node});
  EXPECT_EQ(Saved({first, assigned, Descend(b, rate)}, {read}), 1);
}

// Another step that sees the count must find the variable changed.
TEST_F(BatchUpdatesTest, WhatWaitsForAnUpdateComesAfterIt) {
  const Output a = Variable(Shape({2})), b = Variable(Shape({2})), rate = Constant(0.5f);
  const Output count = Variable(Tensor::Scalar<float>(0));
  const Node* const first = Descend(a, rate);
  build.set_control_inputs({first});
  const Node* const counted = build.NodeOf("AssignAddVariableOp", {count, Constant(1.0f)});
  build.set_control_inputs({});
  EXPECT_EQ(Saved({first, counted, Descend(b, rate)}), 0);
}

// Over a constant, which the plan knows without running anything.
TEST_F(BatchUpdatesTest, WhatWaitsIsFoundOverFoldedNodes) {
  const Output a = Variable(Shape({2})), b = Variable(Shape({2})), rate = Constant(0.5f);
  const Output count = Variable(Tensor::Scalar<float>(0));
  const Node* const first = Descend(a, rate);
  build.set_control_inputs({first});
  const Output one = Constant(1.0f);
  build.set_control_inputs({});
  const Node* const counted = build.NodeOf("AssignAddVariableOp", {count, one});
  EXPECT_EQ(Saved({first, counted, Descend(b, rate)}), 0);
}

TEST_F(BatchUpdatesTest, WhatHasNoEffectsMayWait) {
  const Output a = Variable(Shape({2})), b = Variable(Shape({2})), rate = Constant(0.5f);
  const Node* const first = Descend(a, rate);
  build.set_control_inputs({first});
  const Output pure = Op("Neg", {rate});
  build.set_control_inputs({});
  EXPECT_EQ(Saved({first, Descend(b, rate)}, {pure}), 1);
}

TEST_F(BatchUpdatesTest, AVariableByTwoHandlesIsUpdatedTwice) {
  const Output a = Variable(Numbers(Shape({2})), "a"), b = Variable(Shape({2}));
  const Output rate = Constant(0.5f);
  for (const char* container : {"", "localhost"}) {
    const StatusOr<const Node*> again = TryNode(absl::StrCat("again", container), "VarHandleOp", {},
                                                {{"dtype", DataType::kFloat},
                                                 {"shape", PartialShape({2})},
                                                 {"container", container},
                                                 {"shared_name", "a"}});
    ASSERT_TRUE(again.ok()) << again.status();
    const Output handle = (*again)->output(0);
    EXPECT_EQ(Saved({Descend(a, rate), Descend(handle, rate)}), 0);
    EXPECT_EQ(Saved({Descend(a, rate), Descend(b, rate), Descend(handle, rate)}), 1);
    EXPECT_EQ(Saved({Descend(a, rate), Descend(handle, rate), Descend(b, rate)}), 1);
  }
}

// The second update of `a` may be part of a product by then. In the other order its one would be
// lost in rounding, in the last step too.
TEST_F(BatchUpdatesTest, WhatOtherPassesMakeOfUpdatesKeepsItsPlace) {
  const auto filled = [](const Shape& shape, float number) {
    return Tensor::FromValues<float>(
        shape, std::vector<float>(static_cast<size_t>(shape.num_elements()), number));
  };
  const Output a = Variable(filled(Shape({4, 64}), 2e8f)), b = Variable(Shape({2}));
  const Output x = Read(Variable(filled(Shape({1, 4}), 1)));
  const Output y = Read(Variable(filled(Shape({1, 64}), 1)));
  const Output product = Op("MatMul", {x, y}, {{"transpose_a", true}});
  const Output rate = Constant(1.0f);
  const Output large = Op("Mul", {Constant(filled(Shape({4, 64}), 1e8f)), rate});
  const std::vector<const Node*> updates = {Descend(a, rate, large), Descend(a, rate, product),
                                            Descend(b, rate)};
  SessionOptions without;
  without.disabled_passes = {"batch_updates"};
  for (const SessionOptions& options : {SessionOptions(), without}) {
    EXPECT_EQ(RunWith(options, updates, {}).values, RunWith(WithoutPasses(), updates, {}).values);
  }
}

TEST_F(BatchUpdatesTest, UpdatesDoNotWaitForOtherParts) {
  const Output a = Variable(Shape({2})), b = Variable(Shape({2})), rate = Constant(0.5f);
  const Node* const first = Descend(a, rate);
  build.set_device("/device:CPU:1");
  const Output gradient = Gradient(b);
  build.set_device("");
  EXPECT_EQ(Saved({first, Descend(b, rate, gradient)}, {}, 2), 0);
}

// Gradients of a megabyte go away before others are computed; small ones may stay.
TEST_F(BatchUpdatesTest, LargeGradientsAreNotKept) {
  const Output rate = Constant(0.5f);
  for (const int64_t size : {100, 400000}) {
    std::vector<const Node*> updates;
    for (int i = 0; i < 3; ++i) updates.push_back(Descend(Variable(Shape({size})), rate));
    EXPECT_EQ(Saved(updates), size == 100 ? 2 : 0);
  }
}

TEST_F(BatchUpdatesTest, LargeGradientsThatAreThereGoTogether) {
  const Output rate = Constant(0.5f);
  std::vector<Output> variables, gradients;
  for (int i = 0; i < 3; ++i) {
    variables.push_back(Variable(Shape({400000})));
    gradients.push_back(Gradient(variables.back()));
  }
  std::vector<const Node*> updates;
  for (int i = 0; i < 3; ++i) updates.push_back(Descend(variables[i], rate, gradients[i]));
  EXPECT_EQ(Saved(updates), 2);
}

// ---- Errors and traces --------------------------------------------------------------------------

TEST_F(BatchUpdatesTest, AVariableWithoutValueIsNamed) {
  const Output a = Variable(Shape({2}));
  const Output b = SessionTest::Variable("nothing", DataType::kFloat, {2});
  const std::vector<const Node*> updates = {Descend(a, Constant(0.5f)), Descend(b, Constant(0.5f))};
  for (const SessionOptions& options : {WithoutPasses(), WithThePass()}) {
    session.reset();
    StartSession(options);
    ASSERT_EQ(Execute({Assign(a, Constant(Numbers(Shape({2}))))}), absl::OkStatus());
    ExpectError(Execute(updates), absl::StatusCode::kFailedPrecondition,
                {"Attempting to use uninitialized value nothing", updates[1]->name()});
  }
}

TEST_F(BatchUpdatesTest, AGradientThatDoesNotFitIsNamedAndNothingChanges) {
  const Output rate = Constant(0.5f);
  const Output initial = Constant(Values<float>({1, 2}));
  const Output a = Variable(Shape({2})), b = Variable(Shape({2})), c = Variable(Shape({2}));
  // Nobody knows how many there are before it runs.
  const Output gradient = Op("Unique", {Constant(Values<float>({1, 1}))});
  const std::vector<const Node*> updates = {Descend(a, rate), Descend(b, rate, gradient),
                                            Descend(c, rate)};
  StartSession(WithThePass());
  for (const Output& variable : {a, b, c}) {
    ASSERT_EQ(Execute({Assign(variable, initial)}), absl::OkStatus());
  }
  ExpectError(Execute(updates), absl::StatusCode::kInvalidArgument,
              {absl::StrCat("'", updates[1]->name(),
                            "': delta must have the shape of var, [2], but has shape [1]"),
               "_MultiResourceApplyGradientDescent"});
  for (const Output& variable : {a, b, c}) {
    EXPECT_THAT(Elements<float>(Value(Read(variable))), ElementsAre(1, 2));
  }
}

TEST_F(BatchUpdatesTest, AMessageAboutManyVariablesStaysShort) {
  const Output rate = Constant(0.5f);
  std::vector<const Node*> updates;
  for (int i = 0; i < 40; ++i) updates.push_back(Descend(Variable(Shape({2})), rate));
  StartSession(WithThePass());
  const Status status = Execute(updates);
  ExpectError(status, absl::StatusCode::kFailedPrecondition,
              {"inputs: resource[], resource[],", " and 73 more\n  device: "});
  EXPECT_LT(status.message().size(), 600u);
}

TEST_F(BatchUpdatesTest, ATraceNamesTheLastUpdateAndWhatIsRead) {
  const Output a = Variable(Numbers(Shape({2})), "a"), b = Variable(Numbers(Shape({2})), "b");
  const Output rate = Constant(0.5f), gradient = Constant(Numbers(Shape({2})));
  const std::vector<const Node*> updates = {Descend(a, rate, gradient), Descend(b, rate, gradient)};
  StartSession(WithThePass());
  for (const Output& variable : {a, b}) {
    ASSERT_EQ(Execute({Assign(variable, gradient)}), absl::OkStatus());
  }
  StepReport report;
  report.want_trace = true;
  RunOptions traced;
  traced.report = &report;
  ASSERT_TRUE(Run({}, {}, updates, traced).ok());
  ASSERT_EQ(report.trace.parts().size(), 1u);
  ASSERT_EQ(report.trace.parts()[0].nodes.size(), 1u);
  const TracedNode& node = report.trace.parts()[0].nodes[0];
  EXPECT_EQ(node.name, updates[1]->name());
  EXPECT_EQ(node.op, "_MultiResourceApplyGradientDescent");
  EXPECT_THAT(node.inputs, ElementsAre("a", "b", rate.node->name(), gradient.node->name(),
                                       gradient.node->name()));
}

// ---- Several steps at once ----------------------------------------------------------------------

// Each takes the variables in another order.
TEST_F(BatchUpdatesTest, StepsAtTheSameTimeLoseNoUpdate) {
  constexpr int kVariables = 20;
  constexpr int kThreads = 4;
  constexpr int kSteps = 200;
  const Output ones = Constant(Tensor::FromValues<float>({64}, std::vector<float>(64, 1)));
  std::vector<Output> variables;
  for (int i = 0; i < kVariables; ++i) variables.push_back(Variable(Shape({64})));
  std::vector<std::unique_ptr<Callable>> steps;
  StartSession(WithThePass());
  for (const Output& variable : variables) {
    ASSERT_EQ(Execute({Assign(variable, Op("ZerosLike", {ones}))}), absl::OkStatus());
  }
  for (int t = 0; t < kThreads; ++t) {
    std::vector<const Node*> updates;
    // The last thread's are single ones.
    for (int i = 0; i < kVariables; ++i) {
      const Output rate = t == kThreads - 1 ? Variable(Tensor::Scalar<float>(1)) : Output();
      if (rate) {
        ASSERT_EQ(Execute({Assign(rate, Constant(1.0f))}), absl::OkStatus());
      }
      const int at = (t % 2 == 0 ? i : kVariables - 1 - i + t) % kVariables;
      updates.push_back(Descend(variables[at], rate ? Read(rate) : Constant(1.0f), ones));
    }
    steps.push_back(MakeCallable({{}, {}, updates}));
  }
  std::vector<std::thread> threads;
  for (const std::unique_ptr<Callable>& step : steps) {
    threads.emplace_back([&step] {
      for (int i = 0; i < kSteps; ++i) {
        ASSERT_EQ(step->Run({}, {}, RunOptions()), absl::OkStatus());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Output& variable : variables) {
    EXPECT_THAT(Elements<float>(Value(Read(variable))), Each(-kThreads * kSteps));
  }
}

}  // namespace
}  // namespace millstream
