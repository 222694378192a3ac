// A small chart of bars over time: drawn for eyes, and as a table for screen readers.
import { number } from "../strings";

/** What is counted, and how it is drawn: a class of the style sheet. */
export interface Series {
  name: string;
  look: "good" | "weak" | "bad" | "none" | "soft";
}

/** One bar: when, and a value for each series, drawn one on the other. */
export interface Bar {
  label: string;
  values: number[];
}

interface Props {
  title: string;
  series: Series[];
  bars: Bar[];
  /** Says a value in words. */
  say?: (value: number) => string;
  /** What a full height means, where that is not the highest bar. */
  full?: number;
  /** Bars stand before each other instead of on each other, the first at the back. */
  before?: boolean;
  /** What is said of all bars together. */
  summary?: string;
  nothing: string;
  /** Each bar is named, not the first and the last only. */
  each?: boolean;
}

const WIDTH = 1000;
const HEIGHT = 100;
const WIDEST = 80;

export function Chart({ title, series, bars, say = number, full, before = false, summary, nothing, each = false }: Props) {
  const heights = bars.map((bar) => (before ? Math.max(...bar.values) : bar.values.reduce((sum, value) => sum + value, 0)));
  const highest = Math.max(...heights, 0);
  const top = full ?? highest;
  const step = WIDTH / Math.max(bars.length, 1);
  const wide = Math.min(step * 0.76, WIDEST);
  return (
    <figure class="chart">
      <figcaption>
        <h3>{title}</h3>
        {highest > 0 && summary && <span class="quiet">{summary}</span>}
      </figcaption>
      {highest === 0 ? <p class="quiet">{nothing}</p> : (
        <>
          <div class="drawn" aria-hidden="true">
            <span class="top">{say(top)}</span>
            <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none">
              {bars.map((bar, index) => {
                let under = 0;
                return (
                  <g key={bar.label}>
                    <title>{[bar.label, ...series.map((one, at) => `${one.name}: ${say(bar.values[at]!)}`)].join("\n")}</title>
                    <rect class="touch" x={index * step} width={step} height={HEIGHT} />
                    {bar.values.map((value, at) => {
                      const height = (value / top) * HEIGHT;
                      const y = HEIGHT - height - (before ? 0 : under);
                      under += height;
                      return value > 0 && <rect class={series[at]!.look} x={index * step + (step - wide) / 2} width={wide} y={y} height={height} />;
                    })}
                  </g>
                );
              })}
            </svg>
            {/* Labels lie in the page's direction, as the bars do; each keeps its own within itself. */}
            <div class={each ? "ends each" : "ends"}>{(each ? bars : [bars[0], bars.at(-1)]).map((bar) => <span dir={each ? "auto" : undefined}>{bar?.label}</span>)}</div>
            {series.length > 1 && (
              <ul class="legend">{series.map((one) => <li key={one.name}><i class={one.look} />{one.name}</li>)}</ul>
            )}
          </div>
          <div class="hidden">
            <table>
              <caption>{title}</caption>
              <thead><tr><td />{series.map((one) => <th scope="col" key={one.name}>{one.name}</th>)}</tr></thead>
              <tbody>
                {bars.map((bar, index) => heights[index]! > 0 && (
                  <tr key={bar.label}><th scope="row">{bar.label}</th>{bar.values.map((value) => <td>{say(value)}</td>)}</tr>
                ))}
              </tbody>
            </table>
          </div>
        </>
      )}
    </figure>
  );
}
