// What the ops of connectionist temporal classification share: A. Graves, S. Fernandez, F. Gomez
// and J. Schmidhuber, "Connectionist Temporal Classification" (2006). Inputs have the shape [time,
// batch, classes], and the last class is the blank.
#ifndef MILLSTREAM_KERNELS_NN_CTC_SEQUENCES_H_
#define MILLSTREAM_KERNELS_NN_CTC_SEQUENCES_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "framework/plugin/plugin.hpp"

namespace millstream::kernels {

inline constexpr double kLogZero = -std::numeric_limits<double>::infinity();

// log(exp(a) + exp(b)). The correction is computed in single precision whatever the type of the op:
// results of other programs are reproduced, and they do so.
double LogSumExp(double a, double b);

// Logits of a batch of sequences.
struct CtcInputs {
  int64_t time = 0;
  int64_t batch = 0;
  int64_t classes = 0;
  const int32_t* lengths = nullptr;
  ms::View logits;

  int64_t blank() const { return classes - 1; }
  // Where the logits of sequence b at time t begin, in elements.
  int64_t Offset(int64_t t, int64_t b) const { return (t * batch + b) * classes; }
};

// Checks `inputs` and `sequence_length`. Lengths of another number of sequences, or longer than the
// inputs, are an error of the code `misfit`, in which the loss and the decoders differ.
ms::Status ReadCtcInputs(const ms::View& inputs, const ms::View& sequence_length, MS_Code misfit,
                         CtcInputs* ctc);

// Element i of a tensor of float or double, and its change.
inline double NumberAt(const ms::View& tensor, int64_t i) {
  return tensor.dtype() == MS_FLOAT32 ? static_cast<double>(tensor.data<float>()[i])
                                      : tensor.data<double>()[i];
}
inline void SetNumber(const ms::View& tensor, int64_t i, double value) {
  if (tensor.dtype() == MS_FLOAT32) {
    tensor.data<float>()[i] = static_cast<float>(value);
  } else {
    tensor.data<double>()[i] = value;
  }
}

// The logarithms of the probabilities of all classes at time t.
void LogSoftmaxAt(const CtcInputs& ctc, int64_t t, int64_t b, double* log_probabilities);

// Found labels for the sequences of a batch, as the three tensors of a sparse one.
using LabelSequences = std::vector<std::vector<int64_t>>;
ms::Status WriteLabels(ms::Frame& frame, const LabelSequences& labels, uint32_t indices_output,
                       uint32_t values_output, uint32_t shape_output);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_NN_CTC_SEQUENCES_H_
