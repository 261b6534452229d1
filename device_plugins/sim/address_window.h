// Memory that has two addresses: one that the host is given, and one where it can be touched.
#ifndef MILLSTREAM_DEVICE_PLUGINS_SIM_ADDRESS_WINDOW_H_
#define MILLSTREAM_DEVICE_PLUGINS_SIM_ADDRESS_WINDOW_H_

#include <cstdint>
#include <memory>

#include "framework/plugin/plugin.hpp"

namespace millstream::sim {

// One reservation of addresses, in three parts of which the middle one alone has memory:
//
//   [ shown: no access ][ local: the bytes ][ a page without access ]
//
// The host is given addresses of the first part, and faults when it touches one. The device's
// threads find the same byte at a constant distance, in the second. Constant after creation.
class AddressWindow {
 public:
  // RESOURCE_EXHAUSTED when the system has no such range left.
  static ms::Status Create(uint64_t bytes, std::unique_ptr<AddressWindow>* out);
  ~AddressWindow();
  AddressWindow(const AddressWindow&) = delete;
  AddressWindow& operator=(const AddressWindow&) = delete;

  uint64_t shown_begin() const { return reinterpret_cast<uint64_t>(reservation_); }
  uint64_t size() const { return size_; }
  bool Shows(const void* address) const { return Offset(address) < size_; }

  // Where the device's threads find what the host knows by `address`. Any other address, such as
  // one of host memory, is itself.
  template <typename T>
  T* Local(T* address) const {
    if (!Shows(address)) return address;
    return reinterpret_cast<T*>(reinterpret_cast<uint64_t>(address) + size_);
  }

 private:
  AddressWindow(char* reservation, uint64_t size, uint64_t reserved)
      : reservation_(reservation), size_(size), reserved_(reserved) {}
  // At least size_ for an address outside.
  uint64_t Offset(const void* address) const {
    return reinterpret_cast<uint64_t>(address) - shown_begin();
  }

  char* const reservation_;
  const uint64_t size_;  // of each of the first two parts; a multiple of the page
  const uint64_t reserved_;
};

}  // namespace millstream::sim

#endif  // MILLSTREAM_DEVICE_PLUGINS_SIM_ADDRESS_WINDOW_H_
