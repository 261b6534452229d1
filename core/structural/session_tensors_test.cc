// Tensors that a session keeps between steps.
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "core/testing/session_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

class SessionTensorsTest : public SessionTest {
 protected:
  std::string Keep(const Output& value) {
    return *Value(Op("GetSessionHandle", {value})).data<std::string>();
  }
  Output Text(const std::string& text) { return Constant(Tensor::Scalar<std::string>(text)); }
  Output Get(const std::string& handle, DataType dtype = DataType::kFloat) {
    return Op("GetSessionTensor", {Text(handle)}, {{"dtype", dtype}});
  }
  Status Delete(const std::string& handle) {
    return Execute({build.NodeOf("DeleteSessionTensor", {Text(handle)}, {})});
  }
};

TEST_F(SessionTensorsTest, ATensorIsKeptUntilItIsDeleted) {
  const std::string first = Keep(Constant(Values<float>({1, 2})));
  const std::string second = Keep(Constant(3.0f));
  EXPECT_THAT(first, StartsWith("GetSessionHandle;"));
  EXPECT_THAT(first, HasSubstr("device:CPU:0"));
  EXPECT_THAT(Elements<float>(Value(Get(first))), ElementsAre(1, 2));
  EXPECT_THAT(Elements<float>(Value(Get(second))), ElementsAre(3));
  EXPECT_EQ(Delete(first), absl::OkStatus());
  ExpectError(Error(Get(first)), kInvalid,
              {"is not in the session store", "(op GetSessionTensor)"});
  ExpectError(Delete(first), kInvalid, {"is not in the session store"});
  EXPECT_THAT(Elements<float>(Value(Get(second))), ElementsAre(3));
}

// Such a handle cannot be fetched, so the step was the last that held it.
TEST_F(SessionTensorsTest, ATensorGoesWithAHandleThatIsAResource) {
  const std::string first = Keep(Constant(1.0f));
  const std::string second = absl::StrReplaceAll(first, {{";1;", ";2;"}});
  const Output handle = Op("GetSessionHandleV2", {Constant(3.0f)});
  EXPECT_EQ(Execute({handle.node}), absl::OkStatus());
  ExpectError(Error(Get(second)), kInvalid, {"is not in the session store"});
}

// What the caller feeds is the caller's again when the step is over.
TEST_F(SessionTensorsTest, KeepsACopyOfWhatIsFed) {
  const Output x = Placeholder("x", DataType::kFloat);
  Tensor fed = Tensor::Scalar(1.0f);
  const Tensor handle = Value(Op("GetSessionHandle", {x}), {{x, fed}});
  *fed.data<float>() = 2;
  EXPECT_THAT(Elements<float>(Value(Get(*handle.data<std::string>()))), ElementsAre(1));
}

TEST_F(SessionTensorsTest, RefusesWhatIsNoHandle) {
  const std::string handle = Keep(Constant(3.0f));
  ExpectError(Error(Get(handle, DataType::kInt32)), kInvalid, {"has type float32"});
  for (const char* text : {"", "zzz", "GetSessionHandle;x;y", "GetSessionHandle;-1;y"}) {
    ExpectError(Error(Get(text)), kInvalid, {"is not in the session store"});
  }
  ExpectError(Error(Get(std::string("\0", 1))), kInvalid, {"handle '\\x00' is not in"});
  const Output texts = Constant(Values<std::string>({"a", "b"}));
  const auto node = TryNode("n", "DeleteSessionTensor", {texts});
  ExpectError(node.status(), kInvalid, {"handle"});
}

}  // namespace
}  // namespace millstream
