"""doors: where a chain meets other code: `for` loops, processors, publishers of other libraries."""
