// Select: t where the condition holds, e elsewhere. The condition has the shape of t and e, or is a
// scalar, or a vector that chooses whole rows. Works on bytes, one loop an element size, or on
// string cells.
#include <cstdint>
#include <cstring>

#include "kernels/array/strings.h"
#include "kernels/common/parallel.h"
#include "kernels/simd/instruction_set.h"

namespace millstream::kernels {
namespace {

using SelectLoop = void (*)(const uint8_t* condition, const void* t, const void* e, void* out,
                            int64_t begin, int64_t end);

template <typename Word>
void SelectElements(const uint8_t* condition, const void* t_base, const void* e_base,
                    void* out_base, int64_t begin, int64_t end) {
  const Word* t = static_cast<const Word*>(t_base);
  const Word* e = static_cast<const Word*>(e_base);
  Word* out = static_cast<Word*>(out_base);
#pragma GCC ivdep
  for (int64_t i = begin; i < end; ++i) {
    // All ones or all zeros, so that both values are read and no branch is taken.
    const Word mask = static_cast<Word>(-static_cast<Word>(condition[i] != 0));
    out[i] = static_cast<Word>((t[i] & mask) | (e[i] & static_cast<Word>(~mask)));
  }
}

template <typename Word>
void SelectWide(const uint8_t* condition, const void* t, const void* e, void* out, int64_t begin,
                int64_t end) {
  RunLoop<&SelectElements<Word>>(condition, t, e, out, begin, end);
}

// How many neighbouring elements of t and e each element of the condition chooses for.
ms::Status ChosenTogether(const ms::View& condition, const ms::View& t, const ms::View& e,
                          int64_t* together) {
  const ms::Shape shape = t.shape();
  if (shape != e.shape()) {
    return ms::InvalidArgument("Select: inputs t and e must have the same shape, got ",
                               shape.ToString(), " and ", e.shape().ToString());
  }
  const bool by_element = condition.shape() == shape;
  const bool by_row = condition.rank() == 1 && shape.rank() > 0 && condition.dim(0) == shape[0];
  if (!by_element && !by_row && condition.rank() != 0) {
    return ms::InvalidArgument(
        "Select: input condition must be a scalar, have the shape of t, or be a vector of as "
        "many elements as t has rows; its shape is ",
        condition.shape().ToString(), ", that of t ", shape.ToString());
  }
  *together = condition.size() == 0 ? 0 : t.size() / condition.size();
  return ms::Status();
}

class Select {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    element_size_ = ms::ElementSize(info.input_dtype(1));
    switch (element_size_) {
      case 1: loop_ = &SelectElements<uint8_t>; return ms::Status();
      case 2: loop_ = &SelectElements<uint16_t>; return ms::Status();
      case 4: loop_ = &SelectWide<uint32_t>; return ms::Status();
      case 8: loop_ = &SelectWide<uint64_t>; return ms::Status();
      case 16: loop_ = &SelectElements<unsigned __int128>; return ms::Status();
      default:
        return ms::Unimplemented("Select: no kernel for elements of ", element_size_, " bytes");
    }
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View condition = frame.input(0);
    const ms::View t = frame.input(1);
    const ms::View e = frame.input(2);
    int64_t together = 0;
    MS_TRY(ChosenTogether(condition, t, e, &together));
    ms::View out;
    MS_TRY(frame.ForwardOrOutput(1, 0, t.shape(), &out));
    if (t.size() == 0) return ms::Status();
    if (together == 1) {
      MS_TRY(SelectByElement(frame, condition, t, e, out));
    } else {
      const uint64_t row_bytes = static_cast<uint64_t>(together) * element_size_;
      CopyRows(condition.data<uint8_t>(), condition.size(), row_bytes, t, e, out);
    }
    return ms::Status();
  }

 private:
  ms::Status SelectByElement(ms::Frame& frame, const ms::View& condition, const ms::View& t,
                             const ms::View& e, const ms::View& out) const {
    const int64_t picoseconds = static_cast<int64_t>(100 * element_size_);
    return ParallelElements(frame, t.size(), picoseconds, [&](int64_t begin, int64_t end) {
      loop_(condition.data<uint8_t>(), t.raw(), e.raw(), out.raw(), begin, end);
    });
  }

  // Row i of the output is row i of t or of e, which may be the output's own memory.
  static void CopyRows(const uint8_t* condition, int64_t rows, uint64_t row_bytes,
                       const ms::View& t, const ms::View& e, const ms::View& out) {
    for (int64_t row = 0; row < rows; ++row) {
      const uint64_t at = static_cast<uint64_t>(row) * row_bytes;
      const char* source = (condition[row] != 0 ? t : e).data<char>() + at;
      if (source != out.data<char>() + at) std::memcpy(out.data<char>() + at, source, row_bytes);
    }
  }

  uint64_t element_size_ = 0;
  SelectLoop loop_ = nullptr;
};

class StringSelect {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    const ms::View condition = frame.input(0);
    const ms::View t = frame.input(1);
    const ms::View e = frame.input(2);
    int64_t together = 0;
    MS_TRY(ChosenTogether(condition, t, e, &together));
    ms::View out;
    MS_TRY(frame.Output(0, t.shape(), &out));
    for (int64_t row = 0; row < condition.size(); ++row) {
      const ms::View& source = condition.data<uint8_t>()[row] != 0 ? t : e;
      MS_TRY(CopyStrings(source, row * together, out, row * together, together));
    }
    return ms::Status();
  }
};

const ms::Registered select_kernel = ms::Register<Select>(
    "Select", ms::KernelOptions()
                  .Types("T", {MS_BOOL,    MS_INT8,    MS_INT16,    MS_INT32,     MS_INT64,
                               MS_UINT8,   MS_UINT16,  MS_UINT32,   MS_UINT64,    MS_FLOAT16,
                               MS_FLOAT32, MS_FLOAT64, MS_BFLOAT16, MS_COMPLEX64, MS_COMPLEX128,
                               MS_QINT8,   MS_QUINT8,  MS_QINT16,   MS_QUINT16,   MS_QINT32})
                  .InPlace(0, 1)
                  .InPlace(0, 2));
const ms::Registered select_strings =
    ms::Register<StringSelect>("Select", ms::KernelOptions().Types("T", {MS_STRING}));

}  // namespace
}  // namespace millstream::kernels
