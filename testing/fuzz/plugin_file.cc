// A plugin's file, as it is looked at before any of its code runs.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "framework/plugin/preflight.h"
#include "testing/fuzz/target.h"

namespace {

// Where the process may write, made once.
const std::string& FileName() {
  static const auto* const name = [] {
    // In memory where that can be.
    const char* const folder = std::getenv("TEST_TMPDIR");
    for (const std::string& place :
         {std::string("/dev/shm"), std::string(folder == nullptr ? "/tmp" : folder)}) {
      auto path = std::make_unique<std::string>(place + "/fuzzed_plugin_XXXXXX");
      const int fd = mkstemp(path->data());
      if (fd < 0) continue;
      close(fd);
      std::atexit([] { unlink(FileName().c_str()); });
      return path.release();
    }
    std::abort();
  }();
  return *name;
}

void WriteFile(const uint8_t* data, size_t size) {
  const int fd = open(FileName().c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
  if (fd < 0 || write(fd, data, size) != static_cast<ssize_t>(size)) {
    std::perror("the file cannot be written");
    std::abort();
  }
  close(fd);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  WriteFile(data, size);
  const auto file = millstream::ReadPluginFile(FileName());
  if (file.ok()) {
    static_cast<void>(CheckCompatible(*file));
    static_cast<void>(CheckCpu(*file, 0));
  }
  return 0;
}
