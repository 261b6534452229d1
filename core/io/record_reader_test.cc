// Records of files in memory: whole ones, and each byte of them damaged.
#include "core/io/record_reader.h"

#include <cstdint>
#include <string>
#include <vector>

#include "core/io/crc32c.h"
#include "core/io/faulty_file_system.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kPath[] = "records";

template <typename T>
std::string Bytes(T number) {
  return std::string(reinterpret_cast<const char*>(&number), sizeof(number));
}

std::string Framed(const std::string& data) {
  const std::string length = Bytes(static_cast<uint64_t>(data.size()));
  return length + Bytes(MaskCrc32c(Crc32c(length))) + data + Bytes(MaskCrc32c(Crc32c(data)));
}

// The records of a file, up to an error.
std::vector<std::string> Read(const std::string& contents, Status* status) {
  FaultyFileSystem files;
  auto file = files.OpenForAppending(kPath, FileSystem::Existing::kReplace);
  EXPECT_TRUE(file.ok() && (*file)->Append(contents).ok());
  StatusOr<RecordReader> reader = RecordReader::Open(&files, kPath);
  EXPECT_TRUE(reader.ok()) << reader.status();
  std::vector<std::string> records;
  for (;;) {
    StatusOr<std::optional<std::string>> record = reader->Next();
    *status = record.status();
    if (!record.ok() || !record->has_value()) return records;
    records.push_back(**record);
  }
}

TEST(RecordReaderTest, ReadsOneAfterTheOther) {
  Status status;
  EXPECT_THAT(Read(Framed("one") + Framed("") + Framed("three"), &status),
              ElementsAre("one", "", "three"));
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_THAT(Read("", &status), IsEmpty());
  EXPECT_TRUE(status.ok()) << status;
}

TEST(RecordReaderTest, EachDamagedByteIsFound) {
  const std::string whole = Framed("one") + Framed("two");
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    Status status;
    EXPECT_EQ(Read(damaged, &status).size(), i < whole.size() / 2 ? 0u : 1u) << i;
    EXPECT_TRUE(absl::IsDataLoss(status)) << i << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("records has a wrong checksum"));
  }
}

TEST(RecordReaderTest, EachCutIsFound) {
  const std::string whole = Framed("one");
  for (size_t size = 1; size < whole.size(); ++size) {
    Status status;
    EXPECT_THAT(Read(whole.substr(0, size), &status), IsEmpty());
    EXPECT_TRUE(absl::IsDataLoss(status)) << size << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("ends within the record at byte 0"));
  }
}

// With a right checksum: the length is checked before memory is taken.
TEST(RecordReaderTest, AHugeLengthIsRefused) {
  for (const uint64_t size : {uint64_t{1} << 40, ~uint64_t{0}, ~uint64_t{0} - 15}) {
    const std::string length = Bytes(size);
    Status status;
    EXPECT_THAT(Read(length + Bytes(MaskCrc32c(Crc32c(length))) + "data", &status), IsEmpty());
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  }
}

TEST(RecordReaderTest, AFileThatIsNotThereIsAnError) {
  FaultyFileSystem files;
  EXPECT_TRUE(absl::IsNotFound(RecordReader::Open(&files, "none").status()));
}

}  // namespace
}  // namespace millstream
