// Prints, text made of tensors, and Assert, whose error shows tensors.
#include <atomic>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/io/file_system.h"
#include "core/structural/host_kernel.h"
#include "core/structural/structural.h"
#include "core/structural/tensor_text.h"

namespace millstream {
namespace {

// "[1 2] [3]": the first elements of the inputs from `first` on.
std::string InputsText(const StructuralFrame& frame, uint32_t first, absl::string_view separator,
                       int64_t summarize) {
  std::string text;
  for (uint32_t i = first; i < frame.num_inputs(); ++i) {
    absl::StrAppend(&text, i == first ? "" : separator, "[",
                    FirstElementsText(frame.BorrowInput(i), summarize), "]");
  }
  return text;
}

// Inputs: condition, a scalar bool; then the tensors that the error shows.
class AssertKernel final : public SyncHostKernel {
 public:
  Status Init(const HostKernelInfo& info) override {
    MS_ASSIGN_OR_RETURN(summarize_, info.Attr<int64_t>("summarize"));
    return absl::OkStatus();
  }
  Status Compute(StructuralFrame* frame) override {
    const Tensor condition = frame->BorrowInput(0);
    if (condition.shape().rank() != 0) {
      return errors::InvalidArgument("condition must be a scalar, its shape is ",
                                     condition.shape().ToString());
    }
    if (*condition.data<bool>()) return absl::OkStatus();
    return errors::InvalidArgument("assertion failed: ", InputsText(*frame, 1, " ", summarize_));
  }

 private:
  int64_t summarize_ = 3;
};

// The stream has a lock of its own, so lines of several threads do not mix.
void WriteTo(std::FILE* stream, absl::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stream);
  std::fflush(stream);
}

// Passes input 0 on. The others are printed, in the first `first_n` executions if it is not
// negative.
class PrintKernel final : public SyncHostKernel {
 public:
  Status Init(const HostKernelInfo& info) override {
    MS_ASSIGN_OR_RETURN(message_, info.Attr<std::string>("message"));
    MS_ASSIGN_OR_RETURN(first_n_, info.Attr<int64_t>("first_n"));
    MS_ASSIGN_OR_RETURN(summarize_, info.Attr<int64_t>("summarize"));
    return absl::OkStatus();
  }
  Status Compute(StructuralFrame* frame) override {
    MS_RETURN_IF_ERROR(frame->PassOn(0, 0, frame->input_shape(0)));
    const bool prints =
        first_n_ < 0 || executions_.fetch_add(1, std::memory_order_relaxed) < first_n_;
    if (prints) {
      WriteTo(stderr, absl::StrCat(message_, InputsText(*frame, 1, "", summarize_), "\n"));
    }
    return absl::OkStatus();
  }

 private:
  std::string message_;
  int64_t first_n_ = -1;
  int64_t summarize_ = 3;
  std::atomic<int64_t> executions_{0};
};

// The values of attribute output_stream besides "file://PATH", and what stands before a text there.
struct NamedStream {
  const char* name;
  std::FILE* stream;
  const char* start;
};
const NamedStream* FindStream(absl::string_view name) {
  static const std::vector<NamedStream>* const streams =
      new std::vector<NamedStream>{{"stdout", stdout, ""},
                                   {"stderr", stderr, ""},
                                   {"log(info)", stderr, "INFO:"},
                                   {"log(warning)", stderr, "WARNING:"},
                                   {"log(error)", stderr, "ERROR:"}};
  for (const NamedStream& stream : *streams) {
    if (name == stream.name) return &stream;
  }
  return nullptr;
}

// Prints its input, a scalar string.
class PrintTextKernel final : public SyncHostKernel {
 public:
  Status Init(const HostKernelInfo& info) override {
    MS_ASSIGN_OR_RETURN(const std::string name, info.Attr<std::string>("output_stream"));
    MS_ASSIGN_OR_RETURN(end_, info.Attr<std::string>("end"));
    absl::string_view path = name;
    stream_ = FindStream(name);
    if (stream_ == nullptr && absl::ConsumePrefix(&path, "file://")) path_ = std::string(path);
    if (stream_ != nullptr || !path_.empty()) return absl::OkStatus();
    return errors::InvalidArgument(
        "Unknown output stream: attribute 'output_stream' must be stdout, stderr, log(info), "
        "log(warning), log(error) or file:// and a path, got '",
        name, "'");
  }
  Status Compute(StructuralFrame* frame) override {
    const Tensor input = frame->BorrowInput(0);
    if (input.shape().rank() != 0) {
      return errors::InvalidArgument("argument 'input' must be a scalar, its shape is ",
                                     input.shape().ToString());
    }
    const std::string& text = *input.data<std::string>();
    if (stream_ == nullptr) return AppendToFile(absl::StrCat(text, end_));
    WriteTo(stream_->stream, absl::StrCat(stream_->start, text, end_));
    return absl::OkStatus();
  }

 private:
  Status AppendToFile(absl::string_view text) const {
    MS_ASSIGN_OR_RETURN(const std::unique_ptr<AppendableFile> file,
                        LocalFileSystem()->OpenForAppending(path_, FileSystem::Existing::kKeep));
    MS_RETURN_IF_ERROR(file->Append(text));
    return file->Close();
  }

  const NamedStream* stream_ = nullptr;  // null: a file
  std::string path_;
  std::string end_;
};

// Puts the inputs' texts where the template has its placeholder.
class StringFormatKernel final : public SyncHostKernel {
 public:
  Status Init(const HostKernelInfo& info) override {
    MS_ASSIGN_OR_RETURN(const std::string text, info.Attr<std::string>("template"));
    MS_ASSIGN_OR_RETURN(const std::string placeholder, info.Attr<std::string>("placeholder"));
    MS_ASSIGN_OR_RETURN(summarize_, info.Attr<int64_t>("summarize"));
    pieces_ = absl::StrSplit(text, placeholder);
    return absl::OkStatus();
  }
  // The shape function made sure that there is one piece more than there are inputs.
  Status Compute(StructuralFrame* frame) override {
    std::string text = pieces_[0];
    for (uint32_t i = 0; i < frame->num_inputs(); ++i) {
      absl::StrAppend(&text, EndsText(frame->BorrowInput(i), summarize_), pieces_[i + 1]);
    }
    MS_ASSIGN_OR_RETURN(const Tensor output, frame->AllocateOutput(0, Shape()));
    *output.data<std::string>() = std::move(text);
    return absl::OkStatus();
  }

 private:
  std::vector<std::string> pieces_;
  int64_t summarize_ = 3;
};

MILLSTREAM_HOST_KERNEL("Assert", AssertKernel);
MILLSTREAM_HOST_KERNEL("Print", PrintKernel);
MILLSTREAM_HOST_KERNEL("PrintV2", PrintTextKernel);
MILLSTREAM_HOST_KERNEL("StringFormat", StringFormatKernel);

}  // namespace
}  // namespace millstream
