#include "kernels/codegen/vector_code.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <sstream>
#include <string>

namespace millstream::kernels {
namespace {

using Comparison = VectorProgram::Comparison;
using Floats = std::vector<float>;
using Value = VectorProgram::Value;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

class VectorCodeTest : public ::testing::TestWithParam<VectorSet> {
 protected:
  void SetUp() override {
    if (GetParam() == VectorSet::kAvx512 && ChosenVectorSet() != VectorSet::kAvx512) {
      GTEST_SKIP() << "the processor has no AVX-512 (F, DQ)";
    }
    if (ChosenVectorSet() == VectorSet::kNone) GTEST_SKIP() << "the processor has no AVX2";
  }

  // Runs the program over columns, all of one length; the first element after each is watched.
  void Run(const VectorProgram& program, std::vector<Floats>* columns) {
    const std::unique_ptr<VectorCode> code = VectorCode::Make({program}, GetParam());
    ASSERT_NE(code, nullptr);
    constexpr float kGuard = 1234.5f;
    std::vector<float*> table;
    const size_t elements = (*columns)[0].size();
    for (Floats& column : *columns) {
      column.push_back(kGuard);
      table.push_back(column.data());
    }
    code->function(0)(reinterpret_cast<const float*>(table.data()), nullptr, nullptr,
                      static_cast<int64_t>(elements));
    for (Floats& column : *columns) {
      EXPECT_EQ(column.back(), kGuard);
      column.pop_back();
    }
  }

  // What `make` computes from x and y.
  Floats Apply(const std::function<Value(VectorProgram&, Value, Value)>& make, const Floats& x,
               const Floats& y) {
    VectorProgram program;
    const Value loaded_x = program.Load(0);
    const Value loaded_y = program.Load(1);
    program.Store(2, make(program, loaded_x, loaded_y));
    std::vector<Floats> columns = {x, y, Floats(x.size(), -77)};
    Run(program, &columns);
    return columns[2];
  }
};

TEST_P(VectorCodeTest, AnyNumberOfElementsAndNoneBeyond) {
  for (size_t elements = 1; elements <= 70; ++elements) {
    Floats x(elements);
    for (size_t i = 0; i < elements; ++i) x[i] = static_cast<float>(i);
    const Floats sums = Apply([](VectorProgram& p, Value a, Value b) { return p.Add(a, b); }, x, x);
    for (size_t i = 0; i < elements; ++i) ASSERT_EQ(sums[i], 2 * x[i]) << elements;
  }
}

TEST_P(VectorCodeTest, EachInstruction) {
  const Floats x = {6, -6, 0.5f};
  const Floats y = {4, 4, -8};
  struct {
    const char* name;
    Value (*make)(VectorProgram&, Value, Value);
    Floats expected;
  } const cases[] = {
      {"Add", [](VectorProgram& p, Value a, Value b) { return p.Add(a, b); }, {10, -2, -7.5f}},
      {"Sub", [](VectorProgram& p, Value a, Value b) { return p.Sub(a, b); }, {2, -10, 8.5f}},
      {"Mul", [](VectorProgram& p, Value a, Value b) { return p.Mul(a, b); }, {24, -24, -4}},
      {"Div",
       [](VectorProgram& p, Value a, Value b) { return p.Div(a, b); },
       {1.5f, -1.5f, -.0625f}},
      {"Max", [](VectorProgram& p, Value a, Value b) { return p.Max(a, b); }, {6, 4, .5f}},
      {"Min", [](VectorProgram& p, Value a, Value b) { return p.Min(a, b); }, {4, -6, -8}},
      {"And",
       [](VectorProgram& p, Value a, Value) { return p.And(a, p.Bits(0x7fffffff)); },
       {6, 6, .5f}},
      {"Xor",
       [](VectorProgram& p, Value a, Value) { return p.Xor(a, p.Number(-0.0f)); },
       {-6, 6, -.5f}},
      {"Sqrt", [](VectorProgram& p, Value a, Value) { return p.Sqrt(p.Mul(a, a)); }, {6, 6, .5f}},
      {"Floor",
       [](VectorProgram& p, Value, Value b) { return p.Floor(p.Mul(b, p.Number(.3f))); },
       {1, 1, -3}},
      {"Number", [](VectorProgram& p, Value, Value) { return p.Number(2.5f); }, {2.5f, 2.5f, 2.5f}},
      {"Broadcast", [](VectorProgram& p, Value, Value) { return p.Broadcast(1); }, {4, 4, 4}},
  };
  for (const auto& one : cases) EXPECT_EQ(Apply(one.make, x, y), one.expected) << one.name;
}

TEST_P(VectorCodeTest, ComparisonsWithZero) {
  const Floats x = {1, -1, 0.0f, -0.0f, NAN, kInfinity, -kInfinity};
  const Floats y(x.size(), 3);
  struct {
    Comparison comparison;
    Floats expected;
  } const cases[] = {
      {Comparison::kGreater, {3, 0, 0, 0, 0, 3, 0}},
      {Comparison::kLess, {0, 3, 0, 0, 0, 0, 3}},
      {Comparison::kNotEqual, {3, 3, 0, 0, 3, 3, 3}},
      {Comparison::kNotLessOrEqual, {3, 0, 0, 0, 3, 3, 0}},
  };
  for (const auto& one : cases) {
    const Floats kept =
        Apply([&](VectorProgram& p, Value a, Value b) { return p.KeepWhere(one.comparison, a, b); },
              x, y);
    EXPECT_EQ(kept, one.expected) << static_cast<int>(one.comparison);
  }
}

TEST_P(VectorCodeTest, PassNaN) {
  const Floats passed = Apply([](VectorProgram& p, Value a, Value b) { return p.PassNaN(a, b); },
                              {1, 2, NAN, NAN}, {5, NAN, 5, NAN});
  EXPECT_EQ(passed[0], 1);
  EXPECT_TRUE(std::isnan(passed[1]));
  EXPECT_TRUE(std::isnan(passed[2]));
  EXPECT_TRUE(std::isnan(passed[3]));
}

// More places than there are general registers for their addresses, and as many values as vector
// registers.
TEST_P(VectorCodeTest, ManyPlacesAndRegisters) {
  const auto most = static_cast<uint32_t>(AvailableRegisters(GetParam())) - 1;
  VectorProgram program;
  std::vector<Value> values;
  for (uint32_t i = 0; i < most; ++i) values.push_back(program.Load(i));
  Value sum = values[most - 1];
  for (uint32_t i = most - 1; i-- > 0;) sum = program.Sub(values[i], sum);
  program.Store(most, sum);
  program.Store(most + 1, sum);
  std::vector<Floats> columns(most + 2, Floats(21));
  Floats expected(21, 0);
  for (uint32_t i = most; i-- > 0;) {
    for (size_t j = 0; j < 21; ++j) {
      columns[i][j] = static_cast<float>(i * 100 + j);
      expected[j] = i == most - 1 ? columns[i][j] : columns[i][j] - expected[j];
    }
  }
  Run(program, &columns);
  EXPECT_EQ(columns[most], expected);
  EXPECT_EQ(columns[most + 1], expected);
}

TEST_P(VectorCodeTest, AResultMayLieOverWhatIsRead) {
  VectorProgram program;
  const Value x = program.Load(0);
  program.Store(0, program.Mul(x, x));
  std::vector<Floats> columns = {Floats(100, 3)};
  Run(program, &columns);
  EXPECT_EQ(columns[0], Floats(100, 9));
}

TEST_P(VectorCodeTest, SeveralProgramsLieInOneMemory) {
  std::vector<VectorProgram> programs(20);
  for (size_t i = 0; i < programs.size(); ++i) {
    programs[i].Store(1, programs[i].Add(programs[i].Load(0), programs[i].Number(1.0f * i)));
  }
  const std::unique_ptr<VectorCode> code = VectorCode::Make(programs, GetParam());
  ASSERT_NE(code, nullptr);
  for (size_t i = 0; i < programs.size(); ++i) {
    Floats x(5, 10);
    Floats y(5, 0);
    float* const table[] = {x.data(), y.data()};
    code->function(i)(reinterpret_cast<const float*>(table), nullptr, nullptr, 5);
    EXPECT_EQ(y, Floats(5, 10.0f + static_cast<float>(i)));
  }
}

TEST_P(VectorCodeTest, AProgramWithTooManyValuesIsRefused) {
  VectorProgram program;
  std::vector<Value> values;
  for (int i = 0; i < 40; ++i) values.push_back(program.Load(0));
  for (const Value value : values) program.Store(1, value);
  EXPECT_EQ(VectorCode::Make({program}, GetParam()), nullptr);
}

// Of the mapping that holds the function, as in /proc/self/maps: "r-xp".
std::string PermissionsOf(VectorCode::Function function) {
  uintptr_t address;
  std::memcpy(&address, &function, sizeof(address));
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin;
    unsigned long end;
    char permissions[5];
    if (std::sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, permissions) != 3) continue;
    if (begin <= address && address < end) return permissions;
  }
  return "not mapped";
}

TEST_P(VectorCodeTest, CodeIsNeverWritableAndExecutable) {
  VectorProgram program;
  program.Store(1, program.Load(0));
  VectorCode::Function function;
  {
    const std::unique_ptr<VectorCode> code = VectorCode::Make({program}, GetParam());
    ASSERT_NE(code, nullptr);
    function = code->function(0);
    EXPECT_EQ(PermissionsOf(function), "r-xp");
  }
  EXPECT_NE(PermissionsOf(function), "r-xp") << "it goes with its owner";
}

INSTANTIATE_TEST_SUITE_P(Sets, VectorCodeTest,
                         ::testing::Values(VectorSet::kAvx2, VectorSet::kAvx512),
                         [](const ::testing::TestParamInfo<VectorSet>& info) {
                           return info.param == VectorSet::kAvx2 ? "Avx2" : "Avx512";
                         });

TEST(VectorSetTest, WithoutOneThereIsNoCode) {
  VectorProgram program;
  program.Store(1, program.Load(0));
  EXPECT_EQ(VectorCode::Make({program}, VectorSet::kNone), nullptr);
}

}  // namespace
}  // namespace millstream::kernels
