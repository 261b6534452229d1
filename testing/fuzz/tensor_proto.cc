// A TensorProto: read, written, and read again with the same bits.
#include <cstdio>
#include <cstdlib>

#include "framework/message.h"
#include "framework/proto_conversion.h"
#include "testing/fuzz/target.h"
#include "testing/fuzz/tensor_elements.h"

namespace {

using millstream::MessagePtr;
using millstream::StatusOr;
using millstream::Tensor;
using millstream::fuzz::ElementsOf;
using millstream::fuzz::kMaxElements;
using millstream::proto::TensorProto;

void ReadAndWrite(const TensorProto& message) {
  const StatusOr<Tensor> tensor = millstream::TensorFromProto(message);
  if (!tensor.ok()) return;
  TensorProto written;
  if (!millstream::TensorToProto(*tensor, &written).ok()) return;
  const StatusOr<Tensor> again = millstream::TensorFromProto(written);
  if (again.ok() && millstream::TensorsEqual(*tensor, *again)) return;
  std::fprintf(stderr, "a tensor is not read as it was written: %s\n",
               tensor->DebugString().c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const StatusOr<MessagePtr> message =
      millstream::ParseBinary("TensorProto", {reinterpret_cast<const char*>(data), size});
  if (!message.ok()) return 0;
  const auto& tensor = static_cast<const TensorProto&>(**message);
  if (ElementsOf(tensor) <= kMaxElements) ReadAndWrite(tensor);
  return 0;
}
