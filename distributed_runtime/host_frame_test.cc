#include "distributed_runtime/host_frame.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "gtest/gtest.h"

namespace millstream {
namespace {

Frame Request() {
  Frame frame;
  frame.head.kind = FrameHead::kRequest;
  frame.head.call = 7;
  frame.head.region = 3;
  frame.head.region_size = 4096;
  frame.text = "Method";
  frame.bytes = "some bytes";
  frame.segments = {{10, FrameSegment::kInline}, {4000, 96}};
  return frame;
}

absl::StatusCode CodeOf(const std::string& bytes) { return Frame::Decode(bytes).status().code(); }

TEST(HostFrameTest, AFrameComesBack) {
  const StatusOr<Frame> decoded = Frame::Decode(Request().Encode());
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->head.call, 7);
  EXPECT_EQ(decoded->head.region_size, 4096);
  EXPECT_EQ(decoded->text, "Method");
  EXPECT_EQ(decoded->bytes, "some bytes");
  ASSERT_EQ(decoded->segments.size(), 2);
  EXPECT_EQ(decoded->segments[1].size, 4000);
  EXPECT_EQ(decoded->segments[1].offset, 96);
  EXPECT_EQ(decoded->descriptor, -1);
}

TEST(HostFrameTest, OtherBytesAreRefusedWhateverTheirSize) {
  const std::string bytes = Request().Encode();
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(CodeOf(bytes.substr(0, size)), absl::StatusCode::kInvalidArgument) << size;
  }
  EXPECT_EQ(CodeOf(bytes + "x"), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(std::string(1000, 'x')), absl::StatusCode::kInvalidArgument);
}

TEST(HostFrameTest, SegmentsAndDescriptorsThatAreNotThereAreRefused) {
  Frame outside = Request();
  outside.segments[1].offset = 97;
  EXPECT_EQ(CodeOf(outside.Encode()), absl::StatusCode::kInvalidArgument);
  Frame overflow = Request();
  overflow.segments[1] = {~uint64_t{0}, 96};
  EXPECT_EQ(CodeOf(overflow.Encode()), absl::StatusCode::kInvalidArgument);
  Frame overlap = Request();
  overlap.segments.push_back({4000, 96});
  EXPECT_EQ(CodeOf(overlap.Encode()), absl::StatusCode::kInvalidArgument);
  Frame no_region = Request();
  no_region.head.region_size = 0;
  no_region.segments[1] = {0, 96};
  EXPECT_EQ(CodeOf(no_region.Encode()), absl::StatusCode::kInvalidArgument);
  Frame short_bytes = Request();
  short_bytes.segments[0].size = 9;
  EXPECT_EQ(CodeOf(short_bytes.Encode()), absl::StatusCode::kInvalidArgument);
  Frame descriptor = Request();
  descriptor.head.has_descriptor = 1;
  EXPECT_EQ(CodeOf(descriptor.Encode()), absl::StatusCode::kInvalidArgument);
}

// Sends a frame whose descriptor is the socket.
void SendWithDescriptor(int socket) {
  Frame frame = Request();
  frame.head.has_descriptor = 1;
  std::string bytes = frame.Encode();
  iovec part{bytes.data(), bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  cmsghdr* const rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(rights), &socket, sizeof(int));
  EXPECT_EQ(sendmsg(socket, &message, 0), static_cast<ssize_t>(bytes.size()));
}

TEST(HostFrameTest, ADescriptorComesWithItsFrame) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  SendWithDescriptor(ends[0]);
  const StatusOr<Frame> frame = FrameReader(ends[1]).Read();
  ASSERT_TRUE(frame.ok()) << frame.status();
  EXPECT_GE(frame->descriptor, 0);
  for (const int descriptor : {frame->descriptor, ends[0], ends[1]}) close(descriptor);
}

// Reads a frame with a descriptor where none may be opened. Ends the process.
[[noreturn]] void ReadWithoutDescriptors() {
  int ends[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) std::_Exit(1);
  SendWithDescriptor(ends[0]);
  const rlimit none{};
  if (setrlimit(RLIMIT_NOFILE, &none) != 0) std::_Exit(1);
  const Status status = FrameReader(ends[1]).Read().status();
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::_Exit(status.code() == absl::StatusCode::kResourceExhausted ? 0 : 1);
}

TEST(HostFrameDeathTest, AProcessThatMayOpenNoMoreSaysSo) {
  EXPECT_EXIT(ReadWithoutDescriptors(), ::testing::ExitedWithCode(0),
              "could not take the descriptor .* may have 0 descriptors");
}

}  // namespace
}  // namespace millstream
