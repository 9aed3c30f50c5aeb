"""Steps of a running flow. Each is committed whole or not at all. What drives them differs from engine to engine."""
