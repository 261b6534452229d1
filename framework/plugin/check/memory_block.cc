#include "framework/plugin/check/memory_block.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "framework/buffer.h"
#include "framework/plugin/check/check_host.h"

namespace millstream::plugin_check {
namespace {

constexpr uint64_t kAlignment = 64;
constexpr uint64_t kGuardBytes = 64;
constexpr char kGuardFill = static_cast<char>(0xC3);
constexpr uint64_t kMostBytes = uint64_t{1} << 30;

char* AddressOf(const MS_MemRef& ref) { return static_cast<char*>(ref.base) + ref.offset; }

// All buffers of device memory that this host makes, and those of memory that plugins gave.
class PlacedBuffer : public Buffer {
 public:
  // REQUIRES: it has a block.
  explicit PlacedBuffer(std::unique_ptr<PlacedTensor> placed)
      : Buffer(AddressOf(placed->memory()), placed->bytes(), /*writable=*/false,
               placed->on_host() ? MemorySpace::kHost : MemorySpace::kDevice,
               placed->place().ordinal),
        placed_(std::move(placed)) {}
  const PlacedTensor& placed() const { return *placed_; }
  int32_t dlpack_device_type() const override { return placed_->place().dlpack_device_type; }
  Status AwaitWritten() const override {
    const Place& place = placed_->place();
    return place.on_host() ? absl::OkStatus() : Take(place.functions->stream_sync(place.stream));
  }

 private:
  const std::unique_ptr<PlacedTensor> placed_;
};

// What a tensor in a device's memory lies in, also one with a part of it; null on the host.
const PlacedTensor* PlacedUnder(const Tensor& tensor) {
  if (!tensor.is_on_device()) return nullptr;
  return &static_cast<const PlacedBuffer*>(tensor.buffer().get())->placed();
}

}  // namespace

StatusOr<std::unique_ptr<Block>> Block::Make(const Place& place, uint64_t bytes, uint8_t fill,
                                             uint64_t offset, const void* content) {
  std::unique_ptr<Block> block(new Block(place, bytes, offset, kGuardBytes));
  const uint64_t total = block->total();
  std::string whole(total, kGuardFill);
  char* const data = whole.data() + block->start();
  if (content == nullptr) {
    std::memset(data, fill, bytes);
  } else if (bytes != 0) {
    std::memcpy(data, content, bytes);
  }
  if (place.on_host()) {
    block->storage_.resize(total + kAlignment);
    const auto start = reinterpret_cast<uintptr_t>(block->storage_.data());
    const uint64_t padding = (kAlignment - start % kAlignment) % kAlignment;
    block->whole_ = {block->storage_.data() + padding, 0, total, MS_SPACE_HOST, 0};
  } else {
    MS_RETURN_IF_ERROR(Take(place.functions->mem_alloc(place.device, MS_SPACE_DEVICE, total,
                                                       kAlignment, &block->whole_)));
  }
  MS_RETURN_IF_ERROR(block->CopyIn(whole));
  return block;
}

std::unique_ptr<Block> Block::Wrap(const Place& place, const MS_MemRef& memory, uint64_t bytes,
                                   std::function<void()> release) {
  std::unique_ptr<Block> block(new Block(place, bytes, 0, 0));
  block->whole_ = memory;
  block->release_ = std::move(release);
  return block;
}

Block::~Block() {
  if (release_ != nullptr) {
    if (!place_.on_host()) Take(place_.functions->stream_sync(place_.stream)).IgnoreError();
    release_();
  } else if (!place_.on_host() && whole_.base != nullptr) {
    place_.functions->mem_free(place_.device, &whole_);
  }
}

MS_MemRef Block::ref() const {
  MS_MemRef ref = whole_;
  ref.offset += start();
  ref.bytes = bytes_;
  return ref;
}

Status Block::CopyIn(const std::string& whole) const {
  if (place_.on_host()) {
    std::memcpy(AddressOf(whole_), whole.data(), whole.size());
    return absl::OkStatus();
  }
  const MS_MemRef host = {const_cast<char*>(whole.data()), 0, whole.size(), MS_SPACE_HOST, 0};
  MS_RETURN_IF_ERROR(
      Take(place_.functions->copy_async(place_.stream, &whole_, &host, whole.size())));
  return Take(place_.functions->stream_sync(place_.stream));
}

StatusOr<std::string> Block::CopyOut() const {
  std::string whole(total(), '\0');
  if (place_.on_host()) {
    if (!whole.empty()) std::memcpy(whole.data(), AddressOf(whole_), whole.size());
    return whole;
  }
  const MS_MemRef host = {whole.data(), 0, whole.size(), MS_SPACE_HOST, 0};
  MS_RETURN_IF_ERROR(
      Take(place_.functions->copy_async(place_.stream, &host, &whole_, whole.size())));
  MS_RETURN_IF_ERROR(Take(place_.functions->stream_sync(place_.stream)));
  return whole;
}

Status Block::Write(const void* bytes) const {
  std::string whole(total(), kGuardFill);
  if (bytes_ != 0) std::memcpy(whole.data() + start(), bytes, bytes_);
  return CopyIn(whole);
}

Status Block::Read(void* bytes, bool* guards_intact) const {
  if (guards_intact != nullptr) *guards_intact = false;
  MS_ASSIGN_OR_RETURN(const std::string whole, CopyOut());
  if (bytes_ != 0) std::memcpy(bytes, whole.data() + start(), bytes_);
  if (guards_intact == nullptr) return absl::OkStatus();
  const auto is_guard = [](char byte) { return byte == kGuardFill; };
  const auto data = whole.begin() + static_cast<int64_t>(start());
  *guards_intact = std::all_of(whole.begin(), data, is_guard) &&
                   std::all_of(data + static_cast<int64_t>(bytes_), whole.end(), is_guard);
  return absl::OkStatus();
}

StatusOr<std::unique_ptr<PlacedTensor>> PlacedTensor::Make(const Place& place, DataType dtype,
                                                           const Shape& shape, uint8_t fill,
                                                           uint64_t offset) {
  std::unique_ptr<PlacedTensor> placed(new PlacedTensor(dtype, shape));
  if (IsPlainData(dtype)) {
    MS_RETURN_IF_ERROR(placed->MakeBlock(place, fill, offset, /*content=*/nullptr));
  } else {
    MS_ASSIGN_OR_RETURN(placed->tensor_, Tensor::Create(dtype, shape));
  }
  return placed;
}

Status PlacedTensor::MakeBlock(const Place& place, uint8_t fill, uint64_t offset,
                               const void* content) {
  if (bytes() > kMostBytes) {
    return errors::ResourceExhausted("more than 1 GiB was asked for: ", shape_.ToString());
  }
  on_host_ = place.on_host();
  MS_ASSIGN_OR_RETURN(block_, Block::Make(place, bytes(), fill, offset, content));
  return absl::OkStatus();
}

StatusOr<std::unique_ptr<PlacedTensor>> PlacedTensor::CopyOf(const Place& place,
                                                             const Tensor& value, uint64_t offset) {
  std::unique_ptr<PlacedTensor> placed(new PlacedTensor(value.dtype(), value.shape()));
  if (IsPlainData(value.dtype())) {
    MS_RETURN_IF_ERROR(placed->MakeBlock(place, 0, offset, value.raw()));
  } else {
    MS_ASSIGN_OR_RETURN(placed->tensor_, value.DeepCopy());
  }
  return placed;
}

std::unique_ptr<PlacedTensor> PlacedTensor::In(std::unique_ptr<Block> block, DataType dtype,
                                               const Shape& shape, bool on_host) {
  std::unique_ptr<PlacedTensor> placed(new PlacedTensor(dtype, shape));
  placed->on_host_ = on_host;
  placed->block_ = std::move(block);
  return placed;
}

std::unique_ptr<PlacedTensor> PlacedTensor::Of(const Tensor& tensor) {
  std::unique_ptr<PlacedTensor> placed(new PlacedTensor(tensor.dtype(), tensor.shape()));
  placed->on_host_ = !tensor.is_on_device();
  placed->is_shared_ = true;
  placed->tensor_ = tensor;
  return placed;
}

std::unique_ptr<PlacedTensor> PlacedTensor::Over(DataType dtype, const Shape& shape) const {
  std::unique_ptr<PlacedTensor> placed(new PlacedTensor(dtype, shape));
  placed->on_host_ = on_host_;
  placed->block_ = block_;
  placed->tensor_ = tensor_;
  return placed;
}

uint64_t PlacedTensor::bytes() const {
  return static_cast<uint64_t>(shape_.num_elements()) * DataTypeSize(dtype_);
}

// Devices may want their own base and offset, of which a tensor knows the sum alone.
MS_MemRef PlacedTensor::memory() const {
  if (block_ != nullptr) return block_->ref();
  const PlacedTensor* const under = PlacedUnder(tensor_);
  if (under == nullptr) return {tensor_.raw(), 0, tensor_.bytes(), MS_SPACE_HOST, 0};
  MS_MemRef memory = under->memory();
  memory.offset += tensor_.offset();
  memory.bytes = tensor_.bytes();
  return memory;
}

MS_TensorView PlacedTensor::View(uint64_t flags) const {
  MS_TensorView view = {};
  view.mem = memory();
  view.dims = shape_.dims().data();
  view.rank = static_cast<uint32_t>(shape_.rank());
  view.dtype = ToAbiDataType(dtype_);
  view.flags = flags | (on_host_ ? MS_VIEW_HOST : 0);
  return view;
}

StatusOr<Tensor> PlacedTensor::Read(bool* guards_intact) const {
  if (block_ == nullptr) {
    const PlacedTensor* const under = PlacedUnder(tensor_);
    if (under == nullptr) {
      if (guards_intact != nullptr) *guards_intact = true;
      return tensor_.DeepCopy();
    }
    MS_ASSIGN_OR_RETURN(const Tensor whole, under->Read(guards_intact));
    return Tensor(dtype_, shape_, whole.buffer(), tensor_.offset());
  }
  if (guards_intact != nullptr) *guards_intact = false;
  MS_ASSIGN_OR_RETURN(Tensor value, Tensor::Create(dtype_, shape_));
  MS_RETURN_IF_ERROR(block_->Read(value.raw(), guards_intact));
  return value;
}

Tensor TensorOver(std::unique_ptr<PlacedTensor> placed) {
  const DataType dtype = placed->dtype();
  const Shape shape = placed->shape();
  return Tensor(dtype, shape, BufferRef::Adopt(new PlacedBuffer(std::move(placed))));
}

}  // namespace millstream::plugin_check
