"""The look that figures share: nothing global changes, and nobody else imports Matplotlib."""

import matplotlib
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

from mercer import KernelRidge, plot
from mercer.plot.style import MANY_COLOURS, MARKERS
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


# What people see who lack one kind of cone (Machado, Oliveira and Fernandes, 2009), in linear RGB.
EYES = {
    "all three": np.eye(3),
    "no red": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "no green": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.01182, 0.04294, 0.968881],
    ],
    "no blue": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.3039],
    ],
}


def linear(colour):
    values = np.array(to_rgb(colour))
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def cielab(rgb):
    to_xyz = [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.072175],
        [0.0193339, 0.119192, 0.9503041],
    ]
    xyz = to_xyz @ np.clip(rgb, 0, 1) / [0.95047, 1, 1.08883]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("eyes", EYES)
def test_twelve_colours_stay_apart_to_all_eyes(eyes):
    seen = [cielab(np.array(EYES[eyes]) @ linear(colour)) for colour in MANY_COLOURS]
    for i, a in enumerate(seen):
        # A just noticeable difference is about 2.3.
        assert min(np.linalg.norm(a - b) for b in seen[:i] + seen[i + 1 :]) > 15


def test_twelve_colours_show_on_light_and_on_dark_pages():
    for colour in MANY_COLOURS:
        light = linear(colour) @ [0.2126, 0.7152, 0.0722]
        assert 1.05 / (light + 0.05) > 1.8 and (light + 0.05) / 0.058 > 1.8
    assert len(set(MARKERS)) == len(MANY_COLOURS) == 12
