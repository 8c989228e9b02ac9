import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Direction, FaultPlan, PlannedFault } from './faults.ts';
import { FrameSplitter } from './frame-splitter.ts';

const tricklePieces = 8;

/** One client's connection and the proxy's own to the broker; frames pass one by one, in order, faults applied. */
export class ProxiedConnection {
  readonly brokerId: number;
  readonly #client: Socket;
  readonly #broker: Socket;
  readonly #plan: FaultPlan;
  readonly #apiKeyByCorrelationId = new Map<number, number>();
  readonly #muted = { request: false, reply: false };
  #isOver = false;

  constructor(
    client: Socket,
    brokerId: number,
    broker: { readonly host: string; readonly port: number },
    plan: FaultPlan,
    onOver: () => void,
  ) {
    this.brokerId = brokerId;
    this.#client = client;
    this.#plan = plan;
    this.#broker = connect({ ...broker, noDelay: true });
    client.setNoDelay(true);
    const over = () => {
      if (this.#isOver) return;
      this.#isOver = true;
      client.destroy();
      this.#broker.destroy();
      onOver();
    };
    for (const socket of [client, this.#broker]) {
      socket.on('error', over);
      socket.on('close', over);
    }
    this.#pump(client, this.#broker, 'request');
    this.#pump(this.#broker, client, 'reply');
  }

  /** Both sides see the connection reset. */
  reset(): void {
    this.#client.resetAndDestroy();
    this.#broker.resetAndDestroy();
  }

  #pump(from: Socket, to: Socket, direction: Direction): void {
    const splitter = new FrameSplitter();
    let queue: Promise<void> = Promise.resolve();
    from.on('data', (chunk) => {
      if (this.#muted[direction]) return;
      for (const frame of splitter.push(chunk)) queue = queue.then(() => this.#pass(frame, to, direction));
    });
    from.on('end', () => void queue.then(() => to.end()));
  }

  async #pass(frame: Buffer, to: Socket, direction: Direction): Promise<void> {
    if (this.#muted[direction] || this.#isOver) return;
    const fault = this.#plan.next(direction, this.brokerId, this.#apiKeyOf(frame, direction));
    if (fault) await this.#passWithFault(fault, frame, to, direction);
    else to.write(frame);
  }

  async #passWithFault(
    { kind, ms, waitForRelease }: PlannedFault,
    frame: Buffer,
    to: Socket,
    direction: Direction,
  ): Promise<void> {
    switch (kind) {
      case 'lose-request':
      case 'lose-reply':
        this.#muted[direction] = true;
        return;
      case 'reset-in-request':
      case 'reset-in-reply':
        await flushed(to, frame.subarray(0, Math.ceil(frame.length / 2)));
        this.reset();
        return;
      case 'reset-after-request':
        await flushed(to, frame);
        this.#client.resetAndDestroy();
        // The broker must have the time to read what it got: a reset would throw it away.
        this.#broker.end();
        return;
      case 'delay-request':
      case 'delay-reply':
        await sleep(ms);
        if (!this.#isOver) to.write(frame);
        return;
      case 'hold-reply':
        await waitForRelease?.();
        if (!this.#isOver) to.write(frame);
        return;
      case 'trickle-reply': {
        const piece = Math.ceil(frame.length / tricklePieces);
        for (let at = 0; at < frame.length && !this.#isOver; at += piece) {
          await flushed(to, frame.subarray(at, at + piece));
          await sleep(ms / tricklePieces);
        }
        return;
      }
    }
  }

  #apiKeyOf(frame: Buffer, direction: Direction): number {
    if (direction === 'request') {
      const apiKey = frame.readInt16BE(4);
      this.#apiKeyByCorrelationId.set(frame.readInt32BE(8), apiKey);
      return apiKey;
    }
    const correlationId = frame.readInt32BE(4);
    const apiKey = this.#apiKeyByCorrelationId.get(correlationId) ?? -1;
    this.#apiKeyByCorrelationId.delete(correlationId);
    return apiKey;
  }
}

function flushed(socket: Socket, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => {
    socket.write(bytes, () => resolve());
  });
}
