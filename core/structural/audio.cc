// Audio: summaries of it, and files.
#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/structural/host_kernel.h"
#include "core/structural/summary_text.h"
#include "core/structural/wav.h"
#include "millstream/framework/protos/summary.pb.h"

namespace millstream {
namespace {

// The audio of one tensor, [batch, frames] or [batch, frames, channels].
StatusOr<proto::Summary> SummaryOf(const std::string& tag, const Tensor& tensor, float sample_rate,
                                   int64_t max_outputs) {
  const Shape& shape = tensor.shape();
  if (shape.rank() != 2 && shape.rank() != 3) {
    return errors::InvalidArgument("Tensor must be 3-D or 2-D: 'tensor' has the shape ",
                                   shape.ToString());
  }
  WavFormat format = {};
  // Of a number beyond int64, and of NaN, the range check says that it is wrong.
  format.sample_rate =
      sample_rate >= 1 && sample_rate < 1e18f ? static_cast<int64_t>(sample_rate) : 0;
  format.frames = shape.dim(1);
  format.channels = shape.rank() == 3 ? shape.dim(2) : 1;
  proto::Summary summary;
  const std::string base = absl::StrCat(tag, "/audio");
  for (int64_t i = 0; i < std::min(max_outputs, shape.dim(0)); ++i) {
    const float* const samples = tensor.data<float>() + i * format.frames * format.channels;
    StatusOr<std::string> file = EncodeWav(format, samples);
    if (!file.ok()) {
      return errors::InvalidArgument(file.status().message(), " ('tensor' has the shape ",
                                     shape.ToString(), ", sample_rate is ", sample_rate, ")");
    }
    proto::Summary::Value* value = summary.add_value();
    value->set_tag(max_outputs == 1 ? base : absl::StrCat(base, "/", i));
    proto::Summary::Audio* audio = value->mutable_audio();
    audio->set_sample_rate(sample_rate);
    audio->set_num_channels(format.channels);
    audio->set_length_frames(format.frames);
    audio->set_content_type("audio/wav");
    audio->set_encoded_audio_string(*std::move(file));
  }
  return summary;
}

Status AudioSummaryAt(StructuralFrame* frame, float sample_rate) {
  MS_ASSIGN_OR_RETURN(const std::string tag, ScalarText(frame->BorrowInput(0), "tag"));
  MS_ASSIGN_OR_RETURN(const int64_t max_outputs, frame->call().Attr<int64_t>("max_outputs"));
  MS_ASSIGN_OR_RETURN(const proto::Summary summary,
                      SummaryOf(tag, frame->BorrowInput(1), sample_rate, max_outputs));
  return SetSummary(frame, summary);
}

Status AudioSummary(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(const float sample_rate, frame->call().Attr<float>("sample_rate"));
  return AudioSummaryAt(frame, sample_rate);
}

Status AudioSummaryV2(StructuralFrame* frame) {
  const Tensor sample_rate = frame->BorrowInput(2);
  if (sample_rate.shape().rank() != 0) {
    return errors::InvalidArgument("'sample_rate' must be a scalar, got ",
                                   sample_rate.shape().ToString());
  }
  return AudioSummaryAt(frame, *sample_rate.data<float>());
}

Status EncodeWavFile(StructuralFrame* frame) {
  const Tensor audio = frame->BorrowInput(0);
  const Tensor rate = frame->BorrowInput(1);
  if (audio.shape().rank() != 2) {
    return errors::InvalidArgument("audio must be 2-dimensional but got shape ",
                                   audio.shape().ToString());
  }
  if (rate.shape().rank() != 0) {
    return errors::InvalidArgument("Input sample_rate should be a scalar tensor but got ",
                                   rate.shape().ToString(), " instead");
  }
  const WavFormat format = {*rate.data<int32_t>(), audio.shape().dim(1), audio.shape().dim(0)};
  StatusOr<std::string> file = EncodeWav(format, audio.data<float>());
  if (!file.ok()) {
    return errors::InvalidArgument(file.status().message(), " ('audio' has the shape ",
                                   audio.shape().ToString(), ")");
  }
  MS_ASSIGN_OR_RETURN(const Tensor contents, frame->AllocateOutput(0, Shape()));
  *contents.data<std::string>() = *std::move(file);
  return absl::OkStatus();
}

Status DecodeWavFile(StructuralFrame* frame) {
  const Tensor contents = frame->BorrowInput(0);
  MS_ASSIGN_OR_RETURN(const absl::string_view file, ScalarBytes(contents, "contents"));
  MS_ASSIGN_OR_RETURN(int64_t channels, frame->call().Attr<int64_t>("desired_channels"));
  MS_ASSIGN_OR_RETURN(int64_t frames, frame->call().Attr<int64_t>("desired_samples"));
  const StatusOr<WavSamples> samples = DecodeWav(file);
  if (!samples.ok()) {
    return errors::InvalidArgument("'contents' is no WAV file that can be read: ",
                                   samples.status().message());
  }
  const WavFormat& format = samples->format;
  if (channels == -1) channels = format.channels;
  if (frames == -1) frames = format.frames;
  MS_ASSIGN_OR_RETURN(const Tensor audio, frame->AllocateOutput(0, Shape({frames, channels})));
  // Missing channels are copies of the last one, missing frames zeros.
  float* to = audio.data<float>();
  for (int64_t i = 0; i < frames; ++i) {
    for (int64_t c = 0; c < channels; ++c) {
      *to++ = i < format.frames ? samples->At(i, std::min(c, format.channels - 1)) : 0;
    }
  }
  MS_ASSIGN_OR_RETURN(const Tensor rate, frame->AllocateOutput(1, Shape()));
  *rate.data<int32_t>() = static_cast<int32_t>(format.sample_rate);
  return absl::OkStatus();
}

MILLSTREAM_HOST_KERNEL("AudioSummary", HostFunction<AudioSummary>);
MILLSTREAM_HOST_KERNEL("AudioSummaryV2", HostFunction<AudioSummaryV2>);
MILLSTREAM_HOST_KERNEL("EncodeWav", HostFunction<EncodeWavFile>);
MILLSTREAM_HOST_KERNEL("DecodeWav", HostFunction<DecodeWavFile>);

}  // namespace
}  // namespace millstream
