// Recorded work, and the functions of "ms.capture/1".
#ifndef MILLSTREAM_DEVICE_PLUGINS_SIM_GRAPH_H_
#define MILLSTREAM_DEVICE_PLUGINS_SIM_GRAPH_H_

#include <cstdint>
#include <vector>

#include "device_plugins/sim/device.h"

namespace millstream::sim {

// The MS_Graph of these tables: what a stream recorded between BeginCapture and EndCapture. A
// replay makes and enqueues the items one by one, so that delays and faults come as without
// recording. One thread at a time uses it.
class Graph {
 public:
  Graph(Device* device, std::vector<ItemMaker> makers);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // Those of all devices that exist, also of devices that do not any more.
  static uint64_t CountAll();

  // UNIMPLEMENTED when the switch follow is off and something has moved.
  ms::Status Update(const MS_MemChange* changes, uint64_t n);
  // INVALID_ARGUMENT for a stream of another device; what the switch fail_replay says.
  ms::Status Replay(Stream* stream) const;

 private:
  Device* const device_;
  const std::vector<ItemMaker> makers_;
  Relocation relocation_;
};

const MS_CaptureApi* CaptureTable();

}  // namespace millstream::sim

#endif  // MILLSTREAM_DEVICE_PLUGINS_SIM_GRAPH_H_
