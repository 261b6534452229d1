// Imports a GraphDef, and looks at what came of it.
#ifndef MILLSTREAM_TESTING_FUZZ_GRAPH_WALK_H_
#define MILLSTREAM_TESTING_FUZZ_GRAPH_WALK_H_

#include "absl/strings/string_view.h"

namespace millstream::fuzz {

// Imports the bytes by the C API. Of a graph that is taken, every node is looked at, it is
// exported, what was exported is imported again, and gradients are asked for. Aborts when a graph
// that was taken is not taken again.
void ImportAndWalk(absl::string_view graph_def);

}  // namespace millstream::fuzz

#endif  // MILLSTREAM_TESTING_FUZZ_GRAPH_WALK_H_
