// Ops that write and read checkpoints (core/checkpoint).
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/checkpoint/bundle_format.h"
#include "core/checkpoint/bundle_reader.h"
#include "core/checkpoint/bundle_writer.h"
#include "core/checkpoint/checkpoint_reader.h"
#include "core/checkpoint/saved_slices_writer.h"
#include "core/io/file_system.h"
#include "core/structural/host_kernel.h"
#include "core/structural/summary_text.h"

namespace millstream {
namespace {

// A zero byte would end a path before its end, and begins the keys of slices.
Status CheckName(absl::string_view name, absl::string_view argument) {
  if (!absl::StrContains(name, '\0')) return absl::OkStatus();
  return errors::InvalidArgument("'", argument, "': a name with a zero byte: \"",
                                 absl::CHexEscape(name), "\"");
}

StatusOr<std::string> TextInput(StructuralFrame* frame, uint32_t i, absl::string_view name) {
  MS_ASSIGN_OR_RETURN(const absl::string_view text, ScalarBytes(frame->BorrowInput(i), name));
  MS_RETURN_IF_ERROR(CheckName(text, name));
  return std::string(text);
}

// A tensor to save or restore, and which part of it.
struct Item {
  std::string name;
  SliceSpec spec;
};

Status CheckLength(StructuralFrame* frame, uint32_t input, absl::string_view name, uint32_t count) {
  if (frame->input_shape(input) == Shape({static_cast<int64_t>(count)})) return absl::OkStatus();
  return errors::InvalidArgument("'", name, "' must have one element for each of the ", count,
                                 " tensors, got shape ", frame->input_shape(input).ToString());
}

StatusOr<Item> MakeItem(const std::string& name, absl::string_view spec,
                        absl::string_view spec_argument) {
  Item item;
  item.name = name;
  MS_RETURN_IF_ERROR(CheckName(item.name, "tensor_names"));
  MS_ASSIGN_OR_RETURN(item.spec, ParseSliceSpec(spec, spec_argument));
  return item;
}

// Names are input 1. Slices are input 2, called `slices`; without such an input all tensors are
// whole. `count` tensors are saved or restored.
StatusOr<std::vector<Item>> Items(StructuralFrame* frame, uint32_t count,
                                  absl::string_view slices = "shape_and_slices") {
  const bool has_slices = !slices.empty();
  MS_RETURN_IF_ERROR(CheckLength(frame, 1, "tensor_names", count));
  if (has_slices) MS_RETURN_IF_ERROR(CheckLength(frame, 2, slices, count));
  const Tensor names = frame->BorrowInput(1);
  const Tensor specs = has_slices ? frame->BorrowInput(2) : Tensor();
  std::vector<Item> items;
  for (uint32_t i = 0; i < count; ++i) {
    MS_ASSIGN_OR_RETURN(
        items.emplace_back(),
        MakeItem(names.data<std::string>()[i],
                 has_slices ? specs.data<std::string>()[i] : std::string(), slices));
  }
  return items;
}

StatusOr<std::unique_ptr<CheckpointReader>> OpenCheckpoint(const std::string& prefix) {
  StatusOr<std::unique_ptr<CheckpointReader>> reader =
      CheckpointReader::Open(LocalFileSystem(), prefix);
  if (!absl::IsNotFound(reader.status())) return reader;
  return errors::NotFound(
      "Unsuccessful TensorSliceReader constructor: Failed to find any matching files for ", prefix);
}

// The output `i`, for a tensor of this dtype.
StatusOr<Tensor> AllocateRestored(const CheckpointReader& reader, const Item& item, DataType dtype,
                                  StructuralFrame* frame, uint32_t i) {
  MS_ASSIGN_OR_RETURN(const CheckpointReader::Info info, reader.Find(item.name));
  if (info.dtype != dtype) {
    return errors::InvalidArgument("tensor_name = ", item.name, "; expected dtype ",
                                   DataTypeName(dtype), " does not equal original dtype ",
                                   DataTypeName(info.dtype));
  }
  MS_RETURN_IF_ERROR(reader.CheckHeld(item.name));
  return frame->AllocateOutput(i, item.spec.is_whole ? info.shape : item.spec.shape);
}

class SaveV2 final : public SyncHostKernel {
 public:
  Status Compute(StructuralFrame* frame) override {
    MS_ASSIGN_OR_RETURN(const std::string prefix, TextInput(frame, 0, "prefix"));
    MS_ASSIGN_OR_RETURN(const std::vector<Item> items, Items(frame, frame->num_inputs() - 3));
    MS_ASSIGN_OR_RETURN(const std::unique_ptr<BundleWriter> writer,
                        BundleWriter::Create(LocalFileSystem(), prefix));
    for (size_t i = 0; i < items.size(); ++i) {
      const Tensor tensor = frame->BorrowInput(static_cast<uint32_t>(3 + i));
      MS_RETURN_IF_ERROR(items[i].spec.is_whole
                             ? writer->Add(items[i].name, tensor)
                             : writer->AddSlice(items[i].name, items[i].spec, tensor));
    }
    return writer->Finish();
  }
};

class RestoreV2 final : public SyncHostKernel {
 public:
  Status Init(const HostKernelInfo& info) override {
    MS_ASSIGN_OR_RETURN(dtypes_, info.Attr<DataTypeList>("dtypes"));
    return absl::OkStatus();
  }

  Status Compute(StructuralFrame* frame) override {
    MS_ASSIGN_OR_RETURN(const std::string prefix, TextInput(frame, 0, "prefix"));
    MS_ASSIGN_OR_RETURN(const std::vector<Item> items, Items(frame, frame->num_outputs()));
    MS_ASSIGN_OR_RETURN(const std::unique_ptr<CheckpointReader> reader, OpenCheckpoint(prefix));
    std::vector<Tensor> outputs;
    for (uint32_t i = 0; i < items.size(); ++i) {
      MS_ASSIGN_OR_RETURN(outputs.emplace_back(),
                          AllocateRestored(*reader, items[i], dtypes_[i], frame, i));
    }
    const std::vector<Task> tasks = TasksOf(*reader, items);
    std::vector<StatusOr<uint32_t>> read(tasks.size(), uint32_t{0});
    frame->ParallelFor(tasks.size(), kReadNanos, [&](uint64_t i) {
      read[i] = RunTask(*reader, items[tasks[i].item], tasks[i], outputs[tasks[i].item]);
    });
    return CheckAll(*reader, items, tasks, read);
  }

 private:
  // What one thread reads: a tensor, or a piece of a large one.
  struct Task {
    size_t item = 0;
    uint64_t piece = 0;
    uint64_t num_pieces = 1;
  };

  static std::vector<Task> TasksOf(const CheckpointReader& reader, const std::vector<Item>& items) {
    std::vector<Task> tasks;
    for (size_t i = 0; i < items.size(); ++i) {
      const uint64_t count = items[i].spec.is_whole ? reader.NumPieces(items[i].name) : 1;
      for (uint64_t piece = 0; piece < count; ++piece) tasks.push_back({i, piece, count});
    }
    return tasks;
  }

  static StatusOr<uint32_t> RunTask(const CheckpointReader& reader, const Item& item,
                                    const Task& task, const Tensor& output) {
    if (task.num_pieces > 1) return reader.ReadPiece(item.name, task.piece, output);
    MS_RETURN_IF_ERROR(reader.Read(item.name, item.spec, output));
    return uint32_t{0};
  }

  static Status CheckAll(const CheckpointReader& reader, const std::vector<Item>& items,
                         const std::vector<Task>& tasks,
                         const std::vector<StatusOr<uint32_t>>& read) {
    std::vector<uint32_t> crcs;  // of the pieces of one tensor
    for (size_t i = 0; i < tasks.size(); ++i) {
      MS_RETURN_IF_ERROR(read[i].status());
      if (tasks[i].num_pieces == 1) continue;
      crcs.push_back(*read[i]);
      if (crcs.size() < tasks[i].num_pieces) continue;
      MS_RETURN_IF_ERROR(reader.CheckPieces(items[tasks[i].item].name, crcs));
      crcs.clear();
    }
    return absl::OkStatus();
  }

  // Of one tensor: a system call and a checksum. Large ones take longer.
  static constexpr uint64_t kReadNanos = 20000;

  DataTypeList dtypes_;
};

// Save and SaveSlices, which write version 1.
template <bool kHasSlices>
class SaveV1 final : public SyncHostKernel {
 public:
  Status Compute(StructuralFrame* frame) override {
    constexpr uint32_t kFirstTensor = kHasSlices ? 3 : 2;
    MS_ASSIGN_OR_RETURN(const std::string path, TextInput(frame, 0, "filename"));
    MS_ASSIGN_OR_RETURN(
        const std::vector<Item> items,
        Items(frame, frame->num_inputs() - kFirstTensor, kHasSlices ? "shapes_and_slices" : ""));
    SavedSlicesWriter writer(LocalFileSystem(), path);
    for (size_t i = 0; i < items.size(); ++i) {
      const Tensor tensor = frame->BorrowInput(static_cast<uint32_t>(kFirstTensor + i));
      MS_RETURN_IF_ERROR(writer.Add(items[i].name, items[i].spec, tensor));
    }
    return writer.Finish();
  }
};

// Restore and RestoreSlice, which read one tensor of either version.
template <bool kHasSlice>
class RestoreV1 final : public SyncHostKernel {
 public:
  Status Init(const HostKernelInfo& info) override {
    MS_ASSIGN_OR_RETURN(dtype_, info.Attr<DataType>("dt"));
    return absl::OkStatus();
  }

  Status Compute(StructuralFrame* frame) override {
    MS_ASSIGN_OR_RETURN(const std::string pattern, TextInput(frame, 0, "file_pattern"));
    MS_ASSIGN_OR_RETURN(const std::string name, TextInput(frame, 1, "tensor_name"));
    std::string spec;
    if (kHasSlice) {
      MS_ASSIGN_OR_RETURN(spec, TextInput(frame, 2, "shape_and_slice"));
    }
    MS_ASSIGN_OR_RETURN(const Item item, MakeItem(name, spec, "shape_and_slice"));
    MS_ASSIGN_OR_RETURN(const std::unique_ptr<CheckpointReader> reader, OpenCheckpoint(pattern));
    MS_ASSIGN_OR_RETURN(const Tensor output, AllocateRestored(*reader, item, dtype_, frame, 0));
    return reader->Read(item.name, item.spec, output);
  }

 private:
  DataType dtype_ = DataType::kInvalid;
};

class MergeV2Checkpoints final : public SyncHostKernel {
 public:
  Status Init(const HostKernelInfo& info) override {
    MS_ASSIGN_OR_RETURN(deletes_folders_, info.Attr<bool>("delete_old_dirs"));
    return absl::OkStatus();
  }

  Status Compute(StructuralFrame* frame) override {
    FileSystem* const files = LocalFileSystem();
    const Tensor prefixes = frame->BorrowInput(0);
    MS_ASSIGN_OR_RETURN(const std::string merged, TextInput(frame, 1, "destination_prefix"));
    MS_RETURN_IF_ERROR(files->MakeFolders(FolderOf(merged)));
    MS_ASSIGN_OR_RETURN(const std::unique_ptr<FileLock> lock, LockBundle(files, merged));
    BundleEntries entries;
    std::vector<std::string> data;
    for (const std::string& prefix : prefixes.flat<std::string>()) {
      MS_RETURN_IF_ERROR(CheckName(prefix, "checkpoint_prefixes"));
      MS_ASSIGN_OR_RETURN(const BundleIndex index, ReadBundleIndex(files, prefix));
      MS_RETURN_IF_ERROR(AddEntries(prefix, index, &entries, &data));
    }
    MS_RETURN_IF_ERROR(PublishBundle(files, merged, data, entries));
    return RemoveOld(prefixes, merged);
  }

 private:
  // Adds the entries of a checkpoint, and the data files that they are in.
  static Status AddEntries(const std::string& prefix, const BundleIndex& index,
                           BundleEntries* entries, std::vector<std::string>* data) {
    std::map<int, int> numbers;  // of shards in the merged checkpoint
    for (const auto& [key, entry] : index.entries) {
      const auto [added, is_new] = entries->emplace(key, entry);
      if (!is_new) MS_RETURN_IF_ERROR(MergeSlices(key, entry, &added->second));
      if (!entry.slices().empty()) {
        added->second.set_shard_id(0);  // it has no bytes
        continue;
      }
      const auto [number, is_first] =
          numbers.emplace(entry.shard_id(), static_cast<int>(data->size()));
      if (is_first) data->push_back(DataPath(prefix, entry.shard_id(), index.num_shards));
      added->second.set_shard_id(number->second);
    }
    return absl::OkStatus();
  }

  Status RemoveOld(const Tensor& prefixes, const std::string& merged) const {
    FileSystem* const files = LocalFileSystem();
    for (const std::string& prefix : prefixes.flat<std::string>()) {
      if (prefix == merged) continue;
      MS_RETURN_IF_ERROR(RemoveBundle(files, prefix));
      // Fails for a folder that holds other files, which is as it should be.
      if (deletes_folders_) files->RemoveFolder(FolderOf(prefix)).IgnoreError();
    }
    return absl::OkStatus();
  }

  bool deletes_folders_ = true;
};

Status ShardedFilename(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(const std::string basename, TextInput(frame, 0, "basename"));
  const int32_t shard = *frame->BorrowInput(1).data<int32_t>();
  const int32_t num_shards = *frame->BorrowInput(2).data<int32_t>();
  return frame->SetOutput(
      0, Tensor::Scalar<std::string>(absl::StrCat(basename, "-", absl::Dec(shard, absl::kZeroPad5),
                                                  "-of-", absl::Dec(num_shards, absl::kZeroPad5))));
}

Status ShardedFilespec(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(const std::string basename, TextInput(frame, 0, "basename"));
  const int32_t num_shards = *frame->BorrowInput(1).data<int32_t>();
  return frame->SetOutput(
      0, Tensor::Scalar<std::string>(
             absl::StrCat(basename, "-?????", "-of-", absl::Dec(num_shards, absl::kZeroPad5))));
}

MILLSTREAM_HOST_KERNEL("SaveV2", SaveV2);
MILLSTREAM_HOST_KERNEL("RestoreV2", RestoreV2);
MILLSTREAM_HOST_KERNEL("Save", SaveV1<false>);
MILLSTREAM_HOST_KERNEL("SaveSlices", SaveV1<true>);
MILLSTREAM_HOST_KERNEL("Restore", RestoreV1<false>);
MILLSTREAM_HOST_KERNEL("RestoreSlice", RestoreV1<true>);
MILLSTREAM_HOST_KERNEL("MergeV2Checkpoints", MergeV2Checkpoints);
MILLSTREAM_STRUCTURAL("ShardedFilename", StructuralRole::kKernel, ShardedFilename);
MILLSTREAM_STRUCTURAL("ShardedFilespec", StructuralRole::kKernel, ShardedFilespec);

}  // namespace
}  // namespace millstream
