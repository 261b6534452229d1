#include "kernels/quantized/levels.h"

#include <limits>

namespace millstream::kernels {
namespace {

template <typename T>
void Widen(const void* from, int64_t begin, int64_t n, int32_t* to) {
  const T* const elements = static_cast<const T*>(from) + begin;
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<int32_t>(elements[i]);
}

template <typename T>
void Narrow(const int32_t* from, int64_t n, void* to, int64_t begin) {
  T* const elements = static_cast<T*>(to) + begin;
  for (int64_t i = 0; i < n; ++i) elements[i] = static_cast<T>(from[i]);
}

template <typename T>
constexpr LevelType TypeOf(MS_DType dtype) {
  return {dtype, 8 * static_cast<int>(sizeof(T)), std::numeric_limits<T>::is_signed, &Widen<T>,
          &Narrow<T>};
}

constexpr LevelType kTypes[] = {TypeOf<uint8_t>(MS_QUINT8), TypeOf<int8_t>(MS_QINT8),
                                TypeOf<int32_t>(MS_QINT32), TypeOf<int16_t>(MS_QINT16),
                                TypeOf<uint16_t>(MS_QUINT16)};

// What a level costs to read (see ParallelElements).
constexpr int64_t kReadPicoseconds = 300;

}  // namespace

ms::Status FindLevelType(MS_DType dtype, const LevelType** type) {
  for (const LevelType& one : kTypes) {
    if (one.dtype != dtype) continue;
    *type = &one;
    return ms::Status();
  }
  return ms::Internal("a kernel of quantized tensors was registered for dtype ", dtype);
}

Levels::Levels(const LevelType& type, float low, float high)
    : type_(&type), low_(low), high_(high), is_point_(low == high), least_(type.least()) {
  if (is_point_) return;
  // One step more than there are between the least and the largest level.
  const double steps = type.steps();
  const double range = static_cast<double>(high - low) * (steps / (steps - 1));
  levels_per_one_ = steps / range;
  place_of_low_ = std::round(static_cast<double>(low) * levels_per_one_);
  step_ = range / steps;
  const auto rounded_step = static_cast<float>(step_);
  rounded_low_ = static_cast<double>(std::round(low / rounded_step) * rounded_step);
}

float Levels::Distance() const {
  return (high_ - low_) / static_cast<float>(type_->most() - type_->least());
}

void RangeOfProduct(const Levels& a, const Levels& b, const LevelType& product, float range[2]) {
  const float step = a.Distance() * b.Distance();
  range[0] = step * static_cast<float>(product.least());
  range[1] = step * static_cast<float>(product.most());
}

ms::Status ReadScalars(const ms::Frame& frame, uint32_t first,
                       std::initializer_list<const char*> names, float* values) {
  uint32_t i = first;
  for (const char* const name : names) {
    const ms::View scalar = frame.input(i);
    if (scalar.rank() != 0) {
      return ms::InvalidArgument(name, " must be a scalar, but has shape ",
                                 scalar.shape().ToString());
    }
    values[i++ - first] = *scalar.data<float>();
  }
  return ms::Status();
}

ms::Status SetRange(ms::Frame& frame, float low, float high, uint32_t first) {
  const float ends[] = {low, high};
  for (uint32_t i = 0; i < 2; ++i) {
    ms::View end;
    MS_TRY(frame.Output(first + i, ms::Shape(), &end));
    *end.data<float>() = ends[i];
  }
  return ms::Status();
}

ms::KernelOptions ReadsFirst(std::initializer_list<const char*> names) {
  ms::KernelOptions options;
  for (const char* const name : names) options.HostArg(name);
  return options;
}

ms::Status ReadLevels(ms::Frame& frame, uint32_t i, const LevelType& type, const int32_t** levels) {
  const ms::View input = frame.input(i);
  if (type.bits == 32) {
    *levels = input.data<int32_t>();
    return ms::Status();
  }
  const int64_t size = input.size();
  ms::View copy;
  MS_TRY(frame.Temp(static_cast<uint64_t>(size) * sizeof(int32_t), &copy));
  int32_t* const to = copy.data<int32_t>();
  *levels = to;
  return ParallelElements(frame, size, kReadPicoseconds, [&](int64_t begin, int64_t end) {
    type.widen(input.raw(), begin, end - begin, to + begin);
  });
}

}  // namespace millstream::kernels
