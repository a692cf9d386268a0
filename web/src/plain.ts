// Foreign text made harmless. Output of programs loses what would steer a terminal (`plain`); what a person judges loses
// nothing, and shows what would steer or reorder it (`visibleControls`).

/** Escape sequences: CSI, OSC and other strings, and the short ones. */
const ESCAPES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\|$)|[ -/]*[0-~])|\u009b[0-?]*[ -/]*[@-~]/g;
/** Control characters but tab and newline, and those that turn the direction of writing. */
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

/** Stands for what has no picture of its own. */
const MARK = "\u{fffd}";
/** Where the pictures of control characters begin. */
const PICTURES = 0x2400;

/** Output of programs, as a terminal would leave it. */
export function plain(text: string): string {
  const lines = text.replace(ESCAPES, "").replace(/\r\n/g, "\n").split("\n");
  // A bare return goes back to the line's beginning: what was printed last is what a person would see.
  const seen = lines.map((line) => line.replace(/\r+$/, "").split("\r").at(-1) ?? "");
  return seen.join("\n").replace(CONTROLS, MARK);
}

/** What a person judges, such as a command or a name: each control character is shown as a picture of it, `␛` for escape. */
export function visibleControls(text: string): string {
  return text.replace(CONTROLS, (control) => {
    const code = control.charCodeAt(0);
    if (code < 0x20) return String.fromCharCode(PICTURES + code);
    return code === 0x7f ? "␡" : MARK;
  });
}

/** The same for what stands in a file, or in a line of it: that its lines end with `\r\n` needs no mention. */
export const visibleInFile = (text: string) => visibleControls(text.replace(/\r(?=\n|$)/g, ""));

/** What turns the direction of writing; overrides, which no text needs; and letters that are written from right to left. */
const TURNS = /[\u202a-\u202e\u2066-\u2069]/g;
const OVERRIDES = /[\u202d\u202e]/g;
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;

/** Text for people whose direction nobody turns unseen: only lines with letters from right to left keep what orders them. */
export function unturned(text: string): string {
  if (text.search(TURNS) < 0) return text;
  return text.split("\n").map((line) => unturnedWithin(line, line)).join("\n");
}

/** The same for a part of a line. */
export const unturnedWithin = (line: string, part: string) => part.replace(RIGHT_TO_LEFT.test(line) ? OVERRIDES : TURNS, MARK);

/** Code whose direction nobody turns at all. */
export const unturnedCode = (text: string) => text.replace(TURNS, MARK);
