"""What the paper says of its own figures, in numbers or words; its text has no other numbers of theirs."""

from __future__ import annotations

__all__ = ["THEIRS"]

#: By figure, and for Figure 14 by kind.
THEIRS = {
    "9": (
        "The paper, on Flink, for 0.6 to 46 µs a row: A+ has 30 to 38 % of the throughput where a row costs little and "
        "98 to 100 % where it costs much; A 3 to 28 %, and 90 to 96 % for low selectivity."
    ),
    "10": "The paper, on Flink: A has about 50 % less than dedicated, A+ about 16 % less.",
    "11": (
        "The paper, on Flink: A has 34 % less than dedicated for LLM and 90 % less for HLM; A+ about as much on the "
        "Odroid."
    ),
    "12": "The paper, on Flink: D and A+ are close; A's latency grows faster.",
    "13": "The paper, on Flink: A+ and dedicated differ negligibly, A more, and its latency grows.",
    "14 Maps": "The paper: their micro engine has 1.21 times the throughput of Spark and 10 % of its latency.",
    "14 Joins": "The paper: their micro engine has 20 times the throughput of Spark and 28 % of its latency.",
}
