"""The oracle against itself and against cases worked by hand.

Laws: the SAT solver decides as trying all databases does; more fresh values than those of
`witness_universe` change no answer; and what all databases agree on is what the real one shows.
"""

import pytest
from hypothesis import assume, given, reject
from hypothesis import strategies as st

from property_tests.domains import Universe, uniform_universe, witness_universe
from property_tests.judgement import profile_runs
from property_tests.oracle import Inconsistent, TooLarge, Truth, by_enumeration, by_sat
from property_tests.strategies import FLAVOURS, Case, Flavour, case, cases
from property_tests.worlds import (
    Atom,
    Change,
    Comparison,
    ForeignKey,
    Kind,
    Relation,
    Row,
    Rows,
    Term,
    Var,
    View,
    World,
    apply,
    evaluate,
)

MULTIPLE = 4
MOST_FACTS = 10  # a thousand databases

X, Y, Z, U, T, W = map(Var, "XYZUTW")


def _answer(truth: Truth) -> tuple[bool, bool, object]:
    return truth.agrees, truth.unaffected, truth.new_rows


def _size(universe: Universe) -> int:
    return sum(map(len, universe.values()))


def _nulls(case: Case) -> bool:
    return case.flavour.nulls or any(None in row for row in (*case.rows, case.change.row))


def _compare_with_enumeration(case: Case, universe: Universe) -> None:
    arguments = (case.world, case.rows, case.change, universe)
    try:
        expected = _answer(by_enumeration(*arguments))
    except Inconsistent:
        with pytest.raises(Inconsistent):
            by_sat(*arguments)
    else:
        assert _answer(by_sat(*arguments)) == expected, case.text()


@pytest.mark.parametrize("flavour", FLAVOURS, ids=lambda flavour: flavour.name)
def test_sat_decides_as_enumeration(flavour: Flavour) -> None:
    """Over the same rows both ways agree: with few values in all columns, and with witnesses."""
    compared = 0
    for seed, size in profile_runs(MULTIPLE):
        example = case(flavour, seed, min(size, 2))
        arguments = (example.world, example.rows, example.change)
        for universe in (
            uniform_universe(*arguments, fresh=1, nulls=flavour.nulls),
            witness_universe(*arguments, nulls=flavour.nulls),
        ):
            if _size(universe) <= MOST_FACTS:
                _compare_with_enumeration(example, universe)
                compared += 1
    assert compared > 0


@pytest.mark.parametrize("fresh", [2, 4])
@given(case=st.sampled_from(FLAVOURS).flatmap(cases))
def test_more_fresh_values_change_no_answer(case: Case, fresh: int) -> None:
    """Whatever a larger domain can refute, the witnesses' own values refute too."""
    arguments = (case.world, case.rows, case.change)
    universe = uniform_universe(*arguments, fresh=fresh, nulls=_nulls(case))
    assume(_size(universe) <= 300)
    try:
        truth = by_sat(*arguments, nulls=case.flavour.nulls)
        uniform = by_sat(*arguments, universe)
    except (TooLarge, Inconsistent):
        reject()
    if truth.agrees:
        assert _answer(uniform) == _answer(truth), "\n".join([case.text(), uniform.text()])


@given(st.sampled_from(FLAVOURS).flatmap(cases))
def test_agreement_includes_the_real_database(case: Case) -> None:
    try:
        truth = by_sat(case.world, case.rows, case.change, nulls=case.flavour.nulls)
    except TooLarge:
        reject()
    if truth.agrees:
        assert truth.new_rows == evaluate(case.world.view, apply(case.database, case.change))


def _world(head: tuple[Term, ...], *atoms: Atom, relations: tuple[Relation, ...] = ()) -> World:
    named = {relation.name: relation for relation in relations}
    for atom in atoms:
        named.setdefault(atom.relation, Relation(atom.relation, len(atom.terms)))
    return World(tuple(named.values()), View(head, atoms))


def _rows(*rows: Row) -> Rows:
    return frozenset(rows)


def _truth(world: World, rows: Rows, relation: str, kind: Kind, row: Row) -> Truth:
    return by_sat(world, rows, Change(relation, kind, row))


class TestExamplesOfThePaper:
    """Huyn, *Speeding Up Materialized-View Maintenance*: the examples, by number."""

    SHARED_GROUP = _world(
        (X, Y, Z, U), Atom("r", (X, Y, Z, T)), Atom("p", (X, W, U)), Atom("q", (U, Y, W))
    )
    CONSTANTS = _world(
        (X, Y, Z, U),
        Atom("r", (X, Y, 1, Z, T)),
        Atom("p", (X, 2, U)),
        Atom("q", (Y, U, Y)),
        Atom("s", (Z, Z, Y)),
    )
    EXPOSED = _world(
        (X, Y, Z, T),
        Atom("r", (X, Y, Z)),
        Atom("p", ("b", X, Y)),
        Atom("p", (Z, Y, Z)),
        Atom("q", (X, Z, T)),
    )

    def test_1_1_unaffected(self) -> None:
        rows = _rows(("a", "b", "c", 1), ("a", "f", "e", 2))
        truth = _truth(self.SHARED_GROUP, rows, "r", "insert", ("a", "b", "c", "d"))
        assert truth.unaffected

    def test_1_1_self_maintained(self) -> None:
        rows = _rows(("a", "b", "e", 1), ("a", "f", "e", 2))
        truth = _truth(self.SHARED_GROUP, rows, "r", "insert", ("a", "b", "c", "d"))
        assert truth.new_rows == rows | _rows(("a", "b", "c", 1))

    def test_1_1_miss(self) -> None:
        rows = _rows(("a", "f", "e", 2))
        truth = _truth(self.SHARED_GROUP, rows, "r", "insert", ("a", "b", "c", "d"))
        assert not truth.agrees

    def test_2_2_other_constant(self) -> None:
        rows = _rows(("a", "b", "c", "u"))
        truth = _truth(self.CONSTANTS, rows, "r", "insert", ("a", "b", 2, "c", "d"))
        assert truth.unaffected

    def test_2_2_rows_of_two_groups(self) -> None:
        rows = _rows(("a", "b", "e", 7), ("a", "b", "e", 8), ("f", "b", "c", 9))
        truth = _truth(self.CONSTANTS, rows, "r", "insert", ("a", "b", 1, "c", "d"))
        assert truth.new_rows == rows | _rows(("a", "b", "c", 7), ("a", "b", "c", 8))

    @pytest.mark.parametrize("row", [("a", "b", "e", 7), ("f", "b", "c", 9), ("a", "g", "e", 7)])
    def test_2_2_a_group_is_missing(self, row: Row) -> None:
        truth = _truth(self.CONSTANTS, _rows(row), "r", "insert", ("a", "b", 1, "c", "d"))
        assert not truth.agrees

    @pytest.mark.parametrize("witness", [("a", "b", "e", 7), ("f", "a", "b", 7)])
    def test_3_3_either_subgoal_vouches(self, witness: Row) -> None:
        """p(b, a, b) stands behind v(a, b, -, -), and behind v(-, a, b, -)."""
        rows = _rows(witness, ("g", "b", "c", 8), ("a", "h", "c", 9))
        truth = _truth(self.EXPOSED, rows, "r", "insert", ("a", "b", "c"))
        assert truth.new_rows == rows | _rows(("a", "b", "c", 9))

    @pytest.mark.parametrize("left_out", range(3))
    def test_3_3_each_lookup_is_needed(self, left_out: int) -> None:
        rows: list[Row] = [("a", "b", "e", 7), ("g", "b", "c", 8), ("a", "h", "c", 9)]
        del rows[left_out]
        truth = _truth(self.EXPOSED, _rows(*rows), "r", "insert", ("a", "b", "c"))
        assert not truth.agrees


class TestDeletions:
    def test_everything_exposed(self) -> None:
        world = _world((X, Y, Z), Atom("r", (X, Y)), Atom("s", (Y, Z)))
        rows = _rows((1, 2, 3), (1, 2, 4), (5, 2, 3), (5, 2, 4))
        truth = _truth(world, rows, "r", "delete", (1, 2))
        assert truth.new_rows == _rows((5, 2, 3), (5, 2, 4))

    def test_a_hidden_variable_leaves_it_open(self) -> None:
        world = _world((Y,), Atom("r", (X, Y)))
        assert not _truth(world, _rows((2,), (3,)), "r", "delete", (1, 2)).agrees

    def test_an_exposed_key_settles_it(self) -> None:
        world = _world((Y,), Atom("r", (Y, X)), relations=(Relation("r", 2, keys=((0,),)),))
        assert _truth(world, _rows((1,), (2,)), "r", "delete", (1, 5)).new_rows == _rows((2,))


class TestConstraints:
    ORDERS = Relation("r", 2, keys=((0,),), foreign_keys=(ForeignKey((1,), "p"),))
    CUSTOMERS = Relation("p", 2, keys=((0,),))
    WORLD = _world((X, Z), Atom("r", (X, Y)), Atom("p", (Y, Z)), relations=(ORDERS, CUSTOMERS))

    def test_a_new_parent_has_no_children(self) -> None:
        assert _truth(self.WORLD, _rows((1, 2)), "p", "insert", (7, 8)).unaffected

    def test_a_parent_that_goes_has_no_children(self) -> None:
        assert _truth(self.WORLD, _rows((1, 2)), "p", "delete", (7, 8)).unaffected

    def test_without_the_foreign_key_it_may_have(self) -> None:
        world = _world((X, Z), *self.WORLD.view.atoms, relations=(self.CUSTOMERS,))
        assert not _truth(world, _rows((1, 2)), "p", "insert", (7, 8)).agrees

    def test_a_key_contradicts(self) -> None:
        """Customer 5 is in region 6, so nobody with customer 5 is in region 9."""
        atoms = (Atom("r", (X, Y, Z)), Atom("p", (Y, Z)))
        world = _world((X, Y, Z), *atoms, relations=(self.CUSTOMERS,))
        assert _truth(world, _rows((1, 5, 6)), "r", "insert", (2, 5, 9)).unaffected
        assert not _truth(world, _rows((1, 5, 6)), "r", "insert", (2, 7, 9)).agrees


class TestComparisonsAndNulls:
    def test_a_far_comparison_bounds_the_rows(self) -> None:
        atoms = (Atom("r", (X,)), Atom("s", (X, Z)))
        view = View((X,), atoms, (Comparison(Z, ">=", 100),))
        world = World((Relation("r", 1), Relation("s", 2)), view)
        assert not _truth(world, _rows((1,)), "r", "insert", (2,)).agrees
        assert _truth(world, _rows((1,)), "s", "insert", (1, 50)).unaffected
        assert _truth(world, _rows((1,)), "s", "insert", (1, 150)).unaffected
        assert not _truth(world, _rows((1,)), "s", "insert", (2, 150)).agrees

    def test_null_joins_nothing(self) -> None:
        world = _world((X, Z), Atom("r", (X, Y)), Atom("s", (Y, Z)))
        assert _truth(world, _rows((1, 2)), "r", "insert", (1, None)).unaffected

    def test_null_is_carried(self) -> None:
        world = _world((X, Y, Z), Atom("r", (X, Y)), Atom("s", (Y, Z)))
        truth = _truth(world, _rows((1, 2, None)), "r", "insert", (None, 2))
        assert truth.new_rows == _rows((1, 2, None), (None, 2, None))


def test_a_row_that_does_not_fit_the_head() -> None:
    world = _world((X, 7), Atom("r", (X,)))
    with pytest.raises(ValueError, match="does not fit the head"):
        _truth(world, _rows((1, 8)), "r", "insert", (2,))


def test_a_view_that_no_database_has() -> None:
    world = _world((X, Y), Atom("r", (X,)), Atom("s", (Y,)))
    with pytest.raises(Inconsistent):
        _truth(world, _rows((1, 2), (3, 4)), "r", "insert", (5,))
