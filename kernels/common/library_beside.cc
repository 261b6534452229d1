#include "kernels/common/library_beside.h"

#include <dlfcn.h>

namespace millstream::kernels {

std::string PathOf(const LibraryBeside& library) {
  std::string folder = ".";
  Dl_info info = {};
  // The file that has this code is the plugin.
  if (dladdr(reinterpret_cast<const void*>(&PathOf), &info) != 0) {
    const std::string file = info.dli_fname;
    const size_t slash = file.rfind('/');
    if (slash != std::string::npos) folder = file.substr(0, slash);
  }
  return folder + "/" + library.file;
}

void* OpenBeside(const LibraryBeside& library, std::string* error) {
  void* const handle = dlopen(PathOf(library).c_str(), RTLD_NOW | RTLD_LOCAL);
  void* const function = handle == nullptr ? nullptr : dlsym(handle, library.symbol);
  if (function == nullptr) {
    *error = std::string("cannot open ") + library.description + ": " + dlerror();
  }
  return function;
}

}  // namespace millstream::kernels
