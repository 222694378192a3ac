// The blocks of an answer's Markdown as elements of ours: never HTML of the model's, an image, or a link that does not ask.
import type { AlignType, Link, List, ListItem, Nodes, Table, Text } from "mdast";
import type { ComponentChildren } from "preact";
import { outsideLinks } from "../state";
import { FormulaView } from "./formula";
import { type Block, endOf, startOf } from "./markdown";
import { type Marks, type Piece, cut } from "./marks";
import { Outside, hostOf, linked } from "./outside";

type Draw = (piece: Piece, content?: ComponentChildren) => ComponentChildren;

/** Draw a block; `draw` draws each stretch of its words. */
export function drawBlock({ node, base }: Block, source: string, marks: Marks, draw: Draw): ComponentChildren {
  const pieces = new Map<Nodes, Piece[]>();
  gather(node);
  const ended = new Map<unknown, Piece>();
  for (const all of pieces.values()) for (const one of all) if (one.claim) ended.set(one.claim, one);
  // A claim that has more words in the next block ends there.
  for (const one of ended.values()) {
    one.ends = marks.claims.some(({ claim, end }) => claim === one.claim && !source.slice(base + endOf(node), end).trim());
  }
  return block(node);

  function gather(one: Nodes, plain = false): void {
    if (one.type === "text") pieces.set(one, cut(one, source, base, plain ? { claims: [], markers: marks.markers } : marks));
    else if (one.type === "link" && !leads(one)) {
      const text: Text = { type: "text", value: source.slice(base + startOf(one), base + endOf(one)), position: one.position };
      pieces.set(one, cut(text, source, base, plain ? { claims: [], markers: marks.markers } : marks));
    } else if (one.type === "link" || one.type === "inlineCode" || one.type === "formula") {
      const start = base + startOf(one);
      const end = base + endOf(one);
      const about = plain ? undefined : marks.claims.find((claim) => claim.start < end && claim.end > start)?.claim;
      pieces.set(one, [{ text: source.slice(start, end), start, end, claim: about, citations: [], ends: false }]);
    } else if (one.type === "table") one.children.forEach((row, index) => gather(row, index === 0));
    else if ("children" in one) for (const child of one.children) gather(child, plain);
  }

  /** Whether a link of the model's is drawn as one; another stays as it is written. */
  function leads(one: Link): boolean {
    const [start, end] = [base + startOf(one), base + endOf(one)];
    return outsideLinks.value && /^https?:/i.test(one.url) && !!hostOf(one.url) && source[start - 1] !== "!"
      && !marks.markers.some((mark) => mark.start < end && mark.end > start);
  }

  function inside(all: Nodes[]): ComponentChildren {
    return all.map(block);
  }

  function block(one: Nodes): ComponentChildren {
    switch (one.type) {
      case "text":
        return pieces.get(one)!.map((piece) => draw(piece, broken(piece.text)));
      case "link": {
        const found = pieces.get(one)!;
        if (!leads(one)) return found.map((piece) => draw(piece));
        return draw(found[0]!, <Outside address={one.url} host={hostOf(one.url)} label={words(one)} />);
      }
      case "inlineCode":
        return draw(pieces.get(one)![0]!, <code>{one.value}</code>);
      case "formula":
        return draw(pieces.get(one)![0]!, <FormulaView tex={one.value} display={one.display} />);
      case "paragraph":
        return <p dir="auto">{inside(one.children)}</p>;
      case "heading": {
        // The question is the page's second level.
        const Heading = `h${Math.min(one.depth + 2, 6)}` as "h3";
        return <Heading dir="auto">{inside(one.children)}</Heading>;
      }
      case "strong":
        return <strong>{inside(one.children)}</strong>;
      case "emphasis":
        return <em>{inside(one.children)}</em>;
      case "delete":
        return <del>{inside(one.children)}</del>;
      case "break":
        return <br />;
      case "thematicBreak":
        return <hr />;
      case "blockquote":
        return <blockquote dir="auto">{inside(one.children)}</blockquote>;
      case "code":
        return <pre tabIndex={0} dir="ltr"><code>{one.value}</code></pre>;
      case "list":
        return one.ordered ? <ol dir="auto" start={one.start ?? 1}>{items(one)}</ol> : <ul dir="auto">{items(one)}</ul>;
      case "table":
        return table(one);
      default:
        return source.slice(base + startOf(one), base + endOf(one));
    }
  }

  function items(list: List): ComponentChildren {
    return list.children.map((item: ListItem) => (
      <li class={typeof item.checked === "boolean" ? "task" : undefined}>
        {typeof item.checked === "boolean" && (item.checked ? "☑ " : "☐ ")}
        {item.children.map((one) => (one.type === "paragraph" && !list.spread ? inside(one.children) : block(one)))}
      </li>
    ));
  }

  function table(one: Table): ComponentChildren {
    const [head, ...rows] = one.children;
    const align = (column: number) => ((one.align ?? [])[column] as AlignType) ?? undefined;
    return (
      <div class="table" tabIndex={0}>
        <table dir="auto">
          <thead><tr>{head?.children.map((cell, column) => <th scope="col" class={align(column)}>{inside(cell.children)}</th>)}</tr></thead>
          <tbody>{rows.map((row) => <tr>{row.children.map((cell, column) => <td class={align(column)}>{inside(cell.children)}</td>)}</tr>)}</tbody>
        </table>
      </div>
    );
  }
}

/** Return words with the line breaks that models write as tags, as Markdown has none in a table cell; nothing where there are none. */
function broken(text: string): ComponentChildren {
  const lines = text.split(/<br ?\/?>/i);
  return lines.length > 1 ? lines.map((line, index) => <>{index > 0 && <br />}{linked(line)}</>) : undefined;
}

/** Return the words of a link without what is drawn in them. */
function words(node: Nodes): string {
  if ("children" in node) return node.children.map(words).join("");
  return "value" in node ? node.value : " ";
}
