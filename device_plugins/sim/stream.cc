#include "device_plugins/sim/stream.h"

#include <pthread.h>
#include <sys/prctl.h>

#include <string>
#include <utility>

#include "device_plugins/sim/device.h"
#include "device_plugins/sim/profiler.h"

namespace millstream::sim {
namespace {

// How often one who closes a stream looks whether a hang has begun that it would wait for.
constexpr auto kLookForHangs = std::chrono::milliseconds(2);

// Neighbouring streams and devices get seeds that have nothing in common.
uint64_t MixedSeed(uint64_t seed, uint64_t device, uint64_t stream) {
  std::seed_seq sequence{seed, seed >> 32, device, stream};
  uint32_t words[2];
  sequence.generate(words, words + 2);
  return words[0] | (static_cast<uint64_t>(words[1]) << 32);
}

const char* RoleName(uint32_t role) {
  static constexpr const char* kNames[] = {"work", "h2d", "d2h", "d2d"};
  return kNames[role];
}

// What work threw, or nothing.
std::string RunGuarded(const std::function<void()>& run) {
  try {
    run();
    return "";
  } catch (const std::exception& error) {
    return ms::StrCat("work threw: ", error.what());
  } catch (...) {
    return "work threw an exception of unknown type";
  }
}

}  // namespace

Stream::Stream(Device* device, uint32_t number, uint64_t seed)
    : device_(device), number_(number), random_(MixedSeed(seed, device->ordinal(), number)) {}

void Stream::Start(uint32_t role) {
  thread_ = std::thread([this] { Loop(); });
  // At most 15 bytes, which a device's name and a role fit.
  const std::string name = device_->name() + " " + RoleName(role);
  pthread_setname_np(thread_.native_handle(), name.substr(0, 15).c_str());
}

void Stream::Close() {
  Lock lock(StateMutex());
  closing_ = true;
  changed_.notify_all();
  while (finished_ != submitted_) {
    if (Device* const hung = HungDevice()) {
      hung->Lose("its work hung, and a stream that waits for it was destroyed");
    }
    changed_.wait_for(lock, kLookForHangs);
  }
  lock.unlock();
  thread_.join();
}

// ---- The host's side ----------------------------------------------------------------------------

ms::Status Stream::Enqueue(Item item) {
  item.correlation = Profiler::Current();
  const std::lock_guard<std::mutex> lock(StateMutex());
  MS_TRY(device_->LostStatus());
  MS_TRY(Refuse("what is launched"));
  MS_TRY(device_->Admit(&item));
  Push(std::move(item));
  return ms::Status();
}

ms::Status Stream::Submit(ItemMaker make) {
  Item item{Item::Kind::kWork};
  MS_TRY(make(Relocation(), this, &item));  // also tells what is wrong before it is recorded
  {
    const std::lock_guard<std::mutex> lock(StateMutex());
    if (is_recording_) {
      recorded_.push_back(std::move(make));
      return device_->LostStatus();
    }
  }
  return Enqueue(std::move(item));
}

ms::Status Stream::EnqueueAll(std::vector<Item> items) {
  const uint64_t correlation = Profiler::Current();
  const std::lock_guard<std::mutex> lock(StateMutex());
  MS_TRY(device_->LostStatus());
  MS_TRY(Refuse("a replay"));
  MS_TRY(device_->AdmitAll(&items));
  for (Item& item : items) item.correlation = correlation;
  for (Item& item : items) Push(std::move(item));
  return ms::Status();
}

ms::Status Stream::BeginCapture() {
  const std::lock_guard<std::mutex> lock(StateMutex());
  MS_TRY(device_->LostStatus());
  MS_TRY(Refuse("a second recording"));
  is_recording_ = true;
  return ms::Status();
}

ms::Status Stream::EndCapture(std::vector<ItemMaker>* out) {
  const std::lock_guard<std::mutex> lock(StateMutex());
  if (!is_recording_) {
    return ms::Status(MS_FAILED_PRECONDITION,
                      ms::StrCat("a stream of ", device_->name(), " records nothing"));
  }
  is_recording_ = false;
  out->swap(recorded_);
  recorded_.clear();
  MS_TRY(std::exchange(spoiled_, ms::Status()));
  return device_->LostStatus();
}

ms::Status Stream::RefuseWhileRecording(const char* what) {
  const std::lock_guard<std::mutex> lock(StateMutex());
  return Refuse(what);
}

ms::Status Stream::Refuse(const char* what) {
  if (!is_recording_) return ms::Status();
  const auto refusal = [&] {
    return ms::Status(MS_FAILED_PRECONDITION, ms::StrCat("a stream of ", device_->name(),
                                                         " records, and cannot record ", what));
  };
  if (spoiled_.ok()) spoiled_ = refusal();
  return refusal();
}

ms::Status Stream::RecordEvent(Event* event) {
  if (event->device() != device_) {
    return ms::InvalidArgument("an event of ", event->device()->name(),
                               " is recorded on a stream of ", device_->name());
  }
  auto record = std::make_shared<Record>();
  const std::lock_guard<std::mutex> lock(StateMutex());
  MS_TRY(device_->LostStatus());
  MS_TRY(Refuse("an event"));
  record->stream = this;
  event->set_latest(record);
  Push({Item::Kind::kRecord, nullptr, nullptr, std::move(record)});
  return ms::Status();
}

ms::Status Stream::WaitEvent(const Event& event) {
  const std::lock_guard<std::mutex> lock(StateMutex());
  MS_TRY(device_->LostStatus());
  MS_TRY(Refuse("a wait"));
  const std::shared_ptr<Record>& record = event.latest();
  if (record == nullptr || record->done || record->stream == this) return ms::Status();
  Push({Item::Kind::kWait, nullptr, nullptr, record});
  return ms::Status();
}

void Stream::Push(Item item) {
  queue_.push_back(std::move(item));
  ++submitted_;
  changed_.notify_all();
}

ms::Status Stream::Query(bool* idle) {
  Lock lock(StateMutex());
  if (device_->lost()) return WaitForAll(&lock);
  MS_TRY(Refuse("a query"));
  *idle = finished_ == submitted_;
  return TakeFailure();
}

ms::Status Stream::Sync() {
  if (std::this_thread::get_id() == thread_.get_id()) {
    return ms::Status(MS_FAILED_PRECONDITION,
                      ms::StrCat("a function on a stream of ", device_->name(), " waits for it"));
  }
  Lock lock(StateMutex());
  MS_TRY(Refuse("a wait of the host"));
  return WaitForAll(&lock);
}

ms::Status Stream::WaitForAll(Lock* lock) {
  const uint64_t all = submitted_;
  changed_.wait(*lock, [this, all] { return finished_ >= all; });
  MS_TRY(device_->LostStatus());
  return TakeFailure();
}

void Stream::KeepFailure(ms::Status failure) {
  const std::lock_guard<std::mutex> lock(StateMutex());
  if (failure_.ok()) failure_ = std::move(failure);
}

ms::Status Stream::TakeFailure() { return std::exchange(failure_, ms::Status()); }

void Stream::WakeUp() {
  changed_.notify_all();
  if (awaited_ != nullptr) awaited_->changed.notify_all();
}

Device* Stream::HungDevice() const {
  const Stream* stream = this;
  while (stream != nullptr && !stream->hung_) {
    stream = stream->awaited_ == nullptr ? nullptr : stream->awaited_->stream;
  }
  return stream == nullptr ? nullptr : stream->device_;
}

// ---- The stream's thread ------------------------------------------------------------------------

void Stream::Loop() {
  // The system may add 50 us to each wait, more than most delays and latencies of tests.
  prctl(PR_SET_TIMERSLACK, 1UL);
  Lock lock(StateMutex());
  while (true) {
    changed_.wait(lock, [this] { return closing_ || !queue_.empty(); });
    if (queue_.empty()) return;
    {
      Item item = std::move(queue_.front());
      queue_.pop_front();
      Do(&item, &lock);
      lock.unlock();
    }  // what the item holds goes without the lock
    lock.lock();
    ++finished_;
    changed_.notify_all();
  }
}

void Stream::Do(Item* item, Lock* lock) {
  DelayAtRandom(lock);
  switch (item->kind) {
    case Item::Kind::kWork:
    case Item::Kind::kCopy: return Execute(item, lock);
    case Item::Kind::kRecord: return Finish(item->record.get());
    case Item::Kind::kWait: return Await(item->record, lock);
    case Item::Kind::kHostFunction: {
      lock->unlock();
      const std::string thrown = RunGuarded(item->run);
      lock->lock();
      if (!thrown.empty()) device_->Lose(thrown);
      return;
    }
  }
}

void Stream::DelayAtRandom(Lock* lock) {
  const uint64_t longest = device_->switches().delay_us;
  if (longest == 0) return;
  const auto delay = std::chrono::microseconds(random_() % (longest + 1));
  SleepUntil(Clock::now() + delay, lock);
}

void Stream::Execute(Item* item, Lock* lock) {
  HangIfTold(*item, lock);
  if (device_->lost()) return;
  const bool is_last = device_->LosesAt(*item);
  const Switches switches = device_->switches();
  lock->unlock();
  const Clock::time_point begin = Clock::now();
  std::string thrown;
  if (!is_last) {
    thrown = RunGuarded(item->run);
  } else if (item->run_half != nullptr) {
    item->run_half();
  }
  const Clock::time_point end = begin + Device::ModelledTime(switches, *item, Clock::now() - begin);
  lock->lock();
  if (is_last) {
    device_->Lose(item->kind == Item::Kind::kWork ? "switch lose_work" : "switch lose_copy");
  }
  if (!thrown.empty()) device_->Lose(thrown);
  SleepUntil(end, lock);
  if (!Profiler::Get().is_on()) return;
  const uint32_t kind = item->kind == Item::Kind::kCopy ? MS_TRACE_COPY : MS_TRACE_KERNEL;
  Profiler::Get().Record(
      {item->correlation, kind, device_->ordinal(), number_, item->bytes, begin, Clock::now()});
}

void Stream::HangIfTold(const Item& item, Lock* lock) {
  hung_ = device_->HangsAt(item);
  changed_.wait(*lock, [&] { return device_->lost() || !device_->HangsAt(item); });
  hung_ = false;
}

void Stream::Finish(Record* record) {
  record->done = true;
  record->stream = nullptr;
  record->time_ns =
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
  record->changed.notify_all();
}

void Stream::Await(const std::shared_ptr<Record>& record, Lock* lock) {
  awaited_ = record;
  record->changed.wait(*lock, [&] { return record->done || device_->lost(); });
  awaited_ = nullptr;
}

void Stream::SleepUntil(Clock::time_point end, Lock* lock) {
  if (Clock::now() < end) changed_.wait_until(*lock, end, [this] { return device_->lost(); });
}

}  // namespace millstream::sim
