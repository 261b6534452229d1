"""``python -m millstream.doctor`` is the command ``millstream doctor``."""

import sys

from millstream._impl.tools.doctor import main

if __name__ == "__main__":
    sys.exit(main())
