// Every struct that a plugin gives to the host, by the one rule of plugin.h for what a reader does
// not know.
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "framework/op_registry.h"
#include "framework/plugin/device_check.h"
#include "framework/plugin/host_status.h"
#include "framework/plugin/op_registration.h"
#include "framework/plugin/option_check.h"
#include "framework/plugin/registrar.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

// Gives the struct, which has this head, to the host; the host's answer.
using Give = std::function<Status(const MS_Head& head)>;

struct StructCase {
  const char* type;
  uint32_t size;
  Give give;
};

// A struct with garbage behind it, as one of a later minor has.
template <typename T>
struct Larger {
  explicit Larger(const T& value) {
    std::memset(static_cast<void*>(this), 0xEE, sizeof(*this));
    given = value;
  }
  T given;
  unsigned char tail[64];
};

OpRegistry* Ops() {
  static OpRegistry* const ops = [] {
    auto* const made = new OpRegistry;
    EXPECT_TRUE(
        made->Register(OpSpec("Blend").Input("x: T").Output("y: T").Attr("T: type").Build().value())
            .ok());
    return made;
  }();
  return ops;
}

MS_KernelDef KernelDefinition() {
  MS_KernelDef kernel = {};
  kernel.head.size = sizeof(kernel);
  kernel.op = ToAbi("Blend");
  kernel.device_type = ToAbi("CPU");
  kernel.create = [](void*, const MS_KernelInfo*, void**) -> MS_Status* { return nullptr; };
  kernel.compute = [](void*, MS_Frame*) -> MS_Status* { return nullptr; };
  kernel.destroy = [](void*) {};
  return kernel;
}

Status GiveKernel(const MS_KernelDef& kernel) {
  const MS_Registrar registrar("test", Ops());
  return ReadKernelDef(kernel, registrar).status();
}

Status GiveKernelDef(const MS_Head& head) {
  Larger<MS_KernelDef> kernel(KernelDefinition());
  kernel.given.head = head;
  return GiveKernel(kernel.given);
}

Status GiveTypeConstraint(const MS_Head& head) {
  const MS_DType dtype = MS_FLOAT32;
  MS_TypeConstraint plain = {};
  plain.attr = ToAbi("T");
  plain.dtypes = &dtype;
  plain.n_dtypes = 1;
  Larger<MS_TypeConstraint> constraint(plain);
  constraint.given.head = head;
  const MS_TypeConstraint* const constraints[] = {&constraint.given};
  MS_KernelDef kernel = KernelDefinition();
  kernel.constraints = constraints;
  kernel.n_constraints = 1;
  return GiveKernel(kernel);
}

Status GiveOpDef(const MS_Head& head) {
  MS_OpDef plain = {};
  plain.name = ToAbi("TestBlend");
  Larger<MS_OpDef> op(plain);
  op.given.head = head;
  MS_Registrar registrar("test", Ops());
  return RegisterOp(op.given, &registrar);
}

MS_SpaceDesc Space() {
  MS_SpaceDesc space = {};
  space.head.size = sizeof(space);
  space.space = MS_SPACE_DEVICE;
  space.flags = MS_SPACE_DEVICE_VISIBLE | MS_SPACE_LINEAR;
  space.alignment = 512;
  return space;
}

MS_DeviceDesc DeviceDescription() {
  MS_DeviceDesc device = {};
  device.head.size = sizeof(device);
  device.device_type = ToAbi("ACME");
  device.name = ToAbi("ACME One");
  device.vendor = ToAbi("ACME");
  device.arch = ToAbi("one");
  device.pci_id = ToAbi("0");
  return device;
}

Status GiveDeviceDesc(const MS_Head& head) {
  Larger<MS_DeviceDesc> device(DeviceDescription());
  device.given.head = head;
  return CheckDeviceDescription(&device.given);
}

Status GiveSpace(const MS_SpaceDesc& space) {
  const MS_SpaceDesc* const spaces[] = {&space};
  MS_DeviceDesc device = DeviceDescription();
  device.spaces = spaces;
  device.n_spaces = 1;
  return CheckDeviceDescription(&device);
}

Status GiveSpaceDesc(const MS_Head& head) {
  Larger<MS_SpaceDesc> space(Space());
  space.given.head = head;
  return GiveSpace(space.given);
}

Status GiveOptionDesc(const MS_Head& head) {
  MS_OptionDesc plain = {};
  plain.name = ToAbi("level");
  plain.doc = ToAbi("A level.");
  plain.kind = MS_OPTION_I64;
  Larger<MS_OptionDesc> option(plain);
  option.given.head = head;
  return CheckOptionDescription(&option.given);
}

class StructRulesTest : public ::testing::TestWithParam<StructCase> {
 protected:
  MS_Head head_ = {GetParam().size, 0, nullptr};
  Status Answer() { return GetParam().give(head_); }
  void ExpectAnswer(absl::StatusCode code, const std::string& text) {
    const Status answer = Answer();
    EXPECT_EQ(answer.code(), code) << answer;
    EXPECT_THAT(std::string(answer.message()), HasSubstr(GetParam().type + text));
  }
};

TEST_P(StructRulesTest, ARequiredFeatureRefusesTheItem) {
  EXPECT_EQ(Answer(), absl::OkStatus());
  for (uint32_t bit = 0; bit < 32; ++bit) {
    head_.required = 1u << bit;
    ExpectAnswer(absl::StatusCode::kUnimplemented,
                 absl::StrCat(" requires features ", absl::Hex(head_.required)));
  }
}

TEST_P(StructRulesTest, AnOptionalExtensionIsPassedOver) {
  MS_Ext second = {{sizeof(MS_Ext), 0, nullptr}, 12};
  const MS_Ext first = {{sizeof(MS_Ext), 0, &second}, 11};
  head_.ext = &first;
  EXPECT_EQ(Answer(), absl::OkStatus());
  second.head.required = 1;
  ExpectAnswer(absl::StatusCode::kUnimplemented, " requires extension 12");
}

TEST_P(StructRulesTest, AShorterStructIsRefusedAndOfALongerOneTheTailIsNotRead) {
  head_.size = GetParam().size - 1;
  ExpectAnswer(absl::StatusCode::kInvalidArgument,
               absl::StrCat(" has ", head_.size, " bytes, needed are ", GetParam().size));
  head_.size = GetParam().size + 64;
  EXPECT_EQ(Answer(), absl::OkStatus());
}

INSTANTIATE_TEST_SUITE_P(
    Structs, StructRulesTest,
    ::testing::Values(StructCase{"MS_KernelDef", sizeof(MS_KernelDef), &GiveKernelDef},
                      StructCase{"MS_TypeConstraint", sizeof(MS_TypeConstraint),
                                 &GiveTypeConstraint},
                      StructCase{"MS_OpDef", sizeof(MS_OpDef), &GiveOpDef},
                      StructCase{"MS_DeviceDesc", sizeof(MS_DeviceDesc), &GiveDeviceDesc},
                      StructCase{"MS_SpaceDesc", sizeof(MS_SpaceDesc), &GiveSpaceDesc},
                      StructCase{"MS_OptionDesc", sizeof(MS_OptionDesc), &GiveOptionDesc}),
    [](const ::testing::TestParamInfo<StructCase>& info) { return info.param.type; });

// ---- Constants ----------------------------------------------------------------------------------

TEST(DeviceCheckTest, ConstantsThatThisHostDoesNotKnowRefuseTheDevice) {
  const auto expect = [](const Status& answer, const std::string& text) {
    EXPECT_EQ(answer.code(), absl::StatusCode::kUnimplemented) << answer;
    EXPECT_THAT(std::string(answer.message()), HasSubstr(text));
  };
  for (const uint64_t flag : {uint64_t{2}, uint64_t{16}, uint64_t{1} << 63}) {
    MS_DeviceDesc device = DeviceDescription();
    device.flags = MS_DEVICE_LINEAR_POINTERS | flag;
    expect(CheckDeviceDescription(&device),
           absl::StrCat("MS_DeviceDesc.flags: flags ", absl::Hex(flag), " (bits) are unknown"));
  }
  MS_SpaceDesc space = Space();
  space.space = MS_SPACE_MANAGED;
  expect(GiveSpace(space), "MS_DeviceDesc.spaces[0]: MS_SpaceDesc.space 3 is unknown");
  space = Space();
  space.flags |= 16;
  expect(GiveSpace(space), "MS_SpaceDesc.flags: flags 10 (bits) are unknown");
  space = Space();
  space.mode = 2;
  expect(GiveSpace(space), "MS_SpaceDesc.mode 2 is unknown");
  space = Space();
  space.mode = MS_ALLOC_POOLED;
  EXPECT_EQ(GiveSpace(space), absl::OkStatus());
  space.space = MS_SPACE_HOST_PINNED;
  expect(GiveSpace(space), "MS_ALLOC_POOLED is for MS_SPACE_DEVICE");
}

TEST(DeviceCheckTest, ASpaceGivesAtLeastOneBlock) {
  MS_SpaceDesc space = Space();
  space.granularity = 4096;
  space.max_alloc = 4095;
  EXPECT_EQ(GiveSpace(space).code(), absl::StatusCode::kInvalidArgument);
  space.max_alloc = 4096;
  EXPECT_EQ(GiveSpace(space), absl::OkStatus());
}

TEST(DeviceCheckTest, AnAlignmentIsAPowerOfTwo) {
  MS_SpaceDesc space = Space();
  space.alignment = 384;
  EXPECT_EQ(GiveSpace(space).code(), absl::StatusCode::kInvalidArgument);
  space.alignment = 0;
  EXPECT_EQ(GiveSpace(space), absl::OkStatus());
}

}  // namespace
}  // namespace millstream
