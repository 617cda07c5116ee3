import type { ApiToken } from '../../src/queries/api-tokens.ts';
import { ConfirmLink, Moment } from './layout.tsx';
import { textsOf } from './texts.ts';
import type { MemberVisit, Visit } from './visit.ts';

/** Whether a token works at `now`. */
export function isLiveToken(token: ApiToken, now: Date): boolean {
  return token.revokedAt === null && (token.expiresAt === null || token.expiresAt > now);
}

/** The last columns of a table of tokens: three moments, and the way to revoke. */
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

/** When a token was made, was last used, and ends. */
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

/** Asks whether to revoke a token; `href` is where its form posts. */
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
      fullLabel={t.revokeNamed(token.name)}
      title={t.revokeTitle}
      lead={t.revokeLead(token.name, token.lastFour)}
      visit={visit}
    />
  );
}
