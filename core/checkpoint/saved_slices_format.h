// What the writer and the reader of checkpoints of version 1 share.
//
// A checkpoint of version 1 is one table, or several whose names one pattern matches. Each has a
// SavedTensorSlices with the table of contents under the empty key, and one with the elements under
// SliceKey for each slice of each tensor. Elements stand in the list of a TensorProto that belongs
// to the dtype, all of them, without dtype and shape.
#ifndef MILLSTREAM_CORE_CHECKPOINT_SAVED_SLICES_FORMAT_H_
#define MILLSTREAM_CORE_CHECKPOINT_SAVED_SLICES_FORMAT_H_

namespace millstream {

// The version that files say they are of, and the newest that is read.
inline constexpr int kSavedSlicesVersion = 1;

}  // namespace millstream

#endif  // MILLSTREAM_CORE_CHECKPOINT_SAVED_SLICES_FORMAT_H_
