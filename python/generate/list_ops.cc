// Prints the op registry as a JSON list (framework/op_json.h), for generate_ops.py.
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "framework/op_json.h"
#include "framework/op_registry.h"

int main() {
  std::vector<std::string> ops;
  for (const millstream::OpDef* op : millstream::OpRegistry::Global()->List()) {
    // Ops on references only come with imported graphs.
    if (!millstream::HasReferences(*op)) ops.push_back(millstream::OpJson(*op));
  }
  std::printf("[%s]\n", absl::StrJoin(ops, ",\n").c_str());
  return 0;
}
