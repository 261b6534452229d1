// Cast between all real and complex numbers, quantized ones and bool. A quantized number is the
// integer that it is stored as.
//
// Floating-point numbers are cut towards zero. What does not fit wraps, as the usual conversion of
// x86-64 does: a number is first made an int32 (for int8, int16, uint8, uint16, int32) or an int64
// (for uint32, int64, uint64), the smallest one if it is outside, and then cut to its low bits.
// Anything but zero is true. Of a complex number only the real part counts, unless the result is
// complex, too.
//
// With Truncate, a floating-point number loses the bits of its fraction that the result's type has
// no place for, so that it is cut towards zero instead of rounded to the nearest.
// Below the smallest normal number of the result's type what is left is rounded.
//
// Loops exist between the types that the machine computes in. The others are read as and written
// from one of those, a tile at a time: the 16-bit floating-point numbers and complex64 from
// float32, complex128 from float64.
#include <algorithm>
#include <array>
#include <complex>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "kernels/common/narrow_tiles.h"
#include "kernels/common/parallel.h"
#include "kernels/elementwise/convert.h"
#include "kernels/elementwise/unary.h"

namespace millstream::kernels {
namespace {

template <typename From, typename To>
void CastElements(const void* x_base, void* out_base, int64_t begin, int64_t end) {
  const From* x = static_cast<const From*>(x_base);
  To* out = static_cast<To*>(out_base);
#pragma GCC ivdep
  for (int64_t i = begin; i < end; ++i) out[i] = Convert<From, To>(x[i]);
}

// As CastElements, in the chosen instruction set: in the wider one of both types from and to
// floating-point numbers, in the narrower one among integers.
template <typename From, typename To>
void RunCast(const void* x, void* out, int64_t begin, int64_t end) {
  constexpr bool kRounds = std::is_floating_point_v<From> || std::is_floating_point_v<To>;
  constexpr InstructionSet kMost = kRounds ? std::max(kWidestLoops<From>, kWidestLoops<To>)
                                           : std::min(kWidestLoops<From>, kWidestLoops<To>);
  RunLoopUpTo<kMost, &CastElements<From, To>>(x, out, begin, end);
}

// ---- Loops between the types that the machine computes in ----

constexpr int kTypes = 11;
constexpr std::array<MS_DType, kTypes> kDTypes = {MS_BOOL,   MS_INT8,    MS_INT16,  MS_INT32,
                                                  MS_INT64,  MS_UINT8,   MS_UINT16, MS_UINT32,
                                                  MS_UINT64, MS_FLOAT32, MS_FLOAT64};

// The loops from one type to all, in the order of kDTypes.
template <typename From>
constexpr std::array<UnaryLoop, kTypes> LoopsFrom() {
  return {&RunCast<From, bool>,     &RunCast<From, int8_t>,   &RunCast<From, int16_t>,
          &RunCast<From, int32_t>,  &RunCast<From, int64_t>,  &RunCast<From, uint8_t>,
          &RunCast<From, uint16_t>, &RunCast<From, uint32_t>, &RunCast<From, uint64_t>,
          &RunCast<From, float>,    &RunCast<From, double>};
}
constexpr std::array<std::array<UnaryLoop, kTypes>, kTypes> kLoops = {
    LoopsFrom<bool>(),     LoopsFrom<int8_t>(),  LoopsFrom<int16_t>(),  LoopsFrom<int32_t>(),
    LoopsFrom<int64_t>(),  LoopsFrom<uint8_t>(), LoopsFrom<uint16_t>(), LoopsFrom<uint32_t>(),
    LoopsFrom<uint64_t>(), LoopsFrom<float>(),   LoopsFrom<double>()};

// The place of a dtype in kDTypes. REQUIRES: it is there, as the registration says.
int IndexOf(MS_DType dtype) {
  int i = 0;
  while (kDTypes[i] != dtype) ++i;
  return i;
}

// ---- The other types ----

// `n` elements from `begin` on, between a tensor and a tile.
using ReadTile = void (*)(const void* from, int64_t begin, int64_t n, void* tile);
using WriteTile = void (*)(const void* tile, int64_t n, void* to, int64_t begin);

// How a type is read as and written from another. `read` and `write` are null for the types that
// loops take themselves, and for those that are stored as such a type.
struct Form {
  MS_DType dtype;
  MS_DType computed;
  ReadTile read = nullptr;
  WriteTile write = nullptr;
};

template <typename Narrow>
void ReadNarrow(const void* from, int64_t begin, int64_t n, void* tile) {
  WidenElements(static_cast<const Narrow*>(from) + begin, n, static_cast<float*>(tile));
}
template <typename Narrow>
void WriteNarrow(const void* tile, int64_t n, void* to, int64_t begin) {
  NarrowElements(static_cast<const float*>(tile), n, static_cast<Narrow*>(to) + begin);
}

// Clears the `bits` lowest bits of the numbers of a tile. A NaN stays as it is.
template <typename Real, typename Bits>
void CutTile(void* tile, int64_t n, int bits) {
  Real* x = static_cast<Real*>(tile);
  const Bits kept = ~Bits{0} << bits;
  for (int64_t i = 0; i < n; ++i) {
    Bits cut;
    std::memcpy(&cut, &x[i], sizeof(cut));
    if (x[i] == x[i]) cut &= kept;
    std::memcpy(&x[i], &cut, sizeof(cut));
  }
}

// The bits that a type of floating-point numbers stores of a fraction; 64 for other types, which
// are never cut to.
int FractionBits(MS_DType dtype) {
  switch (dtype) {
    case MS_BFLOAT16: return 7;
    case MS_FLOAT16: return 10;
    case MS_FLOAT32:
    case MS_COMPLEX64: return 23;
    case MS_FLOAT64:
    case MS_COMPLEX128: return 52;
    default: return 64;
  }
}

template <typename Real>
void ReadRealPart(const void* from, int64_t begin, int64_t n, void* tile) {
  const auto* x = static_cast<const std::complex<Real>*>(from) + begin;
  for (int64_t i = 0; i < n; ++i) static_cast<Real*>(tile)[i] = x[i].real();
}
template <typename Real>
void WriteRealPart(const void* tile, int64_t n, void* to, int64_t begin) {
  auto* out = static_cast<std::complex<Real>*>(to) + begin;
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<const Real*>(tile)[i];
}

constexpr std::array<Form, 9> kForms = {
    Form{MS_FLOAT16, MS_FLOAT32, &ReadNarrow<Float16>, &WriteNarrow<Float16>},
    Form{MS_BFLOAT16, MS_FLOAT32, &ReadNarrow<BFloat16>, &WriteNarrow<BFloat16>},
    Form{MS_COMPLEX64, MS_FLOAT32, &ReadRealPart<float>, &WriteRealPart<float>},
    Form{MS_COMPLEX128, MS_FLOAT64, &ReadRealPart<double>, &WriteRealPart<double>},
    Form{MS_QINT8, MS_INT8},
    Form{MS_QINT16, MS_INT16},
    Form{MS_QINT32, MS_INT32},
    Form{MS_QUINT8, MS_UINT8},
    Form{MS_QUINT16, MS_UINT16},
};

Form FormOf(MS_DType dtype) {
  for (const Form& form : kForms) {
    if (form.dtype == dtype) return form;
  }
  return Form{dtype, dtype};
}

bool IsComplex(MS_DType dtype) { return dtype == MS_COMPLEX64 || dtype == MS_COMPLEX128; }

class Cast {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    MS_DType from = 0;
    MS_DType to = 0;
    bool truncate = false;
    MS_TRY(info.DTypeAttr("SrcT", &from));
    MS_TRY(info.DTypeAttr("DstT", &to));
    MS_TRY(info.Attr("Truncate", &truncate));
    same_ = from == to;
    from_ = FormOf(from);
    to_ = FormOf(to);
    if (IsComplex(from) && IsComplex(to)) {
      // As twice as many real numbers.
      from_.read = nullptr;
      to_.write = nullptr;
      parts_ = 2;
    }
    if (same_ && ms::ElementSize(from) == 2) from_ = to_ = Form{from, MS_UINT16};  // their bits
    from_bytes_ = static_cast<int64_t>(ms::ElementSize(from_.computed));
    to_bytes_ = static_cast<int64_t>(ms::ElementSize(to_.computed));
    const bool is_real = from_.computed == MS_FLOAT32 || from_.computed == MS_FLOAT64;
    if (truncate && is_real) {
      cut_bits_ = std::max(0, FractionBits(from_.computed) - FractionBits(to));
    }
    loop_ = kLoops[IndexOf(from_.computed)][IndexOf(to_.computed)];
    return ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View x = frame.input(0);
    ms::View out;
    MS_TRY(same_ ? frame.ForwardOrOutput(0, 0, x.shape(), &out) : frame.Output(0, x.shape(), &out));
    if (same_ && out.raw() == x.raw()) return ms::Status();
    const void* const x_data = x.raw();
    void* const out_data = out.raw();
    const bool direct = from_.read == nullptr && to_.write == nullptr && cut_bits_ == 0;
    const int64_t picoseconds = direct ? 500 : kTilePicoseconds;
    MS_TRY(ParallelElements(frame, x.size() * parts_, picoseconds, [&](int64_t begin, int64_t end) {
      if (direct) {
        loop_(x_data, out_data, begin, end);
      } else {
        CastTiles(x_data, out_data, begin, end);
      }
    }));
    return ms::Status();
  }

 private:
  void CastTiles(const void* x, void* out, int64_t begin, int64_t end) const {
    alignas(16) char read[kTileElements * sizeof(double)];
    alignas(16) char converted[kTileElements * sizeof(double)];
    for (int64_t at = begin; at < end; at += kTileElements) {
      const int64_t n = std::min(kTileElements, end - at);
      const void* source = static_cast<const char*>(x) + at * from_bytes_;
      if (from_.read != nullptr) {
        from_.read(x, at, n, read);
        source = read;
      }
      if (cut_bits_ > 0) {
        if (source != read) std::memcpy(read, source, static_cast<size_t>(n * from_bytes_));
        source = read;
        if (from_.computed == MS_FLOAT32) {
          CutTile<float, uint32_t>(read, n, cut_bits_);
        } else {
          CutTile<double, uint64_t>(read, n, cut_bits_);
        }
      }
      if (to_.write == nullptr) {
        loop_(source, static_cast<char*>(out) + at * to_bytes_, 0, n);
      } else {
        loop_(source, converted, 0, n);
        to_.write(converted, n, out, at);
      }
    }
  }

  Form from_{};
  Form to_{};
  UnaryLoop loop_ = nullptr;  // from from_.computed to to_.computed
  int64_t from_bytes_ = 0;    // of an element of from_.computed
  int64_t to_bytes_ = 0;      // of one of to_.computed
  int64_t parts_ = 1;         // numbers of an element that the loop takes
  int cut_bits_ = 0;          // of from_.computed that Truncate clears before the conversion
  bool same_ = false;
};

// A text is not a number that has another form: no cast is defined, and none is merely missing.
class CastOfText {
 public:
  ms::Status Init(const ms::KernelInfo&) {
    return ms::Unimplemented("SrcT or DstT is string, expected types of numbers or bool");
  }
  ms::Status Compute(ms::Frame&) const { return ms::Status(); }
};

std::vector<MS_DType> AllTypes() {
  std::vector<MS_DType> types(kDTypes.begin(), kDTypes.end());
  for (const Form& form : kForms) types.push_back(form.dtype);
  return types;
}

const ms::Registered cast = ms::Register<Cast>(
    "Cast", ms::KernelOptions().Types("SrcT", AllTypes()).Types("DstT", AllTypes()));
const ms::Registered cast_from_text =
    ms::Register<CastOfText>("Cast", ms::KernelOptions().Types("SrcT", {MS_STRING}));
const ms::Registered cast_to_text =
    ms::Register<CastOfText>("Cast", ms::KernelOptions().Types("DstT", {MS_STRING}).Priority(-1));

}  // namespace
}  // namespace millstream::kernels
