// Saving to files and reading them again. The page makes the file itself: nothing leaves this machine.

import { Refusal } from "../service/ask.js";
import { isData, isMachine } from "./checked.js";

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

// What `asJSON` wrote, checked, since anybody can edit a file.
export function fromJSON(text, options) {
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
  if (!isData(data, options)) throw new Refusal("This JSON file has no points of the lab in it. Save it anew, or take a CSV.");
  if (!isMachine(machine, options)) throw new Refusal("The kernel or machine in this JSON file is unknown here. Save it anew.");
  return { data, machine };
}
