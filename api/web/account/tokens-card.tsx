import type { JSX } from 'hono/jsx/jsx-runtime';
import type { HtmlEscapedString } from 'hono/utils/html';
import { Conflict, Forbidden, InvalidInput } from '../../../src/domain/errors.ts';
import { mayCreateTokens } from '../../../src/domain/rights/token-audience.ts';
import { TOKEN_SCOPES, type TokenScope } from '../../../src/domain/rights/token-scope.ts';
import { isolate } from '../../../src/domain/text/isolate.ts';
import { DAY_MS } from '../../../src/domain/time.ts';
import {
  createApiToken,
  isTokenName,
  listLiveApiTokens,
  MAX_LIVE_TOKENS,
  MAX_TOKEN_NAME_LENGTH,
  revokeApiToken,
} from '../../../src/queries/users/api-tokens.ts';
import { Card, ProblemLine } from '../layout/card.tsx';
import { CopyableText } from '../layout/copy-button.tsx';
import { SelectField, TextField } from '../layout/form-fields.tsx';
import { Icon } from '../layout/icons.tsx';
import { Layout, type Site } from '../layout/layout.tsx';
import { FullMoment } from '../layout/moment.tsx';
import { PostForm } from '../layout/post-form.tsx';
import { textsOf } from '../locales/texts.ts';
import { submitOnce } from '../request/forms/form.ts';
import { parseRowId } from '../request/numbers.ts';
import { PageError } from '../request/page-error.ts';
import { respondWithPage } from '../request/page-response.ts';
import type { UserRoute } from '../request/user-route.ts';
import type { UserVisit } from '../request/visit.ts';
import type { AccountDeps, CardProps } from './account-deps.ts';
import { TokenTable } from './token-table.tsx';

const HERE = '/account#tokens';
/** The lifetimes that the form offers, in days. */
const EXPIRIES = ['7', '30', '90', '365', 'never'] as const;
const DEFAULT_EXPIRY = '90';
/** Marks a form that offers scopes. Browsers omit unchecked boxes, so a form without any would look the same. */
const SCOPES_OFFERED = 'scopes_offered';

/** The user's live API tokens, and the form to create one. */
export async function TokensCard({ deps, visit }: CardProps): Promise<HtmlEscapedString> {
  const { tokens: t, moderation, errors } = textsOf(visit.language);
  const mayCreate = mayCreateTokens(deps.tokensFor, visit.user);
  const tokens = await listLiveApiTokens(deps.db, visit.user.id, visit.now);
  return (
    <Card id="tokens" title={t.title} icon="key" notice={visit.notice}>
      <p class="lead">{t.lead}</p>
      <TokenTable
        tokens={tokens}
        empty={mayCreate ? t.none : moderation.noTokens}
        visit={visit}
        revokePathOf={({ id }) => `/account/tokens/${id}/revoke`}
      />
      {mayCreate && tokens.length < MAX_LIVE_TOKENS && <CreateForm visit={visit} />}
      {mayCreate && tokens.length >= MAX_LIVE_TOKENS && <p class="hint">{errors['token-limit']}</p>}
      <p class="hint">{mayCreate ? t.count(tokens.length, MAX_LIVE_TOKENS) : t.forAdmins}</p>
    </Card>
  );
}

function CreateForm({ visit }: { visit: UserVisit }): JSX.Element {
  const t = textsOf(visit.language).tokens;
  return (
    <PostForm visit={visit} action="/account/tokens#tokens" isSentOnce class="create create-token">
      <TextField
        name="name"
        id="token-name"
        label={t.name}
        hint={t.nameHint}
        required
        maxlength={MAX_TOKEN_NAME_LENGTH}
        value={visit.form.get('name')}
      />
      <SelectField
        name="expires"
        id="token-expiry"
        label={t.expiry}
        options={EXPIRIES.map((expiry) => [expiry, t.expiries[expiry]] as const)}
        value={visit.form.get('expires') ?? DEFAULT_EXPIRY}
      />
      <fieldset class="field flags">
        <legend>{t.scopes}</legend>
        <input type="hidden" name={SCOPES_OFFERED} value="1" />
        {TOKEN_SCOPES.map((scope) => (
          <label class="check">
            <input
              type="checkbox"
              name={scopeField(scope)}
              checked={!visit.form.has(SCOPES_OFFERED) || visit.form.has(scopeField(scope))}
            />
            <span>{t.scopeNames[scope]}</span>
          </label>
        ))}
      </fieldset>
      <button class="button button-primary" type="submit">
        <Icon name="key" />
        {t.create}
      </button>
    </PostForm>
  );
}

/** Routes that create and revoke tokens. */
export function tokenRoutes(deps: AccountDeps): UserRoute[] {
  return [
    { method: 'POST', path: '/tokens', handle: (visit) => createToken(deps, visit) },
    {
      method: 'POST',
      path: '/tokens/:id/revoke',
      handle: (visit, { id }) => revokeToken(deps, visit, parseRowId(id, 'token')),
    },
  ];
}

/**
 * Creates a token and shows it in the response itself, so that it is never stored in a cookie, a URL or the database.
 * Submitting the same form again, for example by a reload, does not create a second token.
 */
async function createToken({ db, tokensFor, site, redirect }: AccountDeps, visit: UserVisit) {
  const { form, user, now } = visit;
  if (!mayCreateTokens(tokensFor, user)) throw new Forbidden('only administrators create tokens');
  const name = (form.get('name') ?? '').trim();
  if (!isTokenName(name)) throw new PageError('token-name', 400);
  const expiresAt = parseExpiry(form.get('expires'), now);
  const scopes = readScopes(form);

  const token = await submitOnce(db, visit, async (tx) => {
    const actor = { userId: user.id };
    return (await createApiToken(tx, user.id, { name, scopes, expiresAt, now, actor })).token;
  }).catch((error: unknown) => {
    throw error instanceof Conflict ? new PageError('token-limit', 409, { cause: error }) : error;
  });
  if (token === undefined) return redirect(visit, HERE, 'token-already-created');
  return respondWithPage(<CreatedPage site={site} visit={visit} {...{ name, token, expiresAt }} />);
}

/**
 * The expiry of a token that is created at `now`; null for never.
 * @throws {InvalidInput} for a value that is not one of {@link EXPIRIES}.
 */
function parseExpiry(text: string | undefined, now: Date): Date | null {
  const expiry = EXPIRIES.find((choice) => choice === (text ?? DEFAULT_EXPIRY));
  if (!expiry) throw new InvalidInput('expires is not one of the choices');
  return expiry === 'never' ? null : new Date(now.getTime() + Number(expiry) * DAY_MS);
}

/** The name of a scope's checkbox. */
function scopeField(scope: TokenScope): string {
  return `scope_${scope}`;
}

/**
 * The selected scopes; all scopes for a form that offers none.
 * @throws {PageError} 400 when none is selected, or an unknown one.
 */
function readScopes(form: ReadonlyMap<string, string>): readonly TokenScope[] {
  const scopes = TOKEN_SCOPES.filter((scope) => form.has(scopeField(scope)));
  const fields = [...form.keys()].filter((name) => name.startsWith('scope_'));
  if (scopes.length > 0 && scopes.length === fields.length) return scopes;
  if (form.has(SCOPES_OFFERED) || fields.length > 0) throw new PageError('token-scopes', 400);
  return TOKEN_SCOPES;
}

type CreatedProps = {
  site: Site;
  visit: UserVisit;
  name: string;
  token: string;
  expiresAt: Date | null;
};

/** Shows a new token, which is displayed only once, and a command to try it. */
function CreatedPage({ site, visit, name, token, expiresAt }: CreatedProps): JSX.Element {
  const t = textsOf(visit.language).tokens;
  // Allowed with any scope.
  const command = `curl -H "Authorization: Bearer ${token}" "${site.publicUrl}/api/v1/token"`;
  return (
    <Layout site={site} visit={visit} title={t.createdTitle}>
      <section class="card narrow" aria-labelledby="created">
        <h1 id="created">{t.createdTitle}</h1>
        <p>
          <span>{t.createdLead(isolate(name))}</span>{' '}
          {expiresAt && (
            <span class="hint">
              {t.columns.expires}: <FullMoment at={expiresAt} visit={visit} />
            </span>
          )}
        </p>
        <ProblemLine message={t.shownOnce} />
        <CopyableText id="new-token" label={t.tokenLabel} text={token} visit={visit} />
        <h2 class="minor">{t.tryIt}</h2>
        <CopyableText id="new-token-curl" label={t.curlLabel} text={command} visit={visit} />
        <p class="row">
          <a class="button button-primary" href={HERE}>
            {t.done}
          </a>
        </p>
      </section>
    </Layout>
  );
}

async function revokeToken({ db, redirect, onTokenRevoked }: AccountDeps, visit: UserVisit, id: number) {
  const { user, now } = visit;
  // Revoking it again, for example in another tab, changes nothing and says the same.
  await revokeApiToken(db, id, { ofUserId: user.id, now, actor: { userId: user.id } });
  onTokenRevoked();
  return redirect(visit, HERE, 'token-revoked');
}
