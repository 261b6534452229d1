// Hashes of strings and of other data.
#include <cstdint>
#include <vector>

#include "framework/op_registry.h"
#include "framework/ops/op_errors.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

Status StrongHashShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const std::vector<int64_t> key, context->Attr<std::vector<int64_t>>("key"));
  if (key.size() != 2) {
    return InvalidAttr(*context, "key", "expected two elements, got ", key.size());
  }
  return UnchangedShape(context);
}

Status FingerprintShape(ShapeContext* context) {
  MS_ASSIGN_OR_RETURN(const PartialShape data, context->WithRankAtLeast(0, 1));
  MS_RETURN_IF_ERROR(context->WithRank(1, 0).status());
  const int64_t rows = data.known_rank() ? data.dim(0) : kUnknownDim;
  // The method says how many bytes a hash has.
  const int64_t bytes = context->constant(1) != nullptr ? 8 : kUnknownDim;
  context->SetOutput(0, PartialShape::Matrix(rows, bytes));
  return absl::OkStatus();
}

MILLSTREAM_OP("StringToHashBucket")
    .Input("string_tensor: string")
    .Output("output: int64")
    .Attr("num_buckets: int >= 1")
    .Shape(UnchangedShape)
    .Doc(R"(Hashes each string to a number from 0 to num_buckets, exclusive.

The hash is that of old graphs.)");

MILLSTREAM_OP("StringToHashBucketFast")
    .Input("input: string")
    .Output("output: int64")
    .Attr("num_buckets: int >= 1")
    .Shape(UnchangedShape)
    .Doc(R"(Hashes each string to a number from 0 to num_buckets, exclusive.

Who knows the hash can make strings that fall into one bucket.)")
    .Example(R"(
>>> tf.strings.to_hash_bucket_fast(["a", "b"], 10).eval().tolist()
[9, 2])");

MILLSTREAM_OP("StringToHashBucketStrong")
    .Input("input: string")
    .Output("output: int64")
    .Attr("num_buckets: int >= 1")
    .Attr("key: list(int)")
    .Shape(StrongHashShape)
    .Doc(R"(Hashes each string to a number from 0 to num_buckets, exclusive.

key holds two numbers. Who does not know them cannot make strings that fall into one bucket.)")
    .Example(R"(
>>> tf.strings.to_hash_bucket_strong(["a", "b"], 10, key=[1, 2]).eval().shape
(2,))");

MILLSTREAM_OP("Fingerprint")
    .Input("data: T")
    .Input("method: string")
    .Output("fingerprint: uint8")
    .Attr("T: type")
    .Shape(FingerprintShape)
    .Doc(R"(Hashes the rows of a tensor.

method is "farmhash64". fingerprint has eight bytes a row, the lowest of the hash first.)");

}  // namespace
}  // namespace millstream
