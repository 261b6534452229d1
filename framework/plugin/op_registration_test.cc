// Ops that plugins bring, from the file to the registries.
#include "framework/plugin/op_registration.h"

#include <string>
#include <vector>

#include "framework/ops/signature_text.h"
#include "framework/plugin/testing/loader_fixture.h"
#include "framework/shape_context.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class OpRegistrationTest : public LoaderTest {
 protected:
  // All that the registries say, to compare.
  std::string Digest() const {
    std::string text;
    for (const OpDef* op : ops_->List()) {
      absl::StrAppend(&text, SignatureText(*op), op->plugin, "\n");
      for (const KernelRegistration* kernel : kernels_->KernelsOf(op->name)) {
        absl::StrAppend(&text, kernel->plugin, " ", kernel->priority, "\n");
      }
    }
    return text;
  }
  const OpDef* FindOp(const char* name) const {
    const StatusOr<const OpDef*> op = ops_->Find(name);
    EXPECT_TRUE(op.ok()) << op.status();
    return op.ok() ? *op : nullptr;
  }
  void ExpectDropped(const char* fixture, absl::StatusCode code, const std::string& text) {
    const std::string before = Digest();
    const Status status = loader_->Load(FixturePath(fixture)).status();
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(Message(status), HasSubstr(text));
    EXPECT_EQ(Digest(), before);
    EXPECT_EQ(RecordOf(absl::StrCat("lib", fixture, ".so")).stage, LoadStage::kRegister);
  }
};

TEST_F(OpRegistrationTest, AnOpComesWithItsKernelsAndFunctions) {
  const StatusOr<const LoadedPlugin*> plugin = loader_->Load(FixturePath("ops"));
  ASSERT_TRUE(plugin.ok()) << plugin.status();
  EXPECT_THAT((*plugin)->ops, ElementsAre("AcmeCube", "AcmeChain", "AcmeThrows"));
  EXPECT_EQ(RecordOf("libops.so").ops, (*plugin)->ops);
  const OpDef* const cube = FindOp("AcmeCube");
  ASSERT_NE(cube, nullptr);
  EXPECT_EQ(SignatureText(*cube),
            "AcmeCube(x: T) -> (y: T) [T: type in {float, double}; scale: float = 1]");
  EXPECT_EQ(cube->plugin, "ops");
  EXPECT_EQ(cube->doc, "The third power of x, times scale.\n\nElement by element.");
  EXPECT_TRUE(cube->plugin_functions->has_gradient);
  EXPECT_NE(cube->plugin_functions->gradient, nullptr);
  EXPECT_EQ(FindOp("AcmeThrows")->plugin_functions->gradient, nullptr);
  EXPECT_FALSE(FindOp("AcmeChain")->plugin_functions->has_gradient);
  EXPECT_EQ(kernels_->KernelsOf("AcmeCube").size(), 2u);
}

TEST_F(OpRegistrationTest, TheSameOpOfTwoPluginsIsOneOp) {
  ASSERT_TRUE(loader_->Load(FixturePath("ops")).ok());
  const OpDef* const first = FindOp("AcmeCube");
  const StatusOr<const LoadedPlugin*> again = loader_->Load(FixturePath("ops_again"));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_THAT((*again)->ops, ElementsAre("AcmeCube", "AcmeChain", "AcmeThrows"));
  EXPECT_EQ(FindOp("AcmeCube"), first);
  EXPECT_EQ(first->plugin, "ops");
  EXPECT_EQ(kernels_->KernelsOf("AcmeCube").size(), 4u);
}

TEST_F(OpRegistrationTest, ADifferentOpOfOneNameIsSkippedWithItsKernels) {
  ASSERT_TRUE(loader_->Load(FixturePath("ops")).ok());
  const size_t kernels = kernels_->KernelsOf("AcmeCube").size();
  ASSERT_TRUE(loader_->Load(FixturePath("ops_differ")).ok());
  const PluginRecord record = RecordOf("libops_differ.so");
  ASSERT_FALSE(record.skipped.empty());
  EXPECT_THAT(record.skipped[0],
              AllOf(HasSubstr("op AcmeCube of plugin ops_differ differs from that of plugin ops: "),
                    HasSubstr("scale: float = 2"), HasSubstr("scale: float = 1")));
  EXPECT_EQ(kernels_->KernelsOf("AcmeCube").size(), kernels);
  EXPECT_GT(record.num_kernels_skipped, 0u);
}

TEST_F(OpRegistrationTest, AFailureAfterTheOpsDropsThem) {
  ExpectDropped("ops_fail", absl::StatusCode::kInternal, "fails in the end");
  EXPECT_FALSE(ops_->Find("AcmeCube").ok());
}

TEST_F(OpRegistrationTest, AKernelTieIsRecorded) {
  ASSERT_TRUE(loader_->Load(FixturePath("ops")).ok());
  ASSERT_TRUE(loader_->Load(FixturePath("ops_tie")).ok());
  EXPECT_THAT(RecordOf("libops_tie.so").ties,
              Contains(AllOf(HasSubstr("ties with"), HasSubstr("that of plugin ops serves"))));
  EXPECT_EQ((*kernels_->Find("AcmeCube", "CPU", {{"T", AttrValue(DataType::kFloat)}}))->plugin,
            "ops");
}

TEST_F(OpRegistrationTest, AnExceptionOfAShapeFunctionIsItsError) {
  ASSERT_TRUE(loader_->Load(FixturePath("ops")).ok());
  const OwnedOpCall throws = MakeOpCall(*FindOp("AcmeThrows"), {}, {DataType::kFloat}, {1}).value();
  ShapeContext context(throws.call(),
                       {{PartialShape({2, 3}), DataType::kFloat, nullptr, nullptr, nullptr}});
  const Status status = InferShapes(&context).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(status.message(), "thrown by the shape function");
}

}  // namespace
}  // namespace millstream
