import type { Db } from '../../src/db/client.ts';
import { Conflict, InvalidInput, NotFound } from '../../src/errors.ts';
import {
  type ApiToken,
  createApiToken,
  findUnrevokedApiToken,
  isTokenName,
  listLiveApiTokens,
  MAX_LIVE_TOKENS,
  revokeApiToken,
} from '../../src/queries/api-tokens.ts';
import { claimNonce } from '../../src/queries/used-nonces.ts';
import { Icon } from './icons.tsx';
import { ConfirmPage, CsrfField, type Site } from './layout.tsx';
import { PageError } from './page-error.ts';
import { type Redirect, respondWithPage } from './page-response.ts';
import type { AccountSection } from './section.ts';
import { textsOf } from './texts.ts';
import { CreatedPage } from './token-created-page.tsx';
import { RevokeTokenLink, TokenTimeHeads, TokenTimes } from './token-table.tsx';
import { type MemberVisit, readMemberForm } from './visit.ts';

type TokensDeps = {
  db: Db;
  site: Site;
  /** `PUBLIC_URL`, for the ready command. */
  publicUrl: string;
  signer: Parameters<typeof readMemberForm>[0]['signer'];
  redirect: Redirect;
  onTokenRevoked: () => void;
};

/** How long a token may be asked to live, in days. */
const EXPIRIES = ['7', '30', '90', '365', 'never'] as const;
type Expiry = (typeof EXPIRIES)[number];
const DEFAULT_EXPIRY: Expiry = '90';
const DAY_MS = 86_400_000;
/** What the page puts into a form: a UUID. */
const FORM_ID = /^[0-9a-f-]{36}$/;
/** A form that was shown longer ago than this may be sent twice. */
const FORM_ID_MS = 7 * DAY_MS;

/** API tokens: create, list, revoke. */
export function tokensSection(deps: TokensDeps): AccountSection {
  return {
    id: 'tokens',
    title: (locale) => textsOf(locale).tokens.title,
    render: (visit) => renderTokens(deps, visit),
    routes: [
      { method: 'POST', path: '/tokens', handle: (visit) => createToken(deps, visit) },
      { method: 'GET', path: '/tokens/:id/revoke', handle: (visit, { id }) => askToRevoke(deps, visit, id) },
      { method: 'POST', path: '/tokens/:id/revoke', handle: (visit, { id }) => revokeToken(deps, visit, id) },
    ],
  };
}

/** The id in a path: a row id, nothing else. */
export function parseTokenId(text: string | undefined): number {
  if (text === undefined || !/^[0-9]{1,9}$/.test(text)) throw new NotFound(`there is no token ${text}`);
  return Number(text);
}

async function renderTokens({ db }: TokensDeps, visit: MemberVisit): Promise<string> {
  const t = textsOf(visit.locale).tokens;
  const tokens = await listLiveApiTokens(db, visit.user.id, visit.now);
  return (
    <>
      <p class="lead">{t.lead}</p>
      {tokens.length === 0 ? <p class="empty">{t.none}</p> : <TokenTable tokens={tokens} visit={visit} />}
      {tokens.length >= MAX_LIVE_TOKENS ? (
        <p class="hint">{t.full(MAX_LIVE_TOKENS)}</p>
      ) : (
        <CreateForm visit={visit} />
      )}
      <p class="hint">{t.count(tokens.length, MAX_LIVE_TOKENS)}</p>
    </>
  );
}

function TokenTable({ tokens, visit }: { tokens: ApiToken[]; visit: MemberVisit }): JSX.Element {
  const t = textsOf(visit.locale).tokens;
  return (
    <table class="list">
      <thead>
        <tr>
          <th scope="col">{t.columns.name}</th>
          <th scope="col">{t.columns.token}</th>
          <TokenTimeHeads visit={visit} />
        </tr>
      </thead>
      <tbody>
        {tokens.map((token) => (
          <tr>
            <th scope="row" class="list-title list-words" safe>
              {token.name}
            </th>
            <td data-label={t.columns.token}>
              <code>
                <span aria-hidden="true">…</span>
                <span class="sr-only">{t.endsWith} </span>
                <span safe>{token.lastFour}</span>
              </code>
            </td>
            <TokenTimes token={token} visit={visit} />
            <td class="list-action">
              <RevokeTokenLink token={token} href={`/account/tokens/${token.id}/revoke`} visit={visit} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function CreateForm({ visit }: { visit: MemberVisit }): JSX.Element {
  const t = textsOf(visit.locale).tokens;
  return (
    <form method="post" action="/account/tokens" class="create">
      <CsrfField visit={visit} />
      <input type="hidden" name="form_id" value={crypto.randomUUID()} />
      <div class="field field-wide">
        <label for="token-name">{t.name}</label>
        <input
          id="token-name"
          name="name"
          required
          maxlength="64"
          autocomplete="off"
          aria-describedby="token-name-hint"
        />
        <p class="hint" id="token-name-hint">
          {t.nameHint}
        </p>
      </div>
      <div class="field">
        <label for="token-expiry">{t.expiry}</label>
        <select id="token-expiry" name="expires">
          {EXPIRIES.map((expiry) => (
            <option value={expiry} selected={expiry === DEFAULT_EXPIRY}>
              {t.expiries[expiry]}
            </option>
          ))}
        </select>
      </div>
      <button class="button button-primary" type="submit">
        <Icon name="key" />
        {t.create}
      </button>
    </form>
  );
}

/**
 * Makes the token and shows it in the answer itself: it goes into no cookie, no address and no table. Sending the same
 * form again (reload, back and forth) makes no second one.
 */
async function createToken({ db, site, publicUrl, signer, redirect }: TokensDeps, visit: MemberVisit) {
  const form = await readMemberForm({ signer }, visit);
  const name = (form.get('name') ?? '').trim();
  if (!isTokenName(name)) throw new PageError('token-name', 400);
  const expiresAt = readExpiry(form.get('expires'), visit.now);

  const formId = form.get('form_id');
  if (formId !== undefined && !FORM_ID.test(formId)) throw new InvalidInput('form_id is none of ours');

  const { user, now } = visit;
  // The form is used up together with the token: one that is refused may be sent again.
  const token = await db
    .transaction(async (tx) => {
      const nonce = `form:${user.id}:${formId}`;
      const isFirst =
        formId === undefined || (await claimNonce(tx, nonce, new Date(now.getTime() + FORM_ID_MS)));
      if (!isFirst) return undefined;
      return (await createApiToken(tx, user.id, { name, expiresAt, now, actorUserId: user.id })).token;
    })
    .catch((error: unknown) => {
      throw error instanceof Conflict ? new PageError('token-limit', 409, { cause: error }) : error;
    });
  if (token === undefined) return redirect(visit, '/account#tokens', 'token-already-created');
  return respondWithPage(
    <CreatedPage
      site={site}
      visit={visit}
      name={name}
      token={token}
      expiresAt={expiresAt}
      publicUrl={publicUrl}
    />,
  );
}

async function askToRevoke(
  { db, site }: TokensDeps,
  visit: MemberVisit,
  id: string | undefined,
): Promise<Response> {
  const token = await findOwnToken(db, visit, id);
  const t = textsOf(visit.locale).tokens;
  return respondWithPage(
    <ConfirmPage
      site={site}
      visit={visit}
      title={t.revokeTitle}
      lead={t.revokeLead(token.name, token.lastFour)}
      label={t.revoke}
      back="/account#tokens"
    />,
  );
}

async function revokeToken(
  { db, signer, redirect, onTokenRevoked }: TokensDeps,
  visit: MemberVisit,
  id: string | undefined,
) {
  await readMemberForm({ signer }, visit);
  const token = await findOwnToken(db, visit, id);
  await revokeApiToken(db, token.id, { ofUserId: visit.user.id, now: visit.now, actorUserId: visit.user.id });
  onTokenRevoked();
  return redirect(visit, '/account#tokens', 'token-revoked');
}

/** @throws {NotFound} for a token of somebody else as for one that never was. */
async function findOwnToken(db: Db, visit: MemberVisit, id: string | undefined): Promise<ApiToken> {
  const tokenId = parseTokenId(id);
  const token = await findUnrevokedApiToken(db, { id: tokenId, userId: visit.user.id });
  if (!token) throw new NotFound(`there is no live token ${tokenId}`);
  return token;
}

function readExpiry(text: string | undefined, now: Date): Date | null {
  const expiry = EXPIRIES.find((known) => known === (text ?? DEFAULT_EXPIRY));
  if (!expiry) throw new InvalidInput('expires is none of the choices');
  return expiry === 'never' ? null : new Date(now.getTime() + Number(expiry) * DAY_MS);
}
