// Gives the files of a checkpoint of version 2 their names (bundle_format.h).
#ifndef MILLSTREAM_CORE_CHECKPOINT_BUNDLE_PUBLISH_H_
#define MILLSTREAM_CORE_CHECKPOINT_BUNDLE_PUBLISH_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/io/file_system.h"
#include "framework/status.h"
#include "millstream/framework/protos/tensor_bundle.pb.h"

namespace millstream {

// The entries of an index, by key. The header has none.
using BundleEntries = std::map<std::string, proto::BundleEntryProto>;

// Keeps other writers from the checkpoint `prefix` while the result lives, and removes the
// temporary files of writers that were killed. FAILED_PRECONDITION, which names the file of the
// lock, if there is another writer.
StatusOr<std::unique_ptr<FileLock>> LockBundle(FileSystem* files, const std::string& prefix);

// Makes a checkpoint of data files, whose entries have the shards 0 to data.size() - 1. Replaces a
// checkpoint of the same prefix: whenever the process or the machine fails, the old one can be read
// or the new one. After an error the old one is there, unless the error is that of the last sync;
// then it is one or the other. REQUIRES: the data are synced; LockBundle.
Status PublishBundle(FileSystem* files, const std::string& prefix,
                     const std::vector<std::string>& data, const BundleEntries& entries);

// Removes the checkpoint `prefix`, if there is one. The index goes first.
Status RemoveBundle(FileSystem* files, const std::string& prefix);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_CHECKPOINT_BUNDLE_PUBLISH_H_
