#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/testing/session_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

class PrintingTest : public SessionTest {
 protected:
  Output Text(const std::string& text) { return Constant(Tensor::Scalar<std::string>(text)); }
  // What `run` writes to the standard error.
  template <typename Function>
  static std::string Printed(Function run) {
    ::testing::internal::CaptureStderr();
    run();
    return ::testing::internal::GetCapturedStderr();
  }
  const Node* PrintText(const std::string& text, GraphBuilder::Attrs attrs) {
    const Node* const node = build.NodeOf("PrintV2", {Text(text)}, attrs);
    EXPECT_TRUE(build.ok()) << build.status();
    return node;
  }
  Output Print(const Output& x, const std::vector<Output>& data, GraphBuilder::Attrs attrs) {
    const Node* const node = build.Variadic("Print", {{x}, data}, attrs);
    EXPECT_TRUE(build.ok()) << build.status();
    return node->output(0);
  }
  static std::string Contents(const std::string& path) {
    std::ifstream file(path);
    std::ostringstream contents;
    contents << file.rdbuf();
    return contents.str();
  }
};

// ---- Assert ----

TEST_F(PrintingTest, AssertPassesWhenTheConditionHolds) {
  const Output condition = Placeholder("condition", DataType::kBool);
  const Node* const check =
      build.Variadic("Assert", {{condition}, {Constant(1)}}, {{"summarize", int64_t{3}}});
  EXPECT_TRUE(Execute({check}, {{condition, Tensor::Scalar<bool>(true)}}).ok());
}

TEST_F(PrintingTest, AssertShowsTheFirstElementsOfEachTensor) {
  const Output condition = Placeholder("condition", DataType::kBool);
  const Node* const check = build.Variadic(
      "Assert",
      {{condition}, {Constant(Values<int32_t>({1, -2, 3})), Text("reason"), Constant(0.5f)}},
      {{"summarize", int64_t{2}}});
  const Status status = Execute({check}, {{condition, Tensor::Scalar<bool>(false)}});
  ExpectError(
      status, kInvalid,
      {"assertion failed: [1 -2...] [reason] [0.5]", absl::StrCat("node '", check->name(), "'")});
}

TEST_F(PrintingTest, TheConditionOfAssertMustBeAScalar) {
  const Output condition = Placeholder("condition", DataType::kBool);
  const Node* const check =
      build.Variadic("Assert", {{condition}, {Constant(1)}}, {{"summarize", int64_t{3}}});
  ExpectError(Execute({check}, {{condition, Values<bool>({true})}}), kInvalid,
              {"argument 'condition' of Assert: Shapes must be equal rank"});
}

// ---- Print ----

TEST_F(PrintingTest, PrintPassesATensorOnAndShowsOthers) {
  const Output x = Placeholder("x", DataType::kFloat);
  const Output printed = Print(x, {Text("x is"), x},
                               {{"message", std::string("values: ")}, {"summarize", int64_t{2}}});
  const std::string line = Printed([&] {
    EXPECT_THAT(Elements<float>(Value(printed, {{x, Values<float>({5, 6, 7})}})),
                ElementsAre(5, 6, 7));
  });
  EXPECT_EQ(line, "values: [x is][5 6...]\n");
}

TEST_F(PrintingTest, PrintCountsTheExecutionsOfASession) {
  const Output printed = Print(Constant(1), {Constant(2)}, {{"first_n", int64_t{2}}});
  const auto run_thrice = [&] {
    for (int i = 0; i < 3; ++i) Value(printed);
  };
  EXPECT_EQ(Printed(run_thrice), "[2]\n[2]\n");
  session.reset();
  EXPECT_EQ(Printed(run_thrice), "[2]\n[2]\n");
}

TEST_F(PrintingTest, PrintMayShowNothingButItsMessage) {
  const Output printed = Print(Constant(1), {}, {{"message", std::string("here")}});
  EXPECT_EQ(Printed([&] { Value(printed); }), "here\n");
  EXPECT_EQ(Printed([&] { Value(Print(Constant(1), {}, {{"first_n", int64_t{0}}})); }), "");
}

// ---- PrintV2 ----

TEST_F(PrintingTest, ATextIsPrintedToTheStreamThatTheNodeNames) {
  const Node* const plain = PrintText("one", {});
  const Node* const ended = PrintText("two", {{"end", std::string("!")}});
  const Node* const warning = PrintText("three", {{"output_stream", std::string("log(warning)")}});
  EXPECT_EQ(Printed([&] { EXPECT_TRUE(Execute({plain}).ok()); }), "one\n");
  EXPECT_EQ(Printed([&] { EXPECT_TRUE(Execute({ended}).ok()); }), "two!");
  EXPECT_EQ(Printed([&] { EXPECT_TRUE(Execute({warning}).ok()); }), "WARNING:three\n");
}

TEST_F(PrintingTest, ATextIsPrintedToTheStandardOutput) {
  const Node* const node = PrintText("one", {{"output_stream", std::string("stdout")}});
  StartSession();
  ::testing::internal::CaptureStdout();
  EXPECT_TRUE(Execute({node}).ok());
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "one\n");
}

TEST_F(PrintingTest, TextsAreAppendedToAFile) {
  const std::string path = ::testing::TempDir() + "/printed.txt";
  std::remove(path.c_str());
  const Node* const node = PrintText("one", {{"output_stream", absl::StrCat("file://", path)}});
  EXPECT_TRUE(Execute({node}).ok());
  EXPECT_TRUE(Execute({node}).ok());
  EXPECT_EQ(Contents(path), "one\none\n");
}

TEST_F(PrintingTest, AFileThatCannotBeWrittenIsAnErrorWithItsPath) {
  const Node* const node =
      PrintText("one", {{"output_stream", std::string("file:///no/such/folder/f")}});
  ExpectError(Execute({node}), absl::StatusCode::kNotFound,
              {"/no/such/folder/f", absl::StrCat("node '", node->name(), "'")});
}

TEST_F(PrintingTest, AnUnknownStreamIsAnError) {
  for (const char* name : {"stdnone", "", "file://"}) {
    const Node* const node = PrintText("one", {{"output_stream", std::string(name)}});
    ExpectError(Execute({node}), kInvalid,
                {"Unknown output stream", absl::StrCat("node '", node->name(), "'")});
  }
}

// ---- StringFormat ----

TEST_F(PrintingTest, TensorsStandWhereTheTemplateHasItsPlaceholder) {
  const Node* const text =
      build.Variadic("StringFormat", {{Constant(Values<int32_t>({1, 2, 3})), Text("a")}},
                     {{"template", std::string("x {}, y {}.")},
                      {"placeholder", std::string("{}")},
                      {"summarize", int64_t{1}}});
  ASSERT_TRUE(build.ok()) << build.status();
  EXPECT_THAT(Elements<std::string>(Value(text->output(0))), ElementsAre("x [1 ... 3], y \"a\"."));
}

TEST_F(PrintingTest, ATemplateHasAPlaceForEachInput) {
  GraphBuilder too_many(&graph, "");
  too_many.Variadic("StringFormat", {{Constant(1)}}, {{"template", std::string("none")}});
  ExpectError(too_many.status(), kInvalid, {"got 0 placeholders in template and 1 inputs"});
  GraphBuilder no_placeholder(&graph, "");
  no_placeholder.Variadic("StringFormat", {{}}, {{"placeholder", std::string()}});
  ExpectError(no_placeholder.status(), kInvalid,
              {"attribute 'placeholder' of StringFormat: expected a text"});
}

}  // namespace
}  // namespace millstream
