#include "kernels/common/type_table.h"

namespace millstream::kernels {

std::vector<MS_DType> TypesIn(uint32_t sets) {
  std::vector<MS_DType> types;
  const auto add = [&](uint32_t set, std::initializer_list<MS_DType> members) {
    if ((sets & set) != 0) types.insert(types.end(), members);
  };
  add(kFloatTypes, {MS_FLOAT32, MS_FLOAT64, MS_FLOAT16, MS_BFLOAT16});
  add(kComplexTypes, {MS_COMPLEX64, MS_COMPLEX128});
  add(kSignedTypes, {MS_INT8, MS_INT16, MS_INT32, MS_INT64});
  add(kUnsignedTypes, {MS_UINT8, MS_UINT16, MS_UINT32, MS_UINT64});
  return types;
}

MS_DType SharedLoopType(MS_DType dtype) {
  switch (dtype) {
    case MS_FLOAT16:
    case MS_BFLOAT16: return MS_FLOAT32;
    case MS_BOOL:
    case MS_INT8:
    case MS_QINT8:
    case MS_QUINT8: return MS_UINT8;
    case MS_INT16:
    case MS_QINT16:
    case MS_QUINT16: return MS_UINT16;
    case MS_INT32:
    case MS_QINT32: return MS_UINT32;
    case MS_INT64: return MS_UINT64;
    default: return dtype;
  }
}

const NarrowFormat* NarrowFormatOf(MS_DType dtype) {
  switch (dtype) {
    case MS_FLOAT16: return &kNarrowFormat<Float16>;
    case MS_BFLOAT16: return &kNarrowFormat<BFloat16>;
    default: return nullptr;
  }
}

ms::Status NoLoopFor(MS_DType dtype) {
  return ms::Internal("a kernel was registered for dtype ", dtype, ", which it has no loop for");
}

}  // namespace millstream::kernels
