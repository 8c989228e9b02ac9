import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { ConnectionOpener } from './connection/connection-opener.ts';
import { FrameReader } from './connection/frame-reader.ts';
import { apiKeys } from './protocol/api-keys.ts';

export interface SeenRequest {
  readonly connection: number;
  readonly apiKey: number;
  readonly version: number;
  readonly correlationId: number;
  /** Everything after the header. */
  readonly body: Buffer;
  /** Answers with this body (the flexible header's empty tags are the caller's). */
  reply(...pieces: Buffer[]): void;
  readonly socket: Socket;
}

export interface ScriptedBroker extends AsyncDisposable {
  readonly host: string;
  readonly port: number;
  /** Requests other than ApiVersions, in the order of arrival. */
  readonly seen: readonly SeenRequest[];
  readonly connections: number;
  /** What to do with the next requests. Default: nothing, so that tests answer by hand. */
  onRequest: (request: SeenRequest) => void;
  /** Resolves with the n-th request (from 0), once it has arrived. */
  request(n: number): Promise<SeenRequest>;
}

export const int8 = (...values: number[]) => Buffer.from(values.map((value) => value & 0xff));
export const int16 = (value: number) => {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
};
export const int32 = (value: number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
};
export const int64 = (value: bigint) => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(value);
  return bytes;
};
export const compact = (text: string) => Buffer.concat([int8(text.length + 1), Buffer.from(text)]);

/** ApiVersions v3: one entry for each request we negotiate, all with these highest versions. */
function apiVersionsBody(produce: number): Buffer {
  const entry = (apiKey: number, max: number) => Buffer.concat([int16(apiKey), int16(0), int16(max), int8(0)]);
  const entries = [entry(apiKeys.produce, produce), entry(apiKeys.metadata, 12), entry(apiKeys.initProducerId, 4)];
  return Buffer.concat([int16(0), int8(entries.length + 1), ...entries, int32(0), int8(0)]);
}

/** Produce reply v12 for partition 0 of one topic, its header's tags included. */
export function produceReply(topic: string, { errorCode = 0, baseOffset = 0n, throttleTimeMs = 0 } = {}): Buffer {
  return Buffer.concat([
    int8(0, 2),
    compact(topic),
    int8(2),
    int32(0),
    int16(errorCode),
    int64(baseOffset),
    int64(-1n),
    int64(0n),
    int8(1, 0, 0, 0),
    int32(throttleTimeMs),
    int8(0),
  ]);
}

/** Metadata reply v12 that names these brokers, with ids from 1 on, and no topic; its header's tags included. */
export function metadataReply(...brokers: readonly { host: string; port: number }[]): Buffer {
  const entries = brokers.map(({ host, port }, i) =>
    Buffer.concat([int32(i + 1), compact(host), int32(port), int8(0, 0)]),
  );
  return Buffer.concat([int8(0), int32(0), int8(brokers.length + 1), ...entries, int8(0), int32(1), int8(1, 0)]);
}

/** A TCP server that answers ApiVersions by itself and leaves everything else to the test. */
export async function startScriptedBroker({ produceVersion = 12 } = {}): Promise<ScriptedBroker> {
  const seen: SeenRequest[] = [];
  const sockets = new Set<Socket>();
  const waiting = new Map<number, (request: SeenRequest) => void>();
  let connections = 0;
  const server = createServer((socket) => {
    const connection = connections++;
    sockets.add(socket);
    socket.on('error', () => {});
    const reader = new FrameReader((buffer, start, end) => {
      const frame = Buffer.from(buffer.subarray(start, end));
      const apiKey = frame.readInt16BE(0);
      const correlationId = frame.readInt32BE(4);
      const reply = (...pieces: Buffer[]) => {
        const body = Buffer.concat([int32(correlationId), ...pieces]);
        socket.write(Buffer.concat([int32(body.length), body]));
      };
      if (apiKey === apiKeys.apiVersions) {
        reply(apiVersionsBody(produceVersion));
        return;
      }
      const headerBytes = 10 + Math.max(0, frame.readInt16BE(8)) + 1;
      const request = {
        connection,
        apiKey,
        version: frame.readInt16BE(2),
        correlationId,
        body: frame.subarray(headerBytes),
        reply,
        socket,
      };
      seen.push(request);
      broker.onRequest(request);
      waiting.get(seen.length - 1)?.(request);
    });
    socket.on('data', (chunk) => reader.push(chunk));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const broker: ScriptedBroker = {
    host: '127.0.0.1',
    port: (server.address() as AddressInfo).port,
    seen,
    get connections() {
      return connections;
    },
    onRequest: () => {},
    request: (n) => {
      const there = seen[n];
      return there ? Promise.resolve(there) : new Promise((resolve) => waiting.set(n, resolve));
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return broker;
}

/** TCP and nothing else. */
export function plainOpener({ sessionLifetimeMs = 0 } = {}): ConnectionOpener {
  return {
    open: ({ host, port }) =>
      new Promise((resolve, reject) => {
        const socket = connect({ host, port, noDelay: true });
        socket.once('error', reject);
        socket.once('connect', () => {
          socket.off('error', reject);
          resolve({ socket, sessionLifetimeMs, onData: (listener) => socket.on('data', listener) });
        });
      }),
  };
}
