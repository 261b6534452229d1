// Reads GIF files (CompuServe: Graphics Interchange Format, version 89a) by giflib.
//
// The file is read twice. The first pass finds the number of frames and decodes nothing, so that
// all frames are drawn into the image itself. Only one row is kept beside it.
#include <gif_lib.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "kernels/codecs/formats.h"

namespace millstream::codecs {
namespace {

constexpr int kChannels = 3;
constexpr int kNoColor = -1;

class Reader {
 public:
  Reader(const millstream_image_file* file, millstream_codec_error* error)
      : file_(*file), error_(error) {}
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() {
    Close();
    std::free(row_);
  }

  bool Run() {
    if (!Open() || !ForEachFrame(&Reader::MeasureFrame) || !MakeImage()) return false;
    Close();
    return Open() && ForEachFrame(&Reader::DrawFrame);
  }

 private:
  using FrameFunction = bool (Reader::*)();

  static int Read(GifFileType* gif, GifByteType* to, int size) {
    auto* const reader = static_cast<Reader*>(gif->UserData);
    const size_t left = reader->file_.size - reader->position_;
    const size_t count = std::min(left, static_cast<size_t>(std::max(size, 0)));
    std::memcpy(to, reader->file_.data + reader->position_, count);
    reader->position_ += count;
    return static_cast<int>(count);
  }

  bool Fail(int code) {
    const char* const text = GifErrorString(code);
    return Refuse(error_, "%s, after %zu of %zu bytes",
                  text == nullptr ? "it is no GIF file" : text, position_, file_.size);
  }

  bool Open() {
    position_ = 0;
    frame_ = 0;
    transparent_ = kNoColor;
    int code = 0;
    gif_ = DGifOpen(this, &Read, &code);
    return gif_ != nullptr || Fail(code);
  }

  void Close() {
    if (gif_ != nullptr) DGifCloseFile(gif_, nullptr);
    gif_ = nullptr;
  }

  // Calls the function where the data of each frame begin, which it reads or skips.
  bool ForEachFrame(FrameFunction function) {
    while (true) {
      GifRecordType type = UNDEFINED_RECORD_TYPE;
      if (DGifGetRecordType(gif_, &type) != GIF_OK) return Fail(gif_->Error);
      if (type == TERMINATE_RECORD_TYPE) return true;
      if (type == EXTENSION_RECORD_TYPE && !ReadExtension()) return Fail(gif_->Error);
      if (type != IMAGE_DESC_RECORD_TYPE) continue;
      if (DGifGetImageDesc(gif_) != GIF_OK) return Fail(gif_->Error);
      if (!(this->*function)()) return false;
      ++frame_;
      transparent_ = kNoColor;  // was of this frame alone
    }
  }

  bool ReadExtension() {
    int code = 0;
    GifByteType* block = nullptr;
    if (DGifGetExtension(gif_, &code, &block) != GIF_OK) return false;
    // Four bytes: flags, a delay of two, the transparent color.
    if (code == GRAPHICS_EXT_FUNC_CODE && block != nullptr && block[0] == 4) {
      transparent_ = (block[1] & 1) != 0 ? block[4] : kNoColor;
    }
    while (block != nullptr) {
      if (DGifGetExtensionNext(gif_, &block) != GIF_OK) return false;
    }
    return true;
  }

  bool MeasureFrame() {
    const GifImageDesc& frame = gif_->Image;
    if (frame.Width < 1 || frame.Height < 1) {
      return Refuse(error_, "frame %lld has no pixels", static_cast<long long>(frame_));
    }
    right_ = std::max(right_, int64_t{frame.Left} + frame.Width);
    bottom_ = std::max(bottom_, int64_t{frame.Top} + frame.Height);
    int size = 0;
    GifByteType* block = nullptr;
    if (DGifGetCode(gif_, &size, &block) != GIF_OK) return Fail(gif_->Error);
    while (block != nullptr) {
      if (DGifGetCodeNext(gif_, &block) != GIF_OK) return Fail(gif_->Error);
    }
    return true;
  }

  // The image has the size of the screen that the file is for, if it names one.
  bool MakeImage() {
    if (frame_ == 0) return Refuse(error_, "the file has no frame");
    const bool has_screen = gif_->SWidth > 0 && gif_->SHeight > 0;
    size_.frames = frame_;
    size_.height = has_screen ? gif_->SHeight : bottom_;
    size_.width = has_screen ? gif_->SWidth : right_;
    size_.channels = kChannels;
    const int64_t numbers = size_.height * size_.width * kChannels;
    if (size_.frames > file_.max_pixels / numbers) {
      return Refuse(error_, "GIF too large: %lld frames of %lld by %lld pixels",
                    static_cast<long long>(size_.frames), static_cast<long long>(size_.width),
                    static_cast<long long>(size_.height));
    }
    row_ =
        static_cast<GifPixelType*>(std::malloc(static_cast<size_t>(std::max(right_, size_.width))));
    if (row_ == nullptr) return Refuse(error_, "there is no memory for a row");
    image_ = static_cast<uint8_t*>(file_.make(file_.user, &size_));
    return image_ != nullptr;
  }

  // A frame is drawn on the one before. What no frame has drawn yet is black.
  bool DrawFrame() {
    if (frame_ >= size_.frames) return Refuse(error_, "the two passes differ");
    const ColorMapObject* const colors =
        gif_->Image.ColorMap != nullptr ? gif_->Image.ColorMap : gif_->SColorMap;
    if (colors == nullptr) {
      return Refuse(error_, "missing color map for frame %lld", static_cast<long long>(frame_));
    }
    const int64_t bytes = size_.height * size_.width * kChannels;
    uint8_t* const canvas = image_ + frame_ * bytes;
    if (frame_ == 0) {
      std::memset(canvas, 0, static_cast<size_t>(bytes));
    } else {
      std::memcpy(canvas, canvas - bytes, static_cast<size_t>(bytes));
    }
    if (!gif_->Image.Interlace) return DrawRows(*colors, 0, 1, canvas);
    // Every eighth row, those in the middle between them, and so on.
    return DrawRows(*colors, 0, 8, canvas) && DrawRows(*colors, 4, 8, canvas) &&
           DrawRows(*colors, 2, 4, canvas) && DrawRows(*colors, 1, 2, canvas);
  }

  bool DrawRows(const ColorMapObject& colors, int first, int step, uint8_t* canvas) {
    for (int y = first; y < gif_->Image.Height; y += step) {
      if (DGifGetLine(gif_, row_, gif_->Image.Width) != GIF_OK) return Fail(gif_->Error);
      if (!DrawRow(colors, int64_t{gif_->Image.Top} + y, canvas)) return false;
    }
    return true;
  }

  bool DrawRow(const ColorMapObject& colors, int64_t y, uint8_t* canvas) {
    const int64_t left = gif_->Image.Left;
    const int64_t drawn =
        y < size_.height ? std::min<int64_t>(gif_->Image.Width, size_.width - left) : 0;
    if (drawn <= 0) return true;
    uint8_t* to = canvas + (y * size_.width + left) * kChannels;
    for (int64_t x = 0; x < drawn; ++x, to += kChannels) {
      const int color = row_[x];
      if (color == transparent_) continue;
      if (color >= colors.ColorCount) {
        return Refuse(error_, "found color index %d outside of color map range %d", color,
                      colors.ColorCount);
      }
      to[0] = colors.Colors[color].Red;
      to[1] = colors.Colors[color].Green;
      to[2] = colors.Colors[color].Blue;
    }
    return true;
  }

  const millstream_image_file& file_;
  millstream_codec_error* const error_;
  GifFileType* gif_ = nullptr;
  size_t position_ = 0;  // in the file
  int64_t frame_ = 0;
  int transparent_ = kNoColor;  // of the frame that comes next
  // What the frames reach, and the image.
  int64_t right_ = 0;
  int64_t bottom_ = 0;
  millstream_image_size size_ = {};
  GifPixelType* row_ = nullptr;
  uint8_t* image_ = nullptr;
};

}  // namespace

int32_t ReadGif(const millstream_image_file* file, millstream_codec_error* error) {
  Reader reader(file, error);
  return reader.Run() ? 1 : 0;
}

}  // namespace millstream::codecs
