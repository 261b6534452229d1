// Messages between processes of one host, as bytes, and descriptors on a socket.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_HOST_FRAME_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_HOST_FRAME_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "framework/status.h"

namespace millstream {

// A frame is its head, its segments, the text, and the bytes that are not in shared memory.
struct FrameHead {
  enum Kind : uint32_t {
    kRequest = 1,
    kResponse = 2,
    kRelease = 3,  // the receiver of a region does not use it any more
    kDrop = 4,     // the sender of a region will not use it any more
    kPing = 5,     // asks for a kPong
    kPong = 6,
    kRing = 7,   // the region has a ring for each direction, the sender's first
    kTaken = 8,  // the receiver of a region has read its frame
  };
  // Changes when frames do, as in testing/fuzz/cluster_corpus.py.
  static constexpr uint32_t kMagic = 0x324d5348;

  uint32_t magic = kMagic;
  uint32_t kind = 0;
  uint64_t call = 0;
  int32_t code = 0;             // of a response's status
  uint32_t text_size = 0;       // the method, or the text of the status
  uint32_t num_segments = 0;    // of the payload
  uint32_t has_descriptor = 0;  // the region's, with its first use
  uint64_t region = 0;          // its number
  uint64_t region_size = 0;     // 0: nothing is in a region
  uint64_t inline_size = 0;     // bytes of the payload that are in the frame
};

// The next bytes of a payload.
struct FrameSegment {
  static constexpr uint64_t kInline = ~uint64_t{0};
  uint64_t size = 0;
  uint64_t offset = kInline;  // in the region
};

struct Frame {
  FrameHead head;
  std::vector<FrameSegment> segments;
  std::string text;
  std::string bytes;
  int descriptor = -1;  // of a region; a received one belongs to who takes the frame

  // All but the descriptor. Sets the sizes in the head.
  std::string Encode();
  // The reverse, of a frame without a descriptor. INVALID_ARGUMENT for bytes that are no frame.
  static StatusOr<Frame> Decode(absl::string_view bytes);
};

// Reads frames from a socket. Not thread-safe.
class FrameReader {
 public:
  explicit FrameReader(int socket) : socket_(socket), buffer_(size_t{1} << 16, '\0') {}
  ~FrameReader();
  FrameReader(const FrameReader&) = delete;
  FrameReader& operator=(const FrameReader&) = delete;

  // Waits for the next frame. UNAVAILABLE if the connection has ended; INVALID_ARGUMENT for bytes
  // that are no frame; RESOURCE_EXHAUSTED if the process has no descriptor free for a frame's.
  StatusOr<Frame> Read();

 private:
  Status ReadBytes(char* out, size_t size);
  Status ReadGrowing(size_t size, std::string* out);
  StatusOr<size_t> Receive(char* out, size_t size);

  const int socket_;
  std::string buffer_;
  size_t begin_ = 0;  // of what is in the buffer and was not read
  size_t end_ = 0;
  std::deque<int> descriptors_;  // received, of frames to come
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_HOST_FRAME_H_
