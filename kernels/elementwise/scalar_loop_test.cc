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
};

// The last values, or the error.
ms::Status RunProgram(const Program& program, int32_t end, int32_t* i, float* number) {
  KernelTester t("_ScalarLoop");
  t.Attr("steps", program.steps).Attr("operands", program.operands);
  t.Attr("num_first", program.num_first).Attr("next", program.next);
  t.Attr("conditions", program.conditions).Attr("exits", program.exits);
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
