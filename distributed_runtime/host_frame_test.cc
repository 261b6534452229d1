#include "distributed_runtime/host_frame.h"

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

}  // namespace
}  // namespace millstream
