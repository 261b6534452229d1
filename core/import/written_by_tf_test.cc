// Files that another implementation wrote.
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/import/graph_def.h"
#include "framework/message.h"
#include "framework/op_registry.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "millstream/framework/protos/graph.pb.h"
#include "millstream/framework/protos/saved_model.pb.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

constexpr char kWrittenByTf[] = "testdata/conformance/files/written_by_tf/";

std::string ReadFile(const std::string& name) {
  std::ifstream file(kWrittenByTf + name, std::ios::binary);
  EXPECT_TRUE(file.good()) << "cannot read " << name;
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

std::vector<std::string> UnknownOps(const proto::GraphDef& def) {
  std::map<std::string, int> unknown;
  for (const proto::NodeDef& node : def.node()) {
    if (!OpRegistry::Global()->Find(node.op()).ok()) ++unknown[node.op()];
  }
  std::vector<std::string> names;
  for (const auto& [name, count] : unknown) names.push_back(name);
  return names;
}

// Imports whole graphs, and of others says which ops are unknown, every one.
void ExpectImportsOrNamesUnknownOps(const proto::GraphDef& def) {
  ASSERT_GT(def.node_size(), 0);
  Graph graph;
  const Status status = ImportGraphDef(&graph, def.SerializeAsString()).status();
  const std::vector<std::string> unknown = UnknownOps(def);
  if (unknown.empty()) {
    ASSERT_TRUE(status.ok()) << status;
    for (const proto::NodeDef& node : def.node()) {
      EXPECT_TRUE(graph.FindNode(node.name()).ok()) << node.name();
    }
    // References to variables became handles, which are nodes more; the export has them not.
    proto::GraphDef exported;
    ASSERT_TRUE(exported.ParseFromString(ExportGraphDef(graph).value()));
    EXPECT_EQ(exported.node_size(), def.node_size());
    return;
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound) << status;
  for (const std::string& op : unknown) {
    EXPECT_THAT(std::string(status.message()), HasSubstr(absl::StrCat(" ", op, " (")));
  }
}

// The nodes of the graph that use known ops, and through their inputs no others.
proto::GraphDef KnownPart(const proto::GraphDef& def) {
  std::map<std::string, bool> known;
  proto::GraphDef part;
  *part.mutable_versions() = def.versions();
  bool grown = true;
  while (grown) {
    grown = false;
    for (const proto::NodeDef& node : def.node()) {
      if (known[node.name()] || !OpRegistry::Global()->Find(node.op()).ok()) continue;
      bool complete = true;
      for (const std::string& input : node.input()) {
        const std::string name = input.substr(input[0] == '^' ? 1 : 0);
        complete = complete && known[name.substr(0, name.rfind(':'))];
      }
      if (!complete) continue;
      *part.add_node() = node;
      known[node.name()] = grown = true;
    }
  }
  *part.mutable_library() = def.library();
  return part;
}

void ExpectKnownPartRoundTrips(const proto::GraphDef& def) {
  const proto::GraphDef part = KnownPart(def);
  ASSERT_GT(part.node_size(), 0);
  Graph graph;
  const Status status = ImportGraphDef(&graph, part.SerializeAsString()).status();
  ASSERT_TRUE(status.ok()) << status;
  const std::string bytes = ExportGraphDef(graph).value();
  // References to variables became handles, which are nodes more; the export has them not.
  EXPECT_GE(graph.num_nodes(), part.node_size());
  proto::GraphDef exported;
  ASSERT_TRUE(exported.ParseFromString(bytes));
  EXPECT_EQ(exported.node_size(), part.node_size());
  Graph copy;
  ASSERT_TRUE(ImportGraphDef(&copy, bytes).ok());
  EXPECT_EQ(ExportGraphDef(copy).value(), bytes);
}

TEST(WrittenByTfTest, Text) {
  const StatusOr<MessagePtr> message = ParseText("GraphDef", ReadFile("graph.pbtxt"));
  ASSERT_TRUE(message.ok()) << message.status();
  const auto& def = static_cast<const proto::GraphDef&>(**message);
  ExpectImportsOrNamesUnknownOps(def);
  ExpectKnownPartRoundTrips(def);
}

TEST(WrittenByTfTest, Binary) {
  for (const char* name : {"control_flow.pb", "functions.pb"}) {
    SCOPED_TRACE(name);
    proto::GraphDef def;
    ASSERT_TRUE(def.ParseFromString(ReadFile(name)));
    ExpectImportsOrNamesUnknownOps(def);
    ExpectKnownPartRoundTrips(def);
  }
}

TEST(WrittenByTfTest, SavedModel) {
  proto::SavedModel model;
  ASSERT_TRUE(model.ParseFromString(ReadFile("saved_model/saved_model.pb")));
  ASSERT_EQ(model.meta_graphs_size(), 1);
  ExpectImportsOrNamesUnknownOps(model.meta_graphs(0).graph_def());
  ExpectKnownPartRoundTrips(model.meta_graphs(0).graph_def());
}

}  // namespace
}  // namespace millstream
