#include "framework/proto_conversion.h"

#include <cmath>
#include <complex>
#include <random>

#include "framework/op_registry.h"
#include "google/protobuf/text_format.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using Code = absl::StatusCode;

template <typename Message>
Message Parse(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

StatusOr<Tensor> Read(const std::string& text) {
  return TensorFromProto(Parse<proto::TensorProto>(text));
}

// `dims`: "2" or "2 3"; the text of a shape field.
std::string ShapeText(const std::vector<int64_t>& dims) {
  std::string text = "tensor_shape {";
  for (int64_t size : dims) absl::StrAppend(&text, " dim { size: ", size, " }");
  return text + " } ";
}

void ExpectRoundTrip(const Tensor& tensor) {
  proto::TensorProto message;
  ASSERT_TRUE(TensorToProto(tensor, &message).ok()) << tensor.DebugString();
  const StatusOr<Tensor> back = TensorFromProto(message);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_TRUE(TensorsEqual(tensor, *back)) << tensor.DebugString() << " " << back->DebugString();
}

TEST(DataTypeProtoTest, NumbersLeadThereAndBack) {
  for (DataType dtype : AllDataTypes()) {
    bool is_ref = true;
    EXPECT_EQ(*DataTypeFromProto(DataTypeToProto(dtype), &is_ref), dtype);
    EXPECT_FALSE(is_ref);
    EXPECT_EQ(*DataTypeFromProto(DataTypeToProto(dtype, /*is_ref=*/true), &is_ref), dtype);
    EXPECT_TRUE(is_ref);
  }
  EXPECT_EQ(DataTypeToProto(DataType::kFloat, true), proto::DT_FLOAT_REF);
  EXPECT_EQ(*DataTypeFromProto(proto::DT_INVALID), DataType::kInvalid);
}

TEST(DataTypeProtoTest, RefusesOtherNumbers) {
  EXPECT_EQ(DataTypeFromProto(-1).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(DataTypeFromProto(100).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(DataTypeFromProto(9999).status().message(), "expected the number of a type, got 9999");
  EXPECT_EQ(DataTypeFromProto(proto::DT_FLOAT8_E5M2).status().message(),
            "type DT_FLOAT8_E5M2 is not among Millstream's types");
}

TEST(ShapeProtoTest, KnowsUnknownRanksAndSizes) {
  for (const PartialShape& shape :
       {PartialShape(), PartialShape::Scalar(), PartialShape({2, -1, 0})}) {
    proto::TensorShapeProto message;
    ShapeToProto(shape, &message);
    EXPECT_EQ(*PartialShapeFromProto(message), shape);
  }
}

TEST(ShapeProtoTest, RefusesWhatIsNoShape) {
  const auto refuse = [](const std::string& text) {
    return PartialShapeFromProto(Parse<proto::TensorShapeProto>(text)).status();
  };
  EXPECT_EQ(refuse("dim { size: 1 } dim { size: -2 }").message(),
            "expected a size of at least 0, or -1 for an unknown one, in dimension 1 of a shape, "
            "got -2");
  EXPECT_EQ(refuse("unknown_rank: true dim { size: 1 }").code(), Code::kInvalidArgument);
  proto::TensorShapeProto long_shape;
  for (int i = 0; i <= kMaxRank; ++i) long_shape.add_dim()->set_size(1);
  EXPECT_EQ(PartialShapeFromProto(long_shape).status().message(),
            "a tensor has at most 32 dimensions, got 33");
}

TEST(TensorProtoTest, EveryTypeSurvivesInEveryForm) {
  for (DataType dtype : AllDataTypes()) {
    if (!IsPlainData(dtype)) continue;
    for (const Shape& shape : {Shape(), Shape({3, 2}), Shape({0, 4})}) {
      const Tensor tensor = *Tensor::Create(dtype, shape);
      auto* bytes = static_cast<uint8_t*>(tensor.raw());
      for (size_t i = 0; i < tensor.bytes(); ++i) {
        bytes[i] = static_cast<uint8_t>(dtype == DataType::kBool ? i % 2 : i);
      }
      ExpectRoundTrip(tensor);
    }
  }
  ExpectRoundTrip(Tensor::Vector<std::string>({"a", std::string("\0b", 2), "", ""}));
}

TEST(TensorProtoTest, EqualElementsAreWrittenOnce) {
  const Tensor tensor = Tensor::FromValues(Shape({100, 10}), std::vector<float>(1000, -0.0f));
  proto::TensorProto message;
  ASSERT_TRUE(TensorToProto(tensor, &message).ok());
  EXPECT_EQ(message.float_val_size(), 1);
  EXPECT_TRUE(message.tensor_content().empty());
  ExpectRoundTrip(tensor);
}

// A message of one value is read, copied and written again without its elements.
TEST(TensorProtoTest, AnElementThatALargeTensorRepeatsStandsForItself) {
  for (const char* value : {"dtype: DT_BOOL bool_val: true", "dtype: DT_HALF half_val: 15360",
                            "dtype: DT_COMPLEX64 scomplex_val: [1, 2]", "dtype: DT_INT64"}) {
    const std::string text = absl::StrCat(ShapeText({1 << 10, 1 << 10}), value);
    const StatusOr<Tensor> tensor = Read(text);
    ASSERT_TRUE(tensor.ok()) << tensor.status();
    EXPECT_EQ(tensor->buffer()->repeated_element().size(), DataTypeSize(tensor->dtype())) << text;
    proto::TensorProto written;
    ASSERT_TRUE(TensorToProto(*tensor, &written).ok()) << text;
    EXPECT_LT(written.ByteSizeLong(), 40u) << text;
    EXPECT_NE(tensor->buffer()->repeated_element(), "") << text << ": the elements were written";
    ExpectRoundTrip(*tensor);
    EXPECT_TRUE(TensorToProto(*tensor, &written).ok());  // now from the elements
    EXPECT_LT(written.ByteSizeLong(), 40u) << text;
  }
}

TEST(TensorProtoTest, AValueThatALargeTensorCannotHoldIsRefused) {
  const StatusOr<Tensor> tensor = Read(ShapeText({1 << 20}) + "dtype: DT_INT8 int_val: 300");
  EXPECT_EQ(tensor.status().message(),
            "tensor int8[1048576] cannot hold the value 300 of element 0");
}

TEST(TensorProtoTest, TruthsAndComplexNumbersAreWrittenOneByOne) {
  proto::TensorProto message;
  const Tensor truths = Tensor::Of<bool>(Shape({2}), {true, false});
  ASSERT_TRUE(TensorToProto(truths, &message).ok());
  EXPECT_EQ(message.bool_val_size(), 2);
  EXPECT_TRUE(message.tensor_content().empty());
  ExpectRoundTrip(truths);
  const Tensor numbers = Tensor::Vector<std::complex<float>>({{0, 1}, {2, 0}});
  ASSERT_TRUE(TensorToProto(numbers, &message).ok());
  EXPECT_EQ(message.scomplex_val_size(), 4);
  ExpectRoundTrip(numbers);
  const Tensor wide = Tensor::Vector<std::complex<double>>({{0, 1}, {2, 0}});
  ASSERT_TRUE(TensorToProto(wide, &message).ok());
  EXPECT_EQ(message.dcomplex_val_size(), 4);
  ExpectRoundTrip(wide);
}

TEST(TensorProtoTest, AShortListRepeatsItsLastValueAndAnEmptyOneIsZeros) {
  EXPECT_EQ(Read("dtype: DT_INT32 int_val: 1 int_val: 2 " + ShapeText({4}))->DebugString(),
            "int32[4] 1 2 2 2");
  EXPECT_EQ(Read("dtype: DT_DOUBLE " + ShapeText({2}))->DebugString(), "float64[2] 0 0");
  EXPECT_EQ(Read("dtype: DT_STRING string_val: 'x' " + ShapeText({2}))->DebugString(),
            "string[2] \"x\" \"x\"");
  EXPECT_EQ(
      Read("dtype: DT_COMPLEX64 scomplex_val: 1 scomplex_val: 2 " + ShapeText({2}))->DebugString(),
      "complex64[2] (1,2) (1,2)");
}

TEST(TensorProtoTest, ReadsEveryListOfValues) {
  EXPECT_EQ(Read("dtype: DT_HALF half_val: 15360 " + ShapeText({}))->DebugString(), "float16[] 1");
  EXPECT_EQ(Read("dtype: DT_BFLOAT16 half_val: 16256 " + ShapeText({}))->DebugString(),
            "bfloat16[] 1");
  EXPECT_EQ(Read("dtype: DT_UINT8 int_val: 255 " + ShapeText({}))->DebugString(), "uint8[] 255");
  EXPECT_EQ(Read("dtype: DT_QINT8 int_val: -3 " + ShapeText({}))->DebugString(), "qint8[] -3");
  EXPECT_EQ(Read("dtype: DT_UINT32 uint32_val: 4294967295 " + ShapeText({}))->DebugString(),
            "uint32[] 4294967295");
  EXPECT_EQ(
      Read("dtype: DT_UINT64 uint64_val: 18446744073709551615 " + ShapeText({}))->DebugString(),
      "uint64[] 18446744073709551615");
  EXPECT_EQ(Read("dtype: DT_BOOL bool_val: true " + ShapeText({}))->DebugString(), "bool[] true");
}

TEST(TensorProtoTest, ReadsPackedContent) {
  EXPECT_EQ(Read("dtype: DT_INT16 tensor_content: '\\001\\000\\377\\377' " + ShapeText({2}))
                ->DebugString(),
            "int16[2] 1 -1");
  EXPECT_EQ(Read("dtype: DT_BOOL tensor_content: '\\000\\007' " + ShapeText({2}))->DebugString(),
            "bool[2] false true");
  EXPECT_EQ(
      Read("dtype: DT_STRING tensor_content: '\\002\\000abc' " + ShapeText({2})).status().code(),
      Code::kInvalidArgument);
  EXPECT_EQ(
      Read("dtype: DT_STRING tensor_content: '\\002\\001abc' " + ShapeText({2}))->DebugString(),
      "string[2] \"ab\" \"c\"");
}

TEST(TensorProtoTest, ContentMustHaveTheBytesOfTheShape) {
  const Status status = Read("dtype: DT_INT32 tensor_content: 'abc' " + ShapeText({2})).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(), "tensor int32[2] needs 8 bytes of tensor_content, got 3");
}

TEST(TensorProtoTest, RefusesBrokenMessagesBeforeTakingMemory) {
  const int64_t allocations = HostAllocator()->stats().num_allocations;
  for (const std::string& text : std::vector<std::string>{
           "dtype: DT_INT32 int_val: 1 int_val: 2 " + ShapeText({1}),
           "dtype: DT_COMPLEX64 scomplex_val: 1 scomplex_val: 2 scomplex_val: 3 scomplex_val: 4 " +
               ShapeText({1}),
           "dtype: DT_FLOAT float_val: 1 " + ShapeText({0}),
           "dtype: DT_FLOAT float_val: 1 " + ShapeText({-1}),
           "dtype: DT_FLOAT float_val: 1 " + ShapeText({-5}),
           "dtype: DT_FLOAT float_val: 1 tensor_shape { unknown_rank: true }",
           "dtype: DT_FLOAT float_val: 1 " + ShapeText({int64_t{1} << 62, int64_t{1} << 62}),
           "dtype: DT_FLOAT float_val: 1 " + ShapeText({int64_t{1} << 40}),
           "dtype: DT_STRING string_val: 'a' " + ShapeText({int64_t{1} << 30}),
           "dtype: DT_STRING tensor_content: 'a' " + ShapeText({1000000}),
           "float_val: 1",
       }) {
    EXPECT_EQ(Read(text).status().code(), Code::kInvalidArgument) << text;
  }
  EXPECT_EQ(HostAllocator()->stats().num_allocations, allocations);
}

TEST(TensorProtoTest, RefusesValuesThatTheTypeCannotHold) {
  EXPECT_EQ(Read("dtype: DT_UINT8 int_val: 256 " + ShapeText({})).status().message(),
            "tensor uint8[] cannot hold the value 256 of element 0");
  EXPECT_FALSE(Read("dtype: DT_INT8 int_val: -129 " + ShapeText({})).ok());
  EXPECT_FALSE(Read("dtype: DT_HALF half_val: 65536 " + ShapeText({})).ok());
  EXPECT_FALSE(Read("dtype: DT_COMPLEX64 scomplex_val: 1 " + ShapeText({})).ok());
}

TEST(TensorProtoTest, ResourcesHaveNoForm) {
  EXPECT_EQ(Read("dtype: DT_RESOURCE").status().code(), Code::kUnimplemented);
  proto::TensorProto message;
  EXPECT_EQ(TensorToProto(*Tensor::Create(DataType::kResource, Shape()), &message).code(),
            Code::kUnimplemented);
}

TEST(TensorProtoTest, MutatedBytesAreReadOrRefused) {
  proto::TensorProto original;
  ASSERT_TRUE(TensorToProto(Tensor::Vector<std::string>({"ab", "cd", "ef"}), &original).ok());
  std::vector<std::string> seeds = {original.SerializeAsString()};
  ASSERT_TRUE(TensorToProto(Tensor::Vector<int32_t>({1, 2, 3}), &original).ok());
  seeds.push_back(original.SerializeAsString());
  original = Parse<proto::TensorProto>("dtype: DT_STRING tensor_content: '\\002\\001abc' " +
                                       ShapeText({2}));
  seeds.push_back(original.SerializeAsString());
  std::mt19937 random(4);
  int read = 0;
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string bytes = seeds[i % seeds.size()];
    bytes[random() % bytes.size()] = static_cast<char>(random());
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    proto::TensorProto message;
    if (!message.ParseFromString(bytes)) continue;
    // A mutated size may be large and yet legal; this test is not about memory.
    if (message.tensor_shape().dim_size() > 0 && message.tensor_shape().dim(0).size() > 10000 &&
        message.tensor_shape().dim(0).size() < (int64_t{1} << 32)) {
      continue;
    }
    ++(TensorFromProto(message).ok() ? read : refused);
  }
  EXPECT_GT(read, 0);
  EXPECT_GT(refused, 0);
}

TEST(AttrValueProtoTest, EveryKindSurvives) {
  const auto attrs = std::make_shared<const AttrMap>(AttrMap{{"T", DataType::kFloat}});
  for (const AttrValue& value : std::vector<AttrValue>{
           AttrValue(), 3, 2.5f, true, "bytes\xff", DataType::kHalf, PartialShape({2, -1}),
           Tensor::Vector<int32_t>({1, 2}), FunctionRef{"f", attrs}, AttrValue::Empty(),
           std::vector<int64_t>{1, 2}, std::vector<float>{1.5f}, std::vector<bool>{true, false},
           std::vector<std::string>{"a", ""}, DataTypeList{DataType::kInt32},
           std::vector<PartialShape>{PartialShape(), PartialShape::Scalar()},
           std::vector<Tensor>{Tensor::Scalar(1.0f)}, std::vector<FunctionRef>{{"g", nullptr}}}) {
    proto::AttrValue message;
    ASSERT_TRUE(AttrValueToProto(value, &message).ok()) << value.ToString();
    const StatusOr<AttrValue> back = AttrValueFromProto(message);
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(*back, value) << value.ToString() << " " << back->ToString();
    EXPECT_EQ(back->TypeName(), value.TypeName());
  }
}

TEST(AttrValueProtoTest, RefFlavouredTypesBecomeTheirBase) {
  EXPECT_EQ(*AttrValueFromProto(Parse<proto::AttrValue>("type: DT_FLOAT_REF")),
            AttrValue(DataType::kFloat));
}

TEST(AttrValueProtoTest, RefusesWhatIsNoValue) {
  const auto refuse = [](const std::string& text) {
    return AttrValueFromProto(Parse<proto::AttrValue>(text)).status();
  };
  EXPECT_EQ(refuse("list { i: 1 f: 2 }").message(), "a list holds values of one kind, got 2 kinds");
  EXPECT_EQ(refuse("placeholder: 'T'").code(), Code::kInvalidArgument);
  EXPECT_EQ(refuse("shape { dim { size: -7 } }").code(), Code::kInvalidArgument);
  EXPECT_EQ(refuse("list { type: DT_FLOAT8_E5M2 }").code(), Code::kUnimplemented);
  EXPECT_EQ(refuse("func { name: 'f' attr { key: 'N' value { placeholder: 'M' } } }").message(),
            "function 'f': attribute 'N': expected a value, got a placeholder for attribute 'M', "
            "which only function bodies have");
}

TEST(AttrValueProtoTest, MapsKeepEveryAttribute) {
  const AttrMap attrs = {{"N", 2}, {"T", DataType::kFloat}, {"shape", PartialShape()}};
  AttrProtoMap messages;
  ASSERT_TRUE(AttrsToProto(attrs, &messages).ok());
  EXPECT_EQ(messages.size(), 3u);
  EXPECT_EQ(*AttrsFromProto(messages), attrs);
}

OpDef ExampleOp() {
  return OpSpec("Example")
      .Input("values: N * T")
      .Input("ref: Ref(T)")
      .Output("parts: types")
      .Attr("N: int >= 2 = 3")
      .Attr("T: {float, half} = DT_HALF")
      .Attr("types: list(type) >= 0 = []")
      .Attr("padding: {'SAME', 'VALID'}")
      .Stateful()
      .Doc("Does something.\n\nAnd more,\nin lines.")
      .Build()
      .value();
}

TEST(OpDefProtoTest, WritesTheDefinitionAndItsDocumentation) {
  proto::OpDef message;
  ASSERT_TRUE(OpDefToProto(ExampleOp(), &message).ok());
  const auto expected = Parse<proto::OpDef>(R"text(
    name: "Example"
    input_arg { name: "values" type_attr: "T" number_attr: "N" }
    input_arg { name: "ref" type_attr: "T" is_ref: true }
    output_arg { name: "parts" type_list_attr: "types" }
    attr { name: "N" type: "int" default_value { i: 3 } has_minimum: true minimum: 2 }
    attr { name: "T" type: "type" default_value { type: DT_HALF }
           allowed_values { list { type: DT_FLOAT type: DT_HALF } } }
    attr { name: "types" type: "list(type)" default_value { list { } } has_minimum: true }
    attr { name: "padding" type: "string" allowed_values { list { s: "SAME" s: "VALID" } } }
    summary: "Does something."
    description: "And more,\nin lines."
    is_stateful: true)text");
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(message, expected))
      << message.DebugString();
}

TEST(OpDefProtoTest, ADefinitionSurvives) {
  proto::OpDef message;
  ASSERT_TRUE(OpDefToProto(ExampleOp(), &message).ok());
  const OpDef back = *OpDefFromProto(message);
  EXPECT_EQ(back.doc, ExampleOp().doc);
  proto::OpDef again;
  ASSERT_TRUE(OpDefToProto(back, &again).ok());
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(message, again));
}

TEST(OpDefProtoTest, AnArgumentNeedsOneType) {
  const auto message = Parse<proto::OpDef>("name: 'Op' input_arg { name: 'x' }");
  EXPECT_EQ(OpDefFromProto(message).status().message(),
            "op 'Op': argument 'x' needs one of type, type_attr and type_list_attr, got 0");
}

}  // namespace
}  // namespace millstream
