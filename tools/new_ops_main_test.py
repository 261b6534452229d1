"""Which names the lines of made-up ops may use."""

import new_ops_main


def test_names_that_a_file_lost_are_found() -> None:
    file = "Status SumShape(ShapeContext* context);\n// OtherShape was here\n"
    assert new_ops_main.unknown_names(".Shape(SumShape)", file) == []
    assert new_ops_main.unknown_names(".Shape(OtherShape)", file) == ["OtherShape"]
    assert new_ops_main.unknown_names('MadeUpShape("OtherShape")', file) == []
    assert new_ops_main.unknown_names("cases=_make_sum", "def _make_product():") == ["_make_sum"]
    assert new_ops_main.unknown_names("def _made_up_sum(): _make()", "_make") == []


def test_every_made_up_op_is_compared_with_a_reference() -> None:
    for family in new_ops_main.FAMILIES:
        (tests,) = [text for name, text in family.items() if name.startswith("testing/ops/")]
        assert "NotTested" not in tests
