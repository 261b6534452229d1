#include "kernels/nn/conv_strips.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "kernels/common/parallel.h"
#include "kernels/nn/conv_library.h"
#include "kernels/simd/instruction_set.h"

namespace millstream::kernels {
namespace {

constexpr int64_t kLine = 16;  // floats of a cache line
constexpr Extents kOnes = {1, 1, 1};

// Copies of padded images are no larger than this: they should be in the last cache.
constexpr int64_t kMostPadded = int64_t{1} << 20;

// The rows of a block and the numbers that they read share a core's second cache with a strip.
constexpr int64_t kMostRows = 256;
constexpr int64_t kFewestRows = 48;
constexpr int64_t kNumbersOfBlock = 80 * 1024;

int64_t CeilOfRatio(int64_t a, int64_t b) { return (a + b - 1) / b; }

uint64_t AlignUp(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

bool IsPadded(const ConvShape& shape) {
  const auto is_zero = [](int64_t size) { return size == 0; };
  return !std::all_of(shape.before.begin(), shape.before.end(), is_zero) ||
         !std::all_of(shape.after.begin(), shape.after.end(), is_zero);
}

// Pixels that are a multiple of kFloatsOfWay apart share the places of the first cache, of which it
// has eight for each. A tile reads twelve rows with AVX-512: where each is a pixel, every number
// would come from the second cache. A line more keeps them apart.
int64_t PixelStep(const ConvShape& shape) {
  constexpr int64_t kFloatsOfWay = 1024;
  const bool collide = shape.filter == kOnes && shape.in_channels % kFloatsOfWay == 0 &&
                       ChosenInstructionSet() >= InstructionSet::kAvx512;
  return shape.in_channels + (collide ? kLine : 0);
}

bool IsCopied(const ConvShape& shape) {
  return IsPadded(shape) || PixelStep(shape) != shape.in_channels;
}

// Not an integer, for paddings may be any.
double PaddedSize(const ConvShape& shape) {
  return static_cast<double>(shape.input[0] + shape.before[0] + shape.after[0]) *
         static_cast<double>(shape.input[1] + shape.before[1] + shape.after[1]) *
         static_cast<double>(PixelStep(shape));
}

// Whether a product of pixels and a filter of one pixel is faster by our own loops with AVX-512.
// They multiply at 0.9 of the speed of the processor; the library at best at nearly all of it. But
// with each call the library arranges both operands, and what follows the product is a pass over
// the result: 8 bytes are read and written for a number of each of the three matrices, which takes
// as long as 16 multiplications.
bool IsFasterInStrips(const ConvShape& shape) {
  constexpr double kMultiplicationsOfNumber = 16;
  constexpr double kLostByLoops = 0.08;
  const auto rows = static_cast<double>(shape.batch * Product(shape.output));
  const auto depth = static_cast<double>(shape.in_channels);
  const auto columns = static_cast<double>(shape.out_channels);
  return kMultiplicationsOfNumber * (1 / rows + 1 / depth + 1 / columns) >= kLostByLoops;
}

}  // namespace

bool ConvStrips::Suits(const ConvShape& shape) {
  // Fewer rows do not fill a tile.
  constexpr int64_t kFewestPixels = 4;
  constexpr int64_t kFewestChannels = 8;
  if (shape.dims != 2 || shape.channels_first || shape.groups != 1 || shape.HasNoProducts()) {
    return false;
  }
  if (shape.batch * Product(shape.output) < kFewestPixels || shape.out_channels < kFewestChannels) {
    return false;
  }
  if (IsCopied(shape) && PaddedSize(shape) > kMostPadded) return false;
  if (ChosenInstructionSet() < InstructionSet::kAvx512) return true;
  // With AVX-512 the library's products of blocks are as fast or faster, and its matrix products
  // where they are large.
  if (shape.IsMatrixProduct()) return shape.filter == kOnes && IsFasterInStrips(shape);
  return !HasFastForwardConvolution(shape, 1);
}

ConvStrips::ConvStrips(const ConvShape& shape)
    : shape_(shape),
      pixel_step_(PixelStep(shape)),
      depth_(Product(shape.filter) * shape.in_channels),
      images_(shape.batch) {
  if (NeedsCopy()) {
    images_ = std::clamp<int64_t>(kMostPadded / padded_size(), 1, shape.batch);
  }
  const int64_t rows = images_ * pixels();
  const int64_t numbers = shape.in_channels * std::min(shape.stride[0], shape.filter[0]) *
                          std::min(shape.stride[1], shape.filter[1]);  // that are new in a row
  const int64_t most = std::clamp(kNumbersOfBlock / numbers, kFewestRows, kMostRows);
  block_ = CeilOfRatio(rows, CeilOfRatio(rows, most));

  const int64_t row_step = shape.dilation[0] * padded_width() * pixel_step_;
  const int64_t column_step = shape.dilation[1] * pixel_step_;
  const bool is_whole = shape.dilation[1] == 1 || shape.filter[1] == 1;
  const int64_t columns = is_whole ? 1 : shape.filter[1];
  length_ = depth_ / (shape.filter[0] * columns);
  for (int64_t row = 0; row < shape.filter[0]; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      offsets_.push_back(row * row_step + column * column_step);
    }
  }
}

bool ConvStrips::NeedsCopy() const { return IsCopied(shape_); }

uint64_t ConvStrips::padded_bytes() const {
  return NeedsCopy() ? AlignUp(static_cast<uint64_t>(images_ * padded_size()) * sizeof(float)) : 0;
}

void ConvStrips::KeepFilter(const float* filter) {
  kept_ = KeepStrips({filter, depth_, shape_.out_channels, false});
}

uint64_t ConvStrips::scratch_bytes() const {
  const int64_t arranged = kept_ != nullptr ? 0 : StripsSize(depth_, shape_.out_channels);
  return padded_bytes() + static_cast<uint64_t>(arranged) * sizeof(float);
}

ms::Status ConvStrips::Run(ms::Frame& frame, const float* input, const float* filter,
                           const ProductEpilogue& epilogue, const ConvOutput& output,
                           void* scratch) const {
  auto* const padded = static_cast<float*>(scratch);
  const float* strips = nullptr;
  if (kept_ != nullptr) {
    strips = kept_->data()->values;
  } else {
    constexpr int64_t kPicoseconds = 300;
    auto* const arranged = reinterpret_cast<float*>(static_cast<char*>(scratch) + padded_bytes());
    MS_TRY(ParallelRows(frame, StripsOf(shape_.out_channels), depth_ * kStripColumns, kPicoseconds,
                        [&](int64_t begin, int64_t end) {
                          ArrangeStrips({filter, shape_.out_channels, 1}, depth_,
                                        shape_.out_channels, begin, end, arranged);
                        }));
    strips = arranged;
  }
  WindowProduct product{
      strips,  shape_.out_channels, offsets_.data(), static_cast<int64_t>(offsets_.size()),
      length_, output.step,         epilogue};
  const int64_t output_image = pixels() * output.step;
  const int64_t input_image = shape_.input[0] * shape_.input[1] * shape_.in_channels;
  for (int64_t image = 0; image < shape_.batch; image += images_) {
    if (image > 0) MS_TRY(frame.CheckCancelled());
    const int64_t count = std::min(images_, shape_.batch - image);
    const float* images = input + image * input_image;
    if (NeedsCopy()) {
      MS_TRY(Pad(frame, images, count, padded));
      images = padded;
    }
    if (epilogue.added != nullptr) product.epilogue.added = epilogue.added + image * output_image;
    MS_TRY(Multiply(frame, product, images, count, output.pixels + image * output_image));
  }
  return ms::Status();
}

ms::Status ConvStrips::Pad(ms::Frame& frame, const float* images, int64_t count,
                           float* padded) const {
  constexpr int64_t kPicoseconds = 300;
  const int64_t height = padded_height();
  const int64_t width = padded_width() * pixel_step_;
  const int64_t left = shape_.before[1] * pixel_step_;
  const int64_t inside = shape_.input[1] * pixel_step_;
  const int64_t size = shape_.input[1] * shape_.in_channels;
  // What is copied at once: a row, or a pixel where there is a gap behind each.
  const int64_t piece = pixel_step_ == shape_.in_channels ? size : shape_.in_channels;
  return ParallelRows(frame, count * height, width, kPicoseconds, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      float* const to = padded + row * width;
      const int64_t source = row % height - shape_.before[0];
      if (source < 0 || source >= shape_.input[0]) {
        std::fill_n(to, width, 0.0f);
        continue;
      }
      std::fill_n(to, left, 0.0f);
      const float* const from = images + (row / height * shape_.input[0] + source) * size;
      for (int64_t i = 0; i < size / piece; ++i) {
        std::memcpy(to + left + i * pixel_step_, from + i * piece,
                    static_cast<size_t>(piece) * sizeof(float));
      }
      std::fill(to + left + inside, to + width, 0.0f);
    }
  });
}

void ConvStrips::FindStarts(const float* images, int64_t pixel, int64_t count,
                            const float** starts) const {
  const int64_t column_step = shape_.stride[1] * pixel_step_;
  const int64_t row_step = shape_.stride[0] * padded_width() * pixel_step_;
  int64_t column = pixel % shape_.output[1];
  int64_t row = pixel / shape_.output[1] % shape_.output[0];
  const float* image = images + pixel / pixels() * padded_size();
  for (int64_t i = 0; i < count; ++i) {
    starts[i] = image + row * row_step + column * column_step;
    if (++column < shape_.output[1]) continue;
    column = 0;
    if (++row < shape_.output[0]) continue;
    row = 0;
    image += padded_size();
  }
}

ms::Status ConvStrips::Multiply(ms::Frame& frame, const WindowProduct& product, const float* images,
                                int64_t count, float* output) const {
  constexpr int64_t kProductsPerNanosecond = 35;
  const int64_t rows = count * pixels();
  const int64_t strips = StripsOf(shape_.out_channels);
  const int64_t blocks = CeilOfRatio(rows, block_);
  const uint64_t cost = static_cast<uint64_t>(block_ * kStripColumns * depth_) /
                            static_cast<uint64_t>(kProductsPerNanosecond) +
                        1;
  return StoppableFor(frame, blocks * strips, cost, [&](int64_t begin, int64_t end) {
    std::array<const float*, kMostRows> starts;
    while (begin < end) {
      const int64_t row = begin / strips * block_;
      const int64_t first = begin % strips;
      const int64_t last = std::min(strips, first + end - begin);
      const int64_t size = std::min(block_, rows - row);
      FindStarts(images, row, size, starts.data());
      WindowProduct part = product;
      const int64_t place = row * product.output_step;
      if (part.epilogue.added != nullptr) part.epilogue.added += place;
      MultiplyWindows(part, starts.data(), size, first, last, output + place);
      begin += last - first;
    }
  });
}

}  // namespace millstream::kernels
