#include "framework/op_registry.h"

#include <string>

#include "gtest/gtest.h"

namespace millstream {
namespace {

using Code = absl::StatusCode;

MILLSTREAM_OP("RegisteredAtStartUp").Input("x: float").Doc("Exists.");

AttrDef Attr(absl::string_view spec) { return OpSpec("Op").Attr(spec).Build().value().attrs[0]; }

TEST(OpSpecTest, ReadsArguments) {
  const OpDef op = OpSpec("Op")
                       .Input("values: N * T")
                       .Input("axis: int32")
                       .Input("handle: Ref(T)")
                       .Output("components: types")
                       .Attr("N: int")
                       .Attr("T: type")
                       .Attr("types: list(type)")
                       .Build()
                       .value();
  EXPECT_EQ(op.inputs[0].name, "values");
  EXPECT_EQ(op.inputs[0].number_attr, "N");
  EXPECT_EQ(op.inputs[0].type_attr, "T");
  EXPECT_EQ(op.inputs[1].type, DataType::kInt32);
  EXPECT_TRUE(op.inputs[2].is_ref);
  EXPECT_EQ(op.inputs[2].type_attr, "T");
  EXPECT_EQ(op.outputs[0].type_list_attr, "types");
}

TEST(OpSpecTest, ReadsAllowedValues) {
  EXPECT_EQ(Attr("T: {float, DT_INT32}").type, "type");
  EXPECT_EQ(Attr("T: {float, DT_INT32}").allowed_types,
            DataTypeList({DataType::kFloat, DataType::kInt32}));
  EXPECT_EQ(Attr("p: {'SAME', \"VALID\"}").type, "string");
  EXPECT_EQ(Attr("p: {'SAME', \"VALID\"}").allowed_strings,
            std::vector<std::string>({"SAME", "VALID"}));
  EXPECT_EQ(Attr("L: list({float, double}) >= 1").type, "list(type)");
  EXPECT_EQ(Attr("L: list({float, double}) >= 1").minimum, 1);
  EXPECT_EQ(Attr("T: quantizedtype").allowed_types.size(), 5u);
  EXPECT_EQ(Attr("T: realnumbertype").allowed_types.size(), 12u);
  EXPECT_EQ(Attr("L: list(numbertype)").allowed_types.size(), 17u);
}

TEST(OpSpecTest, ReadsDefaults) {
  EXPECT_EQ(*Attr("n: int >= -1 = -1").default_value, AttrValue(-1));
  EXPECT_EQ(*Attr("s: string = ''").default_value, AttrValue(""));
  EXPECT_EQ(*Attr("f: float = 0.0001").default_value, AttrValue(0.0001f));
  EXPECT_EQ(*Attr("T: {float, half} = DT_HALF").default_value, AttrValue(DataType::kHalf));
  EXPECT_EQ(*Attr("s: shape = { unknown_rank: true }").default_value, AttrValue(PartialShape()));
  EXPECT_EQ(Attr("l: list(shape) >= 0 = []").default_value->TypeName(), "list(shape)");
  EXPECT_FALSE(Attr("n: int").default_value.has_value());
}

TEST(OpSpecTest, RefusesAttributesItCannotRead) {
  for (const char* spec :
       {"", "T", "T:", "T: typo", "T: {}", "T: {float", "T: {floaty}", "T: {'a'} = 'b'",
        "s: string >= 1", "n: int >= 2 = 1", "n: int = x", "n: int = 1 2", "n: int 3",
        "L: list(int", "L: list(list(int))", "9: int"}) {
    const Status status = OpSpec("Op").Attr(spec).Build().status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << spec;
    EXPECT_NE(status.message().find("definition of op 'Op'"), absl::string_view::npos) << spec;
  }
  EXPECT_FALSE(OpSpec("Op").Attr("n: int").Attr("n: float").Build().ok());
}

TEST(OpSpecTest, RefusesArgumentsItCannotRead) {
  for (const char* spec : {"", "x", "x: ", "x: floaty", "x: M * T", "x: T * T", "x: N * L", "x: N",
                           "x: Ref(T", "x: T y", "x: Ref()"}) {
    const Status status = OpSpec("Op")
                              .Input(spec)
                              .Attr("T: type")
                              .Attr("N: int")
                              .Attr("L: list(type)")
                              .Build()
                              .status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << spec;
  }
}

TEST(OpSpecTest, CarriesFlagsAndDoc) {
  const OpDef op = OpSpec("Op")
                       .Stateful()
                       .Commutative()
                       .Aggregate()
                       .AllowsUninitializedInput()
                       .Doc("D.")
                       .Build()
                       .value();
  EXPECT_TRUE(op.is_stateful && op.is_commutative && op.is_aggregate);
  EXPECT_TRUE(op.allows_uninitialized_input);
  EXPECT_EQ(op.doc, "D.");
}

TEST(OpSpecTest, CarriesWhatTheRuntimeMayAssume) {
  const OpDef plain = OpSpec("Op").Build().value();
  EXPECT_FALSE(plain.is_elementwise);
  EXPECT_EQ(plain.keeps_finite, nullptr);
  EXPECT_EQ(plain.cost_function, nullptr);
  EXPECT_FALSE(plain.costs_nothing);
  EXPECT_FALSE(plain.is_speculatable);
  EXPECT_FALSE(plain.shares_outputs);
  EXPECT_EQ(plain.bounds_rule, nullptr);
  EXPECT_EQ(plain.example, "");
  const auto cost = [](absl::Span<const PartialShape> inputs, absl::Span<const PartialShape>) {
    return static_cast<double>(inputs.size());
  };
  const OpDef op =
      OpSpec("Op").Elementwise().KeepsFinite().Cost(cost).Example("\n>>> 1 + 1\n2").Build().value();
  EXPECT_TRUE(op.is_elementwise);
  EXPECT_TRUE(op.keeps_finite({}));
  EXPECT_EQ(op.cost_function({PartialShape(), PartialShape()}, {}), 2);
  EXPECT_EQ(op.example, ">>> 1 + 1\n2");
  EXPECT_TRUE(OpSpec("Op").CostsNothing().Build()->costs_nothing);
  EXPECT_TRUE(OpSpec("Op").Speculatable().Build()->is_speculatable);
  EXPECT_TRUE(OpSpec("Op").SharesOutputs().Build()->shares_outputs);
}

NumericBoundsList Unchanged(absl::Span<const NumericBounds> inputs) {
  return NumericBoundsList(inputs.begin(), inputs.end());
}

TEST(OpSpecTest, BoundsOfUpdatesMayDependOnAttributes) {
  const OpDef op = OpSpec("Op")
                       .UpdateBounds([](const AttrMap& attrs) -> BoundsRule {
                         return FindAttr(attrs, "keeps") != nullptr ? &Unchanged : nullptr;
                       })
                       .Build()
                       .value();
  EXPECT_EQ(op.bounds_rule({}), nullptr);
  EXPECT_EQ(op.bounds_rule({{"keeps", AttrValue(true)}}), &Unchanged);
}

TEST(OpSpecTest, FiniteResultsMayDependOnAttributes) {
  const OpDef op =
      OpSpec("Op")
          .KeepsFinite([](const AttrMap& attrs) { return FindAttr(attrs, "safe") != nullptr; })
          .Build()
          .value();
  EXPECT_FALSE(op.keeps_finite({}));
  EXPECT_TRUE(op.keeps_finite({{"safe", AttrValue(true)}}));
}

void Broadcasting(OpSpec* spec) { spec->Input("x: T").Input("y: T").Attr("T: type"); }

TEST(OpSpecTest, PartsStandWhereTheyAreAdded) {
  const OpDef op =
      OpSpec("Op").Attr("first: int").With(Broadcasting).Input("last: T").Build().value();
  ASSERT_EQ(op.attrs.size(), 2u);
  EXPECT_EQ(op.attrs[1].name, "T");
  ASSERT_EQ(op.inputs.size(), 3u);
  EXPECT_EQ(op.inputs[0].name, "x");
  EXPECT_EQ(op.inputs[2].name, "last");
}

TEST(OpRegistryTest, FindsWhatIsRegisteredAtStartUp) {
  ASSERT_TRUE(OpRegistry::Global()->Find("RegisteredAtStartUp").ok());
  EXPECT_EQ((*OpRegistry::Global()->Find("RegisteredAtStartUp"))->doc, "Exists.");
}

TEST(OpRegistryTest, SuggestsCloseNamesForAnUnknownOp) {
  OpRegistry registry;
  for (const char* name : {"MatMul", "BatchMatMul", "Add", "AddN", "Sub"}) {
    ASSERT_TRUE(registry.Register(OpSpec(name).Build().value()).ok());
  }
  const Status close = registry.Find("Matmull").status();
  EXPECT_EQ(close.code(), Code::kNotFound);
  EXPECT_EQ(close.message(), "Op type not registered 'Matmull'; did you mean MatMul?");
  EXPECT_EQ(registry.Find("Adds").status().message(),
            "Op type not registered 'Adds'; did you mean Add or AddN?");
  EXPECT_EQ(registry.Find("FusedBatchNormV3").status().message(),
            "Op type not registered 'FusedBatchNormV3'");
  EXPECT_EQ(registry.Find(std::string(1 << 20, 'x')).status().code(), Code::kNotFound);
}

TEST(OpRegistryTest, KeepsTheFirstDefinitionOfAName) {
  OpRegistry registry;
  ASSERT_TRUE(registry.Register(OpSpec("Op").Doc("first").Build().value()).ok());
  const OpDef* first = *registry.Find("Op");
  const Status status = registry.Register(OpSpec("Op").Doc("second").Build().value());
  EXPECT_EQ(status.code(), Code::kAlreadyExists);
  EXPECT_EQ(*registry.Find("Op"), first);
  EXPECT_EQ(first->doc, "first");
}

TEST(OpRegistryTest, ListsByName) {
  OpRegistry registry;
  for (const char* name : {"b", "c", "a"}) {
    ASSERT_TRUE(registry.Register(OpSpec(name).Build().value()).ok());
  }
  std::string names;
  for (const OpDef* op : registry.List()) names += op->name;
  EXPECT_EQ(names, "abc");
}

TEST(OpRegistryDeathTest, AMalformedSpecificationAbortsWithItsText) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(OpRegistration(OpSpec("Broken").Attr("T: typo")), "'Broken'.*'T: typo'");
}

}  // namespace
}  // namespace millstream
