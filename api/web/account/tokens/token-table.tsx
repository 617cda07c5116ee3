import type { JSX } from 'hono/jsx/jsx-runtime';
import { TOKEN_SCOPES } from '../../../../src/domain/rights/token-scope.ts';
import { isolate } from '../../../../src/domain/text/isolate.ts';
import type { ApiToken } from '../../../../src/queries/users/api-tokens.ts';
import { ConfirmLink } from '../../layout/confirm.tsx';
import { textsOf } from '../../layout/locales/texts.ts';
import { Moment } from '../../layout/moment.tsx';
import type { MemberVisit, Visit } from '../../visit/visit.ts';

/** The last column headers of a token table: created, last used, expires, and the revoke action. */
export function TokenTimeHeads({ visit }: { visit: Visit }): JSX.Element {
  const t = textsOf(visit.locale).tokens;
  return (
    <>
      <th scope="col">{t.columns.created}</th>
      <th scope="col">{t.columns.used}</th>
      <th scope="col">{t.columns.expires}</th>
      <th scope="col">
        <span class="sr-only">{t.revoke}</span>
      </th>
    </>
  );
}

/** A table cell with the scopes of a token. */
export function TokenScopes({ token, visit }: { token: ApiToken; visit: Visit }): JSX.Element {
  const t = textsOf(visit.locale).tokens;
  const isAll = token.scopes.length === TOKEN_SCOPES.length;
  return (
    <td data-label={t.columns.scopes}>{isAll ? t.allScopes : <code>{token.scopes.join(', ')}</code>}</td>
  );
}

/** Table cells with the times at which a token was created and last used, and when it expires. */
export function TokenTimes({ token, visit }: { token: ApiToken; visit: Visit }): JSX.Element {
  const t = textsOf(visit.locale).tokens;
  return (
    <>
      <td data-label={t.columns.created}>
        <Moment at={token.createdAt} visit={visit} />
      </td>
      <td data-label={t.columns.used}>
        {token.lastUsedAt ? <Moment at={token.lastUsedAt} visit={visit} /> : t.neverUsed}
      </td>
      <td data-label={t.columns.expires}>
        {token.expiresAt ? <Moment at={token.expiresAt} visit={visit} /> : t.noExpiry}
      </td>
    </>
  );
}

/** The link to revoke a token, with a confirmation that posts to `href`. */
export function RevokeTokenLink({
  token,
  href,
  visit,
}: {
  token: ApiToken;
  href: string;
  visit: MemberVisit;
}): JSX.Element {
  const t = textsOf(visit.locale).tokens;
  return (
    <ConfirmLink
      href={href}
      label={t.revoke}
      fullLabel={t.revokeNamed(isolate(token.name))}
      title={t.revokeTitle}
      lead={t.revokeLead(isolate(token.name), token.lastFour)}
      visit={visit}
    />
  );
}
