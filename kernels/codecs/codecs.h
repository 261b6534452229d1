// The library of codecs, as kernels find it.
#ifndef MILLSTREAM_KERNELS_CODECS_CODECS_H_
#define MILLSTREAM_KERNELS_CODECS_CODECS_H_

#include <string_view>

#include "framework/plugin/plugin.hpp"
#include "kernels/codecs/codec_table.h"

namespace millstream::kernels {

// Sets *table to that of the library, which the first call of the process opens. The library is the
// file codecs/libmillstream_codecs.so beside the plugin's folder. MS_FAILED_PRECONDITION if it is
// not there, or is of another version. Any thread may call it.
ms::Status OpenCodecs(const millstream_codec_table** table);

// The only string of the input. INVALID_ARGUMENT, with the input's name, if it is no scalar.
ms::Status ReadFile(const ms::View& input, const char* name, std::string_view* file);

// INVALID_ARGUMENT: what is wrong with the argument of that name.
ms::Status RefuseFile(const char* name, const millstream_codec_error& error);

// The output of one string becomes the bytes, which are freed.
ms::Status SetBytes(const millstream_codec_table& table, const ms::View& output, int64_t i,
                    millstream_codec_bytes* bytes);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_CODECS_CODECS_H_
