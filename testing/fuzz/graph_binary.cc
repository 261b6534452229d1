// A GraphDef as bytes.
#include "testing/fuzz/graph_walk.h"
#include "testing/fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  millstream::fuzz::ImportAndWalk({reinterpret_cast<const char*>(data), size});
  return 0;
}
