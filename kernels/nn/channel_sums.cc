#include "kernels/nn/channel_sums.h"

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/common/parallel.h"
#include "kernels/simd/instruction_set.h"

namespace millstream::kernels {
namespace {

constexpr int64_t kMostLanes = ChannelCuts::kMostLanes;

// What an element costs, in picoseconds (see ParallelElements).
constexpr int64_t kSumPicoseconds = 350;
constexpr int64_t kCombinePicoseconds = 10000;

constexpr int64_t kBlockBytes = 16384;

// Normalization of double is rare: it has loops for the baseline alone.
template <typename T>
constexpr InstructionSet kWidest =
    std::is_same_v<T, float> ? InstructionSet::kAvx512 : InstructionSet::kBaseline;

// sum[l] = the sum of term(offset of the element, l) over the rows. Lanes are independent, so the
// result does not depend on the width of vectors.
template <typename T, typename Term>
inline void SumRows(int64_t rows, int64_t stride, int64_t width, T* sum, Term term) {
  std::fill_n(sum, width, T(0));
  int64_t at = 0;
  int64_t i = 0;
  for (; i + 4 <= rows; i += 4, at += 4 * stride) {
#pragma GCC ivdep
    for (int64_t l = 0; l < width; ++l) {
      sum[l] += (term(at + l, l) + term(at + stride + l, l)) +
                (term(at + 2 * stride + l, l) + term(at + 3 * stride + l, l));
    }
  }
  for (; i < rows; ++i, at += stride) {
#pragma GCC ivdep
    for (int64_t l = 0; l < width; ++l) sum[l] += term(at + l, l);
  }
}

// Calls fn(offset in the strip, rows) on its blocks, of `tensors` tensors that are read together.
template <typename T, typename Fn>
inline void ForEachBlock(const Strip& strip, int64_t tensors, Fn&& fn) {
  const int64_t elements = kBlockBytes / static_cast<int64_t>(sizeof(T)) / tensors;
  const int64_t rows = std::max<int64_t>(4, elements / strip.width);
  for (int64_t i = 0; i < strip.rows; i += rows) {
    fn(i * strip.stride, std::min(rows, strip.rows - i));
  }
}

// ---- Moments ----

Moments Combine(const Moments& a, const Moments& b) {
  if (b.count == 0) return a;
  const double count = a.count + b.count;
  const double share = b.count / count;
  const double distance = b.mean - a.mean;
  return {count, a.mean + distance * share,
          a.squares + b.squares + distance * distance * (a.count * share)};
}

struct LaneMoments {
  Moments operator[](int64_t l) const { return {count[l], mean[l], squares[l]}; }
  double count[kMostLanes];
  double mean[kMostLanes];
  double squares[kMostLanes];
};

void AddMoments(const float* x, const Strip& strip, LaneMoments* lanes) {
  float mean[kMostLanes];
  float squares[kMostLanes];
  ForEachBlock<float>(strip, 1, [&](int64_t offset, int64_t rows) {
    const float* const block = x + strip.offset + offset;
    const auto count = static_cast<float>(rows);
    SumRows(rows, strip.stride, strip.width, mean, [&](int64_t at, int64_t) { return block[at]; });
    for (int64_t l = 0; l < strip.width; ++l) mean[l] /= count;
    SumRows(rows, strip.stride, strip.width, squares, [&](int64_t at, int64_t l) {
      const float distance = block[at] - mean[l];
      return distance * distance;
    });
    // As Combine, of all lanes.
    for (int64_t l = 0; l < strip.width; ++l) {
      const double sum = lanes->count[l] + static_cast<double>(rows);
      const double share = static_cast<double>(rows) / sum;
      const double distance = static_cast<double>(mean[l]) - lanes->mean[l];
      lanes->squares[l] +=
          static_cast<double>(squares[l]) + distance * distance * (lanes->count[l] * share);
      lanes->mean[l] += distance * share;
      lanes->count[l] = sum;
    }
  });
}

// Sets to[c] for each channel c of the task.
void MomentsOfTask(const ChannelCuts& cuts, int64_t task, const float* x, Moments* to) {
  LaneMoments lanes;
  const int64_t count = cuts.lanes_of(task);
  std::fill_n(lanes.count, count, 0.0);
  std::fill_n(lanes.mean, count, 0.0);
  std::fill_n(lanes.squares, count, 0.0);
  cuts.ForEachStrip(task, [&](const Strip& strip) { RunLoop<&AddMoments>(x, strip, &lanes); });
  const int64_t number = cuts.channels_of(task);
  Moments* const of_task = to + cuts.first_channel(task);
  for (int64_t l = 0; l < count; ++l) {
    Moments& sum = of_task[l % number];
    sum = l < number ? lanes[l] : Combine(sum, lanes[l]);
  }
}

// ---- Activations ----

// As the kernel of Relu: a NaN stays one.
template <Activation kActivation, typename T>
inline T Activated(T y) {
  if (kActivation == Activation::kNone) return y;
  return y <= T(0) ? T(0) : y;
}

// As the kernel of ReluGrad: dy is multiplied by zero where y is not above it, so that NaN and
// infinity stay seen.
template <Activation kActivation, typename T>
inline T ActivatedGradient(T dy, T y) {
  if (kActivation == Activation::kNone) return dy;
  return dy * (y > T(0) ? T(1) : T(0));
}

// ---- Sums of gradients ----

void Add(const GradientSums& more, GradientSums* sums) {
  sums->dy += more.dy;
  sums->dy_distance += more.dy_distance;
}

template <typename T>
struct LaneGradientSums {
  GradientSums operator[](int64_t l) const { return {dy[l], dy_distance[l]}; }
  double dy[kMostLanes];
  double dy_distance[kMostLanes];
  T mean[kMostLanes];
  T factor[kMostLanes];
  T offset[kMostLanes];
};

template <Activation kActivation, typename T>
void AddGradients(const T* dy, const T* x, const Strip& strip, LaneGradientSums<T>* lanes) {
  T sum[kMostLanes];
  T products[kMostLanes];
  ForEachBlock<T>(strip, 2, [&](int64_t offset, int64_t rows) {
    std::fill_n(sum, strip.width, T(0));
    std::fill_n(products, strip.width, T(0));
    for (int64_t i = 0; i < rows; ++i) {
      const T* const dy_row = dy + strip.offset + offset + i * strip.stride;
      const T* const x_row = x + strip.offset + offset + i * strip.stride;
#pragma GCC ivdep
      for (int64_t l = 0; l < strip.width; ++l) {
        const T distance = x_row[l] - lanes->mean[l];
        const T y = distance * lanes->factor[l] + lanes->offset[l];
        const T gradient = ActivatedGradient<kActivation>(dy_row[l], y);
        sum[l] += gradient;
        products[l] += gradient * distance;
      }
    }
    for (int64_t l = 0; l < strip.width; ++l) {
      lanes->dy[l] += static_cast<double>(sum[l]);
      lanes->dy_distance[l] += static_cast<double>(products[l]);
    }
  });
}

// Sets to[c] for each channel c of the task.
template <Activation kActivation, typename T>
void GradientsOfTask(const ChannelCuts& cuts, int64_t task, const T* dy, const T* x,
                     const T* coefficients, GradientSums* to) {
  LaneGradientSums<T> lanes;
  const int64_t count = cuts.lanes_of(task);
  const int64_t number = cuts.channels_of(task);
  const int64_t first = cuts.first_channel(task);
  std::fill_n(lanes.dy, count, 0.0);
  std::fill_n(lanes.dy_distance, count, 0.0);
  for (int64_t l = 0; l < count; ++l) {
    const T* const of_lane = coefficients + first + l % number;
    lanes.mean[l] = of_lane[0];
    if (kActivation == Activation::kNone) continue;
    lanes.factor[l] = of_lane[cuts.channels()];
    lanes.offset[l] = of_lane[2 * cuts.channels()];
  }
  cuts.ForEachStrip(task, [&](const Strip& strip) {
    RunLoopUpTo<kWidest<T>, &AddGradients<kActivation, T>>(dy, x, strip, &lanes);
  });
  std::fill_n(to + first, number, GradientSums());
  for (int64_t l = 0; l < count; ++l) Add(lanes[l], &to[first + l % number]);
}

// ---- Elementwise loops: `c` has the coefficients of `lanes` lanes, one kind after the other ----

template <Activation kActivation, typename T>
void NormalizeRange(const T* x, const T* c, int64_t lanes, int64_t size, T* y) {
  const T* const mean = c;
  const T* const factor = c + lanes;
  const T* const offset = c + 2 * lanes;
  for (int64_t begin = 0; begin < size; begin += lanes) {
    const int64_t n = std::min(lanes, size - begin);
#pragma GCC ivdep
    for (int64_t l = 0; l < n; ++l) {
      y[begin + l] = Activated<kActivation>((x[begin + l] - mean[l]) * factor[l] + offset[l]);
    }
  }
}

template <Activation kActivation, typename T>
void GradientRange(const T* dy, const T* x, const T* c, int64_t lanes, int64_t size, T* dx) {
  const T* const mean = c;
  const T* const factor = c + lanes;
  const T* const offset = c + 2 * lanes;
  const T* const dy_mean = c + 3 * lanes;
  const T* const slope = c + 4 * lanes;
  for (int64_t begin = 0; begin < size; begin += lanes) {
    const int64_t n = std::min(lanes, size - begin);
#pragma GCC ivdep
    for (int64_t l = 0; l < n; ++l) {
      const T distance = x[begin + l] - mean[l];
      const T y = distance * factor[l] + offset[l];
      const T gradient = ActivatedGradient<kActivation>(dy[begin + l], y);
      dx[begin + l] = (gradient - dy_mean[l]) * factor[l] + distance * slope[l];
    }
  }
}

// Calls loop(offset, size, coefficients of the lanes) on ranges of elements that cover the images.
// They begin at lane 0.
template <int kKinds, typename T, typename Loop>
ms::Status ForEachRange(ms::Frame& frame, const ChannelCuts& cuts, const T* coefficients,
                        int64_t picoseconds, Loop&& loop) {
  const int64_t lanes = cuts.lanes();
  const int64_t channels = cuts.channels();
  if (cuts.inner() > 1) {
    const auto run = [&](int64_t begin, int64_t end) {
      T of_lanes[kKinds * ChannelCuts::kPackedLanes];
      for (int64_t plane = begin; plane < end; ++plane) {
        for (int k = 0; k < kKinds; ++k) {
          std::fill_n(of_lanes + k * lanes, lanes, coefficients[k * channels + plane % channels]);
        }
        loop(plane * cuts.inner(), cuts.inner(), of_lanes);
      }
    };
    return ParallelRows(frame, cuts.planes(), cuts.inner(), picoseconds, run);
  }
  if (lanes > channels) {
    ms::View repeated;
    MS_TRY(frame.Temp(static_cast<uint64_t>(kKinds * lanes) * sizeof(T), &repeated));
    T* const of_lanes = static_cast<T*>(repeated.raw());
    for (int64_t i = 0; i < kKinds * lanes; ++i) {
      of_lanes[i] = coefficients[i / lanes * channels + i % lanes % channels];
    }
    coefficients = of_lanes;
  }
  const int64_t size = cuts.size();
  const auto run = [&](int64_t begin, int64_t end) {
    const int64_t last = std::min(size, end * lanes);
    loop(begin * lanes, last - begin * lanes, coefficients);
  };
  return ParallelRows(frame, (size - 1) / lanes + 1, lanes, picoseconds, run);
}

}  // namespace

ms::Status ChannelMoments(ms::Frame& frame, const ChannelCuts& cuts, const float* x,
                          Moments* moments) {
  const int64_t channels = cuts.channels();
  ms::View partial;
  MS_TRY(frame.Temp(static_cast<uint64_t>(cuts.groups() * channels) * sizeof(Moments), &partial));
  auto* const of_groups = static_cast<Moments*>(partial.raw());
  const auto run = [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      MomentsOfTask(cuts, task, x, of_groups + cuts.group_of(task) * channels);
    }
  };
  MS_TRY(ParallelRows(frame, cuts.tasks(), cuts.elements_per_task(), kSumPicoseconds, run));
  const auto combine = [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      moments[c] = of_groups[c];
      for (int64_t g = 1; g < cuts.groups(); ++g) {
        moments[c] = Combine(moments[c], of_groups[g * channels + c]);
      }
    }
  };
  return ParallelRows(frame, channels, cuts.groups(), kCombinePicoseconds, combine);
}

template <Activation kActivation, typename T>
ms::Status ChannelGradientSums(ms::Frame& frame, const ChannelCuts& cuts, const T* dy, const T* x,
                               const T* coefficients, GradientSums* sums) {
  const int64_t channels = cuts.channels();
  std::fill_n(sums, channels, GradientSums());
  if (cuts.size() == 0) return ms::Status();
  ms::View partial;
  const auto count = static_cast<uint64_t>(cuts.groups() * channels);
  MS_TRY(frame.Temp(count * sizeof(GradientSums), &partial));
  auto* const of_groups = static_cast<GradientSums*>(partial.raw());
  const auto run = [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      GradientsOfTask<kActivation>(cuts, task, dy, x, coefficients,
                                   of_groups + cuts.group_of(task) * channels);
    }
  };
  MS_TRY(ParallelRows(frame, cuts.tasks(), cuts.elements_per_task(), kSumPicoseconds, run));
  for (int64_t g = 0; g < cuts.groups(); ++g) {
    for (int64_t c = 0; c < channels; ++c) Add(of_groups[g * channels + c], &sums[c]);
  }
  return ms::Status();
}

template <Activation kActivation, typename T>
ms::Status Normalize(ms::Frame& frame, const ChannelCuts& cuts, const T* x, const T* coefficients,
                     T* y) {
  if (cuts.size() == 0) return ms::Status();
  const int64_t lanes = cuts.lanes();
  return ForEachRange<3>(frame, cuts, coefficients, 300,
                         [&](int64_t offset, int64_t size, const T* of_lanes) {
                           RunLoopUpTo<kWidest<T>, &NormalizeRange<kActivation, T>>(
                               x + offset, of_lanes, lanes, size, y + offset);
                         });
}

template <Activation kActivation, typename T>
ms::Status NormalizeGradient(ms::Frame& frame, const ChannelCuts& cuts, const T* dy, const T* x,
                             const T* coefficients, T* dx) {
  if (cuts.size() == 0) return ms::Status();
  const int64_t lanes = cuts.lanes();
  return ForEachRange<5>(frame, cuts, coefficients, 400,
                         [&](int64_t offset, int64_t size, const T* of_lanes) {
                           RunLoopUpTo<kWidest<T>, &GradientRange<kActivation, T>>(
                               dy + offset, x + offset, of_lanes, lanes, size, dx + offset);
                         });
}

// Activation, type
#define MS_INSTANTIATE(A, T)                                                                     \
  template ms::Status Normalize<A>(ms::Frame&, const ChannelCuts&, const T*, const T*, T*);      \
  template ms::Status ChannelGradientSums<A>(ms::Frame&, const ChannelCuts&, const T*, const T*, \
                                             const T*, GradientSums*);

MS_INSTANTIATE(Activation::kNone, float)
MS_INSTANTIATE(Activation::kNone, double)
MS_INSTANTIATE(Activation::kRelu, float)
#undef MS_INSTANTIATE
template ms::Status NormalizeGradient<Activation::kNone>(ms::Frame&, const ChannelCuts&,
                                                         const float*, const float*, const float*,
                                                         float*);
template ms::Status NormalizeGradient<Activation::kRelu>(ms::Frame&, const ChannelCuts&,
                                                         const float*, const float*, const float*,
                                                         float*);

}  // namespace millstream::kernels
