"""What the generated tests of the specification draw: an order, a stream over it, watermarks before it, buffers."""

from typing import Any

from hypothesis import strategies as st

from tidegate.check.orders import antichains, posets, times, total_orders
from tidegate.check.streams import buffers, streams
from tidegate.time import Nat, Order, Product, Sum

ORDERS: dict[str, st.SearchStrategy[Order[Any]]] = {
    "Nat": st.just(Nat()),
    "Product": st.just(Product(Nat(), Nat())),
    "Sum": st.just(Sum(Nat(), Product(Nat(), Nat()))),
    "Poset": posets(),
}
TOTAL = total_orders()


@st.composite
def cases(draw: st.DrawFn, orders: st.SearchStrategy[Order[Any]], *, fits: bool = False, **options: Any):
    """Draw (order, events, W, tds, abs); with ``fits``, as (24) assumes: W covers abs and is below tds."""
    order = draw(orders)
    W = draw(antichains(order, greatest=True))
    events = draw(streams(order, seen=W, **options))
    tds, abs = draw(buffers(order)), draw(buffers(order))
    if fits:
        tds = [(t, d) for t, d in tds if all(order.lt(w, t) for w in W)]
        abs = [(t, d) for t, d in abs if any(order.le(t, w) for w in W)]
    return order, events, W, tds, abs


@st.composite
def fresh_buffers(draw: st.DrawFn, order: Order[Any], W: list[Any]):
    """Draw a buffer that no watermark of W covers, as (12) assumes."""
    return [(t, d) for t, d in draw(buffers(order)) if not any(order.le(t, w) for w in W)]


__all__ = ["ORDERS", "TOTAL", "cases", "fresh_buffers", "times"]
