#include "kernels/elementwise/float_loops.h"

#include <map>

namespace millstream::kernels {
namespace {

std::map<std::string_view, FloatLoops>& Table() {
  static std::map<std::string_view, FloatLoops> table;
  return table;
}

}  // namespace

void AddFloatLoops(const char* op, const FloatLoops& loops) { Table()[op] = loops; }

const FloatLoops* FindFloatLoops(std::string_view op) {
  const auto found = Table().find(op);
  return found == Table().end() ? nullptr : &found->second;
}

}  // namespace millstream::kernels
