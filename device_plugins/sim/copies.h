// Copies and fills on streams.
#ifndef MILLSTREAM_DEVICE_PLUGINS_SIM_COPIES_H_
#define MILLSTREAM_DEVICE_PLUGINS_SIM_COPIES_H_

#include <cstdint>

#include "device_plugins/sim/device.h"

namespace millstream::sim {

// All of these check what they are given, and enqueue; INVALID_ARGUMENT for more bytes than a block
// has, and for addresses that are not in a block of the device that they are said to be in. Host
// memory must stay until the copy is done.

// Between blocks of the stream's device and of the host, in any direction.
ms::Status CopyAsync(Stream* stream, const MS_MemRef& to, const MS_MemRef& from, uint64_t bytes);
// Between blocks of any two simulated devices. UNIMPLEMENTED when one of them has the switch peer
// off.
ms::Status CopyPeerAsync(Stream* stream, const MS_MemRef& to, const MS_MemRef& from,
                         uint64_t bytes);
// The low `width` bytes of `pattern`, 1, 2 or 4 of them, over and over. It counts as work.
ms::Status FillAsync(Stream* stream, const MS_MemRef& to, uint32_t pattern, uint32_t width,
                     uint64_t bytes);

}  // namespace millstream::sim

#endif  // MILLSTREAM_DEVICE_PLUGINS_SIM_COPIES_H_
