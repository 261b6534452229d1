// Records of files in memory: whole ones, and each byte of them damaged; also compressed ones.
#include "core/io/record_reader.h"

#include <zlib.h>

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
std::vector<std::string> Read(const std::string& contents, Status* status,
                              Compression compression = Compression::kNone) {
  FaultyFileSystem files;
  auto file = files.OpenForAppending(kPath, FileSystem::Existing::kReplace);
  EXPECT_TRUE(file.ok() && (*file)->Append(contents).ok());
  StatusOr<RecordReader> reader = RecordReader::Open(&files, kPath, compression);
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
    EXPECT_THAT(std::string(status.message()), HasSubstr(": corrupted record at "));
  }
}

TEST(RecordReaderTest, EachCutIsFound) {
  const std::string whole = Framed("one");
  for (size_t size = 1; size < whole.size(); ++size) {
    Status status;
    EXPECT_THAT(Read(whole.substr(0, size), &status), IsEmpty());
    EXPECT_TRUE(absl::IsDataLoss(status)) << size << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("ends within the record at byte 0"));
    EXPECT_THAT(std::string(status.message()), HasSubstr(": truncated record at 0"));
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

// ---- Compressed files ----

std::string Deflated(const std::string& data, Compression compression) {
  z_stream state = {};
  const int window = MAX_WBITS + (compression == Compression::kGzip ? 16 : 0);
  EXPECT_EQ(deflateInit2(&state, 9, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&state, data.size()), '\0');
  std::string in = data;
  state.next_in = reinterpret_cast<Bytef*>(&in[0]);
  state.avail_in = static_cast<uInt>(in.size());
  state.next_out = reinterpret_cast<Bytef*>(&out[0]);
  state.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&state, Z_FINISH), Z_STREAM_END);
  out.resize(state.total_out);
  deflateEnd(&state);
  return out;
}

constexpr Compression kBoth[] = {Compression::kZlib, Compression::kGzip};

TEST(RecordReaderTest, ReadsCompressedFiles) {
  // Larger than what is read at once, before and after.
  std::string large(3'000'000, 'x');
  for (size_t i = 0; i < large.size(); i += 7) large[i] = static_cast<char>(i * i % 251);
  for (const Compression compression : kBoth) {
    Status status;
    const std::string file = Deflated(Framed("one") + Framed(large) + Framed(""), compression);
    EXPECT_THAT(Read(file, &status, compression), ElementsAre("one", large, ""));
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_THAT(Read("", &status, compression), IsEmpty());
    EXPECT_TRUE(status.ok()) << status;
  }
}

TEST(RecordReaderTest, AFileMayHaveSeveralMembers) {
  Status status;
  const std::string file =
      Deflated(Framed("one"), Compression::kGzip) + Deflated(Framed("two"), Compression::kGzip);
  EXPECT_THAT(Read(file, &status, Compression::kGzip), ElementsAre("one", "two"));
  EXPECT_TRUE(status.ok()) << status;
  const std::string twice = Deflated(Framed("one"), Compression::kZlib);
  EXPECT_THAT(Read(twice + twice, &status, Compression::kZlib), ElementsAre("one"));
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
}

TEST(RecordReaderTest, EachCutAndDamagedByteOfCompressedFilesIsFound) {
  for (const Compression compression : kBoth) {
    const std::string whole = Deflated(Framed("one") + Framed("two"), compression);
    for (size_t size = 1; size < whole.size(); ++size) {
      Status status;
      Read(whole.substr(0, size), &status, compression);
      EXPECT_TRUE(absl::IsDataLoss(status)) << size << ": " << status;
    }
    // The header of gzip has flags and a time that say nothing of the data; and the last byte
    // before the checksums has bits that nobody reads.
    const bool is_gzip = compression == Compression::kGzip;
    const size_t first = is_gzip ? 10 : 0;
    const size_t unused = whole.size() - (is_gzip ? 8 : 4) - 1;
    for (size_t i = first; i < whole.size(); ++i) {
      if (i == unused) continue;
      std::string damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
      Status status;
      Read(damaged, &status, compression);
      EXPECT_TRUE(absl::IsDataLoss(status)) << i << ": " << status;
    }
  }
}

TEST(RecordReaderTest, AHugeLengthInACompressedFileTakesNoMemory) {
  for (const uint64_t size : {uint64_t{1} << 40, ~uint64_t{0} - 4, ~uint64_t{0}}) {
    const std::string length = Bytes(size);
    const std::string file = length + Bytes(MaskCrc32c(Crc32c(length))) + "data";
    Status status;
    EXPECT_THAT(Read(Deflated(file, Compression::kGzip), &status, Compression::kGzip), IsEmpty());
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  }
}

TEST(RecordReaderTest, CompressionsHaveNames) {
  EXPECT_EQ(CompressionNamed("").value(), Compression::kNone);
  EXPECT_EQ(CompressionNamed("ZLIB").value(), Compression::kZlib);
  EXPECT_EQ(CompressionNamed("GZIP").value(), Compression::kGzip);
  EXPECT_TRUE(absl::IsInvalidArgument(CompressionNamed("gzip").status()));
}

TEST(RecordReaderTest, AFileThatIsNotThereIsAnError) {
  FaultyFileSystem files;
  EXPECT_TRUE(absl::IsNotFound(RecordReader::Open(&files, "none").status()));
}

}  // namespace
}  // namespace millstream
