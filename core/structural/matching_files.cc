// Which files there are.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "core/io/file_system.h"
#include "core/io/match_files.h"
#include "core/structural/host_kernel.h"

namespace millstream {
namespace {

Status MatchingFiles(StructuralFrame* frame) {
  const Tensor patterns = frame->BorrowInput(0);
  if (patterns.shape().rank() > 1) {
    return errors::InvalidArgument("argument 'pattern' must be scalar or vector, got shape ",
                                   patterns.shape().ToString());
  }
  std::vector<std::string> all;
  for (const std::string& pattern : patterns.flat<std::string>()) {
    StatusOr<std::vector<std::string>> found = MatchFiles(LocalFileSystem(), pattern);
    if (!found.ok()) {
      return WithContext(found.status(),
                         absl::StrCat("argument 'pattern', ", absl::CHexEscape(pattern)));
    }
    all.insert(all.end(), found->begin(), found->end());
  }
  std::sort(all.begin(), all.end());
  MS_ASSIGN_OR_RETURN(const Tensor output,
                      frame->AllocateOutput(0, Shape({static_cast<int64_t>(all.size())})));
  std::move(all.begin(), all.end(), output.data<std::string>());
  return absl::OkStatus();
}

MILLSTREAM_HOST_KERNEL("MatchingFiles", HostFunction<&MatchingFiles>);

}  // namespace
}  // namespace millstream
