import type { JSX } from 'hono/jsx/jsx-runtime';
import { mayHaveSound, type SoundAudience } from '../../../src/domain/rights/sound-audience.ts';
import { isolate } from '../../../src/domain/text/isolate.ts';
import type { RoundSound } from '../../../src/queries/round-sounds/round-sounds.ts';
import type { User } from '../../../src/queries/users/users.ts';
import { formatLength, SoundPlayer, titleOf } from '../account/sound-view.tsx';
import { ConfirmLink } from '../layout/confirm.tsx';
import { type Column, ListTable } from '../layout/list-table.tsx';
import { textsOf } from '../layout/locales/texts.ts';
import { Moment } from '../layout/moment.tsx';
import type { MemberVisit } from '../request/visit.ts';
import { PlayerLink } from './player-link.tsx';

type SoundTableProps = {
  sounds: RoundSound[];
  /** The users among the players. */
  users: readonly User[];
  /** Who may have a sound; the sounds of others are kept, and not served. */
  audience: SoundAudience | undefined;
  visit: MemberVisit;
  /** The path of the page that confirms a sound's removal. */
  removalOf: (sound: RoundSound) => string;
  /** All sounds belong to one player: the player column is omitted. */
  isOfOne?: boolean;
};

/** A table of sounds in any status, with a player and a link to remove each. */
export function SoundTable({
  sounds,
  users,
  audience = 'everyone',
  visit,
  removalOf,
  isOfOne = false,
}: SoundTableProps): JSX.Element {
  const userOf = ({ steamId64 }: RoundSound) => users.find((user) => user.steamId64 === steamId64);
  const isServed = (sound: RoundSound) => sound.status === 'ready' && mayHaveSound(audience, userOf(sound));
  const t = textsOf(visit.locale).roundSound;
  const { columns } = t.moderation;
  const player: Column<RoundSound> = [
    columns.player,
    (sound) => <PlayerLink steamId64={sound.steamId64} nickname={userOf(sound)?.nickname} visit={visit} />,
    'list-words',
  ];
  return (
    <ListTable
      rows={sounds}
      columns={[
        [columns.title, (sound) => <bdi>{titleOf(sound)}</bdi>, 'list-words'],
        ...(isOfOne ? [] : [player]),
        [columns.state, (sound) => stateOf(sound, { isServed: isServed(sound), visit })],
        [columns.since, ({ readyAt, createdAt }) => <Moment at={readyAt ?? createdAt} visit={visit} />],
        [
          columns.listen,
          (sound) =>
            isServed(sound) && (
              <span class="sound-listen">
                <SoundPlayer sound={sound} visit={visit} />
                {sound.durationMs !== null && <span class="hint">{formatLength(sound.durationMs)}</span>}
              </span>
            ),
        ],
        [
          t.moderation.remove,
          (sound) => (
            <ConfirmLink
              href={removalOf(sound)}
              label={t.moderation.remove}
              fullLabel={t.moderation.removeNamed(isolate(titleOf(sound)))}
              title={t.moderation.removeTitle}
              lead={t.moderation.removeLead(isolate(titleOf(sound)), sound.steamId64)}
              visit={visit}
            />
          ),
          'list-action',
        ],
      ]}
    />
  );
}

type StateOptions = { isServed: boolean; visit: MemberVisit };

function stateOf({ status }: RoundSound, { isServed, visit }: StateOptions): string {
  const t = textsOf(visit.locale).roundSound;
  if (status === 'failed') return t.moderation.failed;
  return status === 'ready' && !isServed ? t.moderation.kept : t.steps[status];
}
