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
    return ForEachElement(frame, shape_.output, [&](int64_t n, const Extents& o) {
      for (int64_t first = 0; first < shape_.out_channels; first += ChunkSize(first)) {
        OutputChunk(n, o, first, input, filter, output);
      }
    });
  }

  ms::Status BackwardInput(ms::Frame& frame, const T* filter, const T* gradient, T* input) const {
    return ForEachElement(frame, shape_.input, [&](int64_t n, const Extents& i) {
      for (int64_t channel = 0; channel < shape_.in_channels; ++channel) {
        input[input_.At(n, i, channel)] = InputGradient(n, i, channel, filter, gradient);
      }
    });
  }

  ms::Status BackwardFilter(ms::Frame& frame, const T* input, const T* gradient, T* filter) const {
    const int64_t cost = shape_.batch * Product(shape_.output) * shape_.out_channels + 1;
    const int64_t rows = Product(shape_.filter) * group_in_;
    return StoppableFor(frame, rows, cost, [&](uint64_t begin, uint64_t end) {
      for (int64_t row = begin; row < static_cast<int64_t>(end); ++row) {
        for (int64_t first = 0; first < shape_.out_channels; first += ChunkSize(first)) {
          FilterChunk(PositionOf(shape_.filter, row / group_in_), row % group_in_, first, input,
                      gradient, filter + row * shape_.out_channels);
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
    Layout(bool channels_first, const Extents& extents, int64_t channels)
        : batch(Product(extents) * channels), channel(channels_first ? Product(extents) : 1) {
      int64_t step = channels_first ? 1 : channels;
      for (size_t i = extents.size(); i-- > 0; step *= extents[i]) steps[i] = step;
    }
    int64_t At(int64_t n, const Extents& position, int64_t c) const {
      int64_t at = n * batch + c * channel;
      for (size_t i = 0; i < position.size(); ++i) at += position[i] * steps[i];
      return at;
    }
    int64_t batch;
    int64_t channel;
    Extents steps{};
  };

  // Chunks end at the group's end.
  int64_t ChunkSize(int64_t first) const {
    return std::min(kChunk, group_out_ - first % group_out_);
  }
  // The position of an element that is `at` in row-major order.
  static Extents PositionOf(const Extents& extents, int64_t at) {
    const int64_t inner = at / extents[2];
    return {inner / extents[1], inner % extents[1], at % extents[2]};
  }

  // Calls fn(image, position) for all elements of all images; one costs about a nanosecond a
  // product.
  template <typename Fn>
  ms::Status ForEachElement(ms::Frame& frame, const Extents& extents, Fn&& fn) const {
    const int64_t elements = Product(extents);
    const uint64_t cost =
        static_cast<uint64_t>(Product(shape_.filter) * group_in_ * shape_.out_channels) + 1;
    return StoppableFor(frame, shape_.batch * elements, cost, [&](uint64_t begin, uint64_t end) {
      for (uint64_t i = begin; i < end; ++i) fn(i / elements, PositionOf(extents, i % elements));
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
  int64_t FilterRow(const Extents& k, int64_t in) const {
    const int64_t tap = (k[0] * shape_.filter[1] + k[1]) * shape_.filter[2] + k[2];
    return (tap * group_in_ + in) * shape_.out_channels;
  }

  // Calls fn(tap, input position) for the taps of the window of output position o that see the
  // input.
  template <typename Fn>
  void ForEachSeen(const Extents& o, Fn&& fn) const {
    Extents k{};
    Extents i{};
    for (k[0] = 0; k[0] < shape_.filter[0]; ++k[0]) {
      if (!IsInside(0, i[0] = Seen(0, o[0], k[0]))) continue;
      for (k[1] = 0; k[1] < shape_.filter[1]; ++k[1]) {
        if (!IsInside(1, i[1] = Seen(1, o[1], k[1]))) continue;
        for (k[2] = 0; k[2] < shape_.filter[2]; ++k[2]) {
          if (IsInside(2, i[2] = Seen(2, o[2], k[2]))) fn(k, i);
        }
      }
    }
  }

  // Calls fn(tap, output position) for the windows that see input position i.
  template <typename Fn>
  void ForEachSeer(const Extents& i, Fn&& fn) const {
    Extents k{};
    Extents o{};
    for (k[0] = 0; k[0] < shape_.filter[0]; ++k[0]) {
      if ((o[0] = Seer(0, i[0], k[0])) < 0) continue;
      for (k[1] = 0; k[1] < shape_.filter[1]; ++k[1]) {
        if ((o[1] = Seer(1, i[1], k[1])) < 0) continue;
        for (k[2] = 0; k[2] < shape_.filter[2]; ++k[2]) {
          if ((o[2] = Seer(2, i[2], k[2])) >= 0) fn(k, o);
        }
      }
    }
  }

  void OutputChunk(int64_t n, const Extents& o, int64_t first, const T* input, const T* filter,
                   T* output) const {
    const int64_t count = ChunkSize(first);
    const int64_t first_in = first / group_out_ * group_in_;
    Sums sums{};
    ForEachSeen(o, [&](const Extents& k, const Extents& i) {
      for (int64_t in = 0; in < group_in_; ++in) {
        const T value = input[input_.At(n, i, first_in + in)];
        const T* weights = filter + FilterRow(k, in) + first;
        for (int64_t c = 0; c < count; ++c) sums[c] += value * weights[c];
      }
    });
    for (int64_t c = 0; c < count; ++c) output[output_.At(n, o, first + c)] = sums[c];
  }

  T InputGradient(int64_t n, const Extents& i, int64_t channel, const T* filter,
                  const T* gradient) const {
    const int64_t first_out = channel / group_in_ * group_out_;
    T sum = T(0);
    ForEachSeer(i, [&](const Extents& k, const Extents& o) {
      const T* weights = filter + FilterRow(k, channel % group_in_) + first_out;
      const T* dy = gradient + output_.At(n, o, first_out);
      for (int64_t c = 0; c < group_out_; ++c) sum += weights[c] * dy[c * output_.channel];
    });
    return sum;
  }

  // filter_row: the out_channels weights of tap k and channel `in` of each group.
  void FilterChunk(const Extents& k, int64_t in, int64_t first, const T* input, const T* gradient,
                   T* filter_row) const {
    const int64_t count = ChunkSize(first);
    const int64_t channel = first / group_out_ * group_in_ + in;
    Sums sums{};
    Extents o{};
    Extents i{};
    for (int64_t n = 0; n < shape_.batch; ++n) {
      for (o[0] = 0; o[0] < shape_.output[0]; ++o[0]) {
        if (!IsInside(0, i[0] = Seen(0, o[0], k[0]))) continue;
        for (o[1] = 0; o[1] < shape_.output[1]; ++o[1]) {
          if (!IsInside(1, i[1] = Seen(1, o[1], k[1]))) continue;
          for (o[2] = 0; o[2] < shape_.output[2]; ++o[2]) {
            if (!IsInside(2, i[2] = Seen(2, o[2], k[2]))) continue;
            const T value = input[input_.At(n, i, channel)];
            const T* dy = gradient + output_.At(n, o, first);
            for (int64_t c = 0; c < count; ++c) sums[c] += value * dy[c * output_.channel];
          }
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
