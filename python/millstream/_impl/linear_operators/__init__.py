"""Linear operators: matrices by their structure.

The rules of products, inverses and adjoints name all kinds. They are loaded with any kind.
"""

from millstream._impl.linear_operators import algebra as _algebra  # noqa: F401
