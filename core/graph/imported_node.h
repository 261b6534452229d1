// The original form of an imported node that the import replaced by other nodes.
#ifndef MILLSTREAM_CORE_GRAPH_IMPORTED_NODE_H_
#define MILLSTREAM_CORE_GRAPH_IMPORTED_NODE_H_

#include <string>
#include <vector>

#include "framework/attr_value.h"

namespace millstream {

// Nodes on references to variables are replaced by nodes on handles (core/import/import_refs.h).
// One of these has the name of the imported node, the others are hidden. Errors name the imported
// node, and exports write it in its original form.
struct ImportedNode {
  // The imported node that it replaces or is a part of.
  std::string name;
  std::string op;
  // The outputs ("v" or "v:1") that it reads as references and not as values.
  std::vector<std::string> references;

  // ---- Of hidden nodes ----
  bool hidden = false;
  // Output i stands for output first_output + i of this imported node.
  std::string stands_for;
  int first_output = 0;
  // True: it reads the variable for one other node.
  bool is_read = false;

  // ---- Of nodes that keep their name: the original attributes and inputs ----
  AttrMap attrs;
  std::vector<std::string> inputs;  // "v", "v:1", and after them "^v"
  // The number of control inputs when the node was added. The user added further ones.
  size_t num_controls = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_GRAPH_IMPORTED_NODE_H_
