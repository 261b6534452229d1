// Any message as text: the first line says which.
#include <string>

#include "framework/message.h"
#include "testing/fuzz/input.h"
#include "testing/fuzz/message_names.h"
#include "testing/fuzz/target.h"

using millstream::fuzz::MessageCalled;
using millstream::fuzz::WriteAndRead;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  millstream::fuzz::Input input(data, size);
  const std::string name = MessageCalled(input.Line());
  const auto message = millstream::ParseText(name, input.rest());
  if (message.ok()) WriteAndRead(name, **message);
  return 0;
}
