#include "distributed_runtime/shared_region.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace millstream {
namespace {

// Of sizes, so that regions for tensors of similar sizes serve each other.
constexpr size_t kGranularity = size_t{64} << 10;

}  // namespace

std::shared_ptr<SharedRegion> SharedRegion::Create(size_t size) {
  const size_t whole = (size + kGranularity - 1) / kGranularity * kGranularity;
  const int descriptor = memfd_create("millstream", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor < 0) return nullptr;
  if (ftruncate(descriptor, static_cast<off_t>(whole)) != 0 ||
      fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
    close(descriptor);
    return nullptr;
  }
  return MapOwn(descriptor, whole);
}

std::shared_ptr<SharedRegion> SharedRegion::Map(int descriptor, size_t size) {
  struct stat found;
  const int seals = fcntl(descriptor, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || fstat(descriptor, &found) != 0 ||
      static_cast<size_t>(found.st_size) != size) {
    close(descriptor);
    return nullptr;
  }
  std::shared_ptr<SharedRegion> region = MapOwn(descriptor, size);
  if (region != nullptr) region->CloseDescriptor();
  return region;
}

std::shared_ptr<SharedRegion> SharedRegion::MapOwn(int descriptor, size_t size) {
  void* const data = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (data == MAP_FAILED) {
    close(descriptor);
    return nullptr;
  }
  return std::shared_ptr<SharedRegion>(
      new SharedRegion(descriptor, static_cast<char*>(data), size));
}

SharedRegion::~SharedRegion() {
  munmap(data_, size_);
  CloseDescriptor();
}

void SharedRegion::CloseDescriptor() {
  if (descriptor_ >= 0) close(descriptor_);
  descriptor_ = -1;
}

}  // namespace millstream
