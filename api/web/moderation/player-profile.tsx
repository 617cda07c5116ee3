import type { JSX } from 'hono/jsx/jsx-runtime';
import type { HtmlEscapedString } from 'hono/utils/html';
import { maySeeDiscord, viewerOf } from '../../../src/domain/rights/discord-visibility.ts';
import { type SteamId64, steamProfileUrl } from '../../../src/domain/steam-id.ts';
import { DAY_MS } from '../../../src/domain/time.ts';
import { hasIssuedPenalties } from '../../../src/queries/penalties/admins.ts';
import { listNamesInPenalties } from '../../../src/queries/penalties/player-record.ts';
import type { SteamBans } from '../../../src/queries/steam-bans.ts';
import type { User } from '../../../src/queries/users/users.ts';
import { withTimeLimit } from '../../../src/runtime/time-limit.ts';
import { Facts } from '../layout/facts.tsx';
import { Badges } from '../layout/flags.tsx';
import { FullMoment } from '../layout/moment.tsx';
import { Avatar } from '../layout/person.tsx';
import { formatRelative } from '../locales/locale.ts';
import { textsOf } from '../locales/texts.ts';
import type { UserVisit } from '../request/visit.ts';
import type { ModerationDeps } from './frame.tsx';
import { pathOfPenaltiesBy } from './penalties.tsx';

/** How long a page waits for Steam; a response that comes later is there for the next view. */
const STEAM_WAIT_MS = 700;
const MAX_NAMES = 20;

type ProfileProps = {
  deps: ModerationDeps;
  steamId64: SteamId64;
  /** The name that the page shows. */
  name: string;
  /** Undefined for a player without an account. */
  user: User | undefined;
  visit: UserVisit;
};

/** Who a player is: here, on Discord unless they hide it, and on Steam. */
export async function ProfileCard(props: ProfileProps): Promise<HtmlEscapedString> {
  const { deps, steamId64, name, user, visit } = props;
  const { lookUpSteamBans, fetchProfile } = deps;
  const [steamBans, steamAccountCreatedAt, names, isIssuer] = await Promise.all([
    lookUpSteamBans && inTime(lookUpSteamBans(steamId64)).then((bans) => bans ?? 'unknown'),
    inTime(fetchProfile(steamId64)).then((profile) => profile?.accountCreatedAt),
    listNamesInPenalties(deps.db, steamId64, { limit: MAX_NAMES + 1 }),
    hasIssuedPenalties(deps.db, steamId64),
  ]);
  const formerNames = names.filter((each) => each !== name).slice(0, MAX_NAMES);
  const { moderation: t, records, account, discord } = textsOf(visit.language);
  return (
    <section class="card person-card" aria-labelledby="person">
      {user && <Avatar name={user.nickname} src={user.avatarUrl} size="large" />}
      <div>
        <h2 id="person">
          <bdi>{name}</bdi>
        </h2>
        {user ? <Badges user={user} language={visit.language} /> : <p class="hint">{t.noAccount}</p>}
        <Facts
          class="facts facts-inline"
          facts={[
            [
              account.steamId,
              <a href={steamProfileUrl(steamId64)} rel="noreferrer noopener">
                <code>{steamId64}</code>
              </a>,
            ],
            [
              records.steamAccount,
              steamAccountCreatedAt && (
                <>
                  <FullMoment at={steamAccountCreatedAt} visit={visit} />{' '}
                  <span class="hint">
                    ({formatRelative(visit.language, steamAccountCreatedAt, visit.now)})
                  </span>
                </>
              ),
            ],
            [records.steamBans.title, steamBans && describeBans(steamBans, visit)],
            [
              records.formerNames,
              formerNames.length > 0 &&
                formerNames.map((each, index) => (
                  <>
                    {index > 0 && ', '}
                    <bdi>{each}</bdi>
                  </>
                )),
            ],
            [discord.title, user && <DiscordOf user={user} visit={visit} />],
            [t.columns.joined, user && <FullMoment at={user.createdAt} visit={visit} />],
          ]}
        />
        {isIssuer && (
          <p class="row">
            <a href={pathOfPenaltiesBy(steamId64)}>{records.penaltiesBy}</a>
          </p>
        )}
      </div>
    </section>
  );
}

/** What Steam responds; undefined while it is slow or does not respond. */
function inTime<T>(response: Promise<T>): Promise<T | undefined> {
  return withTimeLimit(response, STEAM_WAIT_MS).catch(() => undefined);
}

/** A user's Discord account, unless it is hidden from the visitor. */
function DiscordOf({ user, visit }: { user: User; visit: UserVisit }): JSX.Element {
  if (user.discordId === null || !maySeeDiscord(user, viewerOf(visit.user))) {
    return <span>{textsOf(visit.language).moderation.noDiscord}</span>;
  }
  return (
    <>
      <bdi>{user.discordUsername}</bdi> <code>{user.discordId}</code>
    </>
  );
}

/** `1 VAC ban · community ban (last one 30 days ago)`; "none" only when Steam said so. */
function describeBans(bans: SteamBans | 'unknown', { language, now }: UserVisit): string {
  const t = textsOf(language).records.steamBans;
  if (bans === 'unknown') return t.unknown;
  const { vacBans, gameBans, daysSinceLastBan, isCommunityBanned } = bans;
  const kinds = [
    vacBans > 0 && t.vac(vacBans),
    gameBans > 0 && t.game(gameBans),
    isCommunityBanned && t.community,
  ].filter((kind) => kind !== false);
  if (kinds.length === 0) return t.none;
  const lastAt = new Date(now.getTime() - daysSinceLastBan * DAY_MS);
  const last = vacBans + gameBans > 0 ? ` (${t.last(formatRelative(language, lastAt, now))})` : '';
  return kinds.join(' · ') + last;
}
