#include "distributed_runtime/host_frame.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace millstream {
namespace {

constexpr size_t kMostText = size_t{1} << 20;
constexpr size_t kMostSegments = size_t{1} << 20;
constexpr uint64_t kMostBytes = uint64_t{1} << 36;
constexpr size_t kFirstPart = size_t{1} << 20;  // of long bytes
constexpr size_t kMostDescriptors = 16;         // of one call of recvmsg

Status NoFrame() {
  return errors::InvalidArgument("its bytes are no frame of this version of Millstream");
}

// The system drops descriptors for which the receiver has no room.
Status NoDescriptor() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return absl::ResourceExhaustedError(absl::StrCat(
      "this process could not take the descriptor of a message's shared memory; it may "
      "have ",
      limit.rlim_cur, " descriptors (ulimit -n)"));
}

// Of a head that came in.
Status Check(const FrameHead& head) {
  const bool is_in_region = (head.kind == FrameHead::kRequest ||
                             head.kind == FrameHead::kResponse || head.kind == FrameHead::kRing) &&
                            head.region_size > 0;
  if (head.magic == FrameHead::kMagic && head.kind >= FrameHead::kRequest &&
      head.kind <= FrameHead::kTaken && head.text_size <= kMostText &&
      head.num_segments <= kMostSegments && head.inline_size <= kMostBytes &&
      (head.has_descriptor == 0 || is_in_region)) {
    return absl::OkStatus();
  }
  return NoFrame();
}

// Each segment is in the region or in the frame, whose bytes they use up. Those in the region do
// not overlap, or a small region could give a large payload.
Status CheckSegments(const Frame& frame) {
  uint64_t in_frame = 0;
  uint64_t in_region = 0;
  for (const FrameSegment& segment : frame.segments) {
    const bool is_inline = segment.offset == FrameSegment::kInline;
    const uint64_t room =
        is_inline ? frame.head.inline_size - in_frame
                  : frame.head.region_size - std::min(segment.offset, frame.head.region_size);
    if (segment.size > room || (!is_inline && frame.head.region_size == 0)) {
      return errors::InvalidArgument("a frame's segment ends outside of it");
    }
    uint64_t& sum = is_inline ? in_frame : in_region;
    sum += segment.size;
    if (in_region > frame.head.region_size) {
      return errors::InvalidArgument("a frame's segments are larger than its region");
    }
  }
  if (in_frame == frame.head.inline_size) return absl::OkStatus();
  return errors::InvalidArgument("a frame has bytes that are in no segment");
}

}  // namespace

std::string Frame::Encode() {
  head.text_size = static_cast<uint32_t>(text.size());
  head.num_segments = static_cast<uint32_t>(segments.size());
  head.inline_size = bytes.size();
  std::string encoded;
  encoded.reserve(sizeof(head) + segments.size() * sizeof(FrameSegment) + text.size() +
                  bytes.size());
  encoded.append(reinterpret_cast<const char*>(&head), sizeof(head));
  encoded.append(reinterpret_cast<const char*>(segments.data()),
                 segments.size() * sizeof(FrameSegment));
  encoded.append(text);
  encoded.append(bytes);
  return encoded;
}

StatusOr<Frame> Frame::Decode(absl::string_view bytes) {
  const auto take = [&bytes](void* out, size_t size) {
    if (size > bytes.size()) return false;
    if (size > 0) std::memcpy(out, bytes.data(), size);
    bytes.remove_prefix(size);
    return true;
  };
  Frame frame;
  if (!take(&frame.head, sizeof(frame.head))) return NoFrame();
  MS_RETURN_IF_ERROR(Check(frame.head));
  if (frame.head.has_descriptor != 0) return NoFrame();
  // The checked sizes are small enough for their sum.
  const uint64_t expected = frame.head.num_segments * sizeof(FrameSegment) + frame.head.text_size +
                            frame.head.inline_size;
  if (bytes.size() != expected) return NoFrame();
  frame.segments.resize(frame.head.num_segments);
  take(frame.segments.data(), frame.segments.size() * sizeof(FrameSegment));
  MS_RETURN_IF_ERROR(CheckSegments(frame));
  frame.text = std::string(bytes.substr(0, frame.head.text_size));
  frame.bytes = std::string(bytes.substr(frame.head.text_size));
  return frame;
}

FrameReader::~FrameReader() {
  for (const int descriptor : descriptors_) close(descriptor);
}

StatusOr<Frame> FrameReader::Read() {
  Frame frame;
  MS_RETURN_IF_ERROR(ReadBytes(reinterpret_cast<char*>(&frame.head), sizeof(frame.head)));
  MS_RETURN_IF_ERROR(Check(frame.head));
  frame.segments.resize(frame.head.num_segments);
  MS_RETURN_IF_ERROR(ReadBytes(reinterpret_cast<char*>(frame.segments.data()),
                               frame.segments.size() * sizeof(FrameSegment)));
  MS_RETURN_IF_ERROR(CheckSegments(frame));
  frame.text.resize(frame.head.text_size);
  MS_RETURN_IF_ERROR(ReadBytes(frame.text.data(), frame.text.size()));
  MS_RETURN_IF_ERROR(ReadGrowing(frame.head.inline_size, &frame.bytes));
  if (frame.head.has_descriptor == 0) return frame;
  if (descriptors_.empty()) return errors::InvalidArgument("a frame came without its descriptor");
  frame.descriptor = descriptors_.front();
  descriptors_.pop_front();
  return frame;
}

// Memory is taken as bytes come: a head that is wrong may promise more than there is memory.
Status FrameReader::ReadGrowing(size_t size, std::string* out) {
  while (out->size() < size) {
    const size_t begin = out->size();
    out->resize(std::min(size, begin + std::max(begin, kFirstPart)));
    MS_RETURN_IF_ERROR(ReadBytes(out->data() + begin, out->size() - begin));
  }
  return absl::OkStatus();
}

Status FrameReader::ReadBytes(char* out, size_t size) {
  while (size > 0) {
    if (begin_ == end_ && size >= buffer_.size()) {
      MS_ASSIGN_OR_RETURN(const size_t received, Receive(out, size));
      out += received;
      size -= received;
      continue;
    }
    if (begin_ == end_) {
      begin_ = 0;
      MS_ASSIGN_OR_RETURN(end_, Receive(buffer_.data(), buffer_.size()));
    }
    const size_t part = std::min(size, end_ - begin_);
    std::memcpy(out, buffer_.data() + begin_, part);
    begin_ += part;
    out += part;
    size -= part;
  }
  return absl::OkStatus();
}

StatusOr<size_t> FrameReader::Receive(char* out, size_t size) {
  iovec part{out, size};
  alignas(cmsghdr) char control[CMSG_SPACE(kMostDescriptors * sizeof(int))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  ssize_t received = 0;
  do {
    received = recvmsg(socket_, &message, MSG_CMSG_CLOEXEC);
  } while (received < 0 && errno == EINTR);
  if (received <= 0) return absl::UnavailableError("the connection has ended");
  for (cmsghdr* one = CMSG_FIRSTHDR(&message); one != nullptr; one = CMSG_NXTHDR(&message, one)) {
    if (one->cmsg_level != SOL_SOCKET || one->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (one->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(one) + i * sizeof(int), sizeof(int));
      descriptors_.push_back(descriptor);
    }
  }
  // The next descriptor to come would be taken for that of this frame.
  if ((message.msg_flags & MSG_CTRUNC) != 0) return NoDescriptor();
  return static_cast<size_t>(received);
}

}  // namespace millstream
