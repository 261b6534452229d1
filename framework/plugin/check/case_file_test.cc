// The file of cases, whole and damaged.
#include "framework/plugin/check/case_file.h"

#include <cstring>
#include <string>
#include <vector>

#include "framework/attr_value.h"
#include "framework/plugin/check/op_specs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream::plugin_check {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kFloat = 1;
constexpr char kString = 7;

template <typename T>
std::string Bytes(T number) {
  std::string bytes(sizeof(number), '\0');
  std::memcpy(&bytes[0], &number, sizeof(number));
  return bytes;
}
std::string ShortText(const std::string& text) { return static_cast<char>(text.size()) + text; }

struct Written {
  char type = kFloat;
  std::vector<int64_t> sizes;
  std::string content;
};

std::string InputOf(const Written& written) {
  std::string text = {written.type, 0, static_cast<char>(written.sizes.size())};
  for (const int64_t size : written.sizes) text += Bytes(size);
  return text + Bytes(static_cast<uint32_t>(written.content.size())) + written.content;
}

// A file with one node of an op of one input.
std::string FileOf(const std::string& op, const std::string& type, const Written& written) {
  return "MSCASES1" + ShortText(op) + std::string("\0\1", 2) + ShortText("T") + ShortText(type) +
         "\1" + InputOf(written);
}
std::string NegOf(const Written& written) { return FileOf("Neg", "float", written); }

std::string ErrorOf(const std::string& content) {
  const StatusOr<CasesByOp> cases = ReadCases(content, KnownOps());
  return cases.ok() ? "OK" : std::string(cases.status().message());
}

TEST(CaseFileTest, ACaseHasItsAttributesAndInputs) {
  const auto cases = ReadCases(NegOf({kFloat, {2, 1}, Bytes(1.5f) + Bytes(-2.0f)}), KnownOps());
  ASSERT_TRUE(cases.ok()) << cases.status();
  const KernelCase& neg = cases->at("Neg").at(0);
  EXPECT_EQ(neg.text, "[2,1]");
  EXPECT_EQ(*FindAttr(neg.attrs, "T")->get<DataType>(), DataType::kFloat);
  const float* const values = neg.inputs.at(0).value.data<float>();
  EXPECT_THAT(std::vector<float>(values, values + 2), ElementsAre(1.5f, -2.0f));
}

TEST(CaseFileTest, TheFirstElementsOfALargeTensorAreRepeated) {
  std::string content;
  for (int i = 0; i < 64; ++i) content += Bytes(static_cast<float>(i));
  const auto cases = ReadCases(NegOf({kFloat, {3, 50}, content}), KnownOps());
  ASSERT_TRUE(cases.ok()) << cases.status();
  const Tensor& value = cases->at("Neg").at(0).inputs.at(0).value;
  EXPECT_EQ(value.data<float>()[63], 63);
  EXPECT_EQ(value.data<float>()[64], 0);
  EXPECT_EQ(value.data<float>()[149], 149 % 64);
}

TEST(CaseFileTest, EveryCutOfAFileIsRefused) {
  const std::string whole = NegOf({kFloat, {2}, Bytes(1.5f) + Bytes(-2.0f)});
  ASSERT_EQ(ErrorOf(whole), "OK");
  for (size_t size = 0; size < whole.size(); ++size) {
    if (size == 8) continue;  // a file without cases
    EXPECT_NE(ErrorOf(whole.substr(0, size)), "OK") << size;
  }
}

TEST(CaseFileTest, NoChangedByteIsDangerous) {
  const std::string whole =
      NegOf({kFloat, {2}, Bytes(1.5f) + Bytes(-2.0f)}) +
      FileOf("Unique", "string", {kString, {2}, ShortText("a") + "\0"}).substr(8);
  for (size_t i = 0; i < whole.size(); ++i) {
    for (int value = 0; value < 256; ++value) {
      std::string changed = whole;
      changed[i] = static_cast<char>(value);
      const auto cases = ReadCases(changed, KnownOps());
      if (!cases.ok()) continue;
      for (const auto& [op, of_op] : *cases) EXPECT_EQ(of_op.size(), 1u) << op;
    }
  }
}

TEST(CaseFileTest, ShapesAreBounded) {
  EXPECT_THAT(ErrorOf(NegOf({kFloat, std::vector<int64_t>(200, 1), Bytes(1.0f)})),
              HasSubstr("200"));
  EXPECT_THAT(ErrorOf(NegOf({kFloat, {int64_t{1} << 40}, std::string(256, 'x')})),
              HasSubstr("expected at most 8388608 elements"));
  EXPECT_NE(ErrorOf(NegOf({kFloat, {int64_t{1} << 40, int64_t{1} << 40}, ""})), "OK");
  EXPECT_NE(ErrorOf(NegOf({kFloat, {-1}, ""})), "OK");
}

TEST(CaseFileTest, AllTensorsTogetherAreBounded) {
  const std::string whole = NegOf({kFloat, {5'000'000}, std::string(256, 'x')});
  EXPECT_EQ(ErrorOf(whole), "OK");
  EXPECT_THAT(ErrorOf(whole + whole.substr(8)), HasSubstr("expected at most 8388608 elements"));
}

TEST(CaseFileTest, InputsAreThoseOfTheOp) {
  EXPECT_EQ(ErrorOf(NegOf({kString, {1}, ShortText("a")})), "the inputs are not those of Neg");
  EXPECT_EQ(ErrorOf(NegOf({99, {1}, "abcd"})), "there is no type 99");
  EXPECT_EQ(ErrorOf(NegOf({20, {1}, "abcd"})), "an input is of type resource");
  EXPECT_EQ(ErrorOf(FileOf("AddV2", "float", {kFloat, {}, Bytes(1.0f)})),
            "the inputs are not those of AddV2");
  EXPECT_THAT(ErrorOf(FileOf("NoSuchOp", "float", {})), HasSubstr("NoSuchOp"));
}

TEST(CaseFileTest, AnotherFileIsNone) {
  EXPECT_EQ(ErrorOf(""), "expected a file of cases, which begins with MSCASES1");
  EXPECT_EQ(ErrorOf("\x7f"
                    "ELF and more"),
            "expected a file of cases, which begins with MSCASES1");
}

}  // namespace
}  // namespace millstream::plugin_check
