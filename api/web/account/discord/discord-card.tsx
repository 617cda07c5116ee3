import type { JSX } from 'hono/jsx/jsx-runtime';
import { isolate } from '../../../../src/domain/text/isolate.ts';
import { Card } from '../../layout/card.tsx';
import { ConfirmLink } from '../../layout/confirm.tsx';
import { CsrfField } from '../../layout/csrf-field.tsx';
import { Icon } from '../../layout/icons.tsx';
import { textsOf } from '../../layout/locales/texts.ts';
import { firstLetter } from '../../layout/person.tsx';
import type { Notice } from '../../visit/notice.ts';
import type { MemberVisit } from '../../visit/visit.ts';

type DiscordProps = {
  /** False when linking is not configured: an existing link is still shown, without the button to link again. */
  canLink: boolean;
  visit: MemberVisit;
  notice: Notice | undefined;
};

/** The linked Discord account, and the buttons to link, refresh and unlink it. */
export function DiscordCard({ canLink, visit, notice }: DiscordProps): JSX.Element {
  const t = textsOf(visit.locale).discord;
  const { user } = visit;
  return (
    <Card id="discord" title={t.title} icon="link" notice={notice}>
      <p class="lead">{t.lead}</p>
      {user.discordId !== null && (
        <p class="linked">
          <DiscordAvatar user={user} />
          <span>
            <span class="hint">{t.linkedAs}</span>
            <strong>
              <bdi>{user.discordUsername || user.discordId}</bdi>
            </strong>
          </span>
        </p>
      )}
      {!canLink && user.discordId === null && <p class="empty">{t.notSetUp}</p>}
      <div class="row">
        {canLink && (
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
            lead={t.unlinkLead(isolate(user.discordUsername || user.discordId), canLink)}
            visit={visit}
          />
        )}
      </div>
      {(user.discordId !== null || user.hidesDiscord) && <Visibility visit={visit} />}
    </Card>
  );
}

/** Whether others can see the link, and the button that changes this. */
function Visibility({ visit }: { visit: MemberVisit }): JSX.Element {
  const t = textsOf(visit.locale).discord;
  const { hidesDiscord } = visit.user;
  return (
    <form method="post" action="/account/discord/visibility" class="row">
      <CsrfField visit={visit} />
      <input type="hidden" name="hidden" value={hidesDiscord ? 'no' : 'yes'} />
      <p class="hint">{hidesDiscord ? t.isHidden : t.isShown}</p>
      <button class="button button-quiet" type="submit">
        {hidesDiscord ? t.show : t.hide}
      </button>
    </form>
  );
}

function DiscordAvatar({ user }: { user: MemberVisit['user'] }): JSX.Element {
  if (!user.discordId || !user.discordAvatar) {
    return (
      <span class="avatar avatar-small avatar-letter" aria-hidden="true">
        {firstLetter(user.discordUsername)}
      </span>
    );
  }
  const address = `https://cdn.discordapp.com/avatars/${user.discordId}/${user.discordAvatar}.png?size=64`;
  return (
    <img
      class="avatar avatar-small"
      src={address}
      alt=""
      width="64"
      height="64"
      loading="lazy"
      data-letter={firstLetter(user.discordUsername)}
    />
  );
}
