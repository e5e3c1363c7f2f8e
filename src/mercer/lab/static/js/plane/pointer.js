// The plane by mouse, pen and finger: a click adds, a drag moves. A finger that swipes over empty plane scrolls the page.

import { useEffect, useRef } from "../../vendor/preact.js";
import { added, moved, relabelled, removed } from "../state/points.js";
import { nearest } from "./geometry.js";

const STILL = 6; // pixels that a click may wander

const place = (element, event) => {
  const box = element.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
};

const reach = (event) => (event.pointerType === "touch" ? 20 : 11);

// What a click does to the point under it, or to the empty plane.
function click(plane, hit, px, py) {
  const { data, tool, current, onChange, project } = plane;
  const spot = project.back(px, py);
  plane.setCursor(hit >= 0 ? { x: data.points[hit].x, y: data.points[hit].y } : spot);
  if (plane.onPick) return hit >= 0 && plane.onPick(hit);
  if (tool === "erase") return hit >= 0 && onChange(removed(data, hit));
  if (tool === "relabel") return hit >= 0 && onChange(relabelled(data, hit, current));
  return hit < 0 && plane.canAdd && onChange(added(data, spot, current));
}

export function usePointer(ref, plane) {
  const latest = useRef(plane);
  latest.current = plane;
  useEffect(() => {
    const element = ref.current;
    let drag = null;
    const down = (event) => {
      const now = latest.current;
      if (!now.onChange || event.button !== 0) return;
      const [px, py] = place(element, event);
      drag = { hit: nearest(now.data.points, now.project, px, py, reach(event)), px, py, moved: false };
      element.setPointerCapture(event.pointerId);
    };
    const move = (event) => {
      if (!drag) return;
      const now = latest.current;
      const [px, py] = place(element, event);
      drag.moved ||= Math.hypot(px - drag.px, py - drag.py) > STILL;
      const carried = drag.moved && drag.hit >= 0 && now.tool === "add" && !now.onPick;
      if (carried) now.onChange(moved(now.data, drag.hit, now.project.back(px, py)), "move");
    };
    const up = (event) => {
      if (drag && !drag.moved) click(latest.current, drag.hit, ...place(element, event));
      drag = null;
    };
    const cancel = () => {
      drag = null;
    };
    // A finger on a point drags it, so the page must not scroll.
    const touch = (event) => {
      const now = latest.current;
      const [px, py] = place(element, event.touches[0]);
      if (now.onChange && nearest(now.data.points, now.project, px, py, 20) >= 0) event.preventDefault();
    };
    const listeners = { pointerdown: down, pointermove: move, pointerup: up, pointercancel: cancel, touchstart: touch };
    for (const [name, listener] of Object.entries(listeners)) element.addEventListener(name, listener, { passive: false });
    return () => {
      for (const [name, listener] of Object.entries(listeners)) element.removeEventListener(name, listener);
    };
  }, []);
}
