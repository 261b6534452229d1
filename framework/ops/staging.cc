// Staging areas and staging maps: tensors that one step leaves for another. Nodes with the same
// container and shared_name have the same area.
#include "framework/op_registry.h"
#include "framework/shape_context.h"

namespace millstream {
namespace {

// What comes out has the shape of what was put in, which the graph does not say.
void UnknownOutputs(ShapeContext* context, int first) {
  for (int k = first; k < context->num_outputs(); ++k) context->SetOutput(k, PartialShape());
}

Status UnstageShape(ShapeContext* context) {
  UnknownOutputs(context, 0);
  return absl::OkStatus();
}

Status PeekShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(context->WithRank(0, 0).status());
  return UnstageShape(context);
}

Status KeyAndIndices(ShapeContext* context) {
  MS_RETURN_IF_ERROR(context->WithRank(0, 0).status());
  return context->WithRank(1, 1).status();
}

Status MapUnstageShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(KeyAndIndices(context));
  return UnstageShape(context);
}

Status MapUnstageNoKeyShape(ShapeContext* context) {
  MS_RETURN_IF_ERROR(context->WithRank(0, 1).status());
  context->SetOutput(0, PartialShape::Scalar());
  UnknownOutputs(context, 1);
  return absl::OkStatus();
}

Status NoShape(ShapeContext*) { return absl::OkStatus(); }

void Limits(OpSpec* spec) {
  spec->Attr("capacity: int >= 0 = 0").Attr("memory_limit: int >= 0 = 0");
}

void Names(OpSpec* spec) {
  spec->Attr("container: string = \"\"").Attr("shared_name: string = \"\"").Stateful();
}

// Of ops that give or take tensors, and of those that do not.
void Place(OpSpec* spec) { spec->With(Limits).Attr("dtypes: list(type) >= 1").With(Names); }
void PlaceAlone(OpSpec* spec) { spec->With(Limits).Attr("dtypes: list(type)").With(Names); }

// ---- Areas ----

MILLSTREAM_OP("Stage")
    .Input("values: dtypes")
    .With(Place)
    .Shape(NoShape)
    .Doc(
        R"(Puts an element, a tuple of tensors, into a staging area, and waits while there is no room.

The area holds capacity elements, of memory_limit bytes together; 0 is no limit. INVALID_ARGUMENT if
the element alone is larger than memory_limit.)");

MILLSTREAM_OP("Unstage")
    .Output("values: dtypes")
    .With(Place)
    .Shape(UnstageShape)
    .Doc(R"(Takes the element out of a staging area that was put there first, and waits for one.)");

MILLSTREAM_OP("StagePeek")
    .Input("index: int32")
    .Output("values: dtypes")
    .With(Place)
    .Shape(PeekShape)
    .Doc(
        R"(Gives element number index of a staging area, and leaves it there. Waits until there is one.)");

MILLSTREAM_OP("StageSize")
    .Output("size: int32")
    .With(PlaceAlone)
    .Shape(ScalarShape)
    .Doc(R"(Gives the number of elements in a staging area.)");

MILLSTREAM_OP("StageClear")
    .With(PlaceAlone)
    .Shape(NoShape)
    .Doc(R"(Removes all elements of a staging area.)");

// ---- Maps ----

void MapStage(OpSpec* spec) {
  spec->Input("key: int64")
      .Input("indices: int32")
      .Input("values: fake_dtypes")
      .With(Limits)
      .Attr("dtypes: list(type)")
      .Attr("fake_dtypes: list(type) >= 1")
      .With(Names)
      .Shape(KeyAndIndices)
      .Doc(R"(Puts components of an element into a staging map, and waits while there is no room.

dtypes are the types of all components of an element; indices says which of them values are. The
element can be taken out when it has all. INVALID_ARGUMENT if it has one of them already.)");
}

void MapUnstage(OpSpec* spec) {
  spec->Input("key: int64")
      .Input("indices: int32")
      .Output("values: dtypes")
      .With(Place)
      .Shape(MapUnstageShape)
      .Doc(
          R"(Takes components of an element out of a staging map, and waits until it is complete.)");
}

void MapPeek(OpSpec* spec) {
  spec->Input("key: int64")
      .Input("indices: int32")
      .Output("values: dtypes")
      .With(Place)
      .Shape(MapUnstageShape)
      .Doc(R"(Gives components of an element of a staging map, and leaves them there.

It waits until the element is complete.)");
}

void MapUnstageNoKey(OpSpec* spec) {
  spec->Input("indices: int32")
      .Output("key: int64")
      .Output("values: dtypes")
      .With(Place)
      .Shape(MapUnstageNoKeyShape)
      .Doc(R"(Takes components of the complete element with the smallest key out of a staging map.

It waits until there is a complete element.)");
}

void MapSize(OpSpec* spec) {
  spec->Output("size: int32")
      .With(PlaceAlone)
      .Shape(ScalarShape)
      .Doc(R"(Gives the number of complete elements in a staging map.)");
}

void MapIncompleteSize(OpSpec* spec) {
  spec->Output("size: int32")
      .With(PlaceAlone)
      .Shape(ScalarShape)
      .Doc(R"(Gives the number of elements in a staging map that are not complete.)");
}

void MapClear(OpSpec* spec) {
  spec->With(PlaceAlone).Shape(NoShape).Doc(R"(Removes all elements of a staging map.)");
}

MILLSTREAM_OP("MapStage").With(MapStage);
MILLSTREAM_OP("OrderedMapStage").With(MapStage);
MILLSTREAM_OP("MapUnstage").With(MapUnstage);
MILLSTREAM_OP("OrderedMapUnstage").With(MapUnstage);
MILLSTREAM_OP("MapPeek").With(MapPeek);
MILLSTREAM_OP("OrderedMapPeek").With(MapPeek);
MILLSTREAM_OP("MapUnstageNoKey").With(MapUnstageNoKey);
MILLSTREAM_OP("OrderedMapUnstageNoKey").With(MapUnstageNoKey);
MILLSTREAM_OP("MapSize").With(MapSize);
MILLSTREAM_OP("OrderedMapSize").With(MapSize);
MILLSTREAM_OP("MapIncompleteSize").With(MapIncompleteSize);
MILLSTREAM_OP("OrderedMapIncompleteSize").With(MapIncompleteSize);
MILLSTREAM_OP("MapClear").With(MapClear);
MILLSTREAM_OP("OrderedMapClear").With(MapClear);

}  // namespace
}  // namespace millstream
