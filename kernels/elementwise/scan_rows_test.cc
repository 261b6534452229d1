// _ScanRows: what is no loop over rows. python/millstream/_impl/ops/row_loops_test.py compares
// programs with loops.
#include <functional>
#include <string>
#include <vector>

#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsOk;
using testing::KernelTester;

using Floats = std::vector<float>;

// Values 0 to 3: the row, the sum of the rows so far, a factor, a row that is given. The steps give
// the product of the sum and the factor, and that with the row.
struct Program {
  std::vector<int64_t> rows_dims = {3, 2};
  std::vector<int64_t> state_dims = {2};
  std::vector<int64_t> factor_dims = {};
  int64_t num_rows = 1;
  int64_t num_states = 1;
  std::vector<int64_t> firsts = {0, 0};
  std::vector<int64_t> strides = {1, 1};
  int64_t iterations = 3;
  std::vector<int64_t> sizes = {4};
  std::vector<int64_t> places = {0, 3};
  std::vector<std::string> steps = {"Mul", "AddV2"};
  std::vector<int64_t> operands = {1, 2, 4, 0};
  std::vector<int64_t> results = {5, 5};
};

ms::Status RunProgram(const Program& program, Floats* rows, Floats* last) {
  const auto numbers = [](const std::vector<int64_t>& dims, float first) {
    int64_t size = 1;
    for (const int64_t dim : dims) size *= dim;
    Floats values;
    for (int64_t i = 0; i < size; ++i) values.push_back(first + static_cast<float>(i));
    return values;
  };
  KernelTester t("_ScanRows");
  t.Attr("T", MS_FLOAT32).Attr("N", int64_t{4}).Attr("M", int64_t{2});
  t.Attr("num_rows", program.num_rows).Attr("num_states", program.num_states);
  t.Attr("firsts", program.firsts).Attr("strides", program.strides);
  t.Attr("iterations", program.iterations).Attr("sizes", program.sizes);
  t.Attr("places", program.places).Attr("steps", program.steps);
  t.Attr("operands", program.operands).Attr("results", program.results).Attr("compile", false);
  t.Input<float>(program.rows_dims, numbers(program.rows_dims, 1));
  t.Input<float>(program.state_dims, numbers(program.state_dims, 0));
  t.Input<float>(program.factor_dims, numbers(program.factor_dims, 2));
  t.Input<float>({2}, {-1, -2});
  t.Outputs({MS_FLOAT32, MS_FLOAT32});
  MS_TRY(t.Run());
  *rows = t.Output<float>(0);
  *last = t.Output<float>(1);
  return ms::Status();
}

TEST(ScanRowsTest, EachRowFollowsFromTheOneBefore) {
  Floats rows;
  Floats last;
  ASSERT_TRUE(IsOk(RunProgram(Program(), &rows, &last)));
  EXPECT_EQ(rows, (Floats{1, 4, 5, 12, 15, 30, -1, -2}));
  EXPECT_EQ(last, (Floats{15, 30}));
}

TEST(ScanRowsTest, FromTheLastRowToTheFirst) {
  Program program;
  program.firsts = {2, 2};
  program.strides = {-1, -1};
  Floats rows;
  Floats last;
  ASSERT_TRUE(IsOk(RunProgram(program, &rows, &last)));
  EXPECT_EQ(rows, (Floats{27, 42, 13, 20, 5, 8, -1, -2}));
  EXPECT_EQ(last, (Floats{27, 42}));
  // Written the other way round.
  program.firsts[1] = 1;
  program.strides[1] = 1;
  program.places[1] = 0;
  ASSERT_TRUE(IsOk(RunProgram(program, &rows, &last)));
  EXPECT_EQ(rows, (Floats{-1, -2, 5, 8, 13, 20, 27, 42}));
}

TEST(ScanRowsTest, WhatIsNoLoopOverRowsIsRefused) {
  struct Case {
    std::string text;
    std::function<void(Program*)> change;
  };
  const std::vector<Case> cases = {
      {"'steps'", [](Program* p) { p->steps[0] = "MatMul"; }},
      {"'operands'", [](Program* p) { p->operands[2] = 6; }},
      {"'results'", [](Program* p) { p->results[1] = 6; }},
      {"'strides'", [](Program* p) { p->strides[1] = 2; }},
      {"'strides'", [](Program* p) { p->firsts[0] = int64_t{1} << 62; }},
      {"'firsts'", [](Program* p) { p->firsts.pop_back(); }},
      {"'firsts'", [](Program* p) { p->strides.push_back(1); }},
      {"'iterations'", [](Program* p) { p->iterations = 0; }},
      {"'num_rows'", [](Program* p) { p->num_rows = 4; }},
      {"'num_rows'", [](Program* p) { p->num_rows = -1; }},
      {"'num_rows'", [](Program* p) { p->num_states = 2; }},
      {"'num_rows'", [](Program* p) { p->places.pop_back(); }},
      {"'places'", [](Program* p) { p->places[0] = 1; }},
      {"'places'", [](Program* p) { p->places[1] = 4; }},
      {"'places'", [](Program* p) { p->places[1] = 2; }},
      {"'sizes'", [](Program* p) { p->sizes[0] = 5; }},
      {"'sizes'", [](Program* p) { p->firsts[1] = -1; }},
      {"args[0]",
       [](Program* p) {
         p->rows_dims = {2, 2};
       }},
      {"args[0]",
       [](Program* p) {
         p->rows_dims = {3, 3};
       }},
      {"args[0]", [](Program* p) { p->rows_dims = {}; }},
      {"args[", [](Program* p) { p->state_dims = {3}; }},
      {"args[2]", [](Program* p) { p->factor_dims = {3}; }},
      {"together",
       [](Program* p) {
         p->factor_dims = {2, 2};
       }},
  };
  for (const Case& wrong : cases) {
    Program program;
    wrong.change(&program);
    Floats rows;
    Floats last;
    const ms::Status status = RunProgram(program, &rows, &last);
    EXPECT_FALSE(status.ok()) << wrong.text;
    EXPECT_NE(std::string(status.message()).find(wrong.text), std::string::npos)
        << wrong.text << ": " << status.message();
  }
}

}  // namespace
}  // namespace millstream::kernels
