// Writers that are stopped anywhere leave the last complete checkpoint, and every changed bit is
// found. The saves are those of a training program: data, index, the list of checkpoints, and then
// old checkpoints are removed.
#include <cerrno>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/checkpoint/bundle_format.h"
#include "core/checkpoint/bundle_reader.h"
#include "core/checkpoint/bundle_writer.h"
#include "core/checkpoint/saved_slices_writer.h"
#include "core/io/errno_status.h"
#include "core/io/faulty_file_system.h"
#include "core/io/write_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Names = FaultyFileSystem::Names;

constexpr char kList[] = "logs/checkpoint";

// A checkpoint of `num_tensors` tensors whose elements are all `value`.
Status Write(FileSystem* files, const std::string& prefix, int value, int num_tensors,
             int64_t num_elements) {
  MS_ASSIGN_OR_RETURN(const auto writer, BundleWriter::Create(files, prefix));
  for (int i = 0; i < num_tensors; ++i) {
    const Tensor tensor = *Tensor::Create(DataType::kInt32, Shape({num_elements}));
    for (int64_t k = 0; k < num_elements; ++k) tensor.data<int32_t>()[k] = value;
    MS_RETURN_IF_ERROR(writer->Add(absl::StrCat("t", i), tensor));
  }
  return writer->Finish();
}

// The value that all elements of all tensors have.
StatusOr<int> Read(FileSystem* files, const std::string& prefix) {
  MS_ASSIGN_OR_RETURN(const auto reader, CheckpointReader::Open(files, prefix));
  int value = 0;
  for (const std::string& name : reader->Names()) {
    MS_ASSIGN_OR_RETURN(const CheckpointReader::Info info, reader->Find(name));
    MS_RETURN_IF_ERROR(reader->CheckHeld(name));
    MS_ASSIGN_OR_RETURN(const Tensor out, Tensor::Create(info.dtype, info.shape));
    MS_RETURN_IF_ERROR(reader->Read(name, SliceSpec(), out));
    for (const int32_t element : out.flat<int32_t>()) {
      if (value == 0) value = element;
      EXPECT_EQ(element, value) << prefix << ": " << name;
    }
  }
  return value;
}

StatusOr<std::string> ListedPrefix(FileSystem* files) {
  MS_ASSIGN_OR_RETURN(const FileInfo info, files->Describe(kList));
  MS_ASSIGN_OR_RETURN(const auto file, files->OpenForReading(kList));
  std::string prefix(info.size, '\0');
  MS_RETURN_IF_ERROR(file->ReadAt(0, absl::MakeSpan(&prefix[0], prefix.size())).status());
  return prefix;
}

// Saves of one program: each under the same prefix, or under a new one, and the last one goes.
class Program {
 public:
  explicit Program(bool has_numbers) : has_numbers_(has_numbers) {}

  Status Save(FileSystem* files, int value, int num_tensors, int64_t num_elements) {
    const std::string prefix = has_numbers_ ? absl::StrCat("logs/model-", value) : "logs/model";
    const StatusOr<std::string> last = ListedPrefix(files);
    MS_RETURN_IF_ERROR(Write(files, prefix, value, num_tensors, num_elements));
    MS_RETURN_IF_ERROR(WriteFileAtomically(files, kList, prefix, FileSystem::Existing::kReplace));
    if (!last.ok() || *last == prefix) return absl::OkStatus();
    return RemoveBundle(files, *last);
  }

 private:
  const bool has_numbers_;
};

// What a new process restores.
StatusOr<int> Restore(FileSystem* files) {
  MS_ASSIGN_OR_RETURN(const std::string prefix, ListedPrefix(files));
  return Read(files, prefix);
}

enum class Stop { kKilled, kCrashedWithSyncedNames, kCrashedWithAllNames };
constexpr Stop kStops[] = {Stop::kKilled, Stop::kCrashedWithSyncedNames,
                           Stop::kCrashedWithAllNames};

// From the n-th operation on, nothing happens any more; then a new process begins.
template <typename Call>
bool StopAt(FaultyFileSystem* files, int n, Stop stop, const Call& call) {
  files->FailFrom(n, absl::UnavailableError("stopped"));
  call();
  const bool was_stopped = files->num_operations() >= n;
  files->FailFrom(0, absl::OkStatus());
  if (stop != Stop::kKilled) {
    files->Crash(stop == Stop::kCrashedWithSyncedNames ? Names::kSynced : Names::kCurrent);
  }
  return was_stopped;
}

TEST(BundleCrashTest, AWriterStoppedAtAnyOperationLeavesTheLastCheckpoint) {
  for (const bool has_numbers : {false, true}) {
    for (const Stop stop : kStops) {
      int n = 1;
      for (bool was_stopped = true; was_stopped; ++n) {
        Program program(has_numbers);
        FaultyFileSystem files;
        ASSERT_EQ(program.Save(&files, 1, 2, 3), absl::OkStatus());
        was_stopped = StopAt(&files, n, stop, [&] { program.Save(&files, 2, 3, 2).IgnoreError(); });
        const StatusOr<int> restored = Restore(&files);
        ASSERT_TRUE(restored.ok()) << restored.status() << " after operation " << n;
        EXPECT_TRUE(*restored == 1 || *restored == 2) << *restored;
        // What is left over is in nobody's way.
        ASSERT_EQ(program.Save(&files, 3, 2, 2), absl::OkStatus()) << n;
        EXPECT_EQ(*Restore(&files), 3) << n;
        if (has_numbers) continue;
        for (const auto& [path, contents] : files.Contents()) {
          EXPECT_FALSE(absl::StartsWith(path, "logs/model") && absl::EndsWith(path, ".tmp"))
              << path;
        }
      }
      EXPECT_GT(n, 20);
    }
  }
}

TEST(BundleCrashTest, AWriterStoppedAThousandTimesAtRandomNeverLosesTheLastCheckpoint) {
  std::mt19937 random(24);
  const auto below = [&](int limit) { return static_cast<int>(random() % limit); };
  Program program(false);
  Program numbered(true);
  auto files = std::make_unique<FaultyFileSystem>();
  int complete = 0;  // the last save that said so
  int times_stopped = 0;
  for (int value = 1; times_stopped < 1000; ++value) {
    if (below(50) == 0) {
      files = std::make_unique<FaultyFileSystem>();
      complete = 0;
    }
    Program& chosen = below(2) == 0 ? program : numbered;
    const int num_tensors = 1 + below(4);
    const int64_t num_elements = 1 + below(2) * below(40000);
    Status saved;
    const bool was_stopped = StopAt(files.get(), 1 + below(45), kStops[below(3)], [&] {
      saved = chosen.Save(files.get(), value, num_tensors, num_elements);
    });
    times_stopped += was_stopped ? 1 : 0;
    const StatusOr<int> restored = Restore(files.get());
    if (complete == 0 && !restored.ok()) {
      ASSERT_TRUE(absl::IsNotFound(restored.status()) && !saved.ok()) << restored.status();
      continue;
    }
    ASSERT_TRUE(restored.ok()) << restored.status() << " at save " << value;
    if (saved.ok()) complete = value;
    // A killed process may leave a newer one, which a crash of the machine later takes away.
    ASSERT_GE(*restored, complete);
    ASSERT_LE(*restored, value);
  }
}

TEST(BundleCrashTest, TemporaryFilesOfOthersStay) {
  FaultyFileSystem files;
  ASSERT_EQ(files.MakeFolders("logs"), absl::OkStatus());
  for (const char* path :
       {"logs/model.data.1-2.tmp", "logs/model.index.1-3.tmp", "logs/model-2.data.1-4.tmp",
        "logs/model.data.data.1-5.tmp", "logs/model.data.x.tmp", "logs/model.data.tmp"}) {
    ASSERT_EQ(WriteFileAtomically(&files, path, "", FileSystem::Existing::kRefuse),
              absl::OkStatus());
  }
  ASSERT_EQ(Write(&files, "logs/model", 1, 2, 3), absl::OkStatus());
  std::vector<std::string> paths;
  for (const auto& [path, contents] : files.Contents()) paths.push_back(path);
  EXPECT_THAT(paths, ElementsAre("logs/model-2.data.1-4.tmp", "logs/model.data-00000-of-00001",
                                 "logs/model.data.data.1-5.tmp", "logs/model.data.tmp",
                                 "logs/model.data.x.tmp", "logs/model.index"));
}

TEST(BundleCrashTest, ACheckpointThatReplacesAnotherHasTheUsualNames) {
  FaultyFileSystem files;
  for (const int value : {1, 2, 3}) {
    ASSERT_EQ(Write(&files, "logs/model", value, 2, 3), absl::OkStatus());
    std::vector<std::string> paths;
    for (const auto& [path, contents] : files.Contents()) paths.push_back(path);
    EXPECT_THAT(paths, ElementsAre("logs/model.data-00000-of-00001", "logs/model.index"));
    EXPECT_EQ(*Read(&files, "logs/model"), value);
  }
}

TEST(BundleCrashTest, AFullDiskAndAFolderThatIsReadOnlyLeaveTheOldCheckpoint) {
  for (const int error : {ENOSPC, EROFS, EACCES, EIO}) {
    for (int n = 1; n <= 9; ++n) {  // the data are written, and nothing has its name yet
      FaultyFileSystem files;
      ASSERT_EQ(Write(&files, "logs/model", 1, 2, 3), absl::OkStatus());
      files.FailFrom(n, ErrnoStatus(error, "logs"));
      EXPECT_EQ(ErrnoOf(Write(&files, "logs/model", 2, 2, 3)), error) << n;
      files.FailFrom(0, absl::OkStatus());
      EXPECT_EQ(*Read(&files, "logs/model"), 1) << n;
    }
  }
}

TEST(BundleCrashTest, OnlyOneWriterWritesACheckpoint) {
  std::string folder = ::testing::TempDir() + "/bundle-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  FaultyFileSystem faulty;
  for (FileSystem* const files : {static_cast<FileSystem*>(&faulty), LocalFileSystem()}) {
    const std::string prefix = folder + "/model";
    ASSERT_EQ(Write(files, prefix, 1, 2, 3), absl::OkStatus());
    auto first = BundleWriter::Create(files, prefix);
    ASSERT_TRUE(first.ok()) << first.status();
    const Status second = Write(files, prefix, 2, 2, 3);
    EXPECT_TRUE(absl::IsFailedPrecondition(second)) << second;
    EXPECT_THAT(second.message(), HasSubstr("somebody else writes the checkpoint " + prefix));
    EXPECT_EQ(Write(files, prefix + "-2", 2, 2, 3), absl::OkStatus());
    EXPECT_EQ(*Read(files, prefix), 1);
    first->reset();
    EXPECT_EQ(Write(files, prefix, 3, 2, 3), absl::OkStatus());
    EXPECT_EQ(*Read(files, prefix), 3);
  }
  EXPECT_THAT(*LocalFileSystem()->List(folder),
              ElementsAre("model-2.data-00000-of-00001", "model-2.index",
                          "model.data-00000-of-00001", "model.index"));
}

TEST(BundleCrashTest, AFolderThatGoesWhileItIsWrittenIsAnError) {
  std::string folder = ::testing::TempDir() + "/bundle-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  FileSystem* const files = LocalFileSystem();
  const auto writer = BundleWriter::Create(files, folder + "/model");
  ASSERT_TRUE(writer.ok()) << writer.status();
  ASSERT_EQ((*writer)->Add("t", Tensor::Scalar<int32_t>(1)), absl::OkStatus());
  const std::vector<std::string> names = *files->List(folder);
  for (const std::string& name : names) {
    ASSERT_EQ(files->Remove(folder + "/" + name), absl::OkStatus());
  }
  ASSERT_EQ(files->RemoveFolder(folder), absl::OkStatus());
  const Status finished = (*writer)->Finish();
  EXPECT_TRUE(absl::IsNotFound(finished)) << finished;
  EXPECT_THAT(finished.message(), HasSubstr(folder));
}

// The first error of reading all tensors, in order, or success.
Status ReadEverything(FileSystem* files, const std::string& prefix) {
  MS_ASSIGN_OR_RETURN(const auto reader, CheckpointReader::Open(files, prefix));
  for (const std::string& name : reader->Names()) {
    MS_ASSIGN_OR_RETURN(const CheckpointReader::Info info, reader->Find(name));
    MS_RETURN_IF_ERROR(reader->CheckHeld(name));
    MS_ASSIGN_OR_RETURN(const Tensor out, Tensor::Create(info.dtype, info.shape));
    MS_RETURN_IF_ERROR(reader->Read(name, SliceSpec(), out));
  }
  return absl::OkStatus();
}

// Flips each bit of each file.
void ExpectEachBitMatters(FaultyFileSystem* files, const std::string& prefix) {
  ASSERT_EQ(ReadEverything(files, prefix), absl::OkStatus());
  for (const auto& [path, contents] : files->Contents()) {
    const bool has_tensors = absl::StrContains(path, ".data-");
    for (size_t i = 0; i < 8 * contents.size(); ++i) {
      std::string changed = contents;
      changed[i / 8] = static_cast<char>(changed[i / 8] ^ (1 << i % 8));
      ASSERT_EQ(WriteFileAtomically(files, path, changed, FileSystem::Existing::kReplace),
                absl::OkStatus());
      const Status read = ReadEverything(files, prefix);
      ASSERT_TRUE(absl::IsDataLoss(read)) << path << ", bit " << i << ": " << read;
      EXPECT_THAT(read.message(), HasSubstr(path)) << i;
      EXPECT_THAT(read.message(), HasSubstr("at byte")) << i;
      EXPECT_TRUE(!has_tensors || absl::StrContains(read.message(), ": tensor ")) << read;
    }
    ASSERT_EQ(WriteFileAtomically(files, path, contents, FileSystem::Existing::kReplace),
              absl::OkStatus());
  }
}

TEST(BundleCrashTest, EachBitOfACheckpointMatters) {
  FaultyFileSystem files;
  const auto writer = BundleWriter::Create(&files, "model");
  ASSERT_EQ((*writer)->Add("weights", Tensor::Vector<float>({1, 2, 3})), absl::OkStatus());
  ASSERT_EQ((*writer)->Add("names", Tensor::Vector<std::string>({"a", "", "bcd"})),
            absl::OkStatus());
  ASSERT_EQ((*writer)->AddSlice("w", *ParseSliceSpec("2 0,1"), Tensor::Vector<float>({1})),
            absl::OkStatus());
  ASSERT_EQ((*writer)->AddSlice("w", *ParseSliceSpec("2 1,1"), Tensor::Vector<float>({2})),
            absl::OkStatus());
  ASSERT_EQ((*writer)->Finish(), absl::OkStatus());
  ExpectEachBitMatters(&files, "model");
}

TEST(BundleCrashTest, EachBitOfACheckpointOfVersion1Matters) {
  FaultyFileSystem files;
  SavedSlicesWriter writer(&files, "model");
  ASSERT_EQ(writer.Add("weights", SliceSpec(), Tensor::Vector<float>({1, 2, 3})), absl::OkStatus());
  ASSERT_EQ(writer.Add("names", SliceSpec(), Tensor::Vector<std::string>({"a", "bcd"})),
            absl::OkStatus());
  ASSERT_EQ(writer.Finish(), absl::OkStatus());
  ExpectEachBitMatters(&files, "model");
}

TEST(BundleCrashTest, ACheckpointOfVersion1ReplacesOneOfVersion2) {
  FaultyFileSystem files;
  ASSERT_EQ(Write(&files, "logs/model", 1, 2, 3), absl::OkStatus());
  SavedSlicesWriter writer(&files, "logs/model");
  ASSERT_EQ(writer.Add("t0", SliceSpec(), Tensor::Vector<int32_t>({7})), absl::OkStatus());
  ASSERT_EQ(writer.Finish(), absl::OkStatus());
  EXPECT_EQ(files.Contents().size(), 1u);
  EXPECT_EQ(*Read(&files, "logs/model"), 7);
}

}  // namespace
}  // namespace millstream
