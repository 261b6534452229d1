"""Operations in ``tf.raw_ops`` of 1.15 that are left out, with the reasons and what to use."""

from __future__ import annotations

from functools import cache

# A reason, and behind it the names for which it holds, on lines that start with blanks.
_GROUPS = """
a quantized layer is not one operation yet; use QuantizedConv2D, QuantizedMatMul, QuantizedBiasAdd, QuantizedRelu and Requantize, or Dequantize and operations on floating-point numbers
  QuantizedConv2DAndRelu QuantizedConv2DAndReluAndRequantize QuantizedConv2DAndRequantize
  QuantizedConv2DPerChannel QuantizedConv2DWithBias QuantizedConv2DWithBiasAndRelu
  QuantizedConv2DWithBiasAndReluAndRequantize QuantizedConv2DWithBiasAndRequantize
  QuantizedConv2DWithBiasSignedSumAndReluAndRequantize QuantizedConv2DWithBiasSumAndRelu
  QuantizedConv2DWithBiasSumAndReluAndRequantize QuantizedDepthwiseConv2D
  QuantizedDepthwiseConv2DWithBias QuantizedDepthwiseConv2DWithBiasAndRelu
  QuantizedDepthwiseConv2DWithBiasAndReluAndRequantize QuantizedMatMulWithBias
  QuantizedMatMulWithBiasAndRelu QuantizedMatMulWithBiasAndReluAndRequantize
its function runs eagerly; use tf.py_func
  EagerPyFunc
events are written by the program, and not by operations; use tf.summary.scalar and the like, and tf.summary.FileWriter
  CloseSummaryWriter CreateSummaryDbWriter CreateSummaryFileWriter FlushSummaryWriter ImportEvent
  SummaryWriter WriteAudioSummary WriteGraphSummary WriteHistogramSummary WriteImageSummary
  WriteRawProtoSummary WriteScalarSummary WriteSummary
files of LMDB are read by a library of their own; write them as records, and use TFRecordReaderV2
  LMDBReader
it ends the process; use tf.debugging.Assert, which ends the step
  Abort
it is for GPUs of one machine; use CollectiveReduce, CollectiveBcastSend and CollectiveBcastRecv
  NcclAllReduce NcclBroadcast NcclReduce
it serves a debugger that is not there; use tf.Print and tf.debugging.check_numerics
  DebugGradientIdentity DebugGradientRefIdentity
it serves the SDCA optimizer of estimators; use the optimizers of tf.train
  SdcaFprint SdcaOptimizer SdcaOptimizerV2 SdcaShrinkL1
it serves the boosted trees of estimators; use a library of trees, and feed what they give
  BoostedTreesAggregateStats BoostedTreesBucketize BoostedTreesCalculateBestFeatureSplit
  BoostedTreesCalculateBestGainsPerFeature BoostedTreesCenterBias BoostedTreesCreateEnsemble
  BoostedTreesCreateQuantileStreamResource BoostedTreesDeserializeEnsemble
  BoostedTreesEnsembleResourceHandleOp BoostedTreesExampleDebugOutputs
  BoostedTreesFlushQuantileSummaries BoostedTreesGetEnsembleStates BoostedTreesMakeQuantileSummaries
  BoostedTreesMakeStatsSummary BoostedTreesPredict BoostedTreesQuantileStreamResourceAddSummaries
  BoostedTreesQuantileStreamResourceDeserialize BoostedTreesQuantileStreamResourceFlush
  BoostedTreesQuantileStreamResourceGetBucketBoundaries BoostedTreesQuantileStreamResourceHandleOp
  BoostedTreesSerializeEnsemble BoostedTreesSparseAggregateStats
  BoostedTreesSparseCalculateBestFeatureSplit BoostedTreesTrainingPredict BoostedTreesUpdateEnsemble
  BoostedTreesUpdateEnsembleV2 IsBoostedTreesEnsembleInitialized
  IsBoostedTreesQuantileStreamResourceInitialized
it was deprecated before 1.0; use FFT, FFT2D, FFT3D and their inverses, which transform batches
  BatchFFT BatchFFT2D BatchFFT3D BatchIFFT BatchIFFT2D BatchIFFT3D
it was deprecated before 1.0; use TensorArrayGatherV3 and TensorArrayScatterV3
  TensorArrayPack TensorArrayUnpack
it was deprecated before 1.0; use tf.gradients, which builds the gradient of Tile
  TileGrad
it works on references, which imported graphs alone have; use VarHandleOp, AssignVariableOp, AssignAddVariableOp, AssignSubVariableOp and VarIsInitializedOp
  Assign AssignAdd AssignSub DestroyTemporaryVariable IsVariableInitialized TemporaryVariable
  Variable VariableV2
it works on references, which imported graphs alone have; use tf.SparseConditionalAccumulator
  SparseAccumulatorApplyGradient SparseAccumulatorTakeGradient SparseConditionalAccumulator
it works on references, which imported graphs alone have; use the operation with Resource before its name
  AccumulatorApplyGradient AccumulatorNumAccumulated AccumulatorSetGlobalStep
  AccumulatorTakeGradient ApplyAdaMax ApplyAdadelta ApplyAdagrad ApplyAdagradDA ApplyAdagradV2
  ApplyAdam ApplyAddSign ApplyCenteredRMSProp ApplyFtrl ApplyFtrlV2 ApplyGradientDescent
  ApplyMomentum ApplyPowerSign ApplyProximalAdagrad ApplyProximalGradientDescent ApplyRMSProp
  ConditionalAccumulator CountUpTo ScatterAdd ScatterDiv ScatterMax ScatterMin ScatterMul
  ScatterNdAdd ScatterNdSub ScatterNdUpdate ScatterSub ScatterUpdate SparseApplyAdadelta
  SparseApplyAdagrad SparseApplyAdagradDA SparseApplyAdagradV2 SparseApplyCenteredRMSProp
  SparseApplyFtrl SparseApplyFtrlV2 SparseApplyMomentum SparseApplyProximalAdagrad
  SparseApplyProximalGradientDescent SparseApplyRMSProp StridedSliceAssign
it works on references, which imported graphs alone have; use the operation with V2 behind its name
  FIFOQueue FixedLengthRecordReader HashTable IdentityReader InitializeTable
  InitializeTableFromTextFile LookupTableExport LookupTableFind LookupTableImport LookupTableInsert
  LookupTableSize MutableDenseHashTable MutableHashTable MutableHashTableOfTensors PaddingFIFOQueue
  PriorityQueue QueueClose QueueDequeue QueueDequeueMany QueueDequeueUpTo QueueEnqueue
  QueueEnqueueMany QueueIsClosed QueueSize RandomShuffleQueue ReaderNumRecordsProduced
  ReaderNumWorkUnitsCompleted ReaderRead ReaderReadUpTo ReaderReset ReaderRestoreState
  ReaderSerializeState Stack StackClose StackPop StackPush TFRecordReader TextLineReader
  WholeFileReader
it works on references, which imported graphs alone have; use the operation with V3 behind its name
  TensorArray TensorArrayClose TensorArrayConcat TensorArrayGather TensorArrayGrad TensorArrayRead
  TensorArrayScatter TensorArraySize TensorArraySplit TensorArrayWrite
it works on references, which imported graphs alone have; use the operation without Ref before its name, and tf.case for RefSelect
  RefEnter RefExit RefIdentity RefMerge RefNextIteration RefSelect RefSwitch
it works on references, which imported graphs alone have; use the queues of tf.queue
  Barrier BarrierClose BarrierIncompleteSize BarrierInsertMany BarrierReadySize BarrierTakeMany
  FakeQueue
its weights are a blob that only the library of a GPU reads; use BlockLSTM, LSTMBlockCell and GRUBlockCell
  CudnnRNN CudnnRNNBackprop CudnnRNNBackpropV2 CudnnRNNBackpropV3 CudnnRNNCanonicalToParams
  CudnnRNNCanonicalToParamsV2 CudnnRNNParamsSize CudnnRNNParamsToCanonical
  CudnnRNNParamsToCanonicalV2 CudnnRNNV2 CudnnRNNV3
messages are read and written with their classes; use tf.py_func, or tf.parse_example for tf.train.Example
  DecodeProtoV2 EncodeProto
no tensor is a region of a file; use tf.constant, or a variable that tf.train.Saver restores
  ImmutableConst
rows of a checkpoint are moved by the program; use tf.train.NewCheckpointReader, and load the result into the variable
  GenerateVocabRemapping LoadAndRemapMatrix
tf.data is not there yet; use readers such as tf.TFRecordReader and tf.train.batch, or feed batches
  AnonymousIterator AnonymousIteratorV2 AnonymousMemoryCache AnonymousMultiDeviceIterator
  AnonymousRandomSeedGenerator AssertNextDataset AutoShardDataset BatchDataset BatchDatasetV2
  BytesProducedStatsDataset CSVDataset CacheDataset CacheDatasetV2 ChooseFastestBranchDataset
  ChooseFastestDataset ConcatenateDataset DatasetCardinality DatasetFromGraph DatasetToGraph
  DatasetToSingleElement DatasetToTFRecord DeleteIterator DeleteMemoryCache
  DeleteMultiDeviceIterator DeleteRandomSeedGenerator DenseToSparseBatchDataset DeserializeIterator
  DirectedInterleaveDataset ExperimentalAssertNextDataset ExperimentalAutoShardDataset
  ExperimentalBytesProducedStatsDataset ExperimentalCSVDataset ExperimentalChooseFastestDataset
  ExperimentalDatasetCardinality ExperimentalDatasetToTFRecord ExperimentalDenseToSparseBatchDataset
  ExperimentalDirectedInterleaveDataset ExperimentalGroupByReducerDataset
  ExperimentalGroupByWindowDataset ExperimentalIgnoreErrorsDataset ExperimentalIteratorGetDevice
  ExperimentalLMDBDataset ExperimentalLatencyStatsDataset ExperimentalMapAndBatchDataset
  ExperimentalMapDataset ExperimentalMatchingFilesDataset ExperimentalMaxIntraOpParallelismDataset
  ExperimentalNonSerializableDataset ExperimentalParallelInterleaveDataset
  ExperimentalParseExampleDataset ExperimentalPrivateThreadPoolDataset ExperimentalRandomDataset
  ExperimentalRebatchDataset ExperimentalScanDataset ExperimentalSetStatsAggregatorDataset
  ExperimentalSleepDataset ExperimentalSlidingWindowDataset ExperimentalSqlDataset
  ExperimentalStatsAggregatorHandle ExperimentalStatsAggregatorSummary ExperimentalTakeWhileDataset
  ExperimentalThreadPoolDataset ExperimentalThreadPoolHandle ExperimentalUnbatchDataset
  ExperimentalUniqueDataset FilterByLastComponentDataset FilterDataset FixedLengthRecordDataset
  FixedLengthRecordDatasetV2 FlatMapDataset GeneratorDataset GroupByReducerDataset
  GroupByWindowDataset IgnoreErrorsDataset InterleaveDataset Iterator IteratorFromStringHandle
  IteratorFromStringHandleV2 IteratorGetDevice IteratorGetNext IteratorGetNextAsOptional
  IteratorGetNextSync IteratorToStringHandle IteratorV2 LMDBDataset LatencyStatsDataset MakeIterator
  MapAndBatchDataset MapDataset MatchingFilesDataset MaxIntraOpParallelismDataset ModelDataset
  MultiDeviceIterator MultiDeviceIteratorFromStringHandle MultiDeviceIteratorGetNextFromShard
  MultiDeviceIteratorInit MultiDeviceIteratorToStringHandle NonSerializableDataset OneShotIterator
  OptimizeDataset OptionalFromValue OptionalGetValue OptionalHasValue OptionalNone
  PaddedBatchDataset PaddedBatchDatasetV2 ParallelInterleaveDataset ParallelInterleaveDatasetV2
  ParallelMapDataset ParseExampleDataset PrefetchDataset PrivateThreadPoolDataset RandomDataset
  RangeDataset RebatchDataset ReduceDataset RepeatDataset SamplingDataset ScanDataset
  SerializeIterator SetStatsAggregatorDataset ShardDataset ShuffleAndRepeatDataset ShuffleDataset
  ShuffleDatasetV2 SkipDataset SleepDataset SlidingWindowDataset SnapshotDataset
  SparseTensorSliceDataset SqlDataset StatsAggregatorHandle StatsAggregatorHandleV2
  StatsAggregatorSetSummaryWriter StatsAggregatorSummary TFRecordDataset TakeDataset
  TakeWhileDataset TensorDataset TensorSliceDataset TextLineDataset ThreadPoolDataset
  ThreadPoolHandle UnbatchDataset UniqueDataset UnwrapDatasetVariant WindowDataset
  WrapDatasetVariant ZipDataset
there are no TPUs, and devices are those of plugins; use feeds and fetches for what enters and leaves a step, and CollectiveReduce between replicas
  AllToAll CollectivePermute ConfigureDistributedTPU ConfigureTPUEmbedding CrossReplicaSum
  EnqueueTPUEmbeddingIntegerBatch EnqueueTPUEmbeddingSparseBatch
  EnqueueTPUEmbeddingSparseTensorBatch InfeedDequeue InfeedDequeueTuple InfeedEnqueue
  InfeedEnqueuePrelinearizedBuffer InfeedEnqueueTuple LoadTPUEmbeddingADAMParameters
  LoadTPUEmbeddingADAMParametersGradAccumDebug LoadTPUEmbeddingAdadeltaParameters
  LoadTPUEmbeddingAdadeltaParametersGradAccumDebug LoadTPUEmbeddingAdagradParameters
  LoadTPUEmbeddingAdagradParametersGradAccumDebug LoadTPUEmbeddingCenteredRMSPropParameters
  LoadTPUEmbeddingFTRLParameters LoadTPUEmbeddingFTRLParametersGradAccumDebug
  LoadTPUEmbeddingMDLAdagradLightParameters LoadTPUEmbeddingMomentumParameters
  LoadTPUEmbeddingMomentumParametersGradAccumDebug LoadTPUEmbeddingProximalAdagradParameters
  LoadTPUEmbeddingProximalAdagradParametersGradAccumDebug LoadTPUEmbeddingRMSPropParameters
  LoadTPUEmbeddingRMSPropParametersGradAccumDebug
  LoadTPUEmbeddingStochasticGradientDescentParameters OutfeedDequeue OutfeedDequeueTuple
  OutfeedEnqueue OutfeedEnqueueTuple Prelinearize PrelinearizeTuple RecvTPUEmbeddingActivations
  RetrieveTPUEmbeddingADAMParameters RetrieveTPUEmbeddingADAMParametersGradAccumDebug
  RetrieveTPUEmbeddingAdadeltaParameters RetrieveTPUEmbeddingAdadeltaParametersGradAccumDebug
  RetrieveTPUEmbeddingAdagradParameters RetrieveTPUEmbeddingAdagradParametersGradAccumDebug
  RetrieveTPUEmbeddingCenteredRMSPropParameters RetrieveTPUEmbeddingFTRLParameters
  RetrieveTPUEmbeddingFTRLParametersGradAccumDebug RetrieveTPUEmbeddingMDLAdagradLightParameters
  RetrieveTPUEmbeddingMomentumParameters RetrieveTPUEmbeddingMomentumParametersGradAccumDebug
  RetrieveTPUEmbeddingProximalAdagradParameters
  RetrieveTPUEmbeddingProximalAdagradParametersGradAccumDebug RetrieveTPUEmbeddingRMSPropParameters
  RetrieveTPUEmbeddingRMSPropParametersGradAccumDebug
  RetrieveTPUEmbeddingStochasticGradientDescentParameters SendTPUEmbeddingGradients
  ShutdownDistributedTPU TPUCompilationResult TPUEmbeddingActivations TPUOrdinalSelector
  TPUPartitionedCall TPUReplicateMetadata TPUReplicatedInput TPUReplicatedOutput WorkerHeartbeat
"""  # noqa: E501


@cache
def groups() -> dict[str, tuple[str, ...]]:
    """The names by reasons."""
    found: dict[str, tuple[str, ...]] = {}
    reason = ""
    for line in _GROUPS.strip().splitlines():
        if line.startswith(" "):
            found[reason] = (*found.get(reason, ()), *line.split())
        else:
            reason = line
    return found


@cache
def reasons() -> dict[str, str]:
    """The reasons by names, as ``"Abort"``."""
    return {name: reason for reason, names in groups().items() for name in names}
