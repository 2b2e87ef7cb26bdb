"""dialects: the parties of the C++ and the .NET text, and of other libraries."""
