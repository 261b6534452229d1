// MatrixInverse, MatrixDeterminant, LogMatrixDeterminant: functions of square matrices by their
// triangular factors.
#include <algorithm>
#include <atomic>
#include <complex>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/narrow_float.h"
#include "kernels/common/parallel.h"
#include "kernels/common/type_table.h"
#include "kernels/linalg/lu.h"

namespace millstream::kernels {
namespace {

// ---- Elements, which are computed with in double precision ----

// Reads and writes the elements of one type as T, double or Complex.
struct ElementAccess {
  MS_DType dtype;
  bool is_complex;
  // The matrix from element `begin` on, or its adjoint.
  void (*load)(const void* elements, int64_t begin, int64_t n, bool adjoint, void* matrix);
  void (*store)(const void* numbers, int64_t count, void* elements, int64_t begin);
};

double Conjugate(double x) { return x; }
Complex Conjugate(Complex x) { return std::conj(x); }

template <typename Element, typename T>
void Load(const void* elements, int64_t begin, int64_t n, bool adjoint, void* matrix) {
  const auto* from = static_cast<const Element*>(elements) + begin;
  auto* to = static_cast<T*>(matrix);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      to[i * n + j] = adjoint ? Conjugate(T(from[j * n + i])) : T(from[i * n + j]);
    }
  }
}

template <typename Element, typename T>
void Store(const void* numbers, int64_t count, void* elements, int64_t begin) {
  const auto* from = static_cast<const T*>(numbers);
  auto* to = static_cast<Element*>(elements) + begin;
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<Element>(from[i]);
}
template <>
void Store<Float16, double>(const void* numbers, int64_t count, void* elements, int64_t begin) {
  const auto* from = static_cast<const double*>(numbers);
  auto* to = static_cast<Float16*>(elements) + begin;
  for (int64_t i = 0; i < count; ++i) to[i] = Float16(static_cast<float>(from[i]));
}

template <typename Element, typename T>
constexpr ElementAccess AccessOf() {
  return {ms::DTypeOf<Element>(), !std::is_same_v<T, double>, &Load<Element, T>,
          &Store<Element, T>};
}

const ElementAccess kAccess[] = {
    AccessOf<Float16, double>(),  AccessOf<float, double>(),
    AccessOf<double, double>(),   AccessOf<std::complex<float>, Complex>(),
    AccessOf<Complex, Complex>(),
};

// ---- The kernel ----

// Asks the host about a single matrix, which the kernel's own thread computes. Between those of a
// batch StoppableFor asks.
class StopWhenCancelled final : public Stop {
 public:
  StopWhenCancelled(const ms::Frame& frame, bool is_single)
      : frame_(frame), is_single_(is_single) {}
  bool operator()() override {
    if (!is_single_) return false;
    if (status_.ok()) status_ = frame_.CheckCancelled();
    return !status_.ok();
  }
  ms::Status TakeStatus() { return std::move(status_); }

 private:
  const ms::Frame& frame_;
  const bool is_single_;
  ms::Status status_;
};

class FunctionOfMatrices {
 public:
  enum class Function { kInverse, kDeterminant, kLogDeterminant };
  struct Row {
    Function function;
  };

  explicit FunctionOfMatrices(const Row& row) : function_(row.function) {}

  ms::Status Init(const ms::KernelInfo& info) {
    for (const ElementAccess& access : kAccess) {
      if (access.dtype == info.input_dtype(0)) access_ = &access;
    }
    if (access_ == nullptr) return NoLoopFor(info.input_dtype(0));
    return IsInverse() ? info.Attr("adjoint", &adjoint_) : ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View input = frame.input(0);
    const uint32_t rank = input.rank();
    if (rank < 2 || input.dim(rank - 1) != input.dim(rank - 2)) {
      return ms::InvalidArgument("argument 'input' must be square matrices, got the shape ",
                                 input.shape().ToString());
    }
    const ms::Shape batch(input.shape().begin(), rank - 2);
    const ms::Shape shape = IsInverse() ? input.shape() : batch;
    Work work = {input, {}, batch.num_elements(), input.dim(rank - 1)};
    for (uint32_t i = 0; i < frame.num_outputs(); ++i) {
      if (frame.output_used(i)) MS_TRY(frame.Output(i, shape, &work.outputs[i]));
    }
    if (shape.num_elements() == 0) return ms::Status();
    return access_->is_complex ? Run<Complex>(frame, work) : Run<double>(frame, work);
  }

 private:
  struct Work {
    ms::View input;
    ms::View outputs[2];
    int64_t count;  // of matrices
    int64_t n;      // rows of each
  };

  bool IsInverse() const { return function_ == Function::kInverse; }

  // Each lane has memory of its own for one matrix at a time.
  template <typename T>
  ms::Status Run(ms::Frame& frame, const Work& work) const {
    constexpr int64_t kMostLanes = 64;
    const int64_t lanes = std::min(work.count, kMostLanes);
    const int64_t elements = work.n * work.n;
    const int64_t bytes = elements * static_cast<int64_t>(sizeof(T)) * (IsInverse() ? 2 : 1) +
                          work.n * static_cast<int64_t>(sizeof(int64_t));
    ms::View memory;
    MS_TRY(frame.Temp(static_cast<uint64_t>(std::max<int64_t>(1, lanes * bytes)), &memory));
    std::atomic<int64_t> singular{work.count};  // the first matrix that is
    StopWhenCancelled stop(frame, lanes == 1);
    const auto run_lanes = [&](int64_t begin, int64_t end) {
      for (int64_t lane = begin; lane < end; ++lane) {
        T* const matrix = reinterpret_cast<T*>(memory.data<char>() + lane * bytes);
        for (int64_t i = lane; i < work.count; i += lanes) {
          if (RunOne(work, i, matrix, &stop)) continue;
          int64_t first = singular.load();
          while (i < first && !singular.compare_exchange_weak(first, i)) {
          }
        }
      }
    };
    // A product and a sum cost about a nanosecond; an inverse has three times as many.
    const int64_t matrices = (work.count + lanes - 1) / lanes;
    const double cost = static_cast<double>(elements) * static_cast<double>(work.n + 10) *
                        (IsInverse() ? 3 : 1) * static_cast<double>(matrices);
    MS_TRY(StoppableFor(frame, static_cast<uint64_t>(lanes),
                        static_cast<uint64_t>(std::min(cost, 1e15)) + 1, run_lanes));
    MS_TRY(stop.TakeStatus());
    if (singular.load() == work.count) return ms::Status();
    return ms::InvalidArgument("Input is not invertible: matrix ", singular.load(),
                               " of argument 'input' ", work.input.shape().ToString(),
                               " is singular");
  }

  // False for a matrix that has no inverse.
  template <typename T>
  bool RunOne(const Work& work, int64_t i, T* matrix, Stop* stop) const {
    const int64_t elements = work.n * work.n;
    T* const inverse = matrix + elements;
    auto* const order = reinterpret_cast<int64_t*>(IsInverse() ? inverse + elements : inverse);
    access_->load(work.input.raw(), i * elements, work.n, adjoint_, matrix);
    const int sign = Factorize(work.n, matrix, order, stop);
    if (IsInverse()) {
      if (IsSingular(work.n, matrix)) return false;
      InvertFactors(work.n, matrix, order, inverse, stop);
      access_->store(inverse, elements, work.outputs[0].raw(), i * elements);
      return true;
    }
    const Scaled<T> determinant = Determinant(work.n, matrix, sign);
    if (function_ == Function::kDeterminant) {
      StoreOne(determinant.Rounded(), work.outputs[0], i);
    } else {
      StoreOne(determinant.Sign(), work.outputs[0], i);
      StoreOne(T(determinant.LogOfAbs()), work.outputs[1], i);
    }
    return true;
  }

  template <typename T>
  void StoreOne(T number, const ms::View& output, int64_t i) const {
    if (!output.is_null()) access_->store(&number, 1, output.raw(), i);
  }

  const Function function_;
  const ElementAccess* access_ = nullptr;
  bool adjoint_ = false;
};

const FunctionOfMatrices::Row kInverse = {FunctionOfMatrices::Function::kInverse};
const FunctionOfMatrices::Row kDeterminant = {FunctionOfMatrices::Function::kDeterminant};
const FunctionOfMatrices::Row kLogDeterminant = {FunctionOfMatrices::Function::kLogDeterminant};

ms::KernelOptions Types() {
  return ms::KernelOptions().Types(
      "T", {MS_FLOAT16, MS_FLOAT32, MS_FLOAT64, MS_COMPLEX64, MS_COMPLEX128});
}

const ms::Registered inverse =
    ms::RegisterRow<FunctionOfMatrices>("MatrixInverse", kInverse, Types());
const ms::Registered determinant =
    ms::RegisterRow<FunctionOfMatrices>("MatrixDeterminant", kDeterminant, Types());
const ms::Registered log_determinant =
    ms::RegisterRow<FunctionOfMatrices>("LogMatrixDeterminant", kLogDeterminant, Types());

}  // namespace
}  // namespace millstream::kernels
