// What a kernel of simulated devices needs: its work on the frame's stream, and its memory there.
//
//   ms::Status Compute(ms::Frame& frame) const {
//     ms::View y;
//     MS_TRY(frame.Output(0, frame.input(0).shape(), &y));
//     const float* from = sim::Local<float>(frame, frame.input(0));
//     float* to = sim::Local<float>(frame, y);
//     return sim::Launch(frame, [from, to, n = y.size()] { ... });
//   }
//
// What is launched runs later, in the stream's thread: it captures addresses, sizes and attributes
// by value, and neither the frame nor a view nor the kernel object, which may be gone by then.
#ifndef MILLSTREAM_DEVICE_PLUGINS_SIM_LAUNCH_H_
#define MILLSTREAM_DEVICE_PLUGINS_SIM_LAUNCH_H_

#include <functional>
#include <utility>

#include "device_plugins/sim/device.h"
#include "framework/plugin/plugin.hpp"

namespace millstream::sim {

// The simulated device that the frame's kernel runs for.
inline Device* DeviceOf(const ms::Frame& frame) {
  return reinterpret_cast<Device*>(frame.raw()->device_state);
}

// Where launched work finds what the host knows by `address`: planned outputs, scratch, variables.
// Addresses of host memory are themselves.
template <typename T>
T* Local(const ms::Frame& frame, T* address) {
  return DeviceOf(frame)->memory()->window().Local(address);
}

// Where launched work finds the elements of a view; those of a host argument are where they are,
// and may be read in Compute as well.
template <typename T>
T* Local(const ms::Frame& frame, const ms::View& view) {
  return reinterpret_cast<T*>(DeviceOf(frame)->memory()->Local(view.abi().mem));
}

// Does `work` on the stream, after what was enqueued there before; returns at once. UNAVAILABLE
// when the device is lost; what the switch fail_work says. Work that throws loses the device.
inline ms::Status Launch(MS_Stream* stream, std::function<void()> work) {
  Item item{Item::Kind::kWork};
  item.run = std::move(work);
  return reinterpret_cast<Stream*>(stream)->Enqueue(std::move(item));
}
inline ms::Status Launch(const ms::Frame& frame, std::function<void()> work) {
  return Launch(frame.raw()->stream, std::move(work));
}

}  // namespace millstream::sim

#endif  // MILLSTREAM_DEVICE_PLUGINS_SIM_LAUNCH_H_
