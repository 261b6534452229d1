// StringToHashBucket, StringToHashBucketFast, StringToHashBucketStrong, Fingerprint.
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"
#include "kernels/strings/hashes.h"

namespace millstream::kernels {
namespace {

enum class Hash { kMurmur, kFarm, kSip };

// Input: strings. Output: the hash of each, modulo the number of buckets.
class HashBucket {
 public:
  struct Row {
    Hash hash;
  };

  explicit HashBucket(const Row& row) : hash_(row.hash) {}

  ms::Status Init(const ms::KernelInfo& info) {
    MS_TRY(info.Attr("num_buckets", &buckets_));
    if (hash_ != Hash::kSip) return ms::Status();
    MS_TRY(info.Attr("key", &key_));
    if (key_.size() == 2) return ms::Status();
    return ms::InvalidArgument("key must have two elements, but has ", key_.size());
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View input = frame.input(0);
    ms::View output;
    MS_TRY(frame.Output(0, input.shape(), &output));
    for (int64_t i = 0; i < input.size(); ++i) {
      std::string_view text;
      MS_TRY(input.GetString(i, &text));
      output.data<int64_t>()[i] =
          static_cast<int64_t>(HashOf(text) % static_cast<uint64_t>(buckets_));
    }
    return ms::Status();
  }

 private:
  uint64_t HashOf(std::string_view text) const {
    switch (hash_) {
      case Hash::kMurmur: return MurmurHash64(text);
      case Hash::kFarm: return FarmFingerprint64(text);
      default: return SipHash(static_cast<uint64_t>(key_[0]), static_cast<uint64_t>(key_[1]), text);
    }
  }

  const Hash hash_;
  int64_t buckets_ = 1;
  std::vector<int64_t> key_;
};

// Inputs: data, whose rows are hashed; method, a scalar. Output: the eight bytes of each hash, the
// lowest first. Of a row of several strings, the bytes of their hashes are hashed.
class Fingerprint {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    const ms::View data = frame.input(0);
    const ms::View method = frame.input(1);
    if (data.rank() == 0) return ms::InvalidArgument("data must have rank 1 or more");
    if (method.rank() != 0) {
      return ms::InvalidArgument("method must be a scalar, but has shape ",
                                 method.shape().ToString());
    }
    std::string_view name;
    MS_TRY(method.GetString(0, &name));
    if (name != "farmhash64") {
      return ms::InvalidArgument("method must be \"farmhash64\", but is \"", name, "\"");
    }
    const int64_t rows = data.dim(0);
    ms::View fingerprint;
    MS_TRY(frame.Output(0, ms::Shape{rows, kBytes}, &fingerprint));
    if (rows == 0) return ms::Status();
    const int64_t width = data.size() / rows;
    const auto row_bytes = width * static_cast<int64_t>(ms::ElementSize(data.dtype()));
    std::string row;
    for (int64_t i = 0; i < rows; ++i) {
      if (data.dtype() == MS_STRING) {
        MS_TRY(ReadStrings(data, i * width, width, &row));
      } else {
        row.assign(data.data<char>() + i * row_bytes, static_cast<size_t>(row_bytes));
      }
      const uint64_t hash = FarmFingerprint64(row);
      std::memcpy(fingerprint.data<char>() + i * kBytes, &hash, sizeof(hash));
    }
    return ms::Status();
  }

 private:
  static constexpr int64_t kBytes = 8;

  // The only string of a row, or the bytes of the hashes of several.
  static ms::Status ReadStrings(const ms::View& data, int64_t first, int64_t count,
                                std::string* row) {
    row->clear();
    for (int64_t k = 0; k < count; ++k) {
      std::string_view text;
      MS_TRY(data.GetString(first + k, &text));
      if (count == 1) {
        row->assign(text);
        return ms::Status();
      }
      const uint64_t hash = FarmFingerprint64(text);
      row->append(reinterpret_cast<const char*>(&hash), sizeof(hash));
    }
    return ms::Status();
  }
};

constexpr HashBucket::Row kMurmur = {Hash::kMurmur};
constexpr HashBucket::Row kFarm = {Hash::kFarm};
constexpr HashBucket::Row kSip = {Hash::kSip};

const ms::Registered bucket = ms::RegisterRow<HashBucket>("StringToHashBucket", kMurmur);
const ms::Registered fast = ms::RegisterRow<HashBucket>("StringToHashBucketFast", kFarm);
const ms::Registered strong = ms::RegisterRow<HashBucket>("StringToHashBucketStrong", kSip);
const ms::Registered fingerprint = ms::Register<Fingerprint>(
    "Fingerprint", ms::KernelOptions().Types("T", MovableTypes()).HostArg("method"));

}  // namespace
}  // namespace millstream::kernels
