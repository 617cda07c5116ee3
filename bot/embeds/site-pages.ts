import type { SteamId64 } from '../../src/domain/steam-id.ts';

/** Who follows a link about a player: that player, moderators, or everyone who sees the message. */
export type LinkReader = 'player' | 'moderators' | 'everyone';

/** The addresses of this site's pages that messages link to. */
export type SitePages = {
  home: string;
  account: string;
  server: (slug: string) => string;
  /** Discord refuses `steam://` in buttons, so they lead to this page, which has such a link. */
  connect: (slug: string) => string;
  penalty: (id: number) => string;
  appeal: (id: number, reader: 'player' | 'moderators') => string;
  /** The appeals that wait for moderators. */
  appeals: string;
  /** All penalties; undefined while the list is not public. */
  penalties: string | undefined;
  /** Undefined when the reader may be anybody and penalties are not public. */
  player: (steamId: SteamId64, reader: LinkReader) => string | undefined;
};

/** @param publicUrl without a slash at the end. */
export function createSitePages({
  publicUrl,
  arePenaltiesPublic,
}: {
  publicUrl: string;
  arePenaltiesPublic: boolean;
}): SitePages {
  const account = `${publicUrl}/account`;
  const moderation = `${account}/moderation`;
  const penalties = arePenaltiesPublic ? `${publicUrl}/penalties` : undefined;
  return {
    home: `${publicUrl}/`,
    account,
    server: (slug) => `${publicUrl}/servers/${encodeURIComponent(slug)}`,
    connect: (slug) => `${publicUrl}/connect/${encodeURIComponent(slug)}`,
    penalty: (id) => `${moderation}/penalties/${id}`,
    appeal: (id, reader) => `${reader === 'player' ? account : moderation}/appeals/${id}`,
    appeals: `${moderation}/appeals`,
    penalties,
    player: (steamId, reader) => {
      if (reader === 'player') return account;
      if (reader === 'moderators') return `${moderation}/users/${steamId}`;
      return penalties && `${penalties}?q=${steamId}`;
    },
  };
}
