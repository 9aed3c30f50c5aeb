"""Steps of a running flow, each of which is committed whole or not at all; what runs them is an engine's own."""
