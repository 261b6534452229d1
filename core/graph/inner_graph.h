// Loops and conditionals as nodes of a step (ops _Loop and _Branch), with graphs of their own.
#ifndef MILLSTREAM_CORE_GRAPH_INNER_GRAPH_H_
#define MILLSTREAM_CORE_GRAPH_INNER_GRAPH_H_

#include <memory>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/prune.h"
#include "core/graph/step_signature.h"

namespace millstream {

// Copies of the program's nodes. The feeds of the signature stand for inputs of the node that has
// the graph.
struct InnerGraph {
  std::unique_ptr<Graph> graph;
  PrunedGraph pruned;
  StepSignature signature;
};

// A variable that adds up products of matrices, transpose(a) * b, of which each iteration computes
// a and b. Nothing reads it in the loop, so the products of several iterations may be added as one:
// that of their matrices, one below the other.
struct LoopSum {
  InnerGraph graph;  // feeds: the sum so far, a, b; fetches the sum with the product
};

// The node's inputs are the initial values of the variables, then the values that all iterations
// read, which are the feeds of both graphs, then the initial values of the sums. Its outputs are
// last values. Constant after it is made.
struct LoopBody {
  std::string frame;  // the name of the loop's frame in the program
  int num_variables = 0;
  std::vector<int> exits;  // output j of the node is the last value of what input exits[j] begins
  InnerGraph condition;    // fetches whether there is an iteration with these values
  // One iteration, and the condition for its results: fetches the next value of each variable, then
  // whether there is an iteration with them, then a and b of each sum.
  InnerGraph iteration;
  std::vector<LoopSum> sums;
};

// The node's inputs are the predicate, then the values that the branches read, which are the feeds
// of both graphs. Its outputs are the fetches of the branch that runs. Constant after it is made.
struct BranchBody {
  InnerGraph on_false;
  InnerGraph on_true;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_GRAPH_INNER_GRAPH_H_
