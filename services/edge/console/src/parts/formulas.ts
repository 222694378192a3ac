// Formulas in Markdown: `$x$`, `$$x$$`, `\(x\)` and `\[x\]`, as a construct of the micromark parser.
import type { Extension as FromMarkdown } from "mdast-util-from-markdown";
import type { Code, Construct, Effects, Extension, State, TokenizeContext } from "micromark-util-types";

/** A formula as models write it, with the delimiters taken off. */
export interface Formula {
  type: "formula";
  value: string;
  display: boolean;
  position?: { start: { offset?: number }; end: { offset?: number } };
}

declare module "micromark-util-types" {
  interface TokenTypeMap { formula: "formula"; formulaData: "formulaData" }
}
declare module "mdast" {
  interface PhrasingContentMap { formula: Formula }
  interface RootContentMap { formula: Formula }
}

const DOLLAR = 36, BACKSLASH = 92;
const CLOSING: Record<number, number> = { 40: 41, 91: 93 };
/** Characters of the longest formula. The bound keeps a text of many lone dollars linear to parse. */
const LONGEST = 1000;
const blank = (code: Code) => code === null || code < 0 || code === 32;
const digit = (code: Code) => code !== null && code >= 48 && code <= 57;

// As Pandoc reads a single dollar: no blank inside either delimiter, no digit after the closing one. "$5 and $10" is money.
function tokenize(this: TokenizeContext, effects: Effects, ok: State, nok: State): State {
  let closing = DOLLAR;
  let doubled = false;
  let size = 0;
  let before: Code = null;

  const start: State = (code) => {
    effects.enter("formula");
    effects.enter("formulaData");
    effects.consume(code);
    return code === DOLLAR ? afterDollar : afterBackslash;
  };
  const afterBackslash: State = (code) => {
    const found = code === null ? undefined : CLOSING[code];
    if (found === undefined) return nok(code);
    closing = found;
    effects.consume(code);
    return inside;
  };
  const afterDollar: State = (code) => {
    if (code !== DOLLAR) return blank(code) ? nok(code) : inside(code);
    doubled = true;
    effects.consume(code);
    return inside;
  };
  const inside: State = (code) => {
    if (code === null || ++size > LONGEST) return nok(code);
    if (code < -2) return lineEnd(code);
    if (closing === DOLLAR && code === DOLLAR && before !== BACKSLASH) {
      if (!doubled && blank(before)) return nok(code);
      effects.consume(code);
      return closed;
    }
    const wasBackslash = before === BACKSLASH;
    before = wasBackslash && code === BACKSLASH ? null : code;
    effects.consume(code);
    return closing !== DOLLAR && wasBackslash && code === closing ? end : inside;
  };
  const lineEnd: State = (code) => {
    if (closing === DOLLAR && !doubled) return nok(code);
    effects.exit("formulaData");
    effects.enter("lineEnding");
    effects.consume(code);
    effects.exit("lineEnding");
    effects.enter("formulaData");
    before = null;
    return lineStart;
  };
  // The parser wants no empty token: a line that ends at once, or a text that ends here, is no formula.
  const lineStart: State = (code) => (code === null || code < -2 ? nok(code) : inside(code));
  const closed: State = (code) => {
    if (!doubled) return digit(code) ? nok(code) : end(code);
    if (code !== DOLLAR) return nok(code);
    effects.consume(code);
    return end;
  };
  const end: State = (code) => {
    effects.exit("formulaData");
    effects.exit("formula");
    return ok(code);
  };
  return start;
}

const construct: Construct = { name: "formula", tokenize };
export const formulaSyntax: Extension = { text: { [DOLLAR]: construct, [BACKSLASH]: construct } };

export const formulaNodes: FromMarkdown = {
  enter: {
    formula(token) {
      this.enter({ type: "formula", value: "", display: false }, token);
      this.buffer();
    },
  },
  exit: {
    formula(token) {
      this.resume();
      const written = this.sliceSerialize(token);
      const node = this.stack[this.stack.length - 1] as unknown as Formula;
      const edge = written.startsWith("$") && !written.startsWith("$$") ? 1 : 2;
      node.display = written.startsWith("$$") || written.startsWith("\\[");
      node.value = written.slice(edge, -edge).trim();
      this.exit(token);
    },
  },
};
