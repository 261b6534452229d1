#include "core/testing/two_tasks.h"

#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/partition/loopback_rendezvous.h"
#include "framework/testing/hang_guard.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

DeviceList DevicesOf(const std::string& task, const std::map<std::string, int>& counts) {
  EXPECT_EQ(LoadCpuPlugin(), absl::OkStatus());
  StatusOr<DeviceList> devices = CreateDevices(counts, task);
  EXPECT_TRUE(devices.ok()) << devices.status();
  return devices.ok() ? *std::move(devices) : DeviceList();
}

StepSignature SignatureOf(const std::vector<Output>& fetches, const std::vector<Feed>& feeds) {
  StepSignature signature;
  signature.fetches = fetches;
  for (const Feed& feed : feeds) signature.feeds.push_back(feed.tensor);
  return signature;
}

}  // namespace

Task::Task(int number, const std::map<std::string, int>& counts)
    : name(absl::StrCat("/job:worker/replica:0/task:", number)), devices(DevicesOf(name, counts)) {
  context.settings.resources = &resources;
}

Task::~Task() {
  step.reset();
  resources.Reset({});
  for (const auto& device : devices) {
    if (device->memory() != nullptr) device->memory()->Close();
  }
}

Status Task::Compile(const StepSignature& signature) {
  MS_ASSIGN_OR_RETURN(step, Executable::Create(&context, signature));
  return absl::OkStatus();
}

TwoTasks::TwoTasks(Graph* graph, const std::map<std::string, int>& counts) {
  for (int i = 0; i < kTasks; ++i) {
    tasks_.push_back(std::make_unique<Task>(i, counts));
    cluster_.Append(Describe(tasks_.back()->devices));
  }
  for (const auto& task : tasks_) {
    task->context.graph = graph;
    task->context.SetDevices(task->devices, cluster_);
  }
}

void TwoTasks::Compile(const std::vector<Output>& fetches, const std::vector<Feed>& feeds) {
  for (const auto& task : tasks_) {
    ASSERT_EQ(task->Compile(SignatureOf(fetches, feeds)), absl::OkStatus());
  }
}

std::vector<TwoTasks::Result> TwoTasks::Run(const std::vector<Output>& fetches,
                                            const std::vector<Feed>& feeds) {
  Compile(fetches, feeds);
  std::vector<Tensor> values;
  for (const Feed& feed : feeds) values.push_back(feed.value);
  LoopbackRendezvous between(&cluster_);
  RunOptions options;
  options.timeout_ms = kHangGuardMillis;
  options.other_tasks = &between;
  std::vector<Result> results(kTasks);
  std::vector<std::thread> threads;
  for (int i = 0; i < kTasks; ++i) {
    threads.emplace_back([&, i] {
      results[i].values.resize(fetches.size());
      results[i].status = tasks_[i]->step->Run(values, absl::MakeSpan(results[i].values), options);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

std::vector<Tensor> TwoTasks::Fetch(const std::vector<Output>& fetches,
                                    const std::vector<Feed>& feeds) {
  const std::vector<Result> results = Run(fetches, feeds);
  for (const Result& result : results) EXPECT_EQ(result.status, absl::OkStatus());
  std::vector<Tensor> fetched(fetches.size());
  for (size_t k = 0; k < fetches.size(); ++k) {
    const bool is_first = results[0].values[k].has_value();
    EXPECT_NE(is_first, results[1].values[k].has_value()) << fetches[k].name();
    fetched[k] = results[is_first ? 0 : 1].values[k];
  }
  return fetched;
}

}  // namespace millstream
