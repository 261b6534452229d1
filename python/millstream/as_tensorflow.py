"""``python -m millstream.as_tensorflow program.py [arguments]`` runs a TensorFlow program."""

import sys

from millstream._impl.tools.as_tensorflow import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
