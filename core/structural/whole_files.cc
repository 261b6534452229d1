// Reads and writes whole files.
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "core/io/file_system.h"
#include "core/io/whole_file.h"
#include "core/io/write_file.h"
#include "core/structural/host_kernel.h"

namespace millstream {
namespace {

StatusOr<std::string> ScalarString(const StructuralFrame& frame, uint32_t i,
                                   absl::string_view name) {
  const Tensor tensor = frame.BorrowInput(i);
  if (tensor.shape().rank() == 0) return *tensor.data<std::string>();
  return errors::InvalidArgument("argument '", name, "' must be a scalar, got shape ",
                                 tensor.shape().ToString());
}

Status ReadFile(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(const std::string path, ScalarString(*frame, 0, "filename"));
  MS_ASSIGN_OR_RETURN(std::string contents, ReadWholeFile(LocalFileSystem(), path));
  MS_ASSIGN_OR_RETURN(const Tensor output, frame->AllocateOutput(0, Shape()));
  *output.data<std::string>() = std::move(contents);
  return absl::OkStatus();
}

Status WriteFile(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(const std::string path, ScalarString(*frame, 0, "filename"));
  MS_ASSIGN_OR_RETURN(const std::string contents, ScalarString(*frame, 1, "contents"));
  FileSystem* const files = LocalFileSystem();
  MS_RETURN_IF_ERROR(files->MakeFolders(FolderOf(path)));
  return WriteFileAtomically(files, path, contents, FileSystem::Existing::kReplace);
}

MILLSTREAM_HOST_KERNEL("ReadFile", HostFunction<&ReadFile>);
MILLSTREAM_HOST_KERNEL("WriteFile", HostFunction<&WriteFile>);

}  // namespace
}  // namespace millstream
