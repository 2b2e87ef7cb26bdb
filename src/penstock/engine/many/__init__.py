"""many: runs with several inputs or several subscribers."""
