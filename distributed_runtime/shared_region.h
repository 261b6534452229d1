// Memory that two processes share.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_SHARED_REGION_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_SHARED_REGION_H_

#include <cstddef>
#include <memory>

namespace millstream {

// A file without a name, mapped. It exists as long as a process maps it or has its descriptor, so
// nothing is left when processes end in any way.
class SharedRegion {
 public:
  // New memory of at least `size` bytes. Null if the system gives none.
  static std::shared_ptr<SharedRegion> Create(size_t size);
  // The memory of another process, whose descriptor it takes over and closes. Null if that is no
  // memory of this size, or if the other process could make it smaller.
  static std::shared_ptr<SharedRegion> Map(int descriptor, size_t size);
  ~SharedRegion();
  SharedRegion(const SharedRegion&) = delete;
  SharedRegion& operator=(const SharedRegion&) = delete;

  char* data() const { return data_; }
  size_t size() const { return size_; }
  // To be sent to the other process; -1 if there is none any more.
  int descriptor() const { return descriptor_; }
  // Closes it once it was sent: a process has few, and tensors may keep many regions. REQUIRES: no
  // other thread asks for the descriptor meanwhile.
  void CloseDescriptor();

 private:
  SharedRegion(int descriptor, char* data, size_t size)
      : descriptor_(descriptor), data_(data), size_(size) {}
  static std::shared_ptr<SharedRegion> MapOwn(int descriptor, size_t size);

  int descriptor_;
  char* const data_;
  const size_t size_;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_SHARED_REGION_H_
