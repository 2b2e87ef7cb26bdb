"""doors: where a chain meets other code: `for` loops, processors, publishers of another make."""
