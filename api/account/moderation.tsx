import type { Db } from '../../src/db/client.ts';
import { Forbidden, NotFound, Unavailable } from '../../src/errors.ts';
import { searchUsers, setUserFlags, type USER_FLAGS } from '../../src/queries/accounts.ts';
import {
  findUnrevokedApiToken,
  listEndedApiTokens,
  listLiveApiTokens,
  revokeApiToken,
} from '../../src/queries/api-tokens.ts';
import { listAuditEntries } from '../../src/queries/audit-log.ts';
import { findUserBySteamId, type User } from '../../src/queries/users.ts';
import { readSteamId, type SteamId64 } from '../../src/steam-id.ts';
import { type ResolveVanity, readSteamReference } from '../../src/steam-profile.ts';
import type { Site } from './layout.tsx';
import { ConfirmPage, nameOf } from './layout.tsx';
import { AuditPage } from './moderation-audit-page.tsx';
import { type TokenPage, UserPage } from './moderation-user-page.tsx';
import { UsersPage } from './moderation-users-page.tsx';
import { type Notice, type Redirect, respondWithPage } from './page-response.ts';
import type { AccountRoute } from './section.ts';
import type { Signer } from './signing.ts';
import { textsOf } from './texts.ts';
import { parseTokenId } from './tokens-section.tsx';
import { type MemberVisit, readMemberForm, requireModerator } from './visit.ts';

type ModerationDeps = {
  db: Db;
  site: Site;
  signer: Signer;
  redirect: Redirect;
  onTokenRevoked: () => void;
  resolveVanity: ResolveVanity;
  /** Takes the notice of the last action, once. */
  readNotice: (visit: MemberVisit) => Notice | undefined;
  /** `OWNER_STEAMIDS` */
  ownerSteamIds: readonly SteamId64[];
};

const USERS_PER_PAGE = 25;
const ENTRIES_PER_PAGE = 50;
const ENDED_TOKENS_PER_PAGE = 25;

/** The view for administrators: users, their tokens and flags, and who changed what. */
export function moderationRoutes(deps: ModerationDeps): AccountRoute[] {
  const routes: AccountRoute[] = [
    { method: 'GET', path: '/moderation', handle: (visit) => showUsers(deps, visit) },
    { method: 'GET', path: '/moderation/audit', handle: (visit) => showAudit(deps, visit) },
    {
      method: 'GET',
      path: '/moderation/users/:steamid64',
      handle: (visit, { steamid64 }) => showUser(deps, visit, steamid64),
    },
    {
      method: 'POST',
      path: '/moderation/users/:steamid64/flags',
      handle: (visit, { steamid64 }) => saveFlags(deps, visit, steamid64),
    },
    {
      method: 'GET',
      path: '/moderation/users/:steamid64/tokens/:id/revoke',
      handle: (visit, { steamid64, id }) => askToRevoke(deps, visit, { steamid64, id }),
    },
    {
      method: 'POST',
      path: '/moderation/users/:steamid64/tokens/:id/revoke',
      handle: (visit, { steamid64, id }) => revoke(deps, visit, { steamid64, id }),
    },
  ];
  return routes.map((route) => ({
    ...route,
    handle: async (visit, params) => {
      requireModerator(visit);
      return route.handle(visit, params);
    },
  }));
}

async function showUsers(
  { db, site, readNotice, resolveVanity }: ModerationDeps,
  visit: MemberVisit,
): Promise<Response> {
  const query = (visit.url.searchParams.get('q') ?? '').slice(0, 128);
  const page = readPositive(visit.url.searchParams.get('page')) ?? 1;
  const subject = await resolveQuery(resolveVanity, query);
  const found = await searchUsers(db, { query: subject, page, perPage: USERS_PER_PAGE, now: visit.now });
  const lastPage = Math.max(1, Math.ceil(found.total / USERS_PER_PAGE));
  return respondWithPage(
    <UsersPage
      site={site}
      visit={visit}
      notice={readNotice(visit)}
      query={query}
      users={found.users}
      total={found.total}
      page={page}
      lastPage={lastPage}
    />,
  );
}

/** The SteamID behind a custom profile address; any other text, and an address that Steam does not resolve, as it is. */
async function resolveQuery(resolveVanity: ResolveVanity, query: string): Promise<string> {
  const reference = readSteamReference(query);
  if (!reference || !('vanityName' in reference)) return query;
  const steamId64 = await resolveVanity(reference.vanityName).catch((error: unknown) => {
    if (error instanceof Unavailable) return undefined;
    throw error;
  });
  return steamId64 ?? query;
}

async function showUser(deps: ModerationDeps, visit: MemberVisit, id: string | undefined): Promise<Response> {
  const user = await findNamedUser(deps.db, id);
  const tokens = await readTokenPage(deps.db, user, visit);
  return respondWithPage(
    <UserPage
      site={deps.site}
      visit={visit}
      notice={deps.readNotice(visit)}
      user={user}
      tokens={tokens}
      isFixedOwner={deps.ownerSteamIds.includes(user.steamId64)}
    />,
  );
}

/** The live tokens of a user and the newest ended ones; with `?before=`, ended ones older than that. */
async function readTokenPage(db: Db, { id }: User, { now, url }: MemberVisit): Promise<TokenPage> {
  const before = readRowId(url.searchParams.get('before'));
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

async function showAudit({ db, site }: ModerationDeps, visit: MemberVisit): Promise<Response> {
  const before = readPositive(visit.url.searchParams.get('before'));
  const entries = await listAuditEntries(db, { before, limit: ENTRIES_PER_PAGE + 1 });
  return respondWithPage(
    <AuditPage
      site={site}
      visit={visit}
      entries={entries.slice(0, ENTRIES_PER_PAGE)}
      hasOlder={entries.length > ENTRIES_PER_PAGE}
      isNewest={before === undefined}
    />,
  );
}

async function saveFlags(
  deps: ModerationDeps,
  visit: MemberVisit,
  id: string | undefined,
): Promise<Response> {
  const form = await readMemberForm(deps, visit);
  if (!visit.user.isOwner) throw new Forbidden('flags are set by owners');
  const user = await findNamedUser(deps.db, id);
  const flags = {
    isAdmin: form.get('isAdmin') === 'on',
    isOwner: form.get('isOwner') === 'on',
    hasSvip: form.get('hasSvip') === 'on',
    isServiceplus: form.get('isServiceplus') === 'on',
  } satisfies Record<(typeof USER_FLAGS)[number], boolean>;
  // Else the last owner could lock everybody out, and a configured one would come back at the next sign-in.
  const isFixedOwner = deps.ownerSteamIds.includes(user.steamId64);
  if (isFixedOwner || user.id === visit.user.id) flags.isOwner = true;
  if (isFixedOwner) flags.isAdmin = true;
  await setUserFlags(deps.db, user.steamId64, { flags, actorUserId: visit.user.id });
  return deps.redirect(visit, `${pathOf(user)}#flags`, 'flags-saved');
}

type TokenPath = { steamid64: string | undefined; id: string | undefined };

async function askToRevoke(deps: ModerationDeps, visit: MemberVisit, path: TokenPath): Promise<Response> {
  const { user, token } = await findNamedToken(deps.db, path);
  const t = textsOf(visit.locale).tokens;
  return respondWithPage(
    <ConfirmPage
      site={deps.site}
      visit={visit}
      title={t.revokeTitle}
      lead={`${nameOf(user, visit.locale)}: ${t.revokeLead(token.name, token.lastFour)}`}
      label={t.revoke}
      back={pathOf(user)}
    />,
  );
}

async function revoke(deps: ModerationDeps, visit: MemberVisit, path: TokenPath): Promise<Response> {
  await readMemberForm(deps, visit);
  const { user, token } = await findNamedToken(deps.db, path);
  const { now } = visit;
  await revokeApiToken(deps.db, token.id, { ofUserId: user.id, now, actorUserId: visit.user.id });
  deps.onTokenRevoked();
  return deps.redirect(visit, `${pathOf(user)}#tokens`, 'token-revoked');
}

async function findNamedUser(db: Db, id: string | undefined): Promise<User> {
  const steamId = readSteamId(id ?? '');
  const user = steamId && (await findUserBySteamId(db, steamId));
  if (!user) throw new NotFound('no such user');
  return user;
}

async function findNamedToken(db: Db, { steamid64, id }: TokenPath) {
  const user = await findNamedUser(db, steamid64);
  const tokenId = parseTokenId(id);
  const token = await findUnrevokedApiToken(db, { id: tokenId, userId: user.id });
  if (!token) throw new NotFound(`no live token ${tokenId}`);
  return { user, token };
}

function pathOf(user: User): string {
  return `/account/moderation/users/${user.steamId64}`;
}

/** A row id from a query parameter; undefined for anything that none can be. */
function readRowId(text: string | null): number | undefined {
  const number = readPositive(text);
  return number !== undefined && number <= 0x7fff_ffff ? number : undefined;
}

/** A number from a query parameter; undefined for anything that is no whole number from 1 to 10^15 − 1. */
function readPositive(text: string | null): number | undefined {
  return text !== null && /^[1-9][0-9]{0,14}$/.test(text) ? Number(text) : undefined;
}
