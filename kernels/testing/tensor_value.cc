#include "kernels/testing/tensor_value.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <utility>

namespace millstream::kernels::testing {
namespace {

constexpr uint64_t kAlignment = 64;
constexpr uint64_t kGuardBytes = 64;
constexpr uint8_t kGuardFill = 0xC3;

BufferMemory* buffer_memory = nullptr;

// The texts of all string cells; cell k + 1 is texts[k].
struct CellTexts {
  std::mutex mutex;
  std::map<std::string, uint64_t, std::less<>> cells;
  std::deque<std::string> texts;
};
CellTexts& AllCellTexts() {
  static auto* const texts = new CellTexts;
  return *texts;
}

}  // namespace

uint64_t CellBytes(MS_DType dtype) {
  return dtype == MS_STRING ? sizeof(uint64_t) : ms::ElementSize(dtype);
}

uint64_t CellOf(std::string_view text) {
  CellTexts& all = AllCellTexts();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto found = all.cells.find(text);
  if (found != all.cells.end()) return found->second;
  all.texts.emplace_back(text);
  return all.cells[std::string(text)] = all.texts.size();
}

const std::string* CellText(uint64_t cell) {
  CellTexts& all = AllCellTexts();
  const std::lock_guard<std::mutex> lock(all.mutex);
  return cell == 0 || cell > all.texts.size() ? nullptr : &all.texts[cell - 1];
}

BuffersIn::BuffersIn(BufferMemory* memory) : previous_(std::exchange(buffer_memory, memory)) {}
BuffersIn::~BuffersIn() { buffer_memory = previous_; }

Buffer::Buffer(uint64_t bytes, uint8_t fill, uint64_t offset)
    : storage_bytes_(bytes + offset + 2 * kGuardBytes + kAlignment),
      offset_(offset),
      bytes_(bytes) {
  uint8_t* shown = nullptr;
  if (buffer_memory == nullptr) {
    storage_.reset(new uint8_t[storage_bytes_], std::default_delete<uint8_t[]>());
    shown = storage_.get();
  } else {
    storage_ = buffer_memory->Allocate(storage_bytes_, &shown);
  }
  std::memset(storage_.get(), kGuardFill, storage_bytes_);
  const uint64_t start = reinterpret_cast<uint64_t>(storage_.get()) + kGuardBytes;
  const uint64_t before = kGuardBytes + (kAlignment - start % kAlignment) % kAlignment;
  base_ = reinterpret_cast<char*>(storage_.get() + before);
  shown_base_ = reinterpret_cast<char*>(shown + before);
  std::memset(data(), fill, bytes);
}

bool Buffer::GuardsIntact() const {
  constexpr char guard = static_cast<char>(kGuardFill);
  const char* begin = reinterpret_cast<const char*>(storage_.get());
  const char* end = begin + storage_bytes_;
  const auto is_guard = [](char byte) { return byte == guard; };
  return std::all_of(begin, data(), is_guard) && std::all_of(data() + bytes_, end, is_guard);
}

TensorValue TensorValue::Make(MS_DType dtype, std::vector<int64_t> dims, uint8_t fill,
                              uint64_t offset) {
  TensorValue value;
  value.dtype = dtype;
  value.dims = std::move(dims);
  value.buffer = std::make_shared<Buffer>(static_cast<uint64_t>(value.size()) * CellBytes(dtype),
                                          fill, offset);
  return value;
}

TensorValue TensorValue::Copy(uint64_t offset) const {
  TensorValue copy = *this;
  if (buffer == nullptr) return copy;
  copy.buffer = std::make_shared<Buffer>(buffer->bytes(), 0, offset);
  std::memcpy(copy.buffer->data(), buffer->data(), buffer->bytes());
  return copy;
}

int64_t TensorValue::size() const {
  int64_t count = 1;
  for (int64_t dim : dims) count *= dim;
  return count;
}

MS_TensorView TensorValue::View(uint64_t flags) const {
  MS_TensorView view{};
  view.mem = buffer->Ref();
  view.dims = dims.data();
  view.rank = static_cast<uint32_t>(dims.size());
  view.dtype = dtype;
  view.flags = flags;
  return view;
}

}  // namespace millstream::kernels::testing
