#include "kernels/codecs/codecs.h"

#include <dlfcn.h>

#include <string>

namespace millstream::kernels {
namespace {

// From the folder of the plugin.
constexpr char kLibrary[] = "/../codecs/libmillstream_codecs.so";

struct Opened {
  const millstream_codec_table* table = nullptr;
  std::string error;
};

// The folder of the file that has this code.
std::string OwnFolder() {
  Dl_info info = {};
  if (dladdr(reinterpret_cast<const void*>(&OpenCodecs), &info) == 0) return ".";
  const std::string file = info.dli_fname;
  const size_t slash = file.rfind('/');
  return slash == std::string::npos ? "." : file.substr(0, slash);
}

Opened Open() {
  Opened opened;
  const std::string path = OwnFolder() + kLibrary;
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    opened.error = ms::StrCat("cannot open the library that reads files of images: ",
                              static_cast<const char*>(dlerror()));
    return opened;
  }
  const auto get =
      reinterpret_cast<millstream_get_codecs>(dlsym(library, MILLSTREAM_CODECS_SYMBOL));
  const millstream_codec_table* const table = get == nullptr ? nullptr : get();
  if (table == nullptr || table->version != kMillstreamCodecsVersion) {
    opened.error = ms::StrCat(path, " is no library of codecs of this version");
    return opened;
  }
  opened.table = table;
  return opened;
}

}  // namespace

ms::Status OpenCodecs(const millstream_codec_table** table) {
  // Never freed: steps may run as long as the process does.
  static const auto* const opened = new Opened(Open());
  *table = opened->table;
  if (opened->table != nullptr) return ms::Status();
  return ms::Status(MS_FAILED_PRECONDITION, opened->error);
}

ms::Status ReadFile(const ms::View& input, const char* name, std::string_view* file) {
  if (input.rank() == 0) return input.GetString(0, file);
  return ms::InvalidArgument(name, " must be a scalar, but has shape ", input.shape().ToString());
}

ms::Status RefuseFile(const char* name, const millstream_codec_error& error) {
  return ms::InvalidArgument(name, ": ", static_cast<const char*>(error.text));
}

ms::Status SetBytes(const millstream_codec_table& table, const ms::View& output, int64_t i,
                    millstream_codec_bytes* bytes) {
  ms::Status set = output.SetString(i, {reinterpret_cast<const char*>(bytes->data), bytes->size});
  table.release(bytes);
  return set;
}

}  // namespace millstream::kernels
