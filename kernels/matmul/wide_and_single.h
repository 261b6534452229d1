// The preparations of a kernel for the usual number of threads and for one thread.
#ifndef MILLSTREAM_KERNELS_MATMUL_WIDE_AND_SINGLE_H_
#define MILLSTREAM_KERNELS_MATMUL_WIDE_AND_SINGLE_H_

#include <algorithm>
#include <cstdint>
#include <memory>

#include "kernels/matmul/library_threads.h"

namespace millstream::kernels {

// oneDNN prepares work for a number of threads. Of the steps that run at the same time, one has all
// threads and the others one each, so there are two numbers. T is made for one number and has
//   void Prepare() const;                            what may also wait until it is first used
//   uint64_t scratch_bytes() const;
//   void KeepWeights(const float*, const T* other);  see LibraryConvolution
// Immutable but for KeepWeights.
template <typename T>
class WideAndSingle {
 public:
  // Nothing; only scratch_bytes, KeepWeights and the conversion to bool may be called.
  WideAndSingle() = default;
  // make(n) gives a std::unique_ptr<T> for n threads: as many as a team of that many gets. What is
  // for one is prepared when it is needed.
  template <typename Make>
  WideAndSingle(int threads, const Make& make) : threads_(TeamThreads(threads)) {
    wide_ = make(threads_);
    wide_->Prepare();
    if (threads_ > 1) single_ = make(1);
  }

  explicit operator bool() const { return wide_ != nullptr; }

  // For an execution of so many threads, which may be fewer than usual.
  const T& For(int threads) const {
    return TeamThreads(threads) == threads_ || single_ == nullptr ? *wide_ : *single_;
  }

  uint64_t scratch_bytes() const {
    return std::max(wide_ == nullptr ? 0 : wide_->scratch_bytes(),
                    single_ == nullptr ? 0 : single_->scratch_bytes());
  }

  void KeepWeights(const float* weights) {
    if (wide_ != nullptr) wide_->KeepWeights(weights, nullptr);
    if (single_ != nullptr) single_->KeepWeights(weights, wide_.get());
  }

 private:
  int threads_ = 1;
  std::unique_ptr<T> wide_;
  std::unique_ptr<T> single_;
};

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_MATMUL_WIDE_AND_SINGLE_H_
