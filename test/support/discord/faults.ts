export type Fault = {
  /** Matches `METHOD /path` without the version. */
  matches: RegExp;
  /** How often; by default once. */
  times?: number;
  /** `hang`: none before the faults are cleared. */
  response: (() => Response) | 'hang';
};

/** Requests that are to fail. */
export function createFaults() {
  const faults: Fault[] = [];
  const hanging: (() => void)[] = [];
  const release = () => {
    for (const resume of hanging.splice(0)) resume();
  };
  return {
    add: (fault: Fault): void => {
      faults.push(fault);
    },
    /** The response of the first fault that matches; undefined when the request is to go on as usual. */
    respond: async (request: string): Promise<Response | undefined> => {
      const fault = faults.find(({ matches }) => matches.test(request));
      if (!fault) return undefined;
      fault.times = (fault.times ?? 1) - 1;
      if (fault.times <= 0) faults.splice(faults.indexOf(fault), 1);
      if (fault.response !== 'hang') return fault.response();
      await new Promise<void>((resolve) => hanging.push(resolve));
      return undefined;
    },
    clear: (): void => {
      faults.length = 0;
      release();
    },
    release,
  };
}
