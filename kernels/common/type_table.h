// Tables of the loops that an op has: one entry a type that is computed in.
//
// An op takes more types than it has loops for. The 16-bit floating-point types run float's loops,
// a tile at a time. Integers whose results have the same bits whether they are signed or not, and
// bool, run those of the unsigned integer of their size, where the table has none of their own.
#ifndef MILLSTREAM_KERNELS_COMMON_TYPE_TABLE_H_
#define MILLSTREAM_KERNELS_COMMON_TYPE_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/narrow_tiles.h"

namespace millstream::kernels {

// Sets of types, to be joined by |.
enum TypeSet : uint32_t {
  kFloatTypes = 1,  // those of 16 bits are among them
  kComplexTypes = 2,
  kSignedTypes = 4,
  kUnsignedTypes = 8,
  kIntegerTypes = kSignedTypes | kUnsignedTypes,
  kOrderedTypes = kFloatTypes | kIntegerTypes,
  kAllNumberTypes = kOrderedTypes | kComplexTypes,
};

std::vector<MS_DType> TypesIn(uint32_t sets);

// Whose loops a type runs that has none of its own; the type itself where it has to have.
MS_DType SharedLoopType(MS_DType dtype);

// How elements of a 16-bit floating-point type become floats and back; null for any other type.
const NarrowFormat* NarrowFormatOf(MS_DType dtype);

// `Functions` is a struct with a member `MS_DType dtype`, the type that its loops compute.
template <typename Functions>
struct TypeTable {
  const Functions* begin;
  size_t count;

  // The entry for the type, or null.
  const Functions* Find(MS_DType dtype) const {
    const Functions* own = FindExactly(dtype);
    return own != nullptr ? own : FindExactly(SharedLoopType(dtype));
  }

 private:
  const Functions* FindExactly(MS_DType dtype) const {
    for (size_t i = 0; i < count; ++i) {
      if (begin[i].dtype == dtype) return begin + i;
    }
    return nullptr;
  }
};

// The error of a kernel that is registered for a type that its table has no loops for.
ms::Status NoLoopFor(MS_DType dtype);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_COMMON_TYPE_TABLE_H_
