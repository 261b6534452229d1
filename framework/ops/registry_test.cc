// What holds for every op that is registered.
#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "framework/op_registry.h"
#include "framework/ops/signature_text.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

constexpr char kGolden[] = "framework/ops/signatures.golden.txt";

TEST(OpRegistryContentsTest, EveryOpIsDocumented) {
  for (const OpDef* op : OpRegistry::Global()->List()) {
    const std::vector<std::string> lines = absl::StrSplit(op->doc, '\n');
    EXPECT_FALSE(lines[0].empty()) << op->name << " needs a summary line";
    EXPECT_LE(lines[0].size(), 100u) << op->name << " has too long a summary line";
    if (lines.size() > 1) {
      EXPECT_EQ(lines[1], "") << op->name << " needs a blank line after the summary";
      EXPECT_GT(lines.size(), 2u) << op->name << " has nothing after the blank line";
    }
  }
}

TEST(OpRegistryContentsTest, EveryOpHasAShapeFunction) {
  for (const OpDef* op : OpRegistry::Global()->List()) {
    EXPECT_NE(op->shape_function, nullptr) << op->name;
  }
}

TEST(OpRegistryContentsTest, EveryAttributeOfAnArgumentExists) {
  for (const OpDef* op : OpRegistry::Global()->List()) {
    for (const auto* args : {&op->inputs, &op->outputs}) {
      for (const ArgDef& arg : *args) {
        for (const std::string& attr : {arg.type_attr, arg.number_attr, arg.type_list_attr}) {
          if (!attr.empty()) {
            EXPECT_NE(op->FindAttr(attr), nullptr) << op->name << " " << attr;
          }
        }
      }
    }
  }
}

// What the table of the security page says of `outside`: the ops, in code font.
std::vector<std::string> DocumentedOps(absl::string_view outside) {
  std::ifstream file("docs/security.md");
  EXPECT_TRUE(file.is_open());
  const std::string start = absl::StrCat("| `", outside, "` |");
  for (std::string line; std::getline(file, line);) {
    if (!absl::StartsWith(line, start)) continue;
    const std::vector<std::string> cells = absl::StrSplit(line, '|');
    const std::string ops(absl::StripAsciiWhitespace(cells.at(3)));
    if (ops == "none") return {};
    std::vector<std::string> names;
    for (absl::string_view name : absl::StrSplit(ops, ", ")) {
      names.emplace_back(absl::StripPrefix(absl::StripSuffix(name, "`"), "`"));
    }
    return names;
  }
  ADD_FAILURE() << "no line about " << outside;
  return {};
}

TEST(OpRegistryContentsTest, TheSecurityPageNamesTheOpsThatTouchTheOutside) {
  for (absl::string_view outside : {kTouchesCode, kTouchesFiles, kTouchesNetwork, kTouchesOutput}) {
    std::vector<std::string> ops;
    for (const OpDef* op : OpRegistry::Global()->List()) {
      if (std::count(op->touches.begin(), op->touches.end(), outside) > 0) ops.push_back(op->name);
    }
    EXPECT_EQ(DocumentedOps(outside), ops) << "docs/security.md, the line about " << outside;
  }
}

TEST(OpRegistryContentsTest, OpsThatSeemToTouchTheOutsideSaySo) {
  for (const OpDef* op : OpRegistry::Global()->List()) {
    if (absl::StartsWith(op->name, "ShardedFile")) continue;  // these compose names, and open none
    for (const char* part : {"File", "Save", "Restore", "Print", "Reader", "PyFunc", "Rpc",
                             "Socket", "Library", "Dataset", "Checkpoint"}) {
      if (absl::StrContains(op->name, part)) {
        EXPECT_FALSE(op->touches.empty()) << op->name << ": what does it touch?";
      }
    }
  }
}

// A change of a signature breaks graphs that were saved, so it must be meant: the new text comes
// from the command below.
TEST(OpRegistryContentsTest, SignaturesAreThoseOfTheGoldenFile) {
  std::ifstream file(kGolden);
  ASSERT_TRUE(file.is_open()) << kGolden;
  std::stringstream golden;
  golden << file.rdbuf();
  const std::vector<std::string> expected = absl::StrSplit(golden.str(), '\n');
  const std::vector<std::string> actual = absl::StrSplit(AllSignaturesText(), '\n');
  constexpr char kUpdate[] = "./bazelw run //framework/ops:list_signatures -- --update";
  for (size_t i = 0; i < std::min(expected.size(), actual.size()); ++i) {
    ASSERT_EQ(actual[i], expected[i])
        << kGolden << ":" << i + 1 << "; where this is meant: " << kUpdate;
  }
  EXPECT_EQ(actual.size(), expected.size()) << kUpdate;
}

}  // namespace
}  // namespace millstream
