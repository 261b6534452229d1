// The network between simulated tasks.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_SIMULATION_SIM_NETWORK_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_SIMULATION_SIM_NETWORK_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "distributed_runtime/simulation/sim_trace.h"
#include "distributed_runtime/simulation/virtual_threads.h"
#include "distributed_runtime/transport.h"

namespace millstream {

// What a simulation does wrong, so that one sees that it is noticed.
enum class Sabotage {
  kNothing,
  kTwice,      // requests to run a part of a step arrive twice
  kLost,       // the answer to the first of these is lost, and nobody is told
  kOldTask,    // a task that was killed goes on to answer those who knew it
  kOldPiece,   // a task gets a piece of an earlier sum
  kHasty,      // a program's process ends before its server has stopped
  kMute,       // heartbeats of clients in other processes do not arrive
  kUnheard,    // these are refused
  kUntold,     // tasks do not learn that steps have ended, whose requests may come seconds later
  kAwake,      // a task that is stopped goes on to answer heartbeats
  kUnswept,    // no task ends what those who are gone have left
  kUnwatched,  // no task learns that the connection to a master has ended
};

class SimCall;

// One run of a task's program, or of a client's. Its connections end with it.
struct SimProcess {
  int task = 0;   // for a client, a number that no task has
  int group = 0;  // of its threads
  bool is_alive = true;
  std::shared_ptr<RequestHandler> handler;  // null: it does not listen
};

// Messages between two tasks take different times, so they overtake one another, and none is lost
// or comes twice as long as the connection lasts. When it breaks, those on the way are lost, and
// who waits for an answer is told. A process that is stopped keeps its connections, and what comes
// meanwhile waits. Used on VirtualThreads, and not thread-safe: see there.
class SimNetwork {
 public:
  // REQUIRES: `threads` and `trace` outlive the object.
  SimNetwork(VirtualThreads* threads, SimTrace* trace, uint64_t seed, Sabotage sabotage);
  ~SimNetwork();

  static std::string AddressOf(int task);

  // A new process of the task begins. The transport is the process's, and lives as long as the
  // network.
  Transport* Begin(int task);
  // Of the threads of the task's present process; VirtualThreads::kNoGroup: there is none.
  int GroupOf(int task) const;
  // The present process of the task ends, as by SIGKILL. Requests that it has sent may still
  // arrive.
  void End(int task);
  // The connections between two tasks break.
  void Break(int a, int b);
  // The connection breaks by which one of them asks the other. That of the other stays.
  void BreakWay(int from, int to);
  // Messages between two tasks, also those on the way, arrive later than that.
  void Hold(int a, int b, absl::Time until);

  // The calls that have not ended.
  std::vector<std::string> OpenCalls() const;

 private:
  friend class SimCall;
  // What a call is, whatever was sent before it: from, to, method, count.
  using CallKey = std::tuple<int, int, std::string, uint64_t>;

  class ProcessTransport;
  class ProcessChannel;
  class Listening;

  std::shared_ptr<Channel::Call> Start(const std::shared_ptr<SimProcess>& from, int to,
                                       absl::string_view method, Payload request,
                                       absl::Time deadline, Respond respond);
  std::shared_ptr<SimProcess> ProcessAt(int task, const SimProcess* from);
  void Send(const std::shared_ptr<SimCall>& call, bool is_response, absl::Duration latency);
  void Arrive(const std::shared_ptr<SimCall>& call, bool is_response, uint64_t key);
  void Hand(const std::shared_ptr<SimCall>& call, bool answers);
  void Answer(const std::shared_ptr<SimCall>& call, const Status& status, Payload response);
  static absl::Duration LatencyOfAnswer(const SimCall& call);
  // There was a connection: what is on its way is lost, and who asked is told so (PeerLost).
  void Lose(const std::shared_ptr<SimCall>& call, const std::string& text);
  bool Withhold(const std::shared_ptr<SimCall>& call);
  Payload OldPiece(const SimCall& call, const Payload& piece);
  // As the other transports say it, with the address.
  static std::string NoAnswer(const SimCall& call, const std::string& text);
  // Nobody took the request: the call ends with UNAVAILABLE soon.
  void Refuse(const std::shared_ptr<SimCall>& call, const std::string& text);
  // The same at a given time, by any status.
  void EndAt(absl::Time time, const std::shared_ptr<SimCall>& call, const Status& status);

  VirtualThreads& threads_;
  SimTrace& trace_;
  const uint64_t seed_;
  const Sabotage sabotage_;
  bool has_lost_ = false;  // by sabotage
  std::vector<std::unique_ptr<ProcessTransport>> transports_;
  std::map<int, std::shared_ptr<SimProcess>> present_;  // by task
  // By sender and task: with kOldTask, whom the sender knows.
  std::map<std::pair<const SimProcess*, int>, std::shared_ptr<SimProcess>> known_;
  std::map<std::pair<int, int>, absl::Time> held_;                // by tasks, the smaller first
  std::map<std::tuple<int, int, std::string>, uint64_t> counts_;  // of requests
  // By sender, task and count, with kOldPiece.
  std::map<std::tuple<int, int, uint64_t>, Payload> pieces_;
  // By process, session and number, with kUntold: steps whose tasks were to be told so.
  std::set<std::tuple<int, uint64_t, uint64_t>> ended_steps_;
  // In an order that is not that of sending, which may be that of a hash table.
  std::map<CallKey, std::shared_ptr<SimCall>> open_;
  int next_group_ = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_SIMULATION_SIM_NETWORK_H_
