#include "framework/op_def.h"

#include "framework/op_registry.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using Code = absl::StatusCode;

// One of every kind of argument.
OpDef ManyArgs() {
  return OpSpec("Many")
      .Input("fixed: int32")
      .Input("typed: T")
      .Input("counted: N * T")
      .Input("listed: Tlist")
      .Output("fixed_count: N * string")
      .Output("ref: Ref(T)")
      .Attr("T: {float, double}")
      .Attr("N: int >= 1")
      .Attr("Tlist: list(type) >= 0")
      .Build()
      .value();
}

OpDef WithDefaults() {
  return OpSpec("Window")
      .Input("x: T")
      .Attr("T: {float, half} = DT_FLOAT")
      .Attr("padding: {'SAME', 'VALID'}")
      .Attr("strides: list(int) >= 2 = [1, 1]")
      .Attr("width: int >= 1 = 3")
      .Build()
      .value();
}

Status Complete(const OpDef& op, AttrMap attrs) { return CompleteAttrs(op, &attrs); }

TEST(ExpandSignatureTest, LaysOutEveryKindOfArgument) {
  const AttrMap attrs = {{"N", 2},
                         {"T", DataType::kDouble},
                         {"Tlist", DataTypeList{DataType::kBool, DataType::kString}}};
  const NodeSignature signature = *ExpandSignature(ManyArgs(), attrs);
  EXPECT_EQ(signature.input_types,
            DataTypeList({DataType::kInt32, DataType::kDouble, DataType::kDouble, DataType::kDouble,
                          DataType::kBool, DataType::kString}));
  EXPECT_EQ(signature.input_starts, std::vector<int>({0, 1, 2, 4, 6}));
  EXPECT_EQ(signature.output_types,
            DataTypeList({DataType::kString, DataType::kString, DataType::kDouble}));
  EXPECT_EQ(signature.output_starts, std::vector<int>({0, 2, 3}));
  EXPECT_EQ(signature.output_is_ref, std::vector<bool>({false, false, true}));
}

TEST(ExpandSignatureTest, AMissingAttributeIsNamedWithItsArgument) {
  const Status status = ExpandSignature(ManyArgs(), {{"N", 1}}).status();
  EXPECT_EQ(status.message(), "op 'Many', type of argument 'typed': missing attribute 'T'");
}

TEST(ExpandSignatureTest, RefusesCountsNoNodeCanHave) {
  for (int64_t count : {int64_t{-1}, int64_t{1} << 40}) {
    const AttrMap attrs = {{"N", count}, {"T", DataType::kFloat}, {"Tlist", AttrValue::Empty()}};
    EXPECT_EQ(ExpandSignature(ManyArgs(), attrs).status().code(), Code::kInvalidArgument);
  }
}

TEST(CompleteAttrsTest, AddsDefaults) {
  AttrMap attrs = {{"padding", "SAME"}};
  ASSERT_TRUE(CompleteAttrs(WithDefaults(), &attrs).ok());
  EXPECT_EQ(*GetAttr<DataType>(attrs, "T"), DataType::kFloat);
  EXPECT_EQ(*GetAttr<std::vector<int64_t>>(attrs, "strides"), std::vector<int64_t>({1, 1}));
  EXPECT_EQ(*GetAttr<int64_t>(attrs, "width"), 3);
}

TEST(CompleteAttrsTest, NamesAMissingAttribute) {
  const Status status = Complete(WithDefaults(), {});
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "op 'Window': missing attribute 'padding': expected string in {\"SAME\", \"VALID\"}, "
            "got none");
}

TEST(CompleteAttrsTest, NamesAnIllTypedAttribute) {
  EXPECT_EQ(Complete(WithDefaults(), {{"padding", "SAME"}, {"width", 2.0f}}).message(),
            "op 'Window': ill-typed attribute 'width': expected int >= 1, got float 2");
  EXPECT_EQ(Complete(WithDefaults(), {{"padding", AttrValue()}}).code(), Code::kInvalidArgument);
}

TEST(CompleteAttrsTest, NamesAValueThatIsNotAllowed) {
  EXPECT_EQ(Complete(WithDefaults(), {{"T", DataType::kInt32}, {"padding", "SAME"}}).message(),
            "op 'Window': value that is not allowed for attribute 'T': expected type in {float, "
            "half}, got type int32");
  EXPECT_EQ(Complete(WithDefaults(), {{"padding", "FULL"}}).message(),
            "op 'Window': value that is not allowed for attribute 'padding': expected string in "
            "{\"SAME\", \"VALID\"}, got string \"FULL\"");
}

TEST(CompleteAttrsTest, HoldsValuesAndLengthsToTheirLeast) {
  EXPECT_EQ(Complete(WithDefaults(), {{"padding", "SAME"}, {"width", 0}}).message(),
            "op 'Window': value below the least for attribute 'width': expected int >= 1, got int "
            "0");
  EXPECT_EQ(Complete(WithDefaults(), {{"padding", "SAME"}, {"strides", std::vector<int64_t>{1}}})
                .message(),
            "op 'Window': value below the least for attribute 'strides': expected list(int) of "
            "length >= 2, got list(int) [1]");
  EXPECT_FALSE(
      Complete(WithDefaults(), {{"padding", "SAME"}, {"strides", AttrValue::Empty()}}).ok());
}

TEST(CompleteAttrsTest, RefusesInvalidTypes) {
  const OpDef any = OpSpec("Any").Attr("T: type").Attr("L: list(type) = []").Build().value();
  EXPECT_TRUE(Complete(any, {{"T", DataType::kVariant}}).ok());
  EXPECT_FALSE(Complete(any, {{"T", DataType::kInvalid}}).ok());
  EXPECT_FALSE(
      Complete(any, {{"L", DataTypeList{DataType::kInvalid}}, {"T", DataType::kFloat}}).ok());
}

TEST(CompleteAttrsTest, GivesAnEmptyListItsKind) {
  AttrMap attrs = {{"shapes", AttrValue::Empty()}};
  const OpDef op = OpSpec("Shapes").Attr("shapes: list(shape)").Build().value();
  ASSERT_TRUE(CompleteAttrs(op, &attrs).ok());
  EXPECT_EQ(attrs[0].second.TypeName(), "list(shape)");
}

TEST(CompleteAttrsTest, RefusesUnknownAttributesUnlessTheyAreAllowedOrInternal) {
  AttrMap attrs = {{"depth", 1}, {"padding", "SAME"}};
  EXPECT_EQ(Complete(WithDefaults(), attrs).message(),
            "op 'Window' has no attribute 'depth'; its attributes: T, padding, strides, width");
  EXPECT_TRUE(CompleteAttrs(WithDefaults(), &attrs, /*allow_unknown=*/true).ok());
  EXPECT_NE(FindAttr(attrs, "depth"), nullptr);
  EXPECT_TRUE(Complete(WithDefaults(), {{"_class", 1}, {"padding", "SAME"}}).ok());
}

TEST(InferAttrsTest, FindsTypesAndCounts) {
  AttrMap attrs;
  const DataTypeList types = {DataType::kInt32, DataType::kFloat, DataType::kFloat,
                              DataType::kFloat, DataType::kBool};
  ASSERT_TRUE(InferAttrs(ManyArgs(), types, {1, 1, 2, 1}, &attrs).ok());
  EXPECT_EQ(*GetAttr<DataType>(attrs, "T"), DataType::kFloat);
  EXPECT_EQ(*GetAttr<int64_t>(attrs, "N"), 2);
  EXPECT_EQ(*GetAttr<DataTypeList>(attrs, "Tlist"), DataTypeList({DataType::kBool}));
}

TEST(InferAttrsTest, NamesTheArgumentThatDoesNotFit) {
  AttrMap attrs;
  const DataTypeList types = {DataType::kInt32, DataType::kFloat, DataType::kDouble};
  const Status status = InferAttrs(ManyArgs(), types, {1, 1, 1, 0}, &attrs);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "op 'Many': argument 'counted' does not fit attribute 'T': expected float, got double");
}

TEST(InferAttrsTest, ChecksCounts) {
  AttrMap attrs;
  const DataTypeList two = {DataType::kInt32, DataType::kInt32};
  EXPECT_EQ(InferAttrs(ManyArgs(), two, {2, 0, 0, 0}, &attrs).message(),
            "op 'Many': argument 'fixed' is one tensor, got 2");
  EXPECT_FALSE(InferAttrs(ManyArgs(), two, {1, 1}, &attrs).ok());
  EXPECT_FALSE(InferAttrs(ManyArgs(), two, {1, 1, 5, 0}, &attrs).ok());
  EXPECT_FALSE(InferAttrs(WithDefaults(), two, {1}, &attrs).ok());
}

}  // namespace
}  // namespace millstream
