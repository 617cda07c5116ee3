import type { Command } from 'commander';
import { InvalidInput } from '../domain/errors.ts';
import { type ServerAddress, tryParseServerAddress } from '../domain/server-address.ts';
import type { QueryFailureReason } from '../poll/a2s-protocol.ts';
import { type PollOutcome, queryGameServer } from '../poll/game-server.ts';
import {
  addServer,
  listAllServerStatuses,
  removeServer,
  requireServer,
  type ServerChanges,
  type ServerStatus,
  saveServerChanges,
  setServerHidden,
  showHiddenServers,
} from '../queries/servers/servers.ts';
import { confirm } from './confirm.ts';
import type { Context } from './context.ts';
import { type Columns, describeMoment, toTable } from './table.ts';

type NewServer = Parameters<typeof addServer>[1];

/** How long `add` and `set` wait for a server's response: ten times what a running one needs. */
const QUERY_TIMEOUT_MS = 2000;
/** The port of a game server that was started without `-port`. */
const GAME_PORT = 27015;

/** The value that removes a public address. */
const NO_ADDRESS = 'none';

const ADDRESS_HELP = `where it responds to A2S queries; without a port, ${GAME_PORT}`;
const PUBLIC_ADDRESS_HELP = `where players connect, if elsewhere; without a port, ${GAME_PORT}; none: at the same address`;

/** `servers add | set | list | remove | hide | unhide`. */
export function addServerCommands(program: Command, context: Context): void {
  const servers = program.command('servers').description('the polled game servers');
  servers
    .command('add')
    .description('add a server; a running service polls it within seconds')
    .requiredOption('--name <name>', 'display name')
    .requiredOption('--address <host:port>', ADDRESS_HELP, withPort)
    .option('--public-address <host:port>', PUBLIC_ADDRESS_HELP, parsePublicAddress)
    .option('--slug <slug>', 'name in URLs; the name made url-safe by default')
    .option('--mode <mode>', 'game mode, such as Competitive')
    .option('--region <region>', 'region code, such as EU')
    .action(async (options: NewServer) => {
      const { db } = await context.database();
      const server = await addServer(db, { ...toColumns(options), actor: 'operator' });
      const outcome = await queryGameServer(server.address, { timeoutMs: QUERY_TIMEOUT_MS });
      context.print(
        { ...server, answers: outcome.hasResponded },
        `Added ${server.slug} (${server.address})\n${describeQueryOutcome(server.address, outcome)}`,
      );
    });
  servers
    .command('set <slug>')
    .description('change the fields given; the server keeps its history')
    .option('--name <name>', 'display name')
    .option('--address <host:port>', ADDRESS_HELP, withPort)
    .option('--public-address <host:port>', PUBLIC_ADDRESS_HELP, parsePublicAddress)
    .option('--mode <mode>', 'game mode, such as Competitive')
    .option('--region <region>', 'region code, such as EU')
    .option(
      '--position <number>',
      'its place on pages and Discord: the lowest first, ties by name; offline ones last',
      parsePosition,
    )
    .action(async (slug: string, changes: ServerChanges, command: Command) => {
      if (Object.keys(changes).length === 0) {
        command.error(
          'error: nothing to change: use --name, --address, --public-address, --mode, --region or --position',
        );
      }
      const { db } = await context.database();
      const server = await saveServerChanges(db, slug, { changes: toColumns(changes), actor: 'operator' });
      const outcome =
        changes.address === undefined
          ? undefined
          : await queryGameServer(server.address, { timeoutMs: QUERY_TIMEOUT_MS });
      const lines = [`Changed ${slug}`, ...(outcome ? [describeQueryOutcome(server.address, outcome)] : [])];
      context.print({ ...server, ...(outcome && { answers: outcome.hasResponded }) }, lines.join('\n'));
    });
  servers
    .command('list')
    .description('all servers, hidden ones too')
    .action(async () => {
      const { db } = await context.database();
      const all = await listAllServerStatuses(db);
      context.print(
        all.map(({ server, snapshot }) => ({ ...server, snapshot })),
        toTable(
          all,
          COLUMNS,
          `No servers yet: ${context.tool()} servers add --name NAME --address HOST:PORT`,
        ),
      );
    });
  servers
    .command('remove <slug>')
    .description('remove a server with its history; its penalties stay')
    .option('--yes', 'do not ask for confirmation')
    .action(async (slug: string, { yes = false }: { yes?: boolean }) => {
      const { db } = await context.database();
      await requireServer(db, slug);
      if (!yes) await confirm(`Remove ${slug} and its history? This cannot be undone.`);
      await removeServer(db, slug, { actor: 'operator' });
      context.print({ removed: slug }, `Removed ${slug}`);
    });
  servers
    .command('hide <slug>')
    .description('take a server off the public list and stop polling it')
    .action(async (slug: string) => {
      const { db } = await context.database();
      await setServerHidden(db, slug, { isHidden: true, actor: 'operator' });
      context.print({ slug, isHidden: true }, `${slug} is hidden`);
    });
  servers
    .command('unhide [slug]')
    .description('list a hidden server and poll it')
    .option('--all', 'every hidden server, such as those that a mirror found')
    .action(async (slug: string | undefined, { all = false }: { all?: boolean }, command: Command) => {
      if ((slug !== undefined) === all) command.error('error: name one server, or use --all');
      const { db } = await context.database();
      if (slug === undefined) {
        const slugs = await showHiddenServers(db, { actor: 'operator' });
        const lines = slugs.map((each) => `${each} is listed`);
        context.print({ shown: slugs }, lines.length > 0 ? lines.join('\n') : 'No server is hidden');
        return;
      }
      await setServerHidden(db, slug, { isHidden: false, actor: 'operator' });
      context.print({ slug, isHidden: false }, `${slug} is listed`);
    });
}

function parsePosition(text: string): number {
  if (/^[0-9]{1,4}$/.test(text)) return Number(text);
  throw new InvalidInput(`--position ${JSON.stringify(text)} isn't valid: use a number from 0 to 9999`);
}

/** An address with a port, or `none`. */
function parsePublicAddress(text: string): string {
  return text === NO_ADDRESS ? text : withPort(text);
}

/** The options as columns: `--public-address none` is null, which commander's parsers cannot return. */
function toColumns<Options extends { publicAddress?: string | null | undefined }>(options: Options): Options {
  return options.publicAddress === NO_ADDRESS ? { ...options, publicAddress: null } : options;
}

/** The address with the default port if it has none. */
function withPort(address: string): string {
  const complete = `${address}:${GAME_PORT}`;
  return tryParseServerAddress(address) === undefined && tryParseServerAddress(complete) ? complete : address;
}

const isOnline = ({ server, snapshot }: ServerStatus) => !server.isHidden && snapshot?.isOnline === true;

const COLUMNS: Columns<ServerStatus> = {
  SLUG: ({ server }) => server.slug,
  NAME: ({ server }) => server.name,
  ADDRESS: ({ server }) => server.address,
  'PUBLIC ADDRESS': ({ server }) => server.publicAddress ?? '-',
  MODE: ({ server }) => server.mode,
  REGION: ({ server }) => server.region,
  STATUS: describeStatus,
  PLAYERS: (status) =>
    isOnline(status) ? `${status.snapshot?.playersCount}/${status.snapshot?.maxPlayers}` : '-',
  'LAST SEEN': ({ snapshot }) => (snapshot?.seenAt ? describeMoment(snapshot.seenAt) : 'never'),
};

function describeStatus(status: ServerStatus): string {
  if (status.server.isHidden) return 'hidden';
  if (!status.snapshot) return 'not polled yet';
  return isOnline(status) ? 'online' : 'offline';
}

/** Link-local addresses, which Steam Datagram Relay gives to game servers. */
const STEAM_RELAY = /^169\.254\.\d+\.\d+$/;

/** Whether a server responded to a query, and what to do if not. */
function describeQueryOutcome(address: string, outcome: PollOutcome): string {
  if (outcome.hasResponded) {
    const { map, playersCount, maxPlayers, pingMs } = outcome.state;
    return `responds: ${map} ${playersCount}/${maxPlayers}, ${pingMs} ms`;
  }
  return `warning: ${address} does not respond: ${advise(outcome.reason, tryParseServerAddress(address))}`;
}

function advise(reason: QueryFailureReason, address: ServerAddress | undefined): string {
  const port = address?.port;
  if (address && STEAM_RELAY.test(address.host)) {
    return "it is an address of the Steam relay network, which cannot be queried from outside: use the server's own address";
  }
  if (reason === 'host-unknown') return 'its host name has no address';
  if (reason === 'banned-by-server') return 'the game server has banned the address of this machine';
  if (reason === 'no-game') return 'it has no map yet, or is not a game server';
  if (reason === 'malformed') return `whatever responds on UDP port ${port} is not a game server`;
  if (reason === 'refused') return `nothing listens on UDP port ${port}: is the game server running?`;
  return `open UDP port ${port} of the game server for this machine`;
}
