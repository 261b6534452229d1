// What holds for every op that is registered.
#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
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

// A change of a signature breaks graphs that were saved, so it must be meant: the new text comes
// from `bazel run //framework/ops:list_signatures`.
TEST(OpRegistryContentsTest, SignaturesAreThoseOfTheGoldenFile) {
  std::ifstream file(kGolden);
  ASSERT_TRUE(file.is_open()) << kGolden;
  std::stringstream golden;
  golden << file.rdbuf();
  const std::vector<std::string> expected = absl::StrSplit(golden.str(), '\n');
  const std::vector<std::string> actual = absl::StrSplit(AllSignaturesText(), '\n');
  for (size_t i = 0; i < std::min(expected.size(), actual.size()); ++i) {
    ASSERT_EQ(actual[i], expected[i]) << kGolden << ":" << i + 1;
  }
  EXPECT_EQ(actual.size(), expected.size());
}

}  // namespace
}  // namespace millstream
