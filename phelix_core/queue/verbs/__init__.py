"""The queue's verbs: load what a rule reads, decide, record; each inside one transaction.

No verb reads a clock, makes an id or opens a file of its own: `Ledger` carries the moment, the ids and the
transaction. A refusal is raised and leaves no row behind, but for what `keep` was called after.
"""
