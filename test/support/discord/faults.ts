export type Fault = {
  /** Matches `METHOD /path` without the version. */
  matches: RegExp;
  /** How often; by default once. */
  times?: number;
  /** `hang`: no response until the faults are cleared. `lost`: the same, but the request is carried out at once. */
  response: (() => Response | Promise<Response>) | 'hang' | 'lost';
};

/** A refusal by Discord. @param code one of Discord's; 0: a general one. */
export const refuse =
  (status: number, code = 0) =>
  (): Response =>
    Response.json({ message: 'Refused', code }, { status });

/** The response to one request too many. */
export const slowDown =
  (seconds: number, { isGlobal = false } = {}) =>
  (): Response =>
    Response.json(
      { message: 'You are being rate limited.', retry_after: seconds, global: isGlobal },
      { status: 429, headers: { 'retry-after': `${seconds}`, 'x-ratelimit-scope': 'user' } },
    );

/** Requests that are to fail. */
export function createFaults() {
  const faults: Fault[] = [];
  const hanging: (() => void)[] = [];
  const release = () => {
    for (const resume of hanging.splice(0)) resume();
  };
  return {
    add: (fault: Fault) => void faults.push(fault),
    /**
     * The response of the first fault that matches, else the usual one.
     * @param carryOut does what the request asks for.
     */
    respond: async (request: string, carryOut: () => Response): Promise<Response> => {
      const fault = faults.find(({ matches }) => matches.test(request));
      if (!fault) return carryOut();
      fault.times = (fault.times ?? 1) - 1;
      if (fault.times <= 0) faults.splice(faults.indexOf(fault), 1);
      if (typeof fault.response === 'function') return fault.response();
      const lost = fault.response === 'lost' ? carryOut() : undefined;
      await new Promise<void>((resolve) => hanging.push(resolve));
      return lost ?? carryOut();
    },
    /** Whether a request hangs now. */
    isHanging: () => hanging.length > 0,
    clear: (): void => {
      faults.length = 0;
      release();
    },
    release,
  };
}
