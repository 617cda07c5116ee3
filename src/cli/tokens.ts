import type { Command } from 'commander';
import { InvalidInput } from '../errors.ts';
import { createApiToken, listApiTokens, revokeApiToken } from '../queries/api-tokens.ts';
import { saveUser } from '../queries/users.ts';
import { parseSteamId } from '../steam-id.ts';
import { print, type Session, toTable } from './session.ts';

const UNIT_MS = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 7 * 86_400_000 } as const;

/** `tokens create | list | revoke`. */
export function addTokenCommands(program: Command, session: Session): void {
  const tokens = program.command('tokens').description('API tokens');
  tokens
    .command('create')
    .description('make a token; it is printed alone on stdout, and never again')
    .requiredOption('--steamid64 <id>', "the owner's SteamID, in any notation; made a user when unknown")
    .requiredOption('--name <label>', 'what it is for')
    .option('--expires <time>', 'how long it lives, such as 90d, 12h or 4w; for ever by default')
    .action(async (options: { steamid64: string; name: string; expires?: string }, command: Command) => {
      const steamId = parseSteamId(options.steamid64);
      const now = new Date();
      const expiresAt = options.expires === undefined ? null : parseExpiry(options.expires, now);
      const { db } = await session.database();
      const owner = await saveUser(db, steamId);
      const { token, id } = await createApiToken(db, owner.id, { name: options.name, expiresAt, now });
      print(command, { id, token, expiresAt }, token);
    });
  tokens
    .command('list')
    .description('all tokens, newest first')
    .action(async (_: unknown, command: Command) => {
      const { db } = await session.database();
      const all = await listApiTokens(db);
      const now = new Date();
      const rows = all.map((token) => [
        String(token.id),
        token.steamId64,
        token.name,
        `…${token.lastFour}`,
        day(token.createdAt),
        token.lastUsedAt ? day(token.lastUsedAt) : 'never',
        stateOf(token, now),
      ]);
      const header = ['ID', 'OWNER', 'NAME', 'ENDS IN', 'CREATED', 'LAST USED', 'STATE'];
      print(command, all, toTable(header, rows, 'No tokens yet: tokens create --steamid64 ID --name LABEL'));
    });
  tokens
    .command('revoke <id>')
    .description('end a token, at once and everywhere')
    .action(async (id: string, _: unknown, command: Command) => {
      if (!/^[0-9]{1,9}$/.test(id))
        throw new InvalidInput(`${JSON.stringify(id)} is no token id: see tokens list`);
      const { db } = await session.database();
      await revokeApiToken(db, Number(id), { now: new Date() });
      print(command, { revoked: Number(id) }, `Revoked token ${id}`);
    });
}

function parseExpiry(text: string, now: Date): Date {
  const match = /^([1-9][0-9]{0,3})([mhdw])$/.exec(text);
  if (!match)
    throw new InvalidInput(
      `--expires ${JSON.stringify(text)} is not allowed: give a number and m, h, d or w, such as 90d`,
    );
  return new Date(now.getTime() + Number(match[1]) * UNIT_MS[match[2] as keyof typeof UNIT_MS]);
}

function stateOf(
  { revokedAt, expiresAt }: { revokedAt: Date | null; expiresAt: Date | null },
  now: Date,
): string {
  if (revokedAt) return 'revoked';
  if (!expiresAt) return 'live';
  return expiresAt <= now ? 'expired' : `live until ${day(expiresAt)}`;
}

function day(at: Date): string {
  return at.toISOString().slice(0, 10);
}
