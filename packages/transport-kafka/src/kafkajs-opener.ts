import { EventEmitter } from 'node:events';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { type ISocketFactory, Kafka, type KafkaConfig, type Mechanism, type SASLOptions } from 'kafkajs';
import {
  addressText,
  type BrokerAddress,
  type ConnectionOpener,
  type OpenConnection,
} from './connection/connection-opener.ts';
import { FrameReader } from './connection/frame-reader.ts';
import { describeOpeningFailure } from './opening-failure.ts';
import { SecretRedactor } from './secret-redactor.ts';
import { SessionLifetimeSpy } from './session-lifetime-spy.ts';

/** The parts of kafkajs's configuration that opening a connection needs. */
export interface KafkajsOpenerOptions {
  readonly clientId: string;
  readonly ssl?: KafkaConfig['ssl'];
  readonly sasl?: SASLOptions | Mechanism;
  readonly socketFactory?: ISocketFactory;
  readonly connectionTimeoutMs: number;
  readonly authenticationTimeoutMs: number;
}

const readBufferBytes = 64 * 1024;
const keepAliveDelayMs = 60_000;
const shortestTimerMs = 10;
const logNothing = 0;

type DataListener = (chunk: Buffer) => void;

/**
 * Opens connections by kafkajs's public API: TCP, TLS, ApiVersions and SASL are its work, then the socket is ours.
 *
 * kafkajs is given a socket factory that returns a stand-in ({@link HandshakeSocket}). Once `admin.connect()` has resolved, the
 * stand-in stops passing anything on, kafkajs is told to disconnect from it, and the real socket goes to the caller.
 */
export function kafkajsOpener(options: KafkajsOpenerOptions): ConnectionOpener {
  return { open: (address, signal) => open(options, address, signal) };
}

async function open(
  options: KafkajsOpenerOptions,
  address: BrokerAddress,
  signal: AbortSignal,
): Promise<OpenConnection> {
  signal.throwIfAborted();
  const redactor = new SecretRedactor();
  const handshakes: HandshakeSocket[] = [];
  const kafka = new Kafka({
    clientId: options.clientId,
    // kafkajs splits at the first colon, which an IPv6 address has many of; the real address is in the factory below.
    brokers: [`broker:${address.port}`],
    connectionTimeout: options.connectionTimeoutMs,
    authenticationTimeout: options.authenticationTimeoutMs,
    requestTimeout: options.connectionTimeoutMs + options.authenticationTimeoutMs,
    retry: { retries: 0 },
    logLevel: logNothing,
    logCreator: () => () => {},
    ...(options.ssl === undefined ? {} : { ssl: options.ssl }),
    ...(options.sasl === undefined ? {} : { sasl: redactor.watch(options.sasl) }),
    socketFactory: ({ onConnect }) => {
      if (signal.aborted) throw signal.reason;
      const handshake = new HandshakeSocket(address, options, onConnect);
      handshakes.push(handshake);
      return handshake as unknown as Socket;
    },
  });
  const admin = kafka.admin();
  let onAbort = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    await Promise.race([admin.connect(), aborted]);
    const connected = handshakes.at(-1);
    if (!connected) throw new Error('kafkajs connected without a socket');
    return connected.takeOver();
  } catch (error) {
    for (const handshake of handshakes) handshake.abandon(error as Error);
    if (signal.aborted) throw signal.reason;
    const socketError = handshakes[0]?.failure;
    throw describeOpeningFailure({
      error: error as Error,
      socketError,
      address: addressText(address),
      usesTls: Boolean(options.ssl),
      redactor,
    });
  } finally {
    signal.removeEventListener('abort', onAbort);
    aborted.catch(() => {});
    // Clears kafkajs's timers. The stand-in ignores what it is told by now.
    void admin.disconnect().catch(() => {});
  }
}

/** What kafkajs takes for its socket while it connects and authenticates. */
class HandshakeSocket extends EventEmitter {
  readonly #socket: Socket;
  readonly #spy = new SessionLifetimeSpy();
  /** Guards kafkajs, which would collect an announced gigabyte. */
  readonly #replies = new FrameReader((buffer, start, end) => this.#spy.onReply(buffer, start, end));
  #listener: DataListener = (chunk) => this.#onHandshakeData(chunk);
  #isOver = false;
  failure: Error | undefined;

  constructor(address: BrokerAddress, options: KafkajsOpenerOptions, onConnect: () => void) {
    super();
    this.#socket = openSocket(address, options, onConnect, (chunk) => this.#listener(chunk));
    this.#socket.on('error', (error) => this.#fail(error));
    this.#socket.on('end', () => this.#pass('end'));
    this.#socket.on('close', () => this.#pass('end'));
    this.on('error', () => {}); // an 'error' event that nobody hears would end the process
  }

  // ---- what kafkajs calls

  write(data: Uint8Array | string): boolean {
    if (this.#isOver) return false;
    const bytes = typeof data === 'string' ? Buffer.from(data, 'binary') : data;
    this.#spy.onRequest(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    return this.#socket.write(bytes);
  }

  end(): this {
    if (!this.#isOver) this.#socket.end();
    return this;
  }

  unref(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  // ---- what the opener calls

  takeOver(): OpenConnection {
    this.#isOver = true;
    this.removeAllListeners();
    const socket = this.#socket;
    socket.removeAllListeners('error').removeAllListeners('end').removeAllListeners('close');
    // Until the caller listens: an error without a listener would end the process.
    socket.on('error', () => {});
    return {
      socket,
      sessionLifetimeMs: this.#spy.lifetimeMs,
      onData: (listener) => {
        this.#listener = listener;
      },
    };
  }

  abandon(error: Error): void {
    this.#pass('error', error);
    this.#isOver = true;
    this.#socket.destroy();
  }

  #onHandshakeData(chunk: Buffer): void {
    if (this.#isOver) return;
    try {
      this.#replies.push(chunk);
    } catch (error) {
      this.#socket.destroy();
      this.#fail(error as Error);
      return;
    }
    this.#pass('data', Buffer.from(chunk)); // kafkajs keeps it, and our read buffer is used again
  }

  #fail(error: Error): void {
    this.failure ??= error;
    this.#pass('error', error);
  }

  #pass(event: string, ...args: unknown[]): void {
    if (!this.#isOver) withPositiveTimers(() => this.emit(event, ...args));
  }
}

/** The real socket: the user's factory's, or ours, which reads into one buffer for its whole life. */
function openSocket(
  address: BrokerAddress,
  options: KafkajsOpenerOptions,
  onConnect: () => void,
  onData: DataListener,
): Socket {
  const { host, port } = address;
  const connected = () => withPositiveTimers(onConnect);
  if (options.socketFactory) {
    const socket = options.socketFactory({ host, port, ssl: options.ssl as never, onConnect: connected });
    socket.setNoDelay(true);
    socket.on('data', onData);
    return socket;
  }
  const onread = {
    buffer: Buffer.allocUnsafeSlow(readBufferBytes),
    callback: (bytes: number, buffer: Uint8Array) => {
      onData((buffer as Buffer).subarray(0, bytes));
      return true;
    },
  };
  const base = { host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: keepAliveDelayMs, onread };
  if (!options.ssl) return connectTcp(base, connected);
  const serverName = isIP(host) ? {} : { servername: host };
  const socket = connectTls({ ...base, ...serverName, ...(options.ssl === true ? {} : options.ssl) }, connected);
  socket.setNoDelay(true);
  socket.setKeepAlive(true, keepAliveDelayMs);
  return socket;
}

/**
 * kafkajs 2.2.4 asks for a timer with a negative delay after each reply, again and again, and Node warns of it once per process.
 * Its code runs inside our calls to it, or in a timer that it made there: both see a `setTimeout` that corrects the delay.
 */
function withPositiveTimers(run: () => void): void {
  const platform = globalThis.setTimeout;
  const corrected = (callback: (...args: unknown[]) => void, delayMs = 0, ...args: unknown[]) =>
    delayMs >= 0
      ? platform(callback, delayMs, ...args)
      : platform(() => withPositiveTimers(() => callback(...args)), shortestTimerMs);
  globalThis.setTimeout = Object.assign(corrected, platform) as unknown as typeof platform;
  try {
    run();
  } finally {
    globalThis.setTimeout = platform;
  }
}
