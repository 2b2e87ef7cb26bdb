"""operators: one module per operator, each a frozen dataclass that is a Stage, a Joint or a Source."""
