import type { JSX } from 'hono/jsx/jsx-runtime';
import { isolate } from '../../../../src/domain/text/isolate.ts';
import { Card } from '../../layout/card.tsx';
import { ConfirmLink } from '../../layout/confirm.tsx';
import { CsrfField } from '../../layout/csrf-field.tsx';
import { Icon } from '../../layout/icons.tsx';
import { textsOf } from '../../layout/locales/texts.ts';
import { Avatar } from '../../layout/person.tsx';
import type { Notice } from '../../request/notice.ts';
import type { MemberVisit } from '../../request/visit.ts';

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
          <Avatar name={user.discordUsername} src={discordAvatarUrl(user)} size="small" />
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

/** As JPEG, because a transparent picture would show the letter under it. Empty: the account has no picture. */
function discordAvatarUrl({ discordId, discordAvatar }: MemberVisit['user']): string {
  return discordAvatar && `https://cdn.discordapp.com/avatars/${discordId}/${discordAvatar}.jpg?size=64`;
}
