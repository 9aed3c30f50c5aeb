"""Schemas in JSON, as Spark writes them down: in the directories of results, and in Delta tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tidegate.flow import sqltypes
from tidegate.flow.schema import Column

__all__ = ["columns_of_json", "schema_json", "type_shown"]

_SPARK = {"TINYINT": "byte", "SMALLINT": "short", "INT": "integer", "BIGINT": "long"}
_SHOWN = {name: short.lower() for short, name in _SPARK.items()}


def schema_json(columns: Sequence[Column]) -> str:
    """Return columns, all nullable, as Spark writes them.

    >>> schema_json([Column("n", "BIGINT")])
    '{"fields":[{"metadata":{},"name":"n","nullable":true,"type":"long"}],"type":"struct"}'
    """
    written = _struct({column.name: column.type or "VOID" for column in columns})
    return json.dumps(written, separators=(",", ":"), sort_keys=True)


def columns_of_json(schema: str) -> list[Column]:
    """Return the columns from that form.

    >>> columns_of_json(schema_json([Column("n", "BIGINT")]))
    [Column(name='n', type='BIGINT')]
    """
    return [Column(field["name"], _read(field["type"])) for field in json.loads(schema)["fields"]]


def type_shown(type_: Any) -> str:
    """Return a type from that form, as Spark shows it.

    >>> type_shown({"type": "array", "elementType": "integer", "containsNull": True})
    'array<int>'
    """
    if isinstance(type_, str):
        return _SHOWN.get(type_, type_)
    if type_["type"] == "array":
        return f"array<{type_shown(type_['elementType'])}>"
    if type_["type"] == "map":
        return f"map<{type_shown(type_['keyType'])},{type_shown(type_['valueType'])}>"
    if type_["type"] == "struct":
        fields = ((part["name"], type_shown(part["type"])) for part in type_["fields"])
        return f"struct<{','.join(f'{name}:{inner}' for name, inner in fields)}>"
    return str(type_["type"])


def _struct(fields: dict[str, str]) -> dict[str, Any]:
    columns = [
        {"name": name, "type": _written(type_), "nullable": True, "metadata": {}} for name, type_ in fields.items()
    ]
    return {"type": "struct", "fields": columns}


def _written(type_: str) -> Any:
    if type_.startswith("STRUCT"):
        return _struct(sqltypes.fields(type_))
    if type_.startswith("ARRAY"):
        return {"type": "array", "elementType": _written(sqltypes.element(type_) or "VOID"), "containsNull": True}
    if type_.startswith("MAP"):
        key, value = map(_written, sqltypes.entry(type_))
        return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}
    return _SPARK.get(type_, type_.lower().replace(" ", "") if type_.startswith("DECIMAL") else type_.lower())


def _read(type_: Any) -> str:
    if isinstance(type_, str):
        return sqltypes.canonical(_SHOWN.get(type_, type_))
    if type_["type"] == "array":
        return f"ARRAY<{_read(type_['elementType'])}>"
    if type_["type"] == "map":
        return f"MAP<{_read(type_['keyType'])}, {_read(type_['valueType'])}>"
    return sqltypes.struct(**{part["name"]: _read(part["type"]) for part in type_["fields"]})
