#include "framework/attr_value.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"

namespace millstream {
namespace {

using Code = absl::StatusCode;

FunctionRef Function(const std::string& name, AttrMap attrs) {
  return FunctionRef{name, std::make_shared<const AttrMap>(std::move(attrs))};
}

TEST(AttrValueTest, KnowsItsKind) {
  EXPECT_EQ(AttrValue(3).TypeName(), "int");
  EXPECT_EQ(AttrValue(3.5f).TypeName(), "float");
  EXPECT_EQ(AttrValue(true).TypeName(), "bool");
  EXPECT_EQ(AttrValue("text").TypeName(), "string");
  EXPECT_EQ(AttrValue(DataType::kHalf).TypeName(), "type");
  EXPECT_EQ(AttrValue(PartialShape()).TypeName(), "shape");
  EXPECT_EQ(AttrValue(Tensor::Scalar(1.0f)).TypeName(), "tensor");
  EXPECT_EQ(AttrValue(FunctionRef{"f", nullptr}).TypeName(), "func");
  EXPECT_EQ(AttrValue(std::vector<std::string>{"a"}).TypeName(), "list(string)");
  EXPECT_EQ(AttrValue(std::vector<bool>{true}).TypeName(), "list(bool)");
  EXPECT_EQ(AttrValue::Empty().TypeName(), "list");
  EXPECT_EQ(AttrValue().TypeName(), "nothing");
}

TEST(AttrValueTest, PrintsItsValue) {
  EXPECT_EQ(AttrValue(DataTypeList{DataType::kFloat, DataType::kInt64}).ToString(),
            "[float, int64]");
  EXPECT_EQ(AttrValue(PartialShape({2, -1})).ToString(), "[2,?]");
  EXPECT_EQ(AttrValue("a\"b").ToString(), "\"a\\\"b\"");
  EXPECT_EQ(AttrValue(Function("f", {{"T", DataType::kFloat}})).ToString(), "f[T=float]");
  EXPECT_EQ(AttrValue(std::vector<bool>{true, false}).ToString(), "[true, false]");
}

TEST(AttrValueTest, AnEmptyListIsAnEmptyListOfEveryKind) {
  const AttrValue empty = AttrValue::Empty();
  ASSERT_NE(empty.get<std::vector<int64_t>>(), nullptr);
  EXPECT_TRUE(empty.get<std::vector<int64_t>>()->empty());
  EXPECT_TRUE(empty.get<std::vector<Tensor>>()->empty());
  EXPECT_EQ(empty.get<int64_t>(), nullptr);
  EXPECT_EQ(empty, AttrValue(std::vector<float>()));
  EXPECT_NE(empty, AttrValue(std::vector<float>{1}));
}

TEST(AttrValueTest, EqualityIsByKindAndBits) {
  EXPECT_EQ(AttrValue(1), AttrValue(int64_t{1}));
  EXPECT_NE(AttrValue(1), AttrValue(1.0f));
  EXPECT_NE(AttrValue(1), AttrValue(true));
  EXPECT_NE(AttrValue(0.0f), AttrValue(-0.0f));
  EXPECT_EQ(AttrValue(std::nanf("")), AttrValue(std::nanf("")));
  EXPECT_EQ(AttrValue(Tensor::Vector<int32_t>({1, 2})), AttrValue(Tensor::Vector<int32_t>({1, 2})));
  EXPECT_NE(AttrValue(Tensor::Vector<int32_t>({1, 2})), AttrValue(Tensor::Vector<int32_t>({1, 3})));
  EXPECT_EQ(AttrValue(FunctionRef{"f", nullptr}), AttrValue(Function("f", {})));
  EXPECT_NE(AttrValue(Function("f", {{"N", 1}})), AttrValue(Function("f", {{"N", 2}})));
}

TEST(AttrMapTest, StaysSortedAndReplaces) {
  AttrMap attrs;
  SetAttr(&attrs, "b", 1);
  SetAttr(&attrs, "a", 2);
  SetAttr(&attrs, "c", 3);
  SetAttr(&attrs, "a", 4);
  ASSERT_EQ(attrs.size(), 3u);
  EXPECT_EQ(attrs[0].first, "a");
  EXPECT_EQ(*FindAttr(attrs, "a")->get<int64_t>(), 4);
  EXPECT_EQ(attrs[2].first, "c");
  EXPECT_EQ(FindAttr(attrs, "ab"), nullptr);
}

TEST(GetAttrTest, MissingAndIllTypedAttributesAreNamed) {
  const AttrMap attrs = {{"N", 3}};
  EXPECT_EQ(*GetAttr<int64_t>(attrs, "N"), 3);
  const Status missing = GetAttr<int64_t>(attrs, "M").status();
  EXPECT_EQ(missing.code(), Code::kNotFound);
  EXPECT_EQ(missing.message(), "missing attribute 'M'");
  const Status ill_typed = GetAttr<std::string>(attrs, "N").status();
  EXPECT_EQ(ill_typed.code(), Code::kInvalidArgument);
  EXPECT_EQ(ill_typed.message(), "attribute 'N' must be of type string, got int 3");
}

TEST(ParseAttrValueTest, ReadsEveryKind) {
  EXPECT_EQ(*ParseAttrValue("int", " -7 "), AttrValue(-7));
  EXPECT_EQ(*ParseAttrValue("float", "1e-4"), AttrValue(1e-4f));
  EXPECT_EQ(*ParseAttrValue("float", "-inf"), AttrValue(-std::numeric_limits<float>::infinity()));
  EXPECT_EQ(*ParseAttrValue("bool", "false"), AttrValue(false));
  EXPECT_EQ(*ParseAttrValue("string", "'SAME'"), AttrValue("SAME"));
  EXPECT_EQ(*ParseAttrValue("string", "\"a\\n\\\"b\""), AttrValue("a\n\"b"));
  EXPECT_EQ(*ParseAttrValue("type", "DT_FLOAT"), AttrValue(DataType::kFloat));
  EXPECT_EQ(*ParseAttrValue("type", "half"), AttrValue(DataType::kHalf));
  EXPECT_EQ(*ParseAttrValue("tensor", "uint8[2] [255, 0]"),
            AttrValue(Tensor::Vector<uint8_t>({255, 0})));
  EXPECT_EQ(*ParseAttrValue("tensor", "float[] [2.5]"), AttrValue(Tensor::Scalar(2.5f)));
  EXPECT_EQ(*ParseAttrValue("func", "body"), AttrValue(FunctionRef{"body", nullptr}));
}

TEST(ParseAttrValueTest, ReadsAllFormsOfShapes) {
  EXPECT_EQ(*ParseAttrValue("shape", "[2, ?]"), AttrValue(PartialShape({2, -1})));
  EXPECT_EQ(*ParseAttrValue("shape", "[-1]"), AttrValue(PartialShape({-1})));
  EXPECT_EQ(*ParseAttrValue("shape", "[]"), AttrValue(PartialShape::Scalar()));
  EXPECT_EQ(*ParseAttrValue("shape", "{}"), AttrValue(PartialShape::Scalar()));
  EXPECT_EQ(*ParseAttrValue("shape", "?"), AttrValue(PartialShape()));
  EXPECT_EQ(*ParseAttrValue("shape", "{ unknown_rank: true }"), AttrValue(PartialShape()));
  EXPECT_EQ(*ParseAttrValue("shape", "{ dim { size: 2 } dim { size: -1 } }"),
            AttrValue(PartialShape({2, -1})));
}

TEST(ParseAttrValueTest, ReadsListsAndGivesEmptyOnesTheirKind) {
  EXPECT_EQ(*ParseAttrValue("list(int)", "[1, 1,2]"), AttrValue(std::vector<int64_t>{1, 1, 2}));
  EXPECT_EQ(*ParseAttrValue("list(string)", "['a', 'b']"),
            AttrValue(std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(*ParseAttrValue("list(shape)", "[[2], ?]"),
            AttrValue(std::vector<PartialShape>{PartialShape({2}), PartialShape()}));
  EXPECT_EQ(*ParseAttrValue("list(bool)", "[true,false]"),
            AttrValue(std::vector<bool>{true, false}));
  EXPECT_EQ(ParseAttrValue("list(type)", "[]")->TypeName(), "list(type)");
}

TEST(ParseAttrValueTest, AValuePrintsAsItIsRead) {
  for (const auto& [type, text] :
       std::vector<std::pair<std::string, std::string>>{{"int", "9223372036854775807"},
                                                        {"float", "0.5"},
                                                        {"string", "\"NHWC\""},
                                                        {"type", "bfloat16"},
                                                        {"shape", "[2,?]"},
                                                        {"list(float)", "[0.75, 1.5]"},
                                                        {"list(type)", "[float, string]"}}) {
    EXPECT_EQ(ParseAttrValue(type, text)->ToString(), text);
  }
}

TEST(ParseAttrValueTest, RefusesWhatItCannotRead) {
  for (const auto& [type, text] : std::vector<std::pair<std::string, std::string>>{
           {"int", ""},
           {"int", "1.5"},
           {"int", "9223372036854775808"},
           {"int", "1 2"},
           {"bool", "yes"},
           {"float", "fast"},
           {"string", "SAME"},
           {"string", "'SAME"},
           {"string", "'\\"},
           {"type", "floaty"},
           {"shape", "[2"},
           {"shape", "[-2]"},
           {"shape", "{ unknown_rank: true dim { size: 2 } }"},
           {"tensor", "int32[2] [1]"},
           {"tensor", "uint8[1] [256]"},
           {"tensor", "int32[?] [1]"},
           {"list(int)", "1"},
           {"list(int)", "[1,]"},
           {"list(list(int))", "[]"},
           {"number", "1"}}) {
    EXPECT_EQ(ParseAttrValue(type, text).status().code(), Code::kInvalidArgument)
        << type << " " << text;
  }
  EXPECT_EQ(ParseAttrValue("int", "1 x").status().message(), "expected the end at 'x' of '1 x'");
}

}  // namespace
}  // namespace millstream
