#include "kernels/nn/conv_filter_gradient.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <mutex>

namespace millstream::kernels {
namespace {

uint64_t AlignUp(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

int64_t CeilOfRatio(int64_t a, int64_t b) { return (a + b - 1) / b; }

// How many images a piece has. A piece is worth a thread's while (about 0.5 ms of one core), and
// its multiplications for one element of the filter outweigh what that costs once a piece: the
// library's layout made plain, and an addition. Nor does it take long, since nobody can stop it.
int64_t ImagesOfPiece(const ConvShape& shape) {
  constexpr int64_t kUsualPieces = 8;
  constexpr double kMostProducts = 1LL << 31;
  constexpr double kFewestProducts = 1 << 24;
  constexpr double kFewestProductsPerElement = 128;
  // Of one image. Below 1 it would have no products.
  const double per_element = static_cast<double>(Product(shape.output));
  const double products = per_element * shape.FilterShape().num_elements();
  const double images =
      std::ceil(std::max(kFewestProducts / products, kFewestProductsPerElement / per_element));
  const int64_t usual = CeilOfRatio(shape.batch, kUsualPieces);
  const int64_t longest = static_cast<int64_t>(std::max(kMostProducts / products, 1.0));
  const int64_t most = std::min<int64_t>(
      std::max(std::min(usual, longest), static_cast<int64_t>(images)), shape.batch);
  return CeilOfRatio(shape.batch, CeilOfRatio(shape.batch, most));  // as even as can be
}

std::unique_ptr<LibraryConvolution> OneThread(ConvShape shape, int64_t images) {
  shape.batch = images;
  return std::make_unique<LibraryConvolution>(shape, ConvDirection::kBackwardFilter, 1);
}

}  // namespace

ConvFilterGradient::ConvFilterGradient(const ConvShape& shape)
    : shape_(shape),
      images_(ImagesOfPiece(shape)),
      pieces_(CeilOfRatio(shape.batch, images_)),
      even_(OneThread(shape, images_)) {
  const int64_t rest = shape.batch % images_;
  if (rest != 0) last_ = OneThread(shape, rest);
}

uint64_t ConvFilterGradient::filter_bytes() const {
  return AlignUp(static_cast<uint64_t>(shape_.FilterShape().num_elements()) * sizeof(float));
}

uint64_t ConvFilterGradient::library_bytes() const {
  return AlignUp(std::max(even_->scratch_bytes(), last_ == nullptr ? 0 : last_->scratch_bytes()));
}

// The very first piece writes to the result itself.
int64_t ConvFilterGradient::partial_gradients() const {
  return pieces_ <= kMostTogether ? pieces_ - 1 : kMostTogether;
}

// Of the pieces that run side by side each has a gradient, in order, and then all have their
// library's scratch.
uint64_t ConvFilterGradient::scratch_bytes() const {
  return static_cast<uint64_t>(partial_gradients()) * filter_bytes() +
         static_cast<uint64_t>(std::min(pieces_, kMostTogether)) * library_bytes();
}

void ConvFilterGradient::RunPiece(int64_t piece, const float* input, const float* output_gradient,
                                  float* filter_gradient, char* scratch) const {
  const int64_t first = piece * images_;
  const int64_t input_image = shape_.InputShape().num_elements() / shape_.batch;
  const int64_t output_image = shape_.OutputShape().num_elements() / shape_.batch;
  const int64_t place = piece % kMostTogether;
  const int64_t partial = piece < kMostTogether ? place - 1 : place;
  float* const result =
      piece == 0 ? filter_gradient : reinterpret_cast<float*>(scratch + partial * filter_bytes());
  char* const library_scratch =
      scratch + partial_gradients() * filter_bytes() + place * library_bytes();
  const bool is_last = piece == pieces_ - 1;
  const LibraryConvolution& library = is_last && last_ != nullptr ? *last_ : *even_;
  library.Run(input + first * input_image, result, output_gradient + first * output_image,
              library_scratch);
}

void ConvFilterGradient::AddPieces(ms::Frame& frame, int64_t count, const char* scratch,
                                   float* filter_gradient) const {
  const int64_t size = shape_.FilterShape().num_elements();
  frame.ParallelFor(size, static_cast<uint64_t>(count + 1), [&](uint64_t begin, uint64_t end) {
    for (int64_t partial = 0; partial < count; ++partial) {
      const auto* const more = reinterpret_cast<const float*>(scratch + partial * filter_bytes());
      for (uint64_t i = begin; i < end; ++i) filter_gradient[i] += more[i];
    }
  });
}

// Pieces [first, first + count).
void ConvFilterGradient::RunTogether(ms::Frame& frame, int64_t first, int64_t count,
                                     const float* input, const float* output_gradient,
                                     float* filter_gradient, char* scratch) const {
  // What the library throws must not leave a thread of the team.
  std::mutex mutex;
  std::exception_ptr thrown;
  constexpr uint64_t kWorthAThread = 1000000;
  frame.ParallelFor(count, kWorthAThread, [&](uint64_t begin, uint64_t end) {
    for (uint64_t i = begin; i < end; ++i) {
      try {
        RunPiece(first + static_cast<int64_t>(i), input, output_gradient, filter_gradient, scratch);
      } catch (...) {
        const std::lock_guard<std::mutex> lock(mutex);
        thrown = std::current_exception();
      }
    }
  });
  if (thrown != nullptr) std::rethrow_exception(thrown);
}

ms::Status ConvFilterGradient::Run(ms::Frame& frame, const float* input,
                                   const float* output_gradient, float* filter_gradient,
                                   void* scratch) const {
  char* const bytes = static_cast<char*>(scratch);
  if (pieces_ == 1) {
    RunPiece(0, input, output_gradient, filter_gradient, bytes);
    return ms::Status();
  }
  for (int64_t first = 0; first < pieces_; first += kMostTogether) {
    if (first > 0) MS_TRY(frame.CheckCancelled());
    const int64_t count = std::min(kMostTogether, pieces_ - first);
    RunTogether(frame, first, count, input, output_gradient, filter_gradient, bytes);
    AddPieces(frame, first == 0 ? count - 1 : count, bytes, filter_gradient);
  }
  return ms::Status();
}

}  // namespace millstream::kernels
