import type { JSX } from 'hono/jsx/jsx-runtime';
import type { Db } from '../../../../src/db/client.ts';
import { Conflict, NotFound } from '../../../../src/domain/errors.ts';
import { mayCreateTokens, type TokenAudience } from '../../../../src/domain/rights/token-audience.ts';
import { isolate } from '../../../../src/domain/text/isolate.ts';
import {
  createApiToken,
  findApiToken,
  isTokenName,
  revokeApiToken,
} from '../../../../src/queries/users/api-tokens.ts';
import { ConfirmPage } from '../../layout/confirm.tsx';
import type { Site } from '../../layout/layout.tsx';
import { textsOf } from '../../layout/locales/texts.ts';
import { claimForm } from '../../request/forms/form-id.ts';
import { type FormProblem, withFormShownAgain } from '../../request/forms/form-problem.ts';
import type { MemberRoute } from '../../request/member-route.ts';
import type { Redirect } from '../../request/notice.ts';
import { PageError } from '../../request/page-error.ts';
import { respondWithPage } from '../../request/page-response.ts';
import type { MemberVisit } from '../../request/visit.ts';
import { CreatedPage } from './token-created-page.tsx';
import { parseExpiry, parseTokenId, readScopes } from './token-fields.ts';

export type TokensDeps = {
  db: Db;
  site: Site;
  /** `PUBLIC_URL`, used in the example command for a new token. */
  publicUrl: string;
  tokensFor: TokenAudience;
  redirect: Redirect;
  onTokenRevoked: () => void;
  /** The account page, with the form as it was sent. */
  showAgain: (visit: MemberVisit, problem: FormProblem) => JSX.Element;
};

/** Routes that create and revoke tokens. */
export function tokenRoutes(deps: TokensDeps): MemberRoute[] {
  return [
    { method: 'POST', path: '/tokens', handle: (visit) => createToken(deps, visit) },
    {
      method: 'GET',
      path: '/tokens/:id/revoke',
      handle: (visit, { id }) => showRevokeConfirmation(deps, visit, id),
    },
    { method: 'POST', path: '/tokens/:id/revoke', handle: (visit, { id }) => revokeToken(deps, visit, id) },
  ];
}

/**
 * Creates a token and shows it in the response itself, so that it is never stored in a cookie, a URL or the database.
 * Submitting the same form again, for example by a reload, does not create a second token.
 */
async function createToken(deps: TokensDeps, visit: MemberVisit): Promise<Response> {
  const show = (problem: FormProblem) => deps.showAgain(visit, problem);
  return withFormShownAgain(visit, { values: visit.form, show }, () => createTokenOf(deps, visit));
}

async function createTokenOf(deps: TokensDeps, visit: MemberVisit): Promise<Response> {
  const { db, site, publicUrl, redirect } = deps;
  const { form, user, now } = visit;
  if (!mayCreateTokens(deps.tokensFor, visit.user)) throw new PageError('tokens-for-admins', 403);
  const name = (form.get('name') ?? '').trim();
  if (!isTokenName(name)) throw new PageError('token-name', 400);
  const expiresAt = parseExpiry(form.get('expires'), visit.now);
  const scopes = readScopes(form);

  // In one transaction: if creating the token fails, the form can be submitted again.
  const token = await db
    .transaction(async (tx) => {
      if (!(await claimForm(tx, form, visit))) return undefined;
      const actor = { userId: user.id };
      return (await createApiToken(tx, user.id, { name, scopes, expiresAt, now, actor })).token;
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
      scopes={scopes}
      expiresAt={expiresAt}
      publicUrl={publicUrl}
    />,
  );
}

async function showRevokeConfirmation(
  { db, site, redirect }: TokensDeps,
  visit: MemberVisit,
  id: string | undefined,
): Promise<Response> {
  const tokenId = parseTokenId(id);
  const token = await findApiToken(db, { id: tokenId, userId: visit.user.id });
  if (!token) throw new NotFound(`there is no token ${tokenId}`);
  if (token.revokedAt) return redirect(visit, '/account#tokens', 'token-revoked');
  const t = textsOf(visit.locale).tokens;
  return respondWithPage(
    <ConfirmPage
      site={site}
      visit={visit}
      title={t.revokeTitle}
      lead={t.revokeLead(isolate(token.name), token.lastFour)}
      label={t.revoke}
      back="/account#tokens"
    />,
  );
}

async function revokeToken(
  { db, redirect, onTokenRevoked }: TokensDeps,
  visit: MemberVisit,
  id: string | undefined,
) {
  // Revoking it again, for example in another tab, changes nothing and says the same.
  await revokeApiToken(db, parseTokenId(id), {
    ofUserId: visit.user.id,
    now: visit.now,
    actor: { userId: visit.user.id },
  });
  onTokenRevoked();
  return redirect(visit, '/account#tokens', 'token-revoked');
}
