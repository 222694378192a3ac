// Finds quoted words in a text although spaces, ligatures, case or hyphens at line ends differ.

/** A text reduced to what is compared, and where each of its characters came from. */
interface Reduced {
  text: string;
  from: number[];
}

const IGNORED = /[\s\u00ad\u200b-\u200d\u2010\u2011-]/;

function reduce(text: string): Reduced {
  let kept = "";
  const from: number[] = [];
  let index = 0;
  for (const point of text) {
    if (!IGNORED.test(point)) {
      for (const one of point.normalize("NFKC").toLowerCase()) {
        if (IGNORED.test(one)) continue;
        kept += one;
        for (let unit = 0; unit < one.length; unit++) from.push(index);
      }
    }
    index += point.length;
  }
  return { text: kept, from };
}

/** Return where a quote stands in a text, in UTF-16 units, the occurrence nearest to `near`; null where it does not. */
export function find(text: string, quote: string, near = 0): [number, number] | null {
  const whole = reduce(text);
  const sought = reduce(quote).text;
  if (!sought) return null;
  let best = -1;
  for (let at = whole.text.indexOf(sought); at >= 0; at = whole.text.indexOf(sought, at + sought.length)) {
    const distance = Math.abs(whole.from[at]! - near);
    if (best < 0 || distance < Math.abs(whole.from[best]! - near)) best = at;
  }
  if (best < 0) return null;
  const last = whole.from[best + sought.length - 1]!;
  return [whole.from[best]!, last + (text.codePointAt(last)! > 0xffff ? 2 : 1)];
}

/** Like `find`; where the quote goes on elsewhere (the next page), its first or last half has to do. */
export function findMost(text: string, quote: string): [number, number] | null {
  const whole = find(text, quote);
  if (whole || quote.length < 40) return whole;
  const half = Math.floor(quote.length / 2);
  return find(text, quote.slice(0, half)) ?? find(text, quote.slice(half));
}
