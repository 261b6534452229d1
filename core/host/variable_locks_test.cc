// Kernels that lock several variables: one set after the other, as many as they like.
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/host/host_ctx.h"
#include "core/testing/kernel_bodies.h"
#include "core/testing/session_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

class VariableLocksTest : public SessionTest {
 protected:
  // Variables of the values 0, 1, 2, ...
  std::vector<Output> Variables(int count) {
    std::vector<Output> handles;
    for (int i = 0; i < count; ++i) {
      handles.push_back(Variable(absl::StrCat("v", i), DataType::kFloat, PartialShape::Scalar()));
      const Output value = Constant(static_cast<float>(i));
      EXPECT_EQ(Execute({Assign(handles.back(), value)}), absl::OkStatus());
    }
    return handles;
  }

  // Locks the variables of these inputs and adds 100 to each.
  static Status Raise(MS_Frame* frame, const std::vector<uint32_t>& inputs) {
    const std::vector<uint32_t> modes(inputs.size(), MS_LOCK_WRITE);
    MS_LockSet* locks = nullptr;
    MS_RETURN_IF_ERROR(Taken(ResourceApi()->vars_lock(
        frame, inputs.data(), modes.data(), static_cast<uint32_t>(inputs.size()), &locks)));
    // What is entered is what is asked for, each once.
    EXPECT_THAT(std::set<millstream::Variable*>(locks->variables.begin(), locks->variables.end()),
                ElementsAreArray(locks->entered));
    Status status;
    for (uint32_t k = 0; k < inputs.size(); ++k) {
      MS_TensorView view{};
      status.Update(Taken(ResourceApi()->var_prepare_write(locks, k, &view)));
      if (status.ok()) *static_cast<float*>(view.mem.base) += 100;
    }
    ResourceApi()->vars_unlock(locks);
    return status;
  }

  std::vector<float> ValuesOf(const std::vector<Output>& handles) {
    std::vector<float> values;
    for (const Output& handle : handles) values.push_back(*Value(Read(handle)).data<float>());
    return values;
  }
};

TEST_F(VariableLocksTest, AKernelMayLockManyVariables) {
  const std::vector<Output> handles = Variables(200);
  const Output y = AddBody(&build, BodyKind::kPlain, handles, [](MS_Frame* frame) {
    std::vector<uint32_t> all(200);
    for (uint32_t i = 0; i < 200; ++i) all[i] = i;
    MS_RETURN_IF_ERROR(Raise(frame, all));
    return GiveScalar(frame, 1);
  });
  ASSERT_TRUE(Run({y}).ok());
  ASSERT_TRUE(Run({y}).ok());
  const std::vector<float> values = ValuesOf(handles);
  for (int i = 0; i < 200; ++i) EXPECT_EQ(values[i], static_cast<float>(200 + i));
}

TEST_F(VariableLocksTest, EverySetIsItsOwn) {
  const std::vector<Output> handles = Variables(3);
  const Output y = AddBody(&build, BodyKind::kPlain, handles, [](MS_Frame* frame) {
    const std::vector<std::vector<uint32_t>> sets = {{0, 1}, {1, 0}, {2}, {2}, {1, 1}, {}, {0, 2}};
    for (const std::vector<uint32_t>& set : sets) MS_RETURN_IF_ERROR(Raise(frame, set));
    return GiveScalar(frame, 1);
  });
  ASSERT_TRUE(Run({y}).ok());
  EXPECT_THAT(ValuesOf(handles), ElementsAre(300, 401, 302));
}

TEST_F(VariableLocksTest, ASetThatIsRefusedLeavesNothingBehind) {
  const std::vector<Output> handles = Variables(2);
  const Output y = AddBody(&build, BodyKind::kPlain, {handles[0], handles[1], Constant(1.0f)},
                           [](MS_Frame* frame) {
                             MS_RETURN_IF_ERROR(Raise(frame, {0, 1}));
                             ExpectError(Raise(frame, {1, 2}), absl::StatusCode::kInvalidArgument,
                                         {"input 2 is no handle of a variable"});
                             ExpectError(Raise(frame, {1, 3}), absl::StatusCode::kInvalidArgument,
                                         {"input 3 is no handle of a variable"});
                             MS_RETURN_IF_ERROR(Raise(frame, {1, 0}));
                             return GiveScalar(frame, 1);
                           });
  ASSERT_TRUE(Run({y}).ok());
  EXPECT_THAT(ValuesOf(handles), ElementsAre(200, 201));
}

}  // namespace
}  // namespace millstream
