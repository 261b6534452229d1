// BMP files, by the op that reads them.
#include "testing/fuzz/fed_string.h"
#include "testing/fuzz/target.h"

using millstream::fuzz::Fail;
using millstream::fuzz::FedString;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static auto* const reader = new FedString("node { name: 'y' op: 'DecodeBmp' input: 'x' }", {"y"});
  millstream_tensor* const image = reader->Run(0, data, size);
  if (image != nullptr && millstream_tensor_dims(image)[0] < 1) Fail("an image without rows");
  millstream_tensor_free(image);
  return 0;
}
