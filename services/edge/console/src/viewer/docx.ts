// A .docx, drawn by docx-preview, of which only elements and attributes that can do nothing are taken over.
import { parseAsync, renderDocument } from "docx-preview";
import type { Drawing } from "./office";
import { unzipped } from "./unzipped";

const HTML = "http://www.w3.org/1999/xhtml";
const MATHS = "http://www.w3.org/1998/Math/MathML";
const KEPT = new Set((
  "div section article header footer p span table colgroup col thead tbody tr td th ol ul li br wbr sup sub b i u s ins del em strong img"
).split(" "));

export async function drawDocx(file: Blob): Promise<Drawing> {
  // Embedded fonts, HTML chunks and comments stay out: none of them is read by us either way, and the first two are code of others.
  const options = { ignoreWidth: true, ignoreHeight: true, ignoreFonts: true, breakPages: false, renderAltChunks: false, renderComments: false };
  await unzipped(file);
  const nodes = await renderDocument(await parseAsync(file, options), options);
  const styles = nodes.filter((one) => one.nodeName === "STYLE").map((one) => one.textContent ?? "");
  const root = document.createElement("div");
  for (const one of nodes) root.append(...taken(one));
  return { root, styles };
}

/** Return what is kept of a node: itself as an element of ours, or what it holds. */
function taken(node: Node): Node[] {
  if (node instanceof Text) return [document.createTextNode(node.data)];
  if (!(node instanceof Element) || node.localName === "style") return [];
  const children = Array.from(node.childNodes).flatMap(taken);
  if (node.namespaceURI === MATHS) return [filled(document.createElementNS(MATHS, node.localName), children)];
  if (node.namespaceURI !== HTML || !KEPT.has(node.localName)) return children; // a link is its words
  const own = document.createElement(node.localName);
  if (node.className) own.className = node.className;
  own.style.cssText = (node as HTMLElement).style.cssText;
  if (node instanceof HTMLTableCellElement) Object.assign(own, { colSpan: node.colSpan, rowSpan: node.rowSpan });
  if (node instanceof HTMLImageElement) {
    if (!node.src.startsWith("blob:")) return [];
    Object.assign(own, { src: node.src, alt: node.alt });
  }
  if (node.localName === "p") own.dir = "auto";
  return [filled(own, children)];
}

function filled(element: Element, children: Node[]): Element {
  element.append(...children);
  return element;
}
