#include "kernels/testing/kernel_tester.h"

#include <memory>

// The tester must catch what it promises to catch: each kernel here has one fault (or none).
namespace millstream::kernels::testing {
namespace {

// y = x + 1; the behaviours below break one rule each.
struct Increment {
  ms::Status Compute(ms::Frame& frame) const {
    const ms::View x = frame.input(0);
    ms::View y;
    MS_TRY(frame.ForwardOrOutput(0, 0, x.shape(), &y));
    const float* in = x.data<float>();
    float* out = y.data<float>();
    frame.ParallelFor(static_cast<uint64_t>(x.size()), 1, [&](uint64_t begin, uint64_t end) {
      for (uint64_t i = begin; i < end; ++i) out[i] = in[i] + 1;
    });
    return ms::Status();
  }
};
const ms::Registered increment =
    ms::Register<Increment>("Increment", ms::KernelOptions().Type<float>("T").InPlace(0, 0));

struct FaultyKernel {
  std::string fault;
  ms::Status Init(const ms::KernelInfo& info) { return info.Attr("fault", &fault); }
  ms::Status Specialize(ms::Specialization& spec) const {
    spec.SetScratchBytes(8);
    return ms::Status();
  }
  ms::Status Compute(ms::Frame& frame) const {
    const ms::View x = frame.input(0);
    if (fault == "no output") return ms::Status();
    if (fault == "status") return ms::OutOfRange("said so");
    ms::View y;
    MS_TRY(frame.Output(0, x.shape(), &y));
    for (int64_t i = 0; i < x.size(); ++i) {
      if (fault == "unwritten" && i == 1) continue;
      y.data<float>()[i] = x.data<float>()[i];
    }
    if (fault == "outside output") y.data<float>()[x.size()] = 0;
    if (fault == "changes input") x.data<float>()[0] = 77;
    if (fault == "outside scratch" && frame.scratch() != nullptr) {
      static_cast<char*>(frame.scratch())[8] = 1;
    }
    if (fault == "depends on threads") {
      y.data<float>()[0] = static_cast<float>(frame.num_threads());
    }
    if (fault == "depends a little on threads") {
      y.data<float>()[0] = 1.0f + 1e-6f * static_cast<float>(frame.num_threads());
    }
    return ms::Status();
  }
};
const ms::Registered faulty = ms::Register<FaultyKernel>("Faulty");

// Adds input 1 to the variable of input 0 and gives random bits as output 0.
struct AddAndDraw {
  ms::Status Compute(ms::Frame& frame) const {
    ms::VariableLocks locks;
    MS_TRY(frame.LockVariables({{0, MS_LOCK_WRITE}}, &locks));
    ms::View variable;
    MS_TRY(locks.Write(0, &variable));
    const ms::View delta = frame.input(1);
    for (int64_t i = 0; i < variable.size(); ++i) {
      variable.data<int32_t>()[i] += delta.data<int32_t>()[i];
    }
    uint64_t key = 0;
    uint64_t counter[2] = {};
    MS_TRY(frame.ReserveRandom(3, &key, counter));
    ms::View out;
    MS_TRY(frame.Output(0, {3}, &out));
    out.data<int64_t>()[0] = static_cast<int64_t>(key);
    out.data<int64_t>()[1] = static_cast<int64_t>(counter[0]);
    out.data<int64_t>()[2] = static_cast<int64_t>(counter[1]);
    return ms::Status();
  }
};
const ms::Registered add_and_draw = ms::Register<AddAndDraw>("AddAndDraw");

TEST(KernelTesterTest, RunsAGoodKernelInEveryWay) {
  KernelTester t("Increment");
  t.Attr("T", MS_FLOAT32).Input<float>({5}, {1, 2, 3, 4, 5});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<float>(0), (std::vector<float>{2, 3, 4, 5, 6}));
  EXPECT_EQ(t.OutputShape(0), (std::vector<int64_t>{5}));
}

TEST(KernelTesterTest, ReplacedInputsKeepTheKernel) {
  KernelTester t("Increment");
  t.Attr("T", MS_FLOAT32).Input<float>({1}, {1});
  ASSERT_TRUE(IsOk(t.Run()));
  t.SetInput<float>(0, {2, 0}, {});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.OutputShape(0), (std::vector<int64_t>{2, 0}));
}

TEST(KernelTesterTest, FindsKernelsByTypeConstraint) {
  KernelTester t("Increment");
  t.Attr("T", MS_FLOAT64).Input<double>({1}, {1});
  EXPECT_EQ(t.Run().code(), MS_NOT_FOUND);
}

ms::Status RunFaulty(const std::string& fault) {
  KernelTester t("Faulty");
  t.Attr("fault", fault).Input<float>({2}, {5, 6});
  return t.Run();
}

TEST(KernelTesterTest, CatchesFaults) {
  EXPECT_TRUE(IsOk(RunFaulty("none")));
  for (const char* fault : {"no output", "unwritten", "outside output", "changes input",
                            "outside scratch", "depends on threads"}) {
    EXPECT_EQ(RunFaulty(fault).code(), MS_INTERNAL) << fault;
  }
}

TEST(KernelTesterTest, PassesOnWhatTheKernelSays) {
  const ms::Status status = RunFaulty("status");
  EXPECT_EQ(status.code(), MS_OUT_OF_RANGE);
  EXPECT_EQ(status.message(), "said so");
}

TEST(KernelTesterTest, AllowsDifferencesWithinTolerance) {
  KernelTester t("Faulty");
  t.Attr("fault", "depends a little on threads").Input<float>({2}, {5, 6});
  EXPECT_EQ(t.Run().code(), MS_INTERNAL);
  t.Tolerance(1e-5, 0);
  EXPECT_TRUE(IsOk(t.Run()));
}

TEST(KernelTesterTest, VariablesAndRandomStreamGoOnFromRunToRun) {
  KernelTester t("AddAndDraw");
  t.Attr("seed", 7).Attr("seed2", 9).Outputs({MS_INT64});
  t.Variable<int32_t>({2}, {10, 20}).Input<int32_t>({2}, {1, 2});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.VariableValue<int32_t>(0), (std::vector<int32_t>{11, 22}));
  EXPECT_EQ(t.Output<int64_t>(0), (std::vector<int64_t>{7, 0, 9}));
  EXPECT_EQ(t.reserved_blocks(), 3u);
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.VariableValue<int32_t>(0), (std::vector<int32_t>{12, 24}));
  EXPECT_EQ(t.Output<int64_t>(0), (std::vector<int64_t>{7, 3, 9}));
}

TEST(KernelTesterTest, UnassignedVariablesAreRefused) {
  KernelTester t("AddAndDraw");
  t.Outputs({MS_INT64}).UnassignedVariable(MS_INT32).Input<int32_t>({2}, {1, 2});
  EXPECT_EQ(t.Run().code(), MS_FAILED_PRECONDITION);
}

TEST(KernelTesterTest, NearnessCountsNanAsEqual) {
  const float nan = std::nanf("");
  EXPECT_TRUE(IsNear<float>({1, nan}, {1.0001f, nan}, 1e-3, 0));
  EXPECT_FALSE(IsNear<float>({1, nan}, {1, 1}, 1e-3, 0));
  EXPECT_FALSE(IsNear<float>({1}, {2}, 0, 0.5));
}

}  // namespace
}  // namespace millstream::kernels::testing
