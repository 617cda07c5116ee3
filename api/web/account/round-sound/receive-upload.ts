import { mayHaveSound } from '../../../../src/domain/rights/sound-audience.ts';
import { TimeLimitExceeded } from '../../../../src/runtime/time-limit.ts';
import { CSRF_HEADER, requireCsrfToken } from '../../visit/forms/form.ts';
import type { IdentifyAgain } from '../../visit/member-route.ts';
import { PageError } from '../../visit/page-error.ts';
import type { MemberVisit } from '../../visit/visit.ts';
import type { RoundSoundDeps } from './round-sound-deps.ts';
import { readUploadForm, tooLarge } from './upload-form.ts';
import { createUploadSlots, type UploadSlot } from './upload-slots.ts';

/** Concurrent uploads: each takes up to 5 MB of memory on a fast connection, whatever its size. */
const MAX_CONCURRENT_UPLOADS = 16;
/** A slow upload must not hold a slot forever; enough for 20 MB at half a megabit per second. */
const READ_LIMIT_MS = 330_000;
/** How long an upload waits for a slot: less than the 30 seconds after which an idle connection is closed. */
const SLOT_LIMIT_MS = 20_000;
/** A quarter of a megabit per second: a slower upload may lose its slot while others wait. */
const MIN_RATE = { bytesPerSecond: 32 * 1024, windowMs: 5000 };

/**
 * Stores the file that a request uploads, unless the session has ended by the time it has arrived.
 * @param values receives what the form shows again when it is refused.
 */
type ReceiveUpload = (
  visit: MemberVisit,
  identifyAgain: IdentifyAgain,
  values: Map<string, string>,
) => Promise<void>;

/**
 * Creates a function that stores an uploaded file while it is being received. The CSRF token is sent in the header, or
 * as a field before or after the file. Each user can run one upload at a time, and the number of concurrent uploads is
 * limited; further uploads wait for a slot, which very slow uploads lose to them.
 */
export function createReceiver({
  signer,
  sounds: { limits, storeUpload },
}: Pick<RoundSoundDeps, 'signer' | 'sounds'>): ReceiveUpload {
  const { maxUploadBytes, readLimitMs = READ_LIMIT_MS, slotLimitMs = SLOT_LIMIT_MS } = limits;
  const { bytesPerSecond, windowMs } = limits.minRate ?? MIN_RATE;
  const takeSlot = createUploadSlots({
    most: MAX_CONCURRENT_UPLOADS,
    waitMs: slotLimitMs,
    minBytesPerSecond: bytesPerSecond,
    windowMs,
    createEvictionError: () =>
      new PageError('sound-gave-way', 408, { limit: Math.round(bytesPerSecond / 1024) }),
  });
  return async ({ request, session, user }, identifyAgain, values) => {
    if (!mayHaveSound(limits.audience ?? 'everyone', user)) throw new PageError('sound-not-allowed', 403);
    const token = request.headers.get(CSRF_HEADER);
    const requireToken = (field: string | undefined) =>
      requireCsrfToken(signer, session, request, token ?? field);
    if (token !== null) requireToken(undefined);
    if (Number(request.headers.get('content-length') ?? 0) > maxUploadBytes + 64 * 1024) {
      throw tooLarge(maxUploadBytes);
    }
    const receive = (slot: UploadSlot) =>
      readUploadForm(request, {
        maxBytes: maxUploadBytes,
        limitMs: readLimitMs,
        slot,
        requireToken,
        values,
        identifyAgain,
        store: (file) =>
          storeUpload({
            steamId64: user.steamId64,
            fileName: file.fileName,
            bytes: file.bytes,
            get startMs() {
              return file.startMs;
            },
            actor: { userId: user.id },
          }),
      });
    await takeSlot(user.id, receive).catch((cause: unknown) => {
      throw cause instanceof TimeLimitExceeded ? new PageError('sound-busy', 503, { cause }) : cause;
    });
  };
}
