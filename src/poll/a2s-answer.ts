import { Missed } from './missed.ts';

/** "Banned by server", https://developer.valvesoftware.com/wiki/Server_queries: the server banned the asker's address. */
const S2C_BANNED = 0x6c;

/** @param body an answer behind its four-byte header. */
export function isBannedByServer(body: Buffer): boolean {
  return body[0] === S2C_BANNED;
}

/**
 * Sees that an A2S_INFO answer is whole and of a running game: gamedig reads past a cut as '' and 0.
 * @param body what follows the type byte.
 * @throws {Missed} `malformed`, or `no-game` for neither a map nor a place.
 */
export function checkInfo(body: Buffer): void {
  const at = startWalk(body);
  at.skip(1); // protocol
  at.skipText(); // host name
  const mapAt = at.offset();
  at.skipText();
  const hasMap = at.offset() - mapAt > 1;
  at.skipText(); // folder
  at.skipText(); // game
  at.skip(3); // app id, players
  const maxPlayers = at.readByte();
  at.skip(5); // bots, server type, environment, visibility, VAC
  at.skipText(); // version
  if (!at.isAtEnd()) skipExtraData(at);
  if (!hasMap && maxPlayers === 0) throw new Missed('no-game');
}

function skipExtraData(at: Walk): void {
  const flags = at.readByte();
  if (flags & 0x80) at.skip(2); // port
  if (flags & 0x10) at.skip(8); // SteamID of the server
  if (flags & 0x40) {
    at.skip(2); // SourceTV port
    at.skipText(); // SourceTV name
  }
  if (flags & 0x20) at.skipText(); // keywords
  if (flags & 0x01) at.skip(8); // game id
}

/**
 * Sees that an A2S_PLAYER answer holds as many players as it says.
 * @param body what follows the type byte.
 * @throws {Missed} `malformed`.
 */
export function checkPlayers(body: Buffer): void {
  const at = startWalk(body);
  const count = at.readByte();
  for (let number = 0; number < count; number++) {
    at.skip(1); // index
    at.skipText(); // name
    at.skip(8); // score, seconds
  }
}

type Walk = ReturnType<typeof startWalk>;

/** Steps through a body; a step over its end throws. */
function startWalk(body: Buffer) {
  let offset = 0;
  const skip = (bytes: number) => {
    offset += bytes;
    if (offset > body.length) throw new Missed('malformed');
  };
  return {
    offset: () => offset,
    isAtEnd: () => offset === body.length,
    skip,
    skipText: () => {
      const end = body.indexOf(0, offset);
      if (end === -1) throw new Missed('malformed');
      offset = end + 1;
    },
    readByte: () => {
      skip(1);
      return body[offset - 1] ?? 0;
    },
  };
}
