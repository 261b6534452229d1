// Staging areas and staging maps. Their nodes have no handles: they find the area by its name. A
// kernel that must wait does so there.
#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/resources/staging.h"
#include "core/structural/host_kernel.h"
#include "core/structural/structural.h"

namespace millstream {
namespace {

// Where the area of a node is, and what it is if the node is the first one.
template <typename Area>
class Place {
 public:
  Status Init(const HostKernelInfo& info) {
    MS_ASSIGN_OR_RETURN(container_, info.Attr<std::string>("container"));
    MS_ASSIGN_OR_RETURN(name_, info.Attr<std::string>("shared_name"));
    MS_ASSIGN_OR_RETURN(spec_.capacity, info.Attr<int64_t>("capacity"));
    MS_ASSIGN_OR_RETURN(spec_.memory_limit, info.Attr<int64_t>("memory_limit"));
    if (name_.empty()) name_ = std::string(info.node_name());
    is_ordered_ = absl::StartsWith(info.op(), "Ordered");
    return absl::OkStatus();
  }
  StatusOr<ResourceRef<Area>> Find(const StructuralFrame& frame) const {
    return frame.step_container()->manager()->LookupOrCreate<Area>(
        container_, is_ordered_ ? absl::StrCat(name_, "/ordered") : name_,
        [&]() -> StatusOr<ResourceRef<Area>> { return MakeResource<Area>(name_, spec_); });
  }
  const std::string& name() const { return name_; }

 private:
  std::string container_;
  std::string name_;
  StagingSpec spec_;
  bool is_ordered_ = false;
};

StatusOr<StagedTensors> InputsFrom(const StructuralFrame& frame, uint32_t first) {
  StagedTensors tensors;
  for (uint32_t i = first; i < frame.num_inputs(); ++i) {
    MS_ASSIGN_OR_RETURN(Tensor tensor, frame.InputTensor(i));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

Status SetOutputs(StructuralFrame frame, uint32_t first, const StagedTensors& tensors) {
  for (uint32_t i = 0; i < tensors.size(); ++i) {
    const DataType dtype = frame.call().output_type(static_cast<int>(first + i));
    if (tensors[i].dtype() != dtype) {
      return errors::InvalidArgument("output ", i, " has type ", DataTypeName(dtype),
                                     ", the staged tensor has ", DataTypeName(tensors[i].dtype()));
    }
    MS_RETURN_IF_ERROR(frame.SetOutput(first + i, tensors[i]));
  }
  return absl::OkStatus();
}

StatusOr<int64_t> ScalarAt(const StructuralFrame& frame, uint32_t i) {
  if (frame.input_shape(i).rank() != 0) {
    return errors::InvalidArgument("argument '", frame.call().InputName(static_cast<int>(i)),
                                   "' must be a scalar, got shape ",
                                   frame.input_shape(i).ToString());
  }
  MS_ASSIGN_OR_RETURN(const std::vector<int64_t> values, frame.Integers(i));
  return values[0];
}

// Different numbers, `count` of them.
StatusOr<std::vector<int64_t>> IndicesAt(const StructuralFrame& frame, uint32_t i, size_t count) {
  MS_ASSIGN_OR_RETURN(std::vector<int64_t> indices, frame.Integers(i));
  const std::set<int64_t> different(indices.begin(), indices.end());
  if (indices.size() == count && different.size() == count) return indices;
  return errors::InvalidArgument("argument 'indices' must have ", count,
                                 " different elements, as many as there are values, got ",
                                 indices.size(), ", of which ", different.size(), " are different");
}

template <typename Area>
class StagingKernel : public AsyncHostKernel {
 public:
  Status Init(const HostKernelInfo& info) override { return place_.Init(info); }
  void ComputeAsync(StructuralFrame frame, HostExecution execution) final {
    const StatusOr<ResourceRef<Area>> area = place_.Find(frame);
    const Status begun = area.ok() ? Begin(area->get(), frame, execution) : area.status();
    if (!begun.ok()) execution.End(begun);
  }
  void Cancel(const StructuralFrame& frame, HostExecution execution) final {
    const StatusOr<ResourceRef<Area>> area = place_.Find(frame);
    if (area.ok()) (*area)->Cancel(execution.id());
  }
  std::string WaitsFor(const StructuralFrame&) const final {
    constexpr bool kIsMap = std::is_same_v<Area, StagingMap>;
    return absl::StrCat(wait_, kIsMap ? " staging map '" : " staging area '", place_.name(), "'");
  }

 protected:
  // `wait`: what an execution may wait for, up to the area: "room in".
  explicit StagingKernel(const char* wait) : wait_(wait) {}
  // Begins an execution, which it has not ended where it gives an error.
  virtual Status Begin(Area* area, StructuralFrame frame, HostExecution execution) = 0;

 private:
  const char* const wait_;
  Place<Area> place_;
};

// What an execution takes out, from when it begins on.
struct Taken {
  int64_t key = 0;
  StagedTensors tensors;
};

Staging::Done Giving(StructuralFrame frame, HostExecution execution,
                     std::shared_ptr<const Taken> taken) {
  return [frame, execution, taken = std::move(taken)](const Status& status) {
    execution.End(status.ok() ? SetOutputs(frame, 0, taken->tensors) : status);
  };
}

Staging::Done Ending(HostExecution execution) {
  return [execution](const Status& status) { execution.End(status); };
}

// ---- Areas ----

class StageKernel final : public StagingKernel<StagingArea> {
 public:
  StageKernel() : StagingKernel("room in") {}

 private:
  Status Begin(StagingArea* area, StructuralFrame frame, HostExecution execution) override {
    MS_ASSIGN_OR_RETURN(StagedTensors element, InputsFrom(frame, 0));
    area->Put(execution.id(), std::move(element), Ending(execution));
    return absl::OkStatus();
  }
};

class UnstageKernel final : public StagingKernel<StagingArea> {
 public:
  UnstageKernel() : StagingKernel("an element of") {}

 private:
  Status Begin(StagingArea* area, StructuralFrame frame, HostExecution execution) override {
    const auto taken = std::make_shared<Taken>();
    area->Get(execution.id(), &taken->tensors, Giving(frame, execution, taken));
    return absl::OkStatus();
  }
};

class StagePeekKernel final : public StagingKernel<StagingArea> {
 public:
  StagePeekKernel() : StagingKernel("more elements of") {}

 private:
  Status Begin(StagingArea* area, StructuralFrame frame, HostExecution execution) override {
    MS_ASSIGN_OR_RETURN(const int64_t index, ScalarAt(frame, 0));
    if (index < 0) {
      return errors::InvalidArgument("argument 'index' must not be negative, got ", index);
    }
    const auto taken = std::make_shared<Taken>();
    area->Peek(execution.id(), index, &taken->tensors, Giving(frame, execution, taken));
    return absl::OkStatus();
  }
};

// ---- Maps ----

class MapStageKernel final : public StagingKernel<StagingMap> {
 public:
  MapStageKernel() : StagingKernel("room in") {}
  Status Init(const HostKernelInfo& info) override {
    MS_ASSIGN_OR_RETURN(dtypes_, info.Attr<DataTypeList>("dtypes"));
    return StagingKernel::Init(info);
  }

 private:
  Status Begin(StagingMap* map, StructuralFrame frame, HostExecution execution) override {
    MS_ASSIGN_OR_RETURN(const int64_t key, ScalarAt(frame, 0));
    MS_ASSIGN_OR_RETURN(StagedTensors values, InputsFrom(frame, 2));
    MS_ASSIGN_OR_RETURN(std::vector<int64_t> indices, IndicesAt(frame, 1, values.size()));
    for (size_t i = 0; i < indices.size(); ++i) {
      const int64_t index = indices[i];
      if (index < 0 || index >= static_cast<int64_t>(dtypes_.size())) {
        return errors::InvalidArgument("argument 'indices': ", index, " is not in [0, ",
                                       dtypes_.size(), ")");
      }
      const DataType expected = dtypes_[static_cast<size_t>(index)];
      if (values[i].dtype() == expected) continue;
      return errors::InvalidArgument("argument 'values': component ", index, " has type ",
                                     DataTypeName(expected), ", got ",
                                     DataTypeName(values[i].dtype()));
    }
    map->Put(execution.id(), key, dtypes_.size(), std::move(indices), std::move(values),
             Ending(execution));
    return absl::OkStatus();
  }

  DataTypeList dtypes_;
};

// Of MapPeek as well, which leaves the components there.
class MapUnstageKernel final : public StagingKernel<StagingMap> {
 public:
  MapUnstageKernel() : StagingKernel("an element of") {}
  Status Init(const HostKernelInfo& info) override {
    peeks_ = absl::EndsWith(info.op(), "Peek");
    return StagingKernel::Init(info);
  }

 private:
  Status Begin(StagingMap* map, StructuralFrame frame, HostExecution execution) override {
    MS_ASSIGN_OR_RETURN(const int64_t key, ScalarAt(frame, 0));
    MS_ASSIGN_OR_RETURN(std::vector<int64_t> indices, IndicesAt(frame, 1, frame.num_outputs()));
    const auto taken = std::make_shared<Taken>();
    const auto take = peeks_ ? &StagingMap::Peek : &StagingMap::Get;
    (map->*take)(execution.id(), key, std::move(indices), &taken->tensors,
                 Giving(frame, execution, taken));
    return absl::OkStatus();
  }

  bool peeks_ = false;
};

class MapUnstageNoKeyKernel final : public StagingKernel<StagingMap> {
 public:
  MapUnstageNoKeyKernel() : StagingKernel("an element of") {}

 private:
  Status Begin(StagingMap* map, StructuralFrame frame, HostExecution execution) override {
    MS_ASSIGN_OR_RETURN(std::vector<int64_t> indices, IndicesAt(frame, 0, frame.num_outputs() - 1));
    const auto taken = std::make_shared<Taken>();
    map->GetAny(execution.id(), std::move(indices), &taken->key, &taken->tensors,
                [frame, execution, taken](const Status& status) {
                  execution.End(status.ok() ? SetKeyAndOutputs(frame, *taken) : status);
                });
    return absl::OkStatus();
  }

  static Status SetKeyAndOutputs(StructuralFrame frame, const Taken& taken) {
    MS_ASSIGN_OR_RETURN(const Tensor key, frame.AllocateOutput(0, Shape()));
    *key.data<int64_t>() = taken.key;
    return SetOutputs(frame, 1, taken.tensors);
  }
};

// ---- Those that never wait ----

template <typename Area>
class ClearKernel final : public SyncHostKernel {
 public:
  Status Init(const HostKernelInfo& info) override { return place_.Init(info); }
  Status Compute(StructuralFrame* frame) override {
    MS_ASSIGN_OR_RETURN(const ResourceRef<Area> area, place_.Find(*frame));
    area->Clear();
    return absl::OkStatus();
  }

 private:
  Place<Area> place_;
};

template <typename Area, int64_t (Area::*size)() const>
class SizeKernel final : public SyncHostKernel {
 public:
  Status Init(const HostKernelInfo& info) override { return place_.Init(info); }
  Status Compute(StructuralFrame* frame) override {
    MS_ASSIGN_OR_RETURN(const ResourceRef<Area> area, place_.Find(*frame));
    MS_ASSIGN_OR_RETURN(const Tensor output, frame->AllocateOutput(0, Shape()));
    *output.data<int32_t>() = static_cast<int32_t>((area.get()->*size)());
    return absl::OkStatus();
  }

 private:
  Place<Area> place_;
};

using AreaSizeKernel = SizeKernel<StagingArea, &StagingArea::size>;
using MapSizeKernel = SizeKernel<StagingMap, &StagingMap::size>;
using MapIncompleteSizeKernel = SizeKernel<StagingMap, &StagingMap::incomplete_size>;

MILLSTREAM_HOST_KERNEL("Stage", StageKernel);
MILLSTREAM_HOST_KERNEL("Unstage", UnstageKernel);
MILLSTREAM_HOST_KERNEL("StagePeek", StagePeekKernel);
MILLSTREAM_HOST_KERNEL("StageClear", ClearKernel<StagingArea>);
MILLSTREAM_HOST_KERNEL("StageSize", AreaSizeKernel);
MILLSTREAM_HOST_KERNEL("MapStage", MapStageKernel);
MILLSTREAM_HOST_KERNEL("MapUnstage", MapUnstageKernel);
MILLSTREAM_HOST_KERNEL("MapUnstageNoKey", MapUnstageNoKeyKernel);
MILLSTREAM_HOST_KERNEL("MapPeek", MapUnstageKernel);
MILLSTREAM_HOST_KERNEL("MapClear", ClearKernel<StagingMap>);
MILLSTREAM_HOST_KERNEL("MapSize", MapSizeKernel);
MILLSTREAM_HOST_KERNEL("MapIncompleteSize", MapIncompleteSizeKernel);
MILLSTREAM_HOST_KERNEL("OrderedMapStage", MapStageKernel);
MILLSTREAM_HOST_KERNEL("OrderedMapUnstage", MapUnstageKernel);
MILLSTREAM_HOST_KERNEL("OrderedMapUnstageNoKey", MapUnstageNoKeyKernel);
MILLSTREAM_HOST_KERNEL("OrderedMapPeek", MapUnstageKernel);
MILLSTREAM_HOST_KERNEL("OrderedMapClear", ClearKernel<StagingMap>);
MILLSTREAM_HOST_KERNEL("OrderedMapSize", MapSizeKernel);
MILLSTREAM_HOST_KERNEL("OrderedMapIncompleteSize", MapIncompleteSizeKernel);

}  // namespace
}  // namespace millstream
