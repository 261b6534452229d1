// Convolutions by their definition, for any number type, layout and grouping. The sums of one
// element run in a fixed order, whatever the threads.
#ifndef MILLSTREAM_KERNELS_NN_CONV_REFERENCE_H_
#define MILLSTREAM_KERNELS_NN_CONV_REFERENCE_H_

#include <algorithm>
#include <array>
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/parallel.h"
#include "kernels/nn/conv_shape.h"

namespace millstream::kernels {

template <typename T>
class ReferenceConvolution {
 public:
  explicit ReferenceConvolution(const ConvShape& shape)
      : shape_(shape),
        group_in_(shape.in_channels / shape.groups),
        group_out_(shape.out_channels / shape.groups),
        input_(shape.channels_first, shape.input, shape.in_channels),
        output_(shape.channels_first, shape.output, shape.out_channels) {}

  ms::Status Forward(ms::Frame& frame, const T* input, const T* filter, T* output) const {
    return ForEachRow(
        frame, shape_.output[0], RowCost(shape_.output[1]), [&](int64_t n, int64_t oh) {
          for (int64_t ow = 0; ow < shape_.output[1]; ++ow) {
            for (int64_t first = 0; first < shape_.out_channels; first += ChunkSize(first)) {
              OutputChunk(n, oh, ow, first, input, filter, output);
            }
          }
        });
  }

  ms::Status BackwardInput(ms::Frame& frame, const T* filter, const T* gradient, T* input) const {
    return ForEachRow(frame, shape_.input[0], RowCost(shape_.input[1]), [&](int64_t n, int64_t ih) {
      for (int64_t iw = 0; iw < shape_.input[1]; ++iw) {
        for (int64_t channel = 0; channel < shape_.in_channels; ++channel) {
          input[input_.At(n, ih, iw, channel)] =
              InputGradient(n, ih, iw, channel, filter, gradient);
        }
      }
    });
  }

  ms::Status BackwardFilter(ms::Frame& frame, const T* input, const T* gradient, T* filter) const {
    const int64_t width = shape_.filter[1] * group_in_;
    const int64_t cost =
        shape_.batch * shape_.output[0] * shape_.output[1] * shape_.out_channels + 1;
    return StoppableFor(frame, shape_.filter[0] * width, cost, [&](uint64_t begin, uint64_t end) {
      for (int64_t row = begin; row < static_cast<int64_t>(end); ++row) {
        for (int64_t first = 0; first < shape_.out_channels; first += ChunkSize(first)) {
          FilterChunk(row / width, row % width / group_in_, row % group_in_, first, input, gradient,
                      filter + row * shape_.out_channels);
        }
      }
    });
  }

 private:
  // Output channels that are summed side by side; they lie next to each other in the filter.
  static constexpr int64_t kChunk = 32;
  using Sums = std::array<T, kChunk>;

  // Where the elements of an activation lie.
  struct Layout {
    Layout(bool channels_first, const Plane& plane, int64_t channels)
        : batch(plane[0] * plane[1] * channels),
          row(channels_first ? plane[1] : plane[1] * channels),
          column(channels_first ? 1 : channels),
          channel(channels_first ? plane[0] * plane[1] : 1) {}
    int64_t At(int64_t n, int64_t h, int64_t w, int64_t c) const {
      return n * batch + h * row + w * column + c * channel;
    }
    int64_t batch;
    int64_t row;
    int64_t column;
    int64_t channel;
  };

  // Chunks end at the group's end.
  int64_t ChunkSize(int64_t first) const {
    return std::min(kChunk, group_out_ - first % group_out_);
  }
  // Products for one row of `width` elements, at about a nanosecond each.
  uint64_t RowCost(int64_t width) const {
    return static_cast<uint64_t>(width * shape_.filter[0] * shape_.filter[1] * group_in_ *
                                 shape_.out_channels) +
           1;
  }
  template <typename Fn>
  ms::Status ForEachRow(ms::Frame& frame, int64_t rows, uint64_t cost, Fn&& fn) const {
    return StoppableFor(frame, shape_.batch * rows, cost, [&](uint64_t begin, uint64_t end) {
      for (uint64_t i = begin; i < end; ++i) fn(i / rows, i % rows);
    });
  }

  // The input position that filter element k of output position o sees; outside when padded.
  int64_t Seen(uint32_t dim, int64_t o, int64_t k) const {
    return o * shape_.stride[dim] + k * shape_.dilation[dim] - shape_.before[dim];
  }
  bool IsInside(uint32_t dim, int64_t position) const {
    return position >= 0 && position < shape_.input[dim];
  }
  // The output position whose filter element k sees input position i, or -1.
  int64_t Seer(uint32_t dim, int64_t i, int64_t k) const {
    const int64_t distance = i + shape_.before[dim] - k * shape_.dilation[dim];
    if (distance < 0 || distance % shape_.stride[dim] != 0) return -1;
    const int64_t o = distance / shape_.stride[dim];
    return o < shape_.output[dim] ? o : -1;
  }
  int64_t FilterRow(int64_t kh, int64_t kw, int64_t in) const {
    return ((kh * shape_.filter[1] + kw) * group_in_ + in) * shape_.out_channels;
  }

  void OutputChunk(int64_t n, int64_t oh, int64_t ow, int64_t first, const T* input,
                   const T* filter, T* output) const {
    const int64_t count = ChunkSize(first);
    const int64_t first_in = first / group_out_ * group_in_;
    Sums sums{};
    for (int64_t kh = 0; kh < shape_.filter[0]; ++kh) {
      const int64_t ih = Seen(0, oh, kh);
      if (!IsInside(0, ih)) continue;
      for (int64_t kw = 0; kw < shape_.filter[1]; ++kw) {
        const int64_t iw = Seen(1, ow, kw);
        if (!IsInside(1, iw)) continue;
        for (int64_t in = 0; in < group_in_; ++in) {
          const T value = input[input_.At(n, ih, iw, first_in + in)];
          const T* weights = filter + FilterRow(kh, kw, in) + first;
          for (int64_t c = 0; c < count; ++c) sums[c] += value * weights[c];
        }
      }
    }
    for (int64_t c = 0; c < count; ++c) output[output_.At(n, oh, ow, first + c)] = sums[c];
  }

  T InputGradient(int64_t n, int64_t ih, int64_t iw, int64_t channel, const T* filter,
                  const T* gradient) const {
    const int64_t first_out = channel / group_in_ * group_out_;
    T sum = T(0);
    for (int64_t kh = 0; kh < shape_.filter[0]; ++kh) {
      const int64_t oh = Seer(0, ih, kh);
      if (oh < 0) continue;
      for (int64_t kw = 0; kw < shape_.filter[1]; ++kw) {
        const int64_t ow = Seer(1, iw, kw);
        if (ow < 0) continue;
        const T* weights = filter + FilterRow(kh, kw, channel % group_in_) + first_out;
        const T* dy = gradient + output_.At(n, oh, ow, first_out);
        for (int64_t c = 0; c < group_out_; ++c) sum += weights[c] * dy[c * output_.channel];
      }
    }
    return sum;
  }

  // filter_row: the out_channels weights of (kh, kw, in).
  void FilterChunk(int64_t kh, int64_t kw, int64_t in, int64_t first, const T* input,
                   const T* gradient, T* filter_row) const {
    const int64_t count = ChunkSize(first);
    const int64_t channel = first / group_out_ * group_in_ + in;
    Sums sums{};
    for (int64_t n = 0; n < shape_.batch; ++n) {
      for (int64_t oh = 0; oh < shape_.output[0]; ++oh) {
        const int64_t ih = Seen(0, oh, kh);
        if (!IsInside(0, ih)) continue;
        for (int64_t ow = 0; ow < shape_.output[1]; ++ow) {
          const int64_t iw = Seen(1, ow, kw);
          if (!IsInside(1, iw)) continue;
          const T value = input[input_.At(n, ih, iw, channel)];
          const T* dy = gradient + output_.At(n, oh, ow, first);
          for (int64_t c = 0; c < count; ++c) sums[c] += value * dy[c * output_.channel];
        }
      }
    }
    std::copy(sums.begin(), sums.begin() + count, filter_row + first);
  }

  ConvShape shape_;
  int64_t group_in_;
  int64_t group_out_;
  Layout input_;
  Layout output_;
};

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_NN_CONV_REFERENCE_H_
