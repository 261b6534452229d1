// Gradients of ops that read variables. They are gradients of the variable's handle.
#include "core/gradients/gradient_registry.h"
#include "core/gradients/shape_helpers.h"

namespace millstream {
namespace {

Status ReadVariableGradient(GradientContext* context) {
  context->SetDx(0, context->raw_dy(0));
  return absl::OkStatus();
}

// Only the rows that were read have a gradient.
Status ResourceGatherGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const OutputFacts facts = builder->graph()->Facts(context->input(0));
  if (!facts.handle.has_value() || !facts.handle->shape.IsFullyKnown()) {
    return errors::Unimplemented("the variable's shape must be known");
  }
  const Shape shape = facts.handle->shape.ToShape();
  std::vector<int32_t> dims(shape.dims().begin(), shape.dims().end());
  std::vector<int32_t> row_dims = dims;
  row_dims[0] = -1;
  const Output indices = builder->Op("Reshape", {context->input(1), builder->Int32Vector({-1})});
  const Output values = builder->Op("Reshape", {context->dy(0), builder->Int32Vector(row_dims)});
  context->SetDx(0, Gradient{values, indices, builder->Int32Vector(dims)});
  return absl::OkStatus();
}

// Of the slices that were read: rows, where each index vector names one, else a whole tensor.
Status ResourceGatherNdGradient(GradientContext* context) {
  GraphBuilder* builder = context->builder();
  const Output indices = context->input(1);
  const Output shape =
      builder->Op("VariableShape", {context->input(0)}, {{"out_type", indices.dtype()}});
  SetSlicesGradient(context, context->dy(0), indices, shape);
  return absl::OkStatus();
}

MILLSTREAM_GRADIENT("ReadVariableOp", ReadVariableGradient);
MILLSTREAM_GRADIENT("ResourceGather", ResourceGatherGradient);
MILLSTREAM_GRADIENT("ResourceGatherNd", ResourceGatherNdGradient);
MILLSTREAM_NOT_DIFFERENTIABLE("AddManySparseToTensorsMap");
MILLSTREAM_NOT_DIFFERENTIABLE("AddSparseToTensorsMap");
MILLSTREAM_NOT_DIFFERENTIABLE("DeleteSessionTensor");
MILLSTREAM_NOT_DIFFERENTIABLE("FIFOQueueV2");
MILLSTREAM_NOT_DIFFERENTIABLE("GetSessionHandle");
MILLSTREAM_NOT_DIFFERENTIABLE("GetSessionHandleV2");
MILLSTREAM_NOT_DIFFERENTIABLE("GetSessionTensor");
MILLSTREAM_NOT_DIFFERENTIABLE("MapClear");
MILLSTREAM_NOT_DIFFERENTIABLE("MapIncompleteSize");
MILLSTREAM_NOT_DIFFERENTIABLE("MapPeek");
MILLSTREAM_NOT_DIFFERENTIABLE("MapSize");
MILLSTREAM_NOT_DIFFERENTIABLE("MapStage");
MILLSTREAM_NOT_DIFFERENTIABLE("MapUnstage");
MILLSTREAM_NOT_DIFFERENTIABLE("MapUnstageNoKey");
MILLSTREAM_NOT_DIFFERENTIABLE("OrderedMapClear");
MILLSTREAM_NOT_DIFFERENTIABLE("OrderedMapIncompleteSize");
MILLSTREAM_NOT_DIFFERENTIABLE("OrderedMapPeek");
MILLSTREAM_NOT_DIFFERENTIABLE("OrderedMapSize");
MILLSTREAM_NOT_DIFFERENTIABLE("OrderedMapStage");
MILLSTREAM_NOT_DIFFERENTIABLE("OrderedMapUnstage");
MILLSTREAM_NOT_DIFFERENTIABLE("OrderedMapUnstageNoKey");
MILLSTREAM_NOT_DIFFERENTIABLE("FixedLengthRecordReaderV2");
MILLSTREAM_NOT_DIFFERENTIABLE("HashTableV2");
MILLSTREAM_NOT_DIFFERENTIABLE("IdentityReaderV2");
MILLSTREAM_NOT_DIFFERENTIABLE("InitializeTableFromTextFileV2");
MILLSTREAM_NOT_DIFFERENTIABLE("InitializeTableV2");
MILLSTREAM_NOT_DIFFERENTIABLE("LookupTableExportV2");
MILLSTREAM_NOT_DIFFERENTIABLE("LookupTableFindV2");
MILLSTREAM_NOT_DIFFERENTIABLE("LookupTableImportV2");
MILLSTREAM_NOT_DIFFERENTIABLE("LookupTableInsertV2");
MILLSTREAM_NOT_DIFFERENTIABLE("LookupTableRemoveV2");
MILLSTREAM_NOT_DIFFERENTIABLE("LookupTableSizeV2");
MILLSTREAM_NOT_DIFFERENTIABLE("MutableDenseHashTableV2");
MILLSTREAM_NOT_DIFFERENTIABLE("MutableHashTableOfTensorsV2");
MILLSTREAM_NOT_DIFFERENTIABLE("MutableHashTableV2");
MILLSTREAM_NOT_DIFFERENTIABLE("PaddingFIFOQueueV2");
MILLSTREAM_NOT_DIFFERENTIABLE("PriorityQueueV2");
MILLSTREAM_NOT_DIFFERENTIABLE("QueueCloseV2");
MILLSTREAM_NOT_DIFFERENTIABLE("QueueDequeueManyV2");
MILLSTREAM_NOT_DIFFERENTIABLE("QueueDequeueUpToV2");
MILLSTREAM_NOT_DIFFERENTIABLE("QueueDequeueV2");
MILLSTREAM_NOT_DIFFERENTIABLE("QueueEnqueueManyV2");
MILLSTREAM_NOT_DIFFERENTIABLE("QueueEnqueueV2");
MILLSTREAM_NOT_DIFFERENTIABLE("QueueIsClosedV2");
MILLSTREAM_NOT_DIFFERENTIABLE("QueueSizeV2");
MILLSTREAM_NOT_DIFFERENTIABLE("RandomShuffle");
MILLSTREAM_NOT_DIFFERENTIABLE("RandomShuffleQueueV2");
MILLSTREAM_NOT_DIFFERENTIABLE("ReaderNumRecordsProducedV2");
MILLSTREAM_NOT_DIFFERENTIABLE("ReaderNumWorkUnitsCompletedV2");
MILLSTREAM_NOT_DIFFERENTIABLE("ReaderReadUpToV2");
MILLSTREAM_NOT_DIFFERENTIABLE("ReaderReadV2");
MILLSTREAM_NOT_DIFFERENTIABLE("ReaderResetV2");
MILLSTREAM_NOT_DIFFERENTIABLE("ReaderRestoreStateV2");
MILLSTREAM_NOT_DIFFERENTIABLE("ReaderSerializeStateV2");
MILLSTREAM_NOT_DIFFERENTIABLE("ResourceAccumulatorApplyGradient");
MILLSTREAM_NOT_DIFFERENTIABLE("ResourceAccumulatorNumAccumulated");
MILLSTREAM_NOT_DIFFERENTIABLE("ResourceAccumulatorSetGlobalStep");
MILLSTREAM_NOT_DIFFERENTIABLE("ResourceAccumulatorTakeGradient");
MILLSTREAM_NOT_DIFFERENTIABLE("ResourceConditionalAccumulator");
MILLSTREAM_NOT_DIFFERENTIABLE("ResourceCountUpTo");
MILLSTREAM_NOT_DIFFERENTIABLE("StackCloseV2");
MILLSTREAM_NOT_DIFFERENTIABLE("StackPopV2");
MILLSTREAM_NOT_DIFFERENTIABLE("StackPushV2");
MILLSTREAM_NOT_DIFFERENTIABLE("StackV2");
MILLSTREAM_NOT_DIFFERENTIABLE("Stage");
MILLSTREAM_NOT_DIFFERENTIABLE("StageClear");
MILLSTREAM_NOT_DIFFERENTIABLE("StagePeek");
MILLSTREAM_NOT_DIFFERENTIABLE("StageSize");
MILLSTREAM_NOT_DIFFERENTIABLE("TFRecordReaderV2");
MILLSTREAM_NOT_DIFFERENTIABLE("TextLineReaderV2");
MILLSTREAM_NOT_DIFFERENTIABLE("TakeManySparseFromTensorsMap");
MILLSTREAM_NOT_DIFFERENTIABLE("Unstage");
MILLSTREAM_NOT_DIFFERENTIABLE("VarHandleOp");
MILLSTREAM_NOT_DIFFERENTIABLE("VarIsInitializedOp");
MILLSTREAM_NOT_DIFFERENTIABLE("VariableShape");
MILLSTREAM_NOT_DIFFERENTIABLE("WholeFileReaderV2");
MILLSTREAM_NOT_DIFFERENTIABLE("_AccumulatorCounts");
MILLSTREAM_NOT_DIFFERENTIABLE("_Barrier");
MILLSTREAM_NOT_DIFFERENTIABLE("_BarrierClose");
MILLSTREAM_NOT_DIFFERENTIABLE("_BarrierIncompleteSize");
MILLSTREAM_NOT_DIFFERENTIABLE("_BarrierInsertMany");
MILLSTREAM_NOT_DIFFERENTIABLE("_BarrierReadySize");
MILLSTREAM_NOT_DIFFERENTIABLE("_BarrierTakeMany");
MILLSTREAM_NOT_DIFFERENTIABLE("_MutableDenseHashTable");
MILLSTREAM_NOT_DIFFERENTIABLE("_SparseAccumulatorApplyGradient");
MILLSTREAM_NOT_DIFFERENTIABLE("_SparseAccumulatorTakeGradient");
MILLSTREAM_NOT_DIFFERENTIABLE("_SparseConditionalAccumulator");

}  // namespace
}  // namespace millstream
