#include "device_plugins/sim/graph.h"

#include <atomic>
#include <utility>

namespace millstream::sim {
namespace {

using ms::Status;

std::atomic<uint64_t> num_graphs{0};

Stream* Unwrapped(MS_Stream* stream) { return reinterpret_cast<Stream*>(stream); }
Graph* Unwrapped(MS_Graph* graph) { return reinterpret_cast<Graph*>(graph); }

MS_Status* Begin(MS_Stream* stream) noexcept {
  return ms::Guarded([&]() -> Status {
    MS_TRY(Unwrapped(stream)->device()->AdmitCapture());
    return Unwrapped(stream)->BeginCapture();
  });
}

MS_Status* End(MS_Stream* stream, MS_Graph** out) noexcept {
  return ms::Guarded([&]() -> Status {
    *out = nullptr;
    std::vector<ItemMaker> makers;
    MS_TRY(Unwrapped(stream)->EndCapture(&makers));
    Device* const device = Unwrapped(stream)->device();
    MS_TRY(device->CountRecording());
    *out = reinterpret_cast<MS_Graph*>(new Graph(device, std::move(makers)));
    return Status();
  });
}

MS_Status* Update(MS_Graph* graph, const MS_MemChange* changes, uint64_t n) noexcept {
  return ms::Guarded([&] { return Unwrapped(graph)->Update(changes, n); });
}

MS_Status* Replay(MS_Graph* graph, MS_Stream* stream) noexcept {
  return ms::Guarded([&] { return Unwrapped(graph)->Replay(Unwrapped(stream)); });
}

void Destroy(MS_Graph* graph) noexcept { delete Unwrapped(graph); }

}  // namespace

Graph::Graph(Device* device, std::vector<ItemMaker> makers)
    : device_(device), makers_(std::move(makers)) {
  device_->AddGraph();
  ++num_graphs;
}

Graph::~Graph() {
  device_->RemoveGraph();
  --num_graphs;
}

uint64_t Graph::CountAll() { return num_graphs; }

Status Graph::Update(const MS_MemChange* changes, uint64_t n) {
  if (n != 0) MS_TRY(device_->AdmitMoves());
  relocation_ = Relocation({changes, changes + n}, device_->memory()->is_opaque());
  return Status();
}

Status Graph::Replay(Stream* stream) const {
  if (stream->device() != device_) {
    return ms::InvalidArgument("work of ", device_->name(), " is replayed on a stream of ",
                               stream->device()->name());
  }
  MS_TRY(device_->CountReplay());
  std::vector<Item> items;
  for (const ItemMaker& make : makers_) {
    items.push_back(Item{Item::Kind::kWork});
    MS_TRY(make(relocation_, stream, &items.back()));
  }
  return stream->EnqueueAll(std::move(items));
}

const MS_CaptureApi* CaptureTable() {
  static const MS_CaptureApi table = {{sizeof(MS_CaptureApi), 1, MS_ABI_MINOR, MS_CAPTURE_API},
                                      &Begin,
                                      &End,
                                      &Update,
                                      &Replay,
                                      &Destroy};
  return &table;
}

}  // namespace millstream::sim
