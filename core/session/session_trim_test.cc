// What a session keeps for later steps, and gives back when it is told to, or closed.
#include <algorithm>
#include <memory>
#include <vector>

#include "core/session/session.h"
#include "core/testing/session_fixture.h"
#include "framework/allocator.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

constexpr int64_t kElements = int64_t{1} << 20;
constexpr int64_t kBytes = kElements * static_cast<int64_t>(sizeof(float));

class SessionTrimTest : public SessionTest {
 protected:
  SessionTrimTest() {
    x = Placeholder("x", DataType::kFloat, PartialShape::Vector(kElements));
    w = Variable("w", DataType::kFloat, PartialShape::Vector(kElements));
    assign = Assign(w, x);
    y = Op("Add", {Read(w), Op("Exp", {x})});
  }

  Tensor Filled(float value) const { return Values<float>(std::vector<float>(kElements, value)); }
  static bool IsAll(const Tensor& tensor, float value) {
    const std::vector<float> elements = Elements<float>(tensor);
    return std::all_of(elements.begin(), elements.end(), [=](float e) { return e == value; });
  }
  static int64_t InUse() { return HostAllocator()->stats().bytes_in_use; }

  Output x, w, y;
  const Node* assign = nullptr;
};

TEST_F(SessionTrimTest, StepsMemoryGoesAndVariablesStay) {
  const Tensor zeros = Filled(0);
  StartSession();
  const int64_t before = InUse();
  ASSERT_EQ(Execute({assign}, {{x, Filled(2)}}), absl::OkStatus());
  EXPECT_TRUE(IsAll(Value(y, {{x, zeros}}), 3));
  EXPECT_GE(InUse() - before, 2 * kBytes) << "the variable, and what the step keeps";
  ASSERT_EQ(session->Trim(), absl::OkStatus());
  EXPECT_LT(InUse() - before, kBytes + kBytes / 16) << "the variable";
  EXPECT_EQ(KeptHostMemory(), 0u);
  EXPECT_TRUE(IsAll(Value(y, {{x, zeros}}), 3));
}

TEST_F(SessionTrimTest, ACallableWorksAfterwards) {
  StartSession();
  ASSERT_EQ(Execute({assign}, {{x, Filled(2)}}), absl::OkStatus());
  StepSignature signature;
  signature.feeds = {x};
  signature.fetches = {y};
  const std::unique_ptr<Callable> callable = MakeCallable(signature);
  const Tensor zeros = Filled(0);
  for (int i = 0; i < 3; ++i) {
    Tensor result;
    ASSERT_EQ(callable->Run({&zeros, 1}, absl::MakeSpan(&result, 1), RunOptions()),
              absl::OkStatus());
    EXPECT_TRUE(IsAll(result, 3));
    ASSERT_EQ(session->Trim(), absl::OkStatus());
  }
}

// Sessions that save what nodes were given copy variables before they change, and keep the memory,
// where the bounds of numbers do not tell that there will be nothing to save.
TEST_F(SessionTrimTest, CopiesOfVariablesGo) {
  SessionOptions options;
  options.check_numerics = true;
  options.check_numerics_folder = ::testing::TempDir();
  const Tensor huge = Filled(1e35f);
  const Tensor small = Filled(1);
  const Node* const add = build.NodeOf("AssignAddVariableOp", {w, x});
  StartSession(options);
  const int64_t before = InUse();
  ASSERT_EQ(Execute({assign}, {{x, small}}), absl::OkStatus());
  for (int i = 0; i < 2; ++i) ASSERT_EQ(Execute({add}, {{x, huge}}), absl::OkStatus());
  EXPECT_GE(InUse() - before, 2 * kBytes) << "the variable, and the copy";
  ASSERT_EQ(session->Trim(), absl::OkStatus());
  EXPECT_LT(InUse() - before, kBytes + kBytes / 16) << "the variable";
  ASSERT_EQ(Execute({add}, {{x, huge}}), absl::OkStatus());
  EXPECT_GE(InUse() - before, 2 * kBytes);
  ASSERT_EQ(Execute({assign}, {{x, small}}), absl::OkStatus());
  for (int i = 0; i < 2; ++i) ASSERT_EQ(Execute({add}, {{x, small}}), absl::OkStatus());
  EXPECT_LT(InUse() - before, kBytes + kBytes / 16) << "a copy that nobody needs went by itself";
  ASSERT_EQ(session->Close(), absl::OkStatus());
  EXPECT_LT(InUse() - before, kBytes / 16);
}

TEST_F(SessionTrimTest, ClosingGivesTheProcesssUnusedMemoryBack) {
  StartSession();
  ASSERT_EQ(Execute({assign}, {{x, Filled(2)}}), absl::OkStatus());
#if !defined(__SANITIZE_ADDRESS__)  // under which the allocator keeps nothing
  EXPECT_GT(KeptHostMemory(), 0u);
#endif
  ASSERT_EQ(session->Close(), absl::OkStatus());
  EXPECT_EQ(KeptHostMemory(), 0u);
}

TEST_F(SessionTrimTest, AClosedSessionHasNothingToGive) {
  StartSession();
  ASSERT_EQ(session->Close(), absl::OkStatus());
  EXPECT_EQ(session->Trim().code(), absl::StatusCode::kFailedPrecondition);
}

// All signatures together, not each, may keep memory.
TEST_F(SessionTrimTest, ManySignaturesKeepNoMoreThanABudget) {
  const int64_t before = InUse();
  for (int i = 0; i < 60; ++i) {
    const Output more = Op("Mul", {Op("Exp", {x}), Op("Square", {x})});
    EXPECT_TRUE(IsAll(Value(more, {{x, Filled(0)}}), 0));
  }
  EXPECT_LE(InUse() - before, (int64_t{64} << 20) + 5 * 3 * kBytes);
}

}  // namespace
}  // namespace millstream
