// Saving to files and reading them again. The page makes the file itself: nothing leaves this machine.

import { Refusal } from "../service/ask.js";

const FORMAT = "mercer lab 1";

export function download(name, text, type) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

export const asJSON = (present) => JSON.stringify({ format: FORMAT, ...present }, null, 1);

const quoted = (value) => (/[",\n]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : String(value));

export function asCSV(data) {
  const curve = data.task === "curve";
  const head = curve ? "x,y" : "x1,x2,label";
  const rows = data.points.map(({ x, y, c }) => (curve ? `${x},${y}` : `${x},${y},${quoted(data.classes[c])}`));
  return [head, ...rows, ""].join("\n");
}

const isPoint = (point) => Number.isFinite(point?.x) && Number.isFinite(point?.y) && Number.isInteger(point?.c);

function checked(data) {
  const whole =
    ["labels", "curve"].includes(data?.task) &&
    Array.isArray(data.points) &&
    data.points.every(isPoint) &&
    Array.isArray(data.classes) &&
    data.points.every((point) => point.c >= 0 && point.c < data.classes.length) &&
    Array.isArray(data.window) &&
    data.window.length === 4 &&
    data.window.every(Number.isFinite);
  if (!whole) throw new Refusal("This JSON file has no points of the lab in it. Take one that `Save JSON` wrote, or a CSV.");
  return data;
}

// What `asJSON` wrote, checked, since anybody can edit a file.
export function fromJSON(text) {
  let found;
  try {
    found = JSON.parse(text);
  } catch (error) {
    throw new Refusal(`This file is not JSON: ${error.message}.`);
  }
  if (found?.format !== FORMAT) {
    throw new Refusal("This JSON file was not written by the lab. Take one that `Save JSON` wrote, or a CSV.");
  }
  const { data, machine } = found;
  return machine ? { data: checked(data), machine } : { data: checked(data) };
}
