#include <cstdlib>
#include <string>
#include <vector>

#include "core/c_api/testing.h"

namespace millstream::c_api {
namespace {

class FunctionsTest : public GraphFixture {
 protected:
  static void SetUpTestSuite() {
    setenv("MILLSTREAM_PLUGIN_PATH", "device_plugins/cpu/libmillstream_cpu.so", /*replace=*/0);
  }
  // A node of PyFunc from floats to floats.
  millstream_output Calling(const char* token, const std::vector<millstream_output>& inputs) {
    const AttrsHandle attrs(millstream_attrs_new());
    const int32_t result = kFloat;
    millstream_attrs_set_string(attrs.get(), "token", token, std::string(token).size());
    millstream_attrs_set_type_list(attrs.get(), "Tout", &result, 1);
    return Add("PyFunc", token, {inputs}, attrs.get());
  }
  Error Run(millstream_output fetch, std::vector<float>* values) {
    millstream_session* made = nullptr;
    ExpectOk(millstream_session_new(graph(), nullptr, 0, &made));
    const SessionHandle session(made);
    millstream_tensor* tensor = nullptr;
    Error error =
        millstream_session_run(made, nullptr, nullptr, 0, &fetch, 1, nullptr, 0, nullptr, &tensor);
    const TensorHandle result(tensor);
    if (error.code == 0) *values = FloatsOf(tensor);
    return error;
  }
};

// Doubles argument 0 in memory that it lends. Its token, and how often it can take the argument, go
// into what it gives.
void Double(millstream_function_call* call) {
  const std::string token = millstream_function_call_token(call);
  if (token != "double" || millstream_function_call_num_arguments(call) != 1) {
    return millstream_function_call_fail(call, kInvalidArgument, "another call");
  }
  const TensorHandle argument(millstream_function_call_take_argument(call, 0));
  EXPECT_EQ(millstream_function_call_take_argument(call, 0), nullptr);
  EXPECT_EQ(millstream_function_call_take_argument(call, 1), nullptr);
  EXPECT_EQ(millstream_function_call_take_argument(call, -1), nullptr);
  std::vector<float> lent = FloatsOf(argument.get());
  for (float& value : lent) value *= 2;
  const auto size = static_cast<int64_t>(lent.size());
  millstream_tensor* result = nullptr;
  ExpectOk(millstream_tensor_borrow(kFloat, &size, 1, lent.data(), lent.size() * sizeof(float),
                                    nullptr, nullptr, &result));
  millstream_function_call_add_result(call, result);
  millstream_tensor_free(result);
}

TEST_F(FunctionsTest, AFunctionGetsArgumentsAndGivesResultsThatAreCopiedIfLent) {
  millstream_set_function_caller(&Double);
  std::vector<float> values;
  ExpectOk(Run(Calling("double", {Const("x", {1, 2})}), &values));
  EXPECT_EQ(values, (std::vector<float>{2, 4}));
}

TEST_F(FunctionsTest, TheFirstErrorOfAFunctionIsThatOfTheStep) {
  millstream_set_function_caller([](millstream_function_call* call) {
    millstream_function_call_fail(call, kNotFound, "no function 'none'");
    millstream_function_call_fail(call, kInvalidArgument, "a second error");
  });
  std::vector<float> values;
  const Error error = Run(Calling("none", {}), &values);
  EXPECT_EQ(error.code, kNotFound);
  EXPECT_EQ(error.node, "none");
  EXPECT_NE(error.message.find("no function 'none'"), std::string::npos) << error.message;
  EXPECT_EQ(error.message.find("a second error"), std::string::npos) << error.message;
}

}  // namespace
}  // namespace millstream::c_api
