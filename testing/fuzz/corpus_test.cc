// Feeds a target every file of its corpus, then mutations of the files, always the same ones, each
// within the limits of limits.h: what libFuzzer found once cannot come back.
//
//   corpus_test FOLDER
#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "testing/fuzz/limits.h"
#include "testing/fuzz/target.h"

namespace millstream::fuzz {
namespace {

struct File {
  std::string name;
  std::string bytes;
};

// All mutated inputs of a target take about as long as a few seconds.
constexpr size_t kMutations = 4000;
constexpr size_t kMaxMutatedBytes = 16 << 10;
constexpr int kMaxChanges = 6;

const char* g_input = "";  // that runs; for whoever reads of a crash

// Write alone is safe here.
void TellInput(int signal) {
  const char text[] = "\ncrashed on ";
  static_cast<void>(!write(STDERR_FILENO, text, sizeof(text) - 1));
  static_cast<void>(!write(STDERR_FILENO, g_input, std::strlen(g_input)));
  static_cast<void>(!write(STDERR_FILENO, "\n", 1));
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

std::vector<File> ReadFolder(const std::string& folder) {
  std::vector<File> files;
  DIR* const entries = opendir(folder.c_str());
  while (const dirent* entry = entries == nullptr ? nullptr : readdir(entries)) {
    if (entry->d_name[0] == '.') continue;
    std::ifstream in(folder + "/" + entry->d_name, std::ios::binary);
    files.push_back({entry->d_name, {std::istreambuf_iterator<char>(in), {}}});
  }
  if (entries != nullptr) closedir(entries);
  std::sort(files.begin(), files.end(),
            [](const File& a, const File& b) { return a.name < b.name; });
  return files;
}

// False, with a message, beyond the limits.
bool RunOne(const std::string& name, const std::string& bytes) {
  g_input = name.c_str();
  const Cost cost = CostOf([&bytes] {
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  });
  const std::string excess = Excess(cost);
  if (excess.empty()) return true;
  std::fprintf(stderr, "%s, of %zu bytes: %s\n", name.c_str(), bytes.size(), excess.c_str());
  return false;
}

// Changes that make formats break: bits, lengths, cuts, repetitions, parts of other inputs.
class Mutator {
 public:
  explicit Mutator(const std::vector<File>& files) : files_(files) {}

  std::string Mutate(std::string bytes) {
    const auto changes = 1 + Below(kMaxChanges);
    for (uint64_t i = 0; i < changes; ++i) ChangeOnce(&bytes);
    if (bytes.size() > kMaxMutatedBytes) bytes.resize(kMaxMutatedBytes);
    return bytes;
  }

 private:
  // The same numbers everywhere, which the distributions of the library do not promise.
  uint64_t Below(uint64_t limit) { return limit == 0 ? 0 : random_() % limit; }

  void ChangeOnce(std::string* bytes) {
    static constexpr char kTelling[] = {0, 1, 127, -128, -1, '"', '{', '}', ':', '^'};
    const size_t at = Below(bytes->size() + 1);
    const size_t length = Below(std::min<size_t>(bytes->size() - at, 64) + 1);
    switch (Below(7)) {
      case 0:
        if (at < bytes->size()) (*bytes)[at] ^= static_cast<char>(1 << Below(8));
        break;
      case 1:
        if (at < bytes->size()) (*bytes)[at] = kTelling[Below(sizeof(kTelling))];
        break;
      case 2: bytes->erase(at, length); break;
      case 3: bytes->insert(at, bytes->substr(at, length)); break;
      case 4: bytes->insert(at, 1 + Below(9), kTelling[Below(sizeof(kTelling))]); break;
      case 5: bytes->resize(at); break;
      default: {
        const std::string& other = files_[Below(files_.size())].bytes;
        bytes->insert(at, other.substr(Below(other.size() + 1), 1 + Below(64)));
        break;
      }
    }
  }

  const std::vector<File>& files_;
  std::mt19937_64 random_{20};
};

int Run(const std::string& folder) {
  const std::vector<File> files = ReadFolder(folder);
  if (files.empty()) {
    std::fprintf(stderr, "there is no corpus in %s\n", folder.c_str());
    return 1;
  }
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) {
    std::signal(signal, TellInput);
  }
  RunOne("the empty input", "");  // what is made once does not count for the first file
  int failures = 0;
  for (const File& file : files) failures += RunOne(file.name, file.bytes) ? 0 : 1;
  Mutator mutator(files);
  for (size_t i = 0; i < kMutations; ++i) {
    const File& file = files[i % files.size()];
    const std::string name = file.name + ", mutation " + std::to_string(i);
    failures += RunOne(name, mutator.Mutate(file.bytes)) ? 0 : 1;
  }
  std::printf("%zu files and %zu mutations, %d beyond the limits\n", files.size(), kMutations,
              failures);
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace millstream::fuzz

int main(int argc, char** argv) {
  if (argc == 2) return millstream::fuzz::Run(argv[1]);
  std::fputs("usage: corpus_test FOLDER\n", stderr);
  return 2;
}
