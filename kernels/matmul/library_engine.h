// oneDNN's handle of the CPU, for all kernels that call it.
#ifndef MILLSTREAM_KERNELS_MATMUL_LIBRARY_ENGINE_H_
#define MILLSTREAM_KERNELS_MATMUL_LIBRARY_ENGINE_H_

#include <dnnl.hpp>

namespace millstream::kernels {

inline const dnnl::engine& LibraryEngine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

// Memory of a tensor that the library reads or writes; it takes no const.
inline dnnl::memory LibraryMemory(const dnnl::memory::desc& desc, const void* data) {
  return dnnl::memory(desc, LibraryEngine(), const_cast<void*>(data));
}

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_MATMUL_LIBRARY_ENGINE_H_
