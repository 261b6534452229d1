// Which tensors between the master's task and another travel in the messages of a step.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_STEP_EXCHANGE_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_STEP_EXCHANGE_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/device/device_set.h"
#include "core/partition/partition.h"

namespace millstream {

// The master's task sends the other task a request, which begins the task's part of the step, and
// gets an answer when the part has ended. Tensors travel along, so a step that reads variables of a
// parameter server is one message each way.
//
// A tensor that the master's task can send only after the part has begun, because it may depend on
// one that the part sends before, or because the part has work to do meanwhile, travels with one
// more request. So a step has rounds. Each is a request with the tensors that the part needs next,
// and an answer with those that it has sent before it needs the tensors of the next round, or ends.
struct StepExchange {
  // Tensors of other tasks, and tensors whose receiver asks for them: those that would wait for an
  // answer although the part still works.
  static constexpr int kAsked = -1;

  bool Carries(int64_t edge) const { return rounds[edge] != kAsked; }

  // By edge: the round that carries its tensor, or kAsked.
  std::vector<int> rounds;
  // By round: the number of tensors that its request carries. There is one round at least.
  std::vector<int> num_requested = {0};
  // The part takes less time than to wake a thread for it: it reads variables, and waits for
  // nobody.
  bool is_short = false;
};

// Whether the task has one part, whose nodes run in their order, so that nothing else can be done
// while one of them waits for a tensor. Thread-safe.
bool RunsInOneOrder(const PartitionedGraph& graph, const DeviceSet& devices,
                    absl::string_view task);

// Both tasks plan the same. Tensors of a task are asked for if it has several parts, or one that
// the dynamic executor or a device with its own memory runs; so are tensors from the memory of a
// device of the master's. `master` and `task` are names of tasks. Thread-safe.
StepExchange PlanExchange(const PartitionedGraph& graph, const DeviceSet& devices,
                          absl::string_view master, absl::string_view task);

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_STEP_EXCHANGE_H_
