import type { JSX } from 'hono/jsx/jsx-runtime';
import { tokenStateOf } from '../../../src/domain/api-token.ts';
import { NotFound } from '../../../src/domain/errors.ts';
import { TOKEN_SCOPES } from '../../../src/domain/rights/token-scope.ts';
import { isolate } from '../../../src/domain/text/isolate.ts';
import type { ApiToken } from '../../../src/queries/users/api-tokens.ts';
import { ConfirmLink, type Question } from '../layout/confirm.tsx';
import { textsOf } from '../layout/locales/texts.ts';
import { Moment } from '../layout/moment.tsx';
import { tryParseRowId } from '../request/numbers.ts';
import type { MemberVisit } from '../request/visit.ts';

type TokenTableProps = {
  tokens: ApiToken[];
  visit: MemberVisit;
  /** The path of a token's confirmation page, to which revoking it posts too. */
  revokePathOf: (token: ApiToken) => string;
  /** Adds a column with the state of each token, for tables that list ended ones too. */
  showsStates?: boolean;
};

/** Tokens with their scopes and times; live ones can be revoked. */
export function TokenTable(props: TokenTableProps): JSX.Element {
  const { tokens, visit, revokePathOf, showsStates = false } = props;
  const t = textsOf(visit.locale).tokens;
  const m = textsOf(visit.locale).moderation;
  return (
    <table class="list">
      <thead>
        <tr>
          <th scope="col">{t.columns.name}</th>
          <th scope="col">{t.columns.token}</th>
          {showsStates && <th scope="col">{m.state}</th>}
          <th scope="col">{t.columns.scopes}</th>
          <th scope="col">{t.columns.created}</th>
          <th scope="col">{t.columns.used}</th>
          <th scope="col">{t.columns.expires}</th>
          <th scope="col">
            <span class="sr-only">{t.revoke}</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {tokens.map((token) => {
          const state = tokenStateOf(token, visit.now);
          const isAll = token.scopes.length === TOKEN_SCOPES.length;
          return (
            <tr>
              <th scope="row" class="list-title list-words">
                {token.name}
              </th>
              <td data-label={t.columns.token}>
                <code>
                  <span aria-hidden="true">…</span>
                  <span class="sr-only">{t.endsWith} </span>
                  <span>{token.lastFour}</span>
                </code>
              </td>
              {showsStates && (
                <td data-label={m.state}>
                  <span class={`state state-${state}`}>{m.tokenState[state]}</span>
                </td>
              )}
              <td data-label={t.columns.scopes}>
                {isAll ? t.allScopes : <code>{token.scopes.join(', ')}</code>}
              </td>
              <td data-label={t.columns.created}>
                <Moment at={token.createdAt} visit={visit} />
              </td>
              <td data-label={t.columns.used}>
                {token.lastUsedAt ? <Moment at={token.lastUsedAt} visit={visit} /> : t.neverUsed}
              </td>
              <td data-label={t.columns.expires}>
                {token.expiresAt ? <Moment at={token.expiresAt} visit={visit} /> : t.noExpiry}
              </td>
              <td class="list-action">
                {state === 'live' && (
                  <ConfirmLink
                    href={revokePathOf(token)}
                    {...revocationQuestion(token, visit)}
                    fullLabel={t.revokeNamed(isolate(token.name))}
                    visit={visit}
                  />
                )}
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

/** What is asked before a token is revoked. */
export function revocationQuestion({ name, lastFour }: ApiToken, { locale }: MemberVisit): Question {
  const t = textsOf(locale).tokens;
  return { title: t.revokeTitle, lead: t.revokeLead(isolate(name), lastFour), label: t.revoke };
}

/**
 * Parses the token id of a path.
 * @throws {NotFound}
 */
export function parseTokenId(text: string | undefined): number {
  const id = tryParseRowId(text ?? null);
  if (id === undefined) throw new NotFound(`there is no token ${text}`);
  return id;
}
