import type { JSX } from 'hono/jsx/jsx-runtime';
import type { HtmlEscapedString } from 'hono/utils/html';
import type { Db } from '../../../src/db/client.ts';
import type { SteamId64 } from '../../../src/domain/steam-id.ts';
import type { PlayerRecord } from '../../../src/queries/penalties/player-record.ts';
import { findRoundSounds } from '../../../src/queries/round-sounds/round-sounds.ts';
import type { User } from '../../../src/queries/users/users.ts';
import type { SoundStore } from '../account/round-sound/round-sound-deps.ts';
import { Card } from '../layout/card.tsx';
import { textsOf } from '../layout/locales/texts.ts';
import { PlayerRecordView } from '../penalties/player-record-view.tsx';
import type { Notice } from '../request/notice.ts';
import type { MemberVisit } from '../request/visit.ts';
import { pathOfPlayer } from './find-user.ts';
import { SoundTable } from './sound-table.tsx';

type RecordProps = { steamId64: SteamId64; record: PlayerRecord; visit: MemberVisit };

/** A player's penalties. */
export function PlayerPenaltiesCard({ steamId64, record, visit }: RecordProps): JSX.Element {
  const t = textsOf(visit.locale).penalties;
  return (
    <Card
      id="penalties"
      title={t.ofPlayer}
      icon="shield"
      {...(record.total > 0 && { aside: t.count(record.total) })}
    >
      <PlayerRecordView
        record={record}
        visit={visit}
        path={pathOfPlayer({ steamId64 })}
        words={{ clean: t.clean, noneActive: t.noneActive }}
      />
    </Card>
  );
}

export type PlayerSoundDeps = { db: Db; sounds: Pick<SoundStore, 'limits'> };

type SoundProps = {
  deps: PlayerSoundDeps;
  steamId64: SteamId64;
  /** Undefined for a player without an account. */
  user: User | undefined;
  visit: MemberVisit;
  notice: Notice | undefined;
};

/** A player's round-end sound, and their latest upload if it is being processed or failed. */
export async function PlayerSoundCard({
  deps,
  steamId64,
  user,
  visit,
  notice,
}: SoundProps): Promise<HtmlEscapedString> {
  const t = textsOf(visit.locale).roundSound;
  const { ready, latest } = await findRoundSounds(deps.db, steamId64);
  const sounds = [ready, latest].filter((sound) => sound !== undefined);
  return (
    <Card id="sounds" title={t.title} icon="sound" notice={notice}>
      {sounds.length === 0 ? (
        <p class="empty">{t.moderation.noneOfPlayer}</p>
      ) : (
        <SoundTable
          sounds={sounds}
          users={user ? [user] : []}
          audience={deps.sounds.limits.audience}
          visit={visit}
          removalOf={(sound) => `${pathOfPlayer(sound)}/sound/delete`}
          isOfOne
        />
      )}
    </Card>
  );
}
