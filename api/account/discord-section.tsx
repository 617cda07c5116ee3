import type { Db } from '../../src/db/client.ts';
import { Conflict, Unavailable } from '../../src/errors.ts';
import { linkDiscord, unlinkDiscord } from '../../src/queries/accounts.ts';
import {
  buildAuthorizationUrl,
  type DiscordOAuth,
  fetchDiscordAccount,
  LinkCancelled,
  LinkRefused,
} from './discord-oauth.ts';
import { codeVerifierOf, type FlowDeps, finishFlow, startFlow } from './flow.ts';
import { Icon } from './icons.tsx';
import { attribute, ConfirmLink, ConfirmPage, CsrfField, firstLetter, type Site } from './layout.tsx';
import { PageError } from './page-error.ts';
import { type Redirect, respondWithPage } from './page-response.ts';
import type { AccountRoute, AccountSection } from './section.ts';
import { textsOf } from './texts.ts';
import { type MemberVisit, readMemberForm } from './visit.ts';

type DiscordDeps = FlowDeps & {
  db: Db;
  site: Site;
  /** Undefined when linking is not set up: then a link made otherwise is shown, or words in place of the button. */
  discord: DiscordOAuth | undefined;
  redirect: Redirect;
  onRefused: (error: Error) => void;
};

/** The Discord link: set up, bring up to date, take away. */
export function discordSection(deps: DiscordDeps): AccountSection {
  const { discord } = deps;
  return {
    id: 'discord',
    title: (locale) => textsOf(locale).discord.title,
    render: async (visit) => renderDiscord(deps, visit),
    routes: [
      { method: 'GET', path: '/discord/unlink', handle: (visit) => askToUnlink(deps, visit) },
      { method: 'POST', path: '/discord/unlink', handle: (visit) => unlink(deps, visit) },
      ...(discord ? linkRoutes(deps, discord) : []),
    ],
  };
}

function linkRoutes(deps: DiscordDeps, discord: DiscordOAuth): AccountRoute[] {
  return [
    { method: 'POST', path: '/discord/link', handle: (visit) => startLink(deps, discord, visit) },
    {
      method: 'GET',
      path: '/discord/return',
      isPage: false,
      handle: (visit) => finishLink(deps, discord, visit),
    },
  ];
}

function renderDiscord({ discord }: DiscordDeps, visit: MemberVisit): string | Promise<string> {
  const t = textsOf(visit.locale).discord;
  const { user } = visit;
  return (
    <>
      <p class="lead">{t.lead}</p>
      {user.discordId !== null && (
        <p class="linked">
          <DiscordAvatar user={user} />
          <span>
            <span class="hint">{t.linkedAs}</span>
            <strong>
              <bdi safe>{user.discordUsername || user.discordId}</bdi>
            </strong>
          </span>
        </p>
      )}
      {!discord && user.discordId === null && <p class="empty">{t.notSetUp}</p>}
      <div class="row">
        {discord && (
          <form method="post" action="/account/discord/link">
            <CsrfField visit={visit} />
            <button
              class={user.discordId === null ? 'button button-primary' : 'button button-quiet'}
              type="submit"
            >
              <Icon name="link" />
              {user.discordId === null ? t.link : t.relink}
            </button>
          </form>
        )}
        {user.discordId !== null && (
          <ConfirmLink
            href="/account/discord/unlink"
            label={t.unlink}
            title={t.unlinkTitle}
            lead={t.unlinkLead(user.discordUsername || user.discordId)}
            visit={visit}
          />
        )}
      </div>
    </>
  );
}

function DiscordAvatar({ user }: { user: MemberVisit['user'] }): JSX.Element {
  if (!user.discordId || !user.discordAvatar) {
    return (
      <span class="avatar avatar-small avatar-letter" aria-hidden="true" safe>
        {firstLetter(user.discordUsername)}
      </span>
    );
  }
  const address = `https://cdn.discordapp.com/avatars/${user.discordId}/${user.discordAvatar}.png?size=64`;
  return (
    <img
      class="avatar avatar-small"
      src={attribute(address)}
      alt=""
      width="64"
      height="64"
      loading="lazy"
      data-letter={attribute(firstLetter(user.discordUsername))}
    />
  );
}

/** To Discord, with a state that only this browser and only this session can bring back. */
async function startLink(deps: DiscordDeps, discord: DiscordOAuth, visit: MemberVisit): Promise<Response> {
  await readMemberForm(deps, visit);
  const { state, cookie } = startFlow(deps, 'discord-link', {
    boundTo: visit.session.idHash,
    now: visit.now,
  });
  visit.cookies.push(cookie);
  const location = buildAuthorizationUrl(discord, {
    state,
    codeVerifier: codeVerifierOf(deps.signer, state),
  });
  return new Response(null, { status: 303, headers: { location } });
}

async function finishLink(deps: DiscordDeps, discord: DiscordOAuth, visit: MemberVisit): Promise<Response> {
  visit.cookies.push(deps.cookies.write('discord-link', '', 0));
  const flow = { boundTo: visit.session.idHash, now: visit.now };
  const { state } = (await finishFlow(deps, 'discord-link', visit.request, flow)) ?? {};
  if (state === undefined) throw new PageError('link-refused', 400);
  try {
    const expected = { state, codeVerifier: codeVerifierOf(deps.signer, state) };
    await linkDiscord(deps.db, visit.user, await fetchDiscordAccount(discord, visit.url.search, expected));
  } catch (error) {
    if (error instanceof LinkCancelled) return deps.redirect(visit, '/account#discord', 'link-cancelled');
    if (error instanceof Conflict) throw new PageError('discord-linked-elsewhere', 409, { cause: error });
    if (error instanceof Unavailable) throw new PageError('discord-unavailable', 503, { cause: error });
    if (!(error instanceof LinkRefused)) throw error;
    deps.onRefused(error);
    throw new PageError('link-refused', 400, { cause: error });
  }
  return deps.redirect(visit, '/account#discord', 'discord-linked');
}

async function askToUnlink({ site }: DiscordDeps, visit: MemberVisit): Promise<Response> {
  const t = textsOf(visit.locale).discord;
  const { discordId, discordUsername } = visit.user;
  if (discordId === null) throw new PageError('not-found', 404);
  return respondWithPage(
    <ConfirmPage
      site={site}
      visit={visit}
      title={t.unlinkTitle}
      lead={t.unlinkLead(discordUsername || discordId)}
      label={t.unlink}
      back="/account#discord"
    />,
  );
}

async function unlink(deps: DiscordDeps, visit: MemberVisit): Promise<Response> {
  await readMemberForm(deps, visit);
  await unlinkDiscord(deps.db, visit.user);
  return deps.redirect(visit, '/account#discord', 'discord-unlinked');
}
