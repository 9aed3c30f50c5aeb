"""Pictures for the page: the graph of a flow, and the diagram of a finite order, drawn as `flow.explain()` draws."""

from __future__ import annotations

import re
from typing import Any

from tidegate.flow.explain.draw import Box, Link, svg
from tidegate.flow.orders import PosetCoordinates
from tidegate.live.checkpoint import Description

__all__ = ["flow_picture", "order_picture", "picture_styles"]

#: The styles of a picture. They are served as a file, because the page allows no inline styles.
_STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)
#: An order with more elements is shown as a list.
_MOST = 60


def flow_picture(description: Description) -> str:
    """Return the graph of a flow as SVG. A box has the id of its operator, or ``sink NAME``."""
    whole = description.whole
    boxes = [
        Box(
            o["id"],
            (o["id"], *o["lines"]),
            o["kind"],
            bool(o["holds"]),
            f"{o['id']}\n{o['columns']}",
            verb="" if o["id"].rpartition("#")[0] == o["verb"] else o["verb"],
            kept_text=o["holds"],
        )
        for o in whole["operators"]
    ]
    links = [Link(name, o["id"], o["later"]) for o in whole["operators"] for name in o["inputs"]]
    for sink in whole["sinks"]:
        id_ = f"sink {sink['name']}"
        boxes.append(Box(id_, (sink["name"],), "sink", False, f"{sink['name']}\n{sink['output']}", verb="sink"))
        links.append(Link(sink["input"], id_, ""))
    return _STYLE.sub("", svg(boxes, links, title=f"flow {whole['flow']}"))


def order_picture(at: PosetCoordinates) -> str:
    """Return the diagram of a finite order as SVG, least elements first; empty if it has too many elements."""
    points = sorted(at.points, key=lambda pair: pair[1])
    if len(points) > _MOST:
        return ""
    order, elements = at.order, [x for x, _ in points]
    boxes = [Box(at.shown(x), (at.shown(x),), "operator", False, "") for x in elements]

    def covers(x: Any, y: Any) -> bool:
        """Whether x is below y, with no element between them."""
        between = (z for z in elements if z not in (x, y) and order.le(x, z) and order.le(z, y))
        return x != y and order.le(x, y) and next(between, None) is None

    links = [Link(at.shown(x), at.shown(y), "") for x in elements for y in elements if covers(x, y)]
    return _STYLE.sub("", svg(boxes, links, title=f"the order of {at.given.column}"))


def picture_styles() -> str:
    """Return the styles of all pictures, as CSS."""
    return "\n".join(_STYLE.findall(svg([Box("a", ("a",), "operator", False, "")], [], title="")))
