"""The lab: a page in the browser on which points, kernels, losses and games come alive.

The page draws; every number comes from the library through a small service on this machine. `make_app` is
the service as an ASGI application, `run` serves it until told to stop; ``mercer lab`` also opens the page.
"""

try:
    import starlette  # noqa: F401
    import uvicorn  # noqa: F401
except ImportError as error:
    raise ImportError(
        f"mercer.lab needs Starlette and uvicorn ({error}): pip install 'mercer[lab]'"
    ) from error

from mercer.lab.app import make_app
from mercer.lab.run import run

__all__ = ["make_app", "run"]
