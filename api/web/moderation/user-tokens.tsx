import type { JSX } from 'hono/jsx/jsx-runtime';
import type { Db } from '../../../src/db/client.ts';
import { NotFound } from '../../../src/domain/errors.ts';
import { isolate } from '../../../src/domain/text/isolate.ts';
import {
  type ApiToken,
  findApiToken,
  listEndedApiTokens,
  listLiveApiTokens,
  revokeApiToken,
} from '../../../src/queries/users/api-tokens.ts';
import type { User } from '../../../src/queries/users/users.ts';
import { parseTokenId, TokenTable } from '../account/token-table.tsx';
import { Card } from '../layout/card.tsx';
import { ConfirmPage } from '../layout/confirm.tsx';
import type { Site } from '../layout/layout.tsx';
import { textsOf } from '../layout/locales/texts.ts';
import { nameOf } from '../layout/person.tsx';
import type { MemberRoute } from '../request/member-route.ts';
import type { Notice, Redirect } from '../request/notice.ts';
import { tryParseRowId } from '../request/numbers.ts';
import { respondWithPage } from '../request/page-response.ts';
import type { MemberVisit } from '../request/visit.ts';
import { loadNamedUser, pathOfPlayer } from './find-user.ts';
import { OlderPages } from './frame.tsx';

export type UserTokensDeps = {
  db: Db;
  site: Site;
  redirect: Redirect;
  onTokenRevoked: () => void;
};

const ENDED_TOKENS_PER_PAGE = 25;

/** One page of a user's tokens. */
export type TokenPage = {
  tokens: ApiToken[];
  /** Whether this is the first page, which includes the live tokens. */
  isNewest: boolean;
  /** The `before` id of the next page; undefined on the last page. */
  older: number | undefined;
};

/** Routes that revoke a user's tokens. */
export function userTokenRoutes(deps: UserTokensDeps): MemberRoute[] {
  const path = '/moderation/users/:steamid64/tokens/:id/revoke';
  return [
    {
      method: 'GET',
      path,
      handle: (visit, { steamid64, id }) => showRevokeConfirmation(deps, visit, { steamid64, id }),
    },
    { method: 'POST', path, handle: (visit, { steamid64, id }) => revoke(deps, visit, { steamid64, id }) },
  ];
}

/** Loads a user's live tokens and the newest ended ones; with `?before=`, only ended ones with a lower id. */
export async function readTokenPage(db: Db, { id }: User, { now, url }: MemberVisit): Promise<TokenPage> {
  const before = tryParseRowId(url.searchParams.get('before'));
  const isNewest = before === undefined;
  const [live, ended] = await Promise.all([
    isNewest ? listLiveApiTokens(db, id, now) : [],
    listEndedApiTokens(db, id, { before, limit: ENDED_TOKENS_PER_PAGE + 1, now }),
  ]);
  const shown = ended.slice(0, ENDED_TOKENS_PER_PAGE);
  return {
    tokens: [...live, ...shown],
    isNewest,
    older: ended.length > shown.length ? shown.at(-1)?.id : undefined,
  };
}

type UserTokensProps = { user: User; tokens: TokenPage; visit: MemberVisit; notice: Notice | undefined };

/** A user's tokens: live ones first, then the ended ones in pages. */
export function UserTokensCard({ user, tokens, visit, notice }: UserTokensProps): JSX.Element {
  const m = textsOf(visit.locale).moderation;
  const path = pathOfPlayer(user);
  return (
    <Card id="tokens" title={m.tokensOf} icon="key" notice={notice}>
      {tokens.tokens.length === 0 ? (
        <p class="empty">{m.noTokens}</p>
      ) : (
        <TokenTable
          tokens={tokens.tokens}
          visit={visit}
          revokePathOf={({ id }) => `${path}/tokens/${id}/revoke`}
          showsStates
        />
      )}
      <OlderPages
        label={m.tokensOf}
        newest={tokens.isNewest ? undefined : { href: `${path}#tokens`, label: m.newestTokens }}
        older={
          tokens.older === undefined
            ? undefined
            : { href: `${path}?before=${tokens.older}#tokens`, label: m.olderTokens }
        }
      />
    </Card>
  );
}

type TokenPath = { steamid64: string | undefined; id: string | undefined };

async function showRevokeConfirmation(
  deps: UserTokensDeps,
  visit: MemberVisit,
  path: TokenPath,
): Promise<Response> {
  const { user, token } = await loadNamedToken(deps.db, path);
  if (token.revokedAt) return deps.redirect(visit, `${pathOfPlayer(user)}#tokens`, 'token-revoked');
  const t = textsOf(visit.locale).tokens;
  return respondWithPage(
    <ConfirmPage
      site={deps.site}
      visit={visit}
      title={t.revokeTitle}
      lead={`${isolate(nameOf(user, visit.locale))}: ${t.revokeLead(isolate(token.name), token.lastFour)}`}
      label={t.revoke}
      back={pathOfPlayer(user)}
    />,
  );
}

async function revoke(deps: UserTokensDeps, visit: MemberVisit, path: TokenPath): Promise<Response> {
  const { user, token } = await loadNamedToken(deps.db, path);
  const { now } = visit;
  // Revoking it again, for example in another tab, changes nothing and says the same.
  await revokeApiToken(deps.db, token.id, { ofUserId: user.id, now, actor: { userId: visit.user.id } });
  deps.onTokenRevoked();
  return deps.redirect(visit, `${pathOfPlayer(user)}#tokens`, 'token-revoked');
}

async function loadNamedToken(db: Db, { steamid64, id }: TokenPath) {
  const user = await loadNamedUser(db, steamid64);
  const tokenId = parseTokenId(id);
  const token = await findApiToken(db, { id: tokenId, userId: user.id });
  if (!token) throw new NotFound(`no token ${tokenId}`);
  return { user, token };
}
