#include "distributed_runtime/step_carrier.h"

#include <utility>

namespace millstream {

Status EncodeCarried(absl::Span<const CarriedParcel> parcels, bool shortens, TensorWriter* writer,
                     CarriedRecords* records) {
  for (const CarriedParcel& carried : parcels) {
    proto::CarriedTensor* const record = records->Add();
    record->set_edge(carried.edge);
    record->set_dead(carried.parcel.dead);
    MS_RETURN_IF_ERROR(writer->AddSent(carried.parcel.tensor, shortens, record->mutable_tensor()));
  }
  return absl::OkStatus();
}

StatusOr<std::vector<CarriedParcel>> DecodeCarried(const CarriedRecords& records,
                                                   PayloadReader* reader) {
  std::vector<CarriedParcel> parcels;
  for (const proto::CarriedTensor& record : records) {
    CarriedParcel& carried = parcels.emplace_back();
    carried.edge = record.edge();
    carried.parcel.dead = record.dead();
    MS_ASSIGN_OR_RETURN(carried.parcel.tensor, DecodeTensor(record.tensor(), reader));
  }
  return parcels;
}

}  // namespace millstream
