"""carrying: positions that travel with elements through the operators of a run, so that it is known what is done.

In a run whose source wants to be told what is done, each element is carried: it goes through the chain together with
the marks of the source's elements that it was made of. An element that is dropped is done, one that became many is done
when all of them are, and several that became one are done with it. At the end of the chain what has come is done. The
source is told the position up to which everything is.

| module | what it has |
|---|---|
| `marks` | the marks of one source, in its order, and an element that carries some of them |
| `functions` | functions of a user's that are given elements and see values |
| `stages` | a stage, whatever its body, over carried elements |
| `joints`, `sources` | what each of the other steps makes of carried elements, or why it cannot |
| `entrance` | a source whose elements are marked, and which waits while too many are not done |
| `straight` | a source and stages behind it whose elements need no marks |
| `standstill` | whether a run can come to a point at which no other element may come |
| `waiting` | a warning where it cannot be known, and nothing has been done for long |
| `parts` | a part of a run that may end before the source does, and then holds nothing up |
| `hidden` | sources that are not in the chain before the run begins |
| `shares` | an element that several branches take |
| `lifting` | a whole chain over carried elements |
| `committing` | the sources of one run, and where their positions are kept |
"""
