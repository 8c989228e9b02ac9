import type { ServerResponse } from 'node:http';

export interface EventStreamOptions {
  /** The state now, as one line of JSON. */
  readonly state: () => string;
  /** Calls back whenever the state may have changed. Returns how to stop. */
  readonly onChange: (listener: () => void) => () => void;
  /** The state is sent at most this often. */
  readonly everyMs?: number;
  readonly clientsMax?: number;
  readonly heartbeatMs?: number;
  /** A client that has not taken what it was sent for so long is cut off. */
  readonly patienceMs?: number;
}

/**
 * Sends the whole state by server-sent events, first at once and then when it changed. Since each message stands alone, a client that
 * is slow misses some and needs none of them: for each there is at most one message on its way.
 */
export class EventStream {
  readonly #options: Required<EventStreamOptions>;
  readonly #clients = new Set<Client>();
  readonly #stop: () => void;
  #timer: NodeJS.Timeout | null = null;
  #heartbeat: NodeJS.Timeout | null = null;
  #sentAtMs = Number.NEGATIVE_INFINITY;
  #lastSent = '';

  constructor(options: EventStreamOptions) {
    this.#options = { everyMs: 150, clientsMax: 16, heartbeatMs: 15_000, patienceMs: 30_000, ...options };
    this.#stop = options.onChange(() => this.#changed());
  }

  get clients(): number {
    return this.#clients.size;
  }

  /** False when there are too many. */
  add(response: ServerResponse): boolean {
    if (this.#clients.size >= this.#options.clientsMax) return false;
    response.writeHead(200, { 'content-type': 'text/event-stream', connection: 'keep-alive' });
    response.write('retry: 1000\n\n');
    const client = new Client(response, this.#options.patienceMs, () => this.#remove(client));
    this.#clients.add(client);
    client.offer(this.#message());
    this.#heartbeat ??= setInterval(() => this.#beat(), this.#options.heartbeatMs);
    return true;
  }

  close(): void {
    this.#stop();
    if (this.#timer !== null) clearTimeout(this.#timer);
    for (const client of [...this.#clients]) client.end();
    this.#stopHeartbeat();
  }

  #remove(client: Client): void {
    this.#clients.delete(client);
    if (this.#clients.size === 0) this.#stopHeartbeat();
  }

  #changed(): void {
    if (this.#timer !== null || this.#clients.size === 0) return;
    const waitMs = Math.max(0, this.#sentAtMs + this.#options.everyMs - performance.now());
    this.#timer = setTimeout(() => this.#send(), waitMs);
  }

  #send(): void {
    this.#timer = null;
    if (this.#clients.size === 0) return;
    this.#sentAtMs = performance.now();
    const message = this.#message();
    if (message === this.#lastSent) return;
    this.#lastSent = message;
    for (const client of this.#clients) client.offer(message);
  }

  #message(): string {
    return `data: ${this.#options.state()}\n\n`;
  }

  #beat(): void {
    for (const client of this.#clients) client.beat();
  }

  #stopHeartbeat(): void {
    if (this.#heartbeat !== null) clearInterval(this.#heartbeat);
    this.#heartbeat = null;
  }
}

class Client {
  readonly #response: ServerResponse;
  readonly #patienceMs: number;
  #isFull = false;
  /** What to send when there is room again: the newest alone. */
  #next: string | null = null;
  #impatience: NodeJS.Timeout | null = null;

  constructor(response: ServerResponse, patienceMs: number, onGone: () => void) {
    this.#response = response;
    this.#patienceMs = patienceMs;
    response.on('drain', () => this.#drained());
    response.on('close', () => {
      this.#calm();
      onGone();
    });
    response.on('error', () => response.destroy());
  }

  offer(message: string): void {
    if (this.#isFull) this.#next = message;
    else this.#write(message);
  }

  beat(): void {
    if (!this.#isFull) this.#write(': still here\n\n');
  }

  end(): void {
    this.#response.end();
    this.#response.destroy();
  }

  #write(message: string): void {
    if (this.#response.write(message)) return;
    this.#isFull = true;
    this.#impatience = setTimeout(() => this.#response.destroy(), this.#patienceMs);
  }

  #drained(): void {
    this.#calm();
    this.#isFull = false;
    const next = this.#next;
    this.#next = null;
    if (next !== null) this.#write(next);
  }

  #calm(): void {
    if (this.#impatience !== null) clearTimeout(this.#impatience);
    this.#impatience = null;
  }
}
