#include "kernels/signal/fft_lanes.h"

#include "kernels/signal/lane_loop.h"
#include "kernels/signal/lane_pairs.h"
#include "kernels/simd/instruction_set.h"
#include "kernels/simd/shuffle.h"
#include "kernels/simd/vector.h"

namespace millstream::kernels {
namespace {

// Elements [begin, count) of one lane.
template <typename T>
inline void LoadOne(const Sequences<const T>& from, int64_t lane, int64_t begin, int64_t count,
                    T sign, Parts<T> x) {
  const T* const values = from.starts[lane];
  for (int64_t j = begin; j < count; ++j) {
    x.re[j * from.lanes + lane] = values[2 * j * from.step];
    x.im[j * from.lanes + lane] = sign * values[2 * j * from.step + 1];
  }
}
template <typename T>
inline void StoreOne(Parts<T> y, int64_t lane, int64_t begin, int64_t count, T scale_re, T scale_im,
                     const Sequences<T>& to) {
  T* const values = to.starts[lane];
  for (int64_t j = begin; j < count; ++j) {
    values[2 * j * to.step] = scale_re * y.re[j * to.lanes + lane];
    values[2 * j * to.step + 1] = scale_im * y.im[j * to.lanes + lane];
  }
}

// Whether lanes [lane, lane + count) begin one after the other.
template <typename T>
inline bool AreNeighbours(const Sequences<T>& sequences, int64_t lane, int64_t count) {
  for (int64_t l = 1; l < count; ++l) {
    if (sequences.starts[lane + l] - sequences.starts[lane] != 2 * l) return false;
  }
  return true;
}

// As many lanes as V has, from `lane` on.
template <typename V, typename T>
inline void LoadVector(const Sequences<const T>& from, int64_t lane, int64_t count, T sign,
                       Parts<T> x) {
  constexpr int kCount = Shuffle<V, T>::kCount;
  T* const re = x.re + lane;
  T* const im = x.im + lane;
  if (AreNeighbours(from, lane, kCount)) {
    for (int64_t j = 0; j < count; ++j) {
      const T* const values = from.starts[lane] + 2 * j * from.step;
      V a;
      V b;
      Shuffle<V, T>::Separate(LoadFrom<V>(values), LoadFrom<V>(values + kCount), &a, &b);
      StoreTo<V>(re + j * from.lanes, a);
      StoreTo<V>(im + j * from.lanes, sign * b);
    }
    return;
  }
  int64_t j = 0;
  for (; from.step == 1 && j + kCount / 2 <= count; j += kCount / 2) {
    V rows[kCount];
#pragma GCC unroll 16
    for (int l = 0; l < kCount; ++l) rows[l] = LoadFrom<V>(from.starts[lane + l] + 2 * j);
    Shuffle<V, T>::template InterleaveAll<kCount>(rows);
#pragma GCC unroll 8
    for (int i = 0; i < kCount / 2; ++i) {
      StoreTo<V>(re + (j + i) * from.lanes, rows[2 * i]);
      StoreTo<V>(im + (j + i) * from.lanes, sign * rows[2 * i + 1]);
    }
  }
  for (int64_t l = 0; l < kCount; ++l) LoadOne(from, lane + l, j, count, sign, x);
}

template <typename V, typename T>
inline void StoreVector(Parts<T> y, int64_t lane, int64_t count, T scale_re, T scale_im,
                        const Sequences<T>& to) {
  constexpr int kCount = Shuffle<V, T>::kCount;
  const T* const re = y.re + lane;
  const T* const im = y.im + lane;
  if (AreNeighbours(to, lane, kCount)) {
    for (int64_t j = 0; j < count; ++j) {
      T* const values = to.starts[lane] + 2 * j * to.step;
      V first;
      V second;
      Shuffle<V, T>::Interleave(scale_re * LoadFrom<V>(re + j * to.lanes),
                                scale_im * LoadFrom<V>(im + j * to.lanes), &first, &second);
      StoreTo<V>(values, first);
      StoreTo<V>(values + kCount, second);
    }
    return;
  }
  int64_t j = 0;
  for (; to.step == 1 && j + kCount / 2 <= count; j += kCount / 2) {
    V rows[kCount];
#pragma GCC unroll 8
    for (int i = 0; i < kCount / 2; ++i) {
      rows[2 * i] = scale_re * LoadFrom<V>(re + (j + i) * to.lanes);
      rows[2 * i + 1] = scale_im * LoadFrom<V>(im + (j + i) * to.lanes);
    }
    Shuffle<V, T>::template InterleaveAll<kCount>(rows);
#pragma GCC unroll 16
    for (int l = 0; l < kCount; ++l) StoreTo<V>(to.starts[lane + l] + 2 * j, rows[l]);
  }
  for (int64_t l = 0; l < kCount; ++l) StoreOne(y, lane + l, j, count, scale_re, scale_im, to);
}

// One sequence whose numbers are neighbours.
template <int kBytes, typename T>
inline void LoadRow(const T* values, int64_t count, T sign, Parts<T> x) {
  ForLanes<T, kBytes>(0, count, [&](auto of, int64_t j) {
    using V = typename decltype(of)::Type;
    V re;
    V im;
    LoadPairs<V>(values + 2 * j, &re, &im);
    StoreTo<V>(x.re + j, re);
    StoreTo<V>(x.im + j, sign * im);
  });
}
template <int kBytes, typename T>
inline void StoreRow(Parts<T> y, int64_t count, T scale_re, T scale_im, T* values) {
  ForLanes<T, kBytes>(0, count, [&](auto of, int64_t j) {
    using V = typename decltype(of)::Type;
    StorePairs<V>(scale_re * LoadFrom<V>(y.re + j), scale_im * LoadFrom<V>(y.im + j),
                  values + 2 * j);
  });
}

template <typename T>
struct LanesOf {
  template <int kBytes>
  struct Load {
    static void Run(const Sequences<const T>* from, int64_t count, T sign, Parts<T> x) {
      if (from->lanes == 1 && from->step == 1) {
        LoadRow<kBytes>(from->starts[0], count, sign, x);
        return;
      }
      ForLanes<T, kBytes>(0, from->lanes, [&](auto of, int64_t lane) {
        using V = typename decltype(of)::Type;
        if constexpr (sizeof(V) == sizeof(T)) {
          LoadOne(*from, lane, 0, count, sign, x);
        } else {
          LoadVector<V>(*from, lane, count, sign, x);
        }
      });
    }
  };
  template <int kBytes>
  struct Store {
    static void Run(Parts<T> y, int64_t count, T scale_re, T scale_im, const Sequences<T>* to) {
      if (to->lanes == 1 && to->step == 1) {
        StoreRow<kBytes>(y, count, scale_re, scale_im, to->starts[0]);
        return;
      }
      ForLanes<T, kBytes>(0, to->lanes, [&](auto of, int64_t lane) {
        using V = typename decltype(of)::Type;
        if constexpr (sizeof(V) == sizeof(T)) {
          StoreOne(y, lane, 0, count, scale_re, scale_im, *to);
        } else {
          StoreVector<V>(y, lane, count, scale_re, scale_im, *to);
        }
      });
    }
  };
};

}  // namespace

template <typename T>
void LoadLanes(const Sequences<const T>& from, int64_t count, T sign, Parts<T> x) {
  RunVectorLoop<LanesOf<T>::template Load>(&from, count, sign, x);
}

template <typename T>
void StoreLanes(Parts<T> y, int64_t count, T scale_re, T scale_im, const Sequences<T>& to) {
  RunVectorLoop<LanesOf<T>::template Store>(y, count, scale_re, scale_im, &to);
}

template void LoadLanes(const Sequences<const float>&, int64_t, float, Parts<float>);
template void LoadLanes(const Sequences<const double>&, int64_t, double, Parts<double>);
template void StoreLanes(Parts<float>, int64_t, float, float, const Sequences<float>&);
template void StoreLanes(Parts<double>, int64_t, double, double, const Sequences<double>&);

}  // namespace millstream::kernels
