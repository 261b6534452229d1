#include "framework/status.h"

#include "gtest/gtest.h"

namespace millstream {
namespace {

TEST(StatusTest, ContextGoesBeforeTheMessageAndKeepsCodeAndPayloads) {
  Status inner = errors::NotFound("variable '", "v", "' number ", 3);
  inner.SetPayload("url", absl::Cord("bytes"));
  const Status outer = WithContext(inner, "node 'read'");
  EXPECT_EQ(outer.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(outer.message(), "node 'read': variable 'v' number 3");
  ASSERT_TRUE(outer.GetPayload("url").has_value());
  EXPECT_EQ(*outer.GetPayload("url"), "bytes");
}

TEST(StatusTest, ContextLeavesSuccessAlone) {
  EXPECT_TRUE(WithContext(absl::OkStatus(), "node 'read'").ok());
}

StatusOr<int> Half(int number) {
  if (number % 2 != 0) return errors::InvalidArgument("expected an even number, got ", number);
  return number / 2;
}

StatusOr<int> Quarter(int number) {
  MS_ASSIGN_OR_RETURN(const int half, Half(number));
  MS_RETURN_IF_ERROR(Half(half).status());
  return half / 2;
}

TEST(StatusTest, MacrosReturnTheFirstError) {
  EXPECT_EQ(*Quarter(8), 2);
  EXPECT_EQ(Quarter(7).status().message(), "expected an even number, got 7");
  EXPECT_EQ(Quarter(6).status().message(), "expected an even number, got 3");
}

}  // namespace
}  // namespace millstream
