"""Pictures: well-formed, complete, harmless, and nothing on top of anything else."""

import re
from itertools import combinations
from random import Random
from xml.etree import ElementTree

import pytest

from cq.diagnostics import InputError
from selfmaint import View, parse
from selfmaint.drawing.layout import Layout, Style, lay_out
from selfmaint.drawing.rows import arrange
from selfmaint.drawing.svg import cells, element, fit, safe, text
from selfmaint.picture import MOST_PANELS, picture

SVG = "{http://www.w3.org/2000/svg}"
RETAIL = """
.decl orders(order_id: long, cust: long, prod: long, qty: int)  key(order_id)
      references customer(cust), references product(prod)
.decl customer(cust: long, name: string, region: string)        key(cust)
.decl product(prod: long, category: string)                     key(prod)
sales(O, C, N, G, P, K, Q) :- orders(O, C, P, Q), customer(C, N, G), product(P, K).
eu_sales(O, N)             :- orders(O, C, _, Q) & customer(C, N, 'EU') & Q >= 10.
"""
ALLOWED = {"svg", "g", "rect", "path", "circle", "polygon", "text", "title"}


def view_of(source: str, name: str = "v") -> View:
    return parse(source).view(name)


def star(size: int) -> str:
    keys = ", ".join(f"K{i}" for i in range(1, size))
    dimensions = (f"d{i}(K{i}, V{i}, _)" for i in range(1, size))
    return f"v(A) :- {', '.join([f'fact(A, {keys})' if keys else 'fact(A)', *dimensions])}."


def chain(size: int) -> str:
    return f"v(X0) :- {', '.join(f'r{i}(X{i}, X{i + 1}, Y)' for i in range(size))}."


def random_view(seed: int) -> str:
    rng = Random(seed)
    subgoals = [
        f"r{i}({', '.join(rng.choices('ABCDEFGH', k=rng.randint(1, 5)))})"
        for i in range(rng.randint(1, 9))
    ]
    used = sorted({term for subgoal in subgoals for term in subgoal if term.isupper()})
    tests = [f"{a} < {b}" for a, b in combinations(used, 2) if rng.random() < 0.1]
    return f"v({', '.join(used[: rng.randint(0, 3)])}) :- {', '.join(subgoals + tests)}."


def words(svg: str) -> list[str]:
    root = ElementTree.fromstring(svg)
    return [node.text or "" for node in root.iter() if node.tag in (f"{SVG}text", f"{SVG}title")]


PROGRAMS = [
    pytest.param(RETAIL, "sales", id="retail"),
    pytest.param(RETAIL, "eu_sales", id="with constants and comparisons"),
    pytest.param("v() :- r(X), X < 1, X > 2.", "v", id="empty and boolean"),
    pytest.param("v(X) :- r(X), s(Y), t(Z, Y).", "v", id="a product"),
    pytest.param("v(X) :- r(X, Y), r(Y, Z), r(Z, X), Y < Z.", "v", id="one relation"),
    pytest.param("v(A) :- r(A, B), s(C, D), B != D, A < C.", "v", id="joined by comparisons"),
    pytest.param(star(1), "v", id="1"),
    pytest.param(star(10), "v", id="star of 10"),
    pytest.param(chain(10), "v", id="chain of 10"),
    pytest.param(star(30), "v", id="star of 30"),
    pytest.param(chain(30), "v", id="chain of 30"),
]


@pytest.mark.parametrize(("source", "name"), PROGRAMS)
def test_is_well_formed_self_contained_and_complete(source: str, name: str) -> None:
    view = view_of(source, name)
    for updated in (None, view.relations[0], 0):
        svg = picture(view, updated)
        root = ElementTree.fromstring(svg)
        assert {node.tag.removeprefix(SVG) for node in root.iter()} <= ALLOWED
        for node in root.iter():
            assert not {key for key in node.attrib if "href" in key or key.startswith("on")}
        assert "url(" not in svg
        said = words(svg)
        for relation in view.relations:
            assert relation in said
        assert svg == picture(view.query, updated)


def test_shows_grades_marks_and_groups() -> None:
    said = words(picture(view_of(RETAIL, "eu_sales")))
    for expected in (
        "never",
        "update: never",
        "insert: always",
        "◇ Q >= 10",
        "= 'EU'",
        "○ C",
        "● N",
    ):
        assert expected in said
    said = words(picture(view_of(RETAIL, "sales"), "orders"))
    assert {"updated", "group 1", "group 2"} <= set(said)


def test_remarks_are_written() -> None:
    source = """
    .decl child(id, parent) references parent(parent)
    .decl parent(parent, name) key(parent)
    v(X) :- child(X, Y), parent(Y, _).
    """
    said = words(picture(view_of(source)))
    assert "without parent(Y, _): guaranteed by the foreign key of child(X, Y)" in said
    assert "parent" in said  # in the matrix, as unused
    assert "unused" in said
    assert picture(view_of(source), "parent")  # nothing to look from, but no error
    said = words(picture(view_of("v(X) :- r(X), X < 1, X > 2.")))
    assert "no database gives this view a row: every change is irrelevant" in said
    assert any("18 more subgoals" in word for word in words(picture(view_of(star(30)))))


def test_a_relation_that_occurs_several_times_has_one_panel_each() -> None:
    view = view_of("v(X) :- r(X, Y), r(Y, Z), s(Z).")
    said = words(picture(view, "r"))
    assert [word for word in said if word.startswith("change of")] == [
        "change of r, subgoal 1",
        "change of r, subgoal 2",
    ]
    assert not [word for word in words(picture(view, "s")) if word.startswith("change of")]


def test_panels_are_bounded() -> None:
    said = words(picture(view_of(chain(30))))
    assert len([word for word in said if word.startswith("change of")]) == MOST_PANELS


def test_unknown_places_are_errors() -> None:
    with pytest.raises(InputError, match="does not use a relation `order`"):
        picture(view_of(RETAIL, "sales"), "order")
    with pytest.raises(InputError, match="has 3 subgoals, but no 3"):
        picture(view_of(RETAIL, "sales"), 3)


@pytest.mark.parametrize(
    "constant",
    [
        "<script>alert(1)</script>",
        "</text></svg>",
        '" onload="x()',
        "]]> &amp; &lt; <!--",
        "a\\nb\\tc",
        "\x00\x01\x1f\ufffe",
        "日本語" * 20,
        "\u202e\u0301" * 5,
    ],
)
def test_hostile_constants_are_text(constant: str) -> None:
    written = constant.replace("'", "\\'")
    svg = picture(view_of(f"v(X, '{written}') :- r(X, '{written}'), s(X, Y), Y != '{written}'."))
    root = ElementTree.fromstring(svg)
    assert {node.tag.removeprefix(SVG) for node in root.iter()} <= ALLOWED
    assert "<script" not in svg
    assert not any("onload" in node.attrib for node in root.iter())


def test_long_names_are_cut_but_kept_as_titles() -> None:
    name = "r" + "x" * 100
    svg = picture(view_of(f"v(X) :- {name}(X, Y), s(Y)."))
    assert any(name in word for word in words(svg))
    assert any(word.startswith("rxxx") and word.endswith("…") for word in words(svg))


def test_svg_text_is_escaped_once() -> None:
    assert text(1, 2.5, "a<b & 'c'") == '<text x="1" y="2.5">a&lt;b &amp; \'c\'</text>'
    assert element("g", title='"<&') == "<g title='\"&lt;&amp;'/>"
    assert safe("a\x00b\ud800c") == "a\ufffdb\ufffdc"


def test_fit_counts_columns() -> None:
    assert fit("abc", 3) == "abc"
    assert fit("abcd", 3) == "ab…"
    assert fit("日本語", 6) == "日本語"
    assert fit("日本語", 5) == "日本…"
    assert cells(fit("日本語日本語", 8)) <= 8
    assert fit("a\nb", 9) == "a b"


# The layout


def laid_out(source: str, root: int = 0) -> Layout:
    query = view_of(source).query
    rng = Random(7)
    sizes = [(float(rng.randint(60, 200)), float(rng.randint(30, 150))) for _ in query.atoms]
    return lay_out(
        arrange(query, root),
        Style(box=lambda i: sizes[i], label=lambda link: 24.0 + 8 * len(link.label)),
    )


SOURCES = [star(1), star(7), star(30), chain(9), *map(random_view, range(30))]


@pytest.mark.parametrize("source", SOURCES)
def test_nothing_overlaps(source: str) -> None:
    for root in range(len(view_of(source).query.atoms)):
        layout = laid_out(source, root)
        for a, b in combinations(layout.boxes, 2):
            apart_x = a.x + a.width <= b.x or b.x + b.width <= a.x
            assert apart_x or a.y + a.height <= b.y or b.y + b.height <= a.y
        for box in layout.boxes:
            assert box.x >= -0.01
            assert box.x + box.width <= layout.width + 0.01
            assert box.y + box.height <= layout.height + 0.01
        labels = [(w.label_x, w.y, 12.0 + 4 * len(w.link.label)) for w in layout.wires]
        for (x1, y1, half1), (x2, y2, half2) in combinations(labels, 2):
            assert y1 != y2 or abs(x1 - x2) >= half1 + half2
        for wire in layout.wires:
            xs = [x for x, _ in wire.ports]
            for box in layout.boxes:  # the lane lies above or below each box that it passes
                passes = min(xs) < box.x + box.width and max(xs) > box.x
                assert not passes or not box.y < wire.y < box.y + box.height


@pytest.mark.parametrize("source", SOURCES)
def test_wires_end_at_their_boxes(source: str) -> None:
    query = view_of(source).query
    for root in range(len(query.atoms)):
        layout = laid_out(source, root)
        at = {box.subgoal: box for box in layout.boxes}
        assert sorted(at) == list(range(len(query.atoms)))
        segments = arrange(query, root).segments
        assert len(segments) == len(layout.wires)
        for wire in layout.wires:
            assert len(wire.ports) >= 2
            for x, y in wire.ports:
                assert any(
                    box.x <= x <= box.x + box.width and y in (box.y, box.y + box.height)
                    for box in at.values()
                )


def test_no_number_is_written_with_more_than_one_decimal() -> None:
    assert not re.search(r"\d\.\d\d", picture(view_of(RETAIL, "sales")))
