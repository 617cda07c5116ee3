import { errorCauses, errorCode, hasErrorCode } from '../src/domain/error-causes.ts';
import { saysNoSpace } from './ffmpeg/ffmpeg.ts';

/** Full, over quota, read-only, broken, not ours, or no descriptor left. */
const DISK_CODES = ['ENOSPC', 'EDQUOT', 'EROFS', 'EIO', 'EACCES', 'EPERM', 'EMFILE', 'ENFILE'];
const BROKEN = /Input\/output error/;

/** Whether a failure comes from the disk and not from what was done: ffmpeg tells it in words, the file system by a code. */
export function isDiskTrouble(error: unknown): boolean {
  if (hasErrorCode(error, DISK_CODES)) return true;
  return errorCauses(error).some(({ message }) => saysNoSpace(message) || BROKEN.test(message));
}

/** Whether a call of the file system failed because the file is not there. */
export function isNotFound(error: unknown): boolean {
  return errorCode(error) === 'ENOENT';
}
