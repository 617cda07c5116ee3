/** The part of gamedig's Valve protocol that `game-server.ts` builds on; the package has no types of its own. */
declare module 'gamedig' {
  export type ValveState = {
    name: string;
    map: string;
    numplayers: number;
    maxplayers: number;
    raw: { players?: { name: string; score: number; time: number }[] };
  };

  export type ValveOptions = {
    host: string;
    address: string;
    port: number;
    requestPlayers: boolean;
    socketTimeout: number;
    attemptTimeout: number;
  };

  export type UdpTransport = {
    send: (datagram: Buffer, address: string, port: number) => Promise<void>;
    addCallback: (callback: (address: string, port: number, datagram: Buffer) => void) => void;
    removeCallback: (callback: (address: string, port: number, datagram: Buffer) => void) => void;
  };

  class Valve {
    options: ValveOptions;
    udpSocket: UdpTransport;
    runOnceSafe(): Promise<ValveState>;
    udpSend<T>(
      datagram: Buffer,
      onPacket: (datagram: Buffer) => T | undefined,
      onTimeout: () => T | undefined,
    ): Promise<T>;
    sendPacketRaw<T>(
      type: number,
      payload: string | null,
      onResponse: (body: Buffer) => T | undefined,
      onTimeout: () => T | undefined,
    ): Promise<T>;
    sendPacket(
      type: number,
      payload: string | null,
      expect: number,
      allowTimeout: boolean,
    ): Promise<Buffer | null>;
  }

  export const protocols: { valve: typeof Valve };
}
