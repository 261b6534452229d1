"""The places of parts in their variables, as checkpoints hold them."""

from __future__ import annotations

from typing import Any

from millstream._impl import protos


class SaveSliceInfo:
    """Where a variable lies in the greater one that it is a part of.

    Parameters
    ----------
    full_name, full_shape
        Name and shape of the whole.
    var_offset, var_shape
        Where the part begins, and its shape.
    save_slice_info_def, import_scope
        A message of `to_proto` to take these from, and a scope to put before the name.
    """

    def __init__(
        self,
        full_name: str | None = None,
        full_shape: Any = None,
        var_offset: Any = None,
        var_shape: Any = None,
        save_slice_info_def: Any = None,
        import_scope: str | None = None,
    ) -> None:
        given = save_slice_info_def
        if given is not None:
            prefix = f"{import_scope}/" if import_scope else ""
            full_name, full_shape = prefix + given.full_name, given.full_shape
            var_offset, var_shape = given.var_offset, given.var_shape
        self.full_name = full_name
        self.full_shape = list(full_shape or [])
        self.var_offset = list(var_offset or [])
        self.var_shape = list(var_shape or [])

    @property
    def spec(self) -> str:
        """Shape of the whole, then offset and size along each dimension: ``"5 2 0,3:0,2"``."""
        pairs = zip(self.var_offset, self.var_shape, strict=True)
        sizes = " ".join(str(size) for size in self.full_shape)
        return f"{sizes} {':'.join(f'{offset},{size}' for offset, size in pairs)}"

    def beside(self, name: str, rank: int) -> SaveSliceInfo:
        """The place of what is kept beside a part, as an optimizer's slot: beside the whole.

        Parameters
        ----------
        name
            The name beside that of the whole.
        rank
            Its number of dimensions, which are the first ones of the part.
        """
        return SaveSliceInfo(
            name, self.full_shape[:rank], self.var_offset[:rank], self.var_shape[:rank]
        )

    def to_proto(self, export_scope: str | None = None) -> Any:
        """The place as ``SaveSliceInfoDef``; None when the whole is not in the scope.

        Parameters
        ----------
        export_scope
            A scope to leave out of the name.
        """
        scope = f"{export_scope}/" if export_scope else ""
        if self.full_name is None or not self.full_name.startswith(scope):
            return None
        return protos.message_class("SaveSliceInfoDef")(
            full_name=self.full_name.removeprefix(scope),
            full_shape=self.full_shape,
            var_offset=self.var_offset,
            var_shape=self.var_shape,
        )


def place_beside(kept: Any, variable: Any) -> None:
    """Save a variable that is kept beside a part of another one as a part beside the whole.

    Parameters
    ----------
    kept
        The variable. Unless its name has that of the other one in it and its shape is that of the
        other one, or the beginning of it, it is saved by itself.
    variable
        The other one; nothing changes unless it is a part.
    """
    place = variable._get_save_slice_info()
    if place is None or not kept.shape.is_fully_defined():
        return
    part, sizes = f"{variable.op.name}/", kept.shape.as_list()
    if sizes and sizes == place.var_shape[: len(sizes)] and part in kept.op.name:
        name = kept.op.name.replace(part, f"{place.full_name}/", 1)
        kept._set_save_slice_info(place.beside(name, len(sizes)))
