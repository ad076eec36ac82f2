"""What is measured, and the targets: one function per section."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count

import selfmaint
from lookups.index import RowIndex
from lookups.plan import ACTIONS, Plan
from tests.bench import stream, views
from tests.bench.timing import (
    TICK,
    Facts,
    Line,
    Sample,
    Sizes,
    Unit,
    fresh_interpreter,
    line,
    samples,
    timed,
)

MS_OF_THREE, MS_OF_TEN = 2.0, 10.0
MS_OF_IMPORT = 150.0
SECONDS_OF_THIRTY = 1.0
SECONDS_OF_MANY = 3.0
DECISIONS = 20_000.0

HEAVY = ("matplotlib", "pyspark", "sympy")
BUDGET = 2.0
"""Seconds that one round of decisions may take; a slow plan decides fewer changes."""


def compile_view(text: str, name: str = "v") -> selfmaint.View:
    """Text to every plan of the view."""
    view = selfmaint.parse(text).view(name)
    compile_plans(view)
    return view


def compile_plans(view: selfmaint.View) -> None:
    for relation in view.relations:
        for action in ACTIONS:
            view.plan(relation, action)


def machine(sizes: Sizes) -> Iterator[Line]:
    """A loop that depends on nothing here: how fast this machine is, for comparing two runs."""

    def loop() -> int:
        table: dict[tuple[int, int], int] = {}
        for i in range(20_000):
            table[i % 97, i % 89] = table.get((i % 89, i % 97), 0) + 1
        return len(table)

    yield line("machine: a plain loop", "ms", None, samples(loop, sizes.repeats))


def imports(sizes: Sizes) -> Iterator[Line]:
    """`import selfmaint` in a fresh interpreter, and what is loaded only later."""
    timed = (
        "import sys, time; wall, cpu = time.perf_counter(), time.process_time(); {work}; "
        "taken = time.perf_counter() - wall, time.process_time() - cpu; "
        "import json; print(json.dumps([*taken, sorted(m for m in sys.modules if '.' not in m)]))"
    )

    def fresh(name: str, work: str, target: float | None, *, absent: tuple[str, ...] = ()) -> Line:
        taken: list[Sample] = []
        for _ in range(sizes.rounds):
            wall, cpu, loaded = json.loads(fresh_interpreter(timed.format(work=work)))
            assert not set(absent) & set(loaded), f"{work} loads {set(absent) & set(loaded)}"
            taken.append(Sample(wall, cpu))
        return line(name, "ms", target, taken)

    yield fresh("import: selfmaint", "import selfmaint", MS_OF_IMPORT, absent=HEAVY)
    grammar = "import selfmaint; selfmaint.parse('v(X) :- r(X).')"
    yield fresh("import: selfmaint and a first parse", grammar, None, absent=HEAVY)
    yield fresh("import: sympy, when first needed", "import sympy", None)


def compilation(sizes: Sizes) -> Iterator[Line]:
    """Text to all plans of one view, after import; sympy is loaded where it is needed."""
    serials = count(1)
    for size, target in ((3, MS_OF_THREE), (10, MS_OF_TEN)):
        for shape, write in views.SHAPES.items():

            def compiled(
                write: Callable[[int, int], str] = write, size: int = size
            ) -> selfmaint.View:
                # New names each time, since sympy remembers what it was asked.
                return compile_view(write(size, next(serials)))

            facts = lookups_of(compiled())
            taken = samples(compiled, sizes.repeats)
            yield line(f"compile {size}: {shape}", "ms", target, taken, facts=facts)


def lookups_of(view: selfmaint.View) -> Facts:
    plans = [view.plan(relation, action) for relation in view.relations for action in ACTIONS]
    return {"plans": len(plans), "lookups": sum(len(plan.lookups()) for plan in plans)}


def one_relation(sizes: Sizes) -> Iterator[Line]:
    """Thirty subgoals of one relation: the worst that minimization and vouching meet."""
    for shape, write in views.ONE_RELATION.items():
        text = write(sizes.subgoals)
        query = compile_view(text).query
        facts: Facts = {"subgoals left": len(query.atoms), "minimal": str(query.is_minimal)}
        taken = samples(partial(compile_view, text), sizes.rounds)
        yield line(f"one relation: {shape}", "s", SECONDS_OF_THIRTY, taken, facts=facts)


def many(sizes: Sizes) -> Iterator[Line]:
    """A file of many views."""
    text = "".join(views.many_views(sizes.views))

    def plans() -> None:
        program = selfmaint.parse(text)
        for name in program.views:
            compile_plans(program.view(name))

    facts: Facts = {"views": sizes.views, "characters": len(text)}
    unit: Unit = "s"
    checked = samples(partial(selfmaint.parse, text), sizes.rounds)
    yield line("file: parse and check", unit, None, checked, facts=facts)
    yield line("file: all plans", unit, SECONDS_OF_MANY, samples(plans, sizes.rounds), facts=facts)


def decisions(sizes: Sizes) -> Iterator[Line]:
    """Changes decided one by one against an indexed view."""
    retail = stream.Retail.of(sizes.rows)
    sales, pairs = retail.sales(), retail.pairs()
    taken = samples(partial(selfmaint.index, sales), sizes.rounds)
    yield line("index: rows", "ms", None, taken, facts={"rows": len(sales)})

    plain, declared = selfmaint.parse(stream.PLAIN), selfmaint.parse(stream.DECLARED)
    inserts = retail.inserts(sizes.changes)
    insert = plain.view("sales").plan("orders", "insert")

    def first() -> Sample:
        index = selfmaint.index(sales)
        return timed(lambda: insert.decide(index, inserts[0]))

    yield line("index: first decision", "ms", None, [first() for _ in range(sizes.rounds)])

    indexed, paired = selfmaint.index(sales), selfmaint.index(pairs)
    deletes = retail.deletes(sizes.changes)
    typed, hidden = declared.view("sales"), plain.view("pairs")
    yield rate("insert, two groups", insert, indexed, inserts, sizes)
    yield rate(
        "insert, two groups, typed with keys",
        typed.plan("orders", "insert"),
        indexed,
        inserts,
        sizes,
    )
    yield rate("insert, miss", insert, indexed, retail.unknown_customers(sizes.changes), sizes)
    yield rate(
        "insert, VDU",
        hidden.plan("orders", "insert"),
        paired,
        retail.repeated_pairs(sizes.changes),
        sizes,
    )
    yield rate("delete", plain.view("sales").plan("orders", "delete"), indexed, deletes, sizes)
    yield rate("delete, hidden: miss", hidden.plan("orders", "delete"), paired, deletes, sizes)
    yield rate(
        "insert, foreign key",
        typed.plan("customer", "insert"),
        indexed,
        retail.new_customers(sizes.changes),
        sizes,
    )


def repeated(sizes: Sizes) -> Iterator[Line]:
    """The same for a relation that occurs twice, so that one change meets two subgoals."""
    people = stream.staff(sizes.rows)
    plan = selfmaint.parse(stream.STAFF).view("bosses").plan("staff", "insert")
    index = selfmaint.index(stream.bosses(people))
    yield rate("twice, with a key", plan, index, stream.new_staff(people, sizes.changes), sizes)
    for degree, target in ((4, DECISIONS), (10, None)):
        network = stream.legs(sizes.rows, degree)
        view = selfmaint.parse(stream.LEGS).view("trips")
        index = selfmaint.index(stream.trips(network))
        added = stream.new_legs(network, sizes.changes)
        each = f"{2 * degree} rows each"  # a new leg goes on from the old ones and before them
        yield rate(f"twice, insert {each}", view.plan("leg", "insert"), index, added, sizes, target)
        removed = network[: sizes.changes]
        yield rate(
            f"twice, delete {each}", view.plan("leg", "delete"), index, removed, sizes, target
        )


def rate(
    name: str,
    plan: Plan,
    index: RowIndex,
    changes: Sequence[Sequence[object]],
    sizes: Sizes,
    target: float | None = DECISIONS,
) -> Line:
    """Decisions per second, once every lookup of the plan has built its index."""
    for change in changes[:3]:
        plan.decide(index, change)
    one = timed(lambda: plan.decide(index, changes[0])).wall
    decided = changes[: max(1, int(BUDGET / max(one, TICK)))]
    kinds: Counter[str] = Counter()

    def decide_all() -> None:
        kinds.clear()
        kinds.update(plan.decide(index, change).kind for change in decided)

    taken = list(samples(decide_all, sizes.rounds))
    facts: Facts = {"changes": len(decided), "rows": len(index.rows)}
    facts.update((str(kind), number) for kind, number in sorted(kinds.items()))
    return line(f"decide: {name}", "1/s", target, taken, work=len(decided), facts=facts)


Section = Callable[[Sizes], Iterator[Line]]
SECTIONS: tuple[Section, ...] = (
    machine,
    imports,
    compilation,
    one_relation,
    many,
    decisions,
    repeated,
)
