// Marks quoted words in elements that were not drawn from text: found over the text nodes, which are divided where it begins and ends.
import { findMost } from "./quote";

/** Mark a quote and return the first mark; null where its words do not stand there. Repeating it removes the marks of before. */
export function markWords(root: HTMLElement, quote: string): HTMLElement | null {
  for (const old of root.querySelectorAll("mark")) old.replaceWith(...old.childNodes);
  root.normalize();
  const spans = found(textNodes(root).map((one) => one.data).join(""), quote);
  let first: HTMLElement | null = null;
  for (const [from, to] of spans) first = mark(root, from, to) ?? first;
  return root.querySelector("mark") ?? first;
}

/** Return where a quote stands: as a whole, or by its lines and cells, which the parser joins with signs of its own. */
function found(text: string, quote: string): [number, number][] {
  const whole = findMost(text, quote);
  if (whole) return [whole];
  const pieces = quote.split(/\n|\t| \| |; /).map((one) => one.replace(/^[-•*|\s]+|^\d{1,3}[.)]\s|[|\s]+$/g, "")).filter((one) => one.length > 1);
  const spans = pieces.map((one) => findMost(text, one)).filter((one) => one !== null);
  return spans.length * 2 > pieces.length ? spans : [];
}

function mark(root: HTMLElement, from: number, to: number): HTMLElement | null {
  let first: HTMLElement | null = null;
  let offset = 0;
  for (const node of textNodes(root)) {
    const [begin, end] = [Math.max(from - offset, 0), Math.min(to - offset, node.data.length)];
    offset += node.data.length;
    if (begin >= end || !node.data.slice(begin, end).trim()) continue;
    const within = node.splitText(begin);
    within.splitText(end - begin);
    const marked = document.createElement("mark");
    within.replaceWith(marked);
    marked.append(within);
    first ??= marked;
  }
  return first;
}

function textNodes(root: HTMLElement): Text[] {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const nodes: Text[] = [];
  while (walker.nextNode()) nodes.push(walker.currentNode as Text);
  return nodes;
}
