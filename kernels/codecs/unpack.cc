// Unpacks streams of zlib's format (RFC 1950) and of gzip's (RFC 1952).
#include <zlib.h>

#include <algorithm>
#include <cstdlib>

#include "kernels/codecs/formats.h"

namespace millstream::codecs {
namespace {

constexpr int kGzip = 16;  // added to the size of the window
constexpr size_t kLeastCapacity = 256;
constexpr size_t kMostAtOnce = size_t{1} << 30;  // zlib counts in 32 bits

class Unpacker {
 public:
  Unpacker(const uint8_t* data, size_t size, size_t max_size, millstream_codec_error* error)
      : data_(data), size_(size), max_size_(max_size), error_(error) {}
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;
  ~Unpacker() {
    if (is_open_) inflateEnd(&stream_);
    std::free(bytes_.data);
  }

  bool Run(bool is_gzip) {
    if (inflateInit2(&stream_, MAX_WBITS + (is_gzip ? kGzip : 0)) != Z_OK) {
      return Refuse(error_, "there is no memory");
    }
    is_open_ = true;
    bool ends = true;  // nothing at all is a stream of no bytes
    while (taken_ < size_ || !ends) {
      if (!Step(&ends)) return false;
    }
    return bytes_.size <= max_size_ || RefuseSize();
  }

  // The bytes, which are the caller's from then on.
  millstream_codec_bytes Take() {
    const millstream_codec_bytes taken = bytes_;
    bytes_ = {nullptr, 0};
    return taken;
  }

 private:
  // *ends: whether a stream ended.
  bool Step(bool* ends) {
    if (bytes_.size == capacity_ && !Grow()) return false;
    const size_t given = std::min(size_ - taken_, kMostAtOnce);
    const size_t room = std::min(capacity_ - bytes_.size, kMostAtOnce);
    stream_.next_in = const_cast<Bytef*>(data_ + taken_);  // zlib reads alone
    stream_.avail_in = static_cast<uInt>(given);
    stream_.next_out = bytes_.data + bytes_.size;
    stream_.avail_out = static_cast<uInt>(room);
    const int code = inflate(&stream_, Z_NO_FLUSH);
    const size_t used = given - stream_.avail_in;
    const size_t made = room - stream_.avail_out;
    taken_ += used;
    bytes_.size += made;
    *ends = code == Z_STREAM_END;
    if (*ends) return inflateReset(&stream_) == Z_OK;  // another may follow
    if (code == Z_OK || (code == Z_BUF_ERROR && made + used > 0)) return true;
    if (code == Z_BUF_ERROR && taken_ == size_) {
      return Refuse(error_, "the %zu bytes end within a stream", size_);
    }
    return Refuse(error_, "%s, after %zu of %zu bytes",
                  stream_.msg == nullptr ? "they are no stream" : stream_.msg, taken_, size_);
  }

  bool RefuseSize() { return Refuse(error_, "they become more than %zu bytes", max_size_); }

  bool Grow() {
    if (bytes_.size > max_size_) return RefuseSize();
    // One byte more than the limit, so that a longer stream is told from one of that size.
    const size_t capacity =
        std::min(std::max(2 * capacity_, kLeastCapacity), std::max(max_size_, max_size_ + 1));
    auto* const grown = static_cast<uint8_t*>(std::realloc(bytes_.data, capacity));
    if (grown == nullptr) return Refuse(error_, "there is no memory for %zu bytes", capacity);
    bytes_.data = grown;
    capacity_ = capacity;
    return true;
  }

  const uint8_t* const data_;
  const size_t size_;
  const size_t max_size_;
  millstream_codec_error* const error_;
  z_stream stream_ = {};
  bool is_open_ = false;
  size_t taken_ = 0;
  millstream_codec_bytes bytes_ = {nullptr, 0};
  size_t capacity_ = 0;
};

}  // namespace

int32_t Unpack(const uint8_t* data, size_t size, int32_t is_gzip, size_t max_size,
               millstream_codec_bytes* bytes, millstream_codec_error* error) {
  *bytes = {nullptr, 0};
  Unpacker unpacker(data, size, max_size, error);
  if (!unpacker.Run(is_gzip != 0)) return 0;
  *bytes = unpacker.Take();
  return 1;
}

void Release(millstream_codec_bytes* bytes) {
  std::free(bytes->data);
  *bytes = {nullptr, 0};
}

}  // namespace millstream::codecs
