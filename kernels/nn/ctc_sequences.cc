#include "kernels/nn/ctc_sequences.h"

#include <algorithm>
#include <cmath>

namespace millstream::kernels {

double LogSumExp(double a, double b) {
  if (a == kLogZero) return b;
  if (b == kLogZero) return a;
  const double larger = std::max(a, b);
  const auto distance = static_cast<float>(std::min(a, b) - larger);
  return larger + static_cast<double>(std::log1p(std::exp(distance)));
}

ms::Status ReadCtcInputs(const ms::View& inputs, const ms::View& sequence_length, MS_Code misfit,
                         CtcInputs* ctc) {
  if (inputs.rank() != 3) {
    return ms::InvalidArgument("inputs must have the shape [time, batch, classes], but it is ",
                               inputs.shape().ToString());
  }
  *ctc = {inputs.dim(0), inputs.dim(1), inputs.dim(2), sequence_length.data<int32_t>(), inputs};
  if (ctc->time == 0) {
    return ms::InvalidArgument("max_time is 0: inputs must have a time step at least, but its ",
                               "shape is ", inputs.shape().ToString());
  }
  if (ctc->classes == 0) {
    return ms::InvalidArgument("inputs must have a class at least, but its shape is ",
                               inputs.shape().ToString());
  }
  if (sequence_length.rank() != 1 || sequence_length.dim(0) != ctc->batch) {
    return ms::Status(sequence_length.rank() != 1 ? MS_INVALID_ARGUMENT : misfit,
                      ms::StrCat("sequence_length must be a vector of ", ctc->batch,
                                 " lengths, one for each sequence of inputs, but its shape is ",
                                 sequence_length.shape().ToString()));
  }
  for (int64_t b = 0; b < ctc->batch; ++b) {
    const int64_t length = ctc->lengths[b];
    if (length > ctc->time) {
      return ms::Status(misfit,
                        ms::StrCat("sequence_length(", b, ") <= ", ctc->time,
                                   " must hold for the time steps of inputs, but it is ", length));
    }
    if (length < 0) {
      return ms::InvalidArgument("sequence_length(", b, ") must not be negative, but is ", length);
    }
  }
  return ms::Status();
}

void LogSoftmaxAt(const CtcInputs& ctc, int64_t t, int64_t b, double* log_probabilities) {
  const int64_t first = ctc.Offset(t, b);
  double largest = NumberAt(ctc.logits, first);
  for (int64_t c = 0; c < ctc.classes; ++c) {
    log_probabilities[c] = NumberAt(ctc.logits, first + c);
    largest = std::max(largest, log_probabilities[c]);
  }
  double sum = 0;
  for (int64_t c = 0; c < ctc.classes; ++c) {
    log_probabilities[c] -= largest;
    sum += std::exp(log_probabilities[c]);
  }
  const double log_sum = std::log(sum);
  for (int64_t c = 0; c < ctc.classes; ++c) log_probabilities[c] -= log_sum;
}

ms::Status WriteLabels(ms::Frame& frame, const LabelSequences& labels, uint32_t indices_output,
                       uint32_t values_output, uint32_t shape_output) {
  size_t count = 0;
  size_t longest = 0;
  for (const std::vector<int64_t>& sequence : labels) {
    count += sequence.size();
    longest = std::max(longest, sequence.size());
  }
  const auto size = static_cast<int64_t>(count);
  ms::View indices;
  ms::View values;
  ms::View shape;
  MS_TRY(frame.Output(indices_output, {size, 2}, &indices));
  MS_TRY(frame.Output(values_output, {size}, &values));
  MS_TRY(frame.Output(shape_output, {2}, &shape));
  shape.data<int64_t>()[0] = static_cast<int64_t>(labels.size());
  shape.data<int64_t>()[1] = static_cast<int64_t>(longest);
  int64_t* index = indices.data<int64_t>();
  int64_t* value = values.data<int64_t>();
  for (size_t b = 0; b < labels.size(); ++b) {
    for (size_t i = 0; i < labels[b].size(); ++i) {
      *index++ = static_cast<int64_t>(b);
      *index++ = static_cast<int64_t>(i);
      *value++ = labels[b][i];
    }
  }
  return ms::Status();
}

}  // namespace millstream::kernels
