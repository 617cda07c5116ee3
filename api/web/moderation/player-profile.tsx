import type { JSX } from 'hono/jsx/jsx-runtime';
import { Unavailable } from '../../../src/domain/errors.ts';
import { isAdministrator } from '../../../src/domain/rights/administrator.ts';
import { maySeeDiscord } from '../../../src/domain/rights/discord-visibility.ts';
import { type SteamId64, steamProfileUrl } from '../../../src/domain/steam-id.ts';
import { listNamesInPenalties } from '../../../src/queries/penalties/player-record.ts';
import type { SteamBans } from '../../../src/queries/steam-bans.ts';
import type { User } from '../../../src/queries/users/users.ts';
import { TimeLimitExceeded, withTimeLimit } from '../../../src/runtime/time-limit.ts';
import { Facts } from '../layout/facts.tsx';
import { Badges } from '../layout/flags.tsx';
import { formatRelative } from '../layout/locales/locale.ts';
import { textsOf } from '../layout/locales/texts.ts';
import { FullMoment } from '../layout/moment.tsx';
import { Avatar } from '../layout/person.tsx';
import type { MemberVisit } from '../request/visit.ts';
import type { ModerationDeps } from './frame.tsx';
import { pathOfPenaltiesBy } from './penalties-page.tsx';

/** How long a page waits for Steam; a response that comes later is there for the next view. */
const STEAM_WAIT_MS = 700;
const MAX_NAMES = 20;
const DAY_MS = 86_400_000;

/** What is known about a player beside their account and penalties. */
type PlayerProfile = {
  /** `unknown`: Steam does not respond; undefined without `STEAM_API_KEY`. */
  steamBans: SteamBans | 'unknown' | undefined;
  /** Undefined when Steam does not tell, as for a private profile. */
  steamAccountCreatedAt: Date | undefined;
  /** The newest first. */
  names: string[];
};

/** Loads a player's profile, which is incomplete while Steam is slow. */
export async function loadProfile(
  { db, lookUpSteamBans, fetchProfile }: ModerationDeps,
  steamId64: SteamId64,
): Promise<PlayerProfile> {
  const inTime = <T,>(work: Promise<T>) =>
    withTimeLimit(work, STEAM_WAIT_MS).catch((error: unknown) => {
      if (error instanceof TimeLimitExceeded || error instanceof Unavailable) return undefined;
      throw error;
    });
  const [steamBans, profile, names] = await Promise.all([
    lookUpSteamBans && inTime(lookUpSteamBans(steamId64)).then((bans) => bans ?? 'unknown'),
    inTime(fetchProfile(steamId64)),
    listNamesInPenalties(db, steamId64, { limit: MAX_NAMES + 1 }),
  ]);
  return { steamBans, steamAccountCreatedAt: profile?.accountCreatedAt, names };
}

type ProfileProps = {
  steamId64: SteamId64;
  /** The name that the page shows. */
  name: string;
  /** Undefined for a player without an account. */
  user: User | undefined;
  profile: PlayerProfile;
  visit: MemberVisit;
};

/** Who a player is: here, on Discord unless they hide it, and on Steam. */
export function ProfileCard({ steamId64, name, user, profile, visit }: ProfileProps): JSX.Element {
  const { moderation: t, records } = textsOf(visit.locale);
  const { steamBans, steamAccountCreatedAt } = profile;
  const formerNames = profile.names.filter((each) => each !== name).slice(0, MAX_NAMES);
  return (
    <section class="card person-card" aria-labelledby="person">
      {user && <Avatar name={user.nickname} src={user.avatarUrl} size="large" />}
      <div>
        <h2 id="person">
          <bdi>{name}</bdi>
        </h2>
        {user ? <Badges user={user} locale={visit.locale} /> : <p class="hint">{t.noAccount}</p>}
        <Facts
          class="facts facts-inline"
          facts={[
            [
              t.columns.steamId,
              <a href={steamProfileUrl(steamId64)} rel="noreferrer noopener">
                <code>{steamId64}</code>
              </a>,
            ],
            [
              records.steamAccount,
              steamAccountCreatedAt && (
                <>
                  <FullMoment at={steamAccountCreatedAt} locale={visit.locale} />{' '}
                  <span class="hint">({formatRelative(visit.locale, steamAccountCreatedAt, visit.now)})</span>
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
            [t.columns.discord, user && <DiscordOf user={user} visit={visit} />],
            [t.columns.joined, user && <FullMoment at={user.createdAt} locale={visit.locale} />],
          ]}
        />
        <p class="row">
          <a href={pathOfPenaltiesBy(steamId64)}>{records.penaltiesBy}</a>
        </p>
      </div>
    </section>
  );
}

/** A user's Discord account, unless it is hidden from the visitor. */
function DiscordOf({ user, visit }: { user: User; visit: MemberVisit }): JSX.Element {
  const viewer = { steamId64: visit.user.steamId64, isAdministrator: isAdministrator(visit.user) };
  if (user.discordId === null || !maySeeDiscord(user, viewer)) {
    return <span>{textsOf(visit.locale).moderation.noDiscord}</span>;
  }
  return (
    <>
      <bdi>{user.discordUsername}</bdi> <code>{user.discordId}</code>
    </>
  );
}

/** `1 VAC ban · community ban (last one 30 days ago)`; "none" only when Steam said so. */
function describeBans(bans: SteamBans | 'unknown', { locale, now }: MemberVisit): string {
  const t = textsOf(locale).records.steamBans;
  if (bans === 'unknown') return t.unknown;
  const { vacBans, gameBans, daysSinceLastBan, isCommunityBanned } = bans;
  const kinds = [
    vacBans > 0 && t.vac(vacBans),
    gameBans > 0 && t.game(gameBans),
    isCommunityBanned && t.community,
  ].filter((kind) => kind !== false);
  if (kinds.length === 0) return t.none;
  const lastAt = new Date(now.getTime() - daysSinceLastBan * DAY_MS);
  const last = vacBans + gameBans > 0 ? ` (${t.last(formatRelative(locale, lastAt, now))})` : '';
  return kinds.join(' · ') + last;
}
