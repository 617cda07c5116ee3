import type { Command } from 'commander';
import { InvalidInput } from '../domain/errors.ts';
import { tryParseServerAddress } from '../domain/server-address.ts';
import { queryGameServer } from '../poll/game-server.ts';
import {
  addServer,
  listAllServerStatuses,
  removeServer,
  requireServer,
  type ServerChanges,
  saveServerChanges,
  setServerHidden,
} from '../queries/servers/servers.ts';
import { confirm } from './confirm.ts';
import { print, toolOf, toTable } from './output/print.ts';
import { describeQueryOutcome, describeServer, SERVER_HEADER } from './output/server-words.ts';
import type { Session } from './session.ts';

type NewServer = { name: string; address: string; slug?: string; mode?: string; region?: string };

/** How long `add` and `set` wait for a server's response: ten times what a running one needs. */
const QUERY_TIMEOUT_MS = 2000;
/** The port of a game server that was started without `-port`. */
const GAME_PORT = 27015;

/** `servers add | set | list | remove | hide | unhide`. */
export function addServerCommands(program: Command, session: Session): void {
  const servers = program.command('servers').description('the polled game servers');
  servers
    .command('add')
    .description('add a server; a running service polls it within seconds')
    .requiredOption('--name <name>', 'display name')
    .requiredOption('--address <host:port>', `where it responds to A2S queries; without a port, ${GAME_PORT}`)
    .option('--slug <slug>', 'name in URLs; the name made url-safe by default')
    .option('--mode <mode>', 'game mode, such as Competitive')
    .option('--region <region>', 'region code, such as EU')
    .action(async (options: NewServer, command: Command) => {
      const { db } = await session.database();
      const address = withPort(options.address);
      const server = await addServer(db, { ...options, address, actor: 'operator' });
      const outcome = await queryGameServer(server.address, { timeoutMs: QUERY_TIMEOUT_MS });
      print(
        command,
        { ...server, answers: outcome.hasResponded },
        `Added ${server.slug} (${server.address})\n${describeQueryOutcome(server.address, outcome)}`,
      );
    });
  servers
    .command('set <slug>')
    .description('change the fields given; the server keeps its history')
    .option('--name <name>', 'display name')
    .option('--address <host:port>', `where it responds to A2S queries; without a port, ${GAME_PORT}`)
    .option('--mode <mode>', 'game mode, such as Competitive')
    .option('--region <region>', 'region code, such as EU')
    .option(
      '--position <number>',
      'where it stands on pages: the lowest first, ties by name; offline ones last',
      parsePosition,
    )
    .action(async (slug: string, options: ServerChanges, command: Command) => {
      if (Object.keys(options).length === 0) {
        command.error('error: nothing to change: use --name, --address, --mode, --region or --position');
      }
      const { db } = await session.database();
      const { address, ...others } = options;
      const changes = { ...others, ...(address !== undefined && { address: withPort(address) }) };
      const server = await saveServerChanges(db, slug, { changes, actor: 'operator' });
      const outcome =
        address === undefined
          ? undefined
          : await queryGameServer(server.address, { timeoutMs: QUERY_TIMEOUT_MS });
      const lines = [`Changed ${slug}`, ...(outcome ? [describeQueryOutcome(server.address, outcome)] : [])];
      print(command, { ...server, ...(outcome && { answers: outcome.hasResponded }) }, lines.join('\n'));
    });
  servers
    .command('list')
    .description('all servers, hidden ones too')
    .action(async (_: unknown, command: Command) => {
      const { db } = await session.database();
      const all = await listAllServerStatuses(db);
      print(
        command,
        all.map(({ server, snapshot }) => ({ ...server, snapshot })),
        toTable(
          SERVER_HEADER,
          all.map(describeServer),
          `No servers yet: ${toolOf(command)} servers add --name NAME --address HOST:PORT`,
        ),
      );
    });
  servers
    .command('remove <slug>')
    .description('remove a server with its history; its penalties stay')
    .option('--yes', 'do not ask for confirmation')
    .action(async (slug: string, { yes = false }: { yes?: boolean }, command: Command) => {
      const { db } = await session.database();
      await requireServer(db, slug);
      if (!yes) await confirm(`Remove ${slug} and its history? This cannot be undone.`);
      await removeServer(db, slug, { actor: 'operator' });
      print(command, { removed: slug }, `Removed ${slug}`);
    });
  for (const [verb, isHidden] of [
    ['unhide', false],
    ['hide', true],
  ] as const) {
    servers
      .command(`${verb} <slug>`)
      .description(
        isHidden
          ? 'take a server off the public list and stop polling it'
          : 'list a hidden server and poll it',
      )
      .action(async (slug: string, _: unknown, command: Command) => {
        const { db } = await session.database();
        await setServerHidden(db, slug, { isHidden, actor: 'operator' });
        print(command, { slug, isHidden }, `${slug} is ${isHidden ? 'hidden' : 'listed'}`);
      });
  }
}

function parsePosition(text: string): number {
  if (/^[0-9]{1,4}$/.test(text)) return Number(text);
  throw new InvalidInput(`--position ${JSON.stringify(text)} isn't valid: use a number from 0 to 9999`);
}

/** The address with the default port if it has none. */
function withPort(address: string): string {
  const complete = `${address}:${GAME_PORT}`;
  return tryParseServerAddress(address) === undefined && tryParseServerAddress(complete) ? complete : address;
}
