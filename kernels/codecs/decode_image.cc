// DecodePng, DecodeJpeg, DecodeAndCropJpeg, DecodeGif. Each reads all three formats, as far as its
// output can hold them.
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "framework/plugin/plugin.hpp"
#include "kernels/codecs/codecs.h"

namespace millstream::kernels {
namespace {

// Pixels of a PNG file, and numbers of the other files.
constexpr int64_t kMaxPixels = (int64_t{1} << 29) - 1;

enum class Format { kPng, kJpeg, kGif, kBmp, kUnknown };

bool BeginsWith(std::string_view file, std::string_view with) {
  return file.substr(0, with.size()) == with;
}

Format FormatOf(std::string_view file) {
  if (BeginsWith(file, "\xFF\xD8\xFF")) return Format::kJpeg;
  if (BeginsWith(file, "\x89PNG\r\n\x1A\n")) return Format::kPng;
  if (BeginsWith(file, "GIF8")) return Format::kGif;
  return BeginsWith(file, "BM") ? Format::kBmp : Format::kUnknown;
}

// What of a file's beginning can be printed.
std::string BeginningOf(std::string_view file) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char c : file.substr(0, 8)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= ' ' && byte < 127 && byte != '\\' && byte != '"') {
      text += c;
    } else {
      text += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return text;
}

enum class Form { kPng, kJpeg, kCrop, kGif };

ms::Status CheckChannels(int64_t channels) {
  if (channels == 0 || channels == 1 || channels == 3 || channels == 4) return ms::Status();
  return ms::InvalidArgument("channels must be 0, 1, 3 or 4, got ", channels);
}

// The output of an execution, which is made once the file says its size.
struct Image {
  ms::Frame* frame;
  Form form;
  bool has_wide_numbers;    // 16 bits
  bool reads_wide_numbers;  // the codec makes 16 bits of itself
  ms::View view;
  ms::Status status;
};

ms::Status MakeOutput(const millstream_image_size& size, Image* image) {
  if (image->form == Form::kGif) {
    return image->frame->Output(0, {size.frames, size.height, size.width, size.channels},
                                &image->view);
  }
  if (size.frames != 1) {
    return ms::InvalidArgument("contents: Got ", size.frames,
                               " frames, but animated gifs can only be decoded by "
                               "tf.image.decode_gif or tf.image.decode_image");
  }
  return image->frame->Output(0, {size.height, size.width, size.channels}, &image->view);
}

// Numbers of 8 bits that become 16 lie at the memory's end at first.
void* MakeImage(void* user, const millstream_image_size* size) {
  auto* const image = static_cast<Image*>(user);
  image->status = MakeOutput(*size, image);
  if (!image->status.ok()) return nullptr;
  const bool widens = image->has_wide_numbers && !image->reads_wide_numbers;
  return image->view.data<uint8_t>() + (widens ? image->view.size() : 0);
}

// 8 bits are the upper half of 16.
void Widen(const ms::View& view) {
  const uint8_t* const from = view.data<uint8_t>() + view.size();
  auto* const to = view.data<uint16_t>();
  for (int64_t i = 0; i < view.size(); ++i) to[i] = static_cast<uint16_t>(from[i] << 8);
}

class DecodeImage {
 public:
  struct Row {
    Form form;
  };
  explicit DecodeImage(const Row& row) : form_(row.form) {}

  ms::Status Init(const ms::KernelInfo& info) {
    has_wide_numbers_ = info.output_dtype(0) == MS_UINT16;
    if (form_ == Form::kGif) {
      channels_ = 3;
    } else {
      MS_TRY(info.Attr("channels", &channels_));
      MS_TRY(CheckChannels(channels_));
    }
    return form_ == Form::kJpeg || form_ == Form::kCrop ? InitJpeg(info) : ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    std::string_view contents;
    MS_TRY(ReadFile(frame.input(0), "contents", &contents));
    millstream_jpeg_reading reading = jpeg_;
    if (form_ == Form::kCrop) MS_TRY(ReadWindow(frame.input(1), &reading));
    const Format format = FormatOf(contents);
    MS_TRY(CheckFormat(contents, format));
    const millstream_codec_table* table = nullptr;
    MS_TRY(OpenCodecs(&table));

    Image image = {&frame, form_, has_wide_numbers_, format == Format::kPng, {}, {}};
    const millstream_image_file file = {reinterpret_cast<const uint8_t*>(contents.data()),
                                        contents.size(),
                                        static_cast<int32_t>(channels_),
                                        kMaxPixels,
                                        &MakeImage,
                                        &image};
    millstream_codec_error error = {};
    int32_t done = 0;
    if (format == Format::kPng) {
      done = table->read_png(&file, has_wide_numbers_ ? 16 : 8, &error);
    } else if (format == Format::kJpeg) {
      done = table->read_jpeg(&file, &reading, &error);
    } else {
      done = table->read_gif(&file, &error);
    }
    if (!image.status.ok()) return std::move(image.status);
    if (done == 0) return RefuseFile("contents", error);
    if (has_wide_numbers_ && format != Format::kPng) Widen(image.view);
    return ms::Status();
  }

 private:
  ms::Status InitJpeg(const ms::KernelInfo& info) {
    int64_t ratio = 1;
    MS_TRY(info.Attr("ratio", &ratio));
    if (ratio != 1 && ratio != 2 && ratio != 4 && ratio != 8) {
      return ms::InvalidArgument("ratio must be 1, 2, 4, or 8, got ", ratio);
    }
    jpeg_.ratio = static_cast<int32_t>(ratio);
    bool flag = false;
    MS_TRY(info.Attr("fancy_upscaling", &flag));
    jpeg_.fancy_upscaling = flag ? 1 : 0;
    MS_TRY(info.Attr("try_recover_truncated", &flag));
    jpeg_.recovers = flag ? 1 : 0;
    MS_TRY(info.Attr("acceptable_fraction", &jpeg_.acceptable_fraction));
    std::string method;
    MS_TRY(info.Attr("dct_method", &method));
    if (!method.empty() && method != "INTEGER_FAST" && method != "INTEGER_ACCURATE") {
      return ms::InvalidArgument(
          "dct_method must be one of {'', 'INTEGER_FAST', 'INTEGER_ACCURATE'}, got '", method, "'");
    }
    jpeg_.is_accurate = method == "INTEGER_ACCURATE" ? 1 : 0;
    return ms::Status();
  }

  static ms::Status ReadWindow(const ms::View& window, millstream_jpeg_reading* reading) {
    if (window.rank() != 1 || window.size() != 4) {
      return ms::InvalidArgument("crop_window must be a vector of 4 numbers, but has shape ",
                                 window.shape().ToString());
    }
    reading->crops = 1;
    for (int i = 0; i < 4; ++i) reading->window[i] = window.data<int32_t>()[i];
    return ms::Status();
  }

  ms::Status CheckFormat(std::string_view contents, Format format) const {
    switch (format) {
      case Format::kPng: break;
      case Format::kJpeg:
        if (channels_ != 4) return ms::Status();
        return ms::InvalidArgument("channels: JPEG does not support 4 channels");
      case Format::kGif:
        if (form_ == Form::kCrop || channels_ == 0 || channels_ == 3) break;
        return ms::InvalidArgument("channels must be 0 or 3 for GIF, got ", channels_);
      case Format::kBmp:
        return ms::InvalidArgument(
            "contents: Trying to decode BMP format using a wrong op. Use "
            "tf.image.decode_bmp or tf.image.decode_image instead");
      case Format::kUnknown:
        return ms::InvalidArgument(
            "contents: Unknown image file format. One of JPEG, PNG, GIF "
            "required, got ",
            contents.size(), " bytes that begin with \"", BeginningOf(contents), "\"");
    }
    if (form_ != Form::kCrop) return ms::Status();
    return ms::InvalidArgument("contents: only JPEG can be cropped, got ",
                               format == Format::kPng ? "PNG" : "GIF");
  }

  const Form form_;
  int64_t channels_ = 0;
  bool has_wide_numbers_ = false;
  millstream_jpeg_reading jpeg_ = {1, 1, 0, 1.0F, 0, 0, {0, 0, 0, 0}};
};

ms::KernelOptions Options() { return ms::KernelOptions().HostArg("contents"); }

constexpr DecodeImage::Row kPng = {Form::kPng};
constexpr DecodeImage::Row kJpeg = {Form::kJpeg};
constexpr DecodeImage::Row kCrop = {Form::kCrop};
constexpr DecodeImage::Row kGif = {Form::kGif};

const ms::Registered png = ms::RegisterRow<DecodeImage>("DecodePng", kPng, Options());
const ms::Registered jpeg = ms::RegisterRow<DecodeImage>("DecodeJpeg", kJpeg, Options());
const ms::Registered crop =
    ms::RegisterRow<DecodeImage>("DecodeAndCropJpeg", kCrop, Options().HostArg("crop_window"));
const ms::Registered gif = ms::RegisterRow<DecodeImage>("DecodeGif", kGif, Options());

// The size that a file says; no pixel is read.
class ExtractJpegShape {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    std::string_view contents;
    MS_TRY(ReadFile(frame.input(0), "contents", &contents));
    const millstream_codec_table* table = nullptr;
    MS_TRY(OpenCodecs(&table));
    millstream_image_size size = {};
    millstream_codec_error error = {};
    if (table->jpeg_size(reinterpret_cast<const uint8_t*>(contents.data()), contents.size(), &size,
                         &error) == 0) {
      return RefuseFile("contents", error);
    }
    ms::View shape;
    MS_TRY(frame.Output(0, {3}, &shape));
    const int64_t sizes[] = {size.height, size.width, size.channels};
    for (int i = 0; i < 3; ++i) {
      if (shape.dtype() == MS_INT32) {
        shape.data<int32_t>()[i] = static_cast<int32_t>(sizes[i]);
      } else {
        shape.data<int64_t>()[i] = sizes[i];
      }
    }
    return ms::Status();
  }
};

const ms::Registered shape = ms::Register<ExtractJpegShape>(
    "ExtractJpegShape", Options().Types("output_type", {MS_INT32, MS_INT64}));

}  // namespace
}  // namespace millstream::kernels
