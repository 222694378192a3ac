// What differs between an answer and the same one made again.
import type { ReplayAnswerResponse } from "../api/types";
import { named, t } from "../strings";

export function Differences({ replay }: { replay: ReplayAnswerResponse }) {
  if (replay.identical) return <p class="same">{t("made.same")}</p>;
  return (
    <>
      <p>{t("made.differs", { n: replay.differences.length })}</p>
      <ul class="differences">
        {replay.differences.map((one, index) => (
          <li key={index}>
            <strong>{named("difference", one.kind)}{one.source > 0 && ` ${one.source}`}</strong>
            <dl class="pairs">
              <div><dt>{t("made.before")}</dt><dd><bdi>{one.before || t("made.nothing")}</bdi></dd></div>
              <div><dt>{t("made.now")}</dt><dd><bdi>{one.after || t("made.nothing")}</bdi></dd></div>
            </dl>
          </li>
        ))}
      </ul>
    </>
  );
}
