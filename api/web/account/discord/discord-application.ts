import type { DiscordOAuth } from './discord-oauth.ts';

type Application = {
  apiUrl: string;
  clientId: string | undefined;
  clientSecret: string | undefined;
  publicUrl: string;
  fetch: DiscordOAuth['fetch'];
  log: { info: (fields: object, message: string) => void };
};

/** The OAuth2 application through which users link Discord; undefined when linking is not configured. */
export function readDiscordApplication(application: Application): DiscordOAuth | undefined {
  const { apiUrl, clientId, clientSecret, publicUrl, fetch: fetchUrl, log } = application;
  if (!clientId || !clientSecret) return undefined;
  return {
    apiUrl,
    clientId,
    clientSecret,
    redirectUri: `${publicUrl}/account/discord/return`,
    fetch: fetchUrl,
    onRevokeFailed: (cause: unknown) =>
      log.info({ cause: String(cause) }, 'Discord did not revoke the token'),
  };
}
