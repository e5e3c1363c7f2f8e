"""A model as a small HTTP service: `make_app` is an ASGI application, `run` serves it until told to stop."""

try:
    import starlette  # noqa: F401
    import uvicorn  # noqa: F401
except ImportError as error:
    raise ImportError(
        f"mercer.tables.serve needs Starlette and uvicorn ({error}): pip install 'mercer[serve]'"
    ) from error

from mercer.tables.serve.app import make_app
from mercer.tables.serve.run import run

__all__ = ["make_app", "run"]
