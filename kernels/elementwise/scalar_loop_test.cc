// _ScalarLoop: what is no program. core/loops/scalar_loops_test.cc compares programs with kernels.
#include <functional>
#include <string>
#include <vector>

#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsOk;
using testing::KernelTester;

// The values 0 to 3 are inputs: i, which is a variable, another variable, the end of i, and 1. The
// steps give the values from 4 on.
struct Program {
  std::vector<std::string> steps = {"Less", "AddV2", "Square", "Less"};
  std::vector<int64_t> operands = {0, 2, -1, 0, 3, -1, 1, -1, -1, 5, 2, -1};
  int64_t num_first = 1;
  std::vector<int64_t> next = {5, 6};
  std::vector<int64_t> conditions = {4, 7};
  std::vector<int64_t> exits = {0, 1};
  int64_t num_stacks = 0;
  std::vector<int64_t> kept;
};

// The last values, or the error.
ms::Status RunProgram(const Program& program, int32_t end, int32_t* i, float* number) {
  KernelTester t("_ScalarLoop");
  t.Attr("steps", program.steps).Attr("operands", program.operands);
  t.Attr("num_first", program.num_first).Attr("next", program.next);
  t.Attr("conditions", program.conditions).Attr("exits", program.exits);
  t.Attr("num_stacks", program.num_stacks).Attr("kept", program.kept);
  t.Input<int32_t>({}, {0}).Input<float>({}, {3}).Input<int32_t>({}, {end}).Input<int32_t>({}, {1});
  t.Outputs({MS_INT32, MS_FLOAT32});
  MS_TRY(t.Run());
  *i = t.Output<int32_t>(0)[0];
  *number = t.Output<float>(1)[0];
  return ms::Status();
}

TEST(ScalarLoopTest, RunsUntilTheConditionIsFalse) {
  int32_t i = -1;
  float number = -1;
  ASSERT_TRUE(IsOk(RunProgram(Program(), 2, &i, &number)));
  EXPECT_EQ(i, 2);
  EXPECT_EQ(number, 81);
  ASSERT_TRUE(IsOk(RunProgram(Program(), 0, &i, &number)));
  EXPECT_EQ(i, 0);
  EXPECT_EQ(number, 3);
}

// While i < end: takes an element of a stack, keeps the total before it and the element, and adds
// it to the total.
ms::Status RunStacks(int32_t end, const std::vector<float>& stack, KernelTester* t) {
  t->Attr("steps", std::vector<std::string>{"Less", "AddV2", "AddV2", "Less"});
  t->Attr("operands", std::vector<int64_t>{0, 2, -1, 0, 3, -1, 1, 4, -1, 6, 2, -1});
  t->Attr("num_first", int64_t{1}).Attr("next", std::vector<int64_t>{6, 7});
  t->Attr("conditions", std::vector<int64_t>{5, 8}).Attr("exits", std::vector<int64_t>{1});
  t->Attr("num_stacks", int64_t{1}).Attr("kept", std::vector<int64_t>{1, 4});
  t->Input<int32_t>({}, {0}).Input<float>({}, {0.5f}).Input<int32_t>({}, {end});
  t->Input<int32_t>({}, {1}).Input<float>({static_cast<int64_t>(stack.size())}, stack);
  t->Outputs({MS_FLOAT32, MS_FLOAT32, MS_FLOAT32});
  return t->Run();
}

TEST(ScalarLoopTest, ElementsAreTakenFromTheEndAndKept) {
  KernelTester t("_ScalarLoop");
  ASSERT_TRUE(IsOk(RunStacks(3, {9, 1, 2, 4}, &t)));
  EXPECT_EQ(t.Output<float>(0), (std::vector<float>{7.5f}));
  EXPECT_EQ(t.Output<float>(1), (std::vector<float>{0.5f, 4.5f, 6.5f}));
  EXPECT_EQ(t.Output<float>(2), (std::vector<float>{4, 2, 1}));
}

TEST(ScalarLoopTest, WithoutIterationsNothingIsKept) {
  KernelTester t("_ScalarLoop");
  ASSERT_TRUE(IsOk(RunStacks(0, {}, &t)));
  EXPECT_EQ(t.Output<float>(0), (std::vector<float>{0.5f}));
  EXPECT_TRUE(t.Output<float>(1).empty());
}

TEST(ScalarLoopTest, ManyElementsAreKept) {
  const int32_t count = 100000;
  KernelTester t("_ScalarLoop");
  ASSERT_TRUE(IsOk(RunStacks(count, std::vector<float>(count, 1), &t)));
  const std::vector<float> totals = t.Output<float>(1);
  ASSERT_EQ(totals.size(), static_cast<size_t>(count));
  for (int32_t i = 0; i < count; ++i) {
    ASSERT_EQ(totals[static_cast<size_t>(i)], static_cast<float>(i) + 0.5f);
  }
}

TEST(ScalarLoopTest, AnEmptyStackIsAnError) {
  KernelTester t("_ScalarLoop");
  const ms::Status status = RunStacks(3, {1, 2}, &t);
  EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
  EXPECT_NE(std::string(status.message()).find("iteration 2"), std::string::npos);
}

TEST(ScalarLoopTest, WhatIsNoProgramIsRefused) {
  struct Case {
    std::string text;
    std::function<void(Program*)> change;
  };
  const std::vector<Case> cases = {
      {"'steps'", [](Program* p) { p->steps[2] = "MatMul"; }},
      {"'steps'", [](Program* p) { p->steps[2] = "LogicalNot"; }},
      {"'steps'", [](Program* p) { p->steps.assign(5000, "Square"); }},
      {"'operands'", [](Program* p) { p->operands.pop_back(); }},
      {"'operands'", [](Program* p) { p->operands[0] = -1; }},
      {"'operands'", [](Program* p) { p->operands[3] = 6; }},
      {"'operands'", [](Program* p) { p->operands[4] = 1; }},
      {"'num_first'", [](Program* p) { p->num_first = 5; }},
      {"'num_first'", [](Program* p) { p->num_first = -1; }},
      {"'num_first'", [](Program* p) { p->num_first = 2; }},
      {"'next'", [](Program* p) { p->next[0] = 6; }},
      {"'next'", [](Program* p) { p->next.assign(5, 0); }},
      {"'next'", [](Program* p) { p->next[1] = 99; }},
      {"'conditions'", [](Program* p) { p->conditions[0] = 7; }},
      {"'conditions'", [](Program* p) { p->conditions[1] = 5; }},
      {"'conditions'", [](Program* p) { p->conditions.push_back(4); }},
      {"'exits'", [](Program* p) { p->exits[1] = 0; }},
      {"'exits'", [](Program* p) { p->exits = {0}; }},
      {"'num_stacks'", [](Program* p) { p->num_stacks = -1; }},
      {"'num_stacks'", [](Program* p) { p->num_stacks = 3; }},
      // Before the first iteration there are no elements.
      {"'exits'", [](Program* p) { p->num_stacks = 1, p->exits[0] = 3; }},
      {"'num_first'", [](Program* p) { p->num_stacks = 1, p->operands[1] = 3; }},
      {"'kept'",
       [](Program* p) {
         p->kept = {5, 6, 6};
       }},
      {"'kept'", [](Program* p) { p->exits = {0}, p->kept = {99}; }},
      {"'kept'", [](Program* p) { p->exits = {0}, p->kept = {5}; }},
  };
  for (size_t c = 0; c < cases.size(); ++c) {
    Program program;
    cases[c].change(&program);
    int32_t i = 0;
    float number = 0;
    const ms::Status status = RunProgram(program, 2, &i, &number);
    EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT) << c;
    EXPECT_NE(std::string(status.message()).find(cases[c].text), std::string::npos)
        << c << ": " << status.message();
  }
}

}  // namespace
}  // namespace millstream::kernels
