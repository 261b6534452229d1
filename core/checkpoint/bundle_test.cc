// Checkpoints as they are written and read, and those that TensorFlow wrote.
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/checkpoint/bundle_format.h"
#include "core/checkpoint/bundle_reader.h"
#include "core/checkpoint/bundle_writer.h"
#include "core/checkpoint/coding.h"
#include "core/io/faulty_file_system.h"
#include "core/io/write_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Tensor& Weights() {
  static const Tensor* const tensor =
      new Tensor(Tensor::FromValues<float>(Shape({2, 3}), {1, 2, 3, 4, 5, 6}));
  return *tensor;
}

Status WriteModel(FileSystem* files, const std::string& prefix, const Tensor& weights) {
  MS_ASSIGN_OR_RETURN(const auto writer, BundleWriter::Create(files, prefix));
  MS_RETURN_IF_ERROR(writer->Add("weights", weights));
  MS_RETURN_IF_ERROR(writer->Add("names", Tensor::Vector<std::string>({"a", "", "long enough"})));
  MS_RETURN_IF_ERROR(writer->Add("step", Tensor::Scalar<int64_t>(7)));
  MS_RETURN_IF_ERROR(writer->Add("empty", Tensor::Vector<double>({})));
  return writer->Finish();
}

StatusOr<Tensor> ReadTensor(const CheckpointReader& reader, absl::string_view name,
                            absl::string_view spec_text = "") {
  MS_ASSIGN_OR_RETURN(const SliceSpec spec, ParseSliceSpec(spec_text));
  MS_ASSIGN_OR_RETURN(const CheckpointReader::Info info, reader.Find(name));
  MS_RETURN_IF_ERROR(reader.CheckHeld(name));
  MS_ASSIGN_OR_RETURN(const Tensor out,
                      Tensor::Create(info.dtype, spec.is_whole ? info.shape : spec.shape));
  MS_RETURN_IF_ERROR(reader.Read(name, spec, out));
  return out;
}

StatusOr<Tensor> ReadTensor(FileSystem* files, const std::string& prefix, absl::string_view name,
                            absl::string_view spec = "") {
  MS_ASSIGN_OR_RETURN(const std::unique_ptr<CheckpointReader> reader,
                      BundleReader::Open(files, prefix));
  return ReadTensor(*reader, name, spec);
}

TEST(BundleTest, GivesBackWhatWasWritten) {
  FaultyFileSystem files;
  ASSERT_EQ(WriteModel(&files, "logs/model", Weights()), absl::OkStatus());
  EXPECT_EQ(files.Contents().size(), 2u);
  const auto reader = BundleReader::Open(&files, "logs/model");
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_THAT((*reader)->Names(), ElementsAre("empty", "names", "step", "weights"));
  EXPECT_TRUE(TensorsEqual(*ReadTensor(**reader, "weights"), Weights()));
  EXPECT_TRUE(TensorsEqual(*ReadTensor(**reader, "names"),
                           Tensor::Vector<std::string>({"a", "", "long enough"})));
  EXPECT_TRUE(TensorsEqual(*ReadTensor(**reader, "step"), Tensor::Scalar<int64_t>(7)));
  EXPECT_EQ(ReadTensor(**reader, "empty")->shape(), Shape({0}));
}

TEST(BundleTest, WhatIsNotThereIsNamed) {
  FaultyFileSystem files;
  EXPECT_TRUE(absl::IsNotFound(BundleReader::Open(&files, "model").status()));
  ASSERT_EQ(WriteModel(&files, "model", Weights()), absl::OkStatus());
  const Status missing = ReadTensor(&files, "model", "bias").status();
  EXPECT_TRUE(absl::IsNotFound(missing));
  EXPECT_THAT(missing.message(), HasSubstr("Key bias not found in checkpoint"));
}

TEST(BundleTest, ANameIsWrittenOnce) {
  FaultyFileSystem files;
  const auto writer = BundleWriter::Create(&files, "model");
  ASSERT_EQ((*writer)->Add("w", Weights()), absl::OkStatus());
  EXPECT_TRUE(absl::IsInvalidArgument((*writer)->Add("w", Weights())));
}

// Slices of a tensor, and parts of it, whichever way it was written.
TEST(BundleTest, SlicesAreReadAsTheTensorTheyMake) {
  FaultyFileSystem files;
  const auto writer = BundleWriter::Create(&files, "model");
  for (const int row : {0, 1, 2}) {
    const auto spec = ParseSliceSpec(absl::StrCat("3 2 ", row, ",1:-"));
    const float first = static_cast<float>(10 * row);
    ASSERT_EQ((*writer)->AddSlice("w", *spec,
                                  Tensor::FromValues<float>(Shape({1, 2}), {first, first + 1})),
              absl::OkStatus());
  }
  ASSERT_EQ((*writer)->Finish(), absl::OkStatus());
  EXPECT_TRUE(TensorsEqual(*ReadTensor(&files, "model", "w"),
                           Tensor::FromValues<float>(Shape({3, 2}), {0, 1, 10, 11, 20, 21})));
  EXPECT_TRUE(TensorsEqual(*ReadTensor(&files, "model", "w", "3 2 1,2:1,1"),
                           Tensor::FromValues<float>(Shape({2, 1}), {11, 21})));
  EXPECT_THAT((*BundleReader::Open(&files, "model"))->Names(), ElementsAre("w"));
  EXPECT_TRUE(absl::IsInvalidArgument(ReadTensor(&files, "model", "w", "3 3 -:-").status()));

  ASSERT_EQ(WriteModel(&files, "whole", Weights()), absl::OkStatus());
  EXPECT_TRUE(TensorsEqual(*ReadTensor(&files, "whole", "weights", "2 3 1,1:-"),
                           Tensor::FromValues<float>(Shape({1, 3}), {4, 5, 6})));
}

TEST(BundleTest, ASliceThatIsMissingIsAnError) {
  FaultyFileSystem files;
  const auto writer = BundleWriter::Create(&files, "model");
  ASSERT_EQ((*writer)->AddSlice("w", *ParseSliceSpec("4 0,2"), Tensor::Vector<float>({1, 2})),
            absl::OkStatus());
  ASSERT_EQ((*writer)->Finish(), absl::OkStatus());
  const Status missing = ReadTensor(&files, "model", "w").status();
  EXPECT_TRUE(absl::IsInvalidArgument(missing)) << missing;
  EXPECT_THAT(missing.message(), HasSubstr("2 of the 4 elements"));
}

// What a reader sees after an operation failed: the old checkpoint or the new one.
void ExpectOldOrNew(FaultyFileSystem* files) {
  const Tensor twos = Tensor::FromValues<float>(Shape({2, 3}), {2, 2, 2, 2, 2, 2});
  const StatusOr<Tensor> read = ReadTensor(files, "model", "weights");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(TensorsEqual(*read, Weights()) || TensorsEqual(*read, twos)) << read->DebugString();
}

TEST(BundleTest, AFailureLeavesNoWrongCheckpointAndNoTemporaryFile) {
  const Tensor twos = Tensor::FromValues<float>(Shape({2, 3}), {2, 2, 2, 2, 2, 2});
  int num_failures = 0;
  for (int n = 1;; ++n) {
    FaultyFileSystem files;
    ASSERT_EQ(WriteModel(&files, "model", Weights()), absl::OkStatus());
    files.FailOperation(n, absl::ResourceExhaustedError("the disk is full"));
    const Status written = WriteModel(&files, "model", twos);
    if (files.num_operations() < n) break;
    files.FailOperation(0, absl::OkStatus());
    num_failures += !written.ok();
    ExpectOldOrNew(&files);
    for (const auto& [path, contents] : files.Contents()) {
      EXPECT_FALSE(absl::EndsWith(path, ".tmp")) << path << " after operation " << n;
    }
  }
  EXPECT_GE(num_failures, 8);
}

TEST(BundleTest, AfterACrashTheCheckpointIsTheOldOneOrTheNewOne) {
  const Tensor twos = Tensor::FromValues<float>(Shape({2, 3}), {2, 2, 2, 2, 2, 2});
  for (const auto names : {FaultyFileSystem::Names::kSynced, FaultyFileSystem::Names::kCurrent}) {
    for (int n = 1;; ++n) {
      FaultyFileSystem files;
      ASSERT_EQ(WriteModel(&files, "model", Weights()), absl::OkStatus());
      files.FailFrom(n, absl::UnavailableError("the machine has crashed"));
      WriteModel(&files, "model", twos).IgnoreError();
      if (files.num_operations() < n) break;
      files.FailFrom(0, absl::OkStatus());
      files.Crash(names);
      ExpectOldOrNew(&files);
    }
  }
}

// Every byte of both files. A reader may ignore a byte, and never gives other numbers.
TEST(BundleTest, WhatIsChangedIsFoundOrMeansNothing) {
  FaultyFileSystem files;
  ASSERT_EQ(WriteModel(&files, "model", Weights()), absl::OkStatus());
  const std::map<std::string, std::string> whole = files.Contents();
  int found = 0;
  for (const auto& [path, contents] : whole) {
    for (size_t i = 0; i < contents.size(); ++i) {
      std::string changed = contents;
      changed[i] = static_cast<char>(changed[i] ^ 4);
      ASSERT_EQ(WriteFileAtomically(&files, path, changed, FileSystem::Existing::kReplace),
                absl::OkStatus());
      for (const char* name : {"weights", "names", "step"}) {
        const StatusOr<Tensor> read = ReadTensor(&files, "model", name);
        if (!read.ok()) {
          EXPECT_TRUE(absl::IsDataLoss(read.status())) << read.status();
          ++found;
        } else if (name == std::string("weights")) {
          EXPECT_TRUE(TensorsEqual(*read, Weights())) << path << " at " << i;
        }
      }
    }
    ASSERT_EQ(WriteFileAtomically(&files, path, contents, FileSystem::Existing::kReplace),
              absl::OkStatus());
  }
  EXPECT_GT(found, 300);
}

TEST(BundleTest, DataThatAreCutAreNamedWithFileAndOffset) {
  FaultyFileSystem files;
  ASSERT_EQ(WriteModel(&files, "model", Weights()), absl::OkStatus());
  const std::string path = DataPath("model", 0, 1);
  const std::string contents = files.Contents()[path];
  ASSERT_EQ(
      WriteFileAtomically(&files, path, contents.substr(0, 10), FileSystem::Existing::kReplace),
      absl::OkStatus());
  const Status cut = ReadTensor(&files, "model", "weights").status();
  EXPECT_TRUE(absl::IsDataLoss(cut)) << cut;
  EXPECT_THAT(cut.message(), HasSubstr(path));
  EXPECT_THAT(cut.message(), HasSubstr("tensor weights"));
  EXPECT_THAT(cut.message(), HasSubstr("at byte 0"));
}

TEST(BundleTest, ALargeTensorIsReadInPieces) {
  const Tensor large = *Tensor::Create(DataType::kFloat, Shape({5, 1 << 20}));
  for (int64_t i = 0; i < large.num_elements(); ++i) large.data<float>()[i] = static_cast<float>(i);
  FaultyFileSystem files;
  const auto writer = BundleWriter::Create(&files, "model");
  ASSERT_EQ((*writer)->Add("first", Tensor::Scalar<float>(1)), absl::OkStatus());
  ASSERT_EQ((*writer)->Add("large", large), absl::OkStatus());
  ASSERT_EQ((*writer)->Finish(), absl::OkStatus());
  const auto reader = *BundleReader::Open(&files, "model");
  EXPECT_EQ(reader->NumPieces("first"), 1u);
  const uint64_t count = reader->NumPieces("large");
  EXPECT_EQ(count, 3u);
  const Tensor out = *Tensor::Create(DataType::kFloat, large.shape());
  std::vector<uint32_t> crcs(count);
  for (const uint64_t piece : {1, 2, 0}) crcs[piece] = *reader->ReadPiece("large", piece, out);
  EXPECT_EQ(reader->CheckPieces("large", crcs), absl::OkStatus());
  EXPECT_TRUE(TensorsEqual(out, large));
  crcs[1] ^= 1;
  const Status damaged = reader->CheckPieces("large", crcs);
  EXPECT_TRUE(absl::IsDataLoss(damaged)) << damaged;
  EXPECT_THAT(damaged.message(), HasSubstr("tensor large: at byte 4: the checksum is wrong"));
}

// Indices with valid checksums, and entries that do not fit. No memory is allocated for them.
TEST(BundleTest, TensorsThatTheFilesCannotHoldAreFound) {
  const auto check = [](const proto::BundleEntryProto& entry, const proto::BundleEntryProto* part) {
    FaultyFileSystem files;
    EXPECT_EQ(WriteFileAtomically(&files, "data", "0123456789", FileSystem::Existing::kReplace),
              absl::OkStatus());
    BundleEntries entries = {{"w", entry}};
    TensorSlice slice;
    slice.extents = {{0, 2}};
    if (part != nullptr) entries[SliceKey("w", slice)] = *part;
    EXPECT_EQ(PublishBundle(&files, "model", {"data"}, entries), absl::OkStatus());
    return ReadTensor(&files, "model", "w").status();
  };
  proto::BundleEntryProto entry;
  entry.set_dtype(proto::DT_FLOAT);
  entry.mutable_shape()->add_dim()->set_size(int64_t{1} << 40);
  EXPECT_THAT(check(entry, nullptr).message(), HasSubstr("model.index: tensor w: 0 bytes are not"));
  entry.set_size(int64_t{1} << 42);
  EXPECT_THAT(check(entry, nullptr).message(), HasSubstr("are not within the file"));
  entry.set_size(0);
  proto::TensorSliceProto::Extent* const extent = entry.add_slices()->add_extent();
  extent->set_start(0);
  extent->set_length(2);
  for (int i = 0; i < 100; ++i) *entry.add_slices() = entry.slices(0);
  proto::BundleEntryProto part;
  part.set_dtype(proto::DT_FLOAT);
  part.mutable_shape()->add_dim()->set_size(2);
  part.set_size(8);
  const Status lost = check(entry, &part);
  EXPECT_TRUE(absl::IsDataLoss(lost)) << lost;
  EXPECT_THAT(lost.message(), HasSubstr("elements are not in 8 bytes"));
}

std::string WrittenByTensorFlow(absl::string_view name) {
  return absl::StrCat(std::getenv("TEST_SRCDIR"), "/", std::getenv("TEST_WORKSPACE"),
                      "/testdata/conformance/files/written_by_tf/", name);
}

TEST(BundleTest, CheckpointsOfTensorFlowAreRead) {
  for (const char* name : {"checkpoint/model-7", "saved_model/variables/variables"}) {
    const auto reader = BundleReader::Open(LocalFileSystem(), WrittenByTensorFlow(name));
    ASSERT_TRUE(reader.ok()) << reader.status();
    EXPECT_FALSE((*reader)->Names().empty());
    for (const std::string& tensor : (*reader)->Names()) {
      const StatusOr<Tensor> read = ReadTensor(**reader, tensor);
      EXPECT_TRUE(read.ok()) << tensor << ": " << read.status();
    }
  }
}

}  // namespace
}  // namespace millstream
