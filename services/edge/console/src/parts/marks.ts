// Where claims and footnotes stand in an answer, and how its words are cut into stretches that are drawn in one way.
import type { Text } from "mdast";
import type { Citation, Claim } from "../api/types";
import { places } from "./markdown";

interface Stretch {
  start: number;
  end: number;
}

/** Signs that end a sentence or a clause. */
const CLOSING = /^[.,;:!?)\]…。、，；：！？）」』؟،؛]/;

/** The claims and footnote marks of an answer in order, with their places in UTF-16 units. */
export interface Marks {
  claims: (Stretch & { claim: Claim })[];
  markers: (Stretch & { citations: Citation[] })[];
}

/** A stretch of words. */
export interface Piece extends Stretch {
  text: string;
  claim?: Claim | undefined;
  /** Citations whose marker this is. */
  citations: Citation[];
  /** True for the last stretch of its claim. */
  ends: boolean;
  /** A sign that follows a marker and stays on its line. */
  after?: string;
}

/** Place claims and citations, whose spans count code points, in a text. */
export function marksOf(text: string, claims: Claim[], citations: Citation[]): Marks {
  const at = units(text);
  const placed = claims.flatMap((claim) => (claim.span ? [{ claim, start: at(claim.span.start), end: at(claim.span.end) }] : []));
  const markers = new Map<number, Stretch & { citations: Citation[] }>();
  for (const one of citations) {
    if (!one.marker_span) continue;
    const start = at(one.marker_span.start);
    const there = markers.get(start);
    if (there) there.citations.push(one);
    else markers.set(start, { start, end: at(one.marker_span.end), citations: [one] });
  }
  const order = (a: Stretch, b: Stretch) => a.start - b.start;
  return { claims: placed.sort(order), markers: [...markers.values()].sort(order) };
}

function units(text: string): (point: number) => number {
  if (!/[\ud800-\udbff]/.test(text)) return (point) => Math.min(point, text.length);
  const found: number[] = [];
  let at = 0;
  for (const one of text) {
    found.push(at);
    at += one.length;
  }
  return (point) => found[point] ?? text.length;
}

/** Return the marks that stand in a part of the text. */
export function marksIn(marks: Marks, start: number, end: number): Marks {
  const inside = (one: Stretch) => one.start < end && one.end > start;
  return { claims: marks.claims.filter(inside), markers: marks.markers.filter(inside) };
}

/** Cut the words of a text node at the claims and marks in it. */
export function cut(node: Text, source: string, base: number, marks: Marks): Piece[] {
  const at = places(node, source, base);
  const pieces: Piece[] = [];
  let claim = 0;
  let marker = 0;
  let last: Stretch | undefined;
  let under: Claim | undefined;
  for (let index = 0; index < node.value.length; index++) {
    const place = at[index]!;
    while (claim < marks.claims.length && marks.claims[claim]!.end <= place) claim++;
    while (marker < marks.markers.length && marks.markers[marker]!.end <= place) marker++;
    const about = marks.claims[claim];
    const mark = marks.markers[marker];
    const stated = about && about.start <= place ? about.claim : undefined;
    const there = mark && mark.start <= place ? mark : undefined;
    const before = pieces.at(-1);
    if (before && stated === under && there === last) {
      before.text += node.value[index];
      before.end = at[index + 1]!;
    } else {
      pieces.push({
        text: node.value[index]!, start: place, end: at[index + 1]!, claim: stated, citations: there?.citations ?? [], ends: false,
      });
    }
    under = stated;
    last = there;
  }
  pieces.forEach((piece, index) => {
    const next = pieces[index + 1];
    const sign = piece.citations.length && next && !next.citations.length ? CLOSING.exec(next.text)?.[0] : undefined;
    if (sign) [piece.after, next!.text] = [sign, next!.text.slice(sign.length)];
  });
  return pieces;
}

/** Return the numbers that footnotes are shown with, by those of their sources: 1, 2, 3 in order of appearance. */
export function shownNumbers(citations: Citation[]): Map<number, number> {
  const order = [...citations].sort((a, b) => (a.marker_span?.start ?? 0) - (b.marker_span?.start ?? 0));
  return new Map([...new Set(order.map((one) => one.number))].map((number, index) => [number, index + 1]));
}
