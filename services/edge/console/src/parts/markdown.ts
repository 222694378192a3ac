// Markdown of a model's answer as a tree whose nodes know where they stand in the text.
import type { Root, RootContent, Text } from "mdast";
import { fromMarkdown } from "mdast-util-from-markdown";
import { gfmStrikethroughFromMarkdown } from "mdast-util-gfm-strikethrough";
import { gfmTableFromMarkdown } from "mdast-util-gfm-table";
import { gfmTaskListItemFromMarkdown } from "mdast-util-gfm-task-list-item";
import { gfmStrikethrough } from "micromark-extension-gfm-strikethrough";
import { gfmTable } from "micromark-extension-gfm-table";
import { gfmTaskListItem } from "micromark-extension-gfm-task-list-item";
import { decodeString } from "micromark-util-decode-string";
import { formulaNodes, formulaSyntax } from "./formulas";

// HTML and images stay the text that they are. A definition would make a link of every footnote mark of its number.
const never = { disable: { null: ["htmlFlow", "htmlText", "labelStartImage", "definition", "codeIndented"] } };
const extensions = [gfmTable(), gfmStrikethrough({ singleTilde: false }), gfmTaskListItem(), formulaSyntax, never];
const mdastExtensions = [gfmTableFromMarkdown(), gfmStrikethroughFromMarkdown(), gfmTaskListItemFromMarkdown(), formulaNodes];

/** A block of an answer: its node, and how far its offsets lie from those of the whole text, in UTF-16 units. */
export interface Block {
  node: RootContent;
  base: number;
  start: number;
  end: number;
}

/** The blocks of a text, kept to parse only the end of a longer one. */
export interface Parsed {
  text: string;
  blocks: Block[];
}

export const NOTHING: Parsed = { text: "", blocks: [] };

/** Parse an answer. Where it goes on from one parsed before, parse from the last block but one, which more text can still change. */
export function parse(text: string, before: Parsed = NOTHING): Parsed {
  if (text === before.text) return before;
  const kept = text.startsWith(before.text) ? before.blocks.slice(0, -2) : [];
  const from = kept.length ? before.blocks[kept.length]!.start : 0;
  const tree: Root = fromMarkdown(text.slice(from), { extensions, mdastExtensions });
  const added = tree.children.map((node) => ({ node, base: from, start: from + startOf(node), end: from + endOf(node) }));
  return { text, blocks: [...kept, ...added] };
}

interface Placed {
  position?: { start: { offset?: number }; end: { offset?: number } } | undefined;
}

export const startOf = (node: Placed) => node.position?.start.offset ?? 0;
export const endOf = (node: Placed) => node.position?.end.offset ?? 0;

const ENTITY = /&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{0,30});/y;

/** Return where each character of a text node stands in the source, and where the last one ends: escapes and entities are longer there. */
export function places(node: Text, source: string, base: number): number[] {
  const start = base + startOf(node);
  const end = base + endOf(node);
  const { value } = node;
  const found: number[] = [];
  if (value.length === end - start) {
    for (let at = start; at <= end; at++) found.push(at);
    return found;
  }
  let at = start;
  for (let index = 0; index < value.length; ) {
    ENTITY.lastIndex = at;
    const entity = source[at] === "&" ? ENTITY.exec(source)?.[0] : undefined;
    const decoded = entity && decodeString(entity);
    if (entity && decoded && decoded !== entity && value.startsWith(decoded, index)) {
      for (let one = 0; one < decoded.length; one++) found.push(at);
      at += entity.length;
      index += decoded.length;
      continue;
    }
    // What stands in the source only: the backslash of an escape, the indent and quotation marks before a line.
    while (at < end - 1 && source[at] !== value[index]) at++;
    found.push(at++);
    index++;
  }
  found.push(end);
  return found;
}
