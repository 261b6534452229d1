// Memory for frames that is taken away when the frame is over: whoever still uses it faults.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_FRAME_PAGE_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_FRAME_PAGE_H_

#include <cstddef>
#include <cstdint>

namespace millstream::plugin_check {

// Pages of their own; the addresses are never given out again.
class FramePage {
 public:
  FramePage();
  FramePage(const FramePage&) = delete;
  FramePage& operator=(const FramePage&) = delete;
  ~FramePage() { Close(); }

  // Zeroed room for `count` objects, of which all together fit into 64 KiB; null beyond that.
  template <typename T>
  T* Make(size_t count) {
    return static_cast<T*>(Room(count * sizeof(T)));
  }
  // From now on every access faults.
  void Close();

 private:
  void* Room(size_t bytes);

  char* start_ = nullptr;
  size_t used_ = 0;
};

}  // namespace millstream::plugin_check

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_FRAME_PAGE_H_
