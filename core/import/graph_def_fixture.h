// GraphDefs that tests write as text, and what comes of importing them.
#ifndef MILLSTREAM_CORE_IMPORT_GRAPH_DEF_FIXTURE_H_
#define MILLSTREAM_CORE_IMPORT_GRAPH_DEF_FIXTURE_H_

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "core/import/graph_def.h"
#include "framework/message.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "millstream/framework/protos/graph.pb.h"

namespace millstream {

// "x", a float placeholder of any shape.
inline constexpr char kX[] =
    R"(node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } } )";

// A float node of one op. `inputs`: "a", "b:1", "^c" ...
inline std::string NodeText(const std::string& name, const std::string& op,
                            const std::vector<std::string>& inputs) {
  std::string text = absl::StrCat("node { name: \"", name, "\" op: \"", op, "\" ");
  for (const std::string& input : inputs) absl::StrAppend(&text, "input: \"", input, "\" ");
  return absl::StrCat(text, "attr { key: \"T\" value { type: DT_FLOAT } } } ");
}

inline std::string NoOpText(const std::string& name, const std::vector<std::string>& inputs) {
  std::string text = absl::StrCat("node { name: \"", name, "\" op: \"NoOp\" ");
  for (const std::string& input : inputs) absl::StrAppend(&text, "input: \"", input, "\" ");
  return absl::StrCat(text, "} ");
}

// A loop over x: Enter, Merge, a body, NextIteration, Exit.
inline std::string LoopText(const std::string& body_op) {
  return absl::StrCat(
      kX, NodeText("merge", "Merge", {"enter", "next"}), NodeText("exit", "Exit", {"merge"}),
      NodeText("body", body_op, {"merge"}), NodeText("next", "NextIteration", {"body"}),
      absl::StrReplaceAll(NodeText("enter", "Enter", {"x"}),
                          {{"attr {", "attr { key: \"frame_name\" value { s: \"f\" } } attr {"}}));
}

inline std::string WithCount(const std::string& text) {
  return absl::StrReplaceAll(text, {{"input: \"next\" attr {",
                                     "input: \"next\" attr { key: \"N\" value { i: 2 } } attr {"}});
}

inline std::string Bytes(const std::string& text) {
  const StatusOr<MessagePtr> message = ParseText("GraphDef", text);
  EXPECT_TRUE(message.ok()) << message.status();
  return message.ok() ? ToBinary(**message).value() : "";
}

inline StatusOr<ImportResult> ImportText(Graph* graph, const std::string& text,
                                         const ImportOptions& options = ImportOptions()) {
  return ImportGraphDef(graph, Bytes(text), options);
}

inline proto::GraphDef Exported(const Graph& graph, bool with_shapes = false) {
  const StatusOr<std::string> bytes = ExportGraphDef(graph, with_shapes);
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  proto::GraphDef def;
  EXPECT_TRUE(bytes.ok() && def.ParseFromString(*bytes));
  return def;
}

// The error of importing `text`; the graph must not have changed.
inline Status ImportError(const std::string& text, const ImportOptions& options = ImportOptions()) {
  Graph graph;
  const Status status = ImportText(&graph, text, options).status();
  EXPECT_EQ(graph.num_nodes(), 0) << status;
  return status;
}

#define EXPECT_ERROR(status, expected_code, text)                          \
  do {                                                                     \
    const Status& error = (status);                                        \
    EXPECT_EQ(error.code(), (expected_code)) << error;                     \
    EXPECT_THAT(std::string(error.message()), ::testing::HasSubstr(text)); \
  } while (false)

inline constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

}  // namespace millstream

#endif  // MILLSTREAM_CORE_IMPORT_GRAPH_DEF_FIXTURE_H_
