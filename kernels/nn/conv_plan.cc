#include "kernels/nn/conv_plan.h"

#include <algorithm>

#include "kernels/common/parallel.h"
#include "kernels/matmul/bias_epilogue.h"
#include "kernels/matmul/library_threads.h"

namespace millstream::kernels {

ConvPlan::ConvPlan(const ConvShape& shape, ConvDirection direction, int threads)
    : shape_(shape), direction_(direction), threads_(std::max(1, threads)) {
  if (shape_.HasNoProducts()) return;
  if (direction_ == ConvDirection::kForward && WinogradBlocks::Suits(shape_)) {
    winograd_ = std::make_unique<ConvWinograd>(shape_, threads_);
    return;
  }
  if (direction_ == ConvDirection::kForward && ConvStrips::Suits(shape_)) {
    strips_ = std::make_unique<ConvStrips>(shape_);
    return;
  }
  if (shape_.IsMatrixProduct()) {
    product_ = std::make_unique<Gemm>(shape_.MatrixProduct(direction_), threads_);
    return;
  }
  if (direction_ == ConvDirection::kBackwardFilter) {
    filter_gradient_ = std::make_unique<ConvFilterGradient>(shape_);
    return;
  }
  if (direction_ == ConvDirection::kBackwardInput) {
    input_gradient_ = ConvInputGradient::Make(shape_, threads_);
    if (input_gradient_ != nullptr) return;
  }
  library_ = ConvBatches(shape_, direction_, threads_);
}

uint64_t ConvPlan::scratch_bytes() const {
  if (winograd_ != nullptr) return winograd_->scratch_bytes();
  if (strips_ != nullptr) return strips_->scratch_bytes();
  if (product_ != nullptr) return product_->scratch_bytes();
  if (filter_gradient_ != nullptr) return filter_gradient_->scratch_bytes();
  if (input_gradient_ != nullptr) return input_gradient_->scratch_bytes();
  return library_.scratch_bytes();
}

void ConvPlan::KeepFilter(const float* filter) {
  if (winograd_ != nullptr) winograd_->KeepFilter(filter);
  if (strips_ != nullptr) strips_->KeepFilter(filter);
  if (product_ != nullptr) product_->KeepRight(filter);
  if (input_gradient_ != nullptr) input_gradient_->KeepFilter(filter);
  library_.KeepWeights(filter);
}

ms::Status ConvPlan::Run(ms::Frame& frame, float* input, float* filter, float* output,
                         void* scratch, const ProductEpilogue& epilogue) const {
  const ConvOutput pixels{output, shape_.out_channels};
  if (winograd_ != nullptr) {
    return winograd_->Run(frame, input, filter, epilogue, pixels, scratch);
  }
  if (strips_ != nullptr) {
    return strips_->Run(frame, input, filter, epilogue, pixels, scratch);
  }
  if (product_ != nullptr) return RunProduct(frame, input, filter, output, scratch);
  if (filter_gradient_ != nullptr) {
    return filter_gradient_->Run(frame, input, output, filter, scratch);
  }
  if (input_gradient_ != nullptr) {
    return input_gradient_->Run(frame, output, filter, input, scratch);
  }
  if (!library_) {
    FillZero(input, filter, output);
    return ms::Status();
  }
  return library_.Run(frame, input, filter, output, scratch);
}

uint64_t ConvPlan::pixels_offset() const { return (scratch_bytes() + 63) / 64 * 64; }

uint64_t ConvPlan::apart_scratch_bytes() const {
  if (TakesEpilogue()) return scratch_bytes();
  return pixels_offset() +
         static_cast<uint64_t>(shape_.OutputShape().num_elements()) * sizeof(float);
}

// The library writes its pixels side by side; they are read once more for what follows in any case.
ms::Status ConvPlan::RunApart(ms::Frame& frame, float* input, float* filter,
                              const ProductEpilogue& epilogue, const ConvOutput& output,
                              void* scratch) const {
  if (winograd_ != nullptr) {
    return winograd_->Run(frame, input, filter, epilogue, output, scratch);
  }
  if (strips_ != nullptr) {
    return strips_->Run(frame, input, filter, epilogue, output, scratch);
  }
  constexpr int64_t kPicoseconds = 250;  // see ParallelElements
  const int64_t channels = shape_.out_channels;
  const int64_t rows = shape_.batch * Product(shape_.output);
  auto* const pixels = reinterpret_cast<float*>(static_cast<char*>(scratch) + pixels_offset());
  MS_TRY(Run(frame, input, filter, pixels, scratch));
  return ParallelRows(frame, rows, channels, kPicoseconds, [&](int64_t begin, int64_t end) {
    BiasEpilogue::Write(epilogue, pixels + begin * channels, end - begin, channels,
                        output.pixels + begin * output.step, output.step);
  });
}

ms::Status ConvPlan::RunProduct(ms::Frame& frame, float* input, float* filter, float* output,
                                void* scratch) const {
  const int threads = LibraryThreadCount(frame);
  switch (direction_) {
    case ConvDirection::kForward:
      return product_->Run(frame, input, filter, output, scratch, threads);
    case ConvDirection::kBackwardInput:
      return product_->Run(frame, output, filter, input, scratch, threads);
    case ConvDirection::kBackwardFilter: break;
  }
  return product_->Run(frame, input, output, filter, scratch, threads);
}

void ConvPlan::FillZero(float* input, float* filter, float* output) const {
  switch (direction_) {
    case ConvDirection::kForward:
      std::fill_n(output, shape_.OutputShape().num_elements(), 0.0f);
      return;
    case ConvDirection::kBackwardInput:
      std::fill_n(input, shape_.InputShape().num_elements(), 0.0f);
      return;
    case ConvDirection::kBackwardFilter:
      std::fill_n(filter, shape_.FilterShape().num_elements(), 0.0f);
      return;
  }
}

std::shared_ptr<const ConvPlan> ConvPlanCache::Get(const ConvShape& shape, ConvDirection direction,
                                                   int threads) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (size_t i = 0; i < plans_.size(); ++i) {
    if (plans_[i]->shape() == shape && plans_[i]->threads() == std::max(1, threads)) {
      std::rotate(plans_.begin() + i, plans_.begin() + i + 1, plans_.end());
      return plans_.back();
    }
  }
  if (plans_.size() == kCapacity) plans_.erase(plans_.begin());
  plans_.push_back(std::make_shared<const ConvPlan>(shape, direction, threads));
  return plans_.back();
}

}  // namespace millstream::kernels
