// Fill, ZerosLike, OnesLike. They write bytes, one loop an element size, or string cells.
#include <array>
#include <complex>
#include <cstdint>
#include <string_view>
#include <vector>

#include "kernels/common/narrow_float.h"
#include "kernels/common/parallel.h"

namespace millstream::kernels {
namespace {

using FillLoop = void (*)(const void* value, void* out, int64_t begin, int64_t end);

template <typename Word>
void FillElements(const void* value_base, void* out_base, int64_t begin, int64_t end) {
  const Word value = *static_cast<const Word*>(value_base);
  Word* out = static_cast<Word*>(out_base);
  for (int64_t i = begin; i < end; ++i) out[i] = value;
}

FillLoop FillLoopFor(uint64_t element_size) {
  switch (element_size) {
    case 1: return &FillElements<uint8_t>;
    case 2: return &FillElements<uint16_t>;
    case 4: return &FillElements<uint32_t>;
    case 8: return &FillElements<uint64_t>;
    case 16:
      // Two halves: a value need not lie at a multiple of 16 bytes.
      return &FillElements<std::array<uint64_t, 2>>;
    default: return nullptr;
  }
}

// Writes `value` to every element.
ms::Status FillView(ms::Frame& frame, const void* value, const ms::View& out) {
  const uint64_t element_size = ms::ElementSize(out.dtype());
  const FillLoop loop = FillLoopFor(element_size);
  if (loop == nullptr) {
    return ms::Unimplemented("no kernel for elements of ", element_size, " bytes");
  }
  void* const data = out.raw();
  MS_TRY(ParallelElements(frame, out.size(), static_cast<int64_t>(40 * element_size),
                          [&](int64_t begin, int64_t end) { loop(value, data, begin, end); }));
  return ms::Status();
}

ms::Status FillStrings(std::string_view value, const ms::View& out) {
  for (int64_t i = 0; i < out.size(); ++i) MS_TRY(out.SetString(i, value));
  return ms::Status();
}

// The shape that the vector `dims` lists.
template <typename Index>
ms::Status ReadShape(const ms::View& dims, ms::Shape* out) {
  if (dims.rank() != 1 || dims.size() > static_cast<int64_t>(ms::kMaxRank)) {
    return ms::InvalidArgument("Fill: input dims must be a vector of at most ", ms::kMaxRank,
                               " elements, its shape is ", dims.shape().ToString());
  }
  int64_t elements = 1;
  bool overflow = false;
  for (int64_t i = 0; i < dims.size(); ++i) {
    const int64_t dim = static_cast<int64_t>(dims.data<Index>()[i]);
    if (dim < 0) return ms::InvalidArgument("Fill: input dims has a negative element ", dim);
    overflow = overflow || __builtin_mul_overflow(elements, dim, &elements);
    out->Append(dim);
  }
  if (overflow) {
    return ms::InvalidArgument("Fill: input dims ", out->ToString(),
                               " asks for more elements than a tensor can have");
  }
  return ms::Status();
}

class Fill {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    const ms::View dims = frame.input(0);
    const ms::View value = frame.input(1);
    ms::Shape shape;
    MS_TRY(dims.dtype() == MS_INT64 ? ReadShape<int64_t>(dims, &shape)
                                    : ReadShape<int32_t>(dims, &shape));
    if (value.rank() != 0) {
      return ms::InvalidArgument("Fill: input value must be a scalar, its shape is ",
                                 value.shape().ToString());
    }
    ms::View out;
    MS_TRY(frame.Output(0, shape, &out));
    if (value.dtype() != MS_STRING) return FillView(frame, value.raw(), out);
    std::string_view text;
    MS_TRY(value.GetString(0, &text));
    return FillStrings(text, out);
  }
};

class ZerosLike {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    const ms::View x = frame.input(0);
    ms::View out;
    MS_TRY(frame.ForwardOrOutput(0, 0, x.shape(), &out));
    constexpr uint64_t kZero[2] = {0, 0};
    return FillView(frame, kZero, out);
  }
};

// Empty strings.
class StringZerosLike {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    ms::View out;
    MS_TRY(frame.Output(0, frame.input(0).shape(), &out));
    return FillStrings(std::string_view(), out);
  }
};

template <typename T>
class OnesLike {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    const ms::View x = frame.input(0);
    ms::View out;
    MS_TRY(frame.ForwardOrOutput(0, 0, x.shape(), &out));
    const T one = T(1);
    return FillView(frame, &one, out);
  }
};

const std::vector<MS_DType>& FixedSizeTypes() {
  static const std::vector<MS_DType>* const types = new std::vector<MS_DType>{
      MS_BOOL,       MS_INT8,   MS_INT16,   MS_INT32,   MS_INT64,   MS_UINT8,    MS_UINT16,
      MS_UINT32,     MS_UINT64, MS_FLOAT16, MS_FLOAT32, MS_FLOAT64, MS_BFLOAT16, MS_COMPLEX64,
      MS_COMPLEX128, MS_QINT8,  MS_QUINT8,  MS_QINT16,  MS_QUINT16, MS_QINT32};
  return *types;
}

std::vector<MS_DType> FixedSizeTypesAndString() {
  std::vector<MS_DType> types = FixedSizeTypes();
  types.push_back(MS_STRING);
  return types;
}

const ms::Registered fill =
    ms::Register<Fill>("Fill", ms::KernelOptions()
                                   .Types("T", FixedSizeTypesAndString())
                                   .Types("index_type", {MS_INT32, MS_INT64})
                                   .HostArg("dims"));
const ms::Registered zeros_like = ms::Register<ZerosLike>(
    "ZerosLike", ms::KernelOptions().Types("T", FixedSizeTypes()).InPlace(0, 0));
const ms::Registered zeros_like_strings =
    ms::Register<StringZerosLike>("ZerosLike", ms::KernelOptions().Types("T", {MS_STRING}));
const ms::Registered ones_like =
    ms::RegisterForTypes<OnesLike, float, double, int8_t, int16_t, int32_t, int64_t, uint8_t,
                         uint16_t, uint32_t, uint64_t, bool, Float16, BFloat16, std::complex<float>,
                         std::complex<double>>("OnesLike", "T", ms::KernelOptions().InPlace(0, 0));

}  // namespace
}  // namespace millstream::kernels
