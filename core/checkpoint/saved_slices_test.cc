// Checkpoints of version 1 as they are written and read, and one that TensorFlow wrote.
#include <map>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "core/checkpoint/checkpoint_reader.h"
#include "core/checkpoint/coding.h"
#include "core/checkpoint/saved_slices_writer.h"
#include "core/checkpoint/table.h"
#include "core/io/faulty_file_system.h"
#include "core/io/write_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "millstream/framework/protos/saved_tensor_slice.pb.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

StatusOr<Tensor> ReadTensor(FileSystem* files, const std::string& prefix, absl::string_view name,
                            absl::string_view spec_text = "") {
  MS_ASSIGN_OR_RETURN(const auto reader, CheckpointReader::Open(files, prefix));
  MS_ASSIGN_OR_RETURN(const SliceSpec spec, ParseSliceSpec(spec_text));
  MS_ASSIGN_OR_RETURN(const CheckpointReader::Info info, reader->Find(name));
  MS_RETURN_IF_ERROR(reader->CheckHeld(name));
  MS_ASSIGN_OR_RETURN(const Tensor out,
                      Tensor::Create(info.dtype, spec.is_whole ? info.shape : spec.shape));
  MS_RETURN_IF_ERROR(reader->Read(name, spec, out));
  return out;
}

Status WriteFile(FileSystem* files, const std::string& path, const std::string& text) {
  return WriteFileAtomically(files, path, text, FileSystem::Existing::kReplace);
}

// One of every dtype that files hold.
std::vector<Tensor> OneOfEach() {
  std::vector<Tensor> tensors = {Tensor::Vector<std::string>({"", "abc", std::string("\0", 1)}),
                                 Tensor::Vector<float>({}), Tensor::Scalar<float>(2.5f)};
  for (const DataType dtype :
       {DataType::kFloat, DataType::kDouble, DataType::kHalf, DataType::kBFloat16, DataType::kInt8,
        DataType::kUInt8, DataType::kInt16, DataType::kUInt16, DataType::kInt32, DataType::kUInt32,
        DataType::kInt64, DataType::kUInt64, DataType::kBool, DataType::kComplex64,
        DataType::kComplex128, DataType::kQInt8, DataType::kQUInt8, DataType::kQInt32}) {
    const Tensor tensor = *Tensor::Create(dtype, Shape({2, 3}));
    // Bytes of 0 and 1 are a value of every type. The last elements are equal.
    for (size_t i = 0; i < tensor.bytes(); ++i) tensor.data<char>()[i] = i % 3 == 0 && i < 7;
    tensors.push_back(tensor);
  }
  return tensors;
}

TEST(SavedSlicesTest, GivesBackWhatWasWritten) {
  FaultyFileSystem files;
  SavedSlicesWriter writer(&files, "logs/model");
  const std::vector<Tensor> tensors = OneOfEach();
  for (size_t i = 0; i < tensors.size(); ++i) {
    ASSERT_EQ(writer.Add(absl::StrCat("t", i), SliceSpec(), tensors[i]), absl::OkStatus());
  }
  ASSERT_EQ(writer.Finish(), absl::OkStatus());
  EXPECT_EQ(files.Contents().size(), 1u);
  for (size_t i = 0; i < tensors.size(); ++i) {
    const StatusOr<Tensor> read = ReadTensor(&files, "logs/model", absl::StrCat("t", i));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_TRUE(TensorsEqual(*read, tensors[i])) << read->DebugString();
  }
}

TEST(SavedSlicesTest, SlicesInSeveralFilesMakeOneTensor) {
  FaultyFileSystem files;
  for (const int shard : {0, 1}) {
    SavedSlicesWriter writer(&files, absl::StrCat("model-0000", shard, "-of-00002"));
    const auto spec = ParseSliceSpec(absl::StrCat("4 2 ", 2 * shard, ",2:-"));
    const float first = static_cast<float>(4 * shard);
    ASSERT_EQ(writer.Add("w", *spec,
                         Tensor::FromValues<float>(Shape({2, 2}),
                                                   {first, first + 1, first + 2, first + 3})),
              absl::OkStatus());
    ASSERT_EQ(writer.Finish(), absl::OkStatus());
  }
  const std::string pattern = "model-*-of-00002";
  EXPECT_THAT((*CheckpointReader::Open(&files, pattern))->Names(), ElementsAre("w"));
  EXPECT_TRUE(TensorsEqual(*ReadTensor(&files, pattern, "w"),
                           Tensor::FromValues<float>(Shape({4, 2}), {0, 1, 2, 3, 4, 5, 6, 7})));
  EXPECT_TRUE(TensorsEqual(*ReadTensor(&files, pattern, "w", "4 2 1,2:1,1"),
                           Tensor::FromValues<float>(Shape({2, 1}), {3, 5})));
  const Status half = ReadTensor(&files, "model-00000-of-00002", "w").status();
  EXPECT_TRUE(absl::IsInvalidArgument(half)) << half;
  EXPECT_THAT(half.message(), HasSubstr("4 of the 8 elements"));
  EXPECT_TRUE(absl::IsNotFound(CheckpointReader::Open(&files, "model-*-of-3").status()));
}

TEST(SavedSlicesTest, WhatDoesNotFitIsRefused) {
  FaultyFileSystem files;
  SavedSlicesWriter writer(&files, "model");
  const Tensor two = Tensor::Vector<float>({1, 2});
  ASSERT_EQ(writer.Add("w", SliceSpec(), two), absl::OkStatus());
  EXPECT_THAT(writer.Add("w", SliceSpec(), two).message(), HasSubstr("more than once"));
  EXPECT_THAT(writer.Add("w", *ParseSliceSpec("3 0,2"), two).message(),
              HasSubstr("have different dtypes"));
  EXPECT_THAT(writer.Add("v", *ParseSliceSpec("3 0,1"), two).message(), HasSubstr("has the shape"));
  EXPECT_TRUE(absl::IsInvalidArgument(writer.Add("", SliceSpec(), two)));
}

// What TensorFlow 2.21 wrote, by Saver(write_version=SaverDef.V1), for three variables of ours:
// "weights", "steps" and "names".
constexpr char kWrittenByTensorFlow[] =
    "00004d0a4b0a130a056e616d6573120412020802180722020a000a130a05737465707312041202080318"
    "0922020a000a1b0a077765696768747312081202080212020803180122040a000a0012020801000c1600"
    "6e616d657300010101807f12140a056e616d657312020a001a0742016142026263010b14737465707300"
    "010101807f12120a05737465707312020a001a055203010203010f2d7765696768747300010102807f80"
    "7f122b0a077765696768747312040a000a001a1a2a180000003f00000000000000000000803f00000040"
    "00000040000000000100000000059e20dc000000000100000000c0f2a1b00001030100de010000000001"
    "0000000036ef8627e30108f0010f00000000000000000000000000000000000000000000000000000000"
    "00000000000057fb808b247547db";

TEST(SavedSlicesTest, ACheckpointOfTensorFlowIsRead) {
  FaultyFileSystem files;
  ASSERT_EQ(WriteFile(&files, "model", absl::HexStringToBytes(kWrittenByTensorFlow)),
            absl::OkStatus());
  EXPECT_THAT((*CheckpointReader::Open(&files, "model"))->Names(),
              ElementsAre("names", "steps", "weights"));
  EXPECT_TRUE(
      TensorsEqual(*ReadTensor(&files, "model", "steps"), Tensor::Vector<int64_t>({1, 2, 3})));
  EXPECT_TRUE(TensorsEqual(*ReadTensor(&files, "model", "names"),
                           Tensor::Vector<std::string>({"a", "bc"})));
  EXPECT_TRUE(TensorsEqual(*ReadTensor(&files, "model", "weights"),
                           Tensor::FromValues<float>(Shape({2, 3}), {0.5f, 0, 0, 1, 2, 2})));
}

// Every cut and every byte: a reader may ignore a byte, and never gives other numbers.
TEST(SavedSlicesTest, WhatIsCutOrChangedIsFoundOrMeansNothing) {
  FaultyFileSystem files;
  const std::string whole = absl::HexStringToBytes(kWrittenByTensorFlow);
  int found = 0;
  for (size_t i = 0; i < whole.size(); ++i) {
    ASSERT_EQ(WriteFile(&files, "model", whole.substr(0, i)), absl::OkStatus());
    EXPECT_TRUE(absl::IsDataLoss(ReadTensor(&files, "model", "steps").status())) << i;
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 4);
    ASSERT_EQ(WriteFile(&files, "model", changed), absl::OkStatus());
    const StatusOr<Tensor> read = ReadTensor(&files, "model", "steps");
    found += !read.ok();
    EXPECT_TRUE(!read.ok() || TensorsEqual(*read, Tensor::Vector<int64_t>({1, 2, 3}))) << i;
  }
  EXPECT_GT(found, static_cast<int>(whole.size()) - 48);
}

// Tables with valid checksums, and contents that do not fit.
class HostileSlicesTest : public ::testing::Test {
 protected:
  HostileSlicesTest() {
    proto::SavedSliceMeta* const tensor = contents_.mutable_meta()->add_tensor();
    tensor->set_name("w");
    tensor->set_type(proto::DT_FLOAT);
    tensor->mutable_shape()->add_dim()->set_size(4);
    meta_ = tensor;
    AddSlice(0, 2, {1, 2});
    AddSlice(2, 2, {3, 4});
  }

  void AddSlice(int64_t start, int64_t length, const std::vector<float>& values) {
    TensorSlice slice;
    slice.extents = {{start, length}};
    ToProto(slice, meta_->add_slice());
    proto::SavedTensorSlices entry;
    for (const float value : values) entry.mutable_data()->mutable_data()->add_float_val(value);
    entries_[SliceKey("w", slice)] = entry.SerializeAsString();
  }

  StatusOr<Tensor> Read() {
    TableEntries table = {{std::string(), contents_.SerializeAsString()}};
    table.insert(table.end(), entries_.begin(), entries_.end());
    FaultyFileSystem files;
    MS_RETURN_IF_ERROR(WriteFile(&files, "model", WriteTable(table)));
    return ReadTensor(&files, "model", "w");
  }
  void ExpectDamaged(absl::string_view why) {
    const Status status = Read().status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_THAT(status.message(), HasSubstr("model: tensor w: "));
    EXPECT_THAT(status.message(), HasSubstr(why));
  }

  proto::SavedTensorSlices contents_;
  proto::SavedSliceMeta* meta_ = nullptr;
  std::map<std::string, std::string> entries_;
};

TEST_F(HostileSlicesTest, TheFixtureIsReadWithoutAChange) {
  EXPECT_TRUE(TensorsEqual(*Read(), Tensor::Vector<float>({1, 2, 3, 4})));
}

TEST_F(HostileSlicesTest, TooFewAndTooManyValues) {
  meta_->clear_slice();
  AddSlice(0, 2, {1});
  AddSlice(2, 2, {3, 4});
  ExpectDamaged("a slice of 2 values has 1");
  meta_->clear_slice();
  AddSlice(0, 2, {1, 2, 3});
  AddSlice(2, 2, {3, 4});
  ExpectDamaged("a slice of 2 values has 3");
}

TEST_F(HostileSlicesTest, SlicesThatOverlap) {
  meta_->clear_slice();
  AddSlice(0, 2, {1, 2});
  AddSlice(1, 2, {3, 4});
  ExpectDamaged("its slices 0,2 and 1,2 overlap");
}

TEST_F(HostileSlicesTest, SlicesOutsideOfTheTensorAndSlicesThatAreNotThere) {
  AddSlice(4, 1, {5});
  ExpectDamaged("4,1");
  meta_->mutable_slice()->RemoveLast();
  entries_.erase(entries_.begin());
  ExpectDamaged("it is not in the file");
}

TEST_F(HostileSlicesTest, MoreElementsThanTheFileCanHold) {
  meta_->mutable_shape()->mutable_dim(0)->set_size(int64_t{1} << 40);
  ExpectDamaged("elements are not in");
}

TEST_F(HostileSlicesTest, ANewerVersion) {
  contents_.mutable_meta()->mutable_versions()->set_min_consumer(2);
  const Status status = Read().status();
  EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
}

}  // namespace
}  // namespace millstream
