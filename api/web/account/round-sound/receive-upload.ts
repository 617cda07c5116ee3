import { mayHaveSound } from '../../../../src/domain/rights/sound-audience.ts';
import { CSRF_HEADER, requireCsrfToken } from '../../request/forms/form.ts';
import type { IdentifyAgain } from '../../request/member-route.ts';
import { PageError } from '../../request/page-error.ts';
import type { MemberVisit } from '../../request/visit.ts';
import type { RoundSoundDeps } from './round-sound-deps.ts';
import { readUploadForm, tooLarge } from './upload-form.ts';

/** Concurrent uploads: each takes up to 5 MB of memory on a fast connection, whatever its size. */
const MAX_CONCURRENT_UPLOADS = 16;
/** For a whole form: enough for 20 MB at 0.6 Mbit/s. Bun itself closes a connection that is silent for 30 seconds. */
const READ_LIMIT_MS = 300_000;

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
 * as a field before or after the file. Each user may run one upload at a time, and all of them sixteen; further ones are
 * refused with 503.
 */
export function createReceiver({
  signer,
  sounds: { limits, storeUpload },
}: Pick<RoundSoundDeps, 'signer' | 'sounds'>): ReceiveUpload {
  const { maxUploadBytes } = limits;
  const uploadingUserIds = new Set<number>();
  return async ({ request, session, user }, identifyAgain, values) => {
    if (!mayHaveSound(limits.audience ?? 'everyone', user)) throw new PageError('sound-not-allowed', 403);
    const token = request.headers.get(CSRF_HEADER);
    const requireToken = (field: string | undefined) =>
      requireCsrfToken(signer, session, request, token ?? field);
    if (token !== null) requireToken(undefined);
    if (Number(request.headers.get('content-length') ?? 0) > maxUploadBytes + 64 * 1024) {
      throw tooLarge(maxUploadBytes);
    }
    if (uploadingUserIds.has(user.id) || uploadingUserIds.size >= MAX_CONCURRENT_UPLOADS) {
      throw new PageError('sound-busy', 503);
    }
    uploadingUserIds.add(user.id);
    try {
      await readUploadForm(request, {
        maxBytes: maxUploadBytes,
        limitMs: READ_LIMIT_MS,
        requireToken,
        values,
        identifyAgain,
        store: (file) =>
          storeUpload({
            steamId64: user.steamId64,
            fileName: file.fileName,
            bytes: file.bytes,
            get start() {
              return file.start;
            },
            actor: { userId: user.id },
          }),
      });
    } finally {
      uploadingUserIds.delete(user.id);
    }
  };
}
