#include "framework/plugin/preflight.h"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <random>

#include "framework/plugin/cpu_bits.h"
#include "framework/plugin/testing/fixture_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Expects INVALID_ARGUMENT "not a Millstream plugin: <path>: ...<reason>...".
void ExpectNoPlugin(const std::string& path, const std::string& reason) {
  const StatusOr<PluginFile> file = ReadPluginFile(path);
  ASSERT_FALSE(file.ok()) << path;
  EXPECT_EQ(file.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(file.status().message()),
              AllOf(HasSubstr("not a Millstream plugin: " + path + ": "), HasSubstr(reason)));
}

// A copy of the good plugin with an ELF header of other content.
std::string WithHeader(const TemporaryFolder& folder,
                       const std::function<void(Elf64_Ehdr*)>& change) {
  std::string bytes = ReadBytes(FixturePath("good"));
  Elf64_Ehdr header = {};
  std::memcpy(&header, bytes.data(), sizeof(header));
  change(&header);
  std::memcpy(bytes.data(), &header, sizeof(header));
  return folder.Write("changed.so", bytes);
}

TEST(PreflightTest, ReadsTheNoteOfAPlugin) {
  const StatusOr<PluginFile> file = ReadPluginFile(FixturePath("family_high"));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->name(), "family_high");
  EXPECT_EQ(file->family(), "pair");
  EXPECT_EQ(file->note.rank, 2);
  EXPECT_EQ(file->note.abi_major, MS_ABI_MAJOR);
  EXPECT_EQ(file->note.built_minor, MS_ABI_MINOR);
  EXPECT_EQ(file->note.flags, MS_PLUGIN_KERNELS_ONLY);
  EXPECT_EQ(file->path.front(), '/');
  EXPECT_TRUE(CheckCompatible(*file).ok());
}

TEST(PreflightTest, APluginWithoutFamilyIsAFamilyOfItsOwn) {
  const StatusOr<PluginFile> file = ReadPluginFile(FixturePath("good"));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->family(), "good");
}

TEST(PreflightTest, RejectsWhatIsNoFile) {
  TemporaryFolder folder;
  EXPECT_EQ(ReadPluginFile(folder.File("absent.so")).status().code(), absl::StatusCode::kNotFound);
  ExpectNoPlugin(folder.path(), "is a directory");
  ASSERT_EQ(mkfifo(folder.File("pipe.so").c_str(), 0600), 0);
  ExpectNoPlugin(folder.File("pipe.so"), "is a pipe");
  ASSERT_EQ(symlink("loop.so", folder.File("loop.so").c_str()), 0);
  EXPECT_EQ(ReadPluginFile(folder.File("loop.so")).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(PreflightTest, RejectsWhatIsNoElfFile) {
  TemporaryFolder folder;
  ExpectNoPlugin(folder.Write("empty.so", ""), "not an ELF file (0 bytes)");
  ExpectNoPlugin(folder.Write("text.so", "This is a text.\n"), "not an ELF file (16 bytes)");
}

TEST(PreflightTest, RejectsEveryTruncation) {
  TemporaryFolder folder;
  const std::string bytes = ReadBytes(FixturePath("good"));
  ASSERT_GT(bytes.size(), 4096u);
  for (size_t size = sizeof(Elf64_Ehdr); size < bytes.size(); size += 61) {
    const std::string path = folder.Write("cut.so", bytes.substr(0, size));
    ExpectNoPlugin(path, "truncated");
  }
  ExpectNoPlugin(folder.Write("cut.so", bytes.substr(0, bytes.size() - 1)), "truncated");
  ExpectNoPlugin(folder.Write("cut.so", bytes.substr(0, 20)), "the ELF header needs 64 bytes");
}

TEST(PreflightTest, RejectsObjectsOfOtherMachinesAndKinds) {
  TemporaryFolder folder;
  ExpectNoPlugin(WithHeader(folder, [](Elf64_Ehdr* h) { h->e_ident[EI_CLASS] = ELFCLASS32; }),
                 "ELF class 1, expected 64-bit (2)");
  ExpectNoPlugin(WithHeader(folder, [](Elf64_Ehdr* h) { h->e_ident[EI_DATA] = ELFDATA2MSB; }),
                 "not little-endian");
  ExpectNoPlugin(WithHeader(folder, [](Elf64_Ehdr* h) { h->e_machine = EM_SPARCV9; }),
                 "for ELF machine 43");
  ExpectNoPlugin(WithHeader(folder, [](Elf64_Ehdr* h) { h->e_type = ET_REL; }),
                 "ELF type 1, expected a shared object (3)");
  ExpectNoPlugin(WithHeader(folder, [](Elf64_Ehdr* h) { h->e_phnum = 0; }),
                 "has 0 program headers");
  ExpectNoPlugin(WithHeader(folder, [](Elf64_Ehdr* h) { h->e_phoff = ~uint64_t{0}; }),
                 "truncated: the program header table");
}

TEST(PreflightTest, RejectsBadNotes) {
  TemporaryFolder folder;
  ExpectNoPlugin(folder.WithNote("magic.so", "good", [](MS_Note* note) { note->magic = 0xabc; }),
                 "its note has magic 0xabc, expected 0x4d494c4c504c5547");
  ExpectNoPlugin(
      folder.WithNote("name.so", "good", [](MS_Note* note) { std::memset(note->name, 'x', 32); }),
      "no terminated name");
  std::string bytes = ReadBytes(FixturePath("good"));
  bytes[FindNote(bytes) - sizeof(MS_NoteRecord::owner)] = 'm';
  ExpectNoPlugin(folder.Write("owner.so", bytes),
                 "has no ELF note of owner \"Millstream\" and type 1");
}

TEST(PreflightTest, SurvivesRandomDamage) {
  TemporaryFolder folder;
  const std::string good = ReadBytes(FixturePath("good"));
  std::mt19937 random(1);
  int readable = 0;
  for (int round = 0; round < 300; ++round) {
    std::string bytes = good;
    for (int change = 0; change < 8; ++change) {
      bytes[random() % 1024] = static_cast<char>(random());  // where all headers and the note stand
    }
    readable += ReadPluginFile(folder.Write("damaged.so", bytes)).ok() ? 1 : 0;
  }
  EXPECT_LT(readable, 300);
}

TEST(PreflightTest, OtherAbiVersionsAreNamedWithTheirNumbers) {
  TemporaryFolder folder;
  const StatusOr<PluginFile> file =
      ReadPluginFile(folder.WithNote("newer.so", "good", [](MS_Note* note) {
        note->abi_major = 1;
        note->min_host_minor = 7;
      }));
  ASSERT_TRUE(file.ok()) << file.status();
  const std::string prefix = "plugin " + folder.File("newer.so") + " needs ABI 1.7, ";
  EXPECT_EQ(CheckCompatible(*file, 0, 9), errors::FailedPrecondition(prefix, "host has 0.9"));
  EXPECT_EQ(CheckCompatible(*file, 1, 3), errors::FailedPrecondition(prefix, "host has 1.3"));
  EXPECT_TRUE(CheckCompatible(*file, 1, 7).ok());
  EXPECT_TRUE(CheckCompatible(*file, 1, 8).ok());
}

TEST(PreflightTest, ASanitizerThatTheHostDoesNotRunUnderIsRefused) {
  TemporaryFolder folder;
  const StatusOr<PluginFile> file = ReadPluginFile(folder.WithNote(
      "sanitized.so", "good", [](MS_Note* note) { note->sanitizer = MS_SANITIZER_MEMORY; }));
  ASSERT_TRUE(file.ok()) << file.status();
  const Status status = CheckCompatible(*file);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("was built with the memory sanitizer (4)"));
}

TEST(PreflightTest, MissingInstructionSetsAreNamed) {
  TemporaryFolder folder;
  const StatusOr<PluginFile> file =
      ReadPluginFile(folder.WithNote("wide.so", "good", [](MS_Note* note) {
        note->cpu_bits = MS_CPU_AVX2 | MS_CPU_AVX512BF16 | uint64_t{1} << 40;
      }));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE(CheckCpu(*file, ~uint64_t{0}).ok());
  EXPECT_EQ(CheckCpu(*file, MS_CPU_AVX2),
            errors::FailedPrecondition("plugin ", file->path,
                                       " needs AVX512BF16, bit 40, which this machine does not "
                                       "have or enable"));
}

TEST(CpuBitsTest, WiderSetsComeWithTheNarrowerOnes) {
  const uint64_t bits = EnabledCpuBits();
  EXPECT_TRUE((bits & MS_CPU_AVX512BW) == 0 || (bits & MS_CPU_AVX512F) != 0);
  EXPECT_TRUE((bits & MS_CPU_AVX512F) == 0 || (bits & MS_CPU_AVX2) != 0);
  EXPECT_EQ(bits & ~uint64_t{0xff}, 0u);
}

}  // namespace
}  // namespace millstream
