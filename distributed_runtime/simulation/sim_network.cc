#include "distributed_runtime/simulation/sim_network.h"

#include <algorithm>

#include "absl/functional/function_ref.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "distributed_runtime/handler_thread.h"
#include "distributed_runtime/tensor_coding.h"
#include "millstream/distributed_runtime/protos/step_messages.pb.h"

namespace millstream {
namespace {

constexpr char kScheme[] = "sim:";
constexpr absl::Duration kNotice = absl::Milliseconds(3);  // until who waits learns of an end

// Most messages are fast, some take long. An answer comes within two seconds.
absl::Duration LatencyOf(uint64_t key) {
  const uint64_t kind = key % 10;
  const absl::Duration most = kind < 6   ? absl::Milliseconds(5)
                              : kind < 9 ? absl::Milliseconds(100)
                                         : absl::Seconds(1);
  return absl::Nanoseconds(static_cast<int64_t>((key >> 8) % 1'000'000'007)) *
             absl::FDivDuration(most, absl::Seconds(1)) +
         absl::Microseconds(20);
}

constexpr absl::Duration kLate = absl::Seconds(8);
// With kUntold: what requests to run a part take more, and those of steps that have ended.
constexpr absl::Duration kSlow = absl::Milliseconds(400);
constexpr absl::Duration kOvertaken = absl::Seconds(3);

std::pair<int, int> Pair(int a, int b) { return {std::min(a, b), std::max(a, b)}; }

// The thread that hands a request to its handler has nothing else to do.
class SpareThread final : public HandlerThread::Owner {
 public:
  void HandOver() override {}
  void Help(absl::FunctionRef<bool()> is_done) override {}
};

}  // namespace

// A request and its answer.
class SimCall final : public Channel::Call {
 public:
  SimCall(SimNetwork* network, Respond respond)
      : network_(*network), respond_(std::move(respond)) {}

  void Cancel() override { End(errors::Cancelled("the call was cancelled"), Payload()); }
  void End(const Status& result, Payload answer) {
    if (has_ended_) return;
    has_ended_ = true;
    const Respond respond = std::move(respond_);
    network_.open_.erase(Key());
    respond(result, std::move(answer));
  }
  bool has_ended() const { return has_ended_; }
  SimNetwork::CallKey Key() const { return {from->task, to_task, method, count}; }
  std::string Describe() const {
    return absl::StrCat(from->task, " to ", to_task, " ", method, " #", count);
  }

  std::shared_ptr<SimProcess> from;
  std::shared_ptr<SimProcess> to;  // null: nobody was there
  int to_task = 0;
  std::string method;
  uint64_t count = 0;  // of the requests of the method between the tasks
  uint64_t key = 0;    // for what chance decides about it
  Payload request;
  Status status;
  Payload response;
  bool is_request_lost = false;
  bool is_response_lost = false;

 private:
  SimNetwork& network_;
  bool has_ended_ = false;
  Respond respond_;
};

class SimNetwork::ProcessChannel final : public Channel {
 public:
  ProcessChannel(SimNetwork* network, std::shared_ptr<SimProcess> from, int to)
      : network_(*network), from_(std::move(from)), to_(to) {}
  std::shared_ptr<Call> Start(absl::string_view method, Payload request, absl::Time deadline,
                              Respond respond) override {
    return network_.Start(from_, to_, method, std::move(request), deadline, std::move(respond));
  }

 private:
  SimNetwork& network_;
  const std::shared_ptr<SimProcess> from_;
  const int to_;
};

class SimNetwork::Listening final : public TransportServer {
 public:
  Listening(std::shared_ptr<SimProcess> process, std::string address)
      : process_(std::move(process)), address_(std::move(address)) {}
  ~Listening() override { process_->handler = nullptr; }
  const std::string& address() const override { return address_; }

 private:
  const std::shared_ptr<SimProcess> process_;
  const std::string address_;
};

class SimNetwork::ProcessTransport final : public Transport {
 public:
  ProcessTransport(SimNetwork* network, std::shared_ptr<SimProcess> process)
      : network_(*network), process_(std::move(process)) {}
  StatusOr<std::unique_ptr<TransportServer>> Serve(
      const std::string& address, std::shared_ptr<RequestHandler> handler) override {
    process_->handler = std::move(handler);
    return std::make_unique<Listening>(process_, address);
  }
  StatusOr<std::shared_ptr<Channel>> Connect(const std::string& address) override {
    absl::string_view number = address;
    int task = 0;
    if (!absl::ConsumePrefix(&number, kScheme) || !absl::SimpleAtoi(number, &task)) {
      return errors::InvalidArgument("expected ", kScheme, "NUMBER, got ", address);
    }
    return std::make_shared<ProcessChannel>(&network_, process_, task);
  }

 private:
  SimNetwork& network_;
  const std::shared_ptr<SimProcess> process_;
};

SimNetwork::SimNetwork(VirtualThreads* threads, SimTrace* trace, uint64_t seed, Sabotage sabotage)
    : threads_(*threads), trace_(*trace), seed_(seed), sabotage_(sabotage) {}

SimNetwork::~SimNetwork() = default;

std::string SimNetwork::AddressOf(int task) { return absl::StrCat(kScheme, task); }

Transport* SimNetwork::Begin(int task) {
  auto process = std::make_shared<SimProcess>();
  process->task = task;
  process->group = next_group_++;
  present_[task] = process;
  transports_.push_back(std::make_unique<ProcessTransport>(this, std::move(process)));
  return transports_.back().get();
}

int SimNetwork::GroupOf(int task) const {
  const auto found = present_.find(task);
  return found == present_.end() ? VirtualThreads::kNoGroup : found->second->group;
}

// With kOldTask, who knew the process that the task had goes on to talk to it.
std::shared_ptr<SimProcess> SimNetwork::ProcessAt(int task, const SimProcess* from) {
  const auto found = present_.find(task);
  const std::shared_ptr<SimProcess> present = found == present_.end() ? nullptr : found->second;
  if (sabotage_ != Sabotage::kOldTask || present == nullptr) return present;
  return known_.try_emplace({from, task}, present).first->second;
}

// Chance goes by what the message is and not by when it is sent, so that the order in which a task
// sends two messages at once, which may be that of a hash table, changes nothing.
std::shared_ptr<Channel::Call> SimNetwork::Start(const std::shared_ptr<SimProcess>& from, int to,
                                                 absl::string_view method, Payload request,
                                                 absl::Time deadline, Respond respond) {
  auto call = std::make_shared<SimCall>(this, std::move(respond));
  call->from = from;
  call->to_task = to;
  call->method = std::string(method);
  call->count = counts_[{from->task, to, call->method}]++;
  if (!from->is_alive) {
    call->End(absl::UnavailableError("the process has ended"), Payload());
    return call;
  }
  open_[call->Key()] = call;
  call->to = ProcessAt(to, from.get());
  call->key = Mixed(seed_, call->Describe());
  call->request = std::move(request);
  if (call->to == nullptr || !call->to->is_alive) {
    Refuse(call, "nobody is there");
  } else {
    const bool is_slow = sabotage_ == Sabotage::kUntold && call->method == "RunGraph";
    Send(call, false, LatencyOf(call->key) + (is_slow ? kSlow : absl::ZeroDuration()));
  }
  if (deadline != absl::InfiniteFuture()) {
    EndAt(deadline, call, absl::DeadlineExceededError(absl::StrCat("no answer to ", method)));
  }
  VirtualThreads::Yield();
  return call;
}

void SimNetwork::Send(const std::shared_ptr<SimCall>& call, bool is_response,
                      absl::Duration latency) {
  const uint64_t key = Mixed(call->key, is_response ? "response" : "request");
  threads_.At(threads_.now() + latency,
              [this, call, is_response, key] { Arrive(call, is_response, key); });
}

void SimNetwork::Arrive(const std::shared_ptr<SimCall>& call, bool is_response, uint64_t key) {
  const auto held = held_.find(Pair(call->from->task, call->to_task));
  if (held != held_.end() && held->second > threads_.now()) {
    return Send(call, is_response, held->second - threads_.now() + LatencyOf(key) / 10);
  }
  if (is_response ? call->is_response_lost || call->has_ended() : call->is_request_lost) return;
  trace_.Note(call->Describe(), is_response ? " is answered" : " arrives");
  if (is_response) {
    return threads_.StartIn(call->from->group, absl::StrCat("answer of ", call->Describe()),
                            [call] { call->End(call->status, std::move(call->response)); });
  }
  if (sabotage_ == Sabotage::kMute && call->method == "KeepSession") return;
  if (sabotage_ == Sabotage::kUnheard && call->method == "KeepSession") {
    return Refuse(call, "the heartbeat is refused");
  }
  if (sabotage_ == Sabotage::kUntold && Withhold(call)) return;
  if (call->to->handler == nullptr) return Refuse(call, "the task does not listen");
  Hand(call, true);
  if (sabotage_ == Sabotage::kTwice && call->method == "RunGraph") Hand(call, false);
}

// With kUntold. True if the request is not to be handed over, as yet or at all.
bool SimNetwork::Withhold(const std::shared_ptr<SimCall>& call) {
  PayloadReader reader(call->request);
  if (call->method == "AbortStep") {
    proto::AbortStepRequest message;
    if (!DecodeMessage(&reader, &message).ok()) return false;
    ended_steps_.insert({call->to->group, message.session(), message.step()});
    Answer(call, absl::OkStatus(), EncodeMessage(proto::StatusMessage()));
    return true;
  }
  proto::RunGraphRequest message;
  if (call->method != "RunGraph" || !DecodeMessage(&reader, &message).ok()) return false;
  if (ended_steps_.erase({call->to->group, message.session(), message.step()}) > 0) {
    Send(call, false, kOvertaken);
    return true;
  }
  message.clear_running_steps();
  for (uint64_t step = 1; step < message.step(); ++step) message.add_running_steps(step);
  std::string tensors(reader.left(), '\0');
  if (!reader.Read(tensors.data(), tensors.size()).ok()) return false;
  call->request = EncodeMessage(message);
  call->request.Append(std::move(tensors));
  return false;
}

void SimNetwork::Hand(const std::shared_ptr<SimCall>& call, bool answers) {
  const bool is_awake = sabotage_ == Sabotage::kAwake && call->method == "Heartbeat";
  const int group = is_awake ? VirtualThreads::kNoGroup : call->to->group;
  threads_.StartIn(group, call->Describe(), [this, call, answers, handler = call->to->handler] {
    SpareThread spare;
    const HandlerThread::Scope scope(call->key % 2 == 0 ? &spare : nullptr);
    handler->Handle(call->method, call->request,
                    [this, call, answers](const Status& status, Payload response) {
                      if (answers) Answer(call, status, std::move(response));
                    });
  });
}

void SimNetwork::Answer(const std::shared_ptr<SimCall>& call, const Status& status,
                        Payload response) {
  if (call->is_response_lost || call->has_ended()) return;
  if (sabotage_ == Sabotage::kLost && call->method == "RunGraph" && !has_lost_) {
    has_lost_ = true;
    return;
  }
  call->status = status;
  call->response = std::move(response);
  const bool is_piece = call->method == "CollectivePiece";
  if (sabotage_ == Sabotage::kOldPiece && is_piece) {
    call->response = OldPiece(*call, call->response);
  }
  Send(call, true, LatencyOfAnswer(*call));
}

// Of two requests to a task, one is for what it gives, and one for its piece of the sum.
Payload SimNetwork::OldPiece(const SimCall& call, const Payload& piece) {
  pieces_[{call.from->task, call.to_task, call.count}] = piece;
  const auto old = pieces_.find({call.from->task, call.to_task, call.count - 2});
  return old == pieces_.end() ? piece : old->second;
}

// The answer about a meeting may stay behind others for many heartbeats.
absl::Duration SimNetwork::LatencyOfAnswer(const SimCall& call) {
  const uint64_t key = Mixed(call.key, "answer");
  const bool is_late = call.method == "JoinCollective" && Mixed(key) % 8 == 0;
  return LatencyOf(key) + (is_late ? kLate : absl::ZeroDuration());
}

std::string SimNetwork::NoAnswer(const SimCall& call, const std::string& text) {
  return absl::StrCat("no answer from ", AddressOf(call.to_task), ": ", text);
}

void SimNetwork::Refuse(const std::shared_ptr<SimCall>& call, const std::string& text) {
  EndAt(threads_.now() + kNotice, call, absl::UnavailableError(NoAnswer(*call, text)));
}

void SimNetwork::EndAt(absl::Time time, const std::shared_ptr<SimCall>& call,
                       const Status& status) {
  threads_.At(time, [this, waiting = std::weak_ptr<SimCall>(call), status] {
    const std::shared_ptr<SimCall> ended = waiting.lock();
    if (ended == nullptr || ended->has_ended()) return;
    trace_.Note(ended->Describe(), " ends: ", status.message());
    threads_.StartIn(ended->from->group, absl::StrCat("end of ", ended->Describe()),
                     [ended, status] { ended->End(status, Payload()); });
  });
}

void SimNetwork::Break(int a, int b) {
  trace_.Note("the connections between ", a, " and ", b, " break");
  for (const auto& [key, call] : open_) {
    if (Pair(call->from->task, call->to_task) == Pair(a, b)) Lose(call, "the connection broke");
  }
}

void SimNetwork::BreakWay(int from, int to) {
  trace_.Note("the connection of ", from, " to ", to, " breaks");
  for (const auto& [key, call] : open_) {
    if (call->from->task == from && call->to_task == to) Lose(call, "the connection broke");
  }
}

void SimNetwork::Lose(const std::shared_ptr<SimCall>& call, const std::string& text) {
  call->is_request_lost = true;
  call->is_response_lost = true;
  if (sabotage_ == Sabotage::kUnwatched && call->method == "WatchMaster") return;
  EndAt(threads_.now() + kNotice, call, PeerLost(NoAnswer(*call, text)));
}

void SimNetwork::End(int task) {
  const std::shared_ptr<SimProcess> process = std::move(present_[task]);
  present_.erase(task);
  if (process == nullptr) return;
  process->is_alive = false;
  for (const auto& [key, call] : open_) {
    const bool is_senders = call->from == process;
    if (!is_senders && call->to != process) continue;
    Lose(call, absl::StrCat("the process of task ", task, " has ended"));
    // The host may send what the process had written before it ended.
    call->is_request_lost = !is_senders || call->key % 3 == 0;
  }
}

void SimNetwork::Hold(int a, int b, absl::Time until) {
  trace_.Note("messages between ", a, " and ", b, " are held");
  absl::Time& held = held_.try_emplace(Pair(a, b), until).first->second;
  held = std::max(held, until);
}

std::vector<std::string> SimNetwork::OpenCalls() const {
  std::vector<std::string> calls;
  for (const auto& [key, call] : open_) calls.push_back(call->Describe());
  return calls;
}

}  // namespace millstream
