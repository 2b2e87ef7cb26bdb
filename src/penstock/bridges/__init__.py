"""bridges: streams of other makes, in and out, each in a module of its own that loads only what it needs.

Every bridge holds its neighbour to the contract: what breaks it is reported by rule, ends that stream alone, and loses
nothing that was delivered. Each module says what its neighbour's protocol cannot carry.
"""
