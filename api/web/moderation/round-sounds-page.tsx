import type { JSX } from 'hono/jsx/jsx-runtime';
import { mayHaveSound, type SoundAudience } from '../../../src/domain/rights/sound-audience.ts';
import type { SteamId64 } from '../../../src/domain/steam-id.ts';
import { isolate } from '../../../src/domain/text/isolate.ts';
import {
  countRoundSounds,
  listRoundSounds,
  type RoundSound,
} from '../../../src/queries/round-sounds/round-sounds.ts';
import { listUsersBySteamId, type User } from '../../../src/queries/users/users.ts';
import { removeSoundOf } from '../account/round-sound-card.tsx';
import { formatLength } from '../account/sound-numbers.tsx';
import { SoundPlayer, titleOf } from '../account/sound-view.tsx';
import { Card } from '../layout/card.tsx';
import { ConfirmButton } from '../layout/confirm-button.tsx';
import { type Column, ListTable } from '../layout/list-table.tsx';
import { Moment } from '../layout/moment.tsx';
import { PagesNav } from '../layout/pages-nav.tsx';
import { textsOf } from '../locales/texts.ts';
import { tryParseRowId } from '../request/numbers.ts';
import type { UserVisit } from '../request/visit.ts';
import { Frame, type Handler, pathOfTab } from './frame.tsx';
import { PlayerLink, parsePlayerId, pathOfPlayer } from './player-link.tsx';

const PATH = pathOfTab('sounds');
const SOUNDS_PER_PAGE = 50;

/** All sounds, the newest first. */
export const showSounds: Handler = async (deps, visit) => {
  const { roundSound, moderation } = textsOf(visit.language);
  const { moderation: t } = roundSound;
  const page = tryParseRowId(visit.url.searchParams.get('page')) ?? 1;
  const sounds = await listRoundSounds(deps.db, {
    limit: SOUNDS_PER_PAGE,
    offset: (page - 1) * SOUNDS_PER_PAGE,
  });
  const count = await countRoundSounds(deps.db);
  const players = sounds.map(({ steamId64 }) => steamId64);
  const users = await listUsersBySteamId(deps.db, players, visit.now);
  return (
    <Frame site={deps.site} visit={visit} cards={['sounds']} tab="sounds">
      <Card
        id="sounds"
        title={moderation.tabs.sounds}
        icon="sound"
        aside={t.count(count)}
        notice={visit.notice}
      >
        <SoundTable
          sounds={sounds}
          empty={count === 0 && t.none}
          users={users}
          audience={deps.sounds.limits.audience}
          visit={visit}
          removalOf={({ steamId64 }) => `${PATH}/${steamId64}/delete`}
        />
        <PagesNav visit={visit} page={page} lastPage={Math.ceil(count / SOUNDS_PER_PAGE)} />
      </Card>
    </Frame>
  );
};

/** Removes a player's sound. */
export const removeSound: Handler = async (deps, visit, { steamid64 }) => {
  const steamId64 = parsePlayerId(steamid64);
  return deps.redirect(visit, placeOf(visit, steamId64), await removeSoundOf(deps, steamId64, visit));
};

/** Where the removal was started: in the list, or on the player's page. */
function placeOf({ url }: UserVisit, steamId64: SteamId64): string {
  return `${url.pathname.startsWith(PATH) ? PATH : pathOfPlayer({ steamId64 })}#sounds`;
}

type SoundTableProps = {
  sounds: RoundSound[];
  /** The text when there are none. */
  empty: string | false;
  /** The users among the players. */
  users: readonly User[];
  /** Who may have a sound; the sounds of others are kept, and not served. */
  audience: SoundAudience;
  visit: UserVisit;
  /** Where a sound's removal is posted to. */
  removalOf: (sound: RoundSound) => string;
  /** All sounds belong to one player: the player column is omitted. */
  isOfOne?: boolean;
};

/** A table of sounds in any status, with a player and a link to remove each. */
export function SoundTable(props: SoundTableProps): JSX.Element {
  const { sounds, empty, users, audience, visit, removalOf, isOfOne = false } = props;
  const userOf = ({ steamId64 }: RoundSound) => users.find((user) => user.steamId64 === steamId64);
  const isServed = (sound: RoundSound) => sound.status === 'ready' && mayHaveSound(audience, userOf(sound));
  const { roundSound: t, penalties, webhooks } = textsOf(visit.language);
  const { columns } = t.moderation;
  const stateOf = (sound: RoundSound) => {
    if (sound.status === 'failed') return t.moderation.failed;
    return sound.status === 'ready' && !isServed(sound) ? t.moderation.kept : t.steps[sound.status];
  };
  const player: Column<RoundSound> = [
    penalties.columns.player,
    (sound) => <PlayerLink steamId64={sound.steamId64} nickname={userOf(sound)?.nickname} visit={visit} />,
    'list-words',
  ];
  return (
    <ListTable
      rows={sounds}
      empty={empty}
      columns={[
        [columns.title, (sound) => <bdi>{titleOf(sound)}</bdi>, 'list-words'],
        ...(isOfOne ? [] : [player]),
        [columns.state, (sound) => stateOf(sound)],
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
          webhooks.remove,
          (sound) => (
            <ConfirmButton
              visit={visit}
              action={removalOf(sound)}
              label={webhooks.remove}
              fullLabel={t.moderation.removeNamed(isolate(titleOf(sound)))}
              title={t.moderation.removeTitle}
              lead={t.moderation.removeLead(isolate(titleOf(sound)), sound.steamId64)}
            />
          ),
          'list-action',
        ],
      ]}
    />
  );
}
