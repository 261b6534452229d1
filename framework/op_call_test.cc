#include "framework/op_call.h"

#include "framework/op_registry.h"
#include "framework/shape_context.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

constexpr DataType kFloat = DataType::kFloat;

const OpDef& Find(absl::string_view op) { return **OpRegistry::Global()->Find(op); }

std::string DescribeType(const DataTypeList& types, int i) {
  return std::string(DataTypeName(types[i]));
}

Status Check(const OwnedOpCall& call, const DataTypeList& types) {
  return CheckInputTypes(call.call(), types, [&](int i) { return DescribeType(types, i); });
}

TEST(MakeOpCallTest, CompletesAttributesByTypesCountsAndDefaults) {
  const StatusOr<OwnedOpCall> made =
      MakeOpCall(Find("ConcatV2"), {}, {kFloat, kFloat, kFloat, DataType::kInt32}, {3, 1});
  ASSERT_TRUE(made.ok()) << made.status();
  const OpCall call = made->call();
  EXPECT_EQ(call.Attr<DataType>("T").value(), kFloat);
  EXPECT_EQ(call.Attr<int64_t>("N").value(), 3);
  EXPECT_EQ(call.Attr<DataType>("Tidx").value(), DataType::kInt32);
  EXPECT_EQ(call.num_inputs(), 4);
  EXPECT_EQ(call.num_outputs(), 1);
  EXPECT_EQ(call.output_type(0), kFloat);
}

TEST(MakeOpCallTest, WithoutCountsTheAttributesSayAll) {
  const StatusOr<OwnedOpCall> made = MakeOpCall(Find("AddN"), {{"N", 2}, {"T", kFloat}}, {}, {});
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->signature.input_types, DataTypeList({kFloat, kFloat}));
  EXPECT_FALSE(MakeOpCall(Find("AddN"), {{"T", kFloat}}, {}, {}).ok());
}

TEST(MakeOpCallTest, ErrorsNameTheArgumentOrTheAttribute) {
  EXPECT_EQ(MakeOpCall(Find("MatMul"), {}, {kFloat}, {1}).status(),
            errors::InvalidArgument("expected 2 arguments, got 1"));
  EXPECT_EQ(
      MakeOpCall(Find("MatMul"), {}, {kFloat, DataType::kDouble}, {1, 1}).status(),
      errors::InvalidArgument("op 'MatMul': argument 'b' does not fit attribute 'T': expected "
                              "float, got double"));
  const Status unknown =
      MakeOpCall(Find("MatMul"), {{"colour", 1}}, {kFloat, kFloat}, {1, 1}).status();
  EXPECT_NE(unknown.message().find("op 'MatMul' has no attribute 'colour'"),
            absl::string_view::npos)
      << unknown;
  EXPECT_TRUE(MakeOpCall(Find("MatMul"), {{"colour", 1}}, {kFloat, kFloat}, {1, 1}, true).ok());
}

TEST(OpCallTest, StaysValidWhereTheOwnerMoves) {
  OwnedOpCall made = MakeOpCall(Find("Tanh"), {}, {kFloat}, {1}).value();
  made.name = "layer/tanh";
  const OwnedOpCall moved = std::move(made);
  EXPECT_EQ(moved.call().Attr<DataType>("T").value(), kFloat);
  EXPECT_EQ(moved.call().Describe(), "node 'layer/tanh' (op Tanh)");
}

TEST(OpCallTest, WithoutANameItIsTheOps) {
  EXPECT_EQ(MakeOpCall(Find("Tanh"), {}, {kFloat}, {1}).value().call().Describe(), "op Tanh");
}

TEST(CheckInputTypesTest, NamesTheInputAndWhatCame) {
  const OwnedOpCall concat =
      MakeOpCall(Find("ConcatV2"), {}, {kFloat, kFloat, DataType::kInt32}, {2, 1}).value();
  EXPECT_TRUE(Check(concat, {kFloat, kFloat, DataType::kInt32}).ok());
  EXPECT_TRUE(Check(concat, {kFloat, DataType::kInvalid, DataType::kInt32}).ok());
  EXPECT_EQ(Check(concat, {kFloat, DataType::kHalf, DataType::kInt32}),
            errors::InvalidArgument("input 'values[1]' expected float32, got float16"));
  EXPECT_EQ(Check(concat, {kFloat, kFloat, kFloat}),
            errors::InvalidArgument("input 'axis' expected int32, got float32"));
  EXPECT_EQ(Check(concat, {kFloat, kFloat}), errors::InvalidArgument("expected 3 inputs, got 2"));
}

// No node has these shapes.
TEST(OpCallTest, IsAllThatAShapeFunctionNeeds) {
  const OwnedOpCall product =
      MakeOpCall(Find("MatMul"), {{"transpose_a", true}}, {kFloat, kFloat}, {1, 1}).value();
  const auto infer = [&](const PartialShape& a, const PartialShape& b) {
    ShapeContext context(product.call(), {{a, kFloat, nullptr, nullptr, nullptr},
                                          {b, kFloat, nullptr, nullptr, nullptr}});
    return InferShapes(&context);
  };
  const auto outputs = infer({3, -1}, {3, 5});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ((*outputs)[0].shape, PartialShape({-1, 5}));
  const Status wrong = infer({3}, {3, 5}).status();
  EXPECT_NE(wrong.message().find("argument 'a' of MatMul"), absl::string_view::npos) << wrong;
}

}  // namespace
}  // namespace millstream
