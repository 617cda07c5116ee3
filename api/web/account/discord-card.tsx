import type { JSX } from 'hono/jsx/jsx-runtime';
import type { HtmlEscapedString } from 'hono/utils/html';
import { Conflict, InvalidInput, Unavailable } from '../../../src/domain/errors.ts';
import { isolate } from '../../../src/domain/text/isolate.ts';
import { findPenaltyNewsState, setPenaltyNews } from '../../../src/queries/discord/penalty-news.ts';
import { linkDiscord, setDiscordHidden, unlinkDiscord } from '../../../src/queries/users/user-changes.ts';
import { withNewDeadline } from '../../../src/runtime/request.ts';
import { Card } from '../layout/card.tsx';
import { ConfirmButton } from '../layout/confirm-button.tsx';
import { Avatar } from '../layout/person.tsx';
import { PostButton, PostForm } from '../layout/post-form.tsx';
import { textsOf } from '../locales/texts.ts';
import { PageError } from '../request/page-error.ts';
import type { IdentifyAgain, UserRoute } from '../request/user-route.ts';
import type { UserVisit } from '../request/visit.ts';
import { codeVerifierOf, finishAttempt, startAttempt } from '../sign-in/attempt.ts';
import type { AccountDeps, CardProps } from './account-deps.ts';
import {
  buildAuthorizationUrl,
  type DiscordOAuth,
  fetchDiscordAccount,
  LinkCancelled,
  LinkRefused,
} from './discord-oauth.ts';

const HERE = '/account#discord';
/** The name of the box for direct messages. */
const TELLS_PENALTIES = 'penalties';

/** The linked Discord account, the buttons to link, refresh and unlink it, and whether it gets news of penalties. */
export async function DiscordCard({ deps, visit }: CardProps): Promise<HtmlEscapedString> {
  const t = textsOf(visit.language).discord;
  const { user } = visit;
  // While linking is not configured, an existing link is still shown, but not the button to link again.
  const canLink = deps.discord !== undefined;
  const isLinked = user.discordId !== null;
  return (
    <Card id="discord" title={t.title} icon="link" notice={visit.notice}>
      <p class="lead">{t.lead}</p>
      {isLinked && (
        <p class="linked">
          <Avatar name={user.discordUsername} src={discordAvatarUrl(user)} size="small" />
          <span>
            <span class="hint">{t.linkedAs}</span>
            <strong>
              <bdi>{user.discordUsername || user.discordId}</bdi>
            </strong>
          </span>
        </p>
      )}
      {!canLink && !isLinked && <p class="empty">{t.notSetUp}</p>}
      <div class="row">
        {canLink && (
          <PostButton
            visit={visit}
            action="/account/discord/link"
            icon="link"
            label={isLinked ? t.relink : t.link}
            class={isLinked ? 'button button-quiet' : 'button button-primary'}
          />
        )}
        {isLinked && (
          <ConfirmButton
            visit={visit}
            action="/account/discord/unlink"
            label={t.unlink}
            title={t.unlinkTitle}
            lead={t.unlinkLead(isolate(user.discordUsername || user.discordId || ''), canLink)}
          />
        )}
      </div>
      {(isLinked || user.hidesDiscord) && <Visibility visit={visit} />}
      {isLinked && <PenaltyNews state={await findPenaltyNewsState(deps.db, user.id)} visit={visit} />}
    </Card>
  );
}

/** Whether others can see the link, and the button that changes this. */
function Visibility({ visit }: { visit: UserVisit }): JSX.Element {
  const t = textsOf(visit.language).discord;
  const { hidesDiscord } = visit.user;
  return (
    <PostForm visit={visit} action="/account/discord/visibility" class="row">
      <input type="hidden" name="hidden" value={hidesDiscord ? 'no' : 'yes'} />
      <p class="hint">{hidesDiscord ? t.isHidden : t.isShown}</p>
      <button class="button button-quiet" type="submit">
        {hidesDiscord ? t.show : t.hide}
      </button>
    </PostForm>
  );
}

/** The box for direct messages about the user's own penalties. */
function PenaltyNews({
  state,
  visit,
}: {
  state: Awaited<ReturnType<typeof findPenaltyNewsState>>;
  visit: UserVisit;
}): JSX.Element {
  const t = textsOf(visit.language).discord;
  return (
    <PostForm visit={visit} action="/account/discord/penalties" class="create create-stacked">
      {state === 'closed' && <p class="hint">{t.inboxClosed}</p>}
      <label class="check">
        <input type="checkbox" name={TELLS_PENALTIES} checked={state === 'on'} />
        <span>{t.tellsPenalties}</span>
      </label>
      <button class="button button-quiet" type="submit">
        {t.saveNews}
      </button>
    </PostForm>
  );
}

/** As JPEG, because a transparent picture would show the letter under it. Empty: the account has no picture. */
function discordAvatarUrl({ discordId, discordAvatar }: UserVisit['user']): string {
  return discordAvatar && `https://cdn.discordapp.com/avatars/${discordId}/${discordAvatar}.jpg?size=64`;
}

/** Routes that link and unlink Discord, and hide or show the link. */
export function discordRoutes(deps: AccountDeps): UserRoute[] {
  const { discord } = deps;
  return [
    { method: 'POST', path: '/discord/unlink', handle: (visit) => unlink(deps, visit) },
    { method: 'POST', path: '/discord/visibility', handle: (visit) => setVisibility(deps, visit) },
    { method: 'POST', path: '/discord/penalties', handle: (visit) => savePenaltyNews(deps, visit) },
    ...(discord ? linkRoutes(deps, discord) : []),
  ];
}

function linkRoutes(deps: AccountDeps, discord: DiscordOAuth): UserRoute[] {
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

/** Redirects to Discord, with a state that is valid only in this session. */
async function startLink(deps: AccountDeps, discord: DiscordOAuth, visit: UserVisit): Promise<Response> {
  const state = startAttempt(deps.signer, 'discord-link', { boundTo: visit.session.idHash, now: visit.now });
  const codeVerifier = codeVerifierOf(deps.signer, state);
  return deps.redirect(visit, buildAuthorizationUrl(discord, { state, codeVerifier }));
}

async function finishLink(
  deps: AccountDeps,
  discord: DiscordOAuth,
  { visit, identifyAgain }: { visit: UserVisit; identifyAgain: IdentifyAgain },
): Promise<Response> {
  const state = visit.url.searchParams.get('state') ?? '';
  const options = { boundTo: visit.session.idHash, now: visit.now };
  if (!(await finishAttempt(deps, 'discord-link', state, options))) throw new PageError('link-refused', 400);
  try {
    const attempt = { state, codeVerifier: codeVerifierOf(deps.signer, state) };
    const account = await fetchDiscordAccount(discord, visit.url.search, attempt);
    await withNewDeadline(async () => {
      // Meanwhile the session may have ended, or the user may have been blocked.
      const { user } = await identifyAgain();
      await linkDiscord(deps.db, user, account);
    });
  } catch (error) {
    if (error instanceof LinkCancelled) return deps.redirect(visit, HERE, 'link-cancelled');
    if (error instanceof Conflict) throw new PageError('discord-linked-elsewhere', 409, { cause: error });
    if (error instanceof Unavailable) {
      deps.onUnavailable('discord', error);
      throw new PageError('discord-unavailable', 503, { cause: error });
    }
    if (!(error instanceof LinkRefused)) throw error;
    deps.onRefused(error);
    throw new PageError('link-refused', 400, { cause: error });
  }
  return deps.redirect(visit, HERE, 'discord-linked');
}

async function setVisibility(deps: AccountDeps, visit: UserVisit): Promise<Response> {
  const hidden = visit.form.get('hidden');
  if (hidden !== 'yes' && hidden !== 'no') throw new InvalidInput('hidden must be yes or no');
  await setDiscordHidden(deps.db, visit.user, hidden === 'yes');
  return deps.redirect(visit, HERE, hidden === 'yes' ? 'discord-hidden' : 'discord-shown');
}

async function savePenaltyNews(deps: AccountDeps, visit: UserVisit): Promise<Response> {
  const isOn = visit.form.has(TELLS_PENALTIES);
  await setPenaltyNews(deps.db, visit.user, isOn ? visit.language : undefined);
  return deps.redirect(visit, HERE, isOn ? 'penalty-news-on' : 'penalty-news-off');
}

async function unlink(deps: AccountDeps, visit: UserVisit): Promise<Response> {
  await unlinkDiscord(deps.db, visit.user);
  return deps.redirect(visit, HERE, 'discord-unlinked');
}
