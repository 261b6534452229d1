// Any message as bytes: the first line says which. What can be read is printed, and the text
// read again.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "framework/message.h"
#include "testing/fuzz/input.h"
#include "testing/fuzz/message_names.h"
#include "testing/fuzz/target.h"

using absl::StatusOr;
using millstream::MessagePtr;
using millstream::fuzz::MessageCalled;
using millstream::fuzz::WriteAndRead;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  millstream::fuzz::Input input(data, size);
  const std::string name = MessageCalled(input.Line());
  const StatusOr<MessagePtr> message = millstream::ParseBinary(name, input.rest());
  if (!message.ok()) return 0;
  WriteAndRead(name, **message);
  const std::string text = millstream::PrintText(**message);
  const StatusOr<MessagePtr> again = millstream::ParseText(name, text);
  if (again.ok() && millstream::PrintText(**again) != text) {
    std::fprintf(stderr, "%s changes as it is printed and read:\n%s\n", name.c_str(), text.c_str());
    std::abort();
  }
  return 0;
}
