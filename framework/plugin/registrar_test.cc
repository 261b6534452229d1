#include "framework/plugin/registrar.h"

#include <atomic>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "framework/plugin/host_status.h"
#include "framework/plugin/kernel_extensions.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
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
    const Status status = ReadKernelDef(definition_, registrar_).status();
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
  }

  OpRegistry ops_;
  MS_Registrar registrar_{"test", &ops_};
  MS_DType dtypes_[2] = {MS_FLOAT32, MS_FLOAT64};
  MS_TypeConstraint constraint_ = {};
  const MS_TypeConstraint* constraints_[1] = {&constraint_};
  MS_Str host_arg_ = ToAbi("axis");
  MS_InPlacePair in_place_ = {0, 0};
  MS_KernelDef definition_ = {};
};

const MS_RegistryApi& Functions() {
  return *reinterpret_cast<const MS_RegistryApi*>(RegistryInterface());
}

TEST_F(RegistrarTest, ThreadsMayRegisterAtTheSameTime) {
  constexpr int kThreads = 4;
  constexpr int kKernels = 100;
  std::vector<std::thread> threads;
  std::atomic<int> failures{0};
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < kKernels; ++k) {
        const Status status = TakeAbiStatus(Functions().kernel_register(&registrar_, &definition_));
        if (!status.ok() || Functions().op_find(&registrar_, ToAbi("Blend")) == nullptr) ++failures;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(registrar_.kernels.size(), size_t{kThreads * kKernels});
}

TEST_F(RegistrarTest, AfterTheRegistrationNothingIsTaken) {
  registrar_.Close();
  const Status status = TakeAbiStatus(Functions().kernel_register(&registrar_, &definition_));
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("plugin test registers something after"));
  EXPECT_EQ(Functions().op_find(&registrar_, ToAbi("Blend")), nullptr);
  EXPECT_TRUE(registrar_.kernels.empty());
  EXPECT_TRUE(registrar_.first_error.ok());
}

TEST_F(RegistrarTest, ADefinitionIsCopied) {
  definition_.priority = -3;
  definition_.flags = MS_KERNEL_INEXPENSIVE;
  const StatusOr<KernelRegistration> kernel = ReadKernelDef(definition_, registrar_);
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

TEST_F(RegistrarTest, UnknownNamesAreNotFound) {
  definition_.op = ToAbi("Bland");
  ExpectRefused(absl::StatusCode::kNotFound, "kernel for op Bland on CPU: ");
  definition_.op = ToAbi("Blend");
  constraint_.attr = ToAbi("mode");
  ExpectRefused(absl::StatusCode::kNotFound,
                "constrains \"mode\", but op Blend has no such type attribute");
  constraint_.attr = ToAbi("T");
  host_arg_ = ToAbi("axes");
  ExpectRefused(absl::StatusCode::kNotFound, "host argument \"axes\" is no argument of op Blend");
}

TEST_F(RegistrarTest, PositionsBeyondTheArgumentsAreNotFound) {
  in_place_ = {1, 0};
  ExpectRefused(absl::StatusCode::kNotFound, "names output 1 of 1");
  in_place_ = {0, 2};
  ExpectRefused(absl::StatusCode::kNotFound, "names input 2 of 2");
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
  EXPECT_TRUE(ReadKernelDef(definition_, registrar_).ok());
}

TEST_F(RegistrarTest, EveryPrefixOfAStructIsRefusedWithItsSize) {
  for (uint32_t size = 0; size < sizeof(definition_); ++size) {
    definition_.head.size = size;
    ExpectRefused(
        absl::StatusCode::kInvalidArgument,
        absl::StrCat("MS_KernelDef has ", size, " bytes, needed are ", sizeof(definition_)));
  }
  definition_.head.size = sizeof(definition_);
  for (uint32_t size = 0; size < sizeof(constraint_); ++size) {
    constraint_.head.size = size;
    ExpectRefused(absl::StatusCode::kInvalidArgument,
                  absl::StrCat("MS_TypeConstraint has ", size, " bytes"));
  }
}

TEST_F(RegistrarTest, GarbageBehindAStructIsNotRead) {
  struct {
    MS_KernelDef definition;
    unsigned char tail[64];
  } larger;
  std::memset(&larger, 0xEE, sizeof(larger));
  larger.definition = definition_;
  larger.definition.head.size = sizeof(larger);
  EXPECT_TRUE(ReadKernelDef(larger.definition, registrar_).ok());
}

TEST_F(RegistrarTest, AnOptionalExtensionIsPassedOverAndARequiredOneIsNot) {
  MS_Ext last = {{sizeof(MS_Ext), 0, nullptr}, 78};
  const MS_Ext first = {{sizeof(MS_Ext), 0, &last}, 77};
  definition_.head.ext = &first;
  constraint_.head.ext = &first;
  EXPECT_TRUE(ReadKernelDef(definition_, registrar_).ok());
  last.head.required = 1;
  ExpectRefused(absl::StatusCode::kUnimplemented, "MS_KernelDef requires extension 78");
  definition_.head.ext = nullptr;
  ExpectRefused(absl::StatusCode::kUnimplemented, "MS_TypeConstraint requires extension 78");
  constraint_.head.ext = nullptr;
  constraint_.head.required = 1;
  ExpectRefused(absl::StatusCode::kUnimplemented, "MS_TypeConstraint requires features 1");
}

TEST_F(RegistrarTest, AnExtensionDeclaresThatUpdatesKeepTheirBounds) {
  const MS_Ext bounded = {{sizeof(MS_Ext), 0, nullptr}, MS_EXT_BOUNDED_UPDATE};
  const MS_Ext other = {{sizeof(MS_Ext), 0, nullptr}, 77};
  const MS_Ext other_and_bounded = {{sizeof(MS_Ext), 0, &bounded}, 77};
  const auto keeps_bounds = [&](const MS_Ext* extension) {
    definition_.head.ext = extension;
    return ReadKernelDef(definition_, registrar_).value().keeps_update_bounds;
  };
  EXPECT_FALSE(keeps_bounds(nullptr));
  EXPECT_FALSE(keeps_bounds(&other));
  EXPECT_TRUE(keeps_bounds(&bounded));
  EXPECT_TRUE(keeps_bounds(&other_and_bounded));
}

TEST_F(RegistrarTest, AChainOfExtensionsThatCannotBeReadIsRefused) {
  MS_Ext extension = {{sizeof(MS_Ext), 0, nullptr}, 77};
  extension.head.ext = &extension;
  definition_.head.ext = &extension;
  ExpectRefused(absl::StatusCode::kInvalidArgument, "MS_KernelDef has more than 64 extensions");
  extension.head.size = 8;
  ExpectRefused(absl::StatusCode::kInvalidArgument, "extension 0 of MS_KernelDef has 8 bytes");
}

TEST_F(RegistrarTest, MissingFunctionsAreRefused) {
  definition_.compute = nullptr;
  ExpectRefused(absl::StatusCode::kInvalidArgument, "compute is null");
  definition_.flags = MS_KERNEL_ASYNC;
  ExpectRefused(absl::StatusCode::kInvalidArgument, "compute_async is null");
  definition_.compute_async = [](void*, MS_Frame*, MS_Done*) {};
  EXPECT_TRUE(ReadKernelDef(definition_, registrar_).ok());
  definition_.specialize = [](void*, MS_Specialization*) -> MS_Status* { return nullptr; };
  ExpectRefused(absl::StatusCode::kInvalidArgument, "specialize and unspecialize");
}

TEST_F(RegistrarTest, AnErrorIsRememberedThoughThePluginGoesOn) {
  const auto* api = reinterpret_cast<const MS_RegistryApi*>(RegistryInterface());
  const auto create = std::exchange(definition_.create, nullptr);
  const Status refused = TakeAbiStatus(api->kernel_register(&registrar_, &definition_));
  definition_.create = create;
  EXPECT_EQ(api->kernel_register(&registrar_, &definition_), nullptr);
  EXPECT_EQ(registrar_.kernels.size(), 1u);
  EXPECT_EQ(registrar_.first_error, refused);
  EXPECT_FALSE(refused.ok());
}

TEST_F(RegistrarTest, WhatThisHostCannotTakeIsSkippedAndListed) {
  const auto* api = reinterpret_cast<const MS_RegistryApi*>(RegistryInterface());
  definition_.op = ToAbi("Bland");
  EXPECT_EQ(api->kernel_register(&registrar_, &definition_), nullptr);
  definition_.op = ToAbi("Blend");
  definition_.flags = 1u << 20;
  EXPECT_EQ(api->kernel_register(&registrar_, &definition_), nullptr);
  definition_.flags = 0;
  EXPECT_EQ(api->kernel_register(&registrar_, &definition_), nullptr);
  EXPECT_EQ(registrar_.kernels.size(), 1u);
  EXPECT_EQ(registrar_.num_kernels_skipped, 2u);
  EXPECT_THAT(registrar_.skipped, ElementsAre(HasSubstr("op Bland"), HasSubstr("flags 100000")));
  EXPECT_TRUE(registrar_.first_error.ok());
}

TEST_F(RegistrarTest, AnOpThatTheHostHasIsFoundWithItsNames) {
  const auto* api = reinterpret_cast<const MS_RegistryApi*>(RegistryInterface());
  EXPECT_EQ(api->op_find(&registrar_, ToAbi("Bland")), nullptr);
  const MS_OpInfo* const blend = api->op_find(&registrar_, ToAbi("Blend"));
  ASSERT_NE(blend, nullptr);
  EXPECT_EQ(FromAbi(blend->name), "Blend");
  ASSERT_EQ(blend->n_inputs, 2u);
  EXPECT_EQ(FromAbi(blend->inputs[1]), "axis");
  ASSERT_EQ(blend->n_outputs, 1u);
  EXPECT_EQ(FromAbi(blend->outputs[0]), "y");
  ASSERT_EQ(blend->n_attrs, 2u);
  EXPECT_EQ(FromAbi(blend->attrs[1]), "mode");
  EXPECT_EQ(blend->flags, 0u);
}

// A good op that each test spoils in one place.
class OpRegistrarTest : public ::testing::Test {
 protected:
  OpRegistrarTest() {
    EXPECT_TRUE(
        ops_.Register(OpSpec("Ours").Input("x: float").Output("y: float").Build().value()).ok());
    definition_.head.size = sizeof(definition_);
    definition_.name = ToAbi("TestBlend");
    definition_.inputs = &input_;
    definition_.n_inputs = 1;
    definition_.outputs = &output_;
    definition_.n_outputs = 1;
  }

  Status RegisterOp() { return TakeAbiStatus(api_->op_register(&registrar_, &definition_)); }
  Status RegisterGradient(const char* op) {
    return TakeAbiStatus(api_->gradient_register(&registrar_, ToAbi(op), nullptr, nullptr));
  }
  void ExpectRefused(absl::StatusCode code, const std::string& text) {
    const Status status = RegisterOp();
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
    EXPECT_TRUE(registrar_.new_ops.empty());
    EXPECT_FALSE(registrar_.first_error.ok());
  }
  void ExpectSkipped(const std::string& text) {
    registrar_.skipped.clear();
    EXPECT_TRUE(RegisterOp().ok());
    EXPECT_THAT(registrar_.skipped, ElementsAre(HasSubstr(text)));
  }

  OpRegistry ops_;
  MS_Registrar registrar_{"test", &ops_};
  const MS_RegistryApi* api_ = reinterpret_cast<const MS_RegistryApi*>(RegistryInterface());
  MS_Str input_ = ToAbi("x: float");
  MS_Str output_ = ToAbi("y: float");
  MS_OpDef definition_ = {};
};

TEST_F(OpRegistrarTest, NamesBeginWithACapital) {
  for (const char* name : {"", "blend", "_Blend", "Blend-2", "Acme>Blend"}) {
    definition_.name = ToAbi(name);
    ExpectRefused(absl::StatusCode::kInvalidArgument, "begins with a capital");
  }
}

TEST_F(OpRegistrarTest, TextsThatCannotBeReadAreRefusedWithTheOp) {
  input_ = ToAbi("x: T");
  ExpectRefused(absl::StatusCode::kInvalidArgument, "definition of op 'TestBlend'");
  input_ = ToAbi("x: Ref(float)");
  ExpectRefused(absl::StatusCode::kInvalidArgument, "references to variables");
}

TEST_F(OpRegistrarTest, WhatThisHostDoesNotKnowIsSkipped) {
  definition_.flags = 1u << 20;
  ExpectSkipped("op TestBlend: flags 100000 (bits) are unknown");
  definition_.flags = 0;
  definition_.head.required = 1;
  ExpectSkipped("MS_OpDef requires features 1");
  definition_.head.required = 0;
  definition_.head.size = 64;
  ExpectRefused(absl::StatusCode::kInvalidArgument, "MS_OpDef has 64 bytes");
}

TEST_F(OpRegistrarTest, FlagsVersionsAndTextsAreCopied) {
  definition_.flags = MS_OP_STATEFUL | MS_OP_COMMUTATIVE;
  definition_.since_version = 20;
  definition_.deprecated_version = 120;
  definition_.deprecation = ToAbi("Use Mix.");
  ASSERT_TRUE(RegisterOp().ok());
  const OpDef& op = registrar_.new_ops.at(0);
  EXPECT_TRUE(op.is_stateful && op.is_commutative);
  EXPECT_FALSE(op.is_aggregate || op.allows_uninitialized_input);
  EXPECT_EQ(op.since_version, 20u);
  EXPECT_EQ(op.deprecated_version, 120u);
  EXPECT_EQ(op.deprecation, "Use Mix.");
  EXPECT_EQ(op.shape_function, nullptr);
  // Another deprecation is another op.
  definition_.deprecated_version = 121;
  EXPECT_TRUE(RegisterOp().ok());
  EXPECT_THAT(registrar_.skipped, ElementsAre(HasSubstr("differs from that of")));
}

TEST_F(OpRegistrarTest, ANewOpHasThePluginsPrefix) {
  for (const char* name : {"TestBlend", "Test_blend", "TESTBlend"}) {
    definition_.name = ToAbi(name);
    EXPECT_TRUE(RegisterOp().ok());
  }
  EXPECT_EQ(registrar_.new_ops.size(), 3u);
  EXPECT_TRUE(registrar_.skipped.empty());
  definition_.name = ToAbi("Blend");
  ASSERT_TRUE(RegisterOp().ok());
  EXPECT_THAT(registrar_.skipped,
              ElementsAre("op Blend: this host has no such op, and the name of a plugin's own "
                          "begins with one of: test"));
  EXPECT_EQ(registrar_.new_ops.size(), 3u);
}

TEST_F(OpRegistrarTest, WhatBelongsToASkippedOpIsSkippedToo) {
  definition_.name = ToAbi("Ours");
  definition_.n_inputs = 0;
  ASSERT_TRUE(RegisterOp().ok());
  ASSERT_TRUE(RegisterGradient("Ours").ok());
  MS_KernelDef kernel = {};
  kernel.head.size = sizeof(kernel);
  kernel.op = ToAbi("Ours");
  kernel.device_type = ToAbi("CPU");
  kernel.create = [](void*, const MS_KernelInfo*, void**) -> MS_Status* { return nullptr; };
  kernel.compute = [](void*, MS_Frame*) -> MS_Status* { return nullptr; };
  kernel.destroy = [](void*) {};
  EXPECT_EQ(api_->kernel_register(&registrar_, &kernel), nullptr);
  EXPECT_TRUE(registrar_.kernels.empty());
  EXPECT_EQ(registrar_.skipped.size(), 3u);
  EXPECT_EQ(api_->op_find(&registrar_, ToAbi("Ours")), nullptr);
}

TEST_F(OpRegistrarTest, TheRuntimesOwnOpMayBeRegisteredAgainButNotItsGradient) {
  definition_.name = ToAbi("Ours");
  ASSERT_TRUE(RegisterOp().ok());
  EXPECT_TRUE(registrar_.new_ops.empty());
  EXPECT_THAT(std::string(RegisterGradient("Ours").message()), HasSubstr("the runtime's own"));
}

TEST_F(OpRegistrarTest, AGradientBelongsToAnOpOfThePlugin) {
  EXPECT_EQ(RegisterGradient("TestBlend").message(),
            "gradient of op TestBlend: plugin test has not registered the op");
  ASSERT_TRUE(RegisterOp().ok());
  ASSERT_TRUE(RegisterGradient("TestBlend").ok());
  EXPECT_EQ(RegisterGradient("TestBlend").message(), "op TestBlend has a gradient already");
}

TEST_F(OpRegistrarTest, AGradientThatTheFirstPluginDidNotBringIsRefused) {
  ASSERT_TRUE(RegisterOp().ok());
  KernelRegistry kernels;
  ASSERT_TRUE(CommitRegistrations(&registrar_, &ops_, &kernels, nullptr).ok());
  registrar_.new_ops.clear();
  ASSERT_TRUE(RegisterOp().ok());
  EXPECT_EQ(RegisterGradient("TestBlend").message(),
            "gradient of op TestBlend: plugin test registered the op, without one");
}

TEST_F(OpRegistrarTest, AKernelTieIsToldAndTheRestIsCommitted) {
  KernelRegistration kernel;
  kernel.op = "Ours";
  kernel.device_type = "CPU";
  kernel.plugin = "first";
  KernelRegistry kernels;
  ASSERT_TRUE(kernels.Commit({kernel}).ok());
  kernel.plugin = "test";
  registrar_.kernels.push_back(kernel);
  ASSERT_TRUE(RegisterOp().ok());
  std::vector<std::string> ties;
  ASSERT_TRUE(CommitRegistrations(&registrar_, &ops_, &kernels, &ties).ok());
  EXPECT_THAT(ties, ElementsAre(HasSubstr("that of plugin first serves")));
  EXPECT_TRUE(ops_.Find("TestBlend").ok());
  EXPECT_EQ((*kernels.Find("Ours", "CPU", {}))->plugin, "first");
}

TEST_F(OpRegistrarTest, ResourceTypesAreCommittedLastAndOnce) {
  const auto destroy = [](void*) {};
  EXPECT_EQ(
      TakeAbiStatus(api_->resource_type_register(&registrar_, ToAbi("Queue"), nullptr)).code(),
      absl::StatusCode::kInvalidArgument);
  ASSERT_EQ(api_->resource_type_register(&registrar_, ToAbi("Registrar.Queue"), destroy), nullptr);
  KernelRegistry kernels;
  ASSERT_TRUE(CommitRegistrations(&registrar_, &ops_, &kernels, nullptr).ok());
  EXPECT_EQ((*ResourceTypes::Global()->Find("Registrar.Queue"))->plugin, "test");
  // The second time it is there, and the op that came along is not registered either.
  ASSERT_EQ(api_->resource_type_register(&registrar_, ToAbi("Registrar.Queue"), destroy), nullptr);
  ASSERT_TRUE(RegisterOp().ok());
  const Status twice = CommitRegistrations(&registrar_, &ops_, &kernels, nullptr);
  EXPECT_EQ(
      twice.message(),
      "resource type \"Registrar.Queue\" of plugin test is registered already, by plugin test");
  EXPECT_FALSE(ops_.Find("TestBlend").ok());
}

}  // namespace
}  // namespace millstream
