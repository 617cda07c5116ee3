import { RESTJSONErrorCodes } from 'discord.js';
import type { MessageForm, UploadedFile } from './message-form.ts';

/** A request to Discord's REST API. */
export type RestCall = {
  method: string;
  /** Decoded, without the API's version. */
  path: string;
  query: URLSearchParams;
  body: RestBody;
  files: UploadedFile[];
  authorization: string | null;
};

type RestBody = MessageForm & {
  type?: number;
  data?: MessageForm;
  recipient_id?: string;
  archived?: boolean;
};

/** Reads a request, whose body is JSON or, with files, a multipart form. */
export async function readRestCall(request: Request): Promise<RestCall> {
  const url = new URL(request.url);
  return {
    method: request.method,
    path: decodeURIComponent(url.pathname).replace(/^(\/api)?\/v10/, ''),
    query: url.searchParams,
    authorization: request.headers.get('authorization'),
    ...(await readBody(request)),
  };
}

async function readBody(request: Request): Promise<{ body: RestBody; files: UploadedFile[] }> {
  const type = request.headers.get('content-type') ?? '';
  if (!type.startsWith('multipart/form-data')) {
    const text = await request.text();
    return { body: text === '' ? {} : JSON.parse(text), files: [] };
  }
  const form = await request.formData();
  const files: UploadedFile[] = [];
  for (const [name, part] of form.entries()) {
    if (typeof part === 'string' || !/^files\[\d+\]$/.test(name)) continue;
    files.push({ name: part.name, bytes: new Uint8Array(await part.arrayBuffer()) });
  }
  return { body: JSON.parse(String(form.get('payload_json'))), files };
}

/** A response with a JSON body. */
export function json(status: number, body: unknown): Response {
  return Response.json(body, { status });
}

/** Discord's form of an error. @param code 0: a general one. @param message by default the name of the code in words. */
export function restError(status: number, code: number, message?: string): Response {
  return json(status, errorBody(code, message));
}

/** The body of {@link restError}. */
export function errorBody(code: number, message = RESTJSONErrorCodes[code]?.replace(/\B[A-Z]/g, ' $&')) {
  return { message, code };
}
