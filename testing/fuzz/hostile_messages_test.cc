// Messages of up to 1 MiB that take far more memory than they are long, or nest deeply.
#include <string>

#include "absl/strings/str_cat.h"
#include "framework/message.h"
#include "gtest/gtest.h"
#include "millstream/framework/protos/graph.pb.h"
#include "testing/fuzz/limits.h"

namespace millstream::fuzz {
namespace {

constexpr size_t kMebibyte = 1 << 20;

std::string Repeated(absl::string_view part, size_t size) {
  std::string text;
  while (text.size() + part.size() <= size) absl::StrAppend(&text, part);
  return text;
}

// A field of a message around `content`.
std::string Field(int number, const std::string& content) {
  std::string bytes;
  for (uint64_t value : {static_cast<uint64_t>(number) << 3 | 2, uint64_t{content.size()}}) {
    for (; value >= 128; value >>= 7) bytes += static_cast<char>(value | 128);
    bytes += static_cast<char>(value);
  }
  return bytes + content;
}

template <typename Parse>
void ExpectWithin(absl::StatusCode code, const Parse& parse) {
  absl::Status status;
  const Cost cost = CostOf([&] { status = parse().status(); });
  EXPECT_EQ(status.code(), code) << status;
  EXPECT_EQ(Excess(cost), "");
  ::testing::Test::RecordProperty("allocations", absl::StrCat(cost.allocations));
  ::testing::Test::RecordProperty("milliseconds", absl::StrCat(cost.seconds * 1000));
}

void ExpectBinary(absl::StatusCode code, const char* name, const std::string& bytes) {
  ASSERT_LE(bytes.size(), kMebibyte);
  ExpectWithin(code, [&] { return ParseBinary(name, bytes); });
}

void ExpectText(absl::StatusCode code, const char* name, const std::string& text) {
  ASSERT_LE(text.size(), kMebibyte);
  ExpectWithin(code, [&] { return ParseText(name, text); });
}

constexpr auto kOk = absl::StatusCode::kOk;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kTooLarge = absl::StatusCode::kResourceExhausted;

TEST(HostileMessagesTest, EmptyMessagesInALongList) {
  for (const char* name : {"GraphDef", "OpList", "KernelList"}) {
    ExpectBinary(kTooLarge, name, Repeated(std::string("\x0a\x00", 2), kMebibyte));
  }
}

TEST(HostileMessagesTest, EmptyTensorsInAnAttribute) {
  const std::string tensors = Repeated(std::string("\x42\x00", 2), kMebibyte - 100);
  ExpectBinary(kTooLarge, "AttrValue", Field(1, tensors));
}

TEST(HostileMessagesTest, UnknownFieldsAndGroups) {
  ExpectBinary(kOk, "NodeDef", Repeated(std::string("\xc0\x3e\x01", 3), kMebibyte));
  ExpectBinary(kTooLarge, "NodeDef", Repeated("\x7b\x7c", kMebibyte));
  ExpectBinary(kTooLarge, "NodeDef", std::string(kMebibyte, '\x7b'));
}

// Which is kept as a field that is not known.
TEST(HostileMessagesTest, ANumberThatComesAsBytes) {
  ExpectBinary(kTooLarge, "AttrValue", Repeated(std::string("\x1a\x00", 2), kMebibyte));
}

TEST(HostileMessagesTest, NumbersInAList) {
  ExpectBinary(kOk, "AttrValue", Field(1, Field(3, std::string(kMebibyte - 100, '\x01'))));
}

TEST(HostileMessagesTest, WhatIsWrittenInEarnestIsRead) {
  proto::GraphDef def;
  while (def.ByteSizeLong() < kMebibyte / 2) {
    for (int i = 0; i < 1000; ++i) {
      proto::NodeDef* const node = def.add_node();
      node->set_name(absl::StrCat("n", def.node_size()));
      node->set_op("Neg");
      node->add_input(absl::StrCat("n", def.node_size() - 1));
      (*node->mutable_attr())["T"].set_type(proto::DT_FLOAT);
      (*node->mutable_attr())["_output_shapes"].mutable_list()->add_shape()->add_dim()->set_size(1);
    }
  }
  ExpectBinary(kOk, "GraphDef", def.SerializeAsString());
}

TEST(HostileMessagesTest, BytesThatNestTooDeep) {
  std::string bytes;
  for (int i = 0; i < 300; ++i) bytes = Field(1, Field(51, bytes));  // values, list_value
  ExpectBinary(kInvalid, "ListValue", bytes);
}

TEST(HostileMessagesTest, LengthsBeyondTheEnd) {
  ExpectBinary(kInvalid, "GraphDef", "\x0a\xff\xff\xff\xff\x07");
  ExpectBinary(kInvalid, "GraphDef", "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff");
}

TEST(HostileMessagesTest, EmptyMessagesInText) {
  ExpectText(kTooLarge, "AttrValue",
             absl::StrCat("list{tensor:[{}", Repeated(",{}", kMebibyte - 100), "]}"));
  ExpectText(kTooLarge, "AttrValue",
             absl::StrCat("list{", Repeated("tensor<>", kMebibyte - 100), "}"));
}

TEST(HostileMessagesTest, TextThatNestsTooDeep) {
  ExpectText(kInvalid, "ListValue", Repeated("values{list_value{", kMebibyte));
}

TEST(HostileMessagesTest, TextOfOneLongToken) {
  ExpectText(kInvalid, "GraphDef", std::string(kMebibyte, 'a'));
  ExpectText(kInvalid, "GraphDef", std::string(kMebibyte, '"'));
  ExpectText(kInvalid, "GraphDef", absl::StrCat("version: ", std::string(kMebibyte - 100, '9')));
  ExpectText(kOk, "GraphDef", absl::StrCat("#", std::string(kMebibyte - 100, '{')));
}

TEST(HostileMessagesTest, TextOfManyErrors) {
  ExpectText(kInvalid, "GraphDef", Repeated("\x01", kMebibyte));
}

}  // namespace
}  // namespace millstream::fuzz
