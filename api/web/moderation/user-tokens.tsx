import type { HtmlEscapedString } from 'hono/utils/html';
import type { Db } from '../../../src/db/client.ts';
import { NotFound } from '../../../src/domain/errors.ts';
import {
  findApiToken,
  listEndedApiTokens,
  listLiveApiTokens,
  revokeApiToken,
} from '../../../src/queries/users/api-tokens.ts';
import type { User } from '../../../src/queries/users/users.ts';
import { TokenTable } from '../account/token-table.tsx';
import { Card } from '../layout/card.tsx';
import { textsOf } from '../layout/locales/texts.ts';
import { parseRowId } from '../request/numbers.ts';
import type { MemberVisit } from '../request/visit.ts';
import type { Handler } from './frame.tsx';
import { loadNamedUser, pathOfPlayer } from './player-link.tsx';

const MAX_ENDED_TOKENS = 25;

type UserTokensProps = { db: Db; user: User; visit: MemberVisit };

/** A user's live tokens, then the newest ended ones. */
export async function UserTokensCard({ db, user, visit }: UserTokensProps): Promise<HtmlEscapedString> {
  const { now } = visit;
  const [live, ended] = await Promise.all([
    listLiveApiTokens(db, user.id, now),
    listEndedApiTokens(db, user.id, { limit: MAX_ENDED_TOKENS, now }),
  ]);
  const t = textsOf(visit.locale).moderation;
  return (
    <Card id="tokens" title={t.tokensOf} icon="key" notice={visit.notice}>
      <TokenTable
        tokens={[...live, ...ended]}
        empty={t.noTokens}
        visit={visit}
        revokePathOf={({ id }) => `${pathOfPlayer(user)}/tokens/${id}/revoke`}
        showsStates
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
