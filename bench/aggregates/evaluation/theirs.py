"""What the paper says of its own figures, in numbers or words; its text has no other numbers of theirs.

Figure 14 is of texts only there, and Flink, beside which it stands too, is not measured here.
"""

from __future__ import annotations

__all__ = ["SHARES", "THEIRS"]

#: By figure, and for Figure 14 by kind.
THEIRS = {
    "9": (
        "The paper, on Flink, for 0.6 to 46 µs a row: A+ has 30 to 38 % of the throughput where a row costs little and "
        "98 to 100 % where it costs much; A 3 to 28 %, and 90 to 96 % for low selectivity."
    ),
    "10": "The paper, on Flink: A has about 50 % less than dedicated, A+ about 16 % less.",
    "11": (
        "The paper, on Flink: A has 34 % less than dedicated for LLM and 90 % less for HLM; A+ about as much on the "
        "Odroid. Both have a higher latency, which stays below a second for A+; on the larger machine, that of "
        "dedicated is lower by orders of magnitude."
    ),
    "12": "The paper, on Flink: D and A+ are close; A's latency grows faster.",
    "13": (
        "The paper, on Flink: A+ and dedicated differ negligibly, in latency too; A more, and its latency grows. For "
        "llj, A differs little as well."
    ),
    "14 Maps": (
        "The paper, for texts: their micro engine has 1.21 times the throughput of Spark and 10 % of its latency; 1.43 "
        "times that of Flink, at about its latency."
    ),
    "14 Joins": (
        "The paper, for texts: their micro engine has 20 times the throughput of Spark and 28 % of its latency; 2.6 "
        "times that of Flink, at about its latency."
    ),
}

#: What forms have there of the throughput of dedicated operators, by form and query, where the text says it.
SHARES = {("A", "LLM"): 0.66, ("A", "HLM"): 0.1, ("A", "AHM"): 0.5, ("A+", "AHM"): 0.84}
