import type { JSX } from 'hono/jsx/jsx-runtime';
import type { Db } from '../../../src/db/client.ts';
import { tryParseSteamReference } from '../../../src/domain/profile-address.ts';
import type { SteamId64 } from '../../../src/domain/steam-id.ts';
import { loadPlayerRecord } from '../../../src/queries/penalties/player-record.ts';
import { type FoundPlayer, searchPlayers } from '../../../src/queries/player-search.ts';
import { findUserBySteamId } from '../../../src/queries/users/users.ts';
import { Card } from '../layout/card.tsx';
import { ListTable } from '../layout/list-table.tsx';
import { textsOf } from '../layout/locales/texts.ts';
import { Moment } from '../layout/moment.tsx';
import { nameOf } from '../layout/person.tsx';
import type { MemberVisit } from '../request/visit.ts';
import { pathOfPlayer } from './find-user.ts';

const MAX_PLAYERS = 25;

/** A player who has penalties but no account. */
export type KnownPlayer = Pick<
  FoundPlayer,
  'steamId64' | 'name' | 'matchedName' | 'penalties' | 'isBanned' | 'lastSeenAt'
>;

/**
 * Finds players without an account by SteamID, or by part of a name in their penalties.
 * @param text matches nobody when empty.
 */
export async function findPlayersWithoutAccount(db: Db, text: string, now: Date): Promise<KnownPlayer[]> {
  const reference = tryParseSteamReference(text);
  if (reference && 'steamId64' in reference) return findByRecord(db, reference.steamId64, now);
  const name = text.replaceAll('\0', '');
  return searchPlayers(db, name, { limit: MAX_PLAYERS, now, scope: 'withoutAccount' });
}

async function findByRecord(db: Db, steamId64: SteamId64, now: Date): Promise<KnownPlayer[]> {
  if (await findUserBySteamId(db, steamId64)) return [];
  const record = await loadPlayerRecord(db, steamId64, { page: 1, perPage: 1, now });
  if (record.total === 0) return [];
  const name = record.playerName ?? '';
  return [
    {
      steamId64,
      name,
      matchedName: name,
      penalties: record.total,
      isBanned: record.active.ban > 0,
      lastSeenAt: null,
    },
  ];
}

/** The found players, each with a link to their page. */
export function PlayersCard({ players, visit }: { players: KnownPlayer[]; visit: MemberVisit }): JSX.Element {
  const t = textsOf(visit.locale).moderation;
  return (
    <Card id="players" title={t.playersWithoutAccount} icon="search">
      <ListTable
        rows={players}
        columns={[
          [
            t.columns.player,
            (player) => (
              <span>
                <a href={pathOfPlayer(player)}>
                  <bdi>{nameOf({ nickname: player.name, steamId64: player.steamId64 }, visit.locale)}</bdi>
                </a>
                {player.matchedName !== player.name && (
                  <span class="hint">
                    {' '}
                    <bdi>{player.matchedName}</bdi>
                  </span>
                )}
              </span>
            ),
            'list-words',
          ],
          [t.columns.steamId, ({ steamId64 }) => <code>{steamId64}</code>],
          [t.columns.penalties, (player) => <PenaltyCount player={player} visit={visit} />],
          [
            t.columns.seen,
            ({ lastSeenAt }) => lastSeenAt && <Moment at={lastSeenAt} visit={visit} />,
            ({ lastSeenAt }) => (lastSeenAt ? '' : 'list-nothing'),
          ],
        ]}
      />
    </Card>
  );
}

type CountProps = { player: { penalties: number; isBanned: boolean }; visit: MemberVisit };

/** How many penalties a player has, and whether they are banned now. */
export function PenaltyCount({ player, visit }: CountProps): JSX.Element {
  return (
    <span>
      {player.penalties}{' '}
      {player.isBanned && (
        <span class="state state-banned">{textsOf(visit.locale).penalties.inForce.ban}</span>
      )}
    </span>
  );
}
