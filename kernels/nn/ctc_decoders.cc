// CTCGreedyDecoder and CTCBeamSearchDecoder.
#include <cstdint>
#include <utility>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/parallel.h"
#include "kernels/nn/ctc_beams.h"
#include "kernels/nn/ctc_sequences.h"

namespace millstream::kernels {
namespace {

// The best class at each time step.
class CtcGreedyDecoder {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    return info.Attr("merge_repeated", &merge_repeated_);
  }

  ms::Status Compute(ms::Frame& frame) const {
    CtcInputs ctc;
    MS_TRY(ReadCtcInputs(frame.input(0), frame.input(1), MS_FAILED_PRECONDITION, &ctc));
    ms::View log_probability;
    MS_TRY(frame.Output(3, {ctc.batch, 1}, &log_probability));
    LabelSequences labels(ctc.batch);
    for (int64_t b = 0; b < ctc.batch; ++b) {
      SetNumber(log_probability, b, Decode(ctc, b, &labels[b]));
    }
    return WriteLabels(frame, labels, 0, 1, 2);
  }

 private:
  // Returns the negative sum of the largest logits.
  double Decode(const CtcInputs& ctc, int64_t b, std::vector<int64_t>* labels) const {
    double sum = 0;
    int64_t last = -1;
    for (int64_t t = 0; t < ctc.lengths[b]; ++t) {
      const int64_t first = ctc.Offset(t, b);
      int64_t best = 0;
      double largest = NumberAt(ctc.logits, first);
      for (int64_t c = 1; c < ctc.classes; ++c) {
        const double logit = NumberAt(ctc.logits, first + c);
        if (!(logit > largest)) continue;
        largest = logit;
        best = c;
      }
      sum -= largest;
      if (best != ctc.blank() && !(merge_repeated_ && best == last)) labels->push_back(best);
      last = best;
    }
    return sum;
  }

  bool merge_repeated_ = false;
};

class CtcBeamSearchDecoder {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    MS_TRY(info.Attr("beam_width", &beam_width_));
    MS_TRY(info.Attr("top_paths", &top_paths_));
    MS_TRY(info.Attr("merge_repeated", &merge_repeated_));
    if (top_paths_ >= 1 && top_paths_ <= beam_width_) return ms::Status();
    return ms::InvalidArgument("top_paths must be in [1, beam_width], but they are ", top_paths_,
                               " and ", beam_width_);
  }

  ms::Status Compute(ms::Frame& frame) const {
    CtcInputs ctc;
    MS_TRY(ReadCtcInputs(frame.input(0), frame.input(1), MS_FAILED_PRECONDITION, &ctc));
    std::vector<std::vector<CtcBeams::Path>> found(ctc.batch);
    const uint64_t cost =
        static_cast<uint64_t>(ctc.time) * static_cast<uint64_t>(ctc.classes) * 1000;
    MS_TRY(StoppableFor(frame, ctc.batch, cost, [&](uint64_t begin, uint64_t end) {
      for (uint64_t b = begin; b < end; ++b) found[b] = Search(ctc, b);
    }));
    ms::View log_probability;
    MS_TRY(frame.Output(static_cast<uint32_t>(3 * top_paths_), {ctc.batch, top_paths_},
                        &log_probability));
    for (int64_t b = 0; b < ctc.batch; ++b) {
      if (static_cast<int64_t>(found[b].size()) < top_paths_) {
        return ms::InvalidArgument("Less leaves in the beam search than requested: inputs have ",
                                   found[b].size(), " paths for sequence ", b, ", top_paths is ",
                                   top_paths_);
      }
      for (int64_t i = 0; i < top_paths_; ++i) {
        SetNumber(log_probability, b * top_paths_ + i, found[b][i].log_probability);
      }
    }
    return WritePaths(frame, &found);
  }

 private:
  std::vector<CtcBeams::Path> Search(const CtcInputs& ctc, int64_t b) const {
    CtcBeams beams(ctc.classes, beam_width_);
    std::vector<double> log_probabilities(ctc.classes);
    for (int64_t t = 0; t < ctc.lengths[b]; ++t) {
      LogSoftmaxAt(ctc, t, b, log_probabilities.data());
      beams.Step(log_probabilities.data());
    }
    return beams.Best(top_paths_, merge_repeated_);
  }

  ms::Status WritePaths(ms::Frame& frame, std::vector<std::vector<CtcBeams::Path>>* found) const {
    const auto paths = static_cast<uint32_t>(top_paths_);
    for (uint32_t i = 0; i < paths; ++i) {
      LabelSequences labels;
      for (std::vector<CtcBeams::Path>& of_sequence : *found) {
        labels.push_back(std::move(of_sequence[i].labels));
      }
      MS_TRY(WriteLabels(frame, labels, i, paths + i, 2 * paths + i));
    }
    return ms::Status();
  }

  int64_t beam_width_ = 1;
  int64_t top_paths_ = 1;
  bool merge_repeated_ = true;
};

ms::KernelOptions OnHost() {
  return ms::KernelOptions()
      .Types("T", {MS_FLOAT32, MS_FLOAT64})
      .HostArg("inputs")
      .HostArg("sequence_length")
      .HostArg("decoded_indices")
      .HostArg("decoded_values")
      .HostArg("decoded_shape");
}

const ms::Registered greedy = ms::Register<CtcGreedyDecoder>("CTCGreedyDecoder", OnHost());
const ms::Registered beam_search =
    ms::Register<CtcBeamSearchDecoder>("CTCBeamSearchDecoder", OnHost());

}  // namespace
}  // namespace millstream::kernels
