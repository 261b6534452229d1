// EncodePng, EncodeJpeg, EncodeJpegVariableQuality.
#include <cstdint>
#include <string>

#include "framework/plugin/plugin.hpp"
#include "kernels/codecs/codecs.h"

namespace millstream::kernels {
namespace {

ms::Status CheckImage(const ms::View& image, const char* name) {
  if (image.rank() != 3) {
    return ms::InvalidArgument(name, " must be 3-dimensional, got shape ",
                               image.shape().ToString());
  }
  if (image.size() > 0) return ms::Status();
  return ms::InvalidArgument(name, " must have a pixel, got shape ", image.shape().ToString());
}

millstream_pixels PixelsOf(const ms::View& image) {
  return {image.raw(), image.dim(0), image.dim(1), image.dim(2)};
}

class EncodePng {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    bits_ = info.input_dtype(0) == MS_UINT16 ? 16 : 8;
    MS_TRY(info.Attr("compression", &level_));
    if (level_ >= -1 && level_ <= 9) return ms::Status();
    return ms::InvalidArgument("compression should be in [-1,9], got ", level_);
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View image = frame.input(0);
    MS_TRY(CheckImage(image, "image"));
    if (image.dim(2) > 4) {
      return ms::InvalidArgument("image must have 1, 2, 3, or 4 channels, got ", image.dim(2));
    }
    const millstream_codec_table* table = nullptr;
    MS_TRY(OpenCodecs(&table));
    ms::View contents;
    MS_TRY(frame.Output(0, {}, &contents));
    const millstream_pixels pixels = PixelsOf(image);
    millstream_codec_bytes file = {};
    millstream_codec_error error = {};
    if (table->write_png(&pixels, bits_, static_cast<int32_t>(level_), &file, &error) == 0) {
      return RefuseFile("image", error);
    }
    return SetBytes(*table, contents, 0, &file);
  }

 private:
  int32_t bits_ = 8;
  int64_t level_ = -1;
};

ms::Status CheckQuality(int64_t quality) {
  if (quality >= 0 && quality <= 100) return ms::Status();
  return ms::InvalidArgument("quality must be in [0,100], got ", quality);
}

// The quality comes from an attribute or, with everything else at its default, from input 1.
class EncodeJpeg {
 public:
  struct Row {
    bool has_attributes;
  };
  explicit EncodeJpeg(const Row& row) : has_attributes_(row.has_attributes) {}

  ms::Status Init(const ms::KernelInfo& info) {
    if (!has_attributes_) return ms::Status();
    MS_TRY(ReadFormat(info));
    MS_TRY(ReadQuality(info));
    MS_TRY(ReadFlag(info, "progressive", &writing_.progressive));
    MS_TRY(ReadFlag(info, "optimize_size", &writing_.optimizes_size));
    MS_TRY(ReadFlag(info, "chroma_downsampling", &writing_.chroma_downsampling));
    MS_TRY(ReadDensity(info, "x_density", &writing_.x_density));
    MS_TRY(ReadDensity(info, "y_density", &writing_.y_density));
    std::string unit;
    MS_TRY(info.Attr("density_unit", &unit));
    if (unit != "in" && unit != "cm") {
      return ms::InvalidArgument("density_unit must be 'in' or 'cm', got '", unit, "'");
    }
    writing_.per_centimeter = unit == "cm" ? 1 : 0;
    return info.Attr("xmp_metadata", &xmp_);
  }

  ms::Status Compute(ms::Frame& frame) const {
    const char* const name = has_attributes_ ? "image" : "images";
    const ms::View image = frame.input(0);
    MS_TRY(CheckImage(image, name));
    MS_TRY(CheckChannels(image, name));
    millstream_jpeg_writing writing = writing_;
    writing.xmp = xmp_.data();
    writing.xmp_size = xmp_.size();
    if (!has_attributes_) MS_TRY(ReadQuality(frame.input(1), &writing));
    const millstream_codec_table* table = nullptr;
    MS_TRY(OpenCodecs(&table));
    ms::View contents;
    MS_TRY(frame.Output(0, {}, &contents));
    const millstream_pixels pixels = PixelsOf(image);
    millstream_codec_bytes file = {};
    millstream_codec_error error = {};
    if (table->write_jpeg(&pixels, &writing, &file, &error) == 0) return RefuseFile(name, error);
    return SetBytes(*table, contents, 0, &file);
  }

 private:
  ms::Status ReadFormat(const ms::KernelInfo& info) {
    std::string format;
    MS_TRY(info.Attr("format", &format));
    if (format == "grayscale") {
      channels_ = 1;
    } else if (format == "rgb") {
      channels_ = 3;
    } else if (!format.empty()) {
      return ms::InvalidArgument("format must be '', grayscale or rgb, got '", format, "'");
    }
    return ms::Status();
  }

  ms::Status ReadQuality(const ms::KernelInfo& info) {
    int64_t quality = 0;
    MS_TRY(info.Attr("quality", &quality));
    writing_.quality = static_cast<int32_t>(quality);
    return CheckQuality(quality);
  }

  static ms::Status ReadQuality(const ms::View& quality, millstream_jpeg_writing* writing) {
    if (quality.rank() != 0) {
      return ms::InvalidArgument("quality must be a scalar, but has shape ",
                                 quality.shape().ToString());
    }
    writing->quality = *quality.data<int32_t>();
    return CheckQuality(writing->quality);
  }

  static ms::Status ReadFlag(const ms::KernelInfo& info, const char* name, int32_t* flag) {
    bool value = false;
    MS_TRY(info.Attr(name, &value));
    *flag = value ? 1 : 0;
    return ms::Status();
  }

  // The file has two bytes for it.
  static ms::Status ReadDensity(const ms::KernelInfo& info, const char* name, int32_t* density) {
    int64_t value = 0;
    MS_TRY(info.Attr(name, &value));
    if (value < 0 || value > 65535) {
      return ms::InvalidArgument(name, " must be in [0,65535], got ", value);
    }
    *density = static_cast<int32_t>(value);
    return ms::Status();
  }

  ms::Status CheckChannels(const ms::View& image, const char* name) const {
    const int64_t channels = image.dim(2);
    if (channels_ != 0 && channels != channels_) {
      return ms::InvalidArgument(name, " must have ", channels_, " channels for format '",
                                 channels_ == 1 ? "grayscale" : "rgb", "', got ", channels);
    }
    if (channels == 1 || channels == 3) return ms::Status();
    return ms::InvalidArgument(name, " must have 1 or 3 channels, got ", channels);
  }

  const bool has_attributes_;
  int64_t channels_ = 0;  // 0: one or three
  millstream_jpeg_writing writing_ = {95, 0, 0, 1, 0, 300, 300, nullptr, 0};
  std::string xmp_;
};

constexpr EncodeJpeg::Row kOfAttributes = {true};
constexpr EncodeJpeg::Row kOfInput = {false};

const ms::Registered png =
    ms::Register<EncodePng>("EncodePng", ms::KernelOptions().Types("T", {MS_UINT8, MS_UINT16}));
const ms::Registered jpeg = ms::RegisterRow<EncodeJpeg>("EncodeJpeg", kOfAttributes);
const ms::Registered jpeg_of_quality = ms::RegisterRow<EncodeJpeg>(
    "EncodeJpegVariableQuality", kOfInput, ms::KernelOptions().HostArg("quality"));

}  // namespace
}  // namespace millstream::kernels
