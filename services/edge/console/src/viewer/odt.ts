// An OpenDocument text as headings, paragraphs, lists, tables and pictures; of its styles only bold and italic.
import type JSZip from "jszip";
import type { Drawing } from "./office";
import { unzipped } from "./unzipped";

const STYLES = "urn:oasis:names:tc:opendocument:xmlns:style:1.0";
const LOOKS = "urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0";
const TEXT = "urn:oasis:names:tc:opendocument:xmlns:text:1.0";
const TABLE = "urn:oasis:names:tc:opendocument:xmlns:table:1.0";
const LINKS = "http://www.w3.org/1999/xlink";
const TYPES: Record<string, string> = { png: "image/png", jpg: "image/jpeg", jpeg: "image/jpeg", gif: "image/gif", webp: "image/webp" };
/** Most columns and spaces that one element stands for. */
const MOST_REPEATED = 100;
/** Most elements that a document is drawn with; repeated text counts too, as an element for so many characters. */
const MOST_ELEMENTS = 200_000;
const AN_ELEMENT = 50;
const AS: Record<string, string> = { p: "p", list: "ul", "list-item": "li", table: "table", "table-row": "tr", note: "small" };
/** What is no text of the document: change tracking, comments, declarations. */
const LEFT_OUT = new Set(["tracked-changes", "annotation", "annotation-end", "sequence-decls", "variable-decls", "forms", "table-column"]);

interface Reading {
  zip: JSZip;
  looks: Map<string, CSSStyleDeclaration>;
  /** Addresses of the pictures, by their paths: one that is shown often is unzipped once. */
  pictures: Map<string, string>;
  /** Elements that may still be made. */
  left: number;
}

export async function drawOdt(file: Blob): Promise<Drawing> {
  const zip = await unzipped(file);
  const content = await zip.file("content.xml")!.async("string");
  const xml = new DOMParser().parseFromString(content, "application/xml");
  const body = xml.getElementsByTagNameNS("*", "text")[0];
  if (!body || xml.querySelector("parsererror")) throw new Error("not a text document");
  const looks = new Map<string, CSSStyleDeclaration>();
  for (const style of xml.getElementsByTagNameNS(STYLES, "style")) {
    const properties = style.getElementsByTagNameNS(STYLES, "text-properties")[0];
    const look = document.createElement("span").style;
    look.fontWeight = properties?.getAttributeNS(LOOKS, "font-weight") ?? "";
    look.fontStyle = properties?.getAttributeNS(LOOKS, "font-style") ?? "";
    if (look.cssText) looks.set(style.getAttributeNS(STYLES, "name") ?? "", look);
  }
  const root = document.createElement("div");
  root.className = "paper";
  const reading: Reading = { zip, looks, pictures: new Map(), left: MOST_ELEMENTS };
  try {
    root.append(...await within(body, reading));
  } catch (error) {
    reading.pictures.forEach((address) => URL.revokeObjectURL(address));
    throw error;
  }
  return { root, styles: [] };
}

/** Take elements from what may still be made; throw when nothing is left. */
function spend(reading: Reading, elements: number): void {
  reading.left -= elements;
  if (reading.left < 0) throw new Error("too many elements");
}

async function within(node: Element, reading: Reading): Promise<Node[]> {
  const found: Node[] = [];
  for (const child of node.childNodes) {
    if (child instanceof CDATASection || child instanceof Text) found.push(document.createTextNode(child.data));
    else if (child instanceof Element && !LEFT_OUT.has(child.localName)) found.push(...await drawn(child, reading));
  }
  return found;
}

async function drawn(node: Element, reading: Reading): Promise<Node[]> {
  switch (node.localName) {
    case "s": return [document.createTextNode(" ".repeat(times(node, TEXT, "c")))];
    case "tab": return [document.createTextNode("\t")];
    case "line-break": return [await element("br", node, reading)];
    case "image": return picture(node, reading);
    case "h": return [await element(`h${Math.min(Math.max(times(node, TEXT, "outline-level"), 1), 6)}`, node, reading)];
    case "table-cell": {
      const cell = await element("td", node, reading) as HTMLTableCellElement;
      cell.colSpan = times(node, TABLE, "number-columns-spanned");
      cell.rowSpan = times(node, TABLE, "number-rows-spanned");
      const further = times(node, TABLE, "number-columns-repeated") - 1;
      // Repeated cells may hold tables of repeated cells.
      if (further) spend(reading, further * (1 + cell.getElementsByTagName("*").length + cell.textContent.length / AN_ELEMENT));
      return [cell, ...Array.from({ length: further }, () => cell.cloneNode(true))];
    }
    case "covered-table-cell": return [];
  }
  const name = AS[node.localName] ?? (reading.looks.has(styleOf(node)) ? "span" : "");
  return name ? [await element(name, node, reading)] : within(node, reading);
}

async function element(name: string, node: Element, reading: Reading): Promise<HTMLElement> {
  spend(reading, 1);
  const made = document.createElement(name);
  made.style.cssText = reading.looks.get(styleOf(node))?.cssText ?? "";
  if (/^(p|h.)$/.test(name)) made.dir = "auto";
  made.append(...await within(node, reading));
  return made;
}

/** Return a picture of the file; one elsewhere is not loaded. */
async function picture(node: Element, reading: Reading): Promise<Node[]> {
  const path = node.getAttributeNS(LINKS, "href") ?? "";
  const type = TYPES[path.split(".").at(-1)!.toLowerCase()];
  const data = type && !reading.pictures.has(path) && await reading.zip.file(path)?.async("arraybuffer");
  if (data) reading.pictures.set(path, URL.createObjectURL(new Blob([data], { type })));
  const address = reading.pictures.get(path);
  if (!address) return [];
  spend(reading, 1);
  const image = document.createElement("img");
  image.alt = "";
  image.src = address;
  return [image];
}

const styleOf = (node: Element) => node.getAttributeNS(TEXT, "style-name") ?? "";

function times(node: Element, space: string, name: string): number {
  return Math.min(Math.max(Number(node.getAttributeNS(space, name)) || 1, 1), MOST_REPEATED);
}
