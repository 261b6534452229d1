#include "core/graph/error_details.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace millstream {
namespace {

TEST(ErrorDetailsTest, TheCauseStandsFirstThenTheNodeThenTheDetailsInOrder) {
  Status status = errors::InvalidArgument("it is wrong");
  status = WithErrorDetail(status, "inputs", "float32[2]");
  status = WithErrorDetail(status, "device", "CPU:0");
  status = WithErrorNode(status, "node 'y' (op F), made at model.py:7 in build");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "it is wrong\n"
            "  node 'y' (op F), made at model.py:7 in build\n"
            "  inputs: float32[2]\n"
            "  device: CPU:0");
}

TEST(ErrorDetailsTest, AContextGoesBeforeTheCause) {
  const Status named = WithErrorNode(errors::NotFound("no gradient"), "node 'y' (op F)");
  EXPECT_EQ(WithContext(named, "of the loss").message(),
            "of the loss: no gradient\n  node 'y' (op F)");
}

TEST(ErrorDetailsTest, SuccessStaysSuccess) {
  EXPECT_TRUE(WithErrorDetail(absl::OkStatus(), "inputs", "float32[2]").ok());
  EXPECT_TRUE(WithErrorNode(absl::OkStatus(), "node 'y'").ok());
}

TEST(ErrorDetailsTest, OfManyInputsTheFirstEightAreNamed) {
  std::vector<std::string> inputs(8, "x");
  EXPECT_EQ(JoinInputs(inputs), "x, x, x, x, x, x, x, x");
  inputs.resize(70, "x");
  EXPECT_EQ(JoinInputs(inputs), "x, x, x, x, x, x, x, x and 62 more");
  EXPECT_EQ(JoinInputs({}), "");
}

}  // namespace
}  // namespace millstream
