#include "framework/forbidden_ops.h"

#include <string>
#include <vector>

#include "framework/op_registry.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

OpDef Built(const OpSpec& spec) {
  StatusOr<OpDef> op = spec.Build();
  EXPECT_TRUE(op.ok()) << op.status();
  return op.ok() ? *std::move(op) : OpDef();
}

Status Check(const std::vector<std::string>& entries, const OpDef& op) {
  const StatusOr<ForbiddenOps> forbidden = ForbiddenOps::Create(entries);
  return forbidden.ok() ? forbidden->Check(op) : forbidden.status();
}

TEST(ForbiddenOpsTest, NothingIsForbiddenByDefault) {
  EXPECT_TRUE(ForbiddenOps().empty());
  EXPECT_TRUE(ForbiddenOps().Check(Built(OpSpec("ReadFile").Touches("files"))).ok());
}

TEST(ForbiddenOpsTest, WhatAnOpTouchesIsForbidden) {
  const OpDef op = Built(OpSpec("Copy").Touches("files").Touches("network"));
  EXPECT_EQ(Check({"code", "files"}, op),
            absl::PermissionDeniedError("the op reads or writes files, which is forbidden by "
                                        "ConfigProto.forbidden_ops (\"files\")"));
  EXPECT_TRUE(absl::IsPermissionDenied(Check({"network"}, op)));
  EXPECT_TRUE(Check({"code", "output", "plugins"}, op).ok());
}

TEST(ForbiddenOpsTest, AnOpIsForbiddenByName) {
  const OpDef op = Built(OpSpec("Assert"));
  EXPECT_EQ(
      Check({"Assert"}, op),
      absl::PermissionDeniedError("the op is forbidden by ConfigProto.forbidden_ops (\"Assert\")"));
  EXPECT_TRUE(Check({"Asser", "_Send", "Acme>Cube"}, op).ok());
}

TEST(ForbiddenOpsTest, OpsOfPluginsAreForbiddenTogether) {
  OpDef op = Built(OpSpec("AcmeCube"));
  EXPECT_TRUE(Check({"plugins"}, op).ok());
  op.plugin = "acme";
  EXPECT_TRUE(absl::IsPermissionDenied(Check({"plugins"}, op)));
}

TEST(ForbiddenOpsTest, AnEntryThatForbidsNothingIsRefused) {
  for (const char* entry : {"file", "", "assert", "Read File", "Files*", "Files", "NETWORK"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ForbiddenOps::Create({entry}).status())) << entry;
  }
}

TEST(OpSpecTest, WhatIsTouchedMustBeKnown) {
  EXPECT_TRUE(absl::IsInvalidArgument(OpSpec("Copy").Touches("disks").Build().status()));
  EXPECT_TRUE(absl::IsInvalidArgument(OpSpec("Copy").Touches("plugins").Build().status()));
}

}  // namespace
}  // namespace millstream
