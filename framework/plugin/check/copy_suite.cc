// Copies and fills: they must write all their bytes and no other bytes.
#include <cstring>
#include <string>

#include "framework/plugin/check/check_host.h"
#include "framework/plugin/check/device_bytes.h"
#include "framework/plugin/check/device_rules.h"

namespace millstream::plugin_check {
namespace {

constexpr const char* kRules[] = {"COPY-DIRECTIONS", "COPY-SIZES", "COPY-OFFSETS",
                                  "COPY-ZERO",       "COPY-FILL",  "COPY-PEER"};

// One device and its stream, for short sentences. Errors fail the rule that runs.
class Copier {
 public:
  Copier(const CheckedDevice& device, Reporter* report) : device_(device), report_(report) {}

  std::unique_ptr<DeviceBytes> Bytes(const std::string& content) const {
    auto made = DeviceBytes::Make(device_, content.size());
    if (!Ok(made.status()) || !Ok((*made)->Write(content))) return nullptr;
    return *std::move(made);
  }
  bool Copy(const MS_MemRef& to, const MS_MemRef& from, uint64_t bytes) const {
    return Ok(Take(device_.functions().copy_async(device_.stream(), &to, &from, bytes)));
  }
  bool Fill(const MS_MemRef& to, uint32_t pattern, uint32_t width, uint64_t bytes) const {
    return Ok(Take(device_.functions().fill_async(device_.stream(), &to, pattern, width, bytes)));
  }
  bool Sync() const { return Ok(Take(device_.functions().stream_sync(device_.stream()))); }
  void ExpectContent(const DeviceBytes& block, const std::string& expected,
                     const std::string& what) const {
    const StatusOr<std::string> found = block.Read();
    if (Ok(found.status())) ExpectBytes(*found, expected, what);
  }
  void ExpectBytes(const std::string& found, const std::string& expected,
                   const std::string& what) const {
    if (found == expected) return;
    size_t at = 0;
    while (found[at] == expected[at]) ++at;
    report_->Fail(absl::StrCat(what, ": byte ", at, " is ", int{static_cast<uint8_t>(found[at])},
                               ", expected ", int{static_cast<uint8_t>(expected[at])}));
  }
  bool Ok(const Status& status) const { return report_->Expect(status.ok(), status.ToString()); }

 private:
  const CheckedDevice& device_;
  Reporter* const report_;
};

void CheckDirections(const Copier& copier, Reporter* report) {
  constexpr uint64_t kBytes = 1 << 20;
  report->Begin("COPY-DIRECTIONS", "1 MiB");
  std::string sent = TestBytes(kBytes, 1);
  const auto first = copier.Bytes(std::string(kBytes, 'a'));
  const auto second = copier.Bytes(std::string(kBytes, 'b'));
  if (first == nullptr || second == nullptr) return;
  std::string received(kBytes, 'c');
  std::string host(kBytes, 'd');
  if (!copier.Copy(first->ref(), HostRef(&sent), kBytes)) return;
  if (!copier.Copy(second->ref(), first->ref(), kBytes)) return;
  if (!copier.Copy(HostRef(&received), second->ref(), kBytes)) return;
  if (!copier.Sync()) return;
  copier.ExpectBytes(received, sent, "host to device to device to host");
  // From host to host.
  if (!copier.Copy(HostRef(&host), HostRef(&sent), kBytes) || !copier.Sync()) return;
  copier.ExpectBytes(host, sent, "host to host");
}

// What a copy of `bytes` from `from_offset` to `to_offset` makes of two blocks, in each direction.
void CheckPart(const Copier& copier, Reporter* report, const char* rule, uint64_t bytes,
               uint64_t to_offset, uint64_t from_offset) {
  constexpr uint64_t kRoom = 64;
  report->Begin(rule, absl::StrCat(bytes, " bytes from offset ", from_offset, " to ", to_offset));
  const uint64_t total = bytes + kRoom;
  std::string sent = TestBytes(total, 2);
  const std::string other = TestBytes(total, 3);
  std::string expected = other;
  std::memcpy(expected.data() + to_offset, sent.data() + from_offset, bytes);

  const auto source = copier.Bytes(sent);
  const auto target = copier.Bytes(other);
  if (source == nullptr || target == nullptr) return;
  const MS_MemRef to = PartOf(target->ref(), to_offset, bytes);
  if (!copier.Copy(to, PartOf(source->ref(), from_offset, bytes), bytes)) return;
  copier.ExpectContent(*target, expected, "device to device");

  if (!copier.Ok(target->Write(other))) return;
  if (!copier.Copy(to, PartOf(HostRef(&sent), from_offset, bytes), bytes)) return;
  copier.ExpectContent(*target, expected, "host to device");

  std::string received = other;
  const MS_MemRef from = PartOf(source->ref(), from_offset, bytes);
  if (!copier.Copy(PartOf(HostRef(&received), to_offset, bytes), from, bytes)) return;
  if (copier.Sync()) copier.ExpectBytes(received, expected, "device to host");
}

void CheckFill(const CheckedDevice& device, const Copier& copier, Reporter* report) {
  if (!MS_HAS(&device.functions(), fill_async)) {
    report->Begin("COPY-FILL");
    report->Skip("the device has no fill_async");
    return;
  }
  constexpr uint32_t kPattern = 0x04030201;
  for (const uint32_t width : {1u, 2u, 4u}) {
    report->Begin("COPY-FILL", absl::StrCat("width ", width));
    const std::string before = TestBytes(100, 4);
    const auto block = copier.Bytes(before);
    if (block == nullptr) return;
    std::string expected = before;
    for (size_t i = 0; i < 60; ++i) {
      expected[8 + i] = static_cast<char>(kPattern >> 8 * (i % width));
    }
    if (!copier.Fill(PartOf(block->ref(), 8, 60), kPattern, width, 60)) return;
    copier.ExpectContent(*block, expected, "filled");
  }
}

void CheckPeers(CheckContext* context, const std::vector<uint32_t>& ordinals) {
  Reporter* const report = context->report;
  report->Begin("COPY-PEER");
  // Two logical devices of one ordinal are peers as well.
  const auto first = CreateDevice(context, ordinals.front());
  const auto second = CreateDevice(context, ordinals.back());
  if (first == nullptr || second == nullptr) return;
  const MS_DeviceApi& functions = first->functions();
  uint8_t ok = 0;
  if (MS_HAS(&functions, peer_ok) && MS_HAS(&functions, copy_peer_async)) {
    const Status asked = Take(functions.peer_ok(first->device(), second->device(), &ok));
    if (!report->Expect(asked.ok(), asked.ToString())) return;
  }
  if (ok == 0) {
    report->Skip("the device has no peers");
    return;
  }
  const std::string sent = TestBytes(10007, 5);
  const Copier near(*first, report);
  const Copier far(*second, report);
  const auto from = near.Bytes(sent);
  const auto to = far.Bytes(std::string(sent.size(), 'x'));
  if (from == nullptr || to == nullptr) return;
  const Status copied =
      Take(functions.copy_peer_async(first->stream(), &to->ref(), &from->ref(), sent.size()));
  if (report->Expect(copied.ok(), copied.ToString()) && near.Sync()) {
    far.ExpectContent(*to, sent, "device to its peer");
  }
}

void CheckCopies(CheckContext* context) {
  Reporter* const report = context->report;
  const std::vector<uint32_t> ordinals = OrdinalsOf(context, kRules);
  for (const uint32_t ordinal : ordinals) {
    report->Begin("COPY-DIRECTIONS", absl::StrCat("device ", ordinal));
    const auto device = CreateDevice(context, ordinal);
    if (device == nullptr) continue;
    const Copier copier(*device, report);
    CheckDirections(copier, report);
    for (const uint64_t bytes : {1, 2, 3, 7, 8, 13, 63, 64, 65, 255, 4095, 4097, 65537}) {
      CheckPart(copier, report, "COPY-SIZES", bytes, 0, 0);
    }
    for (const uint64_t to : {0, 1, 3, 31, 64}) {
      for (const uint64_t from : {0, 1, 5, 64}) {
        CheckPart(copier, report, "COPY-OFFSETS", 201, to, from);
      }
    }
    CheckPart(copier, report, "COPY-ZERO", 0, 7, 5);
    CheckFill(*device, copier, report);
  }
  if (!ordinals.empty()) CheckPeers(context, ordinals);
}

constexpr Check kChecks[] = {&CheckCopies};

}  // namespace

Suite CopySuite() { return SuiteOf<kChecks, 1>("copies", /*loads_itself=*/false); }

}  // namespace millstream::plugin_check
