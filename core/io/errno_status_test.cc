#include "core/io/errno_status.h"

#include <cerrno>

#include "framework/status.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

TEST(ErrnoStatusTest, SaysThePathAndTheSystemsText) {
  const Status status = ErrnoStatus(ENOENT, "logs/a.pb");
  EXPECT_EQ(status.message(), "logs/a.pb: No such file or directory");
  EXPECT_EQ(ErrnoStatus(ENOSPC, "b").message(), "b: No space left on device");
}

TEST(ErrnoStatusTest, ChoosesTheCode) {
  EXPECT_EQ(ErrnoStatus(ENOENT, "p").code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ErrnoStatus(EEXIST, "p").code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(ErrnoStatus(EACCES, "p").code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(ErrnoStatus(EROFS, "p").code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(ErrnoStatus(ENOSPC, "p").code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(ErrnoStatus(EFBIG, "p").code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(ErrnoStatus(EMFILE, "p").code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(ErrnoStatus(ENOTDIR, "p").code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ErrnoStatus(EISDIR, "p").code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ErrnoStatus(ENAMETOOLONG, "p").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ErrnoStatus(EIO, "p").code(), absl::StatusCode::kUnknown);
}

TEST(ErrnoStatusTest, CarriesTheNumber) {
  EXPECT_EQ(ErrnoOf(ErrnoStatus(EPIPE, "p")), EPIPE);
  EXPECT_EQ(ErrnoOf(WithContext(ErrnoStatus(EPIPE, "p"), "writing")), EPIPE);
  EXPECT_EQ(ErrnoOf(errors::NotFound("p")), 0);
  EXPECT_EQ(ErrnoOf(absl::OkStatus()), 0);
}

}  // namespace
}  // namespace millstream
