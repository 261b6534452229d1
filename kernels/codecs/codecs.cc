#include "kernels/codecs/codecs.h"

#include "kernels/common/library_beside.h"

namespace millstream::kernels {
namespace {

constexpr LibraryBeside kLibrary = {"../codecs/libmillstream_codecs.so",
                                    "the library that reads files of images",
                                    MILLSTREAM_CODECS_SYMBOL, kMillstreamCodecsVersion};

}  // namespace

ms::Status OpenCodecs(const millstream_codec_table** table) {
  // Never freed: steps may run as long as the process does.
  static const auto* const opened = new OpenedLibrary<millstream_codec_table>(kLibrary);
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
