"""The 24 queries of the paper on Aggregates, in every form: the same as the command ``tidegate bench aggregates``.

python bench/bench_aggregates.py --quick
python bench/bench_aggregates.py --only LLM,AHM,llj --output figures
"""

from __future__ import annotations

import typer

from tidegate.cli.bench import aggregates

if __name__ == "__main__":
    typer.run(aggregates)
