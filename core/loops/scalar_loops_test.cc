// Loops of scalars, which compile_loops makes one operation of (core/passes/compile_loops.cc): they
// give the bits of the kernels.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "core/loops/raise_loops_fixture.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

constexpr char kPass[] = "compile_loops";

bool IsNaN(const Tensor& tensor) {
  if (tensor.dtype() == DataType::kFloat) return std::isnan(*tensor.data<float>());
  return tensor.dtype() == DataType::kDouble && std::isnan(*tensor.data<double>());
}

void ExpectSame(const Tensor& actual, const Tensor& expected) {
  ASSERT_EQ(actual.dtype(), expected.dtype());
  ASSERT_EQ(actual.shape(), expected.shape());
  if (IsNaN(actual) && IsNaN(expected)) return;
  EXPECT_EQ(std::memcmp(actual.raw(), expected.raw(), expected.bytes()), 0);
}

template <typename T>
std::vector<Tensor> NumbersOf() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> numbers = {0, 1, 2, 3, T(-1), T(-7), 100, Limits::max(), Limits::lowest()};
  if constexpr (!Limits::is_integer) {
    numbers.insert(numbers.end(),
                   {T(-0.0), T(0.3), T(-2.5), Limits::infinity(), -Limits::infinity(),
                    Limits::quiet_NaN(), Limits::min(), Limits::denorm_min()});
  }
  std::vector<Tensor> tensors;
  for (const T number : numbers) tensors.push_back(Tensor::Scalar<T>(number));
  return tensors;
}

std::vector<Tensor> ValuesOf(DataType dtype) {
  switch (dtype) {
    case DataType::kFloat: return NumbersOf<float>();
    case DataType::kDouble: return NumbersOf<double>();
    case DataType::kInt32: return NumbersOf<int32_t>();
    case DataType::kInt64: return NumbersOf<int64_t>();
    default: return {Tensor::Scalar<bool>(false), Tensor::Scalar<bool>(true)};
  }
}

class ScalarLoopsTest : public RaiseLoopsTest {
 protected:
  // The ops that a step runs.
  std::vector<std::string> OpsOf(const Outputs& fetches, const std::vector<Feed>& feeds = {}) {
    StepReport report;
    report.want_trace = true;
    RunOptions run;
    run.report = &report;
    EXPECT_TRUE(Run(fetches, feeds, {}, run).ok());
    std::vector<std::string> ops;
    for (const TracedPart& part : report.trace.parts()) {
      for (const TracedNode& node : part.nodes) ops.push_back(node.op);
    }
    return ops;
  }
  bool IsOneOperation(const Outputs& fetches, const std::vector<Feed>& feeds = {}) {
    return absl::c_linear_search(OpsOf(fetches, feeds), "_ScalarLoop");
  }

  // Expects one operation, and the bits that the fetches have without the pass.
  void ExpectSameBits(const Outputs& fetches, const std::vector<std::vector<Feed>>& steps = {{}}) {
    StartSession(SessionOptions());
    EXPECT_TRUE(IsOneOperation(fetches, steps[0]));
    std::vector<std::vector<Tensor>> found;
    for (const std::vector<Feed>& feeds : steps) {
      const auto values = Run(fetches, feeds);
      ASSERT_TRUE(values.ok()) << values.status();
      found.push_back(*values);
    }
    SessionOptions plain;
    plain.disabled_passes = {kPass};
    StartSession(plain);
    EXPECT_FALSE(IsOneOperation(fetches, steps[0]));
    for (size_t i = 0; i < steps.size(); ++i) {
      const auto values = Run(fetches, steps[i]);
      ASSERT_TRUE(values.ok()) << values.status();
      for (size_t k = 0; k < fetches.size(); ++k) ExpectSame(found[i][k], (*values)[k]);
    }
  }

  // `op` in a loop of two iterations, on all pairs of values of the type.
  void ExpectSameOn(DataType dtype, const std::string& op, int operands,
                    const GraphBuilder::Attrs& attrs = {}) {
    SCOPED_TRACE(op + " on " + std::string(DataTypeName(dtype)));
    const std::string name = op + std::to_string(num_loops_++);
    const Output a = Placeholder(name + "_a", dtype, PartialShape::Scalar());
    const Output b = Placeholder(name + "_b", dtype, PartialShape::Scalar());
    const auto apply = [&](const Output& x, const Output& y) {
      return operands == 1 ? Op(op, {x}, attrs) : Op(op, {x, y}, attrs);
    };
    const Output first = apply(a, b);
    const Loop loop = Count(
        {a, b, first}, 2,
        [&](const Outputs& v) {
          return Outputs{v[1], v[0], apply(v[0], v[1])};
        },
        name);
    std::vector<std::vector<Feed>> steps;
    for (const Tensor& x : ValuesOf(dtype)) {
      for (const Tensor& y : ValuesOf(dtype)) steps.push_back({{a, x}, {b, y}});
    }
    ExpectSameBits({loop.exits[1], loop.exits[2], loop.exits[3]}, steps);
  }

 private:
  int num_loops_ = 0;
};

const DataType kNumbers[] = {DataType::kInt32, DataType::kInt64, DataType::kFloat,
                             DataType::kDouble};

TEST_F(ScalarLoopsTest, NumbersAreComputedAsByKernels) {
  for (const DataType dtype : kNumbers) {
    for (const char* op : {"Add", "AddV2", "Sub", "Mul", "Maximum", "Minimum"}) {
      ExpectSameOn(dtype, op, 2);
    }
    for (const char* op : {"Abs", "Neg", "Square"}) ExpectSameOn(dtype, op, 1);
  }
}

TEST_F(ScalarLoopsTest, NumbersAreComparedAsByKernels) {
  for (const DataType dtype : kNumbers) {
    for (const char* op : {"Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual"}) {
      ExpectSameOn(dtype, op, 2);
    }
  }
}

TEST_F(ScalarLoopsTest, RealNumbersAreDividedAsByKernels) {
  for (const DataType dtype : {DataType::kFloat, DataType::kDouble}) {
    for (const char* op : {"Div", "RealDiv"}) ExpectSameOn(dtype, op, 2);
  }
}

TEST_F(ScalarLoopsTest, TruthValuesAreCombinedAsByKernels) {
  for (const char* op : {"Equal", "NotEqual", "LogicalAnd", "LogicalOr"}) {
    ExpectSameOn(DataType::kBool, op, 2);
  }
  ExpectSameOn(DataType::kBool, "LogicalNot", 1);
}

TEST_F(ScalarLoopsTest, ValuesAreCastAsByKernels) {
  const DataType types[] = {DataType::kBool, DataType::kInt32, DataType::kInt64, DataType::kFloat,
                            DataType::kDouble};
  for (const DataType from : types) {
    for (const DataType to : types) ExpectSameOn(from, "Cast", 1, {{"DstT", to}});
  }
}

TEST_F(ScalarLoopsTest, FunctionsOfFloatsAreThoseOfKernels) {
  for (const char* op : {"Exp", "Tanh", "Sigmoid", "Sqrt", "Rsqrt", "Log", "Relu", "Floor"}) {
    ExpectSameOn(DataType::kFloat, op, 1);
  }
  for (const char* op : {"TanhGrad", "SigmoidGrad", "SquaredDifference", "Pow"}) {
    ExpectSameOn(DataType::kFloat, op, 2);
  }
}

TEST_F(ScalarLoopsTest, AChoiceIsThatOfTheKernel) {
  for (const char* op : {"Select", "SelectV2"}) {
    for (const DataType dtype : {DataType::kBool, DataType::kInt32, DataType::kInt64,
                                 DataType::kFloat, DataType::kDouble}) {
      const std::string name = std::string(op) + std::string(DataTypeName(dtype));
      const Output which = Placeholder(name + "_which", DataType::kBool, PartialShape::Scalar());
      const Output a = Placeholder(name + "_a", dtype, PartialShape::Scalar());
      const Output b = Placeholder(name + "_b", dtype, PartialShape::Scalar());
      const Loop loop = Count(
          {which, a, b}, 3,
          [&](const Outputs& v) {
            return Outputs{Op("LogicalNot", {v[0]}), Op(op, {v[0], v[1], v[2]}), v[1]};
          },
          name);
      std::vector<std::vector<Feed>> steps;
      for (const bool truth : {false, true}) {
        const std::vector<Tensor> values = ValuesOf(dtype);
        steps.push_back(
            {{which, Tensor::Scalar<bool>(truth)}, {a, values.front()}, {b, values.back()}});
      }
      ExpectSameBits({loop.exits[2], loop.exits[3]}, steps);
    }
  }
}

TEST_F(ScalarLoopsTest, VariablesMayChangePlacesAndStayAsTheyAre) {
  const Loop loop = Count({Constant(1.0f), Constant(2.0f), Constant(7.0f), Constant(5.0f)}, 5,
                          [&](const Outputs& v) {
                            const Output sum = Op("Add", {v[0], v[1]});
                            return Outputs{v[1], v[0], v[2], sum};
                          });
  ExpectSameBits(loop.exits);
  EXPECT_EQ(Number(loop.exits[1]), 2);
  EXPECT_EQ(Number(loop.exits[2]), 1);
  EXPECT_EQ(Number(loop.exits[3]), 7);
}

TEST_F(ScalarLoopsTest, TwoVariablesMayGetOneValue) {
  const Loop loop = Count({Constant(1.0f), Constant(2.0f)}, 5, [&](const Outputs& v) {
    const Output sum = Op("Add", {v[0], v[1]});
    return Outputs{sum, sum};
  });
  ExpectSameBits(loop.exits);
  EXPECT_EQ(Number(loop.exits[2]), 48);
}

// Each reads what another one is in this iteration, after that one's next value is known.
TEST_F(ScalarLoopsTest, AVariableIsReadAfterItsNextValueIsComputed) {
  const Loop loop = Count({Constant(1.0f), Constant(2.0f)}, 5, [&](const Outputs& v) {
    const Output a = Op("Add", {v[0], v[1]});
    const Output b = Op("Sub", {Op("Mul", {a, v[0]}), v[1]});
    return Outputs{a, b};
  });
  ExpectSameBits(loop.exits);
}

TEST_F(ScalarLoopsTest, AVariableMayBeGivenWhatDoesNotChange) {
  const Output x = Placeholder("x", DataType::kFloat, PartialShape::Scalar());
  const Output inside = Enter(x, "loop", true);
  const Loop loop = Count({Constant(1.0f), Constant(2.0f)}, 3, [&](const Outputs& v) {
    return Outputs{Op("Mul", {inside, inside}), v[0]};
  });
  ExpectSameBits(loop.exits, {{{x, Tensor::Scalar<float>(3)}}, {{x, Tensor::Scalar<float>(-0.5)}}});
}

TEST_F(ScalarLoopsTest, WithoutIterationsTheInitialValuesLeave) {
  const Output x = Placeholder("x", DataType::kFloat, PartialShape::Scalar());
  const Loop loop = Count({x}, 0, [&](const Outputs& v) { return Outputs{Op("Neg", {v[0]})}; });
  ExpectSameBits(loop.exits, {{{x, Tensor::Scalar<float>(4)}}});
  EXPECT_EQ(Number(loop.exits[1], {{x, Tensor::Scalar<float>(4)}}), 4);
}

TEST_F(ScalarLoopsTest, TheConditionMayBeAVariable) {
  const Loop loop = While(
      {Bool(true), Constant(0.0f)}, [](const Outputs& v) { return v[0]; },
      [&](const Outputs& v) {
        const Output next = Op("Add", {v[1], ConstantAfter(1, v[1].node)});
        return Outputs{Op("Less", {next, ConstantAfter(6, v[1].node)}), next};
      });
  ExpectSameBits(loop.exits);
  EXPECT_EQ(Number(loop.exits[1]), 6);
}

// There is an iteration while the one before the last one allowed it.
TEST_F(ScalarLoopsTest, TheConditionMayBeWhatAVariableWasBefore) {
  const Loop loop = While(
      {Bool(true), Bool(true), Constant(0.0f)}, [](const Outputs& v) { return v[0]; },
      [&](const Outputs& v) {
        const Output next = Op("Add", {v[2], ConstantAfter(1, v[2].node)});
        return Outputs{v[1], Op("Less", {next, ConstantAfter(6, v[2].node)}), next};
      });
  ExpectSameBits(loop.exits);
  EXPECT_EQ(Number(loop.exits[2]), 7);
}

TEST_F(ScalarLoopsTest, ALoopInALoopIsOneOperationOfItsBody) {
  const Output x = Placeholder("x", DataType::kFloat, PartialShape::Scalar());
  const Loop loop = Count({x}, 3, [&](const Outputs& v) {
    const Loop inner = While(
        {v[0]},
        [&](const Outputs& w) {
          return Op("Less",
                    {w[0], Op("Mul", {Enter(v[0], "inner", true), ConstantAfter(3, w[0].node)})});
        },
        [&](const Outputs& w) {
          return Outputs{Op("Add", {w[0], ConstantAfter(1, w[0].node)})};
        },
        {"inner", 10});
    return inner.exits;
  });
  ExpectSameBits(loop.exits, {{{x, Tensor::Scalar<float>(1)}}});
  EXPECT_EQ(Number(loop.exits[1], {{x, Tensor::Scalar<float>(1)}}), 27);
}

TEST_F(ScalarLoopsTest, OtherLoopsStayAsTheyAre) {
  const Output x = Placeholder("x", DataType::kFloat, PartialShape({3}));
  const Loop of_vectors =
      Count({x}, 3, [&](const Outputs& v) { return Outputs{Op("Neg", {v[0]})}; });
  EXPECT_FALSE(IsOneOperation(of_vectors.exits, {{x, *Tensor::Create(DataType::kFloat, {3})}}));
  const Output y = Placeholder("y", DataType::kFloat, PartialShape::Scalar());
  const Loop of_another_op = Count(
      {y}, 3, [&](const Outputs& v) { return Outputs{Op("L2Loss", {v[0]})}; }, "another");
  EXPECT_FALSE(IsOneOperation(of_another_op.exits, {{y, Tensor::Scalar<float>(1)}}));
}

TEST_F(ScalarLoopsTest, WhatMayFailStaysALoopAndNamesTheIteration) {
  const Output divisor = Placeholder("divisor", DataType::kInt32, PartialShape::Scalar());
  const Output one = Enter(Constant(Tensor::Scalar<int32_t>(1)), "loop", true);
  const Loop loop = Count({divisor, divisor}, 4, [&](const Outputs& v) {
    return Outputs{Op("Sub", {v[0], one}), Op("FloorDiv", {one, v[0]})};
  });
  EXPECT_FALSE(IsOneOperation(loop.exits, {{divisor, Tensor::Scalar<int32_t>(9)}}));
  ExpectError(Run(loop.exits, {{divisor, Tensor::Scalar<int32_t>(2)}}).status(),
              absl::StatusCode::kInvalidArgument,
              {"op FloorDiv", "loop: iteration 2 of frame 'loop'"});
}

TEST_F(ScalarLoopsTest, ALoopThatNeverEndsEndsAtTheTimeLimit) {
  const Loop loop = While(
      {Constant(0.0f)},
      [&](const Outputs& v) {
        return Op("LessEqual", {v[0], v[0]});
      },
      [&](const Outputs& v) {
        return Outputs{Op("Mul", {v[0], ConstantAfter(0.5f, v[0].node)})};
      });
  RunOptions limited;
  limited.timeout_ms = 20;
  const Status status = Run({loop.exits[0]}, {}, {}, limited).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
}

}  // namespace
}  // namespace millstream
