// DecodeCompressed.
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"
#include "kernels/codecs/codecs.h"

namespace millstream::kernels {
namespace {

constexpr size_t kMaxBytes = std::numeric_limits<int32_t>::max();

class DecodeCompressed {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    MS_TRY(info.Attr("compression_type", &type_));
    if (type_.empty() || type_ == "ZLIB" || type_ == "GZIP") return ms::Status();
    return ms::InvalidArgument("compression_type must be '', ZLIB or GZIP, got '", type_, "'");
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View bytes = frame.input(0);
    ms::View output;
    MS_TRY(frame.Output(0, bytes.shape(), &output));
    for (int64_t i = 0; i < bytes.size(); ++i) {
      std::string_view text;
      MS_TRY(bytes.GetString(i, &text));
      if (type_.empty()) {
        MS_TRY(output.SetString(i, text));
      } else {
        MS_TRY(Unpack(bytes.shape(), i, text, output));
      }
    }
    return ms::Status();
  }

 private:
  ms::Status Unpack(const ms::Shape& shape, int64_t i, std::string_view text,
                    const ms::View& output) const {
    const millstream_codec_table* table = nullptr;
    MS_TRY(OpenCodecs(&table));
    millstream_codec_bytes unpacked = {};
    millstream_codec_error error = {};
    if (table->unpack(reinterpret_cast<const uint8_t*>(text.data()), text.size(),
                      type_ == "GZIP" ? 1 : 0, kMaxBytes, &unpacked, &error) == 0) {
      return RefuseFile(ElementName("bytes", shape, i).c_str(), error);
    }
    return SetBytes(*table, output, i, &unpacked);
  }

  std::string type_;
};

const ms::Registered decode = ms::Register<DecodeCompressed>("DecodeCompressed");

}  // namespace
}  // namespace millstream::kernels
