// The elementwise kernels that take strings.
#include <string>
#include <vector>

#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsOk;
using testing::KernelTester;
using Strings = std::vector<std::string>;

TEST(StringFunctionsTest, AddJoinsWithBroadcasting) {
  KernelTester t("Add");
  t.Attr("T", MS_STRING).Input<std::string>({2}, {"a", ""});
  t.Input<std::string>({2, 1}, {"x", std::string("\0y", 2)});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.OutputShape(0), (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(t.Output<std::string>(0),
            (Strings{"ax", "x", std::string("a\0y", 3), std::string("\0y", 2)}));
}

TEST(StringFunctionsTest, AddRefusesShapesThatDoNotBroadcast) {
  KernelTester t("Add");
  t.Attr("T", MS_STRING).Input<std::string>({2}, {"a", "b"});
  t.Input<std::string>({3}, {"x", "y", "z"});
  EXPECT_EQ(t.Run().code(), MS_INVALID_ARGUMENT);
}

std::vector<bool> Compare(const std::string& op, const std::vector<int64_t>& y_shape,
                          const Strings& y, bool strict) {
  KernelTester t(op);
  t.Attr("T", MS_STRING).Attr("incompatible_shape_error", strict).Outputs({MS_BOOL});
  t.Input<std::string>({3}, {"a", "", "ab"}).Input<std::string>(y_shape, y);
  EXPECT_TRUE(IsOk(t.Run()));
  return t.Output<bool>(0);
}

TEST(StringFunctionsTest, EqualityComparesBytes) {
  using Bools = std::vector<bool>;
  EXPECT_EQ(Compare("Equal", {3}, {"a", "b", "ab"}, true), (Bools{true, false, true}));
  EXPECT_EQ(Compare("NotEqual", {3}, {"a", "b", "ab"}, true), (Bools{false, true, false}));
  EXPECT_EQ(Compare("Equal", {}, {"ab"}, true), (Bools{false, false, true}));
  EXPECT_EQ(Compare("Equal", {0}, {}, false), (Bools{false}));
  EXPECT_EQ(Compare("NotEqual", {2}, {"a", "b"}, false), (Bools{true}));
}

TEST(StringFunctionsTest, JoinPutsSeparatorsBetween) {
  KernelTester t("StringJoin");
  t.Attr("N", int64_t{3}).Attr("separator", std::string("+")).Outputs({MS_STRING});
  t.Input<std::string>({2}, {"a", ""}).Input<std::string>({}, {"b"});
  t.Input<std::string>({2}, {"c", std::string("\0d", 2)});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.OutputShape(0), (std::vector<int64_t>{2}));
  EXPECT_EQ(t.Output<std::string>(0), (Strings{"a+b+c", std::string("+b+\0d", 5)}));

  KernelTester wrong("StringJoin");
  wrong.Attr("N", int64_t{2}).Attr("separator", std::string()).Outputs({MS_STRING});
  wrong.Input<std::string>({2}, {"a", "b"}).Input<std::string>({1}, {"c"});
  EXPECT_EQ(wrong.Run().message(),
            "Input shapes do not match: inputs[1] has shape [1], an input before it [2]");
}

TEST(StringFunctionsTest, FillRepeatsAText) {
  KernelTester t("Fill");
  t.Attr("T", MS_STRING).Attr("index_type", MS_INT32);
  t.ConstInput<int32_t>({2}, {2, 2}).Input<std::string>({}, {"text"});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.OutputShape(0), (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(t.Output<std::string>(0), Strings(4, "text"));
}

TEST(StringFunctionsTest, ZerosAreEmpty) {
  KernelTester t("ZerosLike");
  t.Attr("T", MS_STRING).Input<std::string>({2}, {"a", "b"});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<std::string>(0), Strings(2));
}

Strings Select(const std::vector<int64_t>& condition_shape, const std::vector<bool>& condition) {
  KernelTester t("Select");
  t.Attr("T", MS_STRING).Outputs({MS_STRING});
  t.Input<bool>(condition_shape, condition);
  t.Input<std::string>({2, 2}, {"a", "b", "c", "d"});
  t.Input<std::string>({2, 2}, {"w", "x", "y", "z"});
  EXPECT_TRUE(IsOk(t.Run()));
  return t.Output<std::string>(0);
}

TEST(StringFunctionsTest, SelectChoosesElementsRowsOrEverything) {
  EXPECT_EQ(Select({2, 2}, {true, false, false, true}), (Strings{"a", "x", "y", "d"}));
  EXPECT_EQ(Select({2}, {false, true}), (Strings{"w", "x", "c", "d"}));
  EXPECT_EQ(Select({}, {false}), (Strings{"w", "x", "y", "z"}));
}

}  // namespace
}  // namespace millstream::kernels
