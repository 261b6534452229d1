// Libraries that kernels open when they first need them: files in a folder beside the plugin's.
// Such a library exports one C function, which gives its table of functions.
#ifndef MILLSTREAM_KERNELS_COMMON_LIBRARY_BESIDE_H_
#define MILLSTREAM_KERNELS_COMMON_LIBRARY_BESIDE_H_

#include <cstdint>
#include <string>

namespace millstream::kernels {

struct LibraryBeside {
  const char* file;         // from the plugin's folder
  const char* description;  // "the library that ...", for messages
  const char* symbol;       // of the function that gives the table
  uint32_t version;         // of the table
};

// The path of the library.
std::string PathOf(const LibraryBeside& library);

// The address of the function that the library exports. Null, with what is wrong in *error, if the
// file cannot be opened, or has no such function. The library is never closed.
void* OpenBeside(const LibraryBeside& library, std::string* error);

// The table of a library, or what is wrong with it. `Table` is a struct with a member
// `uint32_t version`.
template <typename Table>
struct OpenedLibrary {
  explicit OpenedLibrary(const LibraryBeside& library) {
    const auto get = reinterpret_cast<const Table* (*)()>(OpenBeside(library, &error));
    if (get == nullptr) return;
    const Table* const found = get();
    if (found->version == library.version) {
      table = found;
    } else {
      error = PathOf(library) + " is not of this version";
    }
  }

  const Table* table = nullptr;
  std::string error;  // where there is no table
};

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_COMMON_LIBRARY_BESIDE_H_
