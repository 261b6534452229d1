// The ops of checkpoints, in steps and on files.
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/io/file_system.h"
#include "core/testing/session_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;

class CheckpointsTest : public SessionTest {
 protected:
  void SetUp() override {
    StartSession(SessionOptions());
    std::string name = ::testing::TempDir() + "/checkpoints-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }

  std::string Path(absl::string_view name) const { return absl::StrCat(folder_, "/", name); }
  Output Text(const std::string& text) { return Constant(Tensor::Scalar<std::string>(text)); }
  Output Texts(const std::vector<std::string>& texts) {
    return Constant(Tensor::Vector<std::string>(texts));
  }

  Status Save(const std::string& prefix, const std::string& name, const std::string& slice,
              const Tensor& value) {
    const Output constant = Constant(value);
    const Output save = Op("SaveV2", {Text(prefix), Texts({name}), Texts({slice}), constant},
                           {{"dtypes", DataTypeList{value.dtype()}}});
    return Execute({save.node});
  }

  StatusOr<Tensor> Restore(const std::string& prefix, const std::string& name,
                           const std::string& slice = "", DataType dtype = DataType::kFloat) {
    const Output restore = Op("RestoreV2", {Text(prefix), Texts({name}), Texts({slice})},
                              {{"dtypes", DataTypeList{dtype}}});
    MS_ASSIGN_OR_RETURN(const std::vector<Tensor> values, Run({restore}));
    return values[0];
  }

  std::string folder_;
};

TEST_F(CheckpointsTest, WhatIsSavedIsRestored) {
  const Tensor value = Tensor::FromValues<float>(Shape({2, 2}), {1, 2, 3, 4});
  ASSERT_EQ(Save(Path("new/model"), "w", "", value), absl::OkStatus());
  const StatusOr<Tensor> whole = Restore(Path("new/model"), "w");
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_TRUE(TensorsEqual(*whole, value));
  const StatusOr<Tensor> row = Restore(Path("new/model"), "w", "2 2 1,1:-");
  ASSERT_TRUE(row.ok()) << row.status();
  EXPECT_TRUE(TensorsEqual(*row, Tensor::FromValues<float>(Shape({1, 2}), {3, 4})));
}

TEST_F(CheckpointsTest, ErrorsNameWhatIsMissingOrDifferent) {
  ExpectError(Restore(Path("none"), "w").status(), absl::StatusCode::kNotFound,
              {"Failed to find any matching files for", "none"});
  ASSERT_EQ(Save(Path("model"), "w", "", Tensor::Vector<float>({1})), absl::OkStatus());
  ExpectError(Restore(Path("model"), "b").status(), absl::StatusCode::kNotFound,
              {"Key b not found in checkpoint"});
  ExpectError(Restore(Path("model"), "w", "", DataType::kInt32).status(),
              absl::StatusCode::kInvalidArgument,
              {"tensor_name = w; expected dtype int32 does not equal original dtype float"});
  ExpectError(Restore(Path("model"), "w", "2 0,1").status(), absl::StatusCode::kInvalidArgument,
              {"[2]", "[1]"});
  ExpectError(Save(Path("model"), "w", "2 0,2", Tensor::Vector<float>({1})),
              absl::StatusCode::kInvalidArgument, {"tensor w", "[2]", "[1]"});
}

TEST_F(CheckpointsTest, NamesWithZeroBytesAreRefused) {
  const std::string zero("a\0b", 3);
  ExpectError(Save(Path("model"), zero, "", Tensor::Vector<float>({1})),
              absl::StatusCode::kInvalidArgument, {"tensor_names", "a\\x00"});
  ExpectError(Restore(Path(zero), "w").status(), absl::StatusCode::kInvalidArgument,
              {"prefix", "a\\x00"});
}

TEST_F(CheckpointsTest, PartsOfSeveralWritersBecomeOneCheckpoint) {
  ASSERT_EQ(Save(Path("tmp/a"), "w", "4 0,2", Tensor::Vector<float>({1, 2})), absl::OkStatus());
  ASSERT_EQ(Save(Path("tmp/b"), "w", "4 2,2", Tensor::Vector<float>({3, 4})), absl::OkStatus());
  ASSERT_EQ(Save(Path("tmp/c"), "b", "", Tensor::Vector<float>({5})), absl::OkStatus());
  const Output merge =
      Op("MergeV2Checkpoints",
         {Texts({Path("tmp/a"), Path("tmp/b"), Path("tmp/c")}), Text(Path("model"))});
  ASSERT_EQ(Execute({merge.node}), absl::OkStatus());
  EXPECT_TRUE(TensorsEqual(*Restore(Path("model"), "w"), Tensor::Vector<float>({1, 2, 3, 4})));
  EXPECT_TRUE(TensorsEqual(*Restore(Path("model"), "b"), Tensor::Vector<float>({5})));
  const auto names = LocalFileSystem()->List(folder_);
  ASSERT_TRUE(names.ok()) << names.status();
  EXPECT_THAT(*names, ElementsAre("model.data-00000-of-00003", "model.data-00001-of-00003",
                                  "model.data-00002-of-00003", "model.index"));
}

TEST_F(CheckpointsTest, NamesOfShardsHaveFiveDigits) {
  const Output shard = Constant(Tensor::Scalar<int32_t>(3));
  const Output count = Constant(Tensor::Scalar<int32_t>(12));
  EXPECT_EQ(*Value(Op("ShardedFilename", {Text("a/b"), shard, count})).data<std::string>(),
            "a/b-00003-of-00012");
  EXPECT_EQ(*Value(Op("ShardedFilespec", {Text("a/b"), count})).data<std::string>(),
            "a/b-?????"
            "-of-00012");
}

}  // namespace
}  // namespace millstream
