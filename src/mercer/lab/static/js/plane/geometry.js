// From the numbers of the window to pixels and back, and how large an element is.

import { useLayoutEffect, useRef, useState } from "../../vendor/preact.js";

export const MARGIN = { left: 34, right: 8, top: 8, bottom: 22 };

// `size` is that of the whole plane in pixels; the drawing lies inside of its margins.
export function projection([left, right, low, high], size) {
  const width = Math.max(1, size.width - MARGIN.left - MARGIN.right);
  const height = Math.max(1, size.height - MARGIN.top - MARGIN.bottom);
  return {
    width,
    height,
    x: (value) => MARGIN.left + (width * (value - left)) / (right - left),
    y: (value) => MARGIN.top + (height * (high - value)) / (high - low),
    back: (px, py) => ({
      x: left + ((px - MARGIN.left) * (right - left)) / width,
      y: high - ((py - MARGIN.top) * (high - low)) / height,
    }),
  };
}

// The point nearest to a place in pixels, if it is within reach.
export function nearest(points, project, px, py, reach = 11) {
  let best = -1;
  let least = reach * reach;
  points.forEach((point, i) => {
    const square = (project.x(point.x) - px) ** 2 + (project.y(point.y) - py) ** 2;
    if (square <= least) [best, least] = [i, square];
  });
  return best;
}

export function useSize(ratio = 1) {
  const ref = useRef(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = ref.current;
    const measure = () => {
      const { paddingLeft, paddingRight } = getComputedStyle(element);
      setWidth(Math.floor(element.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight)));
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [ref, { width, height: Math.round(width * ratio) }];
}

// "M…L…" through points given in the numbers of the window.
export const pathThrough = (project, xs, ys) =>
  xs.map((x, i) => `${i ? "L" : "M"}${project.x(x).toFixed(1)},${project.y(ys[i]).toFixed(1)}`).join("");
