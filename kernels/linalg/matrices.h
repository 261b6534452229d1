// Batches of matrices, each of which is computed with in double precision by itself.
#ifndef MILLSTREAM_KERNELS_LINALG_MATRICES_H_
#define MILLSTREAM_KERNELS_LINALG_MATRICES_H_

#include <algorithm>
#include <atomic>
#include <complex>
#include <cstdint>
#include <utility>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/parallel.h"
#include "kernels/linalg/lu.h"
#include "kernels/linalg/row_arithmetic.h"

namespace millstream::kernels {

// Reads and writes the elements of one type as T, double or Complex.
struct ElementAccess {
  MS_DType dtype;
  bool is_complex;
  // The matrix of `rows` times `columns` elements from element `begin` on, or its adjoint.
  void (*load)(const void* elements, int64_t begin, int64_t rows, int64_t columns, bool adjoint,
               void* matrix);
  void (*store)(const void* numbers, int64_t count, void* elements, int64_t begin);
};

// For float16, float32, float64, complex64 and complex128; else null.
const ElementAccess* FindElementAccess(MS_DType dtype);

inline double Conjugate(double x) { return x; }
inline Complex Conjugate(Complex x) { return std::conj(x); }

inline double RealPart(double x) { return x; }
inline double RealPart(Complex x) { return x.real(); }

// Without the search for infinite parts that the product of std::complex has.
inline double Product(double x, double y) { return x * y; }
inline Complex Product(Complex x, Complex y) {
  return {x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real()};
}

// For a single matrix, asks the host, and shares its computation among the step's threads. Those of
// a batch are shared out as a whole, and StoppableFor asks between them.
class StopWhenCancelled final : public Stop {
 public:
  StopWhenCancelled(ms::Frame* frame, bool is_single) : frame_(*frame), is_single_(is_single) {}
  bool operator()() override {
    if (!is_single_) return false;
    if (status_.ok()) status_ = frame_.CheckCancelled();
    return !status_.ok();
  }
  ms::Status TakeStatus() { return std::move(status_); }

 private:
  void ShareRanges(int64_t count, double nanoseconds, RangeFunction fn) override {
    if (!is_single_) return fn(0, count);
    const auto cost = static_cast<uint64_t>(std::min(nanoseconds, 1e15)) + 1;
    ms::Status status = StoppableFor(frame_, static_cast<uint64_t>(count), cost, fn);
    if (status_.ok()) status_ = std::move(status);
  }

  ms::Frame& frame_;
  const bool is_single_;
  ms::Status status_;
};

// Calls run(i, memory, &stop) for each matrix i of [0, count), with `bytes` of memory that no other
// call has at the time. It returns whether the matrix is allowed: *refused is the first that is
// not, or `count`. A matrix takes about `nanoseconds`.
template <typename Run>
ms::Status ForEachMatrix(ms::Frame& frame, int64_t count, int64_t bytes, double nanoseconds,
                         const Run& run, int64_t* refused) {
  constexpr int64_t kMostLanes = 64;
  *refused = count;
  const int64_t lanes = std::min(count, kMostLanes);
  if (lanes == 0) return ms::Status();
  const int64_t aligned = (std::max<int64_t>(bytes, 1) + 15) / 16 * 16;
  ms::View memory;
  MS_TRY(frame.Temp(static_cast<uint64_t>(lanes * aligned), &memory));
  std::atomic<int64_t> first{count};
  StopWhenCancelled stop(&frame, lanes == 1);
  const auto run_lanes = [&](int64_t begin, int64_t end) {
    for (int64_t lane = begin; lane < end; ++lane) {
      for (int64_t i = lane; i < count; i += lanes) {
        if (run(i, memory.data<char>() + lane * aligned, &stop)) continue;
        int64_t so_far = first.load();
        while (i < so_far && !first.compare_exchange_weak(so_far, i)) {
        }
      }
    }
  };
  if (lanes == 1) {
    run_lanes(0, 1);
    *refused = first.load();
    return stop.TakeStatus();
  }
  const int64_t of_lane = (count + lanes - 1) / lanes;
  const double cost = nanoseconds * static_cast<double>(of_lane);
  MS_TRY(StoppableFor(frame, static_cast<uint64_t>(lanes),
                      static_cast<uint64_t>(std::min(cost, 1e15)) + 1, run_lanes));
  *refused = first.load();
  return ms::Status();
}

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_LINALG_MATRICES_H_
