"""Settings for the whole suite: how many examples are drawn, and that none is judged by how long it took."""

import os

from hypothesis import HealthCheck, settings

# Drawing is reproducible in `make test`, so that a failure there can be repeated; `make check` looks further.
_common = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.filter_too_much]}
settings.register_profile("test", max_examples=100, derandomize=True, **_common)
settings.register_profile("check", max_examples=1500, **_common)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "test"))
