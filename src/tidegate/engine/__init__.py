"""The engine: what gives a flow its meaning on rows, written once, against the protocols of `relation`.

A backend brings rows and computes: `spark` is one, `local` another. Nothing here knows which.
"""
