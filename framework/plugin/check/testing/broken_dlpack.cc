// A kernel of the broken plugin that exchanges memory through DLPack.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "framework/plugin/check/testing/broken_plugin.h"
#include "framework/plugin/plugin_tensor.hpp"

// As in dlpack.h, which a plugin includes.
struct DLManagedTensorVersioned {
  uint32_t major;
  uint32_t minor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned* self);
  uint64_t flags;
  void* data;
  int32_t device_type;
  int32_t device_id;
  int32_t ndim;
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
};

namespace broken {
namespace {

constexpr int32_t kCpu = 1;  // kDLCPU
constexpr uint8_t kFloat = 2;

// How many tensors the host still has.
std::atomic<int> lent{0};

// A tensor of the plugin's.
struct Loan {
  std::vector<float> values;
  std::vector<int64_t> dims;
  DLManagedTensorVersioned managed{};
};

void EndLoan(DLManagedTensorVersioned* managed) {
  delete static_cast<Loan*>(managed->manager_ctx);
  --lent;
}

int32_t OwnDeviceType() { return HasOwnMemory() ? kDLPackDeviceType : kCpu; }

// Rounds to whole numbers.
class Rint {
 public:
  // The host has given back each tensor of the kernels before once.
  ms::Status Init(const ms::KernelInfo&) {
    return lent == 0 ? ms::Status() : ms::Internal("the host has ", lent.load(), " tensors");
  }

  ms::Status Compute(ms::Frame& frame) const {
    if (frame.raw()->outputs[0].mem.base == nullptr) {
      ms::Tensor x;
      MS_TRY(OutAndIn(frame, &x));
      return Lend(frame, x.view());
    }
    const ms::View x = frame.input(0);
    ms::View y;
    MS_TRY(frame.Output(0, x.shape(), &y));
    Fill(x, y.data<float>());
    return ms::Status();
  }

 private:
  static void Fill(const ms::View& x, float* to) {
    for (int64_t i = 0; i < x.size(); ++i) to[i] = std::nearbyint(x.data<float>()[i]);
  }

  // The input, exported by the host and imported again: the same memory.
  static ms::Status OutAndIn(const ms::Frame& frame, ms::Tensor* again) {
    ms::Tensor x;
    MS_TRY(ms::Tensor::OfInput(frame, 0, &x));
    DLManagedTensorVersioned* managed = nullptr;
    MS_TRY(x.ToDLPack(&managed));
    if (managed->device_type != OwnDeviceType() || managed->device_id != 0) {
      return ms::Internal("exported from device ", managed->device_id, " of type ",
                          managed->device_type);
    }
    const void* const data = managed->data;
    ms::Status status = ms::Tensor::FromDLPack(frame, managed, again);
    if (!status.ok()) {
      managed->deleter(managed);
      return status;
    }
    const bool is_same = again->view().size() == 0 || again->view().raw() == data;
    return is_same ? ms::Status() : ms::Internal("the import is a copy");
  }

  // The output in memory of the plugin's own.
  static ms::Status Lend(const ms::Frame& frame, const ms::View& x) {
    auto loan = std::make_unique<Loan>();
    loan->values.resize(static_cast<size_t>(x.size()));
    Fill(x, loan->values.data());
    for (uint32_t i = 0; i < x.rank(); ++i) loan->dims.push_back(x.dim(i));
    DLManagedTensorVersioned* const managed = &loan->managed;
    managed->major = 1;
    managed->manager_ctx = loan.get();
    managed->deleter = &EndLoan;
    managed->data = loan->values.data();
    managed->device_type = OwnDeviceType();
    managed->ndim = static_cast<int32_t>(x.rank());
    managed->code = kFloat;
    managed->bits = 32;
    managed->lanes = 1;
    managed->shape = loan->dims.data();
    ms::Tensor y;
    MS_TRY(ms::Tensor::FromDLPack(frame, managed, &y));
    ++lent;
    // One that is not 0: the next number is nearly the same, so that only its bits say that it was
    // written.
    const auto large = std::find_if(loan->values.begin(), loan->values.end(),
                                    [](float value) { return value != 0; });
    float* const written = large == loan->values.end() ? nullptr : &*large;
    static_cast<void>(loan.release());  // the host owns it now
    if (Has("deletes_lent")) managed->deleter(managed);
    if (Has("lends_twice")) {
      ms::Tensor second;
      static_cast<void>(ms::Tensor::FromDLPack(frame, managed, &second));
    }
    if (Has("writes_lent") && written != nullptr) {
      std::thread([written] {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        *written = std::nextafter(*written, 1e9f);
      }).detach();
    }
    return y.SetAsOutput(frame, 0);
  }
};

}  // namespace

ms::Status RegisterDLPack(MS_Registrar* registrar) {
  return ms::KernelEntry::Of<Rint>("Rint", ms::KernelOptions().Type<float>("T").Device("BROKEN"))
      .RegisterWith(registrar);
}

}  // namespace broken
