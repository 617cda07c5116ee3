import type { HtmlEscapedString } from 'hono/utils/html';
import { isAdministrator } from '../../../src/domain/rights/administrator.ts';
import type { SteamId64 } from '../../../src/domain/steam-id.ts';
import { listAppealsWithPenalties } from '../../../src/queries/appeals/queue.ts';
import { findRoundSounds } from '../../../src/queries/round-sounds/round-sounds.ts';
import { listGivenFlags } from '../../../src/queries/users/user-flags.ts';
import { findUserBySteamId, type User } from '../../../src/queries/users/users.ts';
import { Card } from '../layout/card.tsx';
import { GivenFlags } from '../layout/flags.tsx';
import { nameOf } from '../layout/person.tsx';
import { textsOf } from '../locales/texts.ts';
import { PlayerRecordView, readRecordPage } from '../penalties/player-record-view.tsx';
import type { UserVisit } from '../request/visit.ts';
import { AppealsCard } from './appeal-links.tsx';
import { Frame, type ModerationDeps, pathOfPenalty, type Show } from './frame.tsx';
import { parsePlayerId, pathOfPlayer } from './player-link.tsx';
import { ProfileCard } from './player-profile.tsx';
import { SoundTable } from './round-sounds-page.tsx';
import { NotesCard } from './staff-notes.tsx';
import { BlockCard, FlagsCard, UserTokensCard } from './user-rights.tsx';

/**
 * The page of a player, which exists for every SteamID, with or without an account: their profile, penalties and staff
 * notes; for administrators also their sound, tokens and flags, and whether they are blocked.
 */
export const showPlayer: Show = async (deps, visit, params) => {
  const steamId64 = parsePlayerId(params.steamid64);
  const { db, site } = deps;
  const { moderation, penalties: t } = textsOf(visit.language);
  const isAdmin = isAdministrator(visit.user);
  const [user, record, givenFlags, appeals] = await Promise.all([
    findUserBySteamId(db, steamId64),
    readRecordPage(db, steamId64, visit),
    isAdmin ? listGivenFlags(db, steamId64) : [],
    listAppealsWithPenalties(db, { playerSteamId: steamId64 }, visit.now),
  ]);
  const name = nameOf({ nickname: user?.nickname || record.playerName || '', steamId64 }, visit.language);
  return (
    <Frame
      site={site}
      visit={visit}
      cards={['notes', 'sounds', 'tokens', 'flags', 'block']}
      // Moderators have no list of users.
      tab={isAdmin ? 'users' : 'penalties'}
      title={name}
    >
      <ProfileCard deps={deps} steamId64={steamId64} name={name} user={user} visit={visit} />
      <Card
        id="penalties"
        title={moderation.columns.penalties}
        icon="shield"
        aside={record.total > 0 && t.count(record.total)}
      >
        <PlayerRecordView
          record={record}
          visit={visit}
          path={pathOfPlayer({ steamId64 })}
          pathOfPenalty={pathOfPenalty}
        />
      </Card>
      {deps.appeals && <AppealsCard rows={appeals} visit={visit} />}
      <NotesCard db={db} subject={{ steamId64 }} path={pathOfPlayer({ steamId64 })} visit={visit} />
      {isAdmin && <SoundCard deps={deps} steamId64={steamId64} user={user} visit={visit} />}
      {isAdmin && !user && givenFlags.length > 0 && (
        <Card id="flags" title={moderation.flags} icon="shield">
          <GivenFlags flags={givenFlags} visit={visit} />
          <p class="hint">{moderation.laterFlags}</p>
        </Card>
      )}
      {isAdmin && user && (
        <>
          <UserTokensCard db={db} user={user} visit={visit} />
          <FlagsCard user={user} givenFlags={givenFlags} visit={visit} />
          <BlockCard user={user} visit={visit} />
        </>
      )}
    </Frame>
  );
};

type SoundProps = {
  deps: ModerationDeps;
  steamId64: SteamId64;
  /** Undefined for a player without an account. */
  user: User | undefined;
  visit: UserVisit;
};

/** A player's round-end sound, and their latest upload if it is being processed or failed. */
async function SoundCard({ deps, steamId64, user, visit }: SoundProps): Promise<HtmlEscapedString> {
  const t = textsOf(visit.language).roundSound;
  const { ready, latest } = await findRoundSounds(deps.db, steamId64);
  return (
    <Card id="sounds" title={t.title} icon="sound" notice={visit.notice}>
      <SoundTable
        sounds={[ready, latest].filter((sound) => sound !== undefined)}
        empty={t.moderation.none}
        users={user ? [user] : []}
        audience={deps.sounds.limits.audience}
        visit={visit}
        removalOf={(sound) => `${pathOfPlayer(sound)}/sound/delete`}
        isOfOne
      />
    </Card>
  );
}
