#include "core/checkpoint/table.h"

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/checkpoint/coding.h"
#include "core/io/faulty_file_system.h"
#include "core/io/write_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

constexpr char kPath[] = "t.index";

StatusOr<TableEntries> ReadBack(const std::string& text) {
  FaultyFileSystem files;
  EXPECT_EQ(WriteFileAtomically(&files, kPath, text, FileSystem::Existing::kReplace),
            absl::OkStatus());
  MS_ASSIGN_OR_RETURN(const std::unique_ptr<TableFile> table, TableFile::Open(&files, kPath));
  TableEntries entries;
  MS_RETURN_IF_ERROR(
      table->Visit([&](uint64_t /*at*/, const std::string& key, absl::string_view value) {
        entries.emplace_back(key, std::string(value));
        return absl::OkStatus();
      }));
  return entries;
}

TableEntries Numbered(int count, size_t value_bytes) {
  TableEntries entries = {{"", "header"}};
  for (int i = 0; i < count; ++i) {
    entries.emplace_back(absl::StrCat("layer/weight_", absl::Dec(i, absl::kZeroPad6)),
                         std::string(value_bytes, static_cast<char>(i)));
  }
  return entries;
}

TEST(TableTest, GivesBackWhatWasWritten) {
  for (const int count : {0, 1, 15, 16, 17, 1000}) {
    const TableEntries entries = Numbered(count, 20);
    const StatusOr<TableEntries> read = ReadBack(WriteTable(entries));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, entries) << count;
  }
}

TEST(TableTest, HasSeveralBlocksForManyEntries) {
  const TableEntries entries = Numbered(3000, 300);
  const StatusOr<TableEntries> read = ReadBack(WriteTable(entries));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, entries);
}

TEST(TableTest, WhatIsCutIsFound) {
  const std::string whole = WriteTable(Numbered(40, 10));
  for (size_t size = 0; size < whole.size(); ++size) {
    const StatusOr<TableEntries> read = ReadBack(whole.substr(0, size));
    ASSERT_TRUE(absl::IsDataLoss(read.status())) << size << ": " << read.status();
    EXPECT_THAT(read.status().message(), HasSubstr(kPath));
  }
}

TEST(TableTest, WhatIsChangedIsFound) {
  const std::string whole = WriteTable(Numbered(40, 10));
  for (size_t i = 0; i < whole.size(); ++i) {
    for (const int bit : {1, 128}) {
      std::string changed = whole;
      changed[i] = static_cast<char>(changed[i] ^ bit);
      EXPECT_TRUE(absl::IsDataLoss(ReadBack(changed).status())) << i;
    }
  }
}

// Each entry adds one byte to a long key that it shares with the one before it.
TEST(TableTest, KeysThatWouldFillTheMemoryAreRefused) {
  TableEntries entries;
  const std::string shared(60000, 'a');
  for (int i = 0; i < 4000; ++i) entries.emplace_back(shared + absl::StrCat(10000 + i), "");
  const StatusOr<TableEntries> read = ReadBack(WriteTable(entries));
  ASSERT_TRUE(absl::IsDataLoss(read.status())) << read.status();
  EXPECT_THAT(read.status().message(), HasSubstr("keys are longer"));
}

TEST(TableTest, AKeyIsFoundWithoutReadingAllBlocks) {
  const TableEntries entries = Numbered(3000, 300);
  FaultyFileSystem files;
  ASSERT_EQ(WriteFileAtomically(&files, kPath, WriteTable(entries), FileSystem::Existing::kReplace),
            absl::OkStatus());
  const auto table = TableFile::Open(&files, kPath);
  ASSERT_TRUE(table.ok()) << table.status();
  for (const size_t i : {0, 1, 500, 1999, 3000}) {
    const auto found = (*table)->Find(entries[i].first);
    ASSERT_TRUE(found.ok() && found->has_value()) << found.status();
    EXPECT_EQ(**found, entries[i].second);
  }
  for (const char* absent : {"layer", "layer/weight_000500x", "z"}) {
    const auto found = (*table)->Find(absent);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_FALSE(found->has_value()) << absent;
  }
}

TEST(CodingTest, VarintsAreReadAsWritten) {
  for (const uint64_t value : {uint64_t{0}, uint64_t{127}, uint64_t{128}, uint64_t{300},
                               uint64_t{1} << 35, ~uint64_t{0}}) {
    std::string text;
    AppendVarint(value, &text);
    absl::string_view rest = text;
    uint64_t read = 1;
    EXPECT_TRUE(TakeVarint(&rest, &read));
    EXPECT_EQ(read, value);
    EXPECT_TRUE(rest.empty());
    rest = absl::string_view(text).substr(0, text.size() - 1);
    EXPECT_FALSE(TakeVarint(&rest, &read)) << value;
  }
  absl::string_view too_long = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f";
  uint64_t read = 0;
  EXPECT_FALSE(TakeVarint(&too_long, &read));
  absl::string_view not_least("\x85\x00", 2);
  EXPECT_FALSE(TakeVarint(&not_least, &read));
}

// Keys sort as the numbers in them, whatever their sizes and signs.
TEST(CodingTest, KeysOfSlicesAscendWithTheirExtents) {
  const int64_t numbers[] = {-1, 0, 1, 63, 64, 65, 8191, 8192, 1 << 20, int64_t{1} << 40};
  std::string last;
  for (const int64_t start : numbers) {
    TensorSlice slice;
    slice.extents = {{start, 5}};
    const std::string key = SliceKey("w", slice);
    EXPECT_LT(last, key) << start;
    EXPECT_EQ(key.substr(0, 5), std::string("\0w\0\1\1", 5));
    last = key;
  }
}

}  // namespace
}  // namespace millstream
