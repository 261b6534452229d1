// The files of a checkpoint, of either version: all tensors are looked up and read.
//
// The first byte says what follows. 'b': the length of the index as four bytes, the index, and the
// data. 's': the file of version 1. 'B' and 'S': the entries of such a table, each as lengths of
// two bytes, key and value, up to one with the length 0xffff; they are sorted and get checksums, so
// that a fuzzer comes to what is behind these. Of 'B' the data follow.
#include <map>
#include <string>
#include <utility>

#include "core/checkpoint/bundle_format.h"
#include "core/checkpoint/checkpoint_reader.h"
#include "core/checkpoint/table.h"
#include "core/io/faulty_file_system.h"
#include "testing/fuzz/input.h"
#include "testing/fuzz/target.h"

namespace millstream {
namespace {

constexpr char kPrefix[] = "model";
constexpr uint16_t kEnd = 0xffff;

void AddFile(const std::string& path, absl::string_view contents, FileSystem* files) {
  auto file = files->OpenForAppending(path, FileSystem::Existing::kReplace);
  if (file.ok()) (*file)->Append(contents).IgnoreError();
}

// Takes `size` bytes, or those that there are.
std::string TakeBytes(size_t size, absl::string_view* rest) {
  const std::string taken(rest->substr(0, size));
  rest->remove_prefix(taken.size());
  return taken;
}

std::string TakeTable(absl::string_view* rest) {
  std::map<std::string, std::string> entries;
  while (!rest->empty()) {
    fuzz::Input lengths(reinterpret_cast<const uint8_t*>(rest->data()), rest->size());
    const auto key_size = lengths.Take<uint16_t>();
    const auto value_size = lengths.Take<uint16_t>();
    *rest = lengths.rest();
    if (key_size == kEnd) break;
    std::string key = TakeBytes(key_size, rest);
    entries[std::move(key)] = TakeBytes(value_size, rest);
  }
  return WriteTable(TableEntries(entries.begin(), entries.end()));
}

void ReadEverything(FileSystem* files) {
  const auto reader = CheckpointReader::Open(files, kPrefix);
  if (!reader.ok()) return;
  for (const std::string& name : (*reader)->Names()) {
    const StatusOr<CheckpointReader::Info> info = (*reader)->Find(name);
    if (!info.ok() || !(*reader)->CheckHeld(name).ok()) continue;
    const StatusOr<Tensor> out = Tensor::Create(info->dtype, info->shape);
    if (out.ok()) (*reader)->Read(name, SliceSpec(), *out).IgnoreError();
  }
}

}  // namespace
}  // namespace millstream

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace millstream;  // NOLINT(google-build-using-namespace)
  fuzz::Input input(data, size);
  const char kind = input.Take<char>();
  FaultyFileSystem files;
  if (kind == 'b' || kind == 'B') {
    std::string index;
    absl::string_view rest = input.rest();
    if (kind == 'b') {
      const auto index_size = input.Take<uint32_t>();
      rest = input.rest();
      index = TakeBytes(index_size, &rest);
    } else {
      index = TakeTable(&rest);
    }
    AddFile(IndexPath(kPrefix), index, &files);
    AddFile(DataPath(kPrefix, 0, 1), rest, &files);
  } else {
    absl::string_view rest = input.rest();
    AddFile(kPrefix, kind == 'S' ? TakeTable(&rest) : std::string(rest), &files);
  }
  ReadEverything(&files);
  return 0;
}
