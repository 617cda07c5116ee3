/** What a conditional request is compared with. */
type Validators = {
  etag: string;
  /** In whole seconds, as `Last-Modified` shows it. */
  modifiedAt?: Date;
};

/** In characters. A longer list counts as no match. */
const MAX_LIST_LENGTH = 8192;

/**
 * Whether the client's copy is current, so that the response is 304: RFC 9110 section 13.1. `If-None-Match`
 * takes precedence over `If-Modified-Since`.
 */
export function isUnchanged(headers: Headers, { etag, modifiedAt }: Validators): boolean {
  const list = headers.get('if-none-match');
  if (list !== null) return matchesEtag(list, etag);
  const since = modifiedAt && headers.get('if-modified-since');
  return since ? modifiedAt.getTime() <= parseHttpDate(since) : false;
}

/**
 * Whether the client wants another version only, so that the response is 412: RFC 9110 sections 13.1.1 (strong comparison)
 * and 13.1.4. `If-Match` takes precedence over `If-Unmodified-Since`.
 */
export function isOtherVersion(headers: Headers, { etag, modifiedAt }: Validators): boolean {
  const list = headers.get('if-match');
  if (list !== null) return list.trim() !== '*' && !splitTags(list).includes(etag);
  const since = modifiedAt && headers.get('if-unmodified-since');
  return since ? modifiedAt.getTime() > parseHttpDate(since) : false;
}

/** Reads a date as HTTP writes it: RFC 9110 section 5.6.7, without the obsolete forms. @returns NaN for any other text. */
function parseHttpDate(text: string): number {
  const ms = Date.parse(text);
  return new Date(ms).toUTCString() === text ? ms : Number.NaN;
}

/** Whether `If-Range` matches or is absent: RFC 9110 section 13.1.5, strong comparison. */
export function isRangeOfSame(headers: Headers, { etag, modifiedAt }: Validators): boolean {
  const condition = headers.get('if-range');
  return condition === null || condition === etag || condition === modifiedAt?.toUTCString();
}

/** @param list `*` or tags, by weak comparison: RFC 9110 section 13.1.2. */
function matchesEtag(list: string, etag: string): boolean {
  if (list === etag || list.trim() === '*') return true;
  const opaque = opaqueTagOf(etag);
  return splitTags(list).some((tag) => opaqueTagOf(tag) === opaque);
}

function splitTags(list: string): string[] {
  return list.length > MAX_LIST_LENGTH ? [] : list.split(',').map((tag) => tag.trim());
}

function opaqueTagOf(tag: string): string {
  return tag.startsWith('W/') ? tag.slice(2) : tag;
}
