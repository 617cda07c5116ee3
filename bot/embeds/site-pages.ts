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
  player: (steamId: SteamId64, reader: LinkReader) => string;
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
  return {
    home: `${publicUrl}/`,
    account,
    server: (slug) => `${publicUrl}/servers/${encodeURIComponent(slug)}`,
    connect: (slug) => `${publicUrl}/connect/${encodeURIComponent(slug)}`,
    penalty: (id) => `${moderation}/penalties/${id}`,
    appeal: (id, reader) => `${reader === 'player' ? account : moderation}/appeals/${id}`,
    player: (steamId, reader) => {
      if (reader === 'player') return account;
      const isPublic = reader === 'everyone' && arePenaltiesPublic;
      return isPublic ? `${publicUrl}/penalties?q=${steamId}` : `${moderation}/users/${steamId}`;
    },
  };
}
