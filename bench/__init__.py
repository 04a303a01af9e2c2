"""What the journal costs, beside what nothing at all, raw SQLite and other engines cost. Measures and judges against targets.

Not part of the product and not of its tests: machines differ, so every figure that counts is a ratio from one
interleaved run.
"""
