// Two tasks of a cluster in one process, each of which runs its share of steps of one graph.
#ifndef MILLSTREAM_CORE_TESTING_TWO_TASKS_H_
#define MILLSTREAM_CORE_TESTING_TWO_TASKS_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/device/device.h"
#include "core/device/device_set.h"
#include "core/graph/graph.h"
#include "core/resources/resource_manager.h"
#include "core/session/executable.h"
#include "core/step/run_options.h"
#include "core/testing/session_fixture.h"
#include "framework/status.h"
#include "framework/tensor.h"

namespace millstream {

// "/job:worker/replica:0/task:NUMBER": its own devices and state, and the step compiled last.
struct Task {
  // `counts`: of its devices, by type.
  Task(int number, const std::map<std::string, int>& counts);
  ~Task();
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  Status Compile(const StepSignature& signature);

  const std::string name;
  const DeviceList devices;
  ResourceManager resources;
  ExecutableContext context;
  std::unique_ptr<Executable> step;
};

class TwoTasks {
 public:
  static constexpr int kTasks = 2;
  // What each task gave.
  struct Result {
    Status status;
    std::vector<Tensor> values;  // by fetch; none for those that the other task has
  };

  // The graph must outlive this object. `counts`: of each task's devices, by type.
  TwoTasks(Graph* graph, const std::map<std::string, int>& counts);

  Task& task(int i) { return *tasks_[i]; }
  // The devices of both tasks.
  const DeviceSet& cluster() const { return cluster_; }

  // Compiles the step in both tasks. Expects that this succeeds.
  void Compile(const std::vector<Output>& fetches, const std::vector<Feed>& feeds = {});
  // Compiles the step and runs it in both tasks at the same time, over a loopback rendezvous.
  std::vector<Result> Run(const std::vector<Output>& fetches, const std::vector<Feed>& feeds = {});
  // As Run. Expects success, and that one task alone gives each fetch.
  std::vector<Tensor> Fetch(const std::vector<Output>& fetches,
                            const std::vector<Feed>& feeds = {});

 private:
  DeviceSet cluster_;
  std::vector<std::unique_ptr<Task>> tasks_;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_TESTING_TWO_TASKS_H_
