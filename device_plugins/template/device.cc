#include "device.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace acme {

using ms::Status;

// [docs: memory]
Status Device::Allocate(uint32_t space, uint64_t bytes, uint64_t alignment, MS_MemRef* out) {
  if (space != MS_SPACE_DEVICE) return ms::Unimplemented("ACME has no memory of space ", space);
  *out = MS_MemRef{nullptr, 0, bytes, space, ordinal_};
  if (bytes == 0) return Status();
  const uint64_t granule = std::max(alignment, kAlignment);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (bytes <= limit_ - in_use_) {
    out->base = std::aligned_alloc(granule, (bytes + granule - 1) / granule * granule);
  }
  if (out->base == nullptr) {
    return Status(MS_RESOURCE_EXHAUSTED,
                  ms::StrCat("ACME ", ordinal_, " has no ", bytes, " bytes: ", in_use_, " of ",
                             limit_, " are in use"));
  }
  in_use_ += bytes;
  return Status();
}

void Device::Free(const MS_MemRef& block) {
  if (block.base == nullptr) return;
  std::free(block.base);
  const std::lock_guard<std::mutex> lock(mutex_);
  in_use_ -= block.bytes;
}

Status Device::MemoryInfo(uint64_t* free_bytes, uint64_t* total_bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  *total_bytes = limit_;
  *free_bytes = limit_ - in_use_;
  return Status();
}
// [docs: end]

void Device::FillStats(MS_MemStats* stats) {
  const std::lock_guard<std::mutex> lock(mutex_);
  stats->in_use = in_use_;
  stats->limit = limit_;
  stats->valid_mask = 1u | 16u;  // the bits of these two
}

Status Device::CreateStream(uint32_t /*role*/, int32_t /*priority*/, std::unique_ptr<Stream>* out) {
  *out = std::make_unique<Stream>(this);
  return Status();
}

Status Device::CreateEvent(uint32_t /*flags*/, std::unique_ptr<Event>* out) {
  *out = std::make_unique<Event>();
  return Status();
}

Status Device::Sync() {
  std::vector<Place> ends;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const Stream* stream : streams_) ends.push_back(stream->End());
  }
  for (const Place& end : ends) end.Wait();
  return Error();
}

Stream::Stream(Device* device) : device_(device) {
  const std::lock_guard<std::mutex> lock(device_->mutex_);
  device_->streams_.insert(this);
}

Stream::~Stream() {
  {
    const std::lock_guard<std::mutex> lock(device_->mutex_);
    device_->streams_.erase(this);
  }
  queue_->Close();
}

// [docs: streams]
Status Stream::Copy(const MS_MemRef& to, const MS_MemRef& from, uint64_t bytes) {
  char* const target = static_cast<char*>(to.base) + to.offset;
  const char* const source = static_cast<char*>(from.base) + from.offset;
  return Enqueue([=] {
    if (bytes != 0) std::memmove(target, source, bytes);
  });
}

// The function is always called, also after the device is lost.
Status Stream::CallHost(void (*function)(void*), void* user) {
  queue_->Push([=] { function(user); });
  return Status();
}

Status Stream::Query(bool* idle) {
  *idle = End().Reached();
  return device_->Error();
}

Status Stream::Sync() {
  End().Wait();
  return device_->Error();
}
// [docs: end]

// [docs: events]
Status Event::Record(Stream& stream) {
  const std::lock_guard<std::mutex> lock(mutex_);
  place_ = stream.End();
  return Status();
}

Place Event::place() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return place_;
}

Status Event::Query(bool* done) {
  *done = place().Reached();
  return Status();
}

Status Event::Sync() {
  place().Wait();
  return Status();
}

// The thread of the stream waits. The caller does not.
Status Stream::Wait(Event& event) {
  queue_->Push([place = event.place()] { place.Wait(); });
  return Status();
}
// [docs: end]

// [docs: errors]
Status Stream::Enqueue(std::function<void()> work) {
  MS_TRY(device_->Error());
  queue_->Push([device = device_, work = std::move(work)] {
    if (!device->Error().ok()) return;
    try {
      work();
    } catch (const std::exception& error) {
      device->Lose(error.what());
    }
  });
  return Status();
}

void Device::Lose(const std::string& why) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (lost_.empty()) lost_ = ms::StrCat("ACME ", ordinal_, " is lost: ", why);
}

Status Device::Error() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return lost_.empty() ? Status() : Status(MS_UNAVAILABLE, lost_);
}
// [docs: end]

}  // namespace acme
