// Messages and ops as bytes and text.
#include <string>

#include "core/c_api/c_api.h"
#include "core/c_api/json.h"
#include "core/c_api/testing.h"
#include "gmock/gmock.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/util/json_util.h"
#include "gtest/gtest.h"
#include "millstream/framework/protos/op_def.pb.h"

namespace millstream::c_api {
namespace {

using google::protobuf::Struct;
using google::protobuf::Value;
using ::testing::HasSubstr;

// What `json` says; a failure when it is no JSON.
Value ParseJson(const std::string& json) {
  Value value;
  const auto status = google::protobuf::util::JsonStringToMessage(json, &value);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return value;
}

TEST(MessagesTest, TextRoundTrip) {
  const std::string text =
      "node {\n  name: \"x\"\n  op: \"NoOp\"\n}\nversions {\n  producer: 5\n}\n";
  for (const char* name : {"GraphDef", "tensorflow.GraphDef", "millstream.GraphDef"}) {
    millstream_bytes bytes;
    ExpectOk(millstream_message_parse_text(name, text.data(), text.size(), &bytes));
    const std::string binary = Take(bytes);
    millstream_bytes printed;
    ExpectOk(millstream_message_print_text(name, binary.data(), binary.size(), &printed));
    EXPECT_EQ(Take(printed), text);
  }
}

TEST(MessagesTest, ErrorsTellWhere) {
  millstream_bytes bytes;
  const std::string text = "node {\n  nam: \"x\"\n}";
  Error error = millstream_message_parse_text("GraphDef", text.data(), text.size(), &bytes);
  EXPECT_EQ(error.code, kInvalidArgument);
  EXPECT_THAT(error.message, HasSubstr("2:"));
  EXPECT_EQ(bytes.data, nullptr);
  error = millstream_message_parse_text("Grph", "", 0, &bytes);
  EXPECT_EQ(error.code, kNotFound);
  EXPECT_EQ(Error(millstream_message_print_text("GraphDef", "\xff", 1, &bytes)).code,
            kInvalidArgument);
}

// The description of the field, or an empty one.
Struct FieldOf(const Value& descriptions, const std::string& message, const std::string& field) {
  const auto& messages =
      descriptions.struct_value().fields().at("messages").struct_value().fields();
  const auto found = messages.find(message);
  if (found == messages.end()) return Struct();
  for (const Value& candidate : found->second.list_value().values()) {
    if (candidate.struct_value().fields().at("name").string_value() == field) {
      return candidate.struct_value();
    }
  }
  return Struct();
}

class DescriptionsTest : public ::testing::Test {
 protected:
  static Value Descriptions() {
    millstream_bytes bytes;
    ExpectOk(millstream_message_descriptions(&bytes));
    return ParseJson(Take(bytes));
  }
  const Value descriptions_ = Descriptions();
};

TEST_F(DescriptionsTest, Fields) {
  const auto node = FieldOf(descriptions_, "GraphDef", "node").fields();
  ASSERT_FALSE(node.empty());
  EXPECT_EQ(node.at("number").number_value(), 1);
  EXPECT_EQ(node.at("type").string_value(), "message");
  EXPECT_EQ(node.at("message").string_value(), "NodeDef");
  EXPECT_TRUE(node.at("repeated").bool_value());
  EXPECT_FALSE(node.at("map").bool_value());
  EXPECT_EQ(node.at("oneof").kind_case(), Value::kNullValue);

  const auto values = FieldOf(descriptions_, "TensorProto", "float_val").fields();
  EXPECT_EQ(values.at("type").string_value(), "float");
  EXPECT_TRUE(values.at("packed").bool_value());
  const auto dtype = FieldOf(descriptions_, "TensorProto", "dtype").fields();
  EXPECT_EQ(dtype.at("type").string_value(), "enum");
  EXPECT_EQ(dtype.at("enum").string_value(), "DataType");
  EXPECT_EQ(FieldOf(descriptions_, "AttrValue", "i").fields().at("oneof").string_value(), "value");
}

TEST_F(DescriptionsTest, MapsNameTheirEntry) {
  const auto attr = FieldOf(descriptions_, "NodeDef", "attr").fields();
  EXPECT_TRUE(attr.at("map").bool_value());
  const std::string entry = attr.at("message").string_value();
  EXPECT_EQ(entry, "NodeDef.AttrEntry");
  EXPECT_EQ(FieldOf(descriptions_, entry, "key").fields().at("type").string_value(), "string");
  EXPECT_EQ(FieldOf(descriptions_, entry, "value").fields().at("message").string_value(),
            "AttrValue");
}

TEST_F(DescriptionsTest, EveryMessageAndEnumThatAFieldNamesIsThere) {
  const auto& top = descriptions_.struct_value().fields();
  const auto& messages = top.at("messages").struct_value().fields();
  const auto& enums = top.at("enums").struct_value().fields();
  EXPECT_GT(messages.size(), 100);
  for (const auto& [name, fields] : messages) {
    for (const Value& field : fields.list_value().values()) {
      const auto& members = field.struct_value().fields();
      if (members.count("message") > 0) {
        EXPECT_EQ(messages.count(members.at("message").string_value()), 1) << name;
      }
      if (members.count("enum") > 0) {
        EXPECT_EQ(enums.count(members.at("enum").string_value()), 1) << name;
      }
    }
  }
  const auto& types = enums.at("DataType").struct_value().fields();
  EXPECT_EQ(types.at("DT_FLOAT").number_value(), 1);
}

TEST(OpListTest, HoldsDefinitions) {
  millstream_bytes bytes;
  ExpectOk(millstream_op_list(&bytes));
  proto::OpList list;
  ASSERT_TRUE(list.ParseFromString(Take(bytes)));
  const proto::OpDef* found = nullptr;
  for (const proto::OpDef& op : list.op()) {
    if (op.name() == "MatMul") found = &op;
  }
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->input_arg_size(), 2);
  EXPECT_FALSE(found->summary().empty());
}

TEST(JsonTest, Escapes) {
  std::string json;
  AppendJsonString("a\"\\\n\x01\xc3\xa9", &json);
  EXPECT_EQ(json, "\"a\\\"\\\\\\u000a\\u0001\xc3\xa9\"");
}

TEST(VersionTest, IsANumberOfThreeParts) {
  EXPECT_THAT(millstream_version(), ::testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
}

}  // namespace
}  // namespace millstream::c_api
