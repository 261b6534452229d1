// Allocating and freeing.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "framework/plugin/check/check_host.h"
#include "framework/plugin/check/device_rules.h"

namespace millstream::plugin_check {
namespace {

constexpr const char* kRules[] = {"MEM-ALIGN", "MEM-REF",   "MEM-DISTINCT", "MEM-ZERO", "MEM-HUGE",
                                  "MEM-SPACE", "MEM-SIZES", "MEM-COUNT",    "MEM-LEAK"};
constexpr uint64_t kMostMemory = uint64_t{1} << 50;

// One device, and what was allocated of it.
class Heap {
 public:
  Heap(const CheckedDevice& device, Reporter* report) : device_(device), report_(report) {}
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;
  ~Heap() { FreeAll(); }

  // A null base, and the rule that runs fails, when there is none.
  MS_MemRef Allocate(uint32_t space, uint64_t bytes, uint64_t alignment) {
    MS_MemRef ref = {};
    const Status status = Try(space, bytes, alignment, &ref);
    if (report_->Expect(status.ok(), bytes, " bytes of space ", space, ": ", status.ToString())) {
      blocks_.push_back(ref);
    }
    return ref;
  }
  Status Try(uint32_t space, uint64_t bytes, uint64_t alignment, MS_MemRef* ref) {
    return Take(device_.functions().mem_alloc(device_.device(), space, bytes, alignment, ref));
  }
  void Free(const MS_MemRef& ref) { device_.functions().mem_free(device_.device(), &ref); }
  void FreeAll() {
    for (const MS_MemRef& ref : blocks_) Free(ref);
    blocks_.clear();
  }
  const std::vector<MS_MemRef>& blocks() const { return blocks_; }
  // INVALID when the device has no statistics, or not this one.
  StatusOr<MS_MemStats> Stats() const {
    MS_MemStats stats = {};
    stats.head.size = sizeof(stats);
    if (!MS_HAS(&device_.functions(), mem_stats)) return errors::Unimplemented("no mem_stats");
    MS_RETURN_IF_ERROR(Take(device_.functions().mem_stats(device_.device(), &stats)));
    return stats;
  }

 private:
  const CheckedDevice& device_;
  Reporter* const report_;
  std::vector<MS_MemRef> blocks_;
};

constexpr uint64_t kInUseBit = 1;
constexpr uint64_t kPeakBit = 2;
constexpr uint64_t kLimitBit = 16;

void CheckAlignment(const MS_SpaceDesc& space, Heap* heap, Reporter* report) {
  for (uint64_t alignment = 1; alignment <= 4096; alignment *= 2) {
    for (const uint64_t bytes : {uint64_t{1}, uint64_t{33}, uint64_t{4097}}) {
      report->Begin("MEM-ALIGN", absl::StrCat("space ", space.space));
      const MS_MemRef ref = heap->Allocate(space.space, bytes, alignment);
      if (ref.base == nullptr) continue;
      const uint64_t address = reinterpret_cast<uintptr_t>(ref.base) + ref.offset;
      const uint64_t least = std::max<uint64_t>(alignment, space.alignment);
      report->Expect(least == 0 || address % least == 0, bytes, " bytes aligned to ", alignment,
                     ", in a space aligned to ", space.alignment, ", are at ", absl::Hex(address));
      report->Begin("MEM-REF", absl::StrCat("space ", space.space));
      report->Expect(ref.bytes >= bytes && ref.space == space.space, bytes,
                     " bytes were asked for; the block says ", ref.bytes, " of space ", ref.space);
    }
  }
}

void CheckDistinct(const MS_SpaceDesc& space, const Heap& heap, Reporter* report) {
  report->Begin("MEM-DISTINCT", absl::StrCat("space ", space.space));
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  for (const MS_MemRef& ref : heap.blocks()) {
    const uint64_t start = reinterpret_cast<uintptr_t>(ref.base) + ref.offset;
    ranges.emplace_back(start, start + ref.bytes);
  }
  std::sort(ranges.begin(), ranges.end());
  for (size_t i = 1; i < ranges.size(); ++i) {
    report->Expect(ranges[i].first >= ranges[i - 1].second, "the block at ",
                   absl::Hex(ranges[i].first), " begins before that at ",
                   absl::Hex(ranges[i - 1].first), " ends");
  }
}

void CheckLimits(const MS_SpaceDesc& space, Heap* heap, Reporter* report) {
  const std::string where = absl::StrCat("space ", space.space);
  report->Begin("MEM-ZERO", where);
  MS_MemRef nothing = {};
  const Status zero = heap->Try(space.space, 0, 64, &nothing);
  if (report->Expect(zero.ok(), zero.ToString())) heap->Free(nothing);
  for (const uint64_t bytes : {~uint64_t{0}, uint64_t{1} << 62, uint64_t{1} << 47}) {
    report->Begin("MEM-HUGE", where);
    MS_MemRef ref = {};
    const Status status = heap->Try(space.space, bytes, 64, &ref);
    report->Expect(absl::IsResourceExhausted(status), bytes, " bytes gave ", status.ToString());
    if (status.ok()) heap->Free(ref);
  }
}

void CheckSizes(const CheckedDevice& device, const Heap& heap, Reporter* report) {
  report->Begin("MEM-SIZES");
  uint64_t free_bytes = 0;
  uint64_t total = 0;
  const Status status = Take(device.functions().mem_info(device.device(), &free_bytes, &total));
  if (!report->Expect(status.ok(), status.ToString())) return;
  report->Expect(total > 0 && total <= kMostMemory, "mem_info: in all ", total, " bytes");
  report->Expect(free_bytes <= total, "mem_info: ", free_bytes, " free of ", total);
  const StatusOr<MS_MemStats> stats = heap.Stats();
  if (absl::IsUnimplemented(stats.status())) return;
  if (!report->Expect(stats.ok(), stats.status().ToString())) return;
  const auto both = [&](uint64_t bits) { return (stats->valid_mask & bits) == bits; };
  report->Expect(!both(kInUseBit | kPeakBit) || stats->peak >= stats->in_use, "mem_stats: peak ",
                 stats->peak, ", in use ", stats->in_use);
  report->Expect(!both(kInUseBit | kLimitBit) || stats->in_use <= stats->limit,
                 "mem_stats: in use ", stats->in_use, " of ", stats->limit);
  report->Expect(!both(kLimitBit) || stats->limit <= kMostMemory, "mem_stats: limit ",
                 stats->limit);
}

// in_use, or nothing when the device does not say.
StatusOr<uint64_t> InUse(const Heap& heap) {
  MS_ASSIGN_OR_RETURN(const MS_MemStats stats, heap.Stats());
  if ((stats.valid_mask & kInUseBit) == 0) return errors::Unimplemented("no in_use");
  return stats.in_use;
}

void CheckCounts(uint32_t space, Heap* heap, Reporter* report) {
  report->Begin("MEM-COUNT", absl::StrCat("space ", space));
  const StatusOr<uint64_t> before = InUse(*heap);
  if (!before.ok()) {
    report->Skip("the device does not say what is in use");
    return;
  }
  constexpr uint64_t kBytes = 1 << 20;
  const MS_MemRef ref = heap->Allocate(space, kBytes, 64);
  const StatusOr<uint64_t> after = InUse(*heap);
  report->Expect(ref.base == nullptr || *after >= *before + kBytes, "with ", kBytes,
                 " bytes more, in_use went from ", *before, " to ", *after);
  heap->FreeAll();
  const StatusOr<uint64_t> end = InUse(*heap);
  report->Begin("MEM-LEAK", absl::StrCat("space ", space));
  report->Expect(*end == 0, "after all blocks were freed ", *end, " bytes are in use");
}

// Only device memory is counted by every device.
bool IsCounted(const CheckedDevice& device, const MS_SpaceDesc& space) {
  return space.space == MS_SPACE_DEVICE ||
         (device.description().flags & MS_DEVICE_HOST_IS_DEVICE) != 0;
}

void CheckMemory(CheckContext* context) {
  for (const uint32_t ordinal : OrdinalsOf(context, kRules)) {
    Reporter* const report = context->report;
    report->Begin("MEM-SIZES", absl::StrCat("device ", ordinal));
    const auto device = CreateDevice(context, ordinal);
    if (device == nullptr) continue;
    Heap heap(*device, report);
    CheckSizes(*device, heap, report);
    for (uint64_t i = 0; i < device->description().n_spaces; ++i) {
      const MS_SpaceDesc& space = *device->description().spaces[i];
      CheckAlignment(space, &heap, report);
      CheckDistinct(space, heap, report);
      heap.FreeAll();
      CheckLimits(space, &heap, report);
      if (IsCounted(*device, space)) CheckCounts(space.space, &heap, report);
    }
    report->Begin("MEM-SPACE");
    MS_MemRef ref = {};
    const Status status = heap.Try(77, 64, 64, &ref);
    report->Expect(absl::IsUnimplemented(status), "space 77 gave ", status.ToString());
  }
}

constexpr Check kChecks[] = {&CheckMemory};

}  // namespace

Suite MemorySuite() { return SuiteOf<kChecks, 1>("memory", /*loads_itself=*/false); }

}  // namespace millstream::plugin_check
