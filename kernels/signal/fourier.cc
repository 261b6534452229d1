// FFT, IFFT, RFFT, IRFFT and their forms of two and three dimensions: the last dimensions of a
// tensor are transformed, one after the other.
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <memory>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/parallel.h"
#include "kernels/signal/fft.h"
#include "kernels/signal/fft_lanes.h"
#include "kernels/signal/real_fft.h"
#include "kernels/signal/real_rows.h"

namespace millstream::kernels {
namespace {

constexpr int kMostDims = 3;

// What the elements of a sequence are, where it is read from or written to.
enum class Elements {
  kComplex,
  kReal,  // neighbours
  kHalf,  // complex: only those up to n / 2, of n with x[n - k] = conj(x[k])
};

// Sequences of n elements: three counts of them, each `strides` apart, with elements `step` apart.
struct Layout {
  void* data;
  Elements elements;
  std::array<int64_t, kMostDims> strides;
  int64_t step;
};

struct Transform {
  int64_t n;
  bool inverse;
  std::array<int64_t, kMostDims> counts;
  Layout from;
  Layout to;
};

int64_t CountOf(const Transform& transform) {
  return transform.counts[0] * transform.counts[1] * transform.counts[2];
}

int64_t OffsetOf(const Transform& transform, const Layout& layout, int64_t sequence) {
  const int64_t c = sequence % transform.counts[2];
  const int64_t rest = sequence / transform.counts[2];
  const int64_t b = rest % transform.counts[1];
  const int64_t a = rest / transform.counts[1];
  return a * layout.strides[0] + b * layout.strides[1] + c * layout.strides[2];
}

bool IsReal(const Transform& transform) {
  return transform.from.elements == Elements::kReal || transform.to.elements == Elements::kReal;
}

// How many numbers of a sequence are stored: pairs, where they are real and of an even number.
int64_t StoredOf(const Transform& transform, const Layout& layout) {
  if (layout.elements == Elements::kComplex) return transform.n;
  return layout.elements == Elements::kHalf ? transform.n / 2 + 1 : transform.n / 2;
}

// Whether the passes over a single sequence of n complex numbers have wide vectors.
bool HasWidePasses(int64_t n) {
  if (n % 128 != 0) return false;
  for (int64_t radix : {2, 3, 5}) {
    for (; n % radix == 0; n /= radix) {
    }
  }
  return n == 1;
}

// Whether each sequence is transformed alone, because it stays in the first cache where several
// would not: rows of float32, of lengths for which that was measured to be faster. It depends on
// nothing else, so that the results of a row do not either.
template <typename T>
bool AreSingleRows(const Transform& transform) {
  constexpr int64_t kShortest = 512;
  constexpr int64_t kLongest = 4096;
  if (sizeof(T) != 4 || transform.from.step != 1 || transform.to.step != 1) return false;
  if (IsReal(transform) && transform.n % 2 != 0) return false;
  const int64_t n = IsReal(transform) ? transform.n / 2 : transform.n;
  return n >= kShortest && n <= kLongest && HasWidePasses(n);
}

// T is constant where sequences are read.
template <typename T>
Sequences<T> SequencesAt(const Transform& transform, const Layout& layout, int64_t first,
                         int64_t lanes) {
  Sequences<T> sequences{};
  sequences.lanes = lanes;
  sequences.step = layout.step;
  const int64_t numbers = layout.elements == Elements::kReal ? 1 : 2;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    sequences.starts[lane] =
        static_cast<T*>(layout.data) + numbers * OffsetOf(transform, layout, first + lane);
  }
  return sequences;
}

// Real numbers of which there are an odd number.
template <typename T>
void LoadReal(const Sequences<const T>& from, int64_t n, Parts<T> x) {
  for (int64_t lane = 0; lane < from.lanes; ++lane) {
    for (int64_t j = 0; j < n; ++j) {
      x.re[j * from.lanes + lane] = from.starts[lane][j];
      x.im[j * from.lanes + lane] = T(0);
    }
  }
}
template <typename T>
void StoreReal(Parts<T> y, int64_t n, T scale, const Sequences<T>& to) {
  for (int64_t lane = 0; lane < to.lanes; ++lane) {
    for (int64_t k = 0; k < n; ++k) to.starts[lane][k] = y.re[k * to.lanes + lane] * scale;
  }
}

// The elements of an odd number that a half leaves out are conjugates; the first is real.
template <typename T>
void CompleteHalf(int64_t n, int64_t lanes, Parts<T> x) {
  std::fill_n(x.im, lanes, T(0));
  for (int64_t j = n / 2 + 1; j < n; ++j) {
    std::copy_n(x.re + (n - j) * lanes, lanes, x.re + j * lanes);
    for (int64_t l = 0; l < lanes; ++l) x.im[j * lanes + l] = -x.im[(n - j) * lanes + l];
  }
}

// What transforms blocks of sequences: one plan or the other.
template <typename T>
class Plan {
 public:
  explicit Plan(const Transform& transform) : transform_(transform) {
    if (IsReal(transform) && transform.n % 2 == 0) {
      real_ = RealFftOfLength<T>(transform.n);
    } else {
      complex_ = FftOfLength<T>(transform.n);
      if (AreSingleRows<T>(transform)) real_rows_ = RealFftOfLength<T>(transform.n);
    }
  }

  // That of a complex row is more than that of a real one.
  int64_t MemorySize(int64_t lanes) const {
    return real_ != nullptr ? real_->MemorySize(lanes) : complex_->MemorySize(lanes);
  }

  void Run(int64_t first, int64_t lanes, T* memory) const {
    if (real_rows_ != nullptr && RunRealRow(first, memory)) return;
    if (real_ == nullptr) {
      Load(first, lanes, complex_->Input(lanes, memory));
      Store(first, lanes, complex_->Run(lanes, memory));
      return;
    }
    Load(first, lanes, real_->Input(lanes, memory));
    Store(first, lanes,
          transform_.inverse ? real_->RunInverse(lanes, memory) : real_->Run(lanes, memory));
  }

 private:
  // Whether the row was one of real numbers, and has been transformed.
  bool RunRealRow(int64_t row, T* memory) const {
    const auto from = SequencesAt<const T>(transform_, transform_.from, row, 1);
    if (!LoadRealRow<T>(from.starts[0], transform_.n, real_rows_->Input(1, memory))) return false;
    const auto to = SequencesAt<T>(transform_, transform_.to, row, 1);
    const T scale = Scale();
    StoreMirroredRow<T>(real_rows_->Run(1, memory), transform_.n, scale,
                        transform_.inverse ? -scale : scale, to.starts[0]);
    return true;
  }

  T Scale() const { return transform_.inverse ? T(1) / static_cast<T>(transform_.n) : T(1); }

  // A transform backwards is that of the conjugate, conjugated.
  void Load(int64_t first, int64_t lanes, Parts<T> x) const {
    const Layout& layout = transform_.from;
    const auto from = SequencesAt<const T>(transform_, layout, first, lanes);
    if (layout.elements == Elements::kReal && real_ == nullptr) {
      LoadReal(from, transform_.n, x);
      return;
    }
    LoadLanes<T>(from, StoredOf(transform_, layout), transform_.inverse ? T(-1) : T(1), x);
    if (layout.elements == Elements::kHalf && real_ == nullptr) {
      CompleteHalf(transform_.n, lanes, x);
    }
  }

  void Store(int64_t first, int64_t lanes, Parts<T> y) const {
    const Layout& layout = transform_.to;
    const auto to = SequencesAt<T>(transform_, layout, first, lanes);
    const T scale = Scale();
    if (layout.elements == Elements::kReal && real_ == nullptr) {
      StoreReal(y, transform_.n, scale, to);
      return;
    }
    StoreLanes<T>(y, StoredOf(transform_, layout), scale, transform_.inverse ? -scale : scale, to);
  }

  const Transform& transform_;
  std::shared_ptr<const Fft<T>> complex_;
  std::shared_ptr<const RealFft<T>> real_;       // or this
  std::shared_ptr<const RealFft<T>> real_rows_;  // beside complex_, for complex rows that are real
};

// Some rows alone. Of others, so many sequences at once that the loops are wide, and that they stay
// in the cache; fewer where there would be few blocks of them for threads to share. Results do not
// depend on it.
template <typename T>
int64_t LanesOf(const Transform& transform) {
  constexpr int64_t kShort = 8192 / static_cast<int64_t>(sizeof(T));
  const int64_t n = transform.n;
  const int64_t count = CountOf(transform);
  if (AreSingleRows<T>(transform)) return 1;
  if (n > 16384) return 1;
  if (n <= kShort && count >= 2 * kMostLanes) return kMostLanes;
  return std::min<int64_t>(8, count);
}

// Blocks of sequences are the same for any number of threads. Each of some places has memory, and
// takes one block after the other.
template <typename T>
ms::Status Run(ms::Frame& frame, const Transform& transform) {
  constexpr int64_t kMostPlaces = 64;
  constexpr int64_t kPlacesPerThread = 4;  // a few, so that the memory stays in the cache
  constexpr double kNanosecondsPerPlace = 5e6;
  constexpr int64_t kMostBytes = int64_t{1} << 28;
  const int64_t count = CountOf(transform);
  if (count == 0 || transform.n == 0) return ms::Status();
  const Plan<T> plan(transform);
  const int64_t lanes = LanesOf<T>(transform);
  const int64_t blocks = (count + lanes - 1) / lanes;
  const int64_t bytes = (plan.MemorySize(lanes) * static_cast<int64_t>(sizeof(T)) + 63) / 64 * 64;
  const double n = static_cast<double>(transform.n);
  const double nanoseconds =
      n * (std::log2(n) + 4) * static_cast<double>(count) / (sizeof(T) == 4 ? 8 : 4);
  const int64_t useful =
      std::max(kPlacesPerThread * static_cast<int64_t>(frame.num_threads()),
               static_cast<int64_t>(std::min(nanoseconds / kNanosecondsPerPlace, 1e3)));
  const int64_t places =
      std::min({blocks, useful, std::clamp<int64_t>(kMostBytes / bytes, 1, kMostPlaces)});
  ms::View memory;
  MS_TRY(frame.Temp(static_cast<uint64_t>(places * bytes), &memory));
  const auto run_places = [&](int64_t begin, int64_t end) {
    for (int64_t place = begin; place < end; ++place) {
      T* const numbers = reinterpret_cast<T*>(memory.data<char>() + place * bytes);
      for (int64_t block = place; block < blocks; block += places) {
        const int64_t first = block * lanes;
        plan.Run(first, std::min(lanes, count - first), numbers);
      }
    }
  };
  return StoppableFor(
      frame, static_cast<uint64_t>(places),
      static_cast<uint64_t>(std::min(nanoseconds / static_cast<double>(places), 1e15)) + 1,
      run_places);
}

// The last dimensions of a tensor, and all before them as one.
struct Dims {
  int64_t batch;
  std::array<int64_t, kMostDims> size;  // [0, rank)
};

// Transforms dimension `axis` of the `rank` last ones. `of` has how many sequences there are along
// the others; `from` and `to` are the tensors' own sizes, `from` at least as large.
Transform AlongAxis(int rank, int axis, const Dims& of, const Dims& from, const Dims& to) {
  Transform transform{};
  int place = 0;
  const auto stride = [rank](const Dims& dims, int i) {
    int64_t product = 1;
    for (int k = i + 1; k < rank; ++k) product *= dims.size[k];
    return product;
  };
  transform.counts = {1, 1, 1};
  transform.counts[0] = of.batch;
  transform.from.strides[0] = stride(from, -1);
  transform.to.strides[0] = stride(to, -1);
  for (int i = 0; i < rank; ++i) {
    if (i == axis) continue;
    ++place;
    transform.counts[place] = of.size[i];
    transform.from.strides[place] = stride(from, i);
    transform.to.strides[place] = stride(to, i);
  }
  transform.from.step = stride(from, axis);
  transform.to.step = stride(to, axis);
  return transform;
}

ms::Status CheckRank(const ms::View& input, int rank) {
  if (input.rank() >= static_cast<uint32_t>(rank)) return ms::Status();
  return ms::InvalidArgument("Input must have rank of at least ", rank,
                             " but got: ", input.shape().ToString());
}

Dims DimsOf(const ms::Shape& shape, int rank) {
  Dims dims{1, {}};
  const int first = static_cast<int>(shape.rank()) - rank;
  for (int i = 0; i < first; ++i) dims.batch *= shape[i];
  for (int i = 0; i < rank; ++i) dims.size[i] = shape[first + i];
  return dims;
}

struct ComplexRow {
  int rank;
  bool inverse;
};

// Complex numbers to complex numbers of the same shape.
template <typename T>
class ComplexFourier {
 public:
  using Row = ComplexRow;
  explicit ComplexFourier(const Row& row) : row_(row) {}

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View input = frame.input(0);
    MS_TRY(CheckRank(input, row_.rank));
    ms::View output;
    MS_TRY(frame.Output(0, input.shape(), &output));
    if (input.size() == 0) return ms::Status();
    const Dims dims = DimsOf(input.shape(), row_.rank);
    for (int axis = row_.rank - 1; axis >= 0; --axis) {
      Transform transform = AlongAxis(row_.rank, axis, dims, dims, dims);
      transform.n = dims.size[axis];
      transform.inverse = row_.inverse;
      transform.from.data = axis == row_.rank - 1 ? input.raw() : output.raw();
      transform.to.data = output.raw();
      MS_TRY(Run<T>(frame, transform));
    }
    return ms::Status();
  }

 private:
  const Row row_;
};

struct RealRow {
  int rank;
};

// What both kernels below check and compute of the lengths.
ms::Status ReadLengths(ms::Frame& frame, int rank, bool inverse, ms::Shape* shape, Dims* lengths) {
  const ms::View input = frame.input(0);
  const ms::View given = frame.input(1);
  MS_TRY(CheckRank(input, rank));
  if (given.rank() != 1 || given.dim(0) != rank) {
    return ms::InvalidArgument("fft_length must have shape [", rank, "], got ",
                               given.shape().ToString());
  }
  *shape = input.shape();
  const uint32_t first = shape->rank() - static_cast<uint32_t>(rank);
  for (int i = 0; i < rank; ++i) {
    const int64_t length = given.data<int32_t>()[i];
    if (length < 0) {
      return ms::InvalidArgument("fft_length[", i, "] must >= 0, but got: ", length);
    }
    const uint32_t dim = first + static_cast<uint32_t>(i);
    const bool is_half = i == rank - 1 && length > 0;
    const int64_t half = is_half ? length / 2 + 1 : length;
    const int64_t needed = inverse ? half : length;
    if ((*shape)[dim] < needed) {
      return ms::InvalidArgument("Input dimension ", dim, " must have length of at least ", needed,
                                 " but got: ", (*shape)[dim], "; fft_length[", i, "] is ", length);
    }
    (*shape)[dim] = inverse ? length : half;
    lengths->size[i] = length;
  }
  lengths->batch = DimsOf(input.shape(), rank).batch;
  return ms::Status();
}

// Real numbers to the half of the transform that determines the rest.
class RealFourier {
 public:
  using Row = RealRow;
  explicit RealFourier(const Row& row) : rank_(row.rank) {}

  ms::Status Compute(ms::Frame& frame) const {
    ms::Shape shape;
    Dims lengths{};
    MS_TRY(ReadLengths(frame, rank_, false, &shape, &lengths));
    const ms::View input = frame.input(0);
    ms::View output;
    MS_TRY(frame.Output(0, shape, &output));
    if (output.size() == 0) return ms::Status();
    const Dims from = DimsOf(input.shape(), rank_);
    const Dims to = DimsOf(shape, rank_);
    for (int axis = rank_ - 1; axis >= 0; --axis) {
      const bool is_first = axis == rank_ - 1;
      Transform transform = AlongAxis(rank_, axis, to, is_first ? from : to, to);
      transform.n = lengths.size[axis];
      transform.from.data = is_first ? input.raw() : output.raw();
      transform.from.elements = is_first ? Elements::kReal : Elements::kComplex;
      transform.to.data = output.raw();
      transform.to.elements = is_first ? Elements::kHalf : Elements::kComplex;
      MS_TRY(Run<float>(frame, transform));
    }
    return ms::Status();
  }

 private:
  const int rank_;
};

// Such a half back to real numbers: along all dimensions but the last one first.
class InverseRealFourier {
 public:
  using Row = RealRow;
  explicit InverseRealFourier(const Row& row) : rank_(row.rank) {}

  ms::Status Compute(ms::Frame& frame) const {
    ms::Shape shape;
    Dims lengths{};
    MS_TRY(ReadLengths(frame, rank_, true, &shape, &lengths));
    const ms::View input = frame.input(0);
    ms::View output;
    MS_TRY(frame.Output(0, shape, &output));
    if (output.size() == 0) return ms::Status();
    Dims half = lengths;
    half.size[rank_ - 1] = half.size[rank_ - 1] / 2 + 1;
    Dims from = DimsOf(input.shape(), rank_);
    void* data = input.raw();
    ms::View between;
    if (rank_ > 1) {
      int64_t size = half.batch;
      for (int i = 0; i < rank_; ++i) size *= half.size[i];
      MS_TRY(frame.Temp(static_cast<uint64_t>(size) * sizeof(std::complex<float>), &between));
    }
    for (int axis = 0; axis + 1 < rank_; ++axis) {
      Transform transform = AlongAxis(rank_, axis, half, from, half);
      transform.n = lengths.size[axis];
      transform.inverse = true;
      transform.from.data = data;
      transform.to.data = between.raw();
      MS_TRY(Run<float>(frame, transform));
      data = between.raw();
      from = half;
    }
    Transform transform = AlongAxis(rank_, rank_ - 1, lengths, from, lengths);
    transform.n = lengths.size[rank_ - 1];
    transform.inverse = true;
    transform.from.data = data;
    transform.from.elements = Elements::kHalf;
    transform.to.data = output.raw();
    transform.to.elements = Elements::kReal;
    return Run<float>(frame, transform);
  }

 private:
  const int rank_;
};

// ---- Registration ----

void RegisterComplex(const char* op, const ComplexRow& row) {
  ms::RegisterRow<ComplexFourier<float>>(op, row,
                                         ms::KernelOptions().Type<std::complex<float>>("Tcomplex"));
  ms::RegisterRow<ComplexFourier<double>>(
      op, row, ms::KernelOptions().Type<std::complex<double>>("Tcomplex"));
}

const ComplexRow kForward[] = {{1, false}, {2, false}, {3, false}};
const ComplexRow kInverse[] = {{1, true}, {2, true}, {3, true}};
const RealRow kReal[] = {{1}, {2}, {3}};

ms::Registered RegisterAll() {
  const char* const forward[] = {"FFT", "FFT2D", "FFT3D"};
  const char* const inverse[] = {"IFFT", "IFFT2D", "IFFT3D"};
  const char* const real[] = {"RFFT", "RFFT2D", "RFFT3D"};
  const char* const inverse_real[] = {"IRFFT", "IRFFT2D", "IRFFT3D"};
  const ms::KernelOptions lengths = ms::KernelOptions().HostArg("fft_length");
  for (int i = 0; i < kMostDims; ++i) {
    RegisterComplex(forward[i], kForward[i]);
    RegisterComplex(inverse[i], kInverse[i]);
    ms::RegisterRow<RealFourier>(real[i], kReal[i], lengths);
    ms::RegisterRow<InverseRealFourier>(inverse_real[i], kReal[i], lengths);
  }
  return ms::Registered();
}

const ms::Registered fourier = RegisterAll();

}  // namespace
}  // namespace millstream::kernels
