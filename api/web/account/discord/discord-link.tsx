import type { Db } from '../../../../src/db/client.ts';
import { Conflict, InvalidInput, Unavailable } from '../../../../src/domain/errors.ts';
import { isolate } from '../../../../src/domain/text/isolate.ts';
import { linkDiscord, setDiscordHidden, unlinkDiscord } from '../../../../src/queries/users/user-changes.ts';
import { ConfirmPage } from '../../layout/confirm.tsx';
import type { Site } from '../../layout/layout.tsx';
import { textsOf } from '../../layout/locales/texts.ts';
import type { ProviderFailed } from '../../pages-deps.ts';
import type { IdentifyAgain, MemberRoute } from '../../request/member-route.ts';
import type { Redirect } from '../../request/notice.ts';
import { PageError } from '../../request/page-error.ts';
import { respondWithPage } from '../../request/page-response.ts';
import type { MemberVisit } from '../../request/visit.ts';
import { type AttemptDeps, codeVerifierOf, finishAttempt, startAttempt } from '../../sign-in/attempt.ts';
import {
  buildAuthorizationUrl,
  type DiscordOAuth,
  fetchDiscordAccount,
  LinkCancelled,
  LinkRefused,
} from './discord-oauth.ts';

export type DiscordDeps = AttemptDeps & {
  db: Db;
  site: Site;
  /** Undefined when linking is not configured. */
  discord: DiscordOAuth | undefined;
  redirect: Redirect;
  onRefused: (error: Error) => void;
  onUnavailable: ProviderFailed;
};

/** Routes that link and unlink Discord, and hide or show the link. */
export function discordRoutes(deps: DiscordDeps): MemberRoute[] {
  const { discord } = deps;
  return [
    { method: 'GET', path: '/discord/unlink', handle: (visit) => showUnlinkConfirmation(deps, visit) },
    { method: 'POST', path: '/discord/unlink', handle: (visit) => unlink(deps, visit) },
    { method: 'POST', path: '/discord/visibility', handle: (visit) => setVisibility(deps, visit) },
    ...(discord ? linkRoutes(deps, discord) : []),
  ];
}

function linkRoutes(deps: DiscordDeps, discord: DiscordOAuth): MemberRoute[] {
  return [
    {
      method: 'POST',
      path: '/discord/link',
      isAttempt: true,
      handle: (visit) => startLink(deps, discord, visit),
    },
    {
      method: 'GET',
      path: '/discord/return',
      isPage: false,
      isAttempt: true,
      handle: (visit, _, identifyAgain) => finishLink(deps, discord, { visit, identifyAgain }),
    },
  ];
}

/** Redirects to Discord, with a state that is valid only in this browser and this session. */
async function startLink(deps: DiscordDeps, discord: DiscordOAuth, visit: MemberVisit): Promise<Response> {
  const state = startAttempt(deps, 'discord-link', visit, { boundTo: visit.session.idHash });
  const location = buildAuthorizationUrl(discord, {
    state,
    codeVerifier: codeVerifierOf(deps.signer, state),
  });
  return new Response(null, { status: 303, headers: { location } });
}

async function finishLink(
  deps: DiscordDeps,
  discord: DiscordOAuth,
  { visit, identifyAgain }: { visit: MemberVisit; identifyAgain: IdentifyAgain },
): Promise<Response> {
  const options = { boundTo: visit.session.idHash };
  const { state } = (await finishAttempt(deps, 'discord-link', visit, options)) ?? {};
  if (state === undefined) throw new PageError('link-refused', 400);
  try {
    const expected = { state, codeVerifier: codeVerifierOf(deps.signer, state) };
    const account = await fetchDiscordAccount(discord, visit.url.search, expected);
    // Meanwhile the session may have ended, or the user may have been blocked.
    const { user } = await identifyAgain();
    await linkDiscord(deps.db, user, account);
  } catch (error) {
    if (error instanceof LinkCancelled) return deps.redirect(visit, '/account#discord', 'link-cancelled');
    if (error instanceof Conflict) throw new PageError('discord-linked-elsewhere', 409, { cause: error });
    if (error instanceof Unavailable) {
      deps.onUnavailable('discord', error);
      throw new PageError('discord-unavailable', 503, { cause: error });
    }
    if (!(error instanceof LinkRefused)) throw error;
    deps.onRefused(error);
    throw new PageError('link-refused', 400, { cause: error });
  }
  return deps.redirect(visit, '/account#discord', 'discord-linked');
}

async function showUnlinkConfirmation(
  { site, discord, redirect }: DiscordDeps,
  visit: MemberVisit,
): Promise<Response> {
  const t = textsOf(visit.locale).discord;
  const { discordId, discordUsername } = visit.user;
  if (discordId === null) return redirect(visit, '/account#discord', 'discord-unlinked');
  return respondWithPage(
    <ConfirmPage
      site={site}
      visit={visit}
      title={t.unlinkTitle}
      lead={t.unlinkLead(isolate(discordUsername || discordId), discord !== undefined)}
      label={t.unlink}
      back="/account#discord"
    />,
  );
}

async function setVisibility(deps: DiscordDeps, visit: MemberVisit): Promise<Response> {
  const hidden = visit.form.get('hidden');
  if (hidden !== 'yes' && hidden !== 'no') throw new InvalidInput('hidden must be yes or no');
  await setDiscordHidden(deps.db, visit.user, hidden === 'yes');
  return deps.redirect(visit, '/account#discord', hidden === 'yes' ? 'discord-hidden' : 'discord-shown');
}

async function unlink(deps: DiscordDeps, visit: MemberVisit): Promise<Response> {
  await unlinkDiscord(deps.db, visit.user);
  return deps.redirect(visit, '/account#discord', 'discord-unlinked');
}
