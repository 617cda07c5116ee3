import type { Db } from '../../src/db/client.ts';
import { NotFound } from '../../src/errors.ts';
import { findRoundSounds, type RoundSound } from '../../src/queries/round-sounds.ts';
import { UNFINISHED_STATUSES } from '../../src/round-sound.ts';
import type { SteamId64 } from '../../src/steam-id.ts';
import { TimeLimitExceeded } from '../../src/time-limit.ts';
import type { SectionFacilities } from './account.tsx';
import { CSRF_HEADER, requireCsrfToken } from './form.ts';
import { Icon } from './icons.tsx';
import { ConfirmLink, ConfirmPage, CsrfField, Moment } from './layout.tsx';
import type { Locale } from './locale.ts';
import { PageError } from './page-error.ts';
import { respondWithPage } from './page-response.ts';
import { moderatedSoundRoutes } from './round-sound-moderation.tsx';
import { SoundPlayer, soundAddress, Waveform } from './round-sound-player.tsx';
import { roundSoundTextsOf } from './round-sound-texts.ts';
import type { AccountSection } from './section.ts';
import { readUploadForm, toMegabytes, tooLarge } from './upload-form.ts';
import { createUploadSlots, type UploadSlot } from './upload-slots.ts';
import { type MemberVisit, readMemberForm, wantsJson } from './visit.ts';

/** An upload on its way to the inbox. */
export type SoundUpload = {
  steamId64: SteamId64;
  fileName: string;
  /** Fails when the upload turns out to be none: then nothing of it may be kept. */
  bytes: AsyncIterable<Uint8Array>;
  actorUserId: number | null;
};

export type RoundSoundDeps = SectionFacilities & {
  db: Db;
  limits: {
    maxSeconds: number;
    maxUploadBytes: number;
    /** How long an upload may take to arrive once it has a slot; five and a half minutes by default. */
    readLimitMs?: number;
    /** How long it waits for a slot; 20 s by default. */
    slotLimitMs?: number;
    /** What it has to bring while somebody waits for a slot; 32 KiB a second over five seconds by default. */
    leastRate?: { bytesPerSecond: number; windowMs: number };
  };
  /** @throws {InvalidInput} for an empty or too large file · {Unavailable} when there is no room. */
  storeUpload: (upload: SoundUpload) => Promise<unknown>;
  /** @throws {NotFound} when the player has none. */
  removeSound: (removal: { steamId64: SteamId64; actorUserId: number | null }) => Promise<void>;
};

const STEPS = [...UNFINISHED_STATUSES, 'ready'] as const;
const ACCEPTED_FILES =
  'audio/*,video/mp4,video/webm,.mp3,.wav,.flac,.ogg,.oga,.opus,.m4a,.aac,.aif,.aiff,.caf,.mka,.mkv,.mov';
/** Uploads that arrive at once: each takes up to 5 MB of memory on a fast line, whatever its size. */
const MOST_AT_ONCE = 16;
/** A trickle must not hold a place for ever; time for 20 MB at half a megabit a second. */
const READ_LIMIT_MS = 330_000;
/** How long an upload waits for a slot: a connection on which nothing happens is closed after half a minute. */
const SLOT_LIMIT_MS = 20_000;
/** A quarter of a megabit a second: who is slower makes room for who waits. */
const LEAST_RATE = { bytesPerSecond: 32 * 1024, windowMs: 5000 };
const HERE = '/account#sound';

/** The round-end sound: upload, progress, listening, replacing, deleting; and for moderators everyone's. */
export function roundSoundSection(deps: RoundSoundDeps): AccountSection {
  const receive = createReceiver(deps);
  return {
    id: 'sound',
    title: (locale) => roundSoundTextsOf(locale).title,
    render: (visit) => renderSection(deps, visit),
    routes: [
      { method: 'POST', path: '/roundsound', handle: (visit) => upload(deps, visit, receive) },
      {
        method: 'GET',
        path: '/roundsound/status',
        isPage: false,
        handle: (visit) => tellStatus(deps, visit),
      },
      { method: 'GET', path: '/roundsound/delete', handle: (visit) => askToRemove(deps, visit) },
      { method: 'POST', path: '/roundsound/delete', handle: (visit) => remove(deps, visit) },
      ...moderatedSoundRoutes(deps),
    ],
  };
}

async function renderSection(deps: RoundSoundDeps, visit: MemberVisit): Promise<string> {
  const t = roundSoundTextsOf(visit.locale);
  const { ready, latest } = await findRoundSounds(deps.db, visit.user.steamId64);
  const { maxSeconds, maxUploadBytes } = deps.limits;
  const megabytes = toMegabytes(maxUploadBytes);
  return (
    <>
      <link rel="stylesheet" href={deps.site.assets.url('round-sound.css')} />
      <p class="lead">{t.lead({ seconds: maxSeconds, megabytes })}</p>
      {ready && <ReadySound sound={ready} visit={visit} />}
      {latest && latest.status !== 'failed' && <Progress sound={latest} visit={visit} hasReady={!!ready} />}
      {latest?.status === 'failed' && <Failure sound={latest} visit={visit} hasReady={!!ready} />}
      {!ready && !latest && <p class="empty">{t.none}</p>}
      <form
        class="sound-upload"
        method="post"
        action="/account/roundsound"
        enctype="multipart/form-data"
        data-sound-upload
        data-most-bytes={String(maxUploadBytes)}
        data-too-large={t.tooLarge(megabytes)}
        data-uploading={t.uploading}
        data-failed={t.uploadFailed}
      >
        <CsrfField visit={visit} />
        <div class="field">
          <label for="sound-file">{ready ? t.replace : t.choose}</label>
          <input id="sound-file" name="file" type="file" accept={ACCEPTED_FILES} required />
        </div>
        <button class="button button-primary" type="submit">
          <Icon name="sound" />
          {t.upload}
        </button>
        <p class="sound-message" role="status" hidden></p>
        <progress class="sound-bar" max="100" value="0" hidden></progress>
      </form>
      <script type="module" src={deps.site.assets.url('round-sound.js')}></script>
    </>
  );
}

function ReadySound({ sound, visit }: { sound: RoundSound; visit: MemberVisit }): JSX.Element {
  const t = roundSoundTextsOf(visit.locale);
  return (
    <div class="sound">
      <div class="sound-head">
        <strong class="sound-title">
          <bdi safe>{sound.title}</bdi>
        </strong>
        <ConfirmLink
          href="/account/roundsound/delete"
          label={t.remove}
          title={t.removeTitle}
          lead={t.removeLead(sound.title)}
          visit={visit}
        />
      </div>
      <Waveform peaks={sound.waveform ?? []} label={t.waveformLabel} />
      <SoundPlayer sound={sound} visit={visit} />
      <dl class="sound-facts">
        <Fact name={t.facts.length}>{t.seconds(format(visit.locale, (sound.durationMs ?? 0) / 1000))}</Fact>
        <Fact name={t.facts.before}>{t.loudness(format(visit.locale, sound.loudnessBeforeLufs ?? 0))}</Fact>
        <Fact name={t.facts.after}>{t.loudness(format(visit.locale, sound.loudnessAfterLufs ?? 0))}</Fact>
        <Fact name={t.facts.since}>
          <Moment at={sound.readyAt ?? sound.createdAt} visit={visit} />
        </Fact>
      </dl>
    </div>
  );
}

function Fact({ name, children }: { name: string; children: JSX.Element }): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

type StateProps = { sound: RoundSound; visit: MemberVisit; hasReady: boolean };

function Progress({ sound, visit, hasReady }: StateProps): JSX.Element {
  const t = roundSoundTextsOf(visit.locale);
  const current = sound.status === 'failed' ? -1 : STEPS.indexOf(sound.status);
  return (
    <div class="sound-progress" data-sound-progress role="status">
      <strong safe>{t.underWay(sound.title)}</strong>
      <ol class="sound-steps">
        {STEPS.map((step, index) => (
          <li
            data-step={step}
            class={index < current ? 'step-done' : undefined}
            aria-current={index === current ? 'step' : undefined}
          >
            {t.steps[step]}
          </li>
        ))}
      </ol>
      {hasReady && <p class="hint">{t.stillPlaying}</p>}
      <p class="sound-refresh">
        <a href={HERE}>{t.refresh}</a>
      </p>
    </div>
  );
}

function Failure({ sound, visit, hasReady }: StateProps): JSX.Element {
  const t = roundSoundTextsOf(visit.locale);
  return (
    <div class="warning" role="alert">
      <Icon name="warning" />
      <div>
        <strong safe>{t.failed(sound.title)}</strong>
        <br />
        {t.failures[sound.failure ?? 'unavailable']} {hasReady ? t.keptOld : ''}
      </div>
    </div>
  );
}

type Receiver = (visit: MemberVisit) => Promise<void>;

async function upload(deps: RoundSoundDeps, visit: MemberVisit, receive: Receiver): Promise<Response> {
  await receive(visit);
  if (wantsJson(visit.request)) return Response.json({ success: true, status: 'queued' }, { status: 202 });
  return deps.redirect(visit, HERE, 'sound-uploaded');
}

/**
 * Stores the file of an upload's form while it arrives; the CSRF token comes in the header, or as a field before or
 * after the file. One upload of each user at a time, and those of a few users at once; further ones wait, and the
 * slowest give way to them.
 */
function createReceiver({ signer, limits, storeUpload }: RoundSoundDeps): Receiver {
  const { maxUploadBytes, readLimitMs = READ_LIMIT_MS, slotLimitMs = SLOT_LIMIT_MS } = limits;
  const { bytesPerSecond, windowMs } = limits.leastRate ?? LEAST_RATE;
  const takeSlot = createUploadSlots({
    most: MOST_AT_ONCE,
    waitMs: slotLimitMs,
    leastBytesPerSecond: bytesPerSecond,
    windowMs,
    lostBecause: () => new PageError('sound-gave-way', 408, { limit: Math.round(bytesPerSecond / 1024) }),
  });
  return async ({ request, session, user }) => {
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
        store: ({ fileName, bytes }) =>
          storeUpload({
            steamId64: user.steamId64,
            fileName,
            bytes,
            actorUserId: user.id,
          }),
      });
    await takeSlot(user.id, receive).catch((cause: unknown) => {
      throw cause instanceof TimeLimitExceeded ? new PageError('sound-busy', 503, { cause }) : cause;
    });
  };
}

/** What the script asks while an upload is under way. */
async function tellStatus({ db }: RoundSoundDeps, visit: MemberVisit): Promise<Response> {
  const { ready, latest } = await findRoundSounds(db, visit.user.steamId64);
  const status = latest?.status ?? ready?.status ?? null;
  const t = roundSoundTextsOf(visit.locale);
  return Response.json({
    status,
    message: latest?.failure ? t.failures[latest.failure] : null,
    url: ready ? soundAddress(ready) : null,
    title: ready?.title ?? null,
  });
}

async function askToRemove({ db, site }: RoundSoundDeps, visit: MemberVisit): Promise<Response> {
  const t = roundSoundTextsOf(visit.locale);
  const { ready, latest } = await findRoundSounds(db, visit.user.steamId64);
  const sound = ready ?? latest;
  if (!sound) throw new NotFound('no sound');
  return respondWithPage(
    <ConfirmPage
      site={site}
      visit={visit}
      title={t.removeTitle}
      lead={t.removeLead(sound.title)}
      label={t.remove}
      back={HERE}
    />,
  );
}

async function remove(deps: RoundSoundDeps, visit: MemberVisit): Promise<Response> {
  await readMemberForm(deps, visit);
  await deps.removeSound({ steamId64: visit.user.steamId64, actorUserId: visit.user.id });
  return deps.redirect(visit, HERE, 'sound-removed');
}

/** One decimal, in the language's own notation, with a real minus. */
function format(locale: Locale, value: number): string {
  return new Intl.NumberFormat(locale, { minimumFractionDigits: 1, maximumFractionDigits: 1 })
    .format(value)
    .replace('-', '−');
}
