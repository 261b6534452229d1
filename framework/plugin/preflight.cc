#include "framework/plugin/preflight.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "framework/plugin/cpu_bits.h"

namespace millstream {
namespace {

#if defined(__x86_64__)
constexpr uint16_t kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr uint16_t kMachine = EM_AARCH64;
#else
#error "The plugin ABI is defined for 64-bit x86 and ARM."
#endif

// More than any linker writes; beyond it a header is nonsense, and is not worth reading.
constexpr uint64_t kMaxNoteBytes = 1 << 20;
constexpr uint64_t kMaxProgramHeaders = 1024;

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }

 private:
  const int fd_;
};

// Reads ranges of a file that is known to have `size` bytes; every range is checked first.
class ElfReader {
 public:
  ElfReader(int fd, uint64_t size) : fd_(fd), size_(size) {}

  uint64_t size() const { return size_; }
  bool Contains(uint64_t offset, uint64_t bytes) const {
    return offset <= size_ && bytes <= size_ - offset;
  }
  Status Read(uint64_t offset, uint64_t bytes, void* out, absl::string_view what) const {
    if (!Contains(offset, bytes)) {
      return errors::InvalidArgument("truncated: ", what, " needs ", bytes, " bytes from ", offset,
                                     " on, the file has ", size_);
    }
    uint64_t done = 0;
    while (done < bytes) {
      const ssize_t got = pread(fd_, static_cast<char*>(out) + done, bytes - done,
                                static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return errors::InvalidArgument("cannot be read: ", std::strerror(errno));
      if (got == 0) return errors::InvalidArgument("shrank while it was read");
      done += static_cast<uint64_t>(got);
    }
    return absl::OkStatus();
  }

 private:
  const int fd_;
  const uint64_t size_;
};

Status CheckHeader(const Elf64_Ehdr& header) {
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    return errors::InvalidArgument("not an ELF file");
  }
  if (header.e_ident[EI_CLASS] != ELFCLASS64) {
    return errors::InvalidArgument("ELF class ", static_cast<int>(header.e_ident[EI_CLASS]),
                                   ", expected 64-bit (", ELFCLASS64, ")");
  }
  if (header.e_ident[EI_DATA] != ELFDATA2LSB) {
    return errors::InvalidArgument("not little-endian");
  }
  if (header.e_machine != kMachine) {
    return errors::InvalidArgument("for ELF machine ", header.e_machine, ", this is machine ",
                                   kMachine);
  }
  if (header.e_type != ET_DYN) {
    return errors::InvalidArgument("ELF type ", header.e_type, ", expected a shared object (",
                                   ET_DYN, ")");
  }
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum == 0 ||
      header.e_phnum > kMaxProgramHeaders) {
    return errors::InvalidArgument("has ", header.e_phnum, " program headers of ",
                                   header.e_phentsize, " bytes, expected 1 to ", kMaxProgramHeaders,
                                   " of ", sizeof(Elf64_Phdr));
  }
  return absl::OkStatus();
}

// The program headers, every segment of which lies inside the file, as do the section headers.
StatusOr<std::vector<Elf64_Phdr>> ReadProgramHeaders(const ElfReader& file) {
  // The identification first, so that a short text file is called by its name.
  char identification[SELFMAG] = {};
  if (file.Contains(0, SELFMAG)) {
    MS_RETURN_IF_ERROR(file.Read(0, SELFMAG, identification, "the ELF magic"));
  }
  if (std::memcmp(identification, ELFMAG, SELFMAG) != 0) {
    return errors::InvalidArgument("not an ELF file (", file.size(), " bytes)");
  }
  Elf64_Ehdr header = {};
  MS_RETURN_IF_ERROR(file.Read(0, sizeof(header), &header, "the ELF header"));
  MS_RETURN_IF_ERROR(CheckHeader(header));
  std::vector<Elf64_Phdr> segments(header.e_phnum);
  MS_RETURN_IF_ERROR(file.Read(header.e_phoff, segments.size() * sizeof(Elf64_Phdr),
                               segments.data(), "the program header table"));
  for (size_t i = 0; i < segments.size(); ++i) {
    // dlopen would map such a segment and the first touch of the missing page would be a SIGBUS.
    if (!file.Contains(segments[i].p_offset, segments[i].p_filesz)) {
      return errors::InvalidArgument("truncated: segment ", i, " needs ", segments[i].p_filesz,
                                     " bytes from ", segments[i].p_offset, " on, the file has ",
                                     file.size());
    }
  }
  const uint64_t section_bytes = uint64_t{header.e_shnum} * header.e_shentsize;
  if (header.e_shoff != 0 && !file.Contains(header.e_shoff, section_bytes)) {
    return errors::InvalidArgument("truncated: the section header table needs ", section_bytes,
                                   " bytes from ", header.e_shoff, " on, the file has ",
                                   file.size());
  }
  return segments;
}

uint64_t AlignUp(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

// Looks through one PT_NOTE segment for our note; null when it is not there.
// Each note: owner size, description size, type (32 bits each), owner, description, both padded.
const char* FindNote(const std::vector<char>& bytes, uint64_t alignment, uint32_t* size) {
  uint64_t at = 0;
  while (at + sizeof(Elf64_Nhdr) <= bytes.size()) {
    Elf64_Nhdr header = {};
    std::memcpy(&header, bytes.data() + at, sizeof(header));
    const uint64_t owner = at + sizeof(header);
    const uint64_t description = AlignUp(owner + header.n_namesz, alignment);
    const uint64_t end = description + header.n_descsz;
    if (end > bytes.size()) return nullptr;
    if (header.n_type == MS_NOTE_TYPE && header.n_namesz == sizeof(MS_NOTE_OWNER) &&
        std::memcmp(bytes.data() + owner, MS_NOTE_OWNER, sizeof(MS_NOTE_OWNER)) == 0) {
      *size = header.n_descsz;
      return bytes.data() + description;
    }
    at = AlignUp(end, alignment);
  }
  return nullptr;
}

// A text field of the note: terminated within its array.
bool IsTerminated(const char* text, size_t size) {
  return std::memchr(text, '\0', size) != nullptr;
}

Status CheckNote(const MS_Note& note) {
  if (note.magic != MS_PLUGIN_MAGIC) {
    return errors::InvalidArgument("its note has magic 0x", absl::Hex(note.magic), ", expected 0x",
                                   absl::Hex(MS_PLUGIN_MAGIC));
  }
  if (!IsTerminated(note.name, sizeof(note.name)) || note.name[0] == '\0' ||
      !IsTerminated(note.family, sizeof(note.family))) {
    return errors::InvalidArgument("its note has no terminated name and family");
  }
  return absl::OkStatus();
}

StatusOr<MS_Note> ReadNote(const ElfReader& file) {
  MS_ASSIGN_OR_RETURN(const std::vector<Elf64_Phdr> segments, ReadProgramHeaders(file));
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_NOTE || segment.p_filesz > kMaxNoteBytes) continue;
    std::vector<char> bytes(segment.p_filesz);
    MS_RETURN_IF_ERROR(file.Read(segment.p_offset, bytes.size(), bytes.data(), "a note segment"));
    uint32_t size = 0;
    const char* description = FindNote(bytes, segment.p_align == 8 ? 8 : 4, &size);
    if (description == nullptr) continue;
    if (size < sizeof(MS_Note)) {
      return errors::InvalidArgument("its note has ", size, " bytes, needed are ", sizeof(MS_Note));
    }
    MS_Note note = {};
    std::memcpy(&note, description, sizeof(note));
    MS_RETURN_IF_ERROR(CheckNote(note));
    return note;
  }
  return errors::InvalidArgument("has no ELF note of owner \"", MS_NOTE_OWNER, "\" and type ",
                                 MS_NOTE_TYPE);
}

Status NotAPlugin(const Status& reason, const std::string& path) {
  return Status(reason.code(),
                absl::StrCat("not a Millstream plugin: ", path, ": ", reason.message()));
}

const char* FileKind(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

const char* SanitizerName(uint32_t sanitizer) {
  switch (sanitizer) {
    case 0: return "no sanitizer";
    case MS_SANITIZER_ADDRESS: return "the address sanitizer";
    case MS_SANITIZER_THREAD: return "the thread sanitizer";
    case MS_SANITIZER_MEMORY: return "the memory sanitizer";
    default: return "an unknown sanitizer";
  }
}

}  // namespace

StatusOr<PluginFile> ReadPluginFile(const std::string& path) {
  PluginFile result;
  char resolved[PATH_MAX];
  if (realpath(path.c_str(), resolved) == nullptr) {
    const int error = errno;
    const std::string text = absl::StrCat("plugin ", path, ": ", std::strerror(error));
    if (error == ENOENT || error == ENOTDIR) return errors::NotFound(text);
    return errors::InvalidArgument(text);
  }
  result.path = resolved;
  // Non-blocking, so that a pipe without a writer does not hang us.
  const FileDescriptor fd(open(resolved, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info = {};
  if (fd.get() < 0 || fstat(fd.get(), &info) != 0) {
    return NotAPlugin(errors::InvalidArgument("cannot be opened: ", std::strerror(errno)), path);
  }
  if (!S_ISREG(info.st_mode)) {
    return NotAPlugin(errors::InvalidArgument("is ", FileKind(info.st_mode)), path);
  }
  result.device = info.st_dev;
  result.inode = info.st_ino;
  result.bytes = static_cast<uint64_t>(info.st_size);
  result.modified_ns = int64_t{info.st_mtim.tv_sec} * 1000000000 + info.st_mtim.tv_nsec;
  StatusOr<MS_Note> note = ReadNote(ElfReader(fd.get(), result.bytes));
  if (!note.ok()) return NotAPlugin(note.status(), path);
  result.note = *note;
  return result;
}

Status CheckCompatible(const PluginFile& file, uint16_t host_major, uint16_t host_minor) {
  const MS_Note& note = file.note;
  if (note.abi_major != host_major || note.min_host_minor > host_minor) {
    return errors::FailedPrecondition("plugin ", file.path, " needs ABI ", note.abi_major, ".",
                                      note.min_host_minor, ", host has ", host_major, ".",
                                      host_minor);
  }
  if (note.sanitizer != 0 && note.sanitizer != MS_BUILT_SANITIZER) {
    return errors::FailedPrecondition("plugin ", file.path, " was built with ",
                                      SanitizerName(note.sanitizer), " (", note.sanitizer,
                                      "), host with ", SanitizerName(MS_BUILT_SANITIZER), " (",
                                      MS_BUILT_SANITIZER, ")");
  }
  return absl::OkStatus();
}

Status CheckCpu(const PluginFile& file, uint64_t enabled) {
  const uint64_t missing = file.note.cpu_bits & ~enabled;
  if (missing == 0) return absl::OkStatus();
  return errors::FailedPrecondition("plugin ", file.path, " needs ",
                                    absl::StrJoin(CpuBitNames(missing), ", "),
                                    ", which this machine does not have or enable");
}

}  // namespace millstream
