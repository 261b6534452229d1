// A schedule: a cluster, its clients and faults, all chosen by a seed.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_SIMULATION_SCHEDULE_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_SIMULATION_SCHEDULE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "distributed_runtime/simulation/sim_network.h"

namespace millstream {

struct ScheduleResult {
  // What must not be: wrong values, unclear errors, steps that hang, what is held at the end.
  std::vector<std::string> findings;
  uint64_t trace = 0;  // of all events, see SimTrace
  int64_t steps = 0;   // increments, or sums, that clients asked for
  int64_t failed = 0;  // requests of clients that failed
  int faults = 0;
};

// Three tasks and one to three clients, in the process of their master or in one of their own, run
// for some seconds of virtual time, with up to three faults: a process is killed, leaves and begins
// again, or is stopped for a while, perhaps until the others have given it up; connections break;
// messages are held for a while. In some the connection of one task to another breaks besides. A
// task, or a client, may begin late. Then nothing happens any more, and all must end. `log`, unless
// null, gets the events. One schedule at a time runs in a process, in which nothing else uses
// ThreadCache, and PrepareSchedules was called before. What hangs keeps its threads and memory.
ScheduleResult RunSchedule(uint64_t seed, Sabotage sabotage = Sabotage::kNothing,
                           std::vector<std::string>* log = nullptr);

// The same with programs in all three tasks, which add tensors with each other (sim_sums.h), and
// end when they have their last sum. Some answers about meetings are eight seconds late.
ScheduleResult RunSumSchedule(uint64_t seed, Sabotage sabotage = Sabotage::kNothing,
                              std::vector<std::string>* log = nullptr);

// Loads the kernels, makes the clients' graphs, and has the steady clock begin with virtual time.
// Ends the process if there are none, or if that clock has been read.
void PrepareSchedules();

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_SIMULATION_SCHEDULE_H_
