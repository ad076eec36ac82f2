"""Plans as JSON, with a version.

Law: `plan_from_json(plan_to_json(plan)) == plan`; the same plan gives the same text, byte for byte.

Every node is an object with its class under `"node"`; tuples are arrays; constants carry their type
beside their text, so that `1`, `1.0`, `true` and `'1'` stay apart.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final, TypeGuard

from cq.diagnostics import InputError, shorten
from cq.query import Dropped, Query
from cq.schema import Column, Reference, Relation
from cq.syntax import Atom, Comparison, Const, Var
from cq.types import Type, Value
from lookups import plan as nodes
from lookups.plan import Plan, Rule

VERSION: Final = 1

_CLASSES: Final[dict[str, type]] = {
    cls.__name__: cls
    for cls in (
        Atom,
        Column,
        Comparison,
        Dropped,
        Query,
        Reference,
        Relation,
        Type,
        Var,
        nodes.All,
        nodes.Alternative,
        nodes.Any,
        nodes.Child,
        nodes.Contradiction,
        nodes.Equal,
        nodes.Found,
        nodes.Given,
        nodes.Instance,
        nodes.Lookup,
        nodes.Plan,
        nodes.Rows,
        nodes.Screen,
        nodes.Step,
        nodes.Test,
    )
}

_VALUES: Final[dict[str, tuple[type, Callable[[Any], str], Callable[[str], Value]]]] = {
    # A float goes through its exact hexadecimal spelling.
    "boolean": (bool, lambda v: str(v).lower(), lambda t: t == "true"),
    "integer": (int, str, int),
    "double": (float, float.hex, float.fromhex),
    "decimal": (Decimal, str, Decimal),
    "string": (str, str, str),
    "timestamp": (datetime, datetime.isoformat, datetime.fromisoformat),
    "date": (date, date.isoformat, date.fromisoformat),
}


def plan_to_json(plan: Plan, indent: int | None = None) -> str:
    """The plan as a JSON text."""
    document = {"format": "selfmaint-plan", "version": VERSION, "plan": _encode(plan)}
    return json.dumps(document, indent=indent, ensure_ascii=False)


def plan_from_json(text: str) -> Plan:
    """The plan that `plan_to_json` wrote.

    Raises:
        InputError: the text is no plan, or one of another version.
    """
    try:
        document = json.loads(text)
        if document["format"] != "selfmaint-plan":
            raise KeyError("format")
        version = document["version"]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise InputError("LP209", f"the text is no plan: {shorten(repr(error), 200)}") from None
    if version != VERSION:
        raise InputError(
            "LP210",
            f"the plan has version {shorten(repr(version))}, but version {VERSION} is read here",
            "compile the view again",
        )
    try:
        plan = _decode(document["plan"])
    except _DAMAGE as error:
        raise InputError("LP209", f"the plan is damaged: {shorten(repr(error), 200)}") from None
    if not _is_whole(plan):
        raise InputError("LP209", "the plan is damaged: its parts do not belong together")
    return plan


_DAMAGE = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    KeyError,
    RecursionError,
    TypeError,
    ValueError,
)


def _is_whole(plan: object) -> TypeGuard[Plan]:
    return (
        isinstance(plan, Plan)
        and isinstance(plan.query, Query)
        and plan.action in nodes.ACTIONS
        and plan.relation in plan.query.by_name
        and all(isinstance(step, nodes.Step) for step in plan.steps)
    )


def _encode(item: object) -> object:
    match item:
        case Const(value=value):
            for name, (kind, write, _) in _VALUES.items():
                if type(value) is kind:
                    return {"node": "Const", "type": name, "value": write(value)}
            raise AssertionError(f"no constant: {value!r}")
        case Rule() | str() | bool() | int() | None:
            return item
        case tuple():
            return [_encode(part) for part in item]
        case frozenset():
            return [_encode(var) for var in sorted(item, key=lambda var: var.name)]
        case _:
            return _encode_node(item)


def _encode_node(item: object) -> object:
    assert dataclasses.is_dataclass(item), item
    fields = {
        field.name: _encode(getattr(item, field.name))
        for field in dataclasses.fields(item)
        if field.name != "span"
    }
    return {"node": type(item).__name__, **fields}


def _decode(item: object) -> Any:
    match item:
        case {"node": "Const", "type": str(name), "value": str(text)}:
            return Const(_VALUES[name][2](text))
        case {"node": "Query", "non_null": [*variables], **rest}:
            fields: dict[str, Any] = {str(key): _decode(part) for key, part in rest.items()}
            return Query(**fields, non_null=frozenset(map(_decode, variables)))
        case {"node": "Step", "rule": str(rule), **rest}:
            fields = {str(key): _decode(part) for key, part in rest.items()}
            return nodes.Step(**fields, rule=Rule(rule))
        case {"node": str(name), **rest}:
            return _CLASSES[name](**{str(key): _decode(part) for key, part in rest.items()})
        case list():
            return tuple(_decode(part) for part in item)
        case _:
            return item
