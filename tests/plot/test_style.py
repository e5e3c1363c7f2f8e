"""The look that figures share: nothing global changes, and nobody else imports Matplotlib."""

import matplotlib
from matplotlib.axes import Axes

from mercer import KernelRidge, plot
from mercer.selection import path


def test_no_axes_means_new_ones(line):
    from matplotlib import pyplot

    before = dict(matplotlib.rcParams)
    ax = plot.lam_path(path(KernelRidge(), *line))
    assert isinstance(ax, Axes) and pyplot.get_fignums()
    pyplot.close(ax.figure)
    plot.axes()
    assert not pyplot.get_fignums()
    assert dict(matplotlib.rcParams) == before


def test_only_this_room_imports_matplotlib():
    from pathlib import Path

    import mercer

    root = Path(mercer.__file__).parent
    for file in root.rglob("*.py"):
        if file.parent.name != "plot":
            text = file.read_text(encoding="utf-8")
            imports = [
                s for s in text.splitlines() if s.strip().startswith(("import matplotlib", "from matplotlib"))
            ]
            # Annotations may name Axes; they are read by type checkers only.
            assert all("Axes" in s and s.startswith("    ") for s in imports), file
