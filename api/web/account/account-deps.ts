import type { Site } from '../layout/layout.tsx';
import type { PagesDeps } from '../pages-deps.ts';
import type { Cookies } from '../request/cookies.ts';
import type { Redirect } from '../request/notice.ts';
import type { Signer } from '../request/signing.ts';
import type { UserVisit } from '../request/visit.ts';
import type { DiscordOAuth } from './discord-oauth.ts';

/** What a card of the account page needs. */
export type CardProps = { deps: AccountDeps; visit: UserVisit };

/** The dependencies of signing in and of the account pages, made once from {@link PagesDeps}. */
export type AccountDeps = Pick<
  PagesDeps,
  'db' | 'downloads' | 'deleteAccount' | 'sounds' | 'onTokenRevoked'
> &
  Pick<PagesDeps['settings'], 'appealUrl' | 'appeals' | 'tokensFor'> & {
    site: Site;
    cookies: Cookies;
    signer: Signer;
    redirect: Redirect;
    /** Undefined when linking is not configured. */
    discord: DiscordOAuth | undefined;
    /** A sign-in or link was refused. */
    onRefused: (error: Error) => void;
    /** Steam or Discord gave no usable response when asked who somebody is. */
    onUnavailable: (provider: 'steam' | 'discord', error: Error) => void;
  };
