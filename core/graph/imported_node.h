// What a node of an imported graph was, where the runtime has other nodes in its place.
#ifndef MILLSTREAM_CORE_GRAPH_IMPORTED_NODE_H_
#define MILLSTREAM_CORE_GRAPH_IMPORTED_NODE_H_

#include <string>
#include <vector>

#include "framework/attr_value.h"

namespace millstream {

// Nodes that worked on references to variables run as nodes on handles (core/import/import_refs.h).
// One of them keeps the imported node's name, the others are hidden: errors speak of the imported
// node, and exports write it as it came.
struct ImportedNode {
  // The imported node that it works for.
  std::string name;
  std::string op;
  // Outputs, as "v" or "v:1", that it takes as references: not for their values.
  std::vector<std::string> references;

  // ---- Of hidden nodes ----
  bool hidden = false;
  // Output i stands for output first_output + i of this imported node.
  std::string stands_for;
  int first_output = 0;
  // It reads the variable for another node, which takes that output's value.
  bool is_read = false;

  // ---- Of nodes that keep their name: what the GraphDef said ----
  AttrMap attrs;
  std::vector<std::string> inputs;  // "v", "v:1", and after them "^v"
  // How many control inputs the node had when it was added; further ones are the user's.
  size_t num_controls = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_GRAPH_IMPORTED_NODE_H_
