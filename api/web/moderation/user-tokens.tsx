import type { JSX } from 'hono/jsx/jsx-runtime';
import type { Db } from '../../../src/db/client.ts';
import { NotFound } from '../../../src/domain/errors.ts';
import {
  type ApiToken,
  findApiToken,
  listEndedApiTokens,
  listLiveApiTokens,
  revokeApiToken,
} from '../../../src/queries/users/api-tokens.ts';
import type { User } from '../../../src/queries/users/users.ts';
import { TokenTable } from '../account/token-table.tsx';
import { Card } from '../layout/card.tsx';
import { textsOf } from '../layout/locales/texts.ts';
import { parseRowId, tryParseRowId } from '../request/numbers.ts';
import type { MemberVisit } from '../request/visit.ts';
import { type Handler, type NewestFirst, OlderPages, toPage } from './frame.tsx';
import { loadNamedUser, pathOfPlayer } from './player-link.tsx';

const ENDED_TOKENS_PER_PAGE = 25;

/** Loads a user's live tokens and the newest ended ones; with `?before=`, only ended ones with a lower id. */
export async function readTokenPage(
  db: Db,
  { id }: User,
  { now, url }: MemberVisit,
): Promise<NewestFirst<ApiToken>> {
  const before = tryParseRowId(url.searchParams.get('before'));
  const [live, ended] = await Promise.all([
    before === undefined ? listLiveApiTokens(db, id, now) : [],
    listEndedApiTokens(db, id, { before, limit: ENDED_TOKENS_PER_PAGE + 1, now }),
  ]);
  const page = toPage(ended, { before, size: ENDED_TOKENS_PER_PAGE });
  return { ...page, rows: [...live, ...page.rows] };
}

type UserTokensProps = {
  user: User;
  tokens: NewestFirst<ApiToken>;
  visit: MemberVisit;
};

/** A user's tokens: live ones first, then the ended ones in pages. */
export function UserTokensCard({ user, tokens, visit }: UserTokensProps): JSX.Element {
  const t = textsOf(visit.locale).moderation;
  const path = pathOfPlayer(user);
  return (
    <Card id="tokens" title={t.tokensOf} icon="key" notice={visit.notice}>
      {tokens.rows.length === 0 ? (
        <p class="empty">{t.noTokens}</p>
      ) : (
        <TokenTable
          tokens={tokens.rows}
          visit={visit}
          revokePathOf={({ id }) => `${path}/tokens/${id}/revoke`}
          showsStates
        />
      )}
      <OlderPages
        list={tokens}
        label={t.tokensOf}
        words={{ newest: t.newestTokens, older: t.olderTokens }}
        visit={visit}
        path={path}
        card="tokens"
      />
    </Card>
  );
}

/** Revokes a user's token. Revoking it again, for example in another tab, changes nothing and says the same. */
export const revokeToken: Handler = async ({ db, redirect, onTokenRevoked }, visit, params) => {
  const { user, token } = await loadNamedToken(db, params);
  const { now } = visit;
  await revokeApiToken(db, token.id, { ofUserId: user.id, now, actor: { userId: visit.user.id } });
  onTokenRevoked();
  return redirect(visit, `${pathOfPlayer(user)}#tokens`, 'token-revoked');
};

async function loadNamedToken(db: Db, { steamid64, id }: Record<string, string>) {
  const user = await loadNamedUser(db, steamid64);
  const token = await findApiToken(db, { id: parseRowId(id, 'token'), userId: user.id });
  if (!token) throw new NotFound(`no token ${id}`);
  return { user, token };
}
