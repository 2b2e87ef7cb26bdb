"""bridges: streams of other libraries, in and out, each in its own module that loads only what it needs.

Every bridge holds its neighbour to the contract: what breaks it is reported by rule, ends that stream alone, and loses
nothing that was delivered. Each module says what its neighbour's protocol cannot carry.
"""
