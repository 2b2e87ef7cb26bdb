"""versions: where one PySpark differs from another, a module for each difference; 4.0 to 4.3 are known.

Each module looks at what the installed PySpark has, never at its number, and offers the newest form of it. The rest of
penstock is written as if there were only that form.
"""
