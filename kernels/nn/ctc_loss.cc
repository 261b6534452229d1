// CTCLoss: the loss of Graves et al. and its gradient, with probabilities as logarithms. Numbers of
// equations are those of A. Graves, "Supervised Sequence Labelling with Recurrent Neural Networks"
// (2012), chapter 7.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/parallel.h"
#include "kernels/nn/ctc_sequences.h"

namespace millstream::kernels {
namespace {

// The paths of one sequence: its labels with a blank before, behind and between all of them.
class CtcPaths {
 public:
  // REQUIRES: the sequence has a time step.
  CtcPaths(const CtcInputs& ctc, int64_t b, const std::vector<int64_t>& labels, bool merge_repeated)
      : time_(ctc.lengths[b]),
        classes_(ctc.classes),
        blank_(ctc.blank()),
        merge_repeated_(merge_repeated),
        log_y_(time_ * classes_) {
    states_.push_back(blank_);
    for (const int64_t label : labels) {
      states_.push_back(label);
      states_.push_back(blank_);
    }
    size_ = static_cast<int64_t>(states_.size());
    for (int64_t t = 0; t < time_; ++t) LogSoftmaxAt(ctc, t, b, &log_y_[t * classes_]);
    SetForward();
    SetBackward();
    for (int64_t u = 0; u < size_; ++u) {
      log_probability_ = LogSumExp(log_probability_, forward_[u] + backward_[u]);
    }
  }

  double loss() const { return -log_probability_; }

  // Writes the gradient of the loss for the logits of sequence b (7.33); where no path is possible,
  // all of it is what the probabilities give.
  void WriteGradient(const CtcInputs& ctc, int64_t b, const ms::View& gradient) const {
    std::vector<double> sums(classes_);
    for (int64_t t = 0; t < time_; ++t) {
      std::fill(sums.begin(), sums.end(), kLogZero);
      for (int64_t u = 0; u < size_; ++u) {
        double& sum = sums[states_[u]];
        sum = LogSumExp(sum, forward_[t * size_ + u] + backward_[t * size_ + u]);
      }
      for (int64_t c = 0; c < classes_; ++c) {
        double value = std::exp(log_y_[t * classes_ + c]);
        if (log_probability_ != kLogZero) {
          // Single precision, for the reason that LogSumExp has.
          value -= static_cast<double>(std::exp(static_cast<float>(sums[c] - log_probability_)));
        }
        SetNumber(gradient, ctc.Offset(t, b) + c, value);
      }
    }
  }

 private:
  double LogY(int64_t t, int64_t u) const { return log_y_[t * classes_ + states_[u]]; }
  // Whether a path may stay in state u for more than a step.
  bool MayStay(int64_t u) const { return merge_repeated_ || states_[u] == blank_; }
  // Whether a path may go from state u to u + 2, past a blank.
  bool MaySkip(int64_t u) const {
    return states_[u + 2] != blank_ && !(merge_repeated_ && states_[u] == states_[u + 2]);
  }

  // forward_[t][u]: all beginnings that are in state u at time t, with what is seen there (7.9).
  void SetForward() {
    forward_.assign(time_ * size_, kLogZero);
    forward_[0] = LogY(0, 0);
    if (size_ > 1) forward_[1] = LogY(0, 1);
    for (int64_t t = 1; t < time_; ++t) {
      const double* const before = &forward_[(t - 1) * size_];
      for (int64_t u = 0; u < size_; ++u) {
        double sum = MayStay(u) ? before[u] : kLogZero;
        if (u > 0) sum = LogSumExp(sum, before[u - 1]);
        if (u > 1 && MaySkip(u - 2)) sum = LogSumExp(sum, before[u - 2]);
        forward_[t * size_ + u] = LogY(t, u) + sum;
      }
    }
  }

  // backward_[t][u]: all ends after state u at time t, without what is seen there (7.15). Without a
  // label the second element from the end is that of the time before: also what ends a step early
  // counts. This is no probability, but results of other programs are reproduced.
  void SetBackward() {
    backward_.assign(time_ * size_, kLogZero);
    backward_.back() = 0;
    if (backward_.size() > 1) backward_[backward_.size() - 2] = 0;
    for (int64_t t = time_ - 2; t >= 0; --t) {
      const double* const after = &backward_[(t + 1) * size_];
      for (int64_t u = 0; u < size_; ++u) {
        double& sum = backward_[t * size_ + u];
        if (MayStay(u)) sum = LogSumExp(sum, after[u] + LogY(t + 1, u));
        if (u + 1 < size_) sum = LogSumExp(sum, after[u + 1] + LogY(t + 1, u + 1));
        if (u + 2 < size_ && MaySkip(u)) sum = LogSumExp(sum, after[u + 2] + LogY(t + 1, u + 2));
      }
    }
  }

  const int64_t time_;
  const int64_t classes_;
  const int64_t blank_;
  const bool merge_repeated_;
  int64_t size_ = 0;
  std::vector<int64_t> states_;
  std::vector<double> log_y_;
  std::vector<double> forward_;
  std::vector<double> backward_;
  double log_probability_ = kLogZero;
};

// The labels of each sequence, of the sparse tensor that indices and values make.
ms::Status ReadLabels(const ms::View& indices, const ms::View& values, int64_t batch,
                      LabelSequences* labels) {
  if (indices.rank() != 2 || indices.dim(1) != 2 || values.rank() != 1 ||
      values.dim(0) != indices.dim(0)) {
    return ms::InvalidArgument("labels_indices must have the shape [n, 2] and labels_values [n], ",
                               "but they are ", indices.shape().ToString(), " and ",
                               values.shape().ToString());
  }
  labels->assign(batch, {});
  const int64_t* index = indices.data<int64_t>();
  for (int64_t i = 0; i < values.size(); ++i, index += 2) {
    if (index[0] < 0 || index[0] >= batch || index[1] < 0) {
      return ms::InvalidArgument("labels_indices has [", index[0], ", ", index[1], "] at ", i,
                                 ", outside of a batch of ", batch, " sequences");
    }
    const bool rises =
        i == 0 || index[-2] < index[0] || (index[-2] == index[0] && index[-1] < index[1]);
    if (!rises) {
      return ms::InvalidArgument("labels_indices is out of order or repeated at ", i, ": [",
                                 index[0], ", ", index[1], "]");
    }
    (*labels)[index[0]].push_back(values.data<int32_t>()[i]);
  }
  return ms::Status();
}

class CtcLoss {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    MS_TRY(info.Attr("preprocess_collapse_repeated", &collapse_repeated_));
    MS_TRY(info.Attr("ctc_merge_repeated", &merge_repeated_));
    return info.Attr("ignore_longer_outputs_than_inputs", &ignore_longer_);
  }

  ms::Status Compute(ms::Frame& frame) const {
    CtcInputs ctc;
    MS_TRY(ReadCtcInputs(frame.input(0), frame.input(3), MS_INVALID_ARGUMENT, &ctc));
    LabelSequences labels;
    MS_TRY(ReadLabels(frame.input(1), frame.input(2), ctc.batch, &labels));
    int64_t longest = 0;
    for (int64_t b = 0; b < ctc.batch; ++b) {
      MS_TRY(PrepareLabels(ctc, b, &labels[b]));
      longest = std::max(longest, static_cast<int64_t>(labels[b].size()));
    }
    ms::View loss;
    ms::View gradient;
    MS_TRY(frame.Output(0, {ctc.batch}, &loss));
    MS_TRY(frame.Output(1, frame.input(0).shape(), &gradient));
    std::memset(loss.raw(), 0, loss.bytes());
    std::memset(gradient.raw(), 0, gradient.bytes());
    const uint64_t cost =
        static_cast<uint64_t>(ctc.time * (100 * (2 * longest + 1) + 20 * ctc.classes));
    return StoppableFor(frame, ctc.batch, cost, [&](uint64_t begin, uint64_t end) {
      for (uint64_t b = begin; b < end; ++b) {
        const int64_t length = ctc.lengths[b];
        // What cannot be fitted has no part in the loss.
        if (length == 0 || static_cast<int64_t>(labels[b].size()) > length) continue;
        const CtcPaths paths(ctc, b, labels[b], merge_repeated_);
        SetNumber(loss, b, paths.loss());
        paths.WriteGradient(ctc, b, gradient);
      }
    });
  }

 private:
  // Takes repeated labels out, if that is wanted, and blanks behind the labels, and checks them.
  ms::Status PrepareLabels(const CtcInputs& ctc, int64_t b, std::vector<int64_t>* labels) const {
    if (labels->empty()) {
      return ms::InvalidArgument("Labels length is zero in batch ", b,
                                 ": labels_indices must have a label for each sequence");
    }
    std::vector<int64_t> kept;
    bool ended = false;
    for (size_t i = 0; i < labels->size(); ++i) {
      const int64_t label = (*labels)[i];
      if (i > 0 && collapse_repeated_ && label == (*labels)[i - 1]) continue;
      if (label < 0) {
        return ms::InvalidArgument(
            "All labels must be nonnegative integers, but labels_values has ", label,
            " for sequence ", b);
      }
      if (label >= ctc.blank()) {
        ended = true;
      } else if (ended) {
        return ms::InvalidArgument("Saw a non-null label (index >= num_classes - 1) following a ",
                                   "null label: labels_values has ", label, " for sequence ", b);
      } else {
        kept.push_back(label);
      }
    }
    *labels = std::move(kept);
    const auto size = static_cast<int64_t>(labels->size());
    if (ignore_longer_ || size <= ctc.lengths[b]) return ms::Status();
    return ms::InvalidArgument("Not enough time for target transition sequence (required: ", size,
                               ", available: ", ctc.lengths[b], ") of labels_values for sequence ",
                               b, "; ignore_longer_outputs_than_inputs skips such sequences");
  }

  bool collapse_repeated_ = false;
  bool merge_repeated_ = true;
  bool ignore_longer_ = false;
};

const ms::Registered ctc_loss =
    ms::Register<CtcLoss>("CTCLoss", ms::KernelOptions()
                                         .Types("T", {MS_FLOAT32, MS_FLOAT64})
                                         .HostArg("inputs")
                                         .HostArg("labels_indices")
                                         .HostArg("labels_values")
                                         .HostArg("sequence_length"));

}  // namespace
}  // namespace millstream::kernels
