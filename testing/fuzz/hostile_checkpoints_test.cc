// Checkpoints of several megabytes with valid checksums that would take far more memory than they
// are long. Smaller ones are in the corpus of checkpoint.cc.
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/checkpoint/bundle_format.h"
#include "core/checkpoint/checkpoint_reader.h"
#include "core/checkpoint/coding.h"
#include "core/checkpoint/saved_slices_writer.h"
#include "core/checkpoint/table.h"
#include "core/checkpoint/tensor_slice.h"
#include "core/io/crc32c.h"
#include "core/io/faulty_file_system.h"
#include "core/io/write_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "millstream/framework/protos/tensor_bundle.pb.h"
#include "testing/fuzz/limits.h"

namespace millstream::fuzz {
namespace {

using ::testing::HasSubstr;

constexpr char kPrefix[] = "model";
// At this size, what the files may take beside 64 MiB is as much again.
constexpr size_t kFileBytes = size_t{4} << 20;

std::string Repeated(absl::string_view part, size_t size) {
  std::string text;
  while (text.size() < size) absl::StrAppend(&text, part);
  return text;
}

// A name that sorts as its number does and shares most of its text with the one before it.
std::string NameOf(int number) {
  std::string name(3, '\0');
  for (int i = 2; i >= 0; --i, number /= 200) name[i] = static_cast<char>(1 + number % 200);
  return name;
}

class HostileCheckpointsTest : public ::testing::Test {
 protected:
  void Write(const std::string& path, const std::string& contents) {
    ASSERT_EQ(WriteFileAtomically(&files_, path, contents, FileSystem::Existing::kReplace),
              absl::OkStatus());
    file_bytes_ += static_cast<int64_t>(contents.size());
  }
  void WriteIndex(const TableEntries& entries) {
    proto::BundleHeaderProto header;
    header.set_num_shards(1);
    TableEntries table = {{std::string(), header.SerializeAsString()}};
    table.insert(table.end(), entries.begin(), entries.end());
    Write(IndexPath(kPrefix), WriteTable(table));
  }

  // What a program does that restores everything.
  Status ReadAll() {
    MS_ASSIGN_OR_RETURN(const std::unique_ptr<CheckpointReader> reader,
                        CheckpointReader::Open(&files_, kPrefix));
    for (const std::string& name : reader->Names()) {
      MS_ASSIGN_OR_RETURN(const CheckpointReader::Info info, reader->Find(name));
      MS_RETURN_IF_ERROR(reader->CheckHeld(name));
      MS_ASSIGN_OR_RETURN(const Tensor out, Tensor::Create(info.dtype, info.shape));
      MS_RETURN_IF_ERROR(reader->Read(name, SliceSpec(), out));
    }
    return absl::OkStatus();
  }
  void ExpectDataLossInLittleMemory(const std::string& message) {
    Status status;
    const Cost cost = CostOf([&] { status = ReadAll(); });
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_THAT(status.message(), HasSubstr(message));
    EXPECT_LE(cost.bytes, kMaxBytes + 16 * file_bytes_) << "of files of " << file_bytes_;
    EXPECT_LE(cost.seconds, kGuardSeconds);
  }

  FaultyFileSystem files_;
  int64_t file_bytes_ = 0;
};

TEST_F(HostileCheckpointsTest, EntriesThatSayNothing) {
  TableEntries entries;
  for (int i = 0; i < static_cast<int>(kFileBytes) / 4; ++i) entries.emplace_back(NameOf(i), "");
  WriteIndex(entries);
  ExpectDataLossInLittleMemory("entries take more memory than a file of this size has a use for");
}

TEST_F(HostileCheckpointsTest, AnEntryOfEmptySlices) {
  WriteIndex({{"w", Repeated(absl::string_view("\x3a\x00", 2), kFileBytes)}});
  ExpectDataLossInLittleMemory("entries take more memory than a file of this size has a use for");
}

TEST_F(HostileCheckpointsTest, ManyBlocksInOnePlace) {
  std::string block;  // one that is empty
  AppendFixed32(0, &block);
  AppendFixed32(1, &block);
  std::string table;
  const auto append = [&](const std::string& text) {
    std::string place;
    AppendVarint(table.size(), &place);
    AppendVarint(text.size(), &place);
    table += text;
    table.push_back('\0');
    AppendFixed32(MaskCrc32c(Crc32c(absl::StrCat(text, std::string(1, '\0')))), &table);
    return place;
  };
  const std::string place = append(block);
  std::string index;
  for (int i = 0; index.size() < kFileBytes; ++i) {
    const uint64_t common = i % 200 == 0 ? 0 : 2;  // with the name before
    AppendVarint(common, &index);
    AppendVarint(3 - common, &index);
    AppendVarint(place.size(), &index);
    absl::StrAppend(&index, NameOf(i).substr(common), place);
  }
  index += block;
  std::string footer = append(block);
  footer += append(index);
  footer.resize(40);
  Write(IndexPath(kPrefix), absl::StrCat(table, footer, "\x57\xfb\x80\x8b\x24\x75\x47\xdb"));
  ExpectDataLossInLittleMemory("it lists more blocks than a file of this size has");
}

TEST_F(HostileCheckpointsTest, StringsWhoseLengthsAreMissing) {
  proto::BundleEntryProto entry;
  entry.set_dtype(proto::DT_STRING);
  entry.mutable_shape()->add_dim()->set_size(kFileBytes - 4);
  entry.set_size(kFileBytes);
  WriteIndex({{"w", entry.SerializeAsString()}});
  Write(DataPath(kPrefix, 0, 1), std::string(kFileBytes, '\0'));
  ExpectDataLossInLittleMemory("tensor w: at byte 0: the checksum of the strings' lengths");
}

TEST_F(HostileCheckpointsTest, ATensorOfWideElementsThatIsLargerThanItsParts) {
  proto::BundleEntryProto part;
  part.set_dtype(proto::DT_COMPLEX128);
  part.mutable_shape()->add_dim()->set_size(kFileBytes / 16);
  part.set_size(kFileBytes);
  proto::BundleEntryProto whole;
  whole.set_dtype(proto::DT_COMPLEX128);
  whole.mutable_shape()->add_dim()->set_size(kFileBytes);
  TensorSlice slice;
  slice.extents = {{0, static_cast<int64_t>(kFileBytes) / 16}};
  ToProto(slice, whole.add_slices());
  WriteIndex({{SliceKey("w", slice), part.SerializeAsString()}, {"w", whole.SerializeAsString()}});
  Write(DataPath(kPrefix, 0, 1), std::string(kFileBytes, '\0'));
  ExpectDataLossInLittleMemory(absl::StrCat("elements are not in ", kFileBytes, " bytes"));
}

TEST_F(HostileCheckpointsTest, APartOfAnotherSizeThanItsSlice) {
  proto::BundleEntryProto part;
  part.set_dtype(proto::DT_FLOAT);
  part.set_size(kFileBytes);
  proto::BundleEntryProto whole;
  whole.set_dtype(proto::DT_FLOAT);
  whole.mutable_shape()->add_dim()->set_size(kFileBytes);
  TensorSlice slice;
  slice.extents = {{0, static_cast<int64_t>(kFileBytes) / 2}};
  ToProto(slice, whole.add_slices());
  WriteIndex({{SliceKey("w", slice), part.SerializeAsString()}, {"w", whole.SerializeAsString()}});
  Write(DataPath(kPrefix, 0, 1), std::string(kFileBytes, '\0'));
  ExpectDataLossInLittleMemory("its size is not that of its slice");
}

TEST_F(HostileCheckpointsTest, ContentsOfVersion1ThatSayNothing) {
  const std::string meta = Repeated(absl::string_view("\x0a\x00", 2), kFileBytes);
  std::string bytes = "\x0a";
  AppendVarint(meta.size(), &bytes);
  Write(kPrefix, WriteTable({{std::string(), bytes + meta}}));
  ExpectDataLossInLittleMemory("model: a table, but not a checkpoint");
}

// So that the limits are not met by refusing what is meant.
TEST_F(HostileCheckpointsTest, AHundredThousandTensorsAreRead) {
  constexpr int kCount = 100'000;
  proto::BundleEntryProto entry;
  entry.set_dtype(proto::DT_FLOAT);
  entry.mutable_shape();
  entry.set_size(4);
  entry.set_crc32c(MaskCrc32c(Crc32c(std::string(4, '\0'))));
  TableEntries entries;
  for (int i = 0; i < kCount; ++i) {
    entry.set_offset(4 * i);
    entries.emplace_back(NameOf(i), entry.SerializeAsString());
  }
  WriteIndex(entries);
  Write(DataPath(kPrefix, 0, 1), std::string(4 * kCount, '\0'));
  EXPECT_EQ(ReadAll(), absl::OkStatus());
}

TEST_F(HostileCheckpointsTest, ManySmallTensorsOfVersion1AreListed) {
  constexpr int kCount = 30'000;
  const StatusOr<Tensor> number = Tensor::Create(DataType::kFloat, Shape({1, 1, 1, 1}));
  ASSERT_EQ(number.status(), absl::OkStatus());
  *number->data<float>() = 1;
  SavedSlicesWriter writer(&files_, kPrefix);
  for (int i = 0; i < kCount; ++i) {
    const std::string name = absl::StrCat("the/scope/of/many/variables/", i);
    ASSERT_EQ(writer.Add(name, SliceSpec(), *number), absl::OkStatus());
  }
  ASSERT_EQ(writer.Finish(), absl::OkStatus());
  const auto reader = CheckpointReader::Open(&files_, kPrefix);
  ASSERT_EQ(reader.status(), absl::OkStatus());
  EXPECT_EQ((*reader)->Names().size(), static_cast<size_t>(kCount));
}

TEST_F(HostileCheckpointsTest, EmptyStringsAreReadHoweverManyThereAre) {
  constexpr int kCount = 1 << 20;
  std::string data(kCount, '\0');  // their lengths
  uint32_t crc = 0;
  for (int i = 0; i < kCount; ++i) crc = Crc32c(std::string(4, '\0'), crc);
  std::string lengths;
  AppendFixed32(MaskCrc32c(crc), &lengths);
  proto::BundleEntryProto entry;
  entry.set_dtype(proto::DT_STRING);
  entry.mutable_shape()->add_dim()->set_size(kCount);
  entry.set_size(kCount + 4);
  entry.set_crc32c(MaskCrc32c(Crc32c(lengths, crc)));
  WriteIndex({{"w", entry.SerializeAsString()}});
  Write(DataPath(kPrefix, 0, 1), data + lengths);
  EXPECT_EQ(ReadAll(), absl::OkStatus());
}

}  // namespace
}  // namespace millstream::fuzz
