"""The queue: issues taken under leases, checkpoints, recovery, promotion; rules pure, one store.

    model        what rows are, and the vocabulary
    policy       campaign and issue policy, merged; effective priority as time passes
    routing      may this host take this issue, and why not
    staleness    is this lease alive, and why is this issue stale
    gates        what a pending issue waits for; a milestone's derived status
    transitions  which status may follow which, by which verb
    planning     milestones[] to rows
    journal      events and the changes they carry: what a verb decided, as data
    verbs/       load, decide, record: one function a verb, each inside one transaction
    store        the port; sqlite its driver, the only writer of queue.db

Source: queue page.
"""
