// Signing in: at an issuer where there is one, by a key or a token where they are taken.
import { useEffect, useState } from "preact/hooks";
import { begin, type Ways, ways } from "../api/oidc";
import { signIn, why } from "../api/session";
import { t } from "../strings";

export function SignIn() {
  const [known, setKnown] = useState<Ways | null>(null);
  const [going, setGoing] = useState(false);
  useEffect(() => {
    ways().then(setKnown);
  }, []);
  const reason = why.value;
  return (
    <main class="signin" id="content">
      <h1>Footnote</h1>
      {reason && <p class="notice" role="alert">{t(reason.text)}{reason.said && <span class="said" dir="auto">{reason.said}</span>}</p>}
      {!known && <p class="quiet" role="status">{t("loading")}</p>}
      {known?.oidc && (
        <div class="issuer">
          <button type="button" class="primary" disabled={going} aria-describedby="issuer" onClick={() => {
            setGoing(true);
            begin().finally(() => setGoing(false));
          }}>{t("signin.oidc")}</button>
          <p id="issuer" class="quiet">{t("signin.at", { issuer: new URL(known.oidc.issuer).host })}</p>
        </div>
      )}
      {known?.keys && <KeyForm alone={!known.oidc} />}
    </main>
  );
}

function KeyForm({ alone }: { alone: boolean }) {
  const [given, setGiven] = useState("");
  return (
    <form onSubmit={(event) => {
      event.preventDefault();
      if (given.trim()) signIn(given.trim());
    }}>
      <label for="key">{t("signin.key")}</label>
      <input id="key" type="password" autocomplete="off" spellcheck={false} value={given} aria-describedby="key-help" autofocus={alone} onInput={(event) => setGiven(event.currentTarget.value)} />
      <button class={alone ? "primary" : ""} disabled={!given.trim()}>{t("signin.go")}</button>
      <p id="key-help" class="quiet">{t("signin.help")}</p>
    </form>
  );
}
