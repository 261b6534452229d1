#include "framework/plugin/kernel_registry.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

KernelRegistration Kernel(const std::string& device, DataTypeList types) {
  KernelRegistration kernel;
  kernel.op = "MatMul";
  kernel.device_type = device;
  kernel.plugin = "plugin_of_" + device;
  if (!types.empty()) kernel.constraints.push_back({"T", std::move(types)});
  return kernel;
}

AttrMap Attrs(DataType type) {
  AttrMap attrs;
  SetAttr(&attrs, "T", type);
  return attrs;
}

// Registers kernels one by one; each must succeed.
class KernelRegistryTest : public ::testing::Test {
 protected:
  void Add(KernelRegistration kernel) {
    const Status status = registry_.Commit({std::move(kernel)});
    ASSERT_TRUE(status.ok()) << status;
  }
  const KernelRegistration* Find(absl::string_view device, const AttrMap& attrs) {
    const StatusOr<const KernelRegistration*> kernel = registry_.Find("MatMul", device, attrs);
    return kernel.ok() ? *kernel : nullptr;
  }
  std::string ErrorOf(absl::string_view device, const AttrMap& attrs) {
    const Status status = registry_.Find("MatMul", device, attrs).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  }

  KernelRegistry registry_;
};

TEST_F(KernelRegistryTest, TypeConstraintsChoose) {
  Add(Kernel("CPU", {DataType::kFloat}));
  Add(Kernel("CPU", {DataType::kDouble, DataType::kInt32}));
  const KernelRegistration* kernel = Find("CPU", Attrs(DataType::kInt32));
  ASSERT_NE(kernel, nullptr);
  EXPECT_EQ(kernel->constraints[0].types.size(), 2u);
}

TEST_F(KernelRegistryTest, AListOfTypesFitsWhenAllOfThemDo) {
  Add(Kernel("CPU", {DataType::kFloat, DataType::kDouble}));
  AttrMap attrs;
  SetAttr(&attrs, "T", DataTypeList{DataType::kFloat, DataType::kDouble});
  EXPECT_NE(Find("CPU", attrs), nullptr);
  SetAttr(&attrs, "T", DataTypeList{DataType::kFloat, DataType::kInt8});
  EXPECT_EQ(Find("CPU", attrs), nullptr);
  SetAttr(&attrs, "T", AttrValue::Empty());
  EXPECT_NE(Find("CPU", attrs), nullptr);
}

TEST_F(KernelRegistryTest, TheHigherPriorityWins) {
  Add(Kernel("CPU", {DataType::kFloat}));
  KernelRegistration better = Kernel("CPU", {DataType::kFloat});
  better.priority = 5;
  Add(better);
  ASSERT_NE(Find("CPU", Attrs(DataType::kFloat)), nullptr);
  EXPECT_EQ(Find("CPU", Attrs(DataType::kFloat))->priority, 5);
}

TEST_F(KernelRegistryTest, ADevicesOwnKernelComesBeforeOneForEveryDevice) {
  KernelRegistration any = Kernel(kAnyDevice, {});
  any.priority = 100;
  Add(any);
  Add(Kernel("CPU", {DataType::kFloat}));
  EXPECT_EQ(Find("CPU", Attrs(DataType::kFloat))->device_type, "CPU");
  EXPECT_EQ(Find("CPU", Attrs(DataType::kInt8))->device_type, kAnyDevice);
  EXPECT_EQ(Find("GPU", Attrs(DataType::kFloat))->device_type, kAnyDevice);
}

TEST_F(KernelRegistryTest, TheTypesOfDeviceThatHaveKernelsAreKnown) {
  EXPECT_THAT(registry_.DeviceTypes(), ElementsAre());
  Add(Kernel("GPU", {DataType::kFloat}));
  Add(Kernel("CPU", {DataType::kFloat}));
  Add(Kernel("CPU", {DataType::kDouble}));
  Add(Kernel(kAnyDevice, {}));
  EXPECT_THAT(registry_.DeviceTypes(), ElementsAre("CPU", "GPU"));
}

TEST_F(KernelRegistryTest, LabelsMustBeAskedFor) {
  Add(Kernel("CPU", {DataType::kFloat}));
  KernelRegistration special = Kernel("CPU", {DataType::kFloat});
  special.label = "special";
  Add(special);
  AttrMap attrs = Attrs(DataType::kFloat);
  EXPECT_EQ(Find("CPU", attrs)->label, "");
  SetAttr(&attrs, "_kernel", "special");
  EXPECT_EQ(Find("CPU", attrs)->label, "special");
  SetAttr(&attrs, "_kernel", "other");
  EXPECT_THAT(ErrorOf("CPU", attrs), HasSubstr("asks for label \"other\""));
}

TEST_F(KernelRegistryTest, ErrorsListWhyEachKernelDoesNotFit) {
  EXPECT_THAT(ErrorOf("CPU", Attrs(DataType::kFloat)), HasSubstr("no plugin registered one"));
  Add(Kernel("CPU", {DataType::kFloat}));
  Add(Kernel("CPU", {DataType::kDouble}));
  Add(Kernel("GPU", {DataType::kHalf}));
  EXPECT_EQ(ErrorOf("CPU", Attrs(DataType::kString)),
            "no kernel for op MatMul on device type CPU fits this node; there are:"
            "\n  CPU kernels (plugin_of_CPU): T is string, they need one of {float32, float64}"
            "\n  GPU kernels (plugin_of_GPU): are for another device type, with T in {float16}");
  EXPECT_THAT(ErrorOf("CPU", AttrMap()), HasSubstr("T is missing"));
}

TEST_F(KernelRegistryTest, ErrorsStayShortHoweverManyKernelsThereAre) {
  for (int i = 0; i < 50; ++i) Add(Kernel("DEVICE" + std::to_string(i), {DataType::kFloat}));
  const std::string error = ErrorOf("CPU", Attrs(DataType::kFloat));
  EXPECT_THAT(error, HasSubstr("and 40 more reasons"));
  EXPECT_THAT(error, Not(HasSubstr("DEVICE30")));
}

TEST_F(KernelRegistryTest, OfATieTheFirstServes) {
  KernelRegistration first = Kernel("CPU", {DataType::kFloat, DataType::kDouble});
  first.plugin = "first";
  Add(first);
  KernelRegistration second = Kernel("CPU", {DataType::kDouble, DataType::kInt8});
  second.plugin = "second";
  std::vector<std::string> ties;
  ASSERT_TRUE(registry_.Commit({Kernel("GPU", {DataType::kFloat}), second}, nullptr, &ties).ok());
  EXPECT_THAT(ties, ElementsAre("kernel MatMul for CPU with T in {float64, int8} (second) ties with"
                                " MatMul for CPU with T in {float32, float64} (first): both have"
                                " priority 0, and that of plugin first serves, which was"
                                " registered first"));
  EXPECT_EQ((*registry_.Find("MatMul", "CPU", Attrs(DataType::kDouble)))->plugin, "first");
  EXPECT_EQ((*registry_.Find("MatMul", "CPU", Attrs(DataType::kInt8)))->plugin, "second");
}

TEST_F(KernelRegistryTest, OfATieThatWhichComesWithTheHostServesThoughItIsLater) {
  KernelRegistration theirs = Kernel("CPU", {DataType::kFloat});
  theirs.plugin = "theirs";
  Add(theirs);
  KernelRegistration ours = Kernel("CPU", {DataType::kFloat});
  ours.plugin = "ours";
  ours.is_builtin = true;
  std::vector<std::string> ties;
  ASSERT_TRUE(registry_.Commit({ours}, nullptr, &ties).ok());
  EXPECT_THAT(ties,
              ElementsAre(HasSubstr("that of plugin ours serves, which comes with Millstream")));
  EXPECT_EQ((*registry_.Find("MatMul", "CPU", Attrs(DataType::kFloat)))->plugin, "ours");
  // A higher priority still goes first.
  theirs.priority = 1;
  ASSERT_TRUE(registry_.Commit({theirs}, nullptr, &ties).ok());
  EXPECT_EQ(ties.size(), 1u);
  EXPECT_EQ((*registry_.Find("MatMul", "CPU", Attrs(DataType::kFloat)))->plugin, "theirs");
}

TEST_F(KernelRegistryTest, KernelsOfOneCommitMayTieWithEachOther) {
  std::vector<std::string> ties;
  ASSERT_TRUE(registry_
                  .Commit({Kernel("CPU", {DataType::kFloat}), Kernel("CPU", {DataType::kFloat})},
                          nullptr, &ties)
                  .ok());
  EXPECT_EQ(ties.size(), 1u);
}

TEST_F(KernelRegistryTest, AConditionThatFailsKeepsNothingOfTheCommit) {
  EXPECT_EQ(registry_.Commit({Kernel("CPU", {})}, [] { return errors::Internal("no"); }),
            errors::Internal("no"));
  EXPECT_TRUE(registry_.KernelsOf("MatMul").empty());
}

TEST_F(KernelRegistryTest, ConstraintsOnDifferentAttributesOverlap) {
  KernelRegistration on_t = Kernel("CPU", {DataType::kFloat});
  KernelRegistration on_index = Kernel("CPU", {});
  on_index.constraints.push_back({"Tindices", {DataType::kInt32}});
  Add(on_t);
  std::vector<std::string> ties;
  ASSERT_TRUE(registry_.Commit({on_index}, nullptr, &ties).ok());
  EXPECT_EQ(ties.size(), 1u);
  // Both attributes constrained, one of them apart: no tie.
  KernelRegistration apart = Kernel("CPU", {DataType::kDouble});
  KernelRegistry other;
  ASSERT_TRUE(other.Commit({on_t}).ok());
  ASSERT_TRUE(other.Commit({apart}, nullptr, &ties).ok());
  EXPECT_EQ(ties.size(), 1u);
}

}  // namespace
}  // namespace millstream
