// Streams and events: order, waits, and the guarantees when a wait returns.
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "framework/plugin/check/check_host.h"
#include "framework/plugin/check/device_bytes.h"
#include "framework/plugin/check/device_rules.h"

namespace millstream::plugin_check {
namespace {

constexpr const char* kRules[] = {"STREAM-ROLES",   "STREAM-ORDER",       "STREAM-IDLE",
                                  "EVENT-FRESH",    "EVENT-SYNC",         "EVENT-QUERY",
                                  "EVENT-WAIT",     "HOSTFN-ONCE",        "HOSTFN-ORDER",
                                  "STREAM-THREADS", "STREAM-DEVICE-SYNC", "STREAM-DESTROY"};
constexpr uint64_t kBytes = 1 << 18;
constexpr auto kPatience = std::chrono::seconds(5);

// A stream or event; destroyed when it goes.
class Stream {
 public:
  Stream(const CheckedDevice& device, uint32_t role) : functions_(device.functions()) {
    status_ = Take(functions_.stream_create(device.device(), role, 0, &stream_));
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() {
    if (stream_ != nullptr) functions_.stream_destroy(stream_);
  }
  const Status& status() const { return status_; }
  MS_Stream* get() const { return stream_; }

 private:
  const MS_DeviceApi& functions_;
  Status status_;
  MS_Stream* stream_ = nullptr;
};

class Event {
 public:
  explicit Event(const CheckedDevice& device) : functions_(device.functions()) {
    status_ = Take(functions_.event_create(device.device(), 0, &event_));
  }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() {
    if (event_ != nullptr) functions_.event_destroy(event_);
  }
  const Status& status() const { return status_; }
  MS_Event* get() const { return event_; }

 private:
  const MS_DeviceApi& functions_;
  Status status_;
  MS_Event* event_ = nullptr;
};

// The device, its functions and a few blocks: what every check below begins with. Content of the
// host's `sent` goes to `near`, from there to `far`, from there to the host's `received`.
class Bench {
 public:
  Bench(const CheckedDevice& device, Reporter* report)
      : device_(device), functions_(device.functions()), report_(report) {
    auto near = DeviceBytes::Make(device, kBytes);
    auto far = DeviceBytes::Make(device, kBytes);
    if (Ok(near.status())) near_ = *std::move(near);
    if (Ok(far.status())) far_ = *std::move(far);
  }

  bool ready() const { return near_ != nullptr && far_ != nullptr; }
  const CheckedDevice& device() const { return device_; }
  const MS_DeviceApi& functions() const { return functions_; }
  Reporter* report() const { return report_; }
  bool Ok(const Status& status) const { return report_->Expect(status.ok(), status.ToString()); }

  void Begin(const char* rule, uint32_t seed, const std::string& what = "") {
    report_->Begin(rule, what);
    const std::string bytes = TestBytes(kBytes, seed);
    sent_.assign(bytes);  // stays where it is: a copy that comes too late reads it
    received_.assign(kBytes, 'r');
  }
  bool Send(MS_Stream* stream) { return Copy(stream, near_->ref(), HostRef(&sent_)); }
  bool Pass(MS_Stream* stream) { return Copy(stream, far_->ref(), near_->ref()); }
  bool Fetch(MS_Stream* stream) { return Copy(stream, HostRef(&received_), far_->ref()); }
  bool Sync(MS_Stream* stream) { return Ok(Take(functions_.stream_sync(stream))); }
  bool Record(const Event& event, MS_Stream* stream) {
    return Ok(event.status()) && Ok(Take(functions_.event_record(event.get(), stream)));
  }
  bool Wait(MS_Stream* stream, const Event& event) {
    return Ok(Take(functions_.stream_wait_event(stream, event.get())));
  }
  bool IsDone(const Event& event) {
    uint8_t done = 0;
    return Ok(Take(functions_.event_query(event.get(), &done))) && done != 0;
  }
  void ExpectReceived() {
    report_->Expect(received_ == sent_, "the bytes that arrived are not those that were sent");
  }
  bool Copy(MS_Stream* stream, const MS_MemRef& to, const MS_MemRef& from) {
    return Ok(Take(functions_.copy_async(stream, &to, &from, kBytes)));
  }

 private:
  const CheckedDevice& device_;
  const MS_DeviceApi& functions_;
  Reporter* const report_;
  std::unique_ptr<DeviceBytes> near_;
  std::unique_ptr<DeviceBytes> far_;
  std::string sent_;
  std::string received_;
};

void CheckRoles(Bench* bench) {
  for (const uint32_t role : {MS_STREAM_COMPUTE, MS_STREAM_H2D, MS_STREAM_D2H, MS_STREAM_D2D}) {
    bench->Begin("STREAM-ROLES", role + 1, absl::StrCat("role ", role));
    const Stream stream(bench->device(), role);
    if (!bench->Ok(stream.status())) continue;
    if (bench->Send(stream.get()) && bench->Pass(stream.get()) && bench->Fetch(stream.get()) &&
        bench->Sync(stream.get())) {
      bench->ExpectReceived();
    }
  }
}

void CheckOrder(Bench* bench) {
  bench->Begin("STREAM-ORDER", 11);
  const Stream stream(bench->device(), MS_STREAM_COMPUTE);
  if (!bench->Ok(stream.status())) return;
  // What a later copy reads, an earlier one wrote; twice, so that stale bytes would show.
  for (int round = 0; round < 2; ++round) {
    bench->Begin("STREAM-ORDER", 12 + static_cast<uint32_t>(round));
    if (!bench->Send(stream.get()) || !bench->Pass(stream.get()) || !bench->Fetch(stream.get())) {
      return;
    }
    if (!bench->Sync(stream.get())) return;
    bench->ExpectReceived();
  }
  bench->Begin("STREAM-IDLE", 14);
  uint8_t idle = 0;
  if (bench->Send(stream.get()) && bench->Sync(stream.get()) &&
      bench->Ok(Take(bench->functions().stream_query(stream.get(), &idle)))) {
    bench->report()->Expect(idle != 0, "stream_query says that it is not");
  }
}

void CheckEvents(Bench* bench) {
  const Stream stream(bench->device(), MS_STREAM_COMPUTE);
  bench->Begin("EVENT-FRESH", 21);
  const Event fresh(bench->device());
  if (!bench->Ok(stream.status()) || !bench->Ok(fresh.status())) return;
  bench->report()->Expect(bench->IsDone(fresh), "event_query says that it is not");
  if (bench->Wait(stream.get(), fresh)) bench->Sync(stream.get());

  bench->Begin("EVENT-SYNC", 22);
  const Event event(bench->device());
  if (!bench->Send(stream.get()) || !bench->Pass(stream.get()) || !bench->Fetch(stream.get())) {
    return;
  }
  if (!bench->Record(event, stream.get())) return;
  if (!bench->Ok(Take(bench->functions().event_sync(event.get())))) return;
  bench->ExpectReceived();
  bench->report()->Expect(bench->IsDone(event), "event_query says that it is not done");

  bench->Begin("EVENT-QUERY", 23);
  const Event polled(bench->device());
  if (!bench->Send(stream.get()) || !bench->Pass(stream.get()) || !bench->Fetch(stream.get())) {
    return;
  }
  if (!bench->Record(polled, stream.get())) return;
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!bench->IsDone(polled) && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (bench->report()->Expect(bench->IsDone(polled), "it is not done after five seconds")) {
    bench->ExpectReceived();
  } else {
    bench->Sync(stream.get());
  }
}

// Three streams, as the runtime has them, with an event between each two.
void CheckWaits(Bench* bench) {
  const Stream in(bench->device(), MS_STREAM_H2D);
  const Stream compute(bench->device(), MS_STREAM_COMPUTE);
  const Stream out(bench->device(), MS_STREAM_D2H);
  for (uint32_t round = 0; round < 20; ++round) {
    bench->Begin("EVENT-WAIT", 31 + round);
    if (!bench->Ok(in.status()) || !bench->Ok(compute.status()) || !bench->Ok(out.status())) return;
    const Event sent(bench->device());
    const Event passed(bench->device());
    if (!bench->Send(in.get()) || !bench->Record(sent, in.get()) ||
        !bench->Wait(compute.get(), sent) || !bench->Pass(compute.get()) ||
        !bench->Record(passed, compute.get()) || !bench->Wait(out.get(), passed) ||
        !bench->Fetch(out.get()) || !bench->Sync(out.get())) {
      return;
    }
    bench->ExpectReceived();
  }
}

// What host functions saw: each notes its number.
struct Notes {
  std::mutex mutex;
  std::vector<int> numbers;
};
struct Note {
  Notes* notes;
  int number;
};
void TakeNote(void* user) {
  const Note& note = *static_cast<Note*>(user);
  const std::lock_guard<std::mutex> lock(note.notes->mutex);
  note.notes->numbers.push_back(note.number);
}

void CheckHostFunctions(Bench* bench) {
  constexpr int kCalls = 50;
  if (!MS_HAS(&bench->functions(), stream_host_fn)) {
    for (const char* rule : {"HOSTFN-ONCE", "HOSTFN-ORDER"}) {
      bench->report()->Begin(rule);
      bench->report()->Skip("the device has no stream_host_fn");
    }
    return;
  }
  bench->Begin("HOSTFN-ONCE", 51);
  Notes notes;
  std::vector<Note> calls;
  for (int i = 0; i < kCalls; ++i) calls.push_back({&notes, i});
  {
    const Stream stream(bench->device(), MS_STREAM_COMPUTE);
    if (!bench->Ok(stream.status())) return;
    for (Note& note : calls) {
      if (!bench->Send(stream.get())) return;
      if (!bench->Ok(Take(bench->functions().stream_host_fn(stream.get(), &TakeNote, &note)))) {
        return;
      }
    }
    if (!bench->Sync(stream.get())) return;
  }
  const std::lock_guard<std::mutex> lock(notes.mutex);
  std::vector<int> times(kCalls, 0);
  bool ordered = true;
  for (size_t i = 0; i < notes.numbers.size(); ++i) {
    ++times[static_cast<size_t>(notes.numbers[i])];
    ordered = ordered && (i == 0 || notes.numbers[i] >= notes.numbers[i - 1]);
  }
  for (int i = 0; i < kCalls; ++i) {
    const int count = times[static_cast<size_t>(i)];
    bench->report()->Expect(count == 1, "function ", i, " was called ", count, " times");
  }
  bench->Begin("HOSTFN-ORDER", 52);
  bench->report()->Expect(ordered, "a later function was called before an earlier one");
}

// Four threads, each with a device block and a stream of its own.
void CheckThreads(Bench* bench) {
  bench->Begin("STREAM-THREADS", 61);
  std::atomic<int> wrong{0};
  const auto work = [&](uint32_t seed) {
    const Stream stream(bench->device(), MS_STREAM_COMPUTE);
    const auto block = DeviceBytes::Make(bench->device(), kBytes);
    if (!stream.status().ok() || !block.ok()) {
      ++wrong;
      return;
    }
    for (uint32_t round = 0; round < 50; ++round) {
      std::string sent = TestBytes(kBytes / 4, seed * 1000 + round);
      std::string received(sent.size(), '\0');
      const MS_MemRef part = PartOf((*block)->ref(), 0, sent.size());
      const MS_MemRef from = HostRef(&sent);
      const MS_MemRef to = HostRef(&received);
      const MS_DeviceApi& functions = bench->functions();
      const bool ok = Take(functions.copy_async(stream.get(), &part, &from, sent.size())).ok() &&
                      Take(functions.copy_async(stream.get(), &to, &part, sent.size())).ok() &&
                      Take(functions.stream_sync(stream.get())).ok();
      if (!ok || sent != received) ++wrong;
    }
  };
  std::vector<std::thread> team;
  for (uint32_t i = 1; i <= 4; ++i) team.emplace_back(work, i);
  for (std::thread& thread : team) thread.join();
  bench->report()->Expect(wrong == 0, wrong.load(), " of 200 copies back and forth went wrong");
}

void CheckEnds(Bench* bench) {
  bench->Begin("STREAM-DEVICE-SYNC", 71);
  {
    const Stream stream(bench->device(), MS_STREAM_COMPUTE);
    if (!bench->Ok(stream.status()) || !bench->Send(stream.get()) || !bench->Pass(stream.get()) ||
        !bench->Fetch(stream.get())) {
      return;
    }
    if (bench->Ok(Take(bench->functions().device_sync(bench->device().device())))) {
      bench->ExpectReceived();
    }
  }
  bench->Begin("STREAM-DESTROY", 72);
  {
    const Stream stream(bench->device(), MS_STREAM_COMPUTE);
    if (!bench->Ok(stream.status()) || !bench->Send(stream.get())) return;
  }
  bench->Ok(Take(bench->functions().device_sync(bench->device().device())));
}

void CheckStreams(CheckContext* context) {
  for (const uint32_t ordinal : OrdinalsOf(context, kRules)) {
    context->report->Begin("STREAM-ROLES", absl::StrCat("device ", ordinal));
    const auto device = CreateDevice(context, ordinal);
    if (device == nullptr) continue;
    Bench bench(*device, context->report);
    if (!bench.ready()) continue;
    for (void (*check)(Bench*) : {&CheckRoles, &CheckOrder, &CheckEvents, &CheckWaits,
                                  &CheckHostFunctions, &CheckThreads, &CheckEnds}) {
      check(&bench);
    }
  }
}

constexpr Check kChecks[] = {&CheckStreams};

}  // namespace

Suite StreamSuite() { return SuiteOf<kChecks, 1>("streams", /*loads_itself=*/false); }

}  // namespace millstream::plugin_check
