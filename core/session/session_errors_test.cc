// Bad input: a typed error that names the node and what was expected, and a session that stays
// usable.
#include <vector>

#include "core/session/session.h"
#include "core/structural/structural.h"
#include "core/testing/session_fixture.h"
#include "framework/op_registry.h"
#include "framework/shape_context.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

class SessionErrorsTest : public SessionTest {
 protected:
  // The session works as if nothing had happened.
  void ExpectUsable() {
    EXPECT_THAT(Elements<float>(Value(Op("Neg", {Constant(1.0f)}))), ElementsAre(-1));
  }
};

TEST_F(SessionErrorsTest, AFeedOfAnotherDtype) {
  const Output x = Placeholder("x", DataType::kFloat);
  ExpectError(Error(Op("Neg", {x}), {{x, Values<int32_t>({1})}}), kInvalid,
              {"node 'x'", "x:0", "float32", "int32"});
  ExpectUsable();
}

TEST_F(SessionErrorsTest, AFeedOfAnotherShape) {
  const Output x = Placeholder("x", DataType::kFloat, {-1, 3});
  ExpectError(Error(Op("Neg", {x}), {{x, Values<float>({1, 2})}}), kInvalid,
              {"node 'x'", "[?,3]", "[2]"});
  ExpectUsable();
}

TEST_F(SessionErrorsTest, AFedIntermediateOfAnotherShape) {
  const Output y = Op("Neg", {Placeholder("x", DataType::kFloat, {2, 3})});
  ExpectError(Error(Op("Exp", {y}), {{y, Values<float>({1})}}), kInvalid,
              {y.node->name(), "[2,3]", "[1]"});
  ExpectUsable();
}

TEST_F(SessionErrorsTest, APlaceholderThatIsNotFed) {
  const Output x = Placeholder("x", DataType::kFloat, {-1, 3});
  const Status status = Error(Op("Neg", {x}));
  ExpectError(status, kInvalid,
              {"You must feed a value for placeholder tensor 'x' with dtype float", "[?,3]"});
  EXPECT_EQ(StatusNode(status), "x");
  ExpectUsable();
}

TEST_F(SessionErrorsTest, ShapesThatDoNotFitAtRunTime) {
  const Output x = Placeholder("x", DataType::kFloat);
  const Output y = Placeholder("y", DataType::kFloat);
  build.set_source("train.py:3");
  const Output product = Op("MatMul", {x, y});
  build.set_source("");
  const Tensor wide = Tensor::Create(DataType::kFloat, {2, 3}).value();
  const Status status = Error(product, {{x, wide}, {y, wide}});
  ExpectError(status, kInvalid, {product.node->name(), "MatMul", "train.py:3", "[2,3]"});
  EXPECT_EQ(StatusNode(status), product.node->name());
  ExpectUsable();
}

TEST_F(SessionErrorsTest, ShapesThatAreFoundNotToFitInTheStep) {
  // The sizes come from a value that only the step knows.
  const Output sizes = Placeholder("sizes", DataType::kInt32, {2});
  const Output x = Op("Fill", {sizes, Constant(1.0f)});
  const Output y = Op("Add", {x, Constant(Values<float>({1, 2, 3}))});
  ExpectError(Error(y, {{sizes, Values<int32_t>({2, 4})}}), kInvalid,
              {y.node->name(), "device: /job:localhost"});
  EXPECT_EQ(Value(y, {{sizes, Values<int32_t>({2, 3})}}).shape(), Shape({2, 3}));
}

TEST_F(SessionErrorsTest, AReshapeThatIsFoundNotToFit) {
  const Output x = Placeholder("x", DataType::kFloat);
  const Output sizes = Placeholder("sizes", DataType::kInt32);
  const Output y = Op("Reshape", {x, sizes});
  ExpectError(Error(y, {{x, Values<float>({1, 2, 3})}, {sizes, Values<int32_t>({2, -1})}}),
              kInvalid, {y.node->name(), "Reshape", "[3]"});
  EXPECT_EQ(Value(y, {{x, Values<float>({1, 2, 3, 4})}, {sizes, Values<int32_t>({2, -1})}}).shape(),
            Shape({2, 2}));
}

TEST_F(SessionErrorsTest, AVariableWithoutValue) {
  const Output w = Variable("w", DataType::kFloat, {2});
  const Output value = Read(w);
  ExpectError(Error(value), absl::StatusCode::kFailedPrecondition,
              {value.node->name(), "uninitialized value w"});
  const Node* add = build.NodeOf("AssignAddVariableOp", {w, Constant(Values<float>({1, 1}))});
  ExpectError(Execute({add}), absl::StatusCode::kNotFound, {add->name(), "uninitialized value w"});
  ASSERT_EQ(Execute({Assign(w, Constant(Values<float>({1, 2})))}), absl::OkStatus());
  EXPECT_THAT(Elements<float>(Value(value)), ElementsAre(1, 2));
}

TEST_F(SessionErrorsTest, AnErrorInsideAStepLeavesVariablesUnlocked) {
  const Output w = Variable("w", DataType::kFloat, {-1});
  const Output delta = Placeholder("delta", DataType::kFloat);
  ASSERT_EQ(Execute({Assign(w, Constant(Values<float>({1, 2})))}), absl::OkStatus());
  const Node* add = build.NodeOf("AssignAddVariableOp", {w, delta});
  EXPECT_EQ(Execute({add}, {{delta, Values<float>({1, 2, 3})}}).code(), kInvalid);
  ASSERT_EQ(Execute({add}, {{delta, Values<float>({1, 1})}}), absl::OkStatus());
  EXPECT_THAT(Elements<float>(Value(Read(w))), ElementsAre(2, 3));
}

TEST_F(SessionErrorsTest, AnAssignedValueOfAnotherShape) {
  const Output w = Variable("w", DataType::kFloat, {2});
  const Output x = Placeholder("x", DataType::kFloat);
  const Node* assign = Assign(w, x);
  ExpectError(Execute({assign}, {{x, Values<float>({1, 2, 3})}}), kInvalid,
              {assign->name(), "[2]", "[3]"});
  EXPECT_EQ(Execute({assign}, {{x, Values<float>({1, 2})}}), absl::OkStatus());
}

TEST_F(SessionErrorsTest, AHandleThatPromisesAnotherShapeThanTheValueHas) {
  const auto handle = [&](const char* name, const PartialShape& shape) {
    return (*TryNode(name, "VarHandleOp", {},
                     {{"dtype", DataType::kFloat}, {"shape", shape}, {"shared_name", "w"}}))
        ->output(0);
  };
  const Output open = handle("open", {-1});
  const Output fixed = handle("fixed", {4});
  ASSERT_EQ(Execute({Assign(open, Constant(Values<float>({1, 2})))}), absl::OkStatus());
  const Output value = Read(fixed);
  ExpectError(Error(Op("Neg", {value})), kInvalid, {value.node->name(), "[4]", "[2]"});
  EXPECT_THAT(Elements<float>(Value(Read(open))), ElementsAre(1, 2));
}

TEST_F(SessionErrorsTest, BytesBeyondSixtyFourBitsFailTheStepAndNotTheProcess) {
  const Output huge =
      Op("Fill", {Constant(Values<int32_t>({1 << 30, 1 << 30, 4})), Constant(1.0f)});
  const Output inside = Op("Max", {huge, Constant(Values<int32_t>({0, 1, 2}))});
  ExpectError(Error(inside), absl::StatusCode::kResourceExhausted, {"out of memory"});
  ExpectError(Error(huge), absl::StatusCode::kResourceExhausted,
              {"out of memory", huge.node->name(), "9223372036854775807"});
  ExpectUsable();
}

TEST_F(SessionErrorsTest, ATerabyteFailsTheStepAndNotTheProcess) {
  const Output sizes = Constant(Values<int32_t>({1 << 20, 1 << 18}));
  const Output huge = Op("Fill", {sizes, Constant(1.0f)});
  ExpectError(Error(huge), absl::StatusCode::kResourceExhausted,
              {"out of memory", huge.node->name(), "1099511627776", "[1048576,262144]"});
  // The same inside a step, and where the size is known only as it runs.
  const Output inside = Op("Max", {huge, Constant(Values<int32_t>({0, 1}))});
  ExpectError(Error(inside), absl::StatusCode::kResourceExhausted, {huge.node->name()});
  const Output fed = Placeholder("fed", DataType::kInt32, {2});
  const Output late = Op("Fill", {fed, Constant(1.0f)});
  ExpectError(Error(late, {{fed, Values<int32_t>({1 << 20, 1 << 18})}}),
              absl::StatusCode::kResourceExhausted, {late.node->name(), "1099511627776"});
  EXPECT_EQ(Value(late, {{fed, Values<int32_t>({1, 2})}}).shape(), Shape({1, 2}));
  ExpectUsable();
}

TEST_F(SessionErrorsTest, AShapeWhoseElementsCannotBeCounted) {
  const Output fed = Placeholder("fed", DataType::kInt32, {3});
  const Output late = Op("Fill", {fed, Constant(1.0f)});
  EXPECT_FALSE(Run({late}, {{fed, Values<int32_t>({1 << 30, 1 << 30, 1 << 30})}}).ok());
  ExpectUsable();
}

TEST_F(SessionErrorsTest, NoKernelForTheDtypeListsThoseThereAre) {
  const Output x = Placeholder("x", DataType::kInt8, {2, 2});
  const Output y = Op("RealDiv", {x, x});
  const Status status = Error(y, {{x, Tensor::Create(DataType::kInt8, {2, 2}).value()}});
  ExpectError(status, kInvalid, {y.node->name(), "RealDiv", "float32", "float64"});
  EXPECT_EQ(StatusNode(status), y.node->name());
  ExpectUsable();
}

TEST_F(SessionErrorsTest, AHandleIsNeitherFedNorFetched) {
  const Output w = Variable("w", DataType::kFloat, {2});
  ExpectError(Error(w), kInvalid, {"node 'w'", "cannot be fetched"});
  const Tensor fed = Tensor::Create(DataType::kResource, Shape()).value();
  ExpectError(Error(Read(w), {{w, fed}}), kInvalid, {"node 'w'", "must be float32, got resource"});
  ExpectUsable();
}

TEST_F(SessionErrorsTest, AKernelThatSetsNoOutput) {
  const Output broken = Op("TestSetsNothing", {});
  ExpectError(Error(Op("Neg", {broken})), absl::StatusCode::kInternal,
              {broken.node->name(), "did not set output 0"});
  ExpectUsable();
}

TEST_F(SessionErrorsTest, TheNumbersOfFeedsAndFetchesAreChecked) {
  const Output x = Placeholder("x", DataType::kFloat);
  const std::unique_ptr<Callable> callable = MakeCallable({{x}, {Op("Neg", {x})}, {}});
  std::vector<Tensor> results(1);
  ExpectError(callable->Run({}, absl::MakeSpan(results), RunOptions()), kInvalid,
              {"1 feeds", "got 0"});
  const std::vector<Tensor> feeds = {Values<float>({1})};
  ExpectError(callable->Run(feeds, {}, RunOptions()), kInvalid, {"1 fetches", "room for 0"});
  EXPECT_EQ(callable->Run(feeds, absl::MakeSpan(results), RunOptions()), absl::OkStatus());
}

TEST_F(SessionErrorsTest, ADeviceNameThatCannotBeRead) {
  const Output x = Constant(1.0f);
  build.set_device("/device:CPU:zero");
  const Output y = Op("Neg", {x});
  build.set_device("");
  ExpectError(Error(y), kInvalid, {y.node->name(), "CPU:zero"});
  ExpectUsable();
}

using SessionErrorsDeathTest = SessionErrorsTest;

// The address sanitizer has a report of its own.
#if !defined(__SANITIZE_ADDRESS__)
// More than any stack has.
__attribute__((noinline)) int Overflow(int depth) {
  volatile char frame[4096];
  frame[0] = static_cast<char>(depth);
  return depth < 0 ? 0 : Overflow(depth + 1) + frame[0];
}
Status OverflowStack(StructuralFrame*) {
  return Overflow(0) == 1 ? absl::OkStatus() : errors::Internal("the stack is endless");
}
MILLSTREAM_OP("TestOverflow").Stateful().Shape(NoOutputs).Doc("Overflows the stack.");
MILLSTREAM_STRUCTURAL("TestOverflow", StructuralRole::kKernel, OverflowStack);

TEST_F(SessionErrorsDeathTest, AKernelThatOverflowsTheStackIsNamedWithItsNode) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const Node* const deep = TryNode("layer/deep", "TestOverflow", {}).value();
  StartSession();
  EXPECT_DEATH(Execute({deep}).IgnoreError(),
               "millstream error: SIGSEGV in plugin core, kernel TestOverflow, node layer/deep");
}
#endif

TEST_F(SessionErrorsDeathTest, ACrashInAKernelNamesTheNode) {
  // A forked child would run no step.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const Node* const crash = TryNode("layer/crash", "TestCrash", {}).value();
  StartSession();
  const char* const line =
      "millstream error: SIGSEGV in plugin core, kernel TestCrash, node layer/crash";
  EXPECT_DEATH(Execute({crash}).IgnoreError(), line);
  // The same in the dynamic executor.
  const Output branch = Op("Switch", {Constant(1.0f), Constant(Tensor::Scalar<bool>(false))});
  EXPECT_DEATH(Run({branch}, {}, {crash}).status().IgnoreError(), line);
}

}  // namespace
}  // namespace millstream
