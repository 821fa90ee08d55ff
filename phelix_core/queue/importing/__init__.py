"""A lifecycle database of another tool, mapped to rows and events of ours. Pure.

    source   what such a database holds (its version 5), and what of it is not taken
    cells    one row's values, read strictly
    taking   its tables to rows of ours, each kept, known already, or left out with a reason
    settling gates, leases, runs and issues once every row is known
    batch    the events that carry the rows, and the report

Ids, words, texts and times stay what they are. What cannot be kept without lying is left out with what hangs on
it, and told; what was imported before is neither changed nor imported again. Source: queue page, Actions (import);
reference page on the lifecycle's runtime, sections 1 to 3 and 7.
"""
