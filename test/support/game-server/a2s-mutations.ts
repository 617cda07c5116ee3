import { anInfoPacket, aPlayersPacket, aSplitPart, splitIntoParts, text, uint16 } from './a2s.ts';

/** Endless datagrams of a server that lies: random bytes, and whole responses with some of it cut, changed or repeated. */
export function* mutatedDatagrams(seed: number): Generator<Buffer> {
  const random = createRandom(seed);
  const whole = wholePackets();
  for (;;) {
    const original = whole[random(whole.length)] ?? Buffer.alloc(0);
    switch (random(6)) {
      case 0:
        yield randomBytes(random, random(1400));
        break;
      case 1:
        yield Buffer.concat([original.subarray(0, 5), randomBytes(random, random(300))]);
        break;
      case 2:
        yield original.subarray(0, random(original.length + 1));
        break;
      case 3: {
        const from = random(original.length);
        yield Buffer.concat([original, original.subarray(from, from + random(200))]);
        break;
      }
      case 4:
        yield aSplitPart({
          id: random(4) === 0 ? 0x8000_0000 + random(9) : random(5),
          total: random(3) === 0 ? random(256) : 2,
          number: random(3),
          payload: original.subarray(random(original.length)),
        });
        break;
      default:
        yield withChangedBytes(original, random);
    }
  }
}

function wholePackets(): Buffer[] {
  const extraData = Buffer.concat([
    Buffer.from([0xf1]),
    uint16(27015),
    Buffer.alloc(8, 1),
    uint16(27020),
    text('SourceTV'),
    text('secure,cp5'),
    Buffer.alloc(8, 2),
  ]);
  const players = aPlayersPacket(
    Array.from({ length: 64 }, (_, number) => ({ name: `Zażółć ${number}`, score: number - 9 })),
  );
  return [
    anInfoPacket(),
    anInfoPacket({ extraData }),
    aPlayersPacket([{ name: 'Ala', score: 4 }]),
    players,
    ...splitIntoParts(players, { partBytes: 700 }),
  ];
}

function withChangedBytes(original: Buffer, random: (below: number) => number): Buffer {
  const changed = Buffer.from(original);
  for (let left = 1 + random(4); left > 0 && changed.length > 0; left--) {
    changed[random(changed.length)] = [0, 0xff, 0x7f, 0x80, random(256)][random(5)] ?? 0;
  }
  return changed;
}

function randomBytes(random: (below: number) => number, length: number): Buffer {
  return Buffer.from(Array.from({ length }, () => random(256)));
}

/** Whole numbers from 0 up to `below`, always the same for a seed. */
function createRandom(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}
