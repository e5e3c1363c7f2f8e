"""`save` and `load`: the straight line from an object to a file and back."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import mercer
from mercer._files import open_plain, replacing
from mercer.io import archive
from mercer.io.codec import Decoder, Encoder
from mercer.io.errors import ModelFileError
from mercer.io.migrations import VERSION, up_to_date

_FORMAT = "mercer model"


def save(obj: Any, path: str | os.PathLike[str]) -> None:
    """Write a machine, a function or a model to a file that holds data only, no code.

    Parameters
    ----------
    obj : a machine (fitted or not), a Function, a Model, a kernel, loss, solver or feature map
        Whatever it is made of must be mercer's own, numbers, text, arrays, or lists, tuples and dicts of
        these; a Python function inside is refused by name. Training data that only leave-one-out needs are
        left out.
    path : str or Path
        The usual ending is ``.mercer``. The file appears in one step, and replaces one that is there.

    Raises
    ------
    ModelFileError
        With the part that can't be saved and what to do about it, or what the disk said.

    Examples
    --------
    >>> import tempfile
    >>> from mercer import KernelRidge
    >>> machine = KernelRidge(lam=0.1).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 4.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(machine, folder + "/squares.mercer")
    ...     again = load(folder + "/squares.mercer")
    >>> again
    KernelRidge(lam=0.1)
    >>> bool((again.predict([[1.5]]) == machine.predict([[1.5]])).all())
    True
    """
    where = Path(path)
    try:
        encoder = Encoder()
        root = encoder.value(obj, type(obj).__name__)
        structure = {
            "format": _FORMAT,
            "version": VERSION,
            "mercer": mercer.__version__,
            "root": root,
            "objects": encoder.rows,
        }
        with replacing(where) as file:
            archive.write(file, structure, encoder.arrays)
    except ModelFileError as error:
        raise ModelFileError(f"can't save to {where}: {error}.") from error.__cause__
    except OSError as error:
        raise ModelFileError(
            f"can't write {where}: {error.strerror or error}; nothing was changed."
        ) from error


def load(path: str | os.PathLike[str]) -> Any:
    """What `save` wrote. Nothing in the file is run, and no name in it is imported.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    The object: predictions, parameters and repr are those of the one that was saved. Functions that were
    computed on a GPU are computed on the CPU where there is none.

    Raises
    ------
    ModelFileError
        If the file is missing, truncated, altered, of a newer format, or not a model at all.

    Examples
    --------
    >>> import tempfile
    >>> from mercer.kernels import Gaussian, Linear
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(Gaussian(2.0) + 3 * Linear(), folder + "/kernel.mercer")
    ...     load(folder + "/kernel.mercer")
    Gaussian(sigma=2.0) + 3 * Linear()
    >>> load("nowhere.mercer")
    Traceback (most recent call last):
    ...
    mercer.io.errors.ModelFileError: can't load nowhere.mercer: No such file or directory.
    """
    where = Path(path)
    try:
        with open_plain(where) as file:
            return _read(archive.Reader(file))
    except ModelFileError as error:
        raise ModelFileError(f"can't load {where}: {error}.") from error.__cause__
    except OSError as error:
        raise ModelFileError(f"can't load {where}: {error.strerror or error}.") from error
    except Exception as error:
        # The file may say anything, and what goes wrong then may be any error of NumPy, zipfile or json.
        raise ModelFileError(
            f"can't load {where}: what it says makes no sense ({type(error).__name__}: {str(error)[:200]}). "
            "It was not written by mercer.save, or by one that is newer than this; save the model again."
        ) from error


def _read(reader: archive.Reader) -> Any:
    structure = reader.structure()
    if structure.get("format") != _FORMAT:
        raise ModelFileError("it is not a model saved by mercer.save")
    arrays = reader.arrays(structure.get("arrays"))
    structure = up_to_date(structure)
    if set(structure) != {"format", "version", "mercer", "root", "objects", "arrays"}:
        raise ModelFileError("its model.json has other entries than this format")
    return Decoder(structure["objects"], arrays).root(structure["root"])
