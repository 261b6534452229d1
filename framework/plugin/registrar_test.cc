#include "framework/plugin/registrar.h"

#include "framework/plugin/host_status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

// A good definition that each test spoils in one place.
class RegistrarTest : public ::testing::Test {
 protected:
  RegistrarTest() {
    EXPECT_TRUE(ops_.Register(OpSpec("Blend")
                                  .Input("x: T")
                                  .Input("axis: int32")
                                  .Output("y: T")
                                  .Attr("T: {float, double}")
                                  .Attr("mode: string = 'a'")
                                  .Build()
                                  .value())
                    .ok());
    constraint_.head.size = sizeof(constraint_);
    constraint_.attr = ToAbi("T");
    constraint_.dtypes = dtypes_;
    constraint_.n_dtypes = 2;
    definition_.head.size = sizeof(definition_);
    definition_.op = ToAbi("Blend");
    definition_.device_type = ToAbi("CPU");
    definition_.constraints = constraints_;
    definition_.n_constraints = 1;
    definition_.host_args = &host_arg_;
    definition_.n_host_args = 1;
    definition_.in_place = &in_place_;
    definition_.n_in_place = 1;
    definition_.create = [](void*, const MS_KernelInfo*, void**) -> MS_Status* { return nullptr; };
    definition_.compute = [](void*, MS_Frame*) -> MS_Status* { return nullptr; };
    definition_.destroy = [](void*) {};
  }

  // The code and message of a refusal.
  void ExpectRefused(absl::StatusCode code, const std::string& text) {
    const Status status = ReadKernelDef(definition_, "test", ops_).status();
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
  }

  OpRegistry ops_;
  MS_DType dtypes_[2] = {MS_FLOAT32, MS_FLOAT64};
  MS_TypeConstraint constraint_ = {};
  const MS_TypeConstraint* constraints_[1] = {&constraint_};
  MS_Str host_arg_ = ToAbi("axis");
  MS_InPlacePair in_place_ = {0, 0};
  MS_KernelDef definition_ = {};
};

TEST_F(RegistrarTest, ADefinitionIsCopied) {
  definition_.priority = -3;
  definition_.flags = MS_KERNEL_INEXPENSIVE;
  const StatusOr<KernelRegistration> kernel = ReadKernelDef(definition_, "test", ops_);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  EXPECT_EQ(kernel->op, "Blend");
  EXPECT_EQ(kernel->device_type, "CPU");
  EXPECT_EQ(kernel->plugin, "test");
  EXPECT_EQ(kernel->priority, -3);
  EXPECT_EQ(kernel->flags, MS_KERNEL_INEXPENSIVE);
  ASSERT_EQ(kernel->constraints.size(), 1u);
  EXPECT_EQ(kernel->constraints[0].attr, "T");
  EXPECT_EQ(kernel->constraints[0].types, (DataTypeList{DataType::kFloat, DataType::kDouble}));
  EXPECT_THAT(kernel->host_args, ::testing::ElementsAre("axis"));
  EXPECT_EQ(kernel->in_place.size(), 1u);
}

TEST_F(RegistrarTest, UnknownNamesAreRefused) {
  definition_.op = ToAbi("Bland");
  ExpectRefused(absl::StatusCode::kInvalidArgument, "kernel for op Bland on CPU: ");
  definition_.op = ToAbi("Blend");
  constraint_.attr = ToAbi("mode");
  ExpectRefused(absl::StatusCode::kInvalidArgument,
                "constrains \"mode\", but op Blend has no such type attribute");
  constraint_.attr = ToAbi("T");
  host_arg_ = ToAbi("axes");
  ExpectRefused(absl::StatusCode::kInvalidArgument,
                "host argument \"axes\" is no argument of op Blend");
}

TEST_F(RegistrarTest, PositionsBeyondTheArgumentsAreRefused) {
  in_place_ = {1, 0};
  ExpectRefused(absl::StatusCode::kInvalidArgument, "names output 1 of 1");
  in_place_ = {0, 2};
  ExpectRefused(absl::StatusCode::kInvalidArgument, "names input 2 of 2");
}

TEST_F(RegistrarTest, UnknownConstantsAreUnimplemented) {
  dtypes_[1] = MS_DTYPE(0x77, 8);
  ExpectRefused(absl::StatusCode::kUnimplemented, "is unknown");
  dtypes_[1] = MS_FLOAT64;
  definition_.flags = 1u << 20;
  ExpectRefused(absl::StatusCode::kUnimplemented, "flags 100000 (bits) are unknown");
  definition_.flags = 0;
  definition_.head.required = 4;
  ExpectRefused(absl::StatusCode::kUnimplemented, "MS_KernelDef requires features 4");
}

TEST_F(RegistrarTest, ShortStructsAreRefusedAndLongOnesRead) {
  definition_.head.size = 100;
  ExpectRefused(absl::StatusCode::kInvalidArgument, "MS_KernelDef has 100 bytes");
  definition_.head.size = sizeof(definition_) + 64;
  EXPECT_TRUE(ReadKernelDef(definition_, "test", ops_).ok());
}

TEST_F(RegistrarTest, MissingFunctionsAreRefused) {
  definition_.compute = nullptr;
  ExpectRefused(absl::StatusCode::kInvalidArgument, "compute is null");
  definition_.flags = MS_KERNEL_ASYNC;
  ExpectRefused(absl::StatusCode::kInvalidArgument, "compute_async is null");
  definition_.compute_async = [](void*, MS_Frame*, MS_Done*) {};
  EXPECT_TRUE(ReadKernelDef(definition_, "test", ops_).ok());
  definition_.specialize = [](void*, MS_Specialization*) -> MS_Status* { return nullptr; };
  ExpectRefused(absl::StatusCode::kInvalidArgument, "specialize and unspecialize");
}

TEST_F(RegistrarTest, ARefusalIsRememberedThoughThePluginGoesOn) {
  const auto* api = reinterpret_cast<const MS_RegistryApi*>(RegistryInterface());
  MS_Registrar registrar("test", &ops_);
  definition_.op = ToAbi("Bland");
  const Status refused = TakeAbiStatus(api->kernel_register(&registrar, &definition_));
  definition_.op = ToAbi("Blend");
  EXPECT_EQ(api->kernel_register(&registrar, &definition_), nullptr);
  EXPECT_EQ(registrar.kernels.size(), 1u);
  EXPECT_EQ(registrar.first_error, refused);
  EXPECT_FALSE(refused.ok());
}

}  // namespace
}  // namespace millstream
