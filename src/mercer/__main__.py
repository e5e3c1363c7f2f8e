"""`python -m mercer` is the command `mercer`."""

import sys

from mercer.cli import main

sys.exit(main())
