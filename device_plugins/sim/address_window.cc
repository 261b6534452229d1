#include "device_plugins/sim/address_window.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace millstream::sim {

ms::Status AddressWindow::Create(uint64_t bytes, std::unique_ptr<AddressWindow>* out) {
  const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t size = (bytes + page - 1) / page * page;
  const uint64_t reserved = 2 * size + page;
  void* const reservation =
      mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reservation == MAP_FAILED) {
    return ms::Status(MS_RESOURCE_EXHAUSTED,
                      ms::StrCat("no range of ", reserved, " addresses for ", bytes,
                                 " bytes of device memory: ", std::strerror(errno)));
  }
  std::unique_ptr<AddressWindow> window(
      new AddressWindow(static_cast<char*>(reservation), size, reserved));
  if (mprotect(window->reservation_ + size, size, PROT_READ | PROT_WRITE) != 0) {
    return ms::Status(MS_RESOURCE_EXHAUSTED,
                      ms::StrCat("no ", bytes, " bytes of device memory: ", std::strerror(errno)));
  }
  *out = std::move(window);
  return ms::Status();
}

AddressWindow::~AddressWindow() { munmap(reservation_, reserved_); }

}  // namespace millstream::sim
