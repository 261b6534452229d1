// _FusedElementwise against the ops that it is made of, run one by one.
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "kernels/elementwise/float_loops.h"
#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsOk;
using testing::KernelTester;

using Dims = std::vector<int64_t>;
using Floats = std::vector<float>;

constexpr char kSignatures[] = "framework/ops/signatures.golden.txt";

struct Step {
  std::string op;
  int64_t x;
  int64_t y = -1;
};

struct Program {
  Dims shape;              // of all inputs together
  std::vector<Dims> dims;  // of each input
  std::vector<Floats> inputs;
  std::vector<Step> steps;
  std::vector<int64_t> results;
  bool compile = false;
};

int64_t SizeOf(const Dims& dims) {
  int64_t size = 1;
  for (const int64_t dim : dims) size *= dim;
  return size;
}

void Describe(const Program& program, KernelTester* t) {
  std::vector<std::string> steps;
  std::vector<int64_t> operands;
  for (const Step& step : program.steps) {
    steps.push_back(step.op);
    operands.push_back(step.x);
    operands.push_back(step.y);
  }
  t->Attr("T", MS_FLOAT32).Attr("N", static_cast<int64_t>(program.inputs.size()));
  t->Attr("M", static_cast<int64_t>(program.results.size()));
  t->Attr("steps", steps).Attr("operands", operands).Attr("results", program.results);
  t->Attr("compile", program.compile);
  if (program.compile) t->NaNsAreAlike();
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    t->Input<float>(program.dims[i], program.inputs[i]);
  }
  t->Outputs(std::vector<MS_DType>(program.results.size(), MS_FLOAT32));
}

Floats RunOp(const Step& step, const std::vector<Floats>& values) {
  KernelTester t(step.op);
  t.Attr("T", MS_FLOAT32);
  t.Input<float>({static_cast<int64_t>(values[step.x].size())}, values[step.x]);
  if (step.y >= 0) {
    t.Input<float>({static_cast<int64_t>(values[step.y].size())}, values[step.y]);
  }
  EXPECT_TRUE(IsOk(t.Run())) << step.op;
  return t.Output<float>(0);
}

// The results of the ops, each run for itself on operands that are as large as the shape.
std::vector<Floats> RunUnfused(const Program& program) {
  const int64_t size = SizeOf(program.shape);
  std::vector<Floats> values;
  for (const Floats& input : program.inputs) {
    values.emplace_back();
    for (int64_t i = 0; i < size; ++i) values.back().push_back(input[i % input.size()]);
  }
  for (const Step& step : program.steps) values.push_back(RunOp(step, values));
  std::vector<Floats> results;
  for (const int64_t result : program.results) results.push_back(values[result]);
  return results;
}

// Index of the first element of other bits; -1 when there is none. Any NaN is like any other.
int64_t FirstDifference(const Floats& a, const Floats& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    if (std::memcmp(&a[i], &b[i], sizeof(float)) != 0) return static_cast<int64_t>(i);
  }
  return -1;
}

void ExpectResults(const Program& program, const std::vector<Floats>& expected) {
  KernelTester t("_FusedElementwise");
  Describe(program, &t);
  ASSERT_TRUE(IsOk(t.Run()));
  for (uint32_t o = 0; o < expected.size(); ++o) {
    ASSERT_EQ(t.OutputShape(o), program.shape);
    const Floats actual = t.Output<float>(o);
    ASSERT_EQ(actual.size(), expected[o].size());
    const int64_t at = FirstDifference(actual, expected[o]);
    EXPECT_EQ(at, -1) << "output " << o << ": " << actual[at] << ", expected " << expected[o][at];
  }
}

// Loop by loop, and with machine code where it pays.
void ExpectSameAsUnfused(Program program) {
  const std::vector<Floats> expected = RunUnfused(program);
  for (const bool compile : {false, true}) {
    program.compile = compile;
    SCOPED_TRACE(compile ? "compiled" : "interpreted");
    ExpectResults(program, expected);
  }
}

// The ops that the definition allows for steps, with their arities, as the signatures say.
std::map<std::string, int> AllowedSteps() {
  std::ifstream file(kSignatures);
  std::map<std::string, int> allowed;
  for (std::string line; std::getline(file, line);) {
    // "Name(x: T, y: T) -> (z: T) [...] elementwise": what follows the attributes are properties.
    const std::string inputs = line.substr(0, line.find(')'));
    const size_t name_end = inputs.find('(');
    if (name_end == std::string::npos) continue;
    if (line.find(" elementwise", line.rfind(']')) == std::string::npos) continue;
    const auto colons = std::count(inputs.begin(), inputs.end(), ':');
    allowed[inputs.substr(0, name_end)] = static_cast<int>(colons);
  }
  return allowed;
}

TEST(FusedElementwiseTest, EveryStepThatTheOpAllowsHasLoops) {
  const std::map<std::string, int> allowed = AllowedSteps();
  ASSERT_GE(allowed.size(), 30u) << kSignatures;
  for (const auto& [op, arity] : allowed) {
    const FloatLoops* loops = FindFloatLoops(op);
    ASSERT_NE(loops, nullptr) << op;
    EXPECT_EQ(loops->operands, arity) << op;
    EXPECT_NE(loops->all, nullptr) << op;
    EXPECT_EQ(loops->only_x != nullptr, arity == 2) << op;
    EXPECT_EQ(loops->only_y != nullptr, arity == 2) << op;
    EXPECT_GT(loops->picoseconds, 0) << op;
  }
}

TEST(FusedElementwiseTest, ComparisonsAndOpsThatRefuseHaveNoLoops) {
  for (const char* op : {"Less", "Equal", "LogicalNot", "Cast", "MatMul", ""}) {
    EXPECT_EQ(FindFloatLoops(op), nullptr) << op;
  }
}

TEST(FusedElementwiseTest, RunsOneStepAfterTheOther) {
  KernelTester t("_FusedElementwise");
  Describe({{3}, {{3}, {}}, {{1, 2, 3}, {10}}, {{"AddV2", 0, 1}, {"Square", 2}}, {3, 2}}, &t);
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<float>(0), (Floats{121, 144, 169}));
  EXPECT_EQ(t.Output<float>(1), (Floats{11, 12, 13}));
}

Floats Sequence(int64_t size, float first) {
  Floats values;
  for (int64_t i = 0; i < size; ++i) values.push_back(first + 0.25f * static_cast<float>(i % 97));
  return values;
}

TEST(FusedElementwiseTest, EveryAllowedStepGivesTheBitsOfItsOp) {
  for (const auto& [op, arity] : AllowedSteps()) {
    Program program{{1100}, {{1100}, {}}, {Sequence(1100, -9), {1.5f}}, {}, {2}};
    if (arity == 1) {
      program.steps = {{op, 0}};
    } else {
      program.steps = {{op, 0, 1}, {op, 1, 0}, {op, 0, 0}, {op, 1, 1}};
      program.results = {2, 3, 4, 5};
    }
    SCOPED_TRACE(op);
    ExpectSameAsUnfused(program);
  }
}

TEST(FusedElementwiseTest, InputsAndSinglesAndOneValueTwiceMayBeResults) {
  Program program{{2, 3}, {{2, 3}, {3}, {1, 1}}, {Sequence(6, 1), {7, 8, 9}, {4}}, {}, {}};
  program.steps = {{"Sqrt", 2}, {"Mul", 0, 1}};
  program.results = {4, 0, 1, 2, 3, 4, 0};
  ExpectSameAsUnfused(program);
}

// Executions over shared memory lay output 0 over input 0 and output 1 over input 1.
TEST(FusedElementwiseTest, OutputsMayLieOverInputsThatAreReadLater) {
  for (const int64_t size : {4, 3000}) {
    Program program{{size}, {{size}, {size}}, {Sequence(size, 1), Sequence(size, 50)}, {}, {}};
    program.steps = {{"Neg", 1}, {"Add", 0, 1}, {"Mul", 3, 0}, {"Sub", 4, 1}, {"Sub", 0, 5}};
    program.results = {2, 3, 6};
    ExpectSameAsUnfused(program);
    program.results = {1, 0};  // exchanged
    ExpectSameAsUnfused(program);
    program.results = {0, 1};
    ExpectSameAsUnfused(program);
  }
}

TEST(FusedElementwiseTest, ManyStepsKeepFewValues) {
  Program program{{5}, {{5}, {5}}, {Sequence(5, 1), Sequence(5, 0.125f)}, {}, {}};
  for (int64_t i = 0; i < 1000; ++i) program.steps.push_back({i % 2 ? "Sub" : "Add", i + 1, i});
  program.results = {1001};
  ExpectSameAsUnfused(program);
}

TEST(FusedElementwiseTest, ManyValuesMayLiveAtOnce) {
  Program program{{2100}, {{2100}}, {Sequence(2100, 1)}, {}, {}};
  for (int64_t i = 0; i < 60; ++i) program.steps.push_back({"Sqrt", i});
  for (int64_t i = 0; i < 60; ++i) program.steps.push_back({"Add", 60 + i, 60 - i});
  program.results = {120};
  ExpectSameAsUnfused(program);
}

// ---- Random programs ----

class RandomProgram {
 public:
  RandomProgram(uint32_t seed, const std::map<std::string, int>& ops) : random_(seed) {
    for (const auto& [op, arity] : ops) ops_.emplace_back(op, arity);
  }

  Program Make() {
    Program program;
    program.shape = Shape();
    const int64_t inputs = Below(5) + 1;
    for (int64_t i = 0; i < inputs; ++i) {
      // One input at least has the shape; single elements and rows stand anywhere beside it.
      program.dims.push_back(i + 1 == inputs ? program.shape : InputDims(program.shape));
      program.inputs.push_back(Values(SizeOf(program.dims.back())));
    }
    std::swap(program.dims[0], program.dims[inputs - 1]);
    std::swap(program.inputs[0], program.inputs[inputs - 1]);
    const int64_t steps = Below(30) + 1;
    for (int64_t i = 0; i < steps; ++i) {
      const auto& [op, arity] = ops_[Below(static_cast<int64_t>(ops_.size()))];
      const int64_t x = Recent(inputs + i);
      program.steps.push_back({op, x, arity == 1 ? -1 : Below(4) == 0 ? x : Recent(inputs + i)});
    }
    const int64_t results = Below(5) + 1;
    for (int64_t i = 0; i < results; ++i) program.results.push_back(Recent(inputs + steps));
    return program;
  }

 private:
  int64_t Below(int64_t limit) {
    return std::uniform_int_distribution<int64_t>(0, limit - 1)(random_);
  }
  // Rather one of the last values than one of the first.
  int64_t Recent(int64_t values) { return values - 1 - Below(Below(values) + 1); }

  Dims Shape() {
    static const std::vector<Dims> shapes = {
        {},         {1},        {4},       {0},         {3, 0, 2},    {7, 5},       {2, 3, 4},
        {1, 6},     {1023},     {1024},    {1025},      {2047},       {2049},       {4100},
        {3, 1030},  {40, 130},  {2, 5000}, {1, 3, 700}, {2, 3, 1500}, {5, 2, 1, 9}, {3, 1, 1},
        {300, 100}, {2, 2, 16}, {33, 65},  {20, 2048},  {2, 90, 3}};
    return shapes[Below(static_cast<int64_t>(shapes.size()))];
  }

  Dims InputDims(const Dims& shape) {
    const int64_t rank = static_cast<int64_t>(shape.size());
    if (Below(3) == 0) return shape;
    if (Below(3) == 0) return Dims(Below(rank + 1), 1);
    const int64_t kept = Below(rank + 1);  // of the last dimensions
    Dims dims(Below(rank - kept + 1), 1);
    dims.insert(dims.end(), shape.end() - kept, shape.end());
    return dims;
  }

  Floats Values(int64_t size) {
    static const Floats special = {0.0f,   -0.0f,  1.0f, std::numeric_limits<float>::infinity(),
                                   1e-40f, -1e30f, NAN};
    Floats values;
    for (int64_t i = 0; i < size; ++i) {
      const bool is_special = Below(50) == 0;
      values.push_back(is_special ? special[Below(static_cast<int64_t>(special.size()))]
                                  : std::uniform_real_distribution<float>(-4, 4)(random_));
    }
    return values;
  }

  std::mt19937 random_;
  std::vector<std::pair<std::string, int>> ops_;
};

std::string Text(const Program& program) {
  std::ostringstream text;
  text << ::testing::PrintToString(program.shape) << " of "
       << ::testing::PrintToString(program.dims);
  for (const Step& step : program.steps) {
    text << " " << step.op << "(" << step.x << " " << step.y << ")";
  }
  text << " gives " << ::testing::PrintToString(program.results);
  return text.str();
}

TEST(FusedElementwiseTest, RandomProgramsGiveTheBitsOfTheirOps) {
  const std::map<std::string, int> ops = AllowedSteps();
  ASSERT_FALSE(ops.empty());
  for (uint32_t seed = 0; seed < 300; ++seed) {
    const Program program = RandomProgram(seed, ops).Make();
    SCOPED_TRACE(Text(program));
    ExpectSameAsUnfused(program);
    if (HasFailure()) return;
  }
}

// Large enough for several threads.
TEST(FusedElementwiseTest, PiecesOfALargeTensorFitTogether) {
  Program program{{77, 3001}, {{77, 3001}, {3001}, {}}, {}, {}, {}};
  program.inputs = {Sequence(77 * 3001, -7), Sequence(3001, 2), {0.5f}};
  program.steps = {{"Mul", 0, 1}, {"Tanh", 3}, {"Pow", 1, 2}, {"Add", 4, 5}, {"Maximum", 6, 2}};
  program.results = {7, 4};
  ExpectSameAsUnfused(program);
}

// ---- What is refused ----

ms::Status RunAttrs(const std::vector<std::string>& steps, const std::vector<int64_t>& operands,
                    const std::vector<int64_t>& results) {
  KernelTester t("_FusedElementwise");
  t.Attr("T", MS_FLOAT32).Attr("N", 2).Attr("M", 1);
  t.Attr("steps", steps).Attr("operands", operands).Attr("results", results);
  t.Attr("compile", true);
  t.Input<float>({2}, {1, 2}).Input<float>({2}, {3, 4});
  return t.Run();
}

TEST(FusedElementwiseTest, MalformedProgramsAreRefused) {
  EXPECT_TRUE(IsOk(RunAttrs({"Add"}, {0, 1}, {2})));
  struct {
    std::vector<std::string> steps;
    std::vector<int64_t> operands;
    std::vector<int64_t> results;
    const char* says;
  } const cases[] = {
      {{"MatMul"}, {0, 1}, {2}, "'steps' of _FusedElementwise: element 0 is MatMul"},
      {{}, {}, {0}, "'steps'"},
      {{"Add"}, {0}, {2}, "'operands' of _FusedElementwise: expected two numbers"},
      {{"Add"}, {0, 1, 0}, {2}, "got 3 numbers"},
      {{"Add"}, {-1, 0}, {2}, "element 0 is -1"},
      {{"Add"}, {0, -1}, {2}, "element 1 is -1"},
      {{"Add"}, {0, 2}, {2}, "element 1 is 2, expected the number of a value that exists by then"},
      {{"Neg", "Neg"}, {3, -1, 0, -1}, {2}, "element 0 is 3"},
      {{"Add"}, {0, int64_t{1} << 32}, {2}, "element 1 is 4294967296"},
      {{"Neg"}, {0, 1}, {2}, "expected -1: Neg has one operand"},
      {{"Add"}, {0, 1}, {3}, "'results' of _FusedElementwise: element 0 is 3"},
      {{"Add"}, {0, 1}, {-1}, "element 0 is -1"},
      {{"Add"}, {0, 1}, {2, 2}, "got 2 numbers"},
      {{"Add"}, {0, 1}, {}, "'results'"},
  };
  for (const auto& program : cases) {
    const ms::Status status = RunAttrs(program.steps, program.operands, program.results);
    EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT) << program.says;
    EXPECT_NE(std::string(status.message()).find(program.says), std::string::npos)
        << status.message();
  }
}

ms::Status RunShapes(const Dims& x, const Dims& y) {
  KernelTester t("_FusedElementwise");
  Describe({{}, {x, y}, {Floats(SizeOf(x)), Floats(SizeOf(y))}, {{"Add", 0, 1}}, {2}}, &t);
  return t.Run();
}

TEST(FusedElementwiseTest, OnlySingleElementsAndLastDimensionsAreRepeated) {
  EXPECT_TRUE(IsOk(RunShapes({2, 3}, {1, 3})));
  EXPECT_TRUE(IsOk(RunShapes({2, 3, 1}, {3, 1})));
  EXPECT_TRUE(IsOk(RunShapes({1, 2}, {2})));
  EXPECT_TRUE(IsOk(RunShapes({0, 3}, {3})));
  const ms::Status column = RunShapes({2, 3}, {2, 1});
  EXPECT_EQ(column.code(), MS_INVALID_ARGUMENT);
  EXPECT_EQ(column.message(),
            "_FusedElementwise: args[1] has shape [2,1], expected that of all args together, "
            "[2,3], its last dimensions, or one element");
  EXPECT_EQ(RunShapes({2}, {3}).code(), MS_INVALID_ARGUMENT);
  EXPECT_EQ(RunShapes({2, 1}, {3}).code(), MS_INVALID_ARGUMENT);
  EXPECT_EQ(RunShapes({0}, {3}).code(), MS_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace millstream::kernels
