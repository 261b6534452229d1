#include "framework/message.h"

#include <dirent.h>

#include <fstream>
#include <sstream>

#include "gmock/gmock.h"
#include "google/protobuf/descriptor.h"
#include "gtest/gtest.h"
#include "millstream/framework/protos/graph.pb.h"

namespace millstream {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kWrittenByTf[] = "testdata/conformance/files/written_by_tf/";

constexpr char kGraphText[] = R"(node {
  name: "x"
  op: "Const"
  attr {
    key: "dtype"
    value {
      type: DT_FLOAT
    }
  }
  attr {
    key: "value"
    value {
      tensor {
        dtype: DT_FLOAT
        tensor_shape {
          dim {
            size: 2
          }
        }
        float_val: 0.1
        float_val: -2.5
      }
    }
  }
}
node {
  name: "y"
  op: "Neg"
  input: "x"
  input: "^x"
  device: "/device:CPU:0"
  attr {
    key: "T"
    value {
      type: DT_FLOAT
    }
  }
}
versions {
  producer: 134
}
)";

std::string ReadFile(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  EXPECT_TRUE(stream.good()) << "cannot open " << path;
  std::ostringstream content;
  content << stream.rdbuf();
  return content.str();
}

MessagePtr Text(absl::string_view name, absl::string_view text) {
  absl::StatusOr<MessagePtr> message = ParseText(name, text);
  EXPECT_TRUE(message.ok()) << message.status();
  return message.ok() ? *std::move(message) : nullptr;
}

std::string Binary(const google::protobuf::Message& message) {
  absl::StatusOr<std::string> bytes = ToBinary(message);
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  return bytes.value_or("");
}

// A FullTypeDef whose args nest `depth` times.
std::string NestedText(int depth) {
  std::string text;
  for (int i = 0; i < depth; ++i) text += "args {";
  return text + std::string(depth, '}');
}

TEST(MessageTest, NamesWithAndWithoutPackageMeanTheSame) {
  for (const char* name : {"GraphDef", "millstream.GraphDef", "tensorflow.GraphDef"}) {
    absl::StatusOr<MessagePtr> message = NewMessage(name);
    ASSERT_TRUE(message.ok()) << message.status();
    EXPECT_EQ((*message)->GetTypeName(), "millstream.GraphDef");
  }
  EXPECT_EQ((*FindMessage("Summary.Value"))->full_name(), "millstream.Summary.Value");
  EXPECT_EQ((*FindMessage("tensorflow.tfprof.OpLogProto"))->full_name(),
            "millstream.tfprof.OpLogProto");
  EXPECT_EQ((*FindMessage("google.protobuf.Any"))->full_name(), "google.protobuf.Any");
}

TEST(MessageTest, UnknownNamesAreNotFound) {
  for (const char* name : {"", "GrafDef", "millstream.", "tensorflow.millstream.GraphDef",
                           "NodeDef.AttrEntry", "DataType"}) {
    EXPECT_EQ(NewMessage(name).status().code(), absl::StatusCode::kNotFound) << name;
  }
  EXPECT_EQ(ParseText("GrafDef", "").status().message(), "there is no message called 'GrafDef'");
}

TEST(MessageTest, GeneratedClassesStandBehindTheNames) {
  MessagePtr message = Text("GraphDef", kGraphText);
  ASSERT_NE(message, nullptr);
  const auto* graph = dynamic_cast<const proto::GraphDef*>(message.get());
  ASSERT_NE(graph, nullptr);
  EXPECT_EQ(graph->node(1).input(0), "x");
  EXPECT_EQ(graph->node(1).attr().at("T").type(), proto::DT_FLOAT);
}

TEST(MessageTest, TextAndBinaryRoundTrip) {
  MessagePtr graph = Text("GraphDef", kGraphText);
  ASSERT_NE(graph, nullptr);
  EXPECT_EQ(PrintText(*graph), kGraphText);

  absl::StatusOr<MessagePtr> again = ParseBinary("GraphDef", Binary(*graph));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(PrintText(**again), kGraphText);
}

TEST(MessageTest, EncodingHasThePublicFieldNumbers) {
  MessagePtr node = Text("NodeDef", R"(name: "y" op: "Neg" input: "x")");
  ASSERT_NE(node, nullptr);
  EXPECT_EQ(Binary(*node), "\x0a\x01y\x12\x03Neg\x1a\x01x");
}

TEST(MessageTest, BinaryDoesNotDependOnTheOrderOfMapEntries) {
  MessagePtr forward = Text("Features", R"(feature { key: "a" } feature { key: "b" }
                                           feature { key: "c" } feature { key: "d" })");
  MessagePtr backward = Text("Features", R"(feature { key: "d" } feature { key: "c" }
                                            feature { key: "b" } feature { key: "a" })");
  EXPECT_EQ(Binary(*forward), Binary(*backward));
}

TEST(MessageTest, UnknownFieldsSurviveInBinaryAndAreLeftOutOfText) {
  const std::string bytes = "\x0a\x01y\xf2\x3f\x03new";  // field 1, then field 1022
  absl::StatusOr<MessagePtr> node = ParseBinary("NodeDef", bytes);
  ASSERT_TRUE(node.ok()) << node.status();
  EXPECT_EQ(Binary(**node), bytes);
  EXPECT_EQ(PrintText(**node), "name: \"y\"\n");
}

TEST(MessageTest, EveryTruncationOfANodeIsRefused) {
  MessagePtr graph = Text("GraphDef", R"(node { name: "n" op: "NoOp" })");
  const std::string bytes = Binary(*graph);
  ASSERT_EQ(bytes.size(), 11);
  for (size_t size = 1; size < bytes.size(); ++size) {
    absl::Status status = ParseBinary("GraphDef", bytes.substr(0, size)).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << size;
    EXPECT_EQ(status.message(), absl::StrCat("expected the bytes of a GraphDef, got ", size,
                                             " bytes that are cut off or encode something else"));
  }
}

TEST(MessageTest, BytesThatAreNoMessageAreRefused) {
  const std::string end_group = "\x0c";
  const std::string text_as_bytes = kGraphText;
  const std::string name_that_is_not_utf8 = "\x0a\x02\xff\xfe";
  for (const std::string& bytes : {end_group, text_as_bytes, name_that_is_not_utf8}) {
    EXPECT_EQ(ParseBinary("NodeDef", bytes).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST(MessageTest, TextErrorsNameLineAndColumn) {
  EXPECT_EQ(ParseText("GraphDef", "node {\n  nam: \"x\"\n}").status().message(),
            "expected the text of a GraphDef, got an error at 2:6: Message type "
            "\"millstream.NodeDef\" has no field named \"nam\".");
  absl::Status unclosed = ParseText("GraphDef", "node {\n").status();
  EXPECT_EQ(unclosed.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(unclosed.message()), HasSubstr("error at 2:1: "));
  absl::Status type = ParseText("AttrValue", "type: DT_FLOTE").status();
  EXPECT_THAT(std::string(type.message()), HasSubstr("error at 1:15: "));
  EXPECT_THAT(std::string(type.message()), HasSubstr("DT_FLOTE"));
}

TEST(MessageTest, DeepNestingIsRefusedInBothForms) {
  MessagePtr shallow = Text("FullTypeDef", NestedText(kMaxMessageDepth - 1));
  ASSERT_NE(shallow, nullptr);
  EXPECT_TRUE(ParseBinary("FullTypeDef", Binary(*shallow)).ok());

  EXPECT_EQ(ParseText("FullTypeDef", NestedText(100000)).status().code(),
            absl::StatusCode::kInvalidArgument);
  proto::GraphDef graph;
  proto::FullTypeDef* type = graph.add_node()->mutable_experimental_type();
  for (int i = 0; i < 2 * kMaxMessageDepth; ++i) type = type->add_args();
  EXPECT_EQ(ParseBinary("GraphDef", Binary(graph)).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(MessageTest, FilesWrittenByTheReferenceSurvive) {
  const std::pair<const char*, const char*> files[] = {
      {"GraphDef", "control_flow.pb"},
      {"GraphDef", "functions.pb"},
      {"MetaGraphDef", "model.meta"},
      {"SavedModel", "saved_model/saved_model.pb"},
  };
  for (const auto& [name, file] : files) {
    SCOPED_TRACE(file);
    const std::string bytes = ReadFile(absl::StrCat(kWrittenByTf, file));
    absl::StatusOr<MessagePtr> message = ParseBinary(name, bytes);
    ASSERT_TRUE(message.ok()) << message.status();
    const std::string encoded = Binary(**message);
    // Equal but for the order of map entries, which the writer leaves to chance.
    EXPECT_EQ(encoded.size(), bytes.size());
    // Text leaves out what we have no field for: nothing is lost in it, so every field is ours.
    MessagePtr from_text = Text(name, PrintText(**message));
    ASSERT_NE(from_text, nullptr);
    EXPECT_EQ(Binary(*from_text), encoded);
  }
}

TEST(MessageTest, GraphTextOfTheReferenceIsReadAndPrintedAlike) {
  const std::string text = ReadFile(absl::StrCat(kWrittenByTf, "graph.pbtxt"));
  MessagePtr graph = Text("GraphDef", text);
  ASSERT_NE(graph, nullptr);
  EXPECT_EQ(PrintText(*graph), text);
}

TEST(MessageTest, NumbersArePrintedAsPythonsTextFormatDoes) {
  const auto print = [](absl::string_view field, absl::string_view value) {
    MessagePtr tensor = Text("TensorProto", absl::StrCat(field, ": ", value));
    return PrintText(*tensor).substr(field.size() + 2);
  };
  const std::pair<const char*, const char*> doubles[] = {
      {"0", "0.0\n"},
      {"-0.0", "-0.0\n"},
      {"1e15", "1000000000000000.0\n"},
      {"1e16", "1e+16\n"},
      {"0.0001", "0.0001\n"},
      {"0.00001", "1e-05\n"},
      {"-12.5", "-12.5\n"},
      {"1.2345678901234568e-300", "1.2345678901234568e-300\n"},
      {"nan", "nan\n"},
      {"-inf", "-inf\n"},
  };
  for (const auto& [text, printed] : doubles) EXPECT_EQ(print("double_val", text), printed);
  EXPECT_EQ(print("float_val", "0.1"), "0.1\n");
  EXPECT_EQ(print("float_val", "123456789"), "123456790.0\n");
}

TEST(MessageTest, EveryProtoFileIsLinkedAndListed) {
  const std::vector<std::string> names = MessageNames();
  EXPECT_THAT(names, Contains("millstream.GraphDef"));
  EXPECT_THAT(names, Contains("millstream.AttrValue.ListValue"));
  EXPECT_THAT(names, Not(Contains("millstream.NodeDef.AttrEntry")));
  for (const std::string& name : names) EXPECT_TRUE(NewMessage(name).ok()) << name;

  DIR* folder = opendir("framework/protos");
  ASSERT_NE(folder, nullptr) << "framework/protos is not among the test's data";
  int files = 0;
  while (const dirent* entry = readdir(folder)) {
    const std::string name = entry->d_name;
    const size_t dot = name.find(".proto");
    if (dot == std::string::npos || dot + 6 != name.size()) continue;
    ++files;
    const google::protobuf::FileDescriptor* file =
        google::protobuf::DescriptorPool::generated_pool()->FindFileByName(
            absl::StrCat("millstream/framework/protos/", name));
    ASSERT_NE(file, nullptr) << name << " is not linked: add a message of it to message.cc";
    for (int i = 0; i < file->message_type_count(); ++i) {
      EXPECT_THAT(names, Contains(file->message_type(i)->full_name()));
    }
  }
  closedir(folder);
  EXPECT_GT(files, 40);
}

// Protobuf counts what was given, and writes what is there: such an entry broke its encoding.
TEST(MessageTest, MapEntriesOfATextMayLackKeyOrValue) {
  for (const char* text : {"attr { value { i: 5 } }", "attr { key: \"k\" }", "attr { }",
                           "attr { value { func { attr { value { } } attr { key: \"x\" } } } }"}) {
    const absl::StatusOr<MessagePtr> message = ParseText("NodeDef", text);
    ASSERT_TRUE(message.ok()) << message.status();
    const absl::StatusOr<std::string> bytes = ToBinary(**message);
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    const absl::StatusOr<MessagePtr> again = ParseBinary("NodeDef", *bytes);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(PrintText(**again), PrintText(**message)) << text;
  }
  const absl::StatusOr<MessagePtr> config = ParseText("ConfigProto", "device_count { value: -1 }");
  ASSERT_TRUE(config.ok());
  EXPECT_TRUE(ParseBinary("ConfigProto", *ToBinary(**config)).ok());
}

TEST(MessageTest, StringsOfATextMustBeUtf8) {
  for (const char* text : {"op: \"\\377\"", "op: \"\\300\\200\"", "op: \"\\355\\240\\200\"",
                           "op: \"\\364\\220\\200\\200\"", "input: \"a\" input: \"\\342\\202\"",
                           "attr { key: \"\\200\" }"}) {
    const absl::StatusOr<MessagePtr> message = ParseText("NodeDef", text);
    EXPECT_EQ(message.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(message.status().message()), HasSubstr("must be UTF-8"));
  }
  EXPECT_TRUE(ParseText("NodeDef", "op: \"\\342\\202\\254\\360\\237\\230\\200\"").ok());
  EXPECT_TRUE(ParseText("AttrValue", "s: \"\\377\"").ok());  // bytes
}

TEST(MessageTest, MapEntriesOfBytesMayLackKeyOrValue) {
  for (const char* entry : {"\x2a\x02\x12\x00", "\x2a\x03\x0a\x01k"}) {  // attr of NodeDef
    const std::string bytes(entry, static_cast<size_t>(entry[1]) + 2);
    const absl::StatusOr<MessagePtr> message = ParseBinary("NodeDef", bytes);
    ASSERT_TRUE(message.ok()) << message.status();
    const absl::StatusOr<std::string> written = ToBinary(**message);
    ASSERT_TRUE(written.ok()) << written.status();
    EXPECT_TRUE(ParseBinary("NodeDef", *written).ok());
  }
}

}  // namespace
}  // namespace millstream
