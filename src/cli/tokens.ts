import type { Command } from 'commander';
import { inTransaction } from '../db/client.ts';
import { tokenStateOf } from '../domain/api-token.ts';
import { InvalidInput } from '../domain/errors.ts';
import { isAdministrator } from '../domain/rights/administrator.ts';
import { parseTokenScopes, TOKEN_SCOPES } from '../domain/rights/token-scope.ts';
import { splitList } from '../domain/text/list.ts';
import { type ApiToken, createApiToken, listApiTokens, revokeApiToken } from '../queries/users/api-tokens.ts';
import { lockOrCreateUser } from '../queries/users/user-changes.ts';
import type { Context } from './context.ts';
import { type Columns, describeDay, toTable } from './table.ts';
import { TIME_SPAN_RULE, tryParseTimeSpan } from './time-span.ts';
import { resolveSteamId } from './who.ts';

const TOKENS_LISTED = 100;

type CreateOptions = { steamid64: string; name: string; expires?: string; scopes?: string };

/** `tokens create | list | revoke`. */
export function addTokenCommands(program: Command, context: Context): void {
  const tokens = program.command('tokens').description('API tokens');
  tokens
    .command('create')
    .description('create a token; it is printed alone on stdout, and never again')
    .requiredOption('--steamid64 <id>', "the owner's SteamID, in any notation; an unknown one becomes a user")
    .requiredOption('--name <label>', 'what it is for')
    .option('--expires <time>', 'how long it lives, such as 90d, 12h or 4w; for ever by default')
    .option(
      '--scopes <list>',
      `what it may read, separated by commas: ${TOKEN_SCOPES.join(', ')}; all by default`,
    )
    .action(async (options: CreateOptions) => {
      const steamId = await resolveSteamId(context, options.steamid64);
      const now = new Date();
      const expiresAt = options.expires === undefined ? null : parseExpiry(options.expires, now);
      const scopes =
        options.scopes === undefined ? TOKEN_SCOPES : parseTokenScopes(splitList(options.scopes));
      const { db } = await context.database();
      // In one transaction: a refused token leaves no new user behind.
      const { token, id } = await inTransaction(db, async (tx) => {
        const owner = await lockOrCreateUser(tx, steamId, 'operator');
        return createApiToken(tx, owner.id, {
          name: options.name,
          scopes,
          expiresAt,
          now,
          actor: 'operator',
        });
      });
      context.print({ id, token, scopes, expiresAt }, token);
      // Scripts read stdout, which holds only the token; people also read about it on stderr.
      if (context.output.isTerminal) {
        const end = expiresAt ? `expires on ${describeDay(expiresAt)}` : 'does not expire';
        context.output.progress.write(`Token ${id} of ${steamId}, shown only now; it ${end}\n`);
      }
    });
  tokens
    .command('list')
    .description(`the newest ${TOKENS_LISTED} tokens`)
    .option('--before <id>', `the newest ${TOKENS_LISTED} of those older than this token`)
    .action(async ({ before }: { before?: string }) => {
      const beforeId = before === undefined ? undefined : parseTokenId(before);
      const { db } = await context.database();
      const { tokens, older } = await listApiTokens(db, { before: beforeId, limit: TOKENS_LISTED });
      const now = new Date();
      const columns: Columns<ApiToken> = {
        ID: ({ id }) => id,
        OWNER: ({ steamId64 }) => steamId64,
        NAME: ({ name }) => name,
        TOKEN: ({ lastFour }) => `…${lastFour}`,
        CREATED: ({ createdAt }) => describeDay(createdAt),
        'LAST USED': ({ lastUsedAt }) => (lastUsedAt ? describeDay(lastUsedAt) : 'never'),
        SCOPES: ({ scopes }) => (scopes.length === TOKEN_SCOPES.length ? 'all' : scopes.join(',')),
        STATE: (token) => describeState(token, now),
      };
      const none =
        before === undefined
          ? `No tokens yet: ${context.tool()} tokens create --steamid64 ID --name LABEL`
          : `No tokens older than ${before}.`;
      const table = toTable(tokens, columns, none);
      const rest = `… and ${older} older: tokens list --before ${tokens.at(-1)?.id}`;
      context.print(tokens.map(toJson), older > 0 ? `${table}\n${rest}` : table);
    });
  tokens
    .command('revoke <id>')
    .description('revoke a token, at once and everywhere')
    .action(async (id: string) => {
      const tokenId = parseTokenId(id);
      const { db } = await context.database();
      await revokeApiToken(db, tokenId, { now: new Date(), actor: 'operator' });
      context.print({ revoked: tokenId }, `Revoked token ${id}`);
    });
}

function toJson({ isAdmin, isOwner, ...token }: ApiToken) {
  return { ...token, isOfAdministrator: isAdministrator({ isAdmin, isOwner }) };
}

function parseTokenId(text: string): number {
  if (/^[0-9]{1,9}$/.test(text)) return Number(text);
  throw new InvalidInput(`${JSON.stringify(text)} is not a token ID: see tokens list`);
}

function parseExpiry(text: string, now: Date): Date {
  const spanMs = tryParseTimeSpan(text);
  if (spanMs !== undefined) return new Date(now.getTime() + spanMs);
  throw new InvalidInput(`--expires ${JSON.stringify(text)} isn't valid: use ${TIME_SPAN_RULE}`);
}

function describeState(token: ApiToken, now: Date): string {
  const state = tokenStateOf(token, now);
  return state === 'live' && token.expiresAt ? `live until ${describeDay(token.expiresAt)}` : state;
}
