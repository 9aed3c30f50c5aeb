"""Which pointstamps a change may add: upright and justified changes (sections 3 and 4).

``order``, the partial order of the pointstamps, is the first argument, as everywhere in Tidegate.

>>> from tidegate.time import Nat, ZMultiset
>>> upright(Nat(), ZMultiset({0: -1, 2: 3})), upright(Nat(), ZMultiset({0: 1, 2: -3}))
(True, False)
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TypeVar

from tidegate.progress.pointstamp import PartialOrder
from tidegate.time import ZMultiset

__all__ = [
    "beta_upright",
    "justified",
    "justified_with",
    "supp",
    "supp_strong",
    "unjustified",
    "unsupported",
    "upright",
    "vacant",
]

P = TypeVar("P", bound=Hashable)


def vacant(order: PartialOrder[P], M: ZMultiset[P], p: P) -> bool:
    """Whether neither ``p`` nor anything below it has a count in ``M``."""
    return not any(order.le(q, p) for q in M)


def supp(order: PartialOrder[P], M: ZMultiset[P], p: P) -> bool:
    """Whether ``M`` takes away something strictly below ``p``."""
    return any(n < 0 and order.lt(q, p) for q, n in M.items())


def supp_strong(order: PartialOrder[P], M: ZMultiset[P], p: P) -> bool:
    """Whether `supp` holds, and ``M`` adds nothing at or below what it takes away, as Abadi et al. require."""
    return any(n < 0 and order.lt(q, p) and all(m <= 0 for r, m in M.items() if order.le(r, q)) for q, n in M.items())


def unsupported(order: PartialOrder[P], M: ZMultiset[P]) -> list[P]:
    """Return the pointstamps that ``M`` adds and that nothing supports: none if ``M`` is upright."""
    return [p for p, n in M.items() if n > 0 and not supp(order, M, p)]


def upright(order: PartialOrder[P], M: ZMultiset[P], *, strong: bool = False) -> bool:
    """Whether everything that ``M`` adds is supported; with ``strong``, in the sense of Abadi et al.

    For a finite ``M`` as a whole, both say the same.
    """
    supported = supp_strong if strong else supp
    return all(supported(order, M, p) for p, n in M.items() if n > 0)


def beta_upright(order: PartialOrder[P], M: ZMultiset[P], N: ZMultiset[P]) -> bool:
    """Whether everything that ``M`` adds is supported in ``M`` or in ``N``."""
    return all(supp(order, M, p) or supp(order, N, p) for p, n in M.items() if n > 0)


def unjustified(order: PartialOrder[P], C: ZMultiset[P], M: ZMultiset[P]) -> list[P]:
    """Return the pointstamps that ``M`` adds without a justification by ``C``: none if ``M`` is justified."""
    return [
        p
        for p, n in M.items()
        if n > 0 and not (supp(order, M, p) or any(m > 0 and order.lt(q, p) for q, m in C.items()) or n < C[p])
    ]


def justified(order: PartialOrder[P], C: ZMultiset[P], M: ZMultiset[P]) -> bool:
    """Whether everything that ``M`` adds is supported in ``M``, or by a capability in ``C``."""
    return not unjustified(order, C, M)


def justified_with(order: PartialOrder[P], C: ZMultiset[P], M: ZMultiset[P], N: ZMultiset[P]) -> bool:
    """Whether everything that ``M`` adds is justified by ``C`` or by what ``N`` changes later."""
    return all(
        supp(order, M, p) or supp(order, N, p) or any(m > 0 and order.lt(q, p) for q, m in C.items()) or n + N[p] < C[p]
        for p, n in M.items()
        if n > 0
    )
