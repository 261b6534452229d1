// Which executor each part of a step gets, and that parts of both kinds work together.
#include <memory>
#include <vector>

#include "core/dynamic/dynamic_fixture.h"
#include "core/session/executable.h"
#include "framework/testing/hang_guard.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using Outputs = std::vector<Output>;

class PartsTest : public DynamicTest {
 protected:
  PartsTest() : pred(Placeholder("pred", DataType::kBool, PartialShape::Scalar())) {
    context_.graph = &graph;
    context_.settings.resources = &resources;
  }

  // Runs a step on as many CPUs as the program names, and keeps its executable.
  Tensor Step(const Output& fetch, const std::vector<Feed>& feeds, int cpus = 2) {
    EXPECT_TRUE(build.ok()) << build.status();
    executable.reset();
    devices_ = *CreateDevices({{"CPU", cpus}});
    context_.SetDevices(devices_);
    StepSignature signature;
    std::vector<Tensor> values;
    for (const Feed& feed : feeds) {
      signature.feeds.push_back(feed.tensor);
      values.push_back(feed.value);
    }
    signature.fetches = {fetch};
    StatusOr<std::unique_ptr<Executable>> created = Executable::Create(&context_, signature);
    EXPECT_TRUE(created.ok()) << created.status();
    executable = *std::move(created);
    options.timeout_ms = kHangGuardMillis;
    Tensor result;
    EXPECT_EQ(executable->Run(values, absl::MakeSpan(&result, 1), options), absl::OkStatus());
    return result;
  }
  float FloatOf(const Tensor& tensor) { return tensor.has_value() ? *tensor.data<float>() : -1; }
  std::vector<bool> DynamicParts(int parts) const {
    std::vector<bool> dynamic;
    for (int part = 0; part < parts; ++part)
      dynamic.push_back(executable->builder().IsDynamic(part));
    return dynamic;
  }
  Output OnCpu(int cpu, const std::function<Output()>& body) {
    build.set_device(absl::StrCat("/cpu:", cpu));
    const Output result = body();
    build.set_device("");
    return result;
  }
  Feed FedPred(bool value) { return {pred, Tensor::Scalar<bool>(value)}; }

  const Output pred;
  std::unique_ptr<Executable> executable;

 private:
  DeviceList devices_;
  ExecutableContext context_;
};

TEST_F(PartsTest, WithoutControlFlowAllPartsHavePlans) {
  const Output a = OnCpu(1, [&] { return Op("Neg", {Constant(2.0f)}); });
  const Output b = OnCpu(0, [&] { return Op("Square", {a}); });
  EXPECT_EQ(FloatOf(Step(b, {})), 4);
  EXPECT_THAT(DynamicParts(2), ElementsAre(false, false));
}

TEST_F(PartsTest, APartBehindAMergedConditionalHasAPlan) {
  const Output x = OnCpu(1, [&] { return Op("Neg", {Constant(3.0f)}); });
  const Output merged = OnCpu(0, [&] {
    const Node* branch = build.NodeOf("Switch", {x, pred});
    return Merge({Op("Neg", {branch->output(0)}), Op("Square", {branch->output(1)})})->output(0);
  });
  const Output y = OnCpu(1, [&] { return Op("Neg", {merged}); });
  for (const bool taken : {false, true}) {
    EXPECT_EQ(FloatOf(Step(y, {FedPred(taken)})), taken ? -9 : -3);
    EXPECT_THAT(DynamicParts(2), ElementsAre(true, false));
  }
}

TEST_F(PartsTest, APartThatMayReceiveWhatIsDeadIsDynamic) {
  const Output not_taken = OnCpu(0, [&] {
    return build.NodeOf("Switch", {Constant(3.0f), pred})->output(0);
  });
  const Output behind = OnCpu(1, [&] { return Op("Neg", {not_taken}); });
  const Output merged = OnCpu(2, [&] { return Merge({behind, Constant(7.0f)})->output(0); });
  const Output last = OnCpu(3, [&] { return Op("Neg", {merged}); });
  EXPECT_EQ(FloatOf(Step(last, {FedPred(true)}, 4)), -7);
  // Part 1 has no control flow of its own; what part 2 gives is live.
  EXPECT_THAT(DynamicParts(4), ElementsAre(true, true, true, false));
}

TEST_F(PartsTest, APartBehindADeadControlEdgeIsDynamic) {
  const Output not_taken = OnCpu(0, [&] {
    return Op("Neg", {build.NodeOf("Switch", {Constant(3.0f), pred})->output(0)});
  });
  const Output behind = OnCpu(1, [&] { return Op("Neg", {ConstantAfter(4, not_taken.node)}); });
  const Output merged = OnCpu(0, [&] { return Merge({behind, Constant(7.0f)})->output(0); });
  EXPECT_EQ(FloatOf(Step(merged, {FedPred(true)})), 7);
  EXPECT_THAT(DynamicParts(2), ElementsAre(true, true));
}

TEST_F(PartsTest, PartsBeforeAndBehindALoopHavePlans) {
  const Output start = OnCpu(0, [&] { return Op("Neg", {Constant(-1.0f)}); });
  const Output left = OnCpu(1, [&] {
    return While(
               {start},
               [&](const Outputs& v) {
                 return Op("Less", {v[0], ConstantAfter(100, v[0].node)});
               },
               [&](const Outputs& v) {
                 return Outputs{Op("Add", {v[0], v[0]})};
               })
        .exits[0];
  });
  const Output end = OnCpu(2, [&] { return Op("Neg", {left}); });
  EXPECT_EQ(FloatOf(Step(end, {}, 3)), -128);
  EXPECT_THAT(DynamicParts(3), ElementsAre(false, true, false));
}

// A plan is compiled for shapes that need not fit on the branch that is not taken.
TEST_F(PartsTest, ShapesThatFitNowhereButOnTheTakenBranchAreNoError) {
  const Output x = Placeholder("x", DataType::kFloat);
  const Output merged = OnCpu(0, [&] {
    const Node* branch = build.NodeOf("Switch", {x, pred});
    return Merge({Op("MatMul", {branch->output(0), branch->output(0)}), branch->output(1)})
        ->output(0);
  });
  const Output y = OnCpu(1, [&] { return Op("Neg", {merged}); });
  const Tensor result = Step(y, {FedPred(true), {x, Values<float>({1, 2, 3})}});
  EXPECT_THAT(Elements<float>(result), ElementsAre(-1, -2, -3));
  EXPECT_THAT(DynamicParts(2), ElementsAre(true, false));
}

}  // namespace
}  // namespace millstream
